"""Slurm scripts: limits, resuming, appending."""

from datetime import timedelta

import pytest

from gpuvet.parse.sbatch import BatchScript, read_sbatch, slurm_time

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=train --time=3-12:00:00
#SBATCH --open-mode append
srun --auto-resume=1 \\
  --container-image x python train.py
"""


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("90", timedelta(minutes=90)),
        ("90:30", timedelta(minutes=90, seconds=30)),
        ("72:00:00", timedelta(hours=72)),
        ("3-0", timedelta(days=3)),
        ("3-12:30", timedelta(days=3, hours=12, minutes=30)),
        ("1-02:03:04", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("soon", None),
    ],
)
def test_a_time_limit(text: str, limit: timedelta | None) -> None:
    assert slurm_time(text) == limit


def test_a_script_that_resumes() -> None:
    assert read_sbatch(SCRIPT) == BatchScript(timedelta(days=3, hours=12), True, True, True)


def test_auto_resume_on_sbatch_or_in_a_comment_does_not_count() -> None:
    text = "#SBATCH --auto-resume=1 -t 10\n# srun --auto-resume=1\nsrun python t.py\n"
    assert read_sbatch(text) == BatchScript(timedelta(minutes=10), True, False, False)


def test_another_text_is_no_batch_script() -> None:
    assert read_sbatch("kind: Pod\n") is None


@pytest.mark.parametrize(
    ("line", "nodes", "gpus"),
    [
        ("#SBATCH --nodes=8 --gpus-per-node=8", 8, 8),
        ("#SBATCH -N 2-4 --gres=gpu:h100:8", 4, 8),
        ("#SBATCH --gres gpu:4", None, 4),
        ("#SBATCH --job-name=x", None, None),
    ],
)
def test_what_a_script_asks_for(line: str, nodes: int | None, gpus: int | None) -> None:
    found = read_sbatch(f"{line}\nsrun python t.py\n")
    assert found is not None
    assert (found.nodes, found.gpus) == (nodes, gpus)


def test_checkpoints_on_the_node_and_on_shared_storage() -> None:
    text = "#SBATCH -N 2\nsrun t.py --save-dir=/opt/dlami/nvme/c --load /fsx/c --ckpt_path /fsx/d\n"
    found = read_sbatch(text)
    assert found is not None
    assert found.local_checkpoints == ("/opt/dlami/nvme/c",)

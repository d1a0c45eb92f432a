"""What starts the workers, as far as a container's command shows."""

import pytest

from gpuvet.model.job_spec import Field, Launch
from gpuvet.parse.launch_command import read_launch, shell_paths
from gpuvet.parse.yaml_text import compose_documents


def launch(text: str) -> Launch:
    (document,) = compose_documents(text)
    return read_launch(Field("", document.root.place, document.root))


@pytest.mark.parametrize(
    ("text", "launcher", "word"),
    [
        ("command: [hyperpodrun, --tee=3, t.py]", "hyperpodrun", "hyperpodrun"),
        ("command: [/opt/conda/bin/hyperpodrun, t.py]", "hyperpodrun", "hyperpodrun"),
        ("command: [tini, --, hyperpodrun, t.py]", "hyperpodrun", "hyperpodrun"),
        ("command: [env, A=1, hyperpodrun, t.py]", "hyperpodrun", "hyperpodrun"),
        ("command: [uv, run, hyperpodrun, t.py]", "hyperpodrun", "hyperpodrun"),
        ('command: [sh, -c, "cd /x && exec hyperpodrun t.py"]', "hyperpodrun", "hyperpodrun"),
        (
            'command: [bash, -lc]\nargs: ["export A=1; hyperpodrun t.py"]',
            "hyperpodrun",
            "hyperpodrun",
        ),
        ("command: [torchrun, t.py]", "other", "torchrun"),
        (
            "command: [python3, -m, torch.distributed.run, t.py]",
            "other",
            "python -m torch.distributed.run",
        ),
        ("command: [python, train.py]", "other", "python"),
        ('command: [bash, -c, "pip install x && accelerate launch t.py"]', "other", "accelerate"),
        ("command: [bash, -c, \"echo 'torchrun'; python t.py\"]", "other", "python"),
        ("command: [/opt/run.sh]", "hidden", "/opt/run.sh"),
        ("command: [bash, /opt/run.sh]", "hidden", "/opt/run.sh"),
        ("image: x", "hidden", ""),
        ("args: [--x]", "hidden", "--x"),
    ],
)
def test_the_launcher_is_recognised(text: str, launcher: str, word: str) -> None:
    found = launch(text)

    assert (str(found.launcher), found.word) == (launcher, word)


@pytest.mark.parametrize(
    ("text", "option", "value"),
    [
        ("command: [hyperpodrun, --tee=3, t.py]", "tee", "3"),
        ("command: [hyperpodrun, --tee, '3', t.py]", "tee", "3"),
        ("command: [hyperpodrun, -t, '3', t.py]", "tee", "3"),
        ("command: [hyperpodrun, --redirect=1, t.py]", "redirects", "1"),
        ("command: [hyperpodrun, --nproc_per_node=8, t.py]", "nproc_per_node", "8"),
        ("command: [hyperpodrun, t.py, --save-dir, /x]", "save_dir", "/x"),
        ("command: [hyperpodrun, t.py, trainer.save_dir=/x]", "trainer.save_dir", "/x"),
        ("command: [hyperpodrun, --inprocess-restart, --tee=3, t.py]", "inprocess_restart", None),
        ('command: [sh, -c, "hyperpodrun \\\\\\n --tee 3 t.py"]', "tee", "3"),
    ],
)
def test_options_are_read_in_every_spelling(text: str, option: str, value: str | None) -> None:
    found = launch(text).option(option)

    assert found is not None
    assert found.value == value


@pytest.mark.parametrize(
    ("line", "piped", "has_exec"),
    [
        ("hyperpodrun t.py 2>&1 | tee log", True, False),
        ("exec hyperpodrun t.py", False, True),
        ("hyperpodrun t.py || exit 1", False, False),
        ("hyperpodrun t.py --x 'a | b'", False, False),
    ],
)
def test_a_shell_in_between_is_seen(line: str, piped: bool, has_exec: bool) -> None:
    found = launch(f'command: [bash, -c, "{line}"]')

    assert (found.is_piped, found.has_exec) == (piped, has_exec)


def test_texts_that_a_shell_runs_are_found_in_probes_too() -> None:
    text = "a:\n  exec:\n    command: [sh, -c, echo $X]\nb:\n  command: [run, $X]\n"
    (document,) = compose_documents(text)

    assert list(shell_paths(document.root)) == ["a.exec.command[2]"]

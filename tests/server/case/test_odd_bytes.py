"""What a crash, an old editor or a cut leaves in a kernel log never turns a fault into health."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import gpuvet
from gpuvet.case.load import load_case
from gpuvet.model.verdict import Verdict
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

DEMO = Path(gpuvet.__file__).parent / "demo_case"
LOST = "i-0a1c5e7f9b2d40611"  # its GPU fell off the bus


def verdict_with(tmp_path: Path, change: Callable[[bytes], bytes]) -> Verdict:
    """Return the verdict on the lost node with its kernel log changed."""
    folder = tmp_path / "case"
    shutil.copytree(DEMO, folder)
    (log,) = folder.glob(f"*{LOST}*.log")
    log.write_bytes(change(log.read_bytes()))
    case = load_case(folder)
    assert case.meta.now is not None
    return verdict_report(case, Asked(), clock=case.meta.now).verdicts[LOST]


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(b"\r", id="carriage returns alone"),
        pytest.param(b"\r\n", id="Windows line ends"),
        pytest.param(b"\n" + bytes(64), id="NULs before lines"),
    ],
)
def test_a_lost_gpu_is_found_whatever_stands_between_lines(between: bytes, tmp_path: Path) -> None:
    def changed(raw: bytes) -> bytes:
        return raw.replace(b"\n", between)

    assert verdict_with(tmp_path, changed) is Verdict.REBOOT


@pytest.mark.parametrize("cut", ["NVRM: X", "NVRM: Xid", "NVRM: Xid (", "NVRM: Xid (P"])
def test_a_report_cut_at_the_end_of_a_file_is_no_health(cut: str, tmp_path: Path) -> None:
    def shortened(raw: bytes) -> bytes:
        return raw[: raw.index(b"NVRM: Xid (")] + cut.encode()

    assert verdict_with(tmp_path, shortened) is Verdict.NOT_OBSERVABLE


def test_a_log_that_ends_inside_a_line_and_is_short_of_its_counts_was_cut(tmp_path: Path) -> None:
    def cut(raw: bytes) -> bytes:
        return raw[: raw.index(b"NVRM: Xid (") - 20]

    def at_a_line(raw: bytes) -> bytes:
        return cut(raw).rpartition(b"\n")[0] + b"\n"

    assert verdict_with(tmp_path / "inside", cut) is Verdict.NOT_OBSERVABLE
    # What a search left ends at a line: the same bytes but for it are told to be an excerpt.
    assert verdict_with(tmp_path / "whole", at_a_line) is Verdict.LEAVE_ALONE

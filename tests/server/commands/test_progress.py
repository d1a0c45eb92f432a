"""How far a live question has got: on a terminal one line that moves on, elsewhere nothing."""

import io

import pytest

from gpuvet.commands.progress import on_terminal
from gpuvet.model.progress import Stages, Step, silent


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True


class Stopwatch:
    """Seconds that pass when told."""

    seconds = 0.0

    def __call__(self) -> float:
        """Return the seconds so far."""
        return self.seconds


def shown(screen: Terminal) -> list[str]:
    """Return what stands on the screen: a rewritten line once."""
    lines: list[str] = []
    for line in screen.getvalue().strip("\n").split("\n"):
        if line.startswith("\x1b[1A\r\x1b[K"):
            lines.pop()
        lines.append(line.removeprefix("\x1b[1A\r\x1b[K"))
    return lines


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("gpuvet.commands.progress.os.name", "posix")


def test_a_stream_that_is_no_terminal_gets_nothing() -> None:
    assert on_terminal(io.StringIO()) is silent


def test_a_terminal_has_one_line_that_moves_on() -> None:
    screen, watch = Terminal(), Stopwatch()
    tell = on_terminal(screen, monotonic=watch)
    for done in range(1, 4):
        watch.seconds += 1
        tell(Step("logs", "queries", done, 40))
    assert shown(screen) == ["gpuvet: logs: 3 of 40 queries"]
    assert screen.getvalue().endswith("\n"), "a report begins on a line of its own"


def test_steps_faster_than_a_reader_are_left_out_but_never_a_new_stage_or_the_last() -> None:
    screen, watch = Terminal(), Stopwatch()
    tell = on_terminal(screen, monotonic=watch)
    for step in (
        Step("cluster", "calls", 1),
        Step("cluster", "calls", 2),
        Step("logs", "queries", 1, 3),
        Step("logs", "queries", 2, 3),
        Step("logs", "queries", 3, 3),
    ):
        tell(step)
    told = screen.getvalue().strip("\n").split("\n")
    assert (
        [line.rpartition("gpuvet: ")[2] for line in told]
        == [line.rpartition("gpuvet: ")[2] for line in screen.getvalue().strip("\n").split("\n")]
        == [
            "cluster: 1 call",
            "logs: 1 of 3 queries",
            "logs: 3 of 3 queries",
        ]
    )


def test_a_terminal_without_cursor_control_gets_one_line_a_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen, watch = Terminal(), Stopwatch()
    tell = on_terminal(screen, monotonic=watch)
    for stage in ("cluster", "logs", "logs"):
        watch.seconds += 1
        tell(Step(stage, "calls", 1))
    assert screen.getvalue() == "gpuvet: cluster: 1 call\ngpuvet: logs: 1 call\n"


def test_stages_count_what_is_done_of_what_was_planned_or_begun() -> None:
    steps: list[Step] = []
    stages = Stages(steps.append)
    stages.advance("cluster")
    stages.plan("logs", 3)
    stages.begin("logs")
    stages.advance("logs", "queries")
    for _ in range(3):
        stages.begin("logs")
    stages.advance("logs", "queries")
    assert [step.words for step in steps] == [
        "cluster: 1 call",
        "logs: 1 of 3 queries",
        "logs: 2 of 4 queries",
    ]
    assert [step.all_done for step in steps] == [1, 2, 3]

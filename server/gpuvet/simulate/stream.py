"""All rules over one log, line by line, in bounded memory.

Standard library only: this is what the child process runs. It compiles and matches user patterns,
so nothing but `simulate/child.py` imports it.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from gpuvet.simulate.clock import Clock, Form, form_of, read_time
from gpuvet.simulate.regex_shape import required_text
from gpuvet.simulate.regex_tree import read
from gpuvet.simulate.rule import RuleMachine, RuleSpec

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 22  # a longer line is cut into pieces of this size
_SAMPLE_LINES = 2000
_CONSOLE = re.compile(r"(?:(\d{4}-\d\d-\d\dT\S{8,30}) )?\[([A-Za-z_]+)(\d+)\]:")
_CONSOLE_SHARE = 0.5  # of the sampled lines: then the log came from kubectl logs

Match = Callable[[str], re.Match[str] | None]


class Runner(NamedTuple):
    """A rule ready to run: texts that must stand in a matching line spare most of the work."""

    machine: RuleMachine
    needs: str | None
    match: Match
    stop_needs: str | None
    stop: Match | None


class Block(NamedTuple):
    """Some whole lines of the log."""

    lines: list[str]
    first_line: int  # from 1
    offset: int  # bytes before it
    is_broken: bool = False  # the bytes behind it are not text


class Refused(Exception):
    """The agent could not load the rules; the text says which and why."""


def runners(specs: list[RuleSpec]) -> list[Runner]:
    """Compile the rules as the agent does: one that fails takes all with it.

    Raises:
        Refused: naming the rule.
    """
    return [_runner(spec) for spec in specs]


def _runner(spec: RuleSpec) -> Runner:
    log = _compiled(spec, spec.log_pattern)
    stop = _compiled(spec, spec.stop_pattern) if spec.stop_pattern is not None else None
    machine = RuleMachine(
        spec,
        matches_empty=log.match("") is not None,
        stops_empty=stop is not None and stop.match("") is not None,
        groups=log.groups,
    )
    return Runner(
        machine,
        _needed(spec.log_pattern),
        log.match,
        _needed(spec.stop_pattern) if spec.stop_pattern else None,
        stop.match if stop else None,
    )


def _compiled(spec: RuleSpec, pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise Refused(f"{spec.name}: {error}") from None


def _needed(pattern: str) -> str | None:
    tree = read(pattern)
    return required_text(tree.tree, tree.flags) if tree else None


def blocks(log: BinaryIO, *, offset: int = 0, first_line: int = 1) -> Iterator[Block]:
    r"""Yield the log's lines; a line ends at \n, \r or \r\n and keeps one \n, as the agent reads.

    Bytes that are not UTF-8 end the log: the agent's reader dies there.
    """
    rest = b""
    while True:
        data = log.read(BLOCK_BYTES)
        whole = rest + data
        end = len(whole) if not data else max(whole.rfind(b"\n"), whole.rfind(b"\r", 0, -1)) + 1
        if data and not end and len(whole) < MAX_LINE_BYTES:
            rest = whole
            continue
        end = end or len(whole)
        text, is_broken = _decoded(whole[:end])
        lines = _split(text)
        if lines or is_broken:
            yield Block(lines, first_line, offset, is_broken)
        first_line += len(lines)
        offset += end
        rest = whole[end:]
        if not data or is_broken:
            return


def _decoded(data: bytes) -> tuple[str, bool]:
    """Return the text up to the last line before bytes that are not UTF-8."""
    try:
        return data.decode("utf-8"), False
    except UnicodeDecodeError as error:
        good = data[: error.start]
        return good[: good.rfind(b"\n") + 1].decode("utf-8", "replace"), True


def _split(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    last = lines.pop()
    result = [line + "\n" for line in lines]
    return [*result, last] if last else result


class LogRun:
    """One log and its rules; `take` is called block by block, then `finish`."""

    def __init__(
        self,
        rules: list[Runner],
        *,
        console: bool | None,
        stage_start: str | None,
        end_seconds: float | None,
    ) -> None:
        self.rules = rules
        self.console = console
        self.form: Form | None = None
        self.unparsable = 0
        self.lines = 0
        self.kept_lines = 0
        self.now = 0.0
        self.latest = 0.0
        self.start: float | None = None
        self.broken_line: int | None = None
        self.is_past_end = False
        self._stage_start = stage_start
        self._end = end_seconds
        self._clock: Clock | None = None

    def sample(self, lines: list[str]) -> str | None:
        """Learn the form of stamps and of lines; return why the log cannot be timed, or None."""
        if self.console is None:
            marked = sum(1 for line in lines[:_SAMPLE_LINES] if _CONSOLE.match(line))
            self.console = marked > _CONSOLE_SHARE * min(len(lines), _SAMPLE_LINES)
        self.form = form_of(lines[:_SAMPLE_LINES])
        if self.form is None:
            return "no time stamps"
        self._clock = Clock(self.form)
        if self._stage_start is not None:
            self.start = read_time(self._stage_start, self.form)
            if self.start is None:
                return f"stage start {self._stage_start[:60]!r} is not a time"
        return None

    def take(self, block: Block, announce: Callable[[int, str, str], None] | None = None) -> None:
        """Feed the lines of a block; `announce` is told of every match before it is tried."""
        first = block.first_line
        self.lines = first + len(block.lines) - 1
        for number, raw in enumerate(block.lines, first):
            line = self._timed(raw)
            if line is None:
                continue
            if self._end is not None and self.now > self._end:
                self.is_past_end = True
                return
            self._feed(line, number, announce)
        if block.is_broken:
            self.broken_line = self.lines + 1

    def _timed(self, raw: str) -> str | None:
        """Move the clock and return the line as stdout.log holds it; None for other ranks'."""
        clock = self._clock
        if clock is None:
            return None
        line: str | None = raw
        if self.console:
            match = _CONSOLE.match(raw)
            is_ours = match is not None and match[3] == "0"
            line = raw[match.end() :] if match is not None and is_ours else None
        stamp = clock.seconds(raw)
        if stamp is not None:
            if self.start is None:
                self.start = stamp
            elapsed = stamp - self.start
            self.latest = max(self.latest, elapsed)
            if line is not None and elapsed > self.now:
                self.now = elapsed
        if line is not None:
            self.kept_lines += 1
        return line

    def _feed(
        self, line: str, number: int, announce: Callable[[int, str, str], None] | None
    ) -> None:
        now = self.now
        for machine, needs, match, stop_needs, stop in self.rules:
            if machine.stopped_at is not None:
                continue
            found = None
            if needs is None or needs in line:
                if announce:
                    announce(number, machine.spec.name, "logPattern")
                found = match(line)
                if found is not None:
                    machine.match(now, number)
                    if machine.spec.fault_on_match:
                        continue
            if stop is not None and (stop_needs is None or stop_needs in line):
                if announce:
                    announce(number, machine.spec.name, "stopPattern")
                if stop(line) is not None:
                    machine.stop(now, number)
                    continue
            if found is not None and not machine.judge(
                now, number, found[1] if machine.reads_metric else None
            ):
                self.unparsable += 1
                return

    def finish(self) -> float:
        """Let the clock run to the end of the observation and return it."""
        end = self._end if self._end is not None else max(self.latest, self.now)
        if self.broken_line is not None:
            end = self.now
        for runner in self.rules:
            runner.machine.advance(end)
        return end

"""All rules over one log, line by line, in bounded memory.

Standard library only: this is what the child process runs. It compiles and matches user patterns,
so nothing but `simulate/child.py` imports it.
"""

import re
import warnings
from collections.abc import Callable
from typing import NamedTuple

from gpuvet.simulate.clock import Clock, Form, form_of, read_time
from gpuvet.simulate.log_lines import SAMPLE_LINES, Block, looks_like_console, own_line
from gpuvet.simulate.regex_shape import required_text
from gpuvet.simulate.regex_tree import read
from gpuvet.simulate.rule import RuleMachine, RuleSpec

Match = Callable[[str], re.Match[str] | None]


class Runner(NamedTuple):
    """A rule ready to run: texts that must stand in a matching line spare most of the work."""

    machine: RuleMachine
    needs: str | None
    match: Match
    stop_needs: str | None
    stop: Match | None


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
            self.console = looks_like_console(lines)
        self.form = form_of(lines[:SAMPLE_LINES])
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
        line = own_line(raw) if self.console else raw
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

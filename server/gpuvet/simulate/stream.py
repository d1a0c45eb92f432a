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
Announce = Callable[[int, str, str], None]  # line, rule, field


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


def _texts(rule: Runner) -> tuple[str | None, ...]:
    """Return the texts of which a line must hold one to concern a rule; None: any line may."""
    return (rule.needs,) if rule.stop is None else (rule.needs, rule.stop_needs)


def _concerns(rule: Runner, text: str) -> bool:
    """Return whether a rule can match anywhere in a piece of text."""
    if rule.machine.stopped_at is not None:
        return False
    return any(each is None or each in text for each in _texts(rule))


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

    def take(self, block: Block, announce: Announce | None = None) -> None:
        """Feed the lines of a block; `announce` is told of every match before it is tried."""
        self.lines = block.first_line + len(block.lines) - 1
        rules = [each for each in self.rules if _concerns(each, block.text)]
        if not self._take_ordered(block, rules, announce):
            self._take_each(block, rules, announce)
        if block.is_broken:
            self.broken_line = self.lines + 1

    def _take_ordered(self, block: Block, rules: list[Runner], announce: Announce | None) -> bool:
        """Feed a block whose stamps are all there and in order; False where they are not.

        Only lines that hold a rule's text are looked at, and only their stamps are read.
        """
        clock = self._clock
        if clock is None or self.console or not block.lines:
            return False
        self._tick(block.lines[0])
        if not clock.in_order(block.lines):
            return False
        if self._end is not None and self._elapsed(block.lines[-1]) > self._end:
            return False
        self.kept_lines += len(block.lines)
        texts = {text for each in rules for text in _texts(each)}
        wanted = None if None in texts else tuple(text for text in texts if text)
        start = self.start or 0.0
        for number, line in enumerate(block.lines, block.first_line) if rules else ():
            if wanted is not None:
                for text in wanted:
                    if text in line:
                        break
                else:
                    continue
            self.now = max(self.now, (clock.seconds(line) or start) - start)
            self._feed(line, number, rules, announce)
        self._tick(block.lines[-1])
        return True

    def _take_each(self, block: Block, rules: list[Runner], announce: Announce | None) -> None:
        for number, raw in enumerate(block.lines, block.first_line):
            line = own_line(raw) if self.console else raw
            self._tick(raw, is_own=line is not None)
            if line is None:
                continue
            self.kept_lines += 1
            if self._end is not None and self.now > self._end:
                self.is_past_end = True
                return
            self._feed(line, number, rules, announce)

    def _tick(self, raw: str, *, is_own: bool = True) -> None:
        """Move the clock to a line's stamp; other ranks' lines only lengthen the observation."""
        elapsed = self._elapsed(raw)
        self.latest = max(self.latest, elapsed)
        if is_own and elapsed > self.now:
            self.now = elapsed

    def _elapsed(self, raw: str) -> float:
        """Return a line's seconds from the start, 0 where it carries no stamp."""
        stamp = self._clock.seconds(raw) if self._clock else None
        if stamp is None:
            return 0.0
        if self.start is None:
            self.start = stamp
        return stamp - self.start

    def _feed(self, line: str, number: int, rules: list[Runner], announce: Announce | None) -> None:
        now = self.now
        for machine, needs, match, stop_needs, stop in rules:
            if machine.stopped_at is not None:
                continue
            found: re.Match[str] | None = None
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

"""A rule of the lint, what it finds, and what it reads."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from gpuvet.checks.answer.backing import Backing
from gpuvet.checks.answer.told import Told, plain
from gpuvet.checks.answer.tracing import Tracing
from gpuvet.model.check import Severity
from gpuvet.parse.draft import Draft, Unit

_EDGE = re.compile(r"\W*(?:\Z|\n)|\s?[;:,.()\u2014]")
Made = TypeVar("Made")
_FEWEST_WORDS = 4  # of a clause that counts as the evidence's own


class Reading:
    """A draft and the evidence of its run; `told` is empty where no report was given."""

    def __init__(self, draft: Draft, told: Told, backing: Backing, asked: str = "") -> None:
        """Hold them side by side."""
        self.draft = draft
        self.told = told
        self.backing = backing
        self.asked = asked
        self._made: dict[Callable[[Reading], Any], Any] = {}

    def once(self, make: "Callable[[Reading], Made]") -> "Made":
        """Return what a function makes of this reading, made once for all rules."""
        if make not in self._made:
            self._made[make] = make(self)
        made: Made = self._made[make]
        return made

    @cached_property
    def tracing(self) -> Tracing:
        """The draft's numbers and times, traced."""
        return Tracing(self.draft, self.backing)

    def is_quoted(self, unit: Unit, start: int, end: int) -> bool:
        """Say whether words of a unit stand in quotation marks, or in code: others' words."""
        at = unit.start + start
        span = self.draft.code_span_at(at)
        return self.draft.in_quotes(at) or (span is not None and unit.start + end <= span.end)

    def statement_of(self, clause: str) -> str | None:
        """Return the sentence of a report that holds a clause word for word, or None."""
        words = plain(clause).strip(" .,;:()")
        if len(words.split()) < _FEWEST_WORDS:
            return None
        statements = self.told.statements
        at = statements.find(words)
        while at >= 0:
            end = at + len(words)
            if _EDGE.match(statements, end) and (at == 0 or statements[at - 1] in " \n("):
                start = statements.rfind("\n", 0, at) + 1
                stop = statements.find("\n", end)
                return statements[start : stop if stop >= 0 else len(statements)]
            at = statements.find(words, at + 1)
        return None

    def is_evidence(self, clause: str) -> bool:
        """Say whether a clause is a report's own, word for word."""
        return self.statement_of(clause) is not None


class Hit(NamedTuple):
    """One fault as a rule sees it."""

    start: int  # in the words of the draft
    shown: str
    message: str


class Rule(NamedTuple):
    """One rule: its code, what it leads to, who asks for it, and the function that looks."""

    code: str
    name: str  # states the flaw
    severity: Severity
    why: str
    fix: str
    source: str
    run: Callable[[Reading], Iterator[Hit]]

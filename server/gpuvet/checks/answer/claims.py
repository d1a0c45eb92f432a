"""Sentences of a draft that claim an absence, and the hours that a draft states. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gpuvet.checks.answer.phrases import clause_around, is_supposed, just_before
from gpuvet.checks.answer.rule import Reading
from gpuvet.checks.answer.words_of_absence import (
    ABSENCES,
    CHECK_NAME,
    COVERAGE,
    HOURS,
    INSTANCE,
    MEASURED,
    NAMED_STATE,
    PAIR,
    RUN_HOURS,
    STATE,
    TAKEN_BACK,
    UNSAID,
)
from gpuvet.parse.draft import Unit, UnitKind

_MOST_CLAIMS = 200  # of one draft
_MOST_ABOVE = 60  # units before a claim among which its heading is looked for
_BESIDE = 2  # blocks between a claim and its hours
# Who a claim is made of, where it names no node: not the node of its line, but several.
_OF_SEVERAL = re.compile(
    r"\b(?:all|both|each|every|either|any|none of|no|other|remaining|rest of|whole|entire|\d+)"
    r"(?: of)?(?: the)?(?: \w+)? (?:nodes|node|hosts?|machines?|instances?)\b"
    r"|\b(?:fleet|cluster|everywhere|everything|elsewhere|others|anywhere)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?<![\w-])(?:not|never|nor)\s+(?:\w+\s+)?\Z", re.IGNORECASE)


class Absence(NamedTuple):
    """One claim that something is not there."""

    unit: Unit
    start: int  # in the unit
    shown: str

    @property
    def part(self) -> str:
        """Its part of the sentence: up to a semicolon, or a whole row."""
        return self.unit.text[slice(*self._part)]

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that its part of the sentence names."""
        return frozenset(INSTANCE.findall(self.part))

    @property
    def _part(self) -> tuple[int, int]:
        text = self.unit.text
        if self.unit.kind is UnitKind.ROW:
            return 0, len(text)
        end = text.find(";", self.start)
        return text.rfind(";", 0, self.start) + 1, end if end >= 0 else len(text)


def nodes_of(reading: Reading, absence: Absence) -> frozenset[str]:
    """Return the nodes that a claim is made of; none where it is made of several unnamed ones.

    They stand in its part of the sentence, else at the head of its list item
    (`LEAVE ALONE i-…: seen 49 of 49 h; 0 Xid events`), else in the part before it, else in the
    item or heading that it stands under.
    """
    if absence.nodes or _OF_SEVERAL.search(absence.part):
        return absence.nodes
    unit = absence.unit
    line = [u.text for u in reading.draft.prose if u.block == unit.block and u.start < unit.start]
    before = (*line, *unit.text[: absence.start].split(";"))
    parts = before if unit.item else tuple(reversed(before))
    named = (frozenset[str](INSTANCE.findall(part)) for part in (*parts, *_above(reading, unit)))
    return next((nodes for nodes in named if nodes), absence.nodes)


def _above(reading: Reading, unit: Unit) -> Iterator[str]:
    """Yield what a line stands under, nearest first: items that are less indented, its heading."""
    prose = reading.draft.prose
    at = bisect_left(prose, unit.start, key=lambda u: u.start)
    first = next(u for u in prose[max(0, at - _MOST_ABOVE) :] if u.block == unit.block)
    indent = reading.draft.place(first.start).column if unit.item else 0
    for above in reversed(prose[max(0, at - _MOST_ABOVE) : at]):
        if above.kind is UnitKind.HEADING:
            yield above.text
            return
        column = reading.draft.place(above.start).column
        if above.item and above.kind is UnitKind.SENTENCE and column < indent:
            yield above.text
            indent = column


def absences(reading: Reading) -> tuple[Absence, ...]:
    """Return the claims that a draft makes as its own and takes back nowhere in their sentence."""
    return reading.once(_absences)


def _absences(reading: Reading) -> tuple[Absence, ...]:
    return tuple(islice(_claims(reading), _MOST_CLAIMS))


def _claims(reading: Reading) -> Iterator[Absence]:
    for unit in reading.draft.prose:
        for match in _matches(unit):
            start, end = match
            shown = unit.text[start:end].strip()
            if _is_made(reading, unit, start, end):
                yield Absence(unit, start, shown)


def _matches(unit: Unit) -> Iterator[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    for pattern in ABSENCES:
        for match in pattern.finditer(unit.text):
            if not any(a < match.end() and match.start() < b for a, b in seen):
                seen.append((match.start(), match.end()))
    if unit.kind is UnitKind.ROW:
        at = 0
        for cell in unit.text.split("|"):
            if STATE.match(cell) and INSTANCE.search(unit.text):
                seen.append((at, at + len(cell)))
            at += len(cell) + 1
    elif found := NAMED_STATE.search(unit.text):
        seen.append(found.span())
    yield from sorted(seen)


def _is_made(reading: Reading, unit: Unit, start: int, end: int) -> bool:
    text = unit.text
    if text.rstrip().endswith("?") or reading.is_quoted(unit, start, end):
        return False
    if UNSAID.search(just_before(text, start)) or TAKEN_BACK.match(text, end):
        return False
    if CHECK_NAME.search(just_before(text, end)):
        return False
    if _DENIED.search(just_before(text, start)):
        return False
    if is_supposed(text, start) and not re.search(r"\bmay be\b", text[start:end]):
        return False
    own = reading.statement_of(clause_around(text, start, end))
    return own is None or (HOURS.search(own) is not None and HOURS.search(text) is None)


def says_measured(absence: Absence) -> bool:
    """Say whether a claim is a verdict's own `0 Xids measured`."""
    return MEASURED.search(absence.unit.text) is not None


def states_hours(reading: Reading, absence: Absence) -> bool:
    """Say whether a draft gives the hours behind a claim, of the nodes that it names.

    They stand beside it, in a table, or where the draft speaks of coverage.
    """
    return any(_backs(unit, found, absence) for unit, found in reading.once(_stated))


def _stated(reading: Reading) -> list[tuple[Unit, re.Match[str]]]:
    return list(_hours_of(reading))


def _hours_of(reading: Reading) -> Iterator[tuple[Unit, re.Match[str]]]:
    tables = re.search(r"\bhours?\b|\bh\b", reading.draft.words) is not None
    for unit in reading.draft.prose:
        if RUN_HOURS.search(unit.text):
            continue
        found = HOURS.search(unit.text)
        if found is None and tables and unit.kind is UnitKind.ROW:
            found = PAIR.search(unit.text)
        if found is not None:
            yield unit, found


def _backs(unit: Unit, found: re.Match[str], absence: Absence) -> bool:
    away = abs(unit.block - absence.unit.block)
    if away == 0:
        return True
    if away > _BESIDE and unit.kind is not UnitKind.ROW and not COVERAGE.search(unit.text):
        return False
    nodes = frozenset(INSTANCE.findall(unit.text))
    return not absence.nodes or bool(nodes & absence.nodes) or (not nodes and _is_full(found))


def _is_full(found: re.Match[str]) -> bool:
    numbers = re.findall(r"\d+", found[0])
    return len(numbers) < 2 or numbers[0] == numbers[1]

"""The numbers and times of a draft, and which of them the evidence explains. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, islice
from typing import NamedTuple

from gpuvet.checks.answer.backing import PAIR, Backing, Quantity, follows, quantity
from gpuvet.checks.answer.moments import Moment, moments_in
from gpuvet.checks.answer.phrases import is_about, just_before
from gpuvet.checks.answer.units import SECONDS, Unit, seconds_of, unit_after
from gpuvet.parse.draft import Draft, UnitKind
from gpuvet.parse.figures import figures
from gpuvet.parse.untrusted import mask

_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?![\d.,]*\d)")
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6}
# Lengths of what is still to be done; nobody measured them.
_AHEAD = re.compile(
    r"\b(?:for the next|over the next|in the next|every|each|wait(?:ing)?(?: for)?|again in"
    r"|within(?: the next)?|watch(?: it| them)?(?: for)?|monitor(?: it| them)?(?: for)?"
    r"|retry(?: after| in)?|soak(?: for)?)\s+(?:another |about )?\Z",
    re.IGNORECASE,
)
_COMPOUND = re.compile(  # 18 min 25 s
    r"(?<![\w.:])(?:(\d+) ?d(?:ays?)?,? )?(?:(\d+) ?h(?:(?:ou)?rs?)?,? ?)?"
    r"(?:(\d+) ?m(?:in(?:utes?)?)?)?(?:,? ?(?:and )?(\d+) ?s(?:ec(?:onds?)?)?)?\b"
)
_LENGTHS = frozenset({Unit.SECOND, Unit.MINUTE, Unit.HOUR, Unit.DAY})
_STRICT = _LENGTHS | {Unit.PERCENT, Unit.NODE_HOUR}
_HOURS = frozenset({Unit.HOUR, Unit.NODE_HOUR})
_WINDOW = re.compile(r"\b(?:window|last|past|since|default)\b", re.IGNORECASE)
_WINDOW_LENGTHS = (86_400.0, 2 * 86_400.0, 3 * 86_400.0)  # the default windows and run lengths
_METRIC = re.compile(r"\b(?:[A-Z][a-z]+(?:[A-Z][A-Za-z]+)+|DCGM_FI_\w+|[A-Z]+_[A-Z_]+UTIL\w*)\b")
# "Xid 79", "Xids 48, 63 and 94": codes, not quantities.
XIDS = re.compile(r"\bS?Xids?\s+(?:codes?\s+)?(\d{1,5}(?:(?:\s*[,/]\s*|\s+(?:and|or)\s+)\d{1,5})*)")
_CAPACITY = re.compile(
    r"\b(?:blocks?|capacity|reservation|plan|terminat\w+|usable)\b", re.IGNORECASE
)
_LEADS = (1800.0, 3600.0)  # of terminations before the end of capacity
_ACCOUNT = re.compile(r"\baccount\b[^.\n]{0,24}\Z", re.IGNORECASE)
_HYPHENED = re.compile(r"(?<![\d-])\d{4}-\d{4}-\d{4}(?![\d-])")
_DIGITS = re.compile(r"\d+")
_LOOK_BACK = 24
MOST_FIGURES = 600  # numbers and times of a draft; the rest is not traced
_MOST_TIMES = 30  # of one neighbourhood


class Found(NamedTuple):
    """A number of the draft and where it stands."""

    number: Quantity
    at: int


class Tracing:
    """See the module."""

    def __init__(self, draft: Draft, backing: Backing) -> None:
        """Hold a draft beside the evidence."""
        self._draft = draft
        self._backing = backing
        self._gaps: dict[int, list[float]] = {}

    @cached_property
    def unbacked(self) -> tuple[Found, ...]:
        """The numbers that nothing explains."""
        backed = [found for found in self.quantities if self._is_backed(found)]
        places = {found.at for found in backed}
        left = (found for found in self.quantities if found.at not in places)
        by_block: dict[int, list[Quantity]] = {}
        for found in backed:
            by_block.setdefault(self._block(found.at), []).append(found.number)
        return tuple(found for found in left if not self._follows(found, by_block))

    @cached_property
    def quantities(self) -> tuple[Found, ...]:
        """Every number of two digits and more that stands for a quantity."""
        return tuple(islice(self._quantities(), MOST_FIGURES))

    @cached_property
    def late(self) -> tuple[Moment, ...]:
        """The times that are at no time of the evidence."""
        return tuple(
            m for m in self._moments if not self._is_skipped(m.start) and not self._is_timed(m)
        )

    def rescaled_from(self, found: Found) -> float | None:
        """Return a value of the evidence that is a hundredth or a hundred times a percentage."""
        number = found.number
        unit = self._draft.unit_at(found.at)
        if number.unit is not Unit.PERCENT and not (unit and _METRIC.search(unit.text)):
            return None
        if self._backing.has_value(number.value / 100, number.step / 200):
            return number.value / 100
        return number.value * 100 if self._backing.has_value(number.value * 100, 0.5) else None

    def metric_says(self, found: Found) -> float | None:
        """Return what its metric's own lines give, where that is a hundredth of a percentage."""
        unit = self._draft.unit_at(found.at)
        if found.number.unit is not Unit.PERCENT or unit is None or found.number.value >= 100:
            return None
        for metric in _METRIC.findall(unit.text[: found.at - unit.start]):
            values = self._backing.values_beside(metric)
            if values and found.number.value not in values:
                wanted = found.number.value / 100
                near = next((v for v in values if v and abs(v - wanted) <= 0.005), None)
                if near is not None:
                    return near
        return None

    def _is_backed(self, found: Found) -> bool:
        number = found.number
        if not self._backing.has_number(number):
            return False
        pair = PAIR.match(self._text, found.at)
        if pair is not None and unit_after(self._text, pair.end()) in _HOURS:
            return self._backing.has_hours(int(pair[1]), int(pair[2]))
        is_small = number.digits <= 2 and number.step == 1
        return not (is_small and number.unit in _STRICT) or self._backing.fits(number)

    def _follows(self, found: Found, backed: Mapping[int, Sequence[Quantity]]) -> bool:
        block = self._block(found.at)
        beside = [n for near in (block, block - 1, block + 1) for n in backed.get(near, ())]
        return follows(found.number, beside, self._gaps_beside(block))

    def _quantities(self) -> Iterator[Found]:
        text = self._text
        for figure in figures(text):
            at = figure.offset
            if figure.kind != "number" or self._is_skipped(at):
                continue
            end = at + len(figure.shown)
            unit = unit_after(text, end)
            if unit in _LENGTHS and _AHEAD.search(just_before(text, at)):
                continue
            scale = (
                1.0
                if text[end + 1 : end + 2].isalnum()
                else _THOUSANDS.get(text[end : end + 1], 1.0)
            )
            if (compound := self._compound(at)) is not None:
                if compound.at == at:
                    yield compound
                continue
            number = quantity(figure.shown, unit, about=self._is_about(at) or scale > 1)
            scaled = number._replace(value=number.value * scale, step=number.step * scale)
            yield Found(scaled, at)

    def _compound(self, at: int) -> Found | None:
        """Return the length written in two or three units that a number is a part of."""
        for match in self._compounds:
            if match.start() <= at < match.end():
                parts = [int(part or 0) for part in match.groups()]
                total = sum(p * s for p, s in zip(parts, (86_400, 3600, 60, 1), strict=True))
                last = Unit.SECOND if match[4] else Unit.MINUTE if match[3] else Unit.HOUR
                value = total / SECONDS[last]
                shown = f"{value:.0f}"
                return Found(
                    Quantity(shown, value, 1.0, last, self._is_about(match.start())), match.start()
                )
        return None

    @cached_property
    def _compounds(self) -> tuple[re.Match[str], ...]:
        found = _COMPOUND.finditer(self._text)
        return tuple(m for m in found if sum(part is not None for part in m.groups()) > 1)

    @cached_property
    def _text(self) -> str:
        """The words with grouped digits joined by commas; versions and Xid codes blanked."""
        text = _GROUPED.sub(lambda m: re.sub(r"\D", ",", m[0]), self._draft.words)
        text = _VERSION.sub(lambda m: " " * len(m[0]), text)
        return XIDS.sub(lambda m: re.sub(r"\d", " ", m[0]), text)

    @cached_property
    def _moments(self) -> tuple[Moment, ...]:
        return tuple(islice(moments_in(self._text), MOST_FIGURES))

    def _is_about(self, at: int) -> bool:
        before = self._text[max(0, at - _LOOK_BACK) : at]
        return is_about(before, len(before))

    def _is_skipped(self, at: int) -> bool:
        """Say whether a figure stands in a command."""
        unit = self._draft.unit_at(at)
        if unit is None or unit.kind is UnitKind.CODE or self._is_of_an_account(at):
            return True
        if mask(unit.text) != unit.text:  # a secret's own digits
            return True
        span = self._draft.code_span_at(at)
        return span is not None and " " in self._draft.words[span.start : span.end]

    def _is_of_an_account(self, at: int) -> bool:
        """Say whether digits are an account, or its last four: `account …3333`."""
        words = self._draft.words
        if any(m.start() <= at < m.end() for m in _HYPHENED.finditer(words)):
            return True
        digits = _DIGITS.match(words, at)
        if digits is None:
            return False
        is_named = _ACCOUNT.search(just_before(words, at)) is not None
        if len(digits[0]) == 12:
            return is_named or digits[0] in self._backing.accounts
        is_end = any(account.endswith(digits[0]) for account in self._backing.accounts)
        return is_named and len(digits[0]) == 4 and is_end

    def _block(self, at: int) -> int:
        unit = self._draft.unit_at(at)
        return unit.block if unit is not None else -1

    def _gaps_beside(self, block: int) -> Sequence[float]:
        """Return the seconds between any two times near a block; without a day, within one day."""
        if block not in self._gaps:
            near = [m for m in self._moments if abs(self._block(m.start) - block) <= 1][
                :_MOST_TIMES
            ]
            dated = [m.exact.timestamp() for m in near if m.exact is not None]
            clocks = [float(m.second_of_day) for m in near if m.second_of_day is not None]
            pairs = (*combinations(dated, 2), *combinations(clocks, 2))
            self._gaps[block] = [abs(a - b) for a, b in pairs]
        return self._gaps[block]

    @cached_property
    def _lengths(self) -> Mapping[int, Sequence[float]]:
        """Seconds of the lengths that a block names, at most a few of each."""
        found: dict[int, list[float]] = {}
        for each in self.quantities:
            length = seconds_of(each.number.value, each.number.unit)
            if (
                length is not None
                and len(of := found.setdefault(self._block(each.at), [])) < _MOST_TIMES
            ):
                of.append(length)
        return found

    def _is_timed(self, moment: Moment) -> bool:
        block, unit = self._block(moment.start), self._draft.unit_at(moment.start)
        lengths = [
            length
            for near in (block, block - 1, block + 1)
            for length in self._lengths.get(near, ())
        ]
        if unit is not None and _WINDOW.search(unit.text):
            lengths += _WINDOW_LENGTHS
        if unit is not None and _CAPACITY.search(unit.text):
            lengths += _LEADS
        return self._backing.calendar.has(
            moment, about=self._is_about(moment.start), lengths=lengths
        )

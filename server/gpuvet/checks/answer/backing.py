"""Where the figures of a draft can come from: exact, rounded, in another unit, or one step away.

A value is looked for as written first. Then rounding, another unit, and one step of arithmetic
are allowed: the difference of two times, hours not seen of hours asked, a share, a sum over nodes,
and whatever two neighbouring numbers of the draft give, both traced themselves. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from gpuvet.checks.answer.moments import Calendar
from gpuvet.checks.answer.told import Told
from gpuvet.checks.answer.units import SECONDS, Unit, bytes_of, seconds_of, unit_after, unit_of_key
from gpuvet.parse.accounts import proved_accounts
from gpuvet.parse.figures import holds_name, holds_value, number_forms

MOST_RAW = 16_000_000  # characters of logs and replies that are searched
_KNOWN = re.compile(r"(?<![A-Za-z0-9])[a-z]{1,14}-[0-9a-f]{8,17}(?![0-9a-z])")
_XID_SEEN = re.compile(
    r"[Xx]id(?:s|\b)(?:[ \"':=]{0,6}| \(PCI:[^)\n]{4,40}\): |\W{1,3}codes?\W{1,4})"
    r"(\d{1,5}(?:(?:\s*[,/]\s*|\s+(?:and|or)\s+)\d{1,5})*)"
    r"|\"(?:code|xid|sxid|id)\"\s?:\s?\"?(\d{1,5})\b"
)
_MEASURED = re.compile(r'"hours_measured": (\d+),\s+"hours_asked": (\d+)')
_BESIDE = 200  # characters after a metric in which its values stand
_MOST_OPERANDS = 40  # numbers of one neighbourhood that are combined
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w.]*\d:)")
_OF = re.compile(r" of (?:the )?\d[\d,]*")
_KEY = re.compile(r'"(\w+)":\s?\Z')
# Lengths that the service or the field fixes, and that a draft may name without reading them:
# terminations before the end of a block (30 min) or an UltraServer (60), a replacement (20 to 30,
# HyperPod), default windows and run lengths (24, 48, 72 h).
_RULE_LENGTHS = frozenset(
    {
        *((Unit.MINUTE, length) for length in (20.0, 30.0, 60.0)),
        *((Unit.HOUR, length) for length in (24.0, 48.0, 72.0)),
    }
)


class Quantity(NamedTuple):
    """A number of the draft as written, with what its unit says."""

    shown: str
    value: float
    step: float  # of its last digit: 0.1 for 96.4
    unit: Unit
    about: bool = False  # hedged: about, nearly, over

    @property
    def digits(self) -> int:
        """Digits of the whole part."""
        return len(self.shown.replace(",", "").partition(".")[0])


def quantity(shown: str, unit: Unit, *, about: bool = False) -> Quantity:
    """Return a number as written in a draft."""
    bare = shown.replace(",", "")
    decimals = len(bare.partition(".")[2])
    return Quantity(shown, float(bare), 10.0**-decimals, unit, about)


class Backing:
    """Everything the run read, to trace a figure to."""

    def __init__(self, told: Told, near: Sequence[str], raw: Sequence[str] = ()) -> None:
        """Hold the texts.

        Args:
            told: What the reports say, for counts and sums.
            near: Reports, the question and results of tools: any number there counts.
            raw: Logs and whole replies, full of digits: a number of one or two digits counts only
                where it is a value of its own.
        """
        self._told = told
        self._near = tuple(near)
        self._raw = tuple(raw)

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text."""
        return (*self._near, *self._raw)

    @cached_property
    def calendar(self) -> Calendar:
        """The times of the evidence."""
        return Calendar(self.texts)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the evidence, each once."""
        return tuple(dict.fromkeys(i for text in self.texts for i in _KNOWN.findall(text)))

    @cached_property
    def xids(self) -> frozenset[str]:
        """The codes that the evidence speaks of."""
        return frozenset(
            code
            for text in self.texts
            for match in _XID_SEEN.finditer(text)
            for code in re.findall(r"\d+", match[1] or match[2])
        )

    @cached_property
    def accounts(self) -> frozenset[str]:
        """The account ids that the evidence proves to be some."""
        return self._told.accounts | proved_accounts(*self.texts).keys()

    def has(self, text: str) -> bool:
        """Say whether a text stands anywhere, also within a longer name."""
        return any(text in each for each in self.texts)

    def has_name(self, name: str) -> bool:
        """Say whether a name stands somewhere as a whole."""
        return any(holds_name(each, name) for each in self.texts)

    def has_number(self, number: Quantity) -> bool:
        """Say whether a number stands somewhere, is rounded from one or one in another unit."""
        return (
            self._stands(number)
            or (number.unit, number.value) in _RULE_LENGTHS
            or self._is_rounded(number)
            or self._is_converted(number)
            or self._is_counted(number)
        )

    def fits(self, number: Quantity) -> bool:
        """Say whether a small number stands with its own unit, or with none, or is reckoned."""
        if self._is_converted(number) or self._is_counted(number):
            return True
        if (number.unit, number.value) in _RULE_LENGTHS:
            return True
        units = self._numbers.get(number.value)
        return units is None or bool(units & {number.unit, Unit.NONE})

    def has_value(self, value: float, slack: float) -> bool:
        """Say whether a number of about this value stands in the reports or results."""
        return value != 0 and any(abs(found - value) <= slack for found in self._numbers)

    def values_beside(self, name: str) -> frozenset[float]:
        """Return the numbers on the lines of the reports and results that hold a name."""
        return frozenset(
            float(match[0].replace(",", ""))
            for text in self._near
            for line in text.splitlines()
            if name in line
            for place in re.finditer(re.escape(name), line)
            for match in _NUMBER.finditer(line, place.end(), place.end() + _BESIDE)
        )

    def has_hours(self, part: int, whole: int) -> bool:
        """Say whether `N of M h` is what the reports measured, alone or summed; else anything."""
        hours = tuple(self._told.hours.values())
        if not hours:
            return True
        total = sum(h.measured for h in hours), sum(h.asked for h in hours)
        known = {(h.measured, h.asked) for h in hours} | {total} | self._pairs
        return (part, whole) in known or (whole - part, whole) in known

    def says_of(self, name: str, pair: tuple[int, int]) -> bool:
        """Say whether a line of the reports or results holds a name and this `N of M`."""
        return any(
            pair in set(pairs_of(line))
            for text in self._near
            for line in text.splitlines()
            if name in line
        )

    def _stands(self, number: Quantity) -> bool:
        forms = number_forms(number.shown)
        for whole in forms.wholes:
            if any(holds_value(text, whole, forms.decimals) for text in self._near):
                return True
            for text in self._raw:
                if number.digits < 3 and not forms.decimals:
                    if re.search(rf'[:\[,]\s?"?{whole}(?:\.0+)?"?\s?[,}}\]]', text):
                        return True
                elif holds_value(text, whole, forms.decimals):
                    return True
        return False

    def _is_rounded(self, number: Quantity) -> bool:
        slack = number.step / 2
        if number.about:  # to two digits that count, and "over 48,000" of 48,211
            slack = max(slack, abs(number.value) * 0.05)
        elif number.step >= 1 and number.value < 10:
            return False
        return any(
            abs(found - number.value) <= slack * 1.0001
            and (number.about or found != int(found) or number.digits > 3)
            for found in self._numbers
            if found
        )

    def _is_converted(self, number: Quantity) -> bool:
        """Say whether some length or size is the same in another unit."""
        if (wanted := seconds_of(number.value, number.unit)) is not None:
            slack = number.step * SECONDS[number.unit] / 2 * (2 if number.about else 1)
            return any(abs(wanted - length) <= slack for length in self._lengths)
        return any(
            abs(size - found) <= max(size * 0.006, 1.0)
            for size in bytes_of(number.value, number.unit)
            for found in self._sizes
        )

    def _is_counted(self, number: Quantity) -> bool:
        """Say whether it is a count or a sum of what the reports list."""
        return number.value in self._counts or (
            number.unit is Unit.PERCENT
            and any(abs(number.value - share) <= number.step / 2 for share in self._shares)
        )

    @cached_property
    def _numbers(self) -> dict[float, set[Unit]]:
        """The numbers of the reports and results, each with the units it stands with."""
        found: dict[float, set[Unit]] = {}
        for text in self._near:
            for match in _NUMBER.finditer(text):
                of = _OF.match(text, match.end())
                unit = unit_after(text, of.end() if of else match.end())
                if unit is Unit.NONE:
                    key = _KEY.search(text, max(0, match.start() - 60), match.start())
                    unit = unit_of_key(key[1]) if key else unit
                found.setdefault(abs(float(match[0].replace(",", ""))), set()).add(unit)
        return found

    @cached_property
    def _lengths(self) -> tuple[float, ...]:
        return tuple(
            length
            for value, units in self._numbers.items()
            for unit in units
            if (length := seconds_of(value, unit)) is not None
        )

    @cached_property
    def _sizes(self) -> tuple[float, ...]:
        named = (
            size
            for value, units in self._numbers.items()
            for unit in units
            for size in bytes_of(value, unit)
        )
        return (*named, *(value for value in self._numbers if value >= 10_000))

    @cached_property
    def _counts(self) -> frozenset[float]:
        """Nodes, nodes of a verdict, hours seen and not seen, alone and summed; GPUs of nodes."""
        told = self._told
        nodes = len(told.verdicts)
        found = {float(nodes)}
        found |= {
            float(sum(1 for v in told.verdicts.values() if v is word))
            for word in set(told.verdicts.values())
        }
        hours = told.hours.values()
        found |= {float(h.asked - h.measured) for h in hours}
        found.add(float(sum(h.measured for h in hours)))
        found.add(float(sum(h.asked for h in hours)))
        found.add(float(sum(h.asked - h.measured for h in hours)))
        found |= {8.0 * n for n in range(1, nodes + 1)}  # types with eight GPUs
        return frozenset(found - {0.0})

    @cached_property
    def _pairs(self) -> frozenset[tuple[int, int]]:
        """Every `N of M` of the reports and results, and hours measured of asked."""
        rows = ((int(m[1]), int(m[2])) for text in self._near for m in _MEASURED.finditer(text))
        return frozenset((*rows, *(pair for text in self._near for pair in pairs_of(text))))

    @cached_property
    def _shares(self) -> tuple[float, ...]:
        """Percentages that two numbers of one `N of M` give."""
        pairs = set(self._pairs)
        measured = sum(h.measured for h in self._told.hours.values())
        asked = sum(h.asked for h in self._told.hours.values())
        pairs.add((measured, asked))
        return tuple(
            100 * part / whole for n, m in pairs if m for part, whole in ((n, m), (m - n, m))
        )


PAIR = re.compile(r"(?<![\w.,])(\d{1,6}) ?(?:of|/|out of) ?(?:the |all )?(\d{1,6})\b(?![.,:]\d)")


def pairs_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield every `N of M` of a text, N not over M."""
    for match in PAIR.finditer(text):
        part, whole = int(match[1]), int(match[2])
        if part <= whole:
            yield part, whole


def follows(number: Quantity, beside: Sequence[Quantity], gaps: Sequence[float]) -> bool:
    """Say whether a number is one step away from neighbours of the draft.

    Args:
        number: What is to be explained.
        beside: Traced numbers near it.
        gaps: Seconds between any two times near it, which explain a length.
    """
    slack = number.step / 2 * 1.0001
    if number.unit in SECONDS:
        wanted = seconds_of(number.value, number.unit) or 0.0
        wide = slack * SECONDS[number.unit] * (4 if number.about else 1)
        if any(abs(gap - wanted) <= wide for gap in gaps):
            return True
    kept = list(dict.fromkeys((n.value, n.unit) for n in beside))[:_MOST_OPERANDS]
    like = [value for value, unit in kept if unit is number.unit]
    for a, b in combinations(like, 2):
        if abs(a + b - number.value) <= slack or abs(abs(a - b) - number.value) <= slack:
            return True
    if len(like) > 2 and abs(sum(like) - number.value) <= slack:
        return True
    if number.unit in SECONDS:
        return False
    pairs = combinations(kept, 2)
    return any(
        abs(result - number.value) <= slack for p in pairs for result in _quotients(*p, number)
    )


def _quotients(
    one: tuple[float, Unit], other: tuple[float, Unit], number: Quantity
) -> Iterator[float]:
    """Yield the product of two numbers, and the quotient and percentage of two of a kind."""
    (a, unit), (b, unit_b) = one, other
    if unit is not unit_b:
        yield a * b
        return
    for above, below in ((a, b), (b, a)):
        if below and number.unit is Unit.PERCENT:
            yield 100 * above / below
            yield abs(100 * (above - below) / below)
        elif below and number.step < 1:
            yield above / below

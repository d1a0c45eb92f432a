"""Ids, names, numbers and times of a text, and whether another text holds the same. Pure.

Left out: numbers of one digit, and those that count the items of a list. A value is the same
however it is grouped: 1,874 and 1874.0 are, 96.4 and 96.39 are not. A version is one number.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MAX_GROUPED = 18  # digits of a number that some text may write in groups
_ID = re.compile(r"(?<![A-Za-z0-9])[a-z]{1,14}-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9A-Za-z])")
_PCI = r"\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?\b"
_UUID = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
# What is told apart from numbers: times, then everything whose digits are part of a name.
_TIMES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?"
    r"(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
    r"|\b\d{4}/\d{2}/\d{2}\b"
    r"|(?<![\w:])\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?![\d:])\s?(?:Z|UTC|[ap]m)?"
    r"|\b\d{4}-\d{2}(?:-\d{2})?\b"
    r"|\b(?:\d{1,2}(?:st|nd|rd|th)?\s)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
    r"\s\d{1,4}(?:st|nd|rd|th)?(?:,?\s\d{4})?\b"
    r"|\b\d{1,2}\s(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b"
)
_NAME = re.compile(
    rf"{_UUID}|{_PCI}"
    r"|\barn:aws[^\s`'\"<>|,;]{0,400}[^\s`'\"<>|,;.)\]]"  # ARNs
    r"|(?<![\w.])/[\w.+-]{1,80}(?:/[\w.@:+=#-]{1,120}){1,12}"  # paths and log groups
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?\b"  # addresses
    r"|\b[A-Za-z][\w-]{0,60}(?:[./:][\w-]{1,60}){0,6}\d[\w-]*(?:[./:][\w-]+)*"  # ml.p5.48xlarge
    r"|\b[A-Za-z]\w{0,60}(?:[-/._:]\w{1,60}){0,6}[-/._:]\d\w*(?:[-/._:]\w+)*"  # us-east-2
    r"|\bv\d+(?:\.\d+)+\b"
)
_NUMBER = re.compile(
    r"(?<![\w.])(?:\d+(?:\.\d+){2,}|(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)"
    r"(?!\w*[-_/]\w*[A-Za-z])"
)
_FIGURE = re.compile(
    rf"(?<!\w)(?:(?P<time>{_TIMES.pattern})|(?P<name>{_NAME.pattern})|(?P<number>{_NUMBER.pattern}))"
)
_TAIL = re.compile(r"(?:\.(\d+))?(?!\d|,\d{3}|\.\d)")
_DIGITS = re.compile(r"\d+")
_TWO_DIGITS = re.compile(r"\d{2}")
_DATE_BEFORE = re.compile(r"(?<!\d)\d{4}-(?:\d{2}-)?\Z")
_NAME_BEFORE = re.compile(r"[A-Za-z][\w.-]*-\Z")
_TIME_AFTER = re.compile(r":\d{2}|-\d{2}-\d{2}(?!\d)")


@dataclass(frozen=True, slots=True)
class Figure:
    """One of them as written, and where."""

    shown: str
    kind: str  # id, name, number or time
    offset: int


def figures(text: str) -> Iterator[Figure]:
    """Yield every id, name, number and time, in reading order within a stretch."""
    for start, end in _stretches(text):
        for figure in _figures_of(text[start:end], start):
            if not _is_list_number(figure, text):
                yield figure


def _is_list_number(figure: Figure, text: str) -> bool:
    """Whether a number only counts the items of an ordered list: `10. Restart the agent`."""
    end = figure.offset + len(figure.shown)
    if figure.kind != "number" or text[end : end + 2] not in {". ", ") "}:
        return False
    line = text.rfind("\n", 0, figure.offset) + 1
    return not text[line : figure.offset].strip(" \t>")


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of words with digits and their neighbours: nothing else can hold a figure."""
    start, end = 0, -1
    for match in _DIGITS.finditer(text):
        if match.start() < end:
            continue
        left, right = _word_before(text, match.start()), _word_after(text, match.end())
        if left > end:
            if end >= 0:
                yield start, end
            start = left
        end = right
    if end >= 0:
        yield start, end


def _word_before(text: str, at: int) -> int:
    """Return where the word before the one at `at` starts, on the same line."""
    line = text.rfind("\n", 0, at) + 1
    own = text.rfind(" ", line, at)
    return max(line, text.rfind(" ", line, own) + 1) if own > line else line


def _word_after(text: str, at: int) -> int:
    """Return where the word after the one at `at` ends, on the same line."""
    line = text.find("\n", at)
    line = len(text) if line < 0 else line
    own = text.find(" ", at, line)
    following = text.find(" ", own + 1, line) if own >= 0 else -1
    return following if following >= 0 else line


def _figures_of(stretch: str, offset: int) -> Iterator[Figure]:
    """Yield ids wherever they stand, then names and numbers of what is left."""
    rest = stretch
    for match in _ID.finditer(stretch):
        yield Figure(match[0], "id", offset + match.start())
        rest = f"{rest[: match.start()]}{' ' * len(match[0])}{rest[match.end() :]}"
    for match in _FIGURE.finditer(rest):
        kind = match.lastgroup
        if kind == "time" or _is_figure(kind or "", match[0]):
            yield Figure(match[0], kind or "", offset + match.start())


def _is_figure(kind: str, shown: str) -> bool:
    """Whether a name or a number has two digits or more."""
    if kind == "number":
        whole, _, decimals = shown.replace(",", "").partition(".")
        return len(whole) > 1 or bool(decimals.rstrip("0"))  # 5.0 is a number of one digit
    return _TWO_DIGITS.search(shown) is not None


class NumberForms(NamedTuple):
    """How a number may be written elsewhere: its whole part plain and grouped, and its decimals."""

    wholes: tuple[str, ...]
    decimals: str  # without trailing zeros


def number_forms(shown: str) -> NumberForms:
    """Return the forms to look for; a version, 570.133.20, has the one it is written in."""
    if shown.count(".") > 1:
        return NumberForms((shown,), "")
    whole, _, decimals = shown.replace(",", "").partition(".")
    grouped = f"{int(whole):,}" if len(whole) <= MAX_GROUPED else whole
    wholes = (whole,) if grouped == whole else (whole, grouped)
    return NumberForms(wholes, decimals.rstrip("0"))


def holds_name(text: str, name: str) -> bool:
    """Whether a name stands in the text and not as a part of a longer word."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _is_word(text[at - 1 : at]) and not _is_word(text[end : end + 1]):
            return True
        at = text.find(name, at + 1)
    return False


def holds_value(text: str, whole: str, decimals: str) -> bool:
    """Whether a number of this value stands in the text; `decimals` has no trailing zeros."""
    at = text.find(whole)
    while at >= 0:
        before = text[at - 1 : at]
        end = at + len(whole)
        starts = not (_is_word(before) or before in {".", ","}) or _ends_a_list(text, at)
        if starts and _decimals_at(text, end) == decimals and not _in_a_name(text, at, end):
            return True
        at = text.find(whole, at + 1)
    return False


def _in_a_name(text: str, at: int, end: int) -> bool:
    """Whether digits belong to a clock time, an ISO date or a name: ip-10-0-0-48 has no 48."""
    before = text[max(0, at - 40) : at]
    if before[-1:] == ":" and before[-2:-1].isdigit():
        return True
    if before[-1:] == "-" and (_DATE_BEFORE.search(before) or _NAME_BEFORE.search(before)):
        return True
    return _TIME_AFTER.match(text, end) is not None


def _ends_a_list(text: str, at: int) -> bool:
    """Whether the comma or stop before a number follows no digit, so that it is punctuation."""
    return text[at - 1 : at] in {".", ","} and not text[at - 2 : at - 1].isdigit()


def _decimals_at(text: str, at: int) -> str | None:
    """Return the decimals after a whole part, without trailing zeros; None inside a number."""
    match = _TAIL.match(text, at)
    if match is None:
        return None
    return (match[1] or "").rstrip("0")


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"

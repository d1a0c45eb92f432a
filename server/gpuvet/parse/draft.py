"""A drafted answer as sentences, rows and headings without its Markdown, each with its place. Pure.

The words are kept as they stand; emphasis, code marks and escapes go, and a map leads back to
line and column of the text as written.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

MOST_CHARACTERS = 40_000  # the most a tool's answer may have (contract), and so a draft
_HEADLINE_SENTENCES = 2
_LONGEST_UNIT = 4_000  # characters; a longer sentence is read in pieces


class UnitKind(StrEnum):
    """What a piece of a draft is."""

    HEADING = "heading"
    SENTENCE = "sentence"
    ROW = "row"  # of a table
    CODE = "code"  # a line of a fenced block


class Span(NamedTuple):
    """Characters of the words; end excluded."""

    start: int
    end: int


class Unit(NamedTuple):
    """One sentence, table row, heading or line of code."""

    kind: UnitKind
    text: str
    start: int  # in the words of the draft
    block: int  # paragraphs, items, rows and headings, counted from 0
    item: bool  # part of a list item or a table row

    @property
    def end(self) -> int:
        """Where it ends, excluded."""
        return self.start + len(self.text)


class Place(NamedTuple):
    """A place in the text as written, from 1."""

    line: int
    column: int


_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\(?\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_RULE = re.compile(r"|\|?[ \t]*:?[-=*_]{2,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_ESCAPED = frozenset("\\`*_{}[]<>()#+-.!|~")
_ENDS = re.compile(
    r"(?<=[.!?])[\"')\]”]*\s+(?=[\"'(\[“]*(?:[A-Z0-9\u2014]|[a-z]{1,8}-[0-9a-f]{6}))"
)
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|approx|cf|no|incl|resp|ca|etc|min|max|sec|hr)\.|…)\Z",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{1,600}\"|\u201c[^\u201d\n]{1,600}\u201d|\u2018[^\u2019\n]{3,600}\u2019|«[^»\n]{1,600}»"
)


class Draft:
    """See the module. `words` is the text that rules read; `source` the text as written."""

    def __init__(self, source: str) -> None:
        """Read a draft.

        Args:
            source: Markdown or plain text, as it would be shown.
        """
        self.source = source
        self._kept: list[int] = []  # offset in `source` of each character of `words`
        self.code_spans: list[Span] = []
        words: list[str] = []
        lines: list[_Line] = []
        at, fenced = 0, False
        for raw in source.split("\n"):
            is_fence = _FENCE.match(raw) is not None
            start = len(self._kept)
            if fenced and not is_fence:
                words.append(raw)
                self._kept.extend(range(at, at + len(raw)))
                lines.append(_Line(_Form.CODE, start, start))
            elif is_fence:
                fenced = not fenced
                lines.append(_Line(_Form.BLANK, start, start))
            else:
                form, skipped = _form_of(raw)
                kept = _without_marks(raw, skipped)
                words.append("".join(raw[i] for i in kept))
                self.code_spans += _spans(raw, kept, start)
                self._kept.extend(at + i for i in kept)
                lines.append(_Line(form, start, start))
            words.append("\n")
            self._kept.append(min(at + len(raw), max(len(source) - 1, 0)))
            lines[-1] = lines[-1]._replace(end=len(self._kept) - 1)
            at += len(raw) + 1
        self.words = "".join(words)
        self._lines = lines

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Every unit in reading order."""
        return tuple(_units(self.words, self._lines))

    @cached_property
    def prose(self) -> tuple[Unit, ...]:
        """The units that say something: all but code."""
        return tuple(u for u in self.units if u.kind is not UnitKind.CODE)

    @cached_property
    def quotes(self) -> tuple[Span, ...]:
        """What stands in quotation marks, marks included."""
        return tuple(Span(m.start(), m.end()) for m in _QUOTED.finditer(self.words))

    @cached_property
    def headline(self) -> tuple[Unit, ...]:
        """The first sentences of the first block, and of the next where that is a mere title."""
        prose = self.prose
        if not prose:
            return ()
        first = prose[0].block
        title = [u for u in prose if u.block == first]
        is_title = title[0].kind is UnitKind.HEADING or sum(len(u.text.split()) for u in title) <= 3
        later = next((u.block for u in prose if u.block > first), first)
        body = [u for u in prose if u.block == later][:_HEADLINE_SENTENCES] if is_title else []
        return tuple(dict.fromkeys((*title[:_HEADLINE_SENTENCES], *body)))

    def place(self, at: int) -> Place:
        """Return line and column of a character of the words."""
        if not self._kept:
            return Place(1, 1)
        offset = self._kept[min(at, len(self._kept) - 1)]
        starts = self._line_starts
        line = bisect_right(starts, offset)
        return Place(line, offset - starts[line - 1] + 1)

    def unit_at(self, at: int) -> Unit | None:
        """Return the unit that holds a character of the words."""
        found = bisect_right(self._starts, at) - 1
        unit = self.units[found] if found >= 0 else None
        return unit if unit is not None and at < unit.end else None

    def in_code(self, at: int) -> bool:
        """Say whether a character stands in a code span or a fenced block."""
        unit = self.unit_at(at)
        if unit is not None and unit.kind is UnitKind.CODE:
            return True
        return self.code_span_at(at) is not None

    def code_span_at(self, at: int) -> Span | None:
        """Return the code span that holds a character of the words."""
        return _span_at(self.code_spans, at)

    def in_quotes(self, at: int) -> bool:
        """Say whether a character stands between quotation marks."""
        return _span_at(self.quotes, at) is not None

    @cached_property
    def _starts(self) -> list[int]:
        return [unit.start for unit in self.units]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.source) if char == "\n")]


def _span_at(spans: Sequence[Span], at: int) -> Span | None:
    """Return the one of sorted spans that holds a place."""
    found = bisect_right(spans, (at, MOST_CHARACTERS * 2)) - 1
    return spans[found] if found >= 0 and at < spans[found].end else None


class _Form(StrEnum):
    BLANK = "blank"
    TEXT = "text"
    ITEM = "item"
    HEADING = "heading"
    ROW = "row"
    CODE = "code"


class _Line(NamedTuple):
    form: _Form
    start: int  # in the words
    end: int


def _form_of(raw: str) -> tuple[_Form, int]:
    """Return what a line is, and how many characters of it are mere marks."""
    if _RULE.fullmatch(raw.strip()):
        return _Form.BLANK, len(raw)
    if (found := _HEADING.match(raw)) is not None:
        return _Form.HEADING, found.end()
    quoted = _QUOTE.match(raw)
    begin = quoted.end() if quoted else 0
    if (found := _BULLET.match(raw, begin)) is not None:
        return _Form.ITEM, found.end()
    if raw.lstrip().startswith("|"):
        return _Form.ROW, 0
    return _Form.TEXT, begin


def _without_marks(raw: str, begin: int) -> list[int]:
    """Return the places of a line's characters that are words: no emphasis, code marks, escapes."""
    kept: list[int] = []
    at = begin
    while at < len(raw):
        char = raw[at]
        if char == "\\" and at + 1 < len(raw) and raw[at + 1] in _ESCAPED:
            kept.append(at + 1)
            at += 2
            continue
        if char == "`" or (char == "*" and _is_emphasis(raw, at)):
            at += 1
            continue
        if char == "_" and _is_underline(raw, at):
            at += 1
            continue
        kept.append(at)
        at += 1
    return kept


def _is_emphasis(raw: str, at: int) -> bool:
    before, after = raw[at - 1 : at], raw[at + 1 : at + 2]
    return "*" in (before, after) or before.isspace() != after.isspace() or not before or not after


def _is_underline(raw: str, at: int) -> bool:
    """Say whether an underscore is emphasis: at the edge of a word, never inside a name."""
    before, after = raw[at - 1 : at], raw[at + 1 : at + 2]
    inside = (before.isalnum() or before == "_") and (after.isalnum() or after == "_")
    return not inside and (before.isalnum() or after.isalnum())


def _spans(raw: str, kept: list[int], start: int) -> Iterator[Span]:
    """Yield the code spans of a line, in the words."""
    for found in re.finditer(r"(`+)(.+?)\1(?!`)", raw):
        first, last = bisect_left(kept, found.start(2)), bisect_left(kept, found.end(2))
        if last > first:
            yield Span(start + first, start + last)


def _units(words: str, lines: list[_Line]) -> Iterator[Unit]:
    for unit in _whole_units(words, lines):
        for begin in range(0, len(unit.text), _LONGEST_UNIT):
            piece = unit.text[begin : begin + _LONGEST_UNIT]
            yield unit._replace(text=piece, start=unit.start + begin)


def _whole_units(words: str, lines: list[_Line]) -> Iterator[Unit]:
    for number, block in enumerate(_blocks(lines)):
        first = block[0]
        if first.form in {_Form.TEXT, _Form.ITEM}:
            yield from _sentences(words, block, number)
        else:
            kind = UnitKind(first.form.value)
            text = words[first.start : first.end]
            yield Unit(kind, text, first.start, number, item=kind is UnitKind.ROW)


def _blocks(lines: list[_Line]) -> Iterator[list[_Line]]:
    """Yield the lines that belong together: a text line goes on with what stands before it."""
    open_block: list[_Line] = []
    for line in lines:
        if line.form is _Form.TEXT and open_block:
            open_block.append(line)
            continue
        if open_block:
            yield open_block
        open_block = [line] if line.form in {_Form.TEXT, _Form.ITEM} else []
        if line.form not in {_Form.TEXT, _Form.ITEM, _Form.BLANK}:
            yield [line]
    if open_block:
        yield open_block


def _sentences(words: str, lines: list[_Line], block: int) -> Iterator[Unit]:
    """Yield the sentences of a paragraph or list item; a sentence may run over line ends."""
    start, end = lines[0].start, lines[-1].end
    text = words[start:end].replace("\n", " ")
    item = lines[0].form is _Form.ITEM
    begin = 0
    for found in _ENDS.finditer(text):
        if _NO_END.search(text[begin : found.start()]):
            continue
        yield Unit(UnitKind.SENTENCE, text[begin : found.start()], start + begin, block, item)
        begin = found.end()
    if text[begin:].strip():
        yield Unit(UnitKind.SENTENCE, text[begin:], start + begin, block, item)

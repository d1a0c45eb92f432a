"""Python regular expressions as a tree, read without running or compiling them.

Standard library only: the child process that runs patterns loads this too. What the parser does
not know, it says with `None`; whether Python accepts a pattern is for `re.compile` to say.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

MAX_PATTERN = 4000  # characters of a pattern that are looked at
MAX_NESTING = 60

# Sets of characters are bit masks: one bit for each ASCII code, one for everything beyond.
_BEYOND = 1 << 128
_LOWER = "abcdefghijklmnopqrstuvwxyz"
ALL = (1 << 129) - 1
NEWLINE = 1 << 10


def mask(characters: str) -> int:
    """Return the set of these characters."""
    bits = 0
    for char in characters:
        bits |= 1 << ord(char) if ord(char) < 128 else _BEYOND
    return bits


DIGITS = mask("0123456789")
WORD = mask(_LOWER + _LOWER.upper() + "0123456789_") | _BEYOND
SPACE = mask(" \t\n\r\f\v")
DOT = ALL & ~NEWLINE
_CLASSES = {
    "d": DIGITS,
    "D": ALL & ~DIGITS,
    "w": WORD,
    "W": ALL & ~WORD | _BEYOND,
    "s": SPACE,
    "S": ALL & ~SPACE,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}


class Chars(NamedTuple):
    """One character out of a set."""

    bits: int
    literal: str | None = None  # the character, where only one was written


class Cat(NamedTuple):
    """One after the other."""

    items: tuple[Tree, ...]


class Alt(NamedTuple):
    """One of several."""

    branches: tuple[Tree, ...]


class Repeat(NamedTuple):
    """A body, a number of times."""

    body: Tree
    least: int
    most: int | None  # None: no upper bound
    is_greedy: bool = True


class Group(NamedTuple):
    """A parenthesis; number None does not capture."""

    body: Tree
    number: int | None


class Edge(NamedTuple):
    """A place, not a character: line start and end, word edges."""

    kind: str


class Look(NamedTuple):
    """A look ahead or behind."""

    body: Tree


class BackReference(NamedTuple):
    """What a group matched, again."""

    name: str


Tree: TypeAlias = Chars | Cat | Alt | Repeat | Group | Edge | Look | BackReference


class Pattern(NamedTuple):
    """A pattern that could be read."""

    tree: Tree
    groups: int
    flags: frozenset[str] = frozenset()


class _Unreadable(Exception):
    """The pattern holds something this parser does not know."""


def read(pattern: str) -> Pattern | None:
    """Return the tree of a pattern, or None where it cannot be read."""
    if len(pattern) > MAX_PATTERN:
        return None
    reader = _Reader(pattern)
    try:
        tree = reader.alternatives(0)
        if reader.rest():
            return None
    except (_Unreadable, IndexError):
        return None
    return Pattern(tree, reader.groups, frozenset(reader.flags))


class _Reader:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self.groups = 0
        self.flags: set[str] = set()

    def rest(self) -> str:
        return self._pattern[self._at :]

    def alternatives(self, depth: int) -> Tree:
        if depth > MAX_NESTING:
            raise _Unreadable
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def _take(self, text: str) -> bool:
        if self._pattern.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _next(self) -> str:
        char = self._pattern[self._at]
        self._at += 1
        return char

    def _sequence(self, depth: int) -> Tree:
        items: list[Tree] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            if "x" in self.flags and self._skipped():
                continue
            atom = self._atom(depth)
            if atom is not None:
                items.append(self._repeated(atom))
        return items[0] if len(items) == 1 else Cat(tuple(items))

    def _skipped(self) -> bool:
        """Pass over a blank or a comment of verbose mode."""
        char = self._pattern[self._at]
        if char == "#":
            end = self._pattern.find("\n", self._at)
            self._at = len(self._pattern) if end < 0 else end + 1
            return True
        if char in " \t\n\r\f\v":
            self._at += 1
            return True
        return False

    def _atom(self, depth: int) -> Tree | None:
        match char := self._next():
            case "(":
                return self._group(depth)
            case "[":
                return self._set()
            case ".":
                return Chars(ALL if "s" in self.flags else DOT)
            case "^" | "$":
                return Edge(char)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise _Unreadable
            case _:
                return self._literal(char)

    def _literal(self, char: str) -> Chars:
        bits = mask(char)
        if "i" in self.flags:
            bits |= mask(char.lower() + char.upper())
        return Chars(bits, char)

    def _escape(self) -> Tree:
        char = self._next()
        if char in _CLASSES:
            return Chars(_CLASSES[char])
        if char in "bBAZ":
            return Edge("\\" + char)
        if char.isdigit() and char != "0":
            return BackReference(char)
        return self._literal(self._escaped(char))

    def _escaped(self, char: str) -> str:
        width = {"x": 2, "u": 4, "U": 8}.get(char)
        if width is not None:
            digits = self._pattern[self._at : self._at + width]
            self._at += width
            try:
                return chr(int(digits, 16))
            except (ValueError, OverflowError):
                raise _Unreadable from None
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isascii() and char.isalnum():
            raise _Unreadable
        return char

    def _group(self, depth: int) -> Tree | None:
        if self._take("?#"):
            self._at = self._pattern.index(")", self._at) + 1 if ")" in self.rest() else 1 << 30
            return None
        for opening in ("?=", "?!", "?<=", "?<!"):
            if self._take(opening):
                return Look(self._closed(depth))
        if self._take("?:") or self._take("?>"):
            return Group(self._closed(depth), None)
        if self._take("?P="):
            return BackReference(self._until(")"))
        if self._take("?P<"):
            self._until(">")
        elif self._take("?"):
            return self._flag_group(depth)
        self.groups += 1
        index = self.groups
        return Group(self._closed(depth), index)

    def _flag_group(self, depth: int) -> Tree | None:
        start = self._at
        while self._pattern[self._at] in "aiLmsux-":
            self._at += 1
        written = self._pattern[start : self._at]
        on, off = [*written.split("-"), ""][:2]
        if self._take(")"):
            self.flags |= set(on)
            return None
        if not self._take(":"):
            raise _Unreadable
        before = set(self.flags)
        self.flags = (self.flags | set(on)) - set(off)
        body = self._closed(depth)
        self.flags = before
        return Group(body, None)

    def _closed(self, depth: int) -> Tree:
        body = self.alternatives(depth + 1)
        if not self._take(")"):
            raise _Unreadable
        return body

    def _until(self, end: str) -> str:
        stop = self._pattern.find(end, self._at)
        if stop < 0:
            raise _Unreadable
        text = self._pattern[self._at : stop]
        self._at = stop + 1
        return text

    def _set(self) -> Chars:
        is_negated = self._take("^")
        bits = 0
        written: list[str] = []
        is_first = True
        while is_first or self._pattern[self._at] != "]":
            is_first = False
            low = self._member()
            if isinstance(low, int):
                bits |= low
                written.append("")
            elif self._pattern[self._at] == "-" and self._pattern[self._at + 1] != "]":
                self._at += 1
                high = self._member()
                if isinstance(high, int):
                    raise _Unreadable
                bits |= _span(low, high)
                written.append("")
            else:
                bits |= mask(low)
                written.append(low)
        self._at += 1
        if "i" in self.flags:
            bits = _both_cases(bits)
        if is_negated:
            return Chars(ALL & ~bits | _BEYOND)
        return Chars(bits, _one_letter(written))

    def _member(self) -> str | int:
        char = self._next()
        if char != "\\":
            return char
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        return "\b" if char == "b" else self._escaped(char)

    def _repeated(self, atom: Tree) -> Tree:
        while self._at < len(self._pattern):
            bounds = self._bounds()
            if bounds is None:
                return atom
            is_greedy = True
            if self._take("?"):
                is_greedy = False
            else:
                self._take("+")
            atom = Repeat(atom, *bounds, is_greedy)
        return atom

    def _bounds(self) -> tuple[int, int | None] | None:
        for char, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(char):
                return bounds
        if not self._pattern.startswith("{", self._at):
            return None
        end = self._pattern.find("}", self._at)
        least, comma, most = self._pattern[self._at + 1 : max(end, 0)].partition(",")
        if end < 0 or not (least + most).isdecimal() or len(least) > 9 or len(most) > 9:
            return None  # a literal brace
        self._at = end + 1
        low = int(least or 0)
        return low, (int(most) if most else None) if comma else low


def _span(low: str, high: str) -> int:
    first, last = ord(low), ord(high)
    if last < first:
        raise _Unreadable
    bits = _BEYOND if last > 127 else 0
    for code in range(first, min(last, 127) + 1):
        bits |= 1 << code
    return bits


def _both_cases(bits: int) -> int:
    for upper, lower in zip(_LOWER.upper(), _LOWER, strict=True):
        if bits & mask(upper + lower):
            bits |= mask(upper + lower)
    return bits


def _one_letter(written: list[str]) -> str | None:
    """Return the letter of a set such as [Ee] or [.], which stands for one written letter."""
    letters = {char.lower() for char in written}
    return letters.pop() if len(letters) == 1 and "" not in letters else None

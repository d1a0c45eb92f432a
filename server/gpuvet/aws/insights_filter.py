"""Filters of the Logs Insights language: comparisons of fields joined by and, or and not."""

import re
from collections.abc import Callable
from typing import Protocol

QUOTED = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
REGEX = r"/(?:[^/\\]|\\.)+/i?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<quoted>{QUOTED})|(?P<regex>{REGEX})|(?P<sign>!=|=|\(|\)|\[|\]|,)"
    r"|(?P<word>[@\w.\-]+))"
)


class MalformedQuery(ValueError):
    """A query outside the part of the language that is served."""


class Readable(Protocol):
    """Anything with fields."""

    def value(self, name: str) -> str | None:
        """Return a field as text, or None where it has none."""
        ...


Test = Callable[[Readable], bool]


def read_filter(text: str) -> Test:
    """Return a filter as a test of one record.

    Raises:
        MalformedQuery: The filter uses what is not served.
    """
    return _Filter(text).parse()


class _Filter:
    """A recursive-descent reader of one filter: or, and, not, comparison."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        text = text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                msg = f"cannot read the filter at {text[place : place + 20]!r}"
                raise MalformedQuery(msg)
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()
        self._next = 0

    def parse(self) -> Test:
        """Return the filter as a test of one record."""
        test = self._any()
        if self._next != len(self._tokens):
            msg = f"cannot read the filter after {self._tokens[self._next][1]!r}"
            raise MalformedQuery(msg)
        return test

    def _peek(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def _take(self, wanted: str | None = None) -> tuple[str, str]:
        if self._next >= len(self._tokens):
            raise MalformedQuery("the filter ends too early")
        kind, text = self._tokens[self._next]
        if wanted is not None and text.lower() != wanted:
            msg = f"the filter wants {wanted!r}, not {text!r}"
            raise MalformedQuery(msg)
        self._next += 1
        return kind, text

    def _any(self) -> Test:
        tests = [self._all()]
        while self._peek().lower() == "or":
            self._take()
            tests.append(self._all())
        return lambda record: any(test(record) for test in tests)

    def _all(self) -> Test:
        tests = [self._one()]
        while self._peek().lower() == "and":
            self._take()
            tests.append(self._one())
        return lambda record: all(test(record) for test in tests)

    def _one(self) -> Test:
        if self._peek().lower() == "not":
            self._take()
            test = self._one()
            return lambda record: not test(record)
        if self._peek() == "(":
            self._take()
            test = self._any()
            self._take(")")
            return test
        return self._comparison()

    def _comparison(self) -> Test:
        kind, name = self._take()
        if kind != "word":
            msg = f"a comparison begins with a field, not {name!r}"
            raise MalformedQuery(msg)
        _, sign = self._take()
        match sign.lower():
            case "=" | "!=":
                return self._equal(name, sign)
            case "in":
                return self._among(name)
            case "like":
                return self._like(name)
            case "not":
                self._take("like")
                like = self._like(name)
                return lambda record: not like(record)
            case _:
                msg = f"the comparison {sign!r} is not served"
                raise MalformedQuery(msg)

    def _equal(self, name: str, sign: str) -> Test:
        value = _unquoted(*self._take())
        if sign == "=":
            return lambda record: record.value(name) == value
        return lambda record: record.value(name) != value

    def _among(self, name: str) -> Test:
        self._take("[")
        values: set[str] = set()
        while self._peek() != "]":
            values.add(_unquoted(*self._take()))
            if self._peek() == ",":
                self._take()
        self._take("]")
        return lambda record: record.value(name) in values

    def _like(self, name: str) -> Test:
        kind, text = self._take()
        if kind != "regex":
            part = _unquoted(kind, text)
            return lambda record: part in (record.value(name) or "")
        body, _, flags = text[1:].rpartition("/")
        try:
            pattern = re.compile(body.replace(r"\/", "/"), re.IGNORECASE if flags else 0)
        except re.error as error:
            msg = f"the pattern {text} cannot be read: {error}"
            raise MalformedQuery(msg) from error
        return lambda record: pattern.search(record.value(name) or "") is not None


def _unquoted(kind: str, text: str) -> str:
    if kind == "quoted":
        return unquoted(text)
    if kind in {"word", "regex"}:
        return text
    msg = f"a value was wanted, not {text!r}"
    raise MalformedQuery(msg)


def unquoted(text: str) -> str:
    """Return a quoted text of the language without its quotes and escapes."""
    return re.sub(r"\\(.)", r"\1", text[1:-1])

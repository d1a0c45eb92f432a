"""What runs in the child process: patterns that somebody else wrote, over a text."""

import re
from typing import Any, NamedTuple, Protocol

MAX_MATCHES = 10_000
MAX_SHOWN = 400  # characters of the first match that are handed back


class Found(NamedTuple):
    """How often a pattern matches and the first match; or why it could not be applied."""

    times: int
    first: str = ""
    error: str | None = None


class Pipe(Protocol):
    """The child's end of the connection."""

    def recv(self) -> Any:  # noqa: ANN401 - requests, as lists of (patterns, text)
        """Return the next request."""
        ...

    def send(self, obj: object) -> None:
        """Send an answer."""
        ...


def count_matches(pattern: str, text: str) -> Found:
    """Apply one pattern."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return Found(0, error=f"pattern {pattern!r} is no regular expression: {error}")
    first, count = "", 0
    for match in compiled.finditer(text):
        first = first if count else match[0][:MAX_SHOWN]
        count += 1
        if count >= MAX_MATCHES:
            break
    return Found(count, first)


def serve(connection: Pipe) -> None:
    """Answer lists of (patterns, text) until the other end closes."""
    while True:
        try:
            requests: list[tuple[tuple[str, ...], str]] = connection.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        connection.send([[count_matches(p, text) for p in patterns] for patterns, text in requests])

"""What runs in the child process: patterns that somebody else wrote, over a text."""

import re
from multiprocessing.connection import Connection
from typing import NamedTuple

MAX_MATCHES = 10_000
MAX_SHOWN = 400  # characters of the first match that are handed back
MEMORY_BYTES = 2 << 30


class Found(NamedTuple):
    """How often a pattern matches and the first match; or why it could not be applied."""

    times: int
    first: str = ""
    error: str | None = None


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


def serve(connection: Connection) -> None:
    """Answer lists of (patterns, text) until the other end closes."""
    _limit_memory()
    while True:
        try:
            requests: list[tuple[tuple[str, ...], str]] = connection.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        connection.send([[count_matches(p, text) for p in patterns] for patterns, text in requests])


def _limit_memory() -> None:
    try:
        import resource  # noqa: PLC0415 - POSIX only
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))

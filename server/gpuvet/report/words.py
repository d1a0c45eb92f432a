"""Numbers, times, raw text and lists as every report writes them."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from gpuvet.model.hours import HourGrid

# Raw text in a report is cut again here, whatever the value keeps.
RAW_LIMIT = 300
# A sentence of ours may name several holes with their reasons, each cut to the limit above.
SENTENCE_LIMIT = 1_600
SHORT_SENTENCE_LIMIT = 520  # ours: one with three ids and a stream in it still fits
_MARKUP = re.compile(r"([\\`*_\[\]<>|#!~])")


def utc(at: datetime | None) -> str:
    """Return a time as `2026-03-02T10:04:11Z`, or `time unknown`."""
    if at is None:
        return "time unknown"
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


def hour(at: datetime) -> str:
    """Return a time to the minute, as `2026-03-02 10:00Z`."""
    return f"{at:%Y-%m-%d %H:%M}Z"


def span(start: datetime, end: datetime) -> str:
    """Return a span, the second date only where it differs."""
    if start.date() == end.date():
        return f"{hour(start)} to {end:%H:%M}Z"
    return f"{hour(start)} to {hour(end)}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 node`, `2 nodes`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def some(items: Sequence[str], most: int = 4) -> str:
    """Return the first few of a list and how many are left."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"


def code(text: str) -> str:
    """Return untrusted text as a Markdown code span that it cannot leave."""
    flat = _visible(text)
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    edge = " " if flat.startswith("`") or flat.endswith("`") or not flat.strip() else ""
    return f"{fence}{edge}{flat}{edge}{fence}"


def plain(text: str) -> str:
    """Return untrusted text for a terminal: one line, bounded, nothing that acts."""
    return _visible(text)


def cell(text: str) -> str:
    """Return text for a Markdown table cell or sentence: no pipes, links, images or HTML."""
    flat = _visible(text)
    return _MARKUP.sub(r"\\\1", flat)


def sentence(text: str) -> str:
    """Return a sentence of ours for a short answer: as `cell` does, a little longer."""
    return _MARKUP.sub(r"\\\1", _visible(text, SHORT_SENTENCE_LIMIT))


def sentence_plain(text: str) -> str:
    """Return the same for a terminal."""
    return _visible(text, SHORT_SENTENCE_LIMIT)


def whole(text: str) -> str:
    """Return a sentence of ours, with the ids and reasons in it, as `cell` does but longer."""
    return _MARKUP.sub(r"\\\1", _visible(text, SENTENCE_LIMIT))


def whole_plain(text: str) -> str:
    """Return the same for a terminal."""
    return _visible(text, SENTENCE_LIMIT)


def hour_end(grid: HourGrid) -> datetime:
    """Return the end of the last hour of a grid."""
    return grid.start + timedelta(hours=grid.hours)


def _visible(text: str, limit: int = RAW_LIMIT) -> str:
    cut = text if len(text) <= limit + 10 else text[:limit] + " …[cut]"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut)


def bullets(items: Iterable[str], indent: str = "  ") -> str:
    """Return one indented line an item."""
    return "\n".join(f"{indent}- {item}" for item in items)

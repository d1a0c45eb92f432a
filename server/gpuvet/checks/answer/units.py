"""Units as drafts and reports write them, in seconds and in bytes. Pure."""

import re
from enum import StrEnum


class Unit(StrEnum):
    """What a number counts; a member's value is how we would write it."""

    NONE = ""
    PERCENT = "%"
    SECOND = "s"
    MINUTE = "min"
    HOUR = "h"
    NODE_HOUR = "node-h"
    DAY = "d"
    NODE = "nodes"
    GPU = "GPUs"
    BYTES = "B"
    KB = "kB"
    MB = "MB"
    GB = "GB"
    TB = "TB"
    OTHER = "other"


_WORDS = {
    Unit.PERCENT: r"%|percent(?:age points?)?|per ?cent|pct",
    Unit.NODE_HOUR: r"(?:measured )?node-?h(?:ours?)?",
    Unit.SECOND: r"s|secs?|seconds?",
    Unit.MINUTE: r"min|mins|minutes?|m(?= \d{1,2} ?s)",
    Unit.HOUR: r"h|hrs?|hours?",
    Unit.DAY: r"d|days?",
    Unit.NODE: r"(?:GPU |compute |worker |idle |spare )?(?:nodes?|instances?|hosts?|machines?)",
    Unit.GPU: r"GPUs?",
    Unit.KB: r"[kK]i?B",
    Unit.MB: r"Mi?B",
    Unit.GB: r"Gi?B",
    Unit.TB: r"Ti?B",
    Unit.BYTES: r"B|bytes?",
}
_AFTER = re.compile(
    r"[ \u00a0\u202f-]?(?:"
    + "|".join(f"(?P<{unit.name}>{words})" for unit, words in _WORDS.items())
    + r")(?![\w-]*\w)|[ \u00a0](?P<OTHER>[A-Za-z]{2,20})"
)
_RANGE = re.compile(r"\s?(?:to|and|or|-|\u2013)\s?\d[\d,]*(?:\.\d+)?(?![\d:.-])")
_KEYS = (
    (re.compile(r"(?:_|\b)(?:h|hours?|hours_\w+)\Z"), Unit.HOUR),
    (re.compile(r"_(?:min|minutes)\Z"), Unit.MINUTE),
    (re.compile(r"(?:_|\b)(?:s|seconds?)\Z"), Unit.SECOND),
    (re.compile(r"_(?:d|days)\Z|retentionInDays"), Unit.DAY),
)
SECONDS = {
    Unit.SECOND: 1.0,
    Unit.MINUTE: 60.0,
    Unit.HOUR: 3600.0,
    Unit.DAY: 86400.0,
}
_POWERS = {Unit.BYTES: 0, Unit.KB: 1, Unit.MB: 2, Unit.GB: 3, Unit.TB: 4}


def unit_after(text: str, at: int) -> Unit:
    """Return the unit right behind a number, or behind the range that it begins: 20 to 30 min."""
    rest = _RANGE.match(text, at)
    match = _AFTER.match(text, rest.end() if rest else at)
    return Unit[match.lastgroup] if match and match.lastgroup else Unit.NONE


def unit_of_key(key: str) -> Unit:
    """Return the unit that the name of a JSON member says."""
    return next((unit for pattern, unit in _KEYS if pattern.search(key)), Unit.NONE)


def seconds_of(value: float, unit: Unit) -> float | None:
    """Return a length in seconds, or None where it is none."""
    factor = SECONDS.get(unit)
    return None if factor is None else value * factor


def bytes_of(value: float, unit: Unit) -> tuple[float, ...]:
    """Return a size in bytes, by decimal and by binary prefixes; empty where it is none."""
    if unit not in _POWERS:
        return ()
    power = _POWERS[unit]
    return tuple(dict.fromkeys((value * 1000.0**power, value * 1024.0**power)))

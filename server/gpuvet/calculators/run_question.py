"""What a question in words says of a run: its length, start, checkpoints and nodes. Pure."""

import re
from datetime import datetime

from gpuvet.model.case import RunPlan

_UNIT_HOURS = {"m": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}
_AMOUNT = r"(?P<n>\d{1,4}(?:\.\d+)?)[\s-]*(?P<u>min(?:ute)?s?|h(?:our|r)?s?|days?|d|weeks?|w|m)\b"
_EVERY = re.compile(
    rf"checkpoint\w*[^.?!\d]{{0,30}}\b(?:every|each|interval(?: of)?)\s+{_AMOUNT}"
    rf"|\bevery\s+{_AMOUNT.replace('?P<n>', '?P<n2>').replace('?P<u>', '?P<u2>')}"
    r"[^.?!]{0,20}\bcheckpoint",
    re.IGNORECASE,
)
_LENGTH = (
    re.compile(rf"{_AMOUNT}[\s-]*(?:long\s+)?(?:\w+\s+)?(?:run|training|job)\b", re.IGNORECASE),
    re.compile(rf"\b(?:for|last|takes?|length(?: of)?|run(?:s)? for)\s+{_AMOUNT}", re.IGNORECASE),
)
_NODES = re.compile(r"\b(?P<n>\d{1,4})[\s-]*(?:x\s*)?(?:gpu\s+)?nodes?\b", re.IGNORECASE)
_START = re.compile(
    r"\bstart\w*\b[^.?!]{0,40}?(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)\s*(?:Z|UTC)\b",
    re.IGNORECASE,
)
_LONGEST_HOURS = 24.0 * 182  # capacity cannot be had for longer (preflight P2)


def run_of_question(question: str | None) -> RunPlan:
    """Return what a question says of the run; what it does not say stays None.

    Args:
        question: The user's words. Times count only with Z or UTC behind them.
    """
    words = question or ""
    every = _EVERY.search(words)
    rest = words if every is None else words.replace(every[0], " ")
    length = next((m for form in _LENGTH if (m := form.search(rest))), None)
    hours = _hours(length["n"], length["u"]) if length else None
    nodes = _NODES.search(rest)
    start = _START.search(words)
    return RunPlan(
        start=datetime.fromisoformat(f"{start['at'].replace(' ', 'T')}+00:00") if start else None,
        hours=hours if hours is not None and 0 < hours <= _LONGEST_HOURS else None,
        checkpoint_interval_minutes=_interval(every) if every else None,
        nodes_needed=int(nodes["n"]) if nodes else None,
    )


def _interval(match: re.Match[str]) -> float:
    number, unit = (match["n"], match["u"]) if match["n"] else (match["n2"], match["u2"])
    return _hours(number, unit) * 60


def _hours(number: str, unit: str) -> float:
    return round(float(number) * _UNIT_HOURS[unit[0].lower()], 4)


def duration_hours(text: str) -> float | None:
    """Return a duration such as `60m`, `2h`, `1d` or `90 min` in hours; None for other text."""
    match = re.fullmatch(_AMOUNT, text.strip(), re.IGNORECASE)
    return _hours(match["n"], match["u"]) if match else None

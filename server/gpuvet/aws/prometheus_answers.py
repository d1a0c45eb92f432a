"""Answers of Prometheus' query API turned into samples: bounded, finite, in order of time. Pure.

Values come as text, "NaN" among them; what is no finite number is no sample. An answer is taken
as our door keeps it and as the API itself prints it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpuvet.model.untyped import is_array, is_number, is_object, object_at, objects_at
from gpuvet.parse.untrusted import clean

# Ours: one answer of 8 GPUs on 512 nodes over a day of 5-minute steps has 1.2 million.
MOST_SAMPLES = 2_000_000
MOST_SERIES = 200_000
_MOST_LABELS = 64
_LABEL_LENGTH = 256
_VALUE_LENGTH = 40
_LAST_SECOND = 4_102_444_800.0  # the year 2100


class Samples(NamedTuple):
    """One series of an answer."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]  # seconds since 1970, value

    @property
    def value(self) -> float:
        """Its latest value."""
        return self.points[-1][1]


class Answer(NamedTuple):
    """The series of an answer, and whether there was more than we keep."""

    series: tuple[Samples, ...]
    is_cut: bool = False


def page_of(document: object, member: str) -> Mapping[str, Any] | None:
    """Return an answer of the API as a page of our door, or None where it is no such answer.

    Args:
        document: `{"status": "success", "data": …}` as the API answers.
        member: Where the rows are kept: result, labels or series.
    """
    if not is_object(document) or document.get("status") != "success":
        return None
    data = document.get("data")
    warnings = [clean(str(one)) for one in _array(document.get("warnings"))[:10]]
    told = {"warnings": warnings} if warnings else {}
    if member == "result":
        rows = data.get("result") if is_object(data) else None
        if not is_array(rows) or object_at(document, "data").get("resultType") not in _KINDS:
            return None
        return {"result": rows, **told}
    return {member: data, **told} if is_array(data) else None


_KINDS = frozenset({"matrix", "vector"})
# Remarks on a query, no loss: older servers print them among the warnings.
_REMARK = "PromQL info:"


def _array(value: object) -> Sequence[Any]:
    return value if is_array(value) else ()


def has_warnings(pages: Iterable[Mapping[str, Any]]) -> bool:
    """Say whether the server warns that an answer is not whole."""
    warnings = (str(one) for page in pages for one in _array(page.get("warnings")))
    return any(not one.startswith(_REMARK) for one in warnings)


def answer_of(pages: Iterable[Mapping[str, Any]]) -> Answer:
    """Return the samples of an answer; series without a finite value are left out."""
    found: list[Samples] = []
    left = MOST_SAMPLES
    kept = list(pages)
    for page in kept:
        rows = objects_at(page if "result" in page else object_at(page, "data"), "result")
        for row in rows:
            points = dict(_points(row, left))
            left -= len(points)
            if left <= 0 or len(found) >= MOST_SERIES:
                return Answer(tuple(found), is_cut=True)
            if points:
                found.append(Samples(_labels(row), tuple(sorted(points.items()))))
    return Answer(tuple(found), is_cut=has_warnings(kept))


def _points(row: Mapping[str, Any], most: int) -> Iterator[tuple[float, float]]:
    pairs = row.get("values")
    single = row.get("value")
    for place, pair in enumerate(pairs if is_array(pairs) else (single,)):
        if place >= most:
            return
        if is_array(pair) and len(pair) == 2:
            at, value = pair[0], _number(pair[1])
            if value is not None and is_number(at) and 0 <= at <= _LAST_SECOND:
                yield float(at), value


def _number(text: object) -> float | None:
    """Return a finite number, or None."""
    if isinstance(text, str) and len(text) > _VALUE_LENGTH:
        return None
    if not isinstance(text, str) and not is_number(text):
        return None
    try:
        value = float(text)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _labels(row: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in object_at(row, "metric").items():
        if len(found) >= _MOST_LABELS:
            break
        if isinstance(value, str):
            found[clean(name, limit=_LABEL_LENGTH)] = clean(value, limit=_LABEL_LENGTH)
    return found

"""ANS2: numbers, times, Xid codes and percentages of a draft that the evidence does not give."""

import re
from collections.abc import Iterator

from gpuvet.checks.answer.phrases import is_denied, is_supposed
from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.checks.answer.tracing import XIDS
from gpuvet.checks.answer.units import Unit

_WOULD = re.compile(r"\W{0,3}(?:would|could|might|may|if)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


def number_not_in_evidence(reading: Reading) -> Iterator[Hit]:
    """A number that no evidence holds, rounds to, or gives in one step."""
    for found in reading.tracing.unbacked:
        if reading.tracing.rescaled_from(found) is None:
            unit = "" if found.number.unit is Unit.OTHER else found.number.unit.value
            shown = f"{found.number.shown} {unit}".strip()
            message = f"{shown} is in no evidence, nor one step of arithmetic away"
            yield Hit(found.at, found.number.shown, message)


def time_not_in_evidence(reading: Reading) -> Iterator[Hit]:
    """A time that stands in no evidence and is no stated length away from one that does."""
    for moment in reading.tracing.late:
        yield Hit(moment.start, moment.shown, f"{moment.shown} is at no time of the evidence")


def percent_rescaled(reading: Reading) -> Iterator[Hit]:
    """A percentage a hundred times what the metric said, or a hundredth of it."""
    unbacked = set(reading.tracing.unbacked)
    for found in reading.tracing.quantities:
        said = reading.tracing.rescaled_from(found) if found in unbacked else None
        if said is None:
            said = reading.tracing.metric_says(found)
        if said is not None:
            message = f"the evidence says {said:g}, and percent metrics are percent already"
            yield Hit(found.at, found.number.shown, message)


def xid_not_in_evidence(reading: Reading) -> Iterator[Hit]:
    """An Xid that was not seen, spoken of as if it had been."""
    seen = reading.backing.xids
    for unit in reading.draft.prose:
        for match in XIDS.finditer(unit.text):
            if is_denied(unit.text, match.start()) or is_supposed(unit.text, match.start()):
                continue
            if _WOULD.match(unit.text, match.end()):
                continue
            for code in _DIGITS.findall(match[1]):
                if code not in seen:
                    at = unit.start + match.start(1)
                    yield Hit(at, f"Xid {code}", f"Xid {code} is in no evidence")

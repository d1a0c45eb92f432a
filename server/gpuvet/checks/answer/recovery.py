"""ANS8: node recovery, resuming and the end of capacity, told as the evidence has them."""

import re
from collections.abc import Iterator
from datetime import timedelta

from gpuvet.checks.answer.moments import moments_in
from gpuvet.checks.answer.phrases import any_of, is_denied, is_supposed
from gpuvet.checks.answer.rule import Hit, Reading

_IS_ON = re.compile(
    any_of(
        r"\bNodeRecovery\b(?: mode| setting)?\s*(?:is|was|=|:|of|set to)?\s*(?:set to )?\W{0,3}"
        r"(?P<value>Automatic|None|on|off|enabled|disabled)\b",
        r"\b(?:automatic|auto) (?:node )?(?:recovery|replacement|repair)\b[^.;]{0,30}\b"
        r"(?:is|was)\s+(?:already |currently )?"
        r"(?P<value2>on|off|enabled|disabled|active|inactive)\b",
        r"\bnode recovery\b\s*(?:is|was|:|=)\s*(?:set to )?\W{0,3}"
        r"(?P<value3>automatic|none|on|off|enabled|disabled)\b",
    ),
    re.IGNORECASE,
)
_ON = frozenset({"automatic", "on", "enabled", "active"})
_GOES_ON = "(?:resumes?|restarts?|continues?|recovers?|picks? up)"
_RESUMES = re.compile(
    r"\b(?:job|training|run|workload)s?\b[^.;]{0,40}\b(?:(?:will|should|can|then)\s+)?"
    rf"(?:automatically\s+{_GOES_ON}"
    rf"|{_GOES_ON}[^.;]{{0,30}}\b(?:automatically|by itself|on its own))\b",
    re.IGNORECASE,
)
_KEPT = re.compile(r"\bcheckpoints?\b|\bauto-resume\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\bcheckpoints?\b|\bauto-resume\b|\brequeue|\bretry policy\b|\brestart policy\b"
    r"|\bonly (?:if|from|with|when)\b|\bdoes not\b|\bnot\b",
    re.IGNORECASE,
)
_USABLE = re.compile(
    r"\b(?:usable|available|runs?|run on|lasts?|safe|can (?:be used|run)|keeps? running|continue)\b"
    r"[^.;\n]{0,40}?\b(?:until|till|up to|through|to)\s+(?:the end at )?\Z",
    re.IGNORECASE,
)


def recovery_not_as_read(reading: Reading) -> Iterator[Hit]:
    """Node recovery said to be on where the evidence has it off, or the other way round."""
    known = reading.told.node_recovery
    if len(known) != 1:
        return
    is_on = "Automatic" in known
    for unit in reading.draft.prose:
        for match in _IS_ON.finditer(unit.text):
            value = next(v for v in match.groups() if v).lower()
            if is_supposed(unit.text, match.start()) or is_denied(unit.text, match.start()):
                continue
            if (value in _ON) is not is_on and not unit.text.rstrip().endswith("?"):
                message = f"the evidence has NodeRecovery {next(iter(known))}"
                yield Hit(unit.start + match.start(), match[0], message)


def resume_without_condition(reading: Reading) -> Iterator[Hit]:
    """A job that resumes by itself, without checkpoints and the orchestrator's retry."""
    if any(_KEPT.search(unit.text) for unit in reading.draft.prose):
        return
    for unit in reading.draft.prose:
        match = _RESUMES.search(unit.text)
        if (
            match is not None
            and not _CONDITION.search(match[0])
            and not _CONDITION.search(unit.text, match.end())
        ):
            message = "a job resumes only from checkpoints and with its orchestrator's retry"
            yield Hit(unit.start + match.start(), match[0], message)


def capacity_to_the_end(reading: Reading) -> Iterator[Hit]:
    """Capacity called usable until its end; terminations begin half an hour or an hour before."""
    ends = {c.end: c for c in reading.told.capacity}
    for moment in moments_in(reading.draft.words):
        found = ends.get(moment.exact) if moment.exact is not None else None
        unit = reading.draft.unit_at(moment.start)
        if found is None or unit is None:
            continue
        before = unit.text[: moment.start - unit.start]
        if _USABLE.search(before) and not is_denied(before, len(before)):
            lead = found.end - found.usable_until
            message = (
                f"{found.resource} can be used until {lead // timedelta(minutes=1)} min before"
            )
            yield Hit(moment.start, moment.shown, message)

"""Branch C: what speaks for storage, what rules it out, and what was not seen. Pure.

Rules: incident-branches §C. Values at the bar without a run of five neither lead nor rule out.
"""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.episodes import SATURATED_PERCENT, Load
from gpuvet.calculators.fsx_actions import actions_for
from gpuvet.calculators.fsx_bound import coarse, saturated, unbearable
from gpuvet.calculators.fsx_facts import facts_of, question_facts
from gpuvet.calculators.fsx_load import FamilyReading, family_words
from gpuvet.calculators.fsx_maintenance import (
    active_actions,
    maintenance_signals,
    maintenance_windows,
)
from gpuvet.calculators.fsx_metadata import CONFIRMING, client_unseen, metadata_spike
from gpuvet.calculators.fsx_space import space_signals
from gpuvet.calculators.storage_inputs import Seen, StorageInputs, of_the_job, seen_systems
from gpuvet.calculators.storage_words import clock, listed, number
from gpuvet.model.case import CleanSignals
from gpuvet.model.cause import Branch, BranchEvidence, Signal
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason, Status

_BAR = "bar 90 % for 5 min"
# A written table of highest values must speak of both: where the bytes go, and the metadata.
_DATA = ("NetworkThroughput", "DiskThroughput", "DiskIops")
_METADATA = ("MDS", "Metadata")


_NO_SYSTEM = (
    "no FSx for Lustre file system in this account and region; other storage was not looked at"
)


def storage_evidence(inputs: StorageInputs) -> BranchEvidence:
    """Return what speaks for and against storage as the cause."""
    seen = of_the_job(seen_systems(inputs))
    if not seen:
        return _without_file_system(inputs)
    signals = tuple(signal for one in seen for signal in _signals(one))
    unseen = tuple(_unseen(inputs, seen))
    own = [words for one in seen for words in facts_of(one)]
    return BranchEvidence(
        branch=Branch.STORAGE,
        signals=signals,
        ruled_out=None if signals else _ruled_out(inputs, seen),
        unverified=None if signals else _unverified(seen),
        deciding_unseen=unseen,
        confirming=None if signals else CONFIRMING,
        facts=tuple(dict.fromkeys([*own, *question_facts(inputs), *_table_facts(inputs)])),
        actions=tuple(dict.fromkeys(a for one in seen for a in actions_for(one, signals))),
    )


def _signals(seen: Seen) -> Iterator[Signal]:
    yield from saturated(seen)
    yield from maintenance_signals(seen)
    yield from space_signals(seen)
    yield from metadata_spike(seen)
    yield from coarse(seen)
    yield from unbearable(seen)


def _without_file_system(inputs: StorageInputs) -> BranchEvidence:
    """Return the branch where no file system was listed and no metric names one."""
    table = _table_words(inputs.maxima)
    where = f"no FSx for Lustre file system is listed ({inputs.systems.operation})"
    is_listed_empty = inputs.systems.status is Status.OK_EMPTY
    unseen = () if table or is_listed_empty else tuple(_unread_listing(inputs))
    was_asked = inputs.systems.reason not in {None, Reason.NOT_RECORDED}
    return BranchEvidence(
        branch=Branch.STORAGE,
        ruled_out=table,
        deciding_unseen=unseen,
        assessed=bool(table or inputs.maxima or was_asked),
        read_empty=_NO_SYSTEM if is_listed_empty else None,
        facts=(*((where,) if is_listed_empty else ()), *_table_facts(inputs)),
    )


def _ruled_out(inputs: StorageInputs, seen: Sequence[Seen]) -> str | None:
    """Return why storage is ruled out, with its coverage, or None where it is not."""
    if any(active_actions(one) or _may_be_maintained(one) for one in seen):
        return _table_words(inputs.maxima) if _is_unread(seen) else None
    all_below = all(_is_below(family) for one in seen for family in one.families)
    if not all_below or not _is_listing_whole(inputs):
        return _table_words(inputs.maxima) if _is_unread(seen) else None
    cover, reach = inputs.cover, inputs.reach
    words = "; ".join(
        f"{one.system.id}: " + ", ".join(family_words(f, one.system) for f in one.families)
        for one in seen
    )
    return (
        f"FSx not saturated, {clock(cover.start, reach)} to {clock(cover.end, reach)} without a "
        f"gap: {words}; no maintenance window or administrative action in it"
    )


def _is_listing_whole(inputs: StorageInputs) -> bool:
    """Say whether every server and target that has metrics is known; a case's table is taken so."""
    return inputs.listed is None or inputs.listed.status.is_complete


def _unverified(seen: Sequence[Seen]) -> str | None:
    """Return which values at the bar neither lead nor let storage be ruled out, or None."""
    words = [
        f"{one.system.id} {family_words(family, one.system)}"
        for one in seen
        for family in one.families
        if family.load in {Load.BROKEN, Load.REJECTED}
    ]
    return "; ".join(words) or None


def _is_unread(seen: Sequence[Seen]) -> bool:
    """Say whether no family of any file system has a point."""
    return all(_says_nothing(family) for one in seen for family in one.families)


def _may_be_maintained(seen: Seen) -> bool:
    """Say whether maintenance lies in the covered time, or when it would be was not read."""
    weekly = seen.system.maintenance
    return weekly is None or bool(maintenance_windows(weekly, seen.inputs.cover))


def _is_below(family: FamilyReading) -> bool:
    return family.is_below or (family.not_published and not family.units)


def _table_words(maxima: Sequence[CleanSignals]) -> str | None:
    """Return why highest values that somebody wrote down rule storage out, or None."""
    values = [pair for one in maxima for pair in one.fsx_max_percent]
    if not values or any(not 0 <= value < SATURATED_PERCENT for _, value in values):
        return None
    names = [name for name, _ in values]
    speaks = all(any(w in n for n in names for w in words) for words in (_DATA, _METADATA))
    if not speaks:
        return None
    said = ", ".join(f"{name} max {number(value)} %" for name, value in values)
    files = listed(list(dict.fromkeys(one.file for one in maxima)))
    return f"FSx not saturated: {said} as read in {files}, {_BAR}"


def _table_facts(inputs: StorageInputs) -> Iterator[str]:
    for one in inputs.maxima:
        for name, value in one.fsx_max_percent:
            yield f"FSx {name} max {number(value)} % over the window ({one.file}), {_BAR}"


def _unseen(inputs: StorageInputs, seen: Sequence[Seen]) -> Iterator[NotSeen]:
    """Yield each source that would decide and was not seen."""
    yield from _unread_listing(inputs)
    if not _is_listing_whole(inputs) and not _is_unread(seen):
        yield NotSeen(
            what="which FSx metrics exist: their list was not read whole",
            reason=(inputs.listed.reason if inputs.listed else None) or Reason.CUT_SHORT,
            closes_with="list them (cloudwatch:ListMetrics, namespace AWS/FSx)",
        )
    for one in seen:
        if all(_says_nothing(family) for family in one.families):
            yield _unread_metrics(inputs, one)
        else:
            for family in one.families:
                yield from _unseen_family(one, family)
        yield from client_unseen(one)


def _says_nothing(family: FamilyReading) -> bool:
    return family.load is Load.NO_DATA


def _unread_metrics(inputs: StorageInputs, seen: Seen) -> NotSeen:
    units = [unit for family in seen.families for unit in family.units]
    reasons = [inputs.listed.reason if inputs.listed else None, *(u.series.reason for u in units)]
    operation = "GetMetricData" if units else "ListMetrics"
    return NotSeen(
        what=f"FSx utilisation metrics of {seen.system.id}",
        reason=next(filter(None, reasons), Reason.NOT_RECORDED),
        closes_with=f"read the four at 60 s (cloudwatch:{operation}, namespace AWS/FSx)",
    )


def _unread_listing(inputs: StorageInputs) -> Iterator[NotSeen]:
    if not inputs.systems.status.is_complete:
        yield NotSeen(
            what="FSx for Lustre file systems of the account",
            reason=inputs.systems.reason or Reason.NOT_RECORDED,
            closes_with="list them (fsx:DescribeFileSystems)",
        )


def _unseen_family(seen: Seen, family: FamilyReading) -> Iterator[NotSeen]:
    metric, of = family.family.metric, seen.system.id
    closes = f"read {metric} of {of} at 60 s (cloudwatch:GetMetricData)"
    unread = [u for u in family.units if not u.series.status.is_complete]
    if unread:
        reason = unread[0].series.reason or Reason.NOT_RECORDED
        names = listed([u.unit for u in unread])
        yield NotSeen(what=f"{metric} of {of} on {names}", reason=reason, closes_with=closes)
    elif family.load is Load.NO_DATA and not family.not_published:
        yield NotSeen(what=f"{metric} of {of}", reason=Reason.NOT_RECORDED, closes_with=closes)
    if family.missing:
        names = listed(family.missing)
        yield NotSeen(
            what=f"{metric} of {of} on {names}", reason=Reason.NOT_RECORDED, closes_with=closes
        )
    gaps = [u.unit for u in family.units if u.reading.load is Load.GAPS and u not in unread]
    if gaps:
        yield NotSeen(
            what=f"{metric} of {of} on {listed(gaps)}: minutes without a datapoint",
            reason=Reason.CUT_SHORT,
            closes_with=closes,
        )

"""Taking storage evidence away only shrinks what is claimed."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from storage_world import (
    SYSTEM,
    busy,
    flat,
    gpu,
    gpu_listing,
    listed,
    replaced,
    with_run,
    world,
)

from gpuvet.calculators.branch_storage import storage_evidence
from gpuvet.calculators.ranking import rank_branches
from gpuvet.calculators.storage_inputs import StorageInputs
from gpuvet.model.cause import BranchStatus, Label
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.metrics import TimeSeries

NETWORK, DISK = ("NetworkThroughputUtilization", "OSS0000"), ("DiskIopsUtilization", "OST0000")
MDS, OPS = ("CPUUtilization", "MDS0000"), ("MetadataOperations", "")
POWER = (gpu("i-0aaa0000000000001", 0, with_run(75, 25, 40, 80)),)
WORLDS = {
    "quiet": world(gpu=POWER),
    "saturated": world(busy({NETWORK: with_run(20, 97, 36, 80)}), gpu=POWER),
    "half saturated": world(busy({NETWORK: with_run(20, 97, 36, 60)}), gpu=POWER),
    "after": world(busy({NETWORK: with_run(20, 97, 45, 80)}), gpu=POWER),
    "metadata": world(busy({MDS: with_run(9, 98, 36, 80)}, {OPS: with_run(100, 900, 36, 80)})),
    "rise": world(busy({MDS: with_run(9, 71, 36, 80)}, {OPS: with_run(100, 900, 36, 80)})),
    "broken": world(busy({DISK: [97.0 if i % 5 else 20 for i in range(120)]})),
    "no metrics": world((), listed=gpu_listing()),
}


def blinded_series(one: TimeSeries, how: str, gap: tuple[int, int]) -> TimeSeries | None:
    match how:
        case "gone":
            return None
        case "emptied":
            return one.model_copy(update={"values": (), "status": Status.OK_EMPTY})
        case "denied":
            status = {"status": Status.UNVERIFIED, "reason": Reason.DENIED}
            return one.model_copy(update={"values": (), **status})
        case "cut short":
            status = {"status": Status.PARTIAL, "reason": Reason.ROW_CAP}
            return one.model_copy(update={"values": one.values[: gap[1]], **status})
        case "hole":
            values = [None if gap[0] <= i < gap[1] else v for i, v in enumerate(one.values)]
            return one.model_copy(update={"values": tuple(values)})
        case _:
            return one


HOWS = ("gone", "emptied", "denied", "cut short", "hole", "left")


@st.composite
def blindings(draw: st.DrawFn, inputs: StorageInputs) -> StorageInputs:
    kept: list[TimeSeries] = []
    for one in inputs.series:
        start = draw(st.integers(0, 110))
        how = draw(st.sampled_from(HOWS))
        blinded = blinded_series(one, how, (start, start + draw(st.integers(1, 80))))
        kept += [] if blinded is None else [blinded]
    changes: dict[str, object] = {"series": tuple(kept)}
    source = draw(st.sampled_from(["systems denied", "systems cut", "mentions", "placement", ""]))
    if source == "systems denied":
        changes["systems"] = listed(status=Status.UNVERIFIED)
    elif source == "systems cut":
        changes["systems"] = listed(SYSTEM, status=Status.PARTIAL)
    elif source:
        changes[source] = () if source == "mentions" else type(inputs.placement)()
    return replaced(inputs, **changes)


def claim(inputs: StorageInputs) -> tuple[bool, bool]:
    """Whether storage is ruled out, and whether it is proven."""
    ranking = rank_branches([storage_evidence(inputs)], inputs.failure)
    row = ranking.branches[2]
    return row.status is BranchStatus.RULED_OUT, row.label is Label.PROVEN


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_blinding_never_rules_out_or_proves_more(data: st.DataObject) -> None:
    whole = WORLDS[data.draw(st.sampled_from(sorted(WORLDS)))]
    blinded = data.draw(blindings(whole))
    was_out, was_proven = claim(whole)
    is_out, is_proven = claim(blinded)
    assert was_out or not is_out
    assert was_proven or not is_proven


def lost(whole: StorageInputs, blinded: StorageInputs) -> bool:
    return claim(whole) != claim(blinded)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_claim_that_is_lost_names_what_was_not_seen(data: st.DataObject) -> None:
    whole = WORLDS[data.draw(st.sampled_from(["quiet", "saturated"]))]
    place = data.draw(st.integers(0, 3))
    one = whole.series[place]
    denied = blinded_series(one, data.draw(st.sampled_from(["gone", "emptied", "denied"])), (0, 0))
    kept = [s for s in (*whole.series[:place], denied, *whole.series[place + 1 :]) if s]
    blinded = replaced(whole, series=tuple(kept))
    if lost(whole, blinded):
        assert any(one.name.metric in n.what for n in storage_evidence(blinded).deciding_unseen)


def the_worlds(names: Sequence[str]) -> list[tuple[bool, bool]]:
    return [claim(WORLDS[name]) for name in names]


def test_the_worlds_hold_both_claims_so_that_the_properties_can_fail() -> None:
    assert the_worlds(["quiet", "saturated", "metadata"]) == [
        (True, False),
        (False, True),
        (False, True),
    ]
    others = ["half saturated", "after", "rise", "broken", "no metrics"]
    assert set(the_worlds(others)) == {(False, False)}


def filled(inputs: StorageInputs) -> StorageInputs:
    """The planted bug: a missing minute repeats the one before it."""
    kept: list[TimeSeries] = []
    for one in inputs.series:
        values: list[float | None] = []
        for value in one.values:
            values.append(values[-1] if value is None and values else value)
        kept.append(one.model_copy(update={"values": tuple(values)}))
    return replaced(inputs, series=tuple(kept))


def test_a_missing_minute_read_as_the_one_before_it_would_be_caught() -> None:
    low_at_times = [20.0 if i % 6 == 5 else 97.0 for i in range(44)]
    missing = [None if v == 20 else v for v in low_at_times]
    whole, blinded = (
        world(busy({NETWORK: [*flat(20, 36), *middle, *flat(20, 40)]}))
        for middle in (low_at_times, missing)
    )
    assert claim(whole) == claim(blinded) == claim(filled(whole)) == (False, False)
    assert claim(filled(blinded)) == (False, True)

"""Which event is put down as the cause (verdict-rules §2, §4)."""

import pytest
from node_world import (
    FAILURE,
    GPU2,
    at,
    boundary,
    days,
    gpu,
    hma,
    judged,
    reboot,
    xid,
)

from gpuvet.model.cluster import Flag, NodeFacts
from gpuvet.model.events import AnyRecord, BoundaryKind

ACTION = xid(154, "changed from 0x0 (None) to 0x1 (GPU Reset Required)", 20)
PENDING = NodeFacts(gpus=(gpu(GPU2, remap_pending=Flag.YES),))


@pytest.mark.parametrize(
    ("records", "facts", "cause"),
    [
        pytest.param([xid(31, "x", -500), xid(79, "x")], None, "Xid 79", id="it sets the verdict"),
        pytest.param(
            [xid(62, "x", -100), xid(79, "x", pci=GPU2)], None, "Xid 62", id="equal rank: the first"
        ),
        pytest.param([xid(31, "x", -500)], PENDING, "Xid 31", id="a fact sets it: the candidate"),
        pytest.param([xid(31, "x", -500), ACTION], None, "Xid 31", id="a 154 sets it"),
        pytest.param(
            [xid(31, "x", -500), hma(condition="NvidiaErrorReboot")],
            *(None, "Xid 31"),
            id="a platform condition sets it",
        ),
        pytest.param([xid(63, "row", -500), ACTION], None, None, id="informational is none"),
        pytest.param(
            [xid(31, "x", -500), xid(94, "Contained: SM. RST: No", -210)],
            *(PENDING, "Xid 94"),
            id="hardware up to 300 s later beats an application",
        ),
        pytest.param(
            [xid(31, "x", -600), xid(94, "Contained: SM. RST: No", -210)],
            *(PENDING, "Xid 31"),
            id="hardware over 300 s later does not",
        ),
        pytest.param(
            [xid(31, "x", -600), xid(94, "Contained: SM. RST: No", -210), ACTION],
            *(None, "Xid 94"),
            id="unless its GPU then needed a reset",
        ),
        pytest.param(
            [xid(31, "x", -500), xid(94, "Contained: SM. RST: No", -210, pci=GPU2)],
            *(PENDING, "Xid 31"),
            id="hardware on another GPU does not",
        ),
        pytest.param(
            [xid(94, "Contained", -days(3)), reboot(-days(2)), xid(31, "x")],
            *(PENDING, "Xid 31"),
            id="what the window holds comes first",
        ),
        pytest.param(
            [xid(62, "x", -900), boundary(BoundaryKind.STOP_START, -600), xid(31, "x")],
            *(PENDING, "Xid 31"),
            id="hardware that was gone before the failure is none",
        ),
        pytest.param([], PENDING, None, id="nothing happened"),
    ],
)
def test_the_cause_is_the_event_that_sets_the_verdict_or_the_earliest_candidate(
    records: list[AnyRecord], facts: NodeFacts | None, cause: str | None
) -> None:
    found = judged(*records, facts=facts).cause
    assert (found.what.split(":")[0].split(",")[0] if found else None) == cause


@pytest.mark.parametrize(
    ("measured", "seconds", "is_cause"),
    [(True, 59, True), (True, 61, False), (False, 899, True), (False, 901, False)],
    ids=["a minute of slack", "no more", "a quarter of an hour for a word", "no more than that"],
)
def test_an_event_may_lie_a_little_after_the_stated_failure(
    measured: bool, seconds: float, is_cause: bool
) -> None:
    late = xid(79, "x", at=at(seconds, FAILURE))
    found = judged(xid(31, "x", -100, pci=GPU2), late, failure_measured=measured)
    assert found.verdict == "REBOOT"
    assert found.cause is not None
    assert found.cause.what.startswith("Xid 79" if is_cause else "Xid 31")
    assert ("it lies after the failure at 12:00:00Z: not its cause" in found.notes) != is_cause


def test_a_later_event_keeps_its_verdict_and_class() -> None:
    found = judged(xid(79, "x", at=at(3600, FAILURE)))
    assert (found.verdict, found.fault_class, found.cause) == ("REBOOT", "hardware", None)


def test_a_storm_of_grounds_is_cut_and_counted() -> None:
    storm = [xid(62, "x", -200 * n) for n in range(20)]
    found = judged(*storm)
    assert len(found.grounds) == 12
    assert "8 further findings of the same weight, not quoted" in found.notes

"""One sentence a node, one for the fleet: "no errors" never stands without its hours."""

from datetime import UTC, datetime

import pytest

from gpuvet.calculators.audit_claims import XidCount, fleet_claim, node_claim
from gpuvet.calculators.hours import HOUR
from gpuvet.model.audit import Hole, HoleCause, HoleKind, NodeSight
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage, Shipper, SourceCoverage
from gpuvet.model.verdict import Verdict

START = datetime(2026, 3, 14, tzinfo=UTC)
NODE = "i-0aa11bb22cc33dd44"
NONE = XidCount({}, 0)


def source(status: CoverageStatus, *, detections: int | None = None) -> SourceCoverage:
    is_agent = status in {CoverageStatus.DETECTIONS, CoverageStatus.NO_HMA_DETECTIONS}
    return SourceCoverage(
        node=NODE,
        source=Shipper.HMA if is_agent else Shipper.HOST_SYSLOG,
        group="/fleet/kernel",
        stream="messages/a",
        status=status,
        detections=detections,
        reason="no GPU on this node" if status is CoverageStatus.NOT_APPLICABLE else None,
    )


def coverage(live: int, empty: int, gate: Gate, status: CoverageStatus) -> NodeCoverage:
    hours = [START + HOUR * h for h in range(live + empty)]
    return NodeCoverage(
        node=NODE,
        status=status,
        gate=gate,
        hours_asked=live + empty,
        live_hours=tuple(hours[:live]),
        empty_hours=tuple(hours[live:]),
        sources=(source(status, detections=2 if status is CoverageStatus.DETECTIONS else None),),
    )


BUFFER = Hole(
    node=NODE,
    source=Shipper.HOST_SYSLOG,
    group="/fleet/kernel",
    stream="messages/a",
    start=START + HOUR * 22,
    end=START + HOUR * 24,
    hours=2,
    state="EMPTY",
    causes=(HoleCause(kind=HoleKind.BUFFER, words="log agent: paused", measured=True),),
)


@pytest.mark.parametrize(
    ("seen", "xids", "holes", "claim"),
    [
        pytest.param(
            coverage(24, 0, Gate.MEASURED, CoverageStatus.MEASURED),
            NONE,
            [],
            "0 Xids in 24 of 24 h, measured on /fleet/kernel messages/a.",
            id="seen in full",
        ),
        pytest.param(
            coverage(22, 2, Gate.PARTIAL, CoverageStatus.PARTIAL),
            NONE,
            [BUFFER],
            "0 Xids in 22 of 24 h. Not observable: 2026-03-14 22:00Z to 2026-03-15 00:00Z (2 h): "
            "buffer overflow: log agent: paused.",
            id="a hole is named with its reason",
        ),
        pytest.param(
            coverage(24, 0, Gate.MEASURED, CoverageStatus.MEASURED),
            XidCount({31: 1, 79: 2}, 1),
            [],
            "3 Xid events (31, 79 x2), 1 more without a date in 24 of 24 h, measured on "
            "/fleet/kernel messages/a.",
            id="events by code, undated ones apart",
        ),
        pytest.param(
            coverage(0, 24, Gate.HMA_ONLY, CoverageStatus.NO_HMA_DETECTIONS),
            NONE,
            [],
            "No health agent detection in the window, while the cluster's log group was live; the "
            "kernel log is not shipped, so Xids are not observable.",
            id="the agent's silence is weaker and worded so",
        ),
        pytest.param(
            coverage(0, 24, Gate.NONE, CoverageStatus.NOT_OBSERVABLE),
            XidCount({79: 1}, 0),
            [BUFFER],
            "Not observable in any of 2 h: buffer overflow: log agent: paused. 1 Xid event (79) "
            "seen all the same.",
            id="what was seen is told even where nothing may be claimed",
        ),
        pytest.param(
            coverage(0, 0, Gate.MEASURED, CoverageStatus.MEASURED),
            NONE,
            [],
            "0 Xids, over hours that the case states as covered and that were not measured.",
            id="stated coverage is called stated",
        ),
        pytest.param(
            coverage(0, 0, Gate.NONE, CoverageStatus.NOT_APPLICABLE),
            NONE,
            [],
            "Nothing is asked of it: no GPU on this node.",
            id="a node without GPUs",
        ),
    ],
)
def test_a_node_is_spoken_of_with_its_hours(
    seen: NodeCoverage, xids: XidCount, holes: list[Hole], claim: str
) -> None:
    assert node_claim(seen, xids, holes) == claim


def sight(node: str, live: int, asked: int, *, xids: int = 0) -> NodeSight:
    status = CoverageStatus.MEASURED if live == asked else CoverageStatus.PARTIAL
    return NodeSight(
        node=node,
        status=status,
        hours_measured=live,
        hours_asked=asked,
        xid_events=xids,
        claim="",
    )


def test_a_fleet_is_spoken_of_by_nodes_and_node_hours() -> None:
    nodes = [sight("i-1", 24, 24), sight("i-2", 22, 24), sight("i-3", 0, 24)]
    assert fleet_claim(nodes, {"i-2": Verdict.REBOOT}) == (
        "0 Xids may be claimed for every hour of 1 of 3 nodes; the kernel log was seen in 46 of 72 "
        "node-hours; 0 Xid events in all; not observable: i-3 (no hour at all), i-2 (2 of 24 h); "
        "acting verdicts on i-2."
    )


def test_a_node_with_an_xid_is_never_counted_among_the_clean() -> None:
    assert fleet_claim([sight("i-1", 24, 24, xids=1)], {}).startswith(
        "0 Xids may be claimed for every hour of none of 1 node"
    )


def test_of_no_node_nothing_is_claimed() -> None:
    assert fleet_claim([], {}).startswith("Nothing may be claimed")

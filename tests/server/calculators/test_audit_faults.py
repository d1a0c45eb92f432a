"""Recurrence per node, GPU and hardware epoch, and outliers against peers."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.audit_faults import fault_rows, outlier_rows
from gpuvet.calculators.verdict import view_nodes
from gpuvet.model.audit import FaultRow, NodeSight
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence, NodeRecords, Orchestrator
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.events import Boundary, BoundaryKind, TimeQuality, XidEvent
from gpuvet.model.evidence import Window
from gpuvet.model.verdict import Verdict

START = datetime(2026, 3, 14, tzinfo=UTC)
WINDOW = Window(start=START, end=START + timedelta(hours=24))
NODE = "i-0aa11bb22cc33dd44"
GPU, OTHER_GPU = "0000:53:00", "0000:64:00"


def xid(hour: float, code: int = 79, pci: str = GPU) -> XidEvent:
    return XidEvent(
        node=NODE,
        stream="messages/a",
        line=int(hour * 100) + 1,
        raw=f"NVRM: Xid (PCI:{pci}): {code}",
        at=START + timedelta(hours=hour),
        time_quality=TimeQuality.EXACT,
        code=code,
        pci=pci,
    )


def boot(hour: float, kind: BoundaryKind = BoundaryKind.REBOOT) -> Boundary:
    return Boundary(
        node=NODE,
        stream="messages/a",
        line=int(hour * 100),
        raw="Linux version 6.1",
        at=START + timedelta(hours=hour),
        time_quality=TimeQuality.EXACT,
        kind=kind,
    )


def faults(xids: list[XidEvent], boots: list[Boundary]) -> tuple[FaultRow, ...]:
    node = NodeEvidence(
        node=NODE,
        records=NodeRecords(xids=tuple(xids), boundaries=tuple(boots)),
        coverage=NodeCoverage(node=NODE, status=CoverageStatus.MEASURED, gate=Gate.MEASURED),
    )
    evidence = ClusterEvidence(
        orchestrator=Orchestrator.EC2, window=WINDOW, now=WINDOW.end, nodes=(node,)
    )
    return fault_rows(view_nodes(evidence), {NODE: Verdict.REBOOT}, WINDOW)


@pytest.mark.parametrize(
    ("xids", "boots", "rows"),
    [
        pytest.param([xid(2)], [], [(GPU, 79, 1, 1, False)], id="once"),
        pytest.param(
            [xid(2), xid(9)], [boot(5)], [(GPU, 79, 2, 2, True)], id="again after a reboot"
        ),
        pytest.param(
            [xid(2), xid(9)], [], [(GPU, 79, 2, 1, False)], id="twice in one boot is no recurrence"
        ),
        pytest.param(
            [xid(2), xid(9)],
            [boot(5, BoundaryKind.STOP_START)],
            [(GPU, 79, 1, 1, False), (GPU, 79, 1, 1, False)],
            id="new hardware behind the same bus id starts anew",
        ),
        pytest.param(
            [xid(2), xid(9, pci=OTHER_GPU)],
            [boot(5)],
            [(GPU, 79, 1, 1, False), (OTHER_GPU, 79, 1, 1, False)],
            id="another GPU is another row",
        ),
    ],
)
def test_a_fault_recurs_only_on_the_same_hardware_after_a_boot(
    xids: list[XidEvent], boots: list[Boundary], rows: list[tuple[str, int, int, int, bool]]
) -> None:
    found = faults(xids, boots)
    assert [(f.pci, f.code, f.events, f.boots, f.recurs) for f in found] == rows


def test_an_event_before_the_window_counts_for_recurrence_only() -> None:
    (old,) = faults([xid(-30)], [])
    assert not old.in_window


def sight(node: str, live: int) -> NodeSight:
    return NodeSight(
        node=node,
        status=CoverageStatus.PARTIAL,
        hours_measured=live,
        hours_asked=24,
        xid_events=0,
        claim="",
    )


def test_a_node_that_misses_many_more_hours_than_its_peers_stands_out() -> None:
    nodes = [sight(f"i-{n}", 24) for n in range(5)] + [sight("i-9", 4)]
    (one,) = outlier_rows(nodes, ())
    assert (one.node, one.what) == ("i-9", "hours not seen")
    assert "heuristic" in one.sentence


def test_few_peers_have_no_outlier() -> None:
    assert outlier_rows([sight("i-1", 24), sight("i-2", 0)], ()) == ()

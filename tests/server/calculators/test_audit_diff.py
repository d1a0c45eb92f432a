"""Against an earlier audit: new holes, healed holes, new faults, nodes that came and went."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.audit_diff import compared
from gpuvet.model.audit import AuditReport, FaultRow
from gpuvet.model.cause import Label
from gpuvet.model.coverage import Shipper
from gpuvet.model.hours import HourGrid, HourRow
from gpuvet.model.report import ReportWindow
from gpuvet.model.verdict import FaultClass, NodeVerdict, Verdict

START = datetime(2026, 3, 14, tzinfo=UTC)
NODE = "i-0aa11bb22cc33dd44"


def report(
    runs: str | None,
    *,
    start: datetime = START,
    faults: tuple[FaultRow, ...] = (),
    node: str = NODE,
    own: str = "4L",
) -> AuditReport:
    rows = [HourRow(node=node, runs=own)]
    if runs is not None:
        rows.append(
            HourRow(
                node=node,
                source=Shipper.HOST_SYSLOG,
                group="/fleet/kernel",
                stream="messages/a",
                runs=runs,
            )
        )
    return AuditReport(
        orchestrator="ec2",
        now=start + timedelta(hours=9),
        window=ReportWindow(since=start, until=start + timedelta(hours=4), source="as asked"),
        headline="",
        claim="",
        verdicts={node: Verdict.LEAVE_ALONE},
        label=Label.PROVEN,
        label_because="",
        confidence="High",
        confidence_basis="",
        clusters=(),
        nodes=(
            NodeVerdict(
                node=node,
                verdict=Verdict.LEAVE_ALONE,
                fault_class=FaultClass.NONE,
                minimum_action="none",
                confidence="proven",
            ),
        ),
        sight=(),
        coverage=(),
        holes=(),
        hours=HourGrid(start=start, hours=4, rows=tuple(rows)),
        faults=faults,
        timeline=(),
        not_seen=(),
    )


def fault(hour: int) -> FaultRow:
    at = START + timedelta(hours=hour)
    return FaultRow(
        node=NODE,
        pci="0000:53:00",
        epoch=0,
        code=79,
        fault_class=FaultClass.HARDWARE,
        events=1,
        boots=1,
        first=at,
        last=at,
        in_window=True,
        recurs=False,
        consequence=False,
        verdict=Verdict.REBOOT,
        raw="NVRM: Xid",
        stream="messages/a",
        sources=("kernel",),
        evidence="ev-0123456789",
    )


@pytest.mark.parametrize(
    ("before", "after", "new", "healed"),
    [
        pytest.param("4L", "4L", [], [], id="nothing changed"),
        pytest.param("4L", "2L2E", [(2, 2)], [], id="a new hole"),
        pytest.param("2L2E", "4L", [], [(2, 2)], id="a hole that late lines healed"),
        pytest.param("2L2E", "2L2E", [], [], id="an old hole is not new"),
        pytest.param("2L2I", "2L2E", [(2, 2)], [], id="what was inside the lag and never came"),
        pytest.param("1E3L", "1L2L1E", [(3, 1)], [(0, 1)], id="one healed, another opened"),
    ],
)
def test_hours_are_compared_source_by_source(
    before: str, after: str, new: list[tuple[int, int]], healed: list[tuple[int, int]]
) -> None:
    found = compared(report(after), report(before))
    spans = [
        [((s.start - START) // timedelta(hours=1), s.hours) for s in own]
        for own in (found.new_holes, found.healed_holes)
    ]
    assert spans == [new, healed]


def test_a_later_window_tells_its_own_holes_as_new() -> None:
    later = START + timedelta(days=7)
    found = compared(report("1L3E", start=later), report("4L"))
    assert [(s.start, s.hours) for s in found.new_holes] == [(later + timedelta(hours=1), 3)]
    assert found.healed_holes == ()


def test_a_node_that_gained_a_stream_has_healed() -> None:
    found = compared(report("4L"), report(None, own="4O"))
    assert [s.hours for s in found.healed_holes] == [4]


def test_a_fault_is_new_by_where_and_when_it_was_last() -> None:
    again = compared(report("4L", faults=(fault(1),)), report("4L", faults=(fault(1),)))
    later = compared(report("4L", faults=(fault(3),)), report("4L", faults=(fault(1),)))
    assert (again.new_faults, later.new_faults) == ((), (fault(3),))


def test_nodes_that_came_and_went_are_named() -> None:
    found = compared(report("4L", node="i-new"), report("4L"))
    assert (found.new_nodes, found.gone_nodes) == (("i-new",), (NODE,))

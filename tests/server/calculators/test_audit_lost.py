"""Lost GPU hours: only with both ends in evidence, every sum written out, money only if asked."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.audit_lost import LostEvidence, lost_hours
from gpuvet.calculators.replacements import Replacement
from gpuvet.model.audit import LostCause
from gpuvet.model.changes import Change, ChangeKind
from gpuvet.model.cluster import NodeEvidence, NodeRecords
from gpuvet.model.cluster_state import HyperPodNode
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.events import Boundary, BoundaryKind, Shutdown, TimeQuality
from gpuvet.model.evidence import Window
from gpuvet.model.identity import LinkBasis
from gpuvet.model.metrics import MetricName, TimeSeries

START = datetime(2026, 3, 14, tzinfo=UTC)
WINDOW = Window(start=START, end=START + timedelta(hours=4))
NODE, NEW = "i-0aa11bb22cc33dd44", "i-0ee55ff66aa77bb88"


def power(gpu: int, values: list[float]) -> TimeSeries:
    dimensions = (("GpuId", str(gpu)), ("InstanceId", NODE))
    name = MetricName(namespace="AWS/EC2", metric="GPUPowerUtilization", dimensions=dimensions)
    return TimeSeries(
        name=name, stat="Maximum", period_seconds=300, start=START, values=tuple(values)
    )


def node(*records: Shutdown | Boundary) -> NodeEvidence:
    return NodeEvidence(
        node=NODE,
        records=NodeRecords(
            shutdowns=tuple(r for r in records if isinstance(r, Shutdown)),
            boundaries=tuple(r for r in records if isinstance(r, Boundary)),
        ),
        coverage=NodeCoverage(node=NODE, status=CoverageStatus.MEASURED, gate=Gate.MEASURED),
    )


def evidence(
    *series: TimeSeries,
    reserved: Window | None = WINDOW,
    replaced: tuple[Replacement, ...] = (),
) -> LostEvidence:
    return LostEvidence(
        window=WINDOW,
        gpus={NODE: 2, NEW: 2},
        power={NODE: series} if series else {},
        reserved={NODE: (reserved,)} if reserved else {},
        replaced=replaced,
    )


IDLE, BUSY = [1.0] * 12, [80.0] * 12


def test_idle_hours_need_every_gpu_below_the_bar_and_show_their_sum() -> None:
    found = lost_hours([node()], evidence(power(0, IDLE * 2 + BUSY * 2), power(1, IDLE * 4)))
    (row,) = found.rows
    assert (row.cause, row.gpu_hours, row.money) == (LostCause.IDLE, 4.0, None)
    assert row.formula == "2.00 h x 2 GPUs = 4.00"
    assert (found.used[0].idle, found.used[0].busy, found.used[0].unknown) == (4.0, 4.0, 0.0)
    assert found.formulas


def test_a_gpu_without_points_makes_its_hours_unknown_not_idle() -> None:
    found = lost_hours([node()], evidence(power(0, IDLE * 4)))
    assert found.rows == ()
    assert found.used[0].unknown == 8.0
    assert any("neither idle nor busy" in word for word in found.unknown)


def test_hours_outside_the_reservation_are_not_asked_for() -> None:
    first = Window(start=START, end=START + timedelta(hours=1))
    found = lost_hours([node()], evidence(power(0, IDLE * 4), power(1, IDLE * 4), reserved=first))
    assert found.rows[0].gpu_hours == 2.0


def test_without_a_reservation_the_basis_says_so() -> None:
    found = lost_hours([node()], evidence(power(0, IDLE * 4), power(1, IDLE * 4), reserved=None))
    assert "no reservation" in found.rows[0].basis
    assert not found.used[0].reserved


def test_without_power_nothing_is_claimed_idle() -> None:
    found = lost_hours([node()], evidence())
    assert (found.rows, found.used) == ((), ())
    assert found.unknown == ("idle hours of 1 of 1 nodes: no GPU activity of them was read",)


def replacement(*, certain: bool = True, pairs: int = 1) -> Replacement:
    call = Change(
        kind=ChangeKind.REPLACE,
        name="BatchReplaceClusterNodes",
        at=START + timedelta(hours=1),
        nodes=(NODE,),
    )
    new = tuple(
        HyperPodNode(id=NEW, launched_at=START + timedelta(hours=1, minutes=30))
        for _ in range(pairs)
    )
    link = LinkBasis.STREAM_GROUP if certain else LinkBasis.LAUNCH_TIME
    return Replacement(call, (NODE,), new, "gpu", link)


def test_a_replacement_costs_from_the_call_to_the_successors_launch() -> None:
    found = lost_hours([node()], evidence(replaced=(replacement(),)))
    (row,) = found.rows
    assert (row.cause, row.gpu_hours) == (LostCause.DOWN, 1.0)
    assert row.basis == f"BatchReplaceClusterNodes to the launch of {NEW}"


def test_a_pair_by_launch_time_only_is_called_so_and_an_open_one_is_not_counted() -> None:
    (row,) = lost_hours([node()], evidence(replaced=(replacement(certain=False),))).rows
    assert row.basis.endswith("the pair rests on launch times only")
    several = lost_hours([node()], evidence(replaced=(replacement(pairs=2),)))
    assert several.rows == ()
    assert any("not paired" in word for word in several.unknown)


def stamped(minutes: int, quality: TimeQuality = TimeQuality.EXACT) -> dict[str, object]:
    return {
        "node": NODE,
        "stream": "messages/a",
        "line": minutes,
        "raw": "line",
        "at": START + timedelta(minutes=minutes),
        "time_quality": quality,
    }


@pytest.mark.parametrize(
    ("down", "up", "quality", "hours"),
    [
        pytest.param(60, 75, TimeQuality.EXACT, [0.5], id="a quarter of an hour on two GPUs"),
        pytest.param(
            60, 75, TimeQuality.INGEST_ONLY, [], id="a shipper's time measures no restart"
        ),
        pytest.param(60, 900, TimeQuality.EXACT, [], id="a night is a stop, not a restart"),
    ],
)
def test_a_restart_costs_from_the_shutdown_line_to_the_next_boot(
    down: int, up: int, quality: TimeQuality, hours: list[float]
) -> None:
    records = (
        Shutdown.model_validate(stamped(down, quality)),
        Boundary.model_validate({**stamped(up), "kind": BoundaryKind.REBOOT}),
    )
    found = lost_hours([node(*records)], evidence())
    assert [row.gpu_hours for row in found.rows] == hours


def test_money_is_named_only_with_a_price() -> None:
    found = lost_hours([node()], evidence(replaced=(replacement(),)), price=12.5, currency="EUR")
    assert found.rows[0].money == 12.5
    assert "money: GPU hours x 12.5 EUR" in found.formulas

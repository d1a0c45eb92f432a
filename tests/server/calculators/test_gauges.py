"""Gauges and counters of exporters: an event only where a value changed, facts only against."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuvet.calculators.gauges import (
    FACT_SOURCE,
    GAUGE,
    gauge_facts,
    gauge_outliers,
    gauge_timeline,
    gpu_facts,
    merged_gpus,
    not_ready_spans,
    without_gauges,
    witness_events,
    xid_changes,
)
from gpuvet.calculators.verdict import judge_cluster
from gpuvet.catalog.xids import xids
from gpuvet.model.cluster import (
    ClusterEvidence,
    Flag,
    GpuFacts,
    NodeEvidence,
    NodeFacts,
    NodeRecords,
    Orchestrator,
)
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.events import Source, TimeQuality, XidEvent
from gpuvet.model.evidence import Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.prometheus import DeviceNumber, XidChange
from gpuvet.model.verdict import Verdict

START = datetime(2026, 5, 9, 10, tzinfo=UTC)
NODE = "i-0aa11bb22cc33dd44"
PCI = "0000:53:00"


def minute(n: float) -> datetime:
    return START + timedelta(minutes=n)


def gauge(values: Sequence[float | None], *, gpu: str = "3") -> TimeSeries:
    dimensions = {"InstanceId": NODE, "GpuId": gpu, "gpu": gpu, "pci_bus_id": "00000000:53:00.0"}
    name = MetricName(
        namespace="Prometheus", metric=GAUGE, dimensions=tuple(sorted(dimensions.items()))
    )
    return TimeSeries(
        name=name, stat="Maximum", period_seconds=60, start=START, values=tuple(values)
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0, 0, 79, 79], [(0, 79, 3, 60)], id="a new code"),
        pytest.param([31, 31, 31], [], id="a code that stands is no event: it may be days old"),
        pytest.param([31, 31, 79], [(31, 79, 3, 60)], id="a code after another"),
        pytest.param([79, 0, 0], [], id="back to 0: the exporter started anew"),
        pytest.param([0, None, None, 48], [(0, 48, 4, 180)], id="a gap widens the span"),
        pytest.param([None, 63, 63], [], id="a series that begins with a code"),
        pytest.param([0, 5000], [], id="no Xid has such a number"),
        pytest.param([0, 31, 0, 31], [(0, 31, 2, 60), (0, 31, 4, 60)], id="twice over a restart"),
        pytest.param([], [], id="no samples"),
    ],
)
def test_only_a_change_is_an_event_dated_by_the_first_sample_that_shows_it(
    values: list[float | None], expected: list[tuple[int, int, int, int]]
) -> None:
    found = xid_changes([gauge(values)], "ws-1")
    seen = [(c.before, c.code, c.at, c.precision_seconds) for c in found]
    assert seen == [(before, code, minute(at), span) for before, code, at, span in expected]
    assert {(c.node, c.gpu, c.pci) for c in found} <= {(NODE, "3", PCI)}


def change(code: int, at: datetime, *, precision: int = 60, pci: str | None = PCI) -> XidChange:
    return XidChange(
        node=NODE, code=code, before=0, at=at, precision_seconds=precision, gpu="3", pci=pci
    )


def line(code: int, at: datetime, *, pci: str | None = PCI) -> XidEvent:
    return XidEvent(
        node=NODE,
        stream="kernel",
        line=1,
        raw=f"NVRM: Xid (PCI:0000:53:00): {code}, pid=1, name=x, text",
        at=at,
        time_quality=TimeQuality.EXACT,
        code=code,
        pci=pci,
    )


@pytest.mark.parametrize(
    ("late", "is_copy"),
    [(0, True), (60, True), (300, True), (-60, True), (600, False), (-120, False)],
)
def test_a_change_soon_after_a_line_of_its_code_is_that_lines_second_witness(
    late: int, is_copy: bool
) -> None:
    at = minute(5)
    changes = [change(79, at + timedelta(seconds=late))]
    ((event,),) = witness_events(changes, {NODE: [line(79, at)]}).values()
    assert (event.at == at) is (is_copy or late == 0)
    assert event.source is Source.DCGM_GAUGE
    assert f"{changes[0].at:%Y-%m-%dT%H:%M:%SZ}" in event.raw  # its own time stays readable


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(line(48, minute(5)), id="another code"),
        pytest.param(line(79, minute(5), pci="0000:9a:00"), id="another GPU"),
    ],
)
def test_a_line_of_another_code_or_gpu_is_not_the_same_event(other: XidEvent) -> None:
    ((event,),) = witness_events([change(79, minute(6))], {NODE: [other]}).values()
    assert event.at == minute(6)


def test_a_change_between_samples_far_apart_is_dated_on_the_timeline_and_judged_by_nobody() -> None:
    late = change(79, minute(60), precision=3600)
    assert witness_events([late], {}) == {}
    (entry,) = gauge_timeline([late, change(31, minute(1))], [])
    assert (entry.at, entry.precision_seconds, entry.node) == (minute(60), 3600.0, NODE)
    assert "became 79 (from 0)" in entry.what


def evidence(
    *records: XidEvent,
    gpus: Sequence[GpuFacts] = (),
    gate: Gate = Gate.MEASURED,
) -> ClusterEvidence:
    window = Window(start=START, end=START + timedelta(hours=1))
    status = CoverageStatus.MEASURED if gate is Gate.MEASURED else CoverageStatus.NOT_OBSERVABLE
    node = NodeEvidence(
        node=NODE,
        instance_type="p5.48xlarge",
        records=NodeRecords(xids=records),
        facts=NodeFacts(gpus=tuple(gpus)),
        coverage=NodeCoverage(node=NODE, status=status, gate=gate, hours_asked=1),
    )
    return ClusterEvidence(
        orchestrator=Orchestrator.PARALLELCLUSTER, now=window.end, window=window, nodes=(node,)
    )


def witness(code: int, at: datetime, *logs: XidEvent) -> XidEvent:
    ((event,),) = witness_events([change(code, at)], {NODE: list(logs)}).values()
    return event


def test_a_second_witness_is_named_beside_the_first_and_counts_as_no_second_event() -> None:
    log = line(79, minute(5))
    (alone,) = judge_cluster(evidence(log))
    (both,) = judge_cluster(evidence(log, witness(79, minute(8), log)))
    assert (both.verdict, both.confidence) == (alone.verdict, alone.confidence)
    assert len(both.grounds) >= len(alone.grounds)
    assert "2 runs" not in both.grounds[0].what
    assert both.grounds[0].source != "dcgm_gauge"  # the driver's own line comes first


def test_a_gauge_alone_can_call_for_a_reboot_where_the_log_was_not_seen() -> None:
    (verdict,) = judge_cluster(evidence(witness(79, minute(5)), gate=Gate.NONE))
    assert verdict.verdict is Verdict.REBOOT
    assert verdict.grounds[0].source == "dcgm_gauge"


_WEIGHT = [
    *(Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED, Verdict.MONITOR),
    *(Verdict.NOT_OBSERVABLE, Verdict.LEAVE_ALONE),
]
_CODES = sorted(xids())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(_CODES), st.integers(0, 50)), max_size=3),
    st.lists(st.tuples(st.sampled_from(_CODES), st.integers(0, 50)), min_size=1, max_size=3),
    st.sampled_from([Gate.MEASURED, Gate.NONE]),
)
@example([(45, 10)], [(31, 9)], Gate.MEASURED)  # a program's fault before it would explain a 45
def test_no_gauge_ever_makes_a_verdict_milder(
    logged: list[tuple[int, int]], gauged: list[tuple[int, int]], gate: Gate
) -> None:
    logs = [line(code, minute(at)) for code, at in logged]
    extra = [witness(code, minute(at), *logs) for code, at in gauged]
    (plain,) = judge_cluster(evidence(*logs, gate=gate))
    (with_them,) = judge_cluster(evidence(*logs, *extra, gate=gate))
    assert _WEIGHT.index(with_them.verdict) <= _WEIGHT.index(plain.verdict)


def number(metric: str, value: float, *, gpu: str = "3", node: str = NODE) -> DeviceNumber:
    return DeviceNumber(metric=metric, node=node, value=value, gpu=gpu, pci=PCI, uuid=f"GPU-{gpu}")


def test_gauges_speak_against_a_gpu_and_never_for_it() -> None:
    numbers = [
        number("DCGM_FI_DEV_ROW_REMAP_FAILURE", 1),
        number("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 12.4),
        number("DCGM_FI_DEV_ROW_REMAP_FAILURE", 0, gpu="4"),
        number("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", 0, gpu="4"),
        number("DCGM_FI_DEV_GPU_TEMP", 60, gpu="4"),
    ]
    ((fact,),) = gpu_facts(numbers, START).values()
    assert (fact.remap_failed, fact.pcie_replays, fact.remapped_uncorrectable) == (
        Flag.YES,
        12,
        None,
    )
    assert (fact.source, fact.read_at, fact.pci) == (FACT_SOURCE, START, PCI)


def test_a_failed_row_remap_in_the_workspace_calls_for_a_replacement() -> None:
    ((fact,),) = gpu_facts([number("DCGM_FI_DEV_ROW_REMAP_FAILURE", 1)], START).values()
    (verdict,) = judge_cluster(evidence(gpus=[fact]))
    assert verdict.verdict is Verdict.REPLACE


def test_where_nvidia_smi_and_a_gauge_differ_the_worse_word_stands() -> None:
    smi = GpuFacts(pci=PCI, remap_failed=Flag.NO, pcie_replays=3)
    other = GpuFacts(pci="0000:9a:00")
    told = GpuFacts(pci=PCI, remap_failed=Flag.YES, pcie_replays=1, source=FACT_SOURCE)
    found = merged_gpus([smi, other], [told])
    assert [(one.pci, one.remap_failed, one.pcie_replays, one.source) for one in found] == [
        (PCI, Flag.YES, 3, "nvidia-smi"),
        ("0000:9a:00", Flag.NOT_READ, None, "nvidia-smi"),
    ]
    fine = GpuFacts(pci=PCI, source=FACT_SOURCE, remapped_uncorrectable=2)
    assert merged_gpus([smi], [fine])[0].remap_failed is Flag.NO


def test_evidence_without_gauges_is_what_the_logs_alone_gave() -> None:
    log = line(79, minute(5))
    plain = evidence(log)
    fact = GpuFacts(pci=PCI, source=FACT_SOURCE, remap_failed=Flag.YES)
    assert without_gauges(evidence(log, witness(31, minute(9)), gpus=[fact])) == plain
    assert without_gauges(plain) is plain


def test_counts_that_rose_are_told_with_gpu_and_node_the_worst_first_and_bounded() -> None:
    numbers = [
        number("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 1_500),
        number("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 3, gpu="1"),
        number("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 2),
        number("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0, gpu="1"),
        number("DCGM_FI_DEV_GPU_TEMP", 95),
    ]
    ecc, nvlink = (one.metric for one in (numbers[2], numbers[0]))
    where = f"on GPU 3, {NODE} (Managed Prometheus"
    assert gauge_facts(numbers) == (
        f"uncorrectable ECC errors rose by about 2 {where}, {ecc})",
        f"NVLink CRC flit errors rose by about 1,500 {where}, {nvlink})",
    )
    many = [number("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 1, node=f"i-{n}") for n in range(30)]
    assert gauge_facts(many)[-1] == "and 22 more counts of errors rose"


def test_the_hottest_node_of_many_stands_out_by_its_worst_gpu() -> None:
    numbers = [
        number("DCGM_FI_DEV_GPU_TEMP", value, gpu=gpu, node=f"i-{n}")
        for n in range(6)
        for gpu, value in (("0", 50.0 + n), ("1", 92.0 if n == 5 else 52.0))
    ]
    (sentence,) = gauge_outliers(numbers)
    assert sentence.startswith("highest GPU temperature in °C: 92 on i-5 stands out among 6 peers")


def ready(values: Sequence[float | None]) -> TimeSeries:
    name = MetricName(
        namespace="Prometheus",
        metric="kube_node_status_condition",
        dimensions=(("InstanceId", NODE),),
    )
    return TimeSeries(
        name=name, stat="Maximum", period_seconds=60, start=START, values=tuple(values)
    )


@pytest.mark.parametrize(
    ("values", "spans"),
    [
        pytest.param([1, 1, 1], [], id="ready all along"),
        pytest.param([1, 0, 0, 1], [(1, 3)], id="down and back"),
        pytest.param([1, 0, 0], [(1, None)], id="down at the end"),
        pytest.param([None, None], [], id="nobody looked"),
        pytest.param([1, None, None, 1], [], id="a gap is not down"),
        pytest.param([0, 1, 0, 1], [(0, 1), (2, 3)], id="twice"),
    ],
)
def test_a_node_is_not_ready_from_the_first_such_sample_to_the_next_ready_one(
    values: list[float | None], spans: list[tuple[int, int | None]]
) -> None:
    found = not_ready_spans([ready(values)])
    assert [(s.since, s.until) for s in found] == [
        (minute(a + 1), None if b is None else minute(b + 1)) for a, b in spans
    ]

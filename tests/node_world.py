"""Nodes, lines and coverage for the tests of verdicts: short words for what logs say."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from gpuvet.calculators.verdict import judge_cluster
from gpuvet.model.cluster import (
    ClusterEvidence,
    GpuFacts,
    NodeEvidence,
    NodeFacts,
    NodeRecords,
    Orchestrator,
)
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.events import (
    AnyRecord,
    Boundary,
    BoundaryKind,
    DeepCheck,
    HmaRecord,
    NodeCondition,
    Source,
    SxidEvent,
    TimeQuality,
    XidEvent,
)
from gpuvet.model.evidence import Window
from gpuvet.model.verdict import NodeVerdict
from gpuvet.parse.kernel_log import node_records, parse_lines

NODE, OTHER, THIRD = "i-0aaa0000000000001", "i-0bbb0000000000002", "i-0ccc0000000000003"
GPU, GPU2, GPU3 = "0000:53:00", "0000:64:00", "0000:75:00"
START = datetime(2026, 3, 2, 0, tzinfo=UTC)
NOW = START + timedelta(hours=24)
WINDOW = Window(start=START, end=NOW)
FAILURE = START + timedelta(hours=12)
AT = FAILURE - timedelta(seconds=30)

_PLACES = {"line": 0}


def at(seconds: float, base: datetime = AT) -> datetime:
    """Return a time so many seconds after the usual event."""
    return base + timedelta(seconds=seconds)


def days(number: float) -> float:
    """Return days as seconds."""
    return number * 86_400


def xid(
    code: int, text: str = "", seconds: float = 0, *, pci: str | None = GPU, **more: object
) -> XidEvent:
    """Return one Xid so many seconds after the usual time."""
    values: dict[str, object] = {
        "node": NODE,
        "stream": "messages",
        "line": next_line(),
        "raw": f"NVRM: Xid (PCI:{pci}): {code}, {text}",
        "at": at(seconds),
        "time_quality": TimeQuality.EXACT,
        "code": code,
        "pci": pci,
        "text": text,
        **more,
    }
    return XidEvent.model_validate(values)


def next_line() -> int:
    """Return the next line number: later calls stand later in their stream."""
    _PLACES["line"] += 1
    return _PLACES["line"]


def sxid(code: int, seconds: float = 0, **more: object) -> SxidEvent:
    """Return one NVSwitch error."""
    values: dict[str, object] = {
        "node": NODE,
        "stream": "messages",
        "line": next_line(),
        "raw": f"SXid {code}",
        "at": at(seconds),
        "time_quality": TimeQuality.EXACT,
        "code": code,
        "switch_pci": "0000:c3:00.0",
        **more,
    }
    return SxidEvent.model_validate(values)


def boundary(kind: BoundaryKind, seconds: float, **more: object) -> Boundary:
    """Return a boundary known from outside the logs."""
    return Boundary.model_validate(
        {
            "node": NODE,
            "stream": "boots",
            "line": 0,
            "raw": "",
            "at": at(seconds),
            "time_quality": TimeQuality.EXACT,
            "kind": kind,
            **more,
        }
    )


def reboot(seconds: float) -> Boundary:
    """Return a reboot."""
    return boundary(BoundaryKind.REBOOT, seconds)


def hma(seconds: float = 0, **more: object) -> HmaRecord:
    """Return a detection of the health agent."""
    return HmaRecord.model_validate(
        {
            "node": NODE,
            "stream": "SagemakerHealthMonitoringAgent/workers/" + NODE,
            "line": next_line(),
            "raw": "agent",
            "at": at(seconds),
            "time_quality": TimeQuality.EXACT,
            "source": Source.HMA,
            **more,
        }
    )


def deep_check(seconds: float, *, passed: bool, faulty: bool = False) -> DeepCheck:
    """Return the outcome of a deep health check."""
    return DeepCheck(
        node=NODE,
        stream="DeepHealthCheckResults/1",
        line=next_line(),
        raw="check",
        at=at(seconds),
        time_quality=TimeQuality.EXACT,
        passed=passed,
        faulty_instance=faulty,
    )


def condition(reason: str, seconds: float | None = 0, **more: object) -> NodeCondition:
    """Return an AcceleratedHardwareReady condition that is False."""
    values: dict[str, object] = {
        "node": NODE,
        "stream": "node.yaml",
        "line": 1,
        "raw": reason,
        "source": Source.EKS_CONDITION,
        "kind": "AcceleratedHardwareReady",
        "status": "False",
        "reason": reason,
        "transition_at": None if seconds is None else at(seconds),
        **more,
    }
    return NodeCondition.model_validate(values)


def lines(*texts: str) -> tuple[AnyRecord, ...]:
    """Return what kernel lines say; each begins with its ISO time and host."""
    return parse_lines(texts, node=NODE, stream="messages", reference_time=NOW).records


def gpu(pci: str = GPU, **more: object) -> GpuFacts:
    """Return what nvidia-smi said of one GPU."""
    return GpuFacts.model_validate({"pci": pci, **more})


def measured(node: str = NODE) -> NodeCoverage:
    """Return coverage of a node whose kernel log was live in every hour."""
    return NodeCoverage(node=node, status=CoverageStatus.MEASURED, gate=Gate.MEASURED)


def covered(
    gate: Gate, *, empty: Sequence[datetime] = (), live: Sequence[datetime] = (), **more: object
) -> NodeCoverage:
    """Return coverage with a given gate."""
    status = {
        Gate.MEASURED: CoverageStatus.MEASURED,
        Gate.PARTIAL: CoverageStatus.PARTIAL,
        Gate.NONE: CoverageStatus.NOT_OBSERVABLE,
        Gate.HMA_ONLY: CoverageStatus.NO_HMA_DETECTIONS,
    }[gate]
    return NodeCoverage.model_validate(
        {
            "node": NODE,
            "status": status,
            "gate": gate,
            "empty_hours": tuple(empty),
            "live_hours": tuple(live),
            **more,
        }
    )


def node_of(
    *records: AnyRecord,
    node: str = NODE,
    facts: NodeFacts | None = None,
    coverage: NodeCoverage | None = None,
    instance_type: str | None = "p5.48xlarge",
    **more: object,
) -> NodeEvidence:
    """Return a node; the records are put in its name."""
    named = [r.model_copy(update={"node": node}) for r in records]
    sorted_records: NodeRecords = node_records(named)
    return NodeEvidence.model_validate(
        {
            "node": node,
            "instance_type": instance_type,
            "records": sorted_records,
            "facts": facts or NodeFacts(),
            "coverage": coverage or measured(node),
            **more,
        }
    )


def cluster(*nodes: NodeEvidence, **more: object) -> ClusterEvidence:
    """Return the evidence of a day in which the job failed at noon."""
    values: dict[str, object] = {
        "orchestrator": Orchestrator.EC2,
        "now": NOW,
        "window": WINDOW,
        "failure_at": FAILURE,
        "nodes": nodes,
        **more,
    }
    return ClusterEvidence.model_validate(values)


def judged(
    *records: AnyRecord,
    facts: NodeFacts | None = None,
    coverage: NodeCoverage | None = None,
    instance_type: str | None = "p5.48xlarge",
    node: Mapping[str, object] | None = None,
    **more: object,
) -> NodeVerdict:
    """Return the verdict on one node; further words are about the cluster."""
    evidence = node_of(*records, facts=facts, coverage=coverage, instance_type=instance_type)
    evidence = evidence.model_copy(update=dict(node or {}))
    return judge_cluster(cluster(evidence, **more))[0]


def verdicts(*nodes: NodeEvidence, **more: object) -> dict[str, str]:
    """Return the verdict of each node as a word."""
    return {v.node: v.verdict.value for v in judge_cluster(cluster(*nodes, **more))}

"""How sure an audit is: of its findings by what was read, of its reach by hours seen."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.audit_label import audit_confidence, audit_label
from gpuvet.model.audit import NodeSight
from gpuvet.model.cause import Label
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage, Shipper, SourceCoverage
from gpuvet.model.evidence import Window
from gpuvet.model.report import ReportConfidence

START = datetime(2026, 3, 14, tzinfo=UTC)
NODE = "i-0aa11bb22cc33dd44"


def evidence(*statuses: CoverageStatus) -> ClusterEvidence:
    sources = tuple(
        SourceCoverage(
            node=NODE, source=Shipper.HOST_SYSLOG, group="/g", stream=f"s{n}", status=status
        )
        for n, status in enumerate(statuses)
    )
    coverage = NodeCoverage(
        node=NODE, status=CoverageStatus.PARTIAL, gate=Gate.PARTIAL, sources=sources
    )
    return ClusterEvidence(
        now=START,
        window=Window(start=START, end=START + timedelta(hours=4)),
        nodes=(NodeEvidence(node=NODE, coverage=coverage),) if statuses else (),
    )


@pytest.mark.parametrize(
    ("statuses", "unread", "label"),
    [
        pytest.param([CoverageStatus.PARTIAL], [], Label.PROVEN, id="a hole is a proven finding"),
        pytest.param(
            [CoverageStatus.MEASURED, CoverageStatus.UNVERIFIED],
            [],
            Label.HYPOTHESIS,
            id="an incomplete count is not",
        ),
        pytest.param(
            [CoverageStatus.MEASURED], ["log streams"], Label.HYPOTHESIS, id="nor a denied reading"
        ),
        pytest.param([], [], Label.HYPOTHESIS, id="of no node nothing is proven"),
    ],
)
def test_the_label_speaks_of_what_was_read(
    statuses: list[CoverageStatus], unread: list[str], label: Label
) -> None:
    assert audit_label(evidence(*statuses), unread)[0] is label


def sight(live: int, asked: int, status: CoverageStatus = CoverageStatus.PARTIAL) -> NodeSight:
    return NodeSight(
        node=NODE,
        status=status,
        hours_measured=live,
        hours_asked=asked,
        xid_events=0,
        claim="",
    )


@pytest.mark.parametrize(
    ("nodes", "unread", "confidence"),
    [
        pytest.param([sight(4, 4)], [], "High", id="every hour seen"),
        pytest.param([sight(4, 4)], ["lines"], "Medium", id="but not every reading succeeded"),
        pytest.param([sight(4, 4), sight(3, 4)], [], "Medium", id="an hour is missing"),
        pytest.param([sight(4, 4), sight(0, 4)], [], "Low", id="a node was seen in no hour"),
        pytest.param(
            [sight(0, 4, CoverageStatus.NO_HMA_DETECTIONS)], [], "Medium", id="the agent speaks"
        ),
        pytest.param([sight(0, 0, CoverageStatus.NOT_APPLICABLE)], [], "Low", id="no GPU node"),
    ],
)
def test_confidence_speaks_of_hours(
    nodes: list[NodeSight], unread: list[str], confidence: ReportConfidence
) -> None:
    assert audit_confidence(nodes, unread)[0] == confidence

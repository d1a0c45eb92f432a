"""How sure an audit is of its findings, and how far it speaks (incident-branches). Pure."""

from collections.abc import Sequence

from gpuvet.model.audit import NodeSight
from gpuvet.model.cause import Label
from gpuvet.model.cluster import ClusterEvidence
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.report import ReportConfidence

# Something other than counted hours speaks for the node: its agent, or what a case states.
_SPEAKS = frozenset(
    {CoverageStatus.DETECTIONS, CoverageStatus.NO_HMA_DETECTIONS, CoverageStatus.MEASURED}
)


def audit_label(evidence: ClusterEvidence, unread: Sequence[str]) -> tuple[Label, str]:
    """Return Proven where each finding, holes included, was read from a source with status OK.

    Args:
        evidence: Of the cluster.
        unread: Readings of logs that did not succeed.
    """
    unverified = [
        source.stream or source.node
        for node in evidence.nodes
        for source in node.coverage.sources
        if source.status is CoverageStatus.UNVERIFIED
    ]
    if not evidence.nodes:
        return Label.HYPOTHESIS, "no node was found"
    if unread:
        return Label.HYPOTHESIS, f"not read completely: {unread[0]}"
    if unverified:
        return Label.HYPOTHESIS, f"not proven either way: {len(unverified)} streams"
    return Label.PROVEN, "every finding and every hole was read from a complete source"


def audit_confidence(
    sight: Sequence[NodeSight], unread: Sequence[str]
) -> tuple[ReportConfidence, str]:
    """Return High where every hour of every node was seen, Low where a node was in none."""
    asked = [n for n in sight if n.status is not CoverageStatus.NOT_APPLICABLE]
    if not asked:
        return "Low", "no GPU node was found"
    dark = [n for n in asked if not n.hours_measured and n.status not in _SPEAKS]
    if dark:
        return "Low", f"{len(dark)} of {len(asked)} nodes were seen in no hour"
    partly = [n for n in asked if n.hours_measured < n.hours_asked]
    if partly:
        return "Medium", f"{len(partly)} of {len(asked)} nodes were not seen in every hour"
    if unread:
        return "Medium", f"not read completely: {unread[0]}"
    return "High", "every hour of every node was seen"

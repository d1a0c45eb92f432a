"""Of which nodes an audit asks something: those with GPUs. Pure."""

from collections.abc import Set as AbstractSet

from gpuvet.calculators.audit_hours import is_out_of_scope
from gpuvet.model.cluster import ClusterEvidence
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage, Shipper, SourceCoverage


def without_gpus_aside(evidence: ClusterEvidence, aside: AbstractSet[str]) -> ClusterEvidence:
    """Return the evidence with nothing asked of some nodes, such as head nodes.

    Args:
        evidence: Of the cluster.
        aside: Nodes that are known to have no GPU; an unknown type stays asked.
    """
    nodes = tuple(
        node.model_copy(update={"coverage": _nothing_asked(node.coverage)})
        if node.node in aside
        else node
        for node in evidence.nodes
    )
    return evidence.model_copy(update={"nodes": nodes}) if aside else evidence


def _nothing_asked(coverage: NodeCoverage) -> NodeCoverage:
    bare = SourceCoverage(
        node=coverage.node,
        source=Shipper.UNKNOWN,
        group=None,
        stream=None,
        status=CoverageStatus.NOT_APPLICABLE,
        reason="no GPU on this node",
    )
    sources = tuple(
        bare.model_copy(update={"source": one.source, "group": one.group, "stream": one.stream})
        for one in coverage.sources
    )
    return NodeCoverage(
        node=coverage.node,
        status=CoverageStatus.NOT_APPLICABLE,
        gate=Gate.NONE,
        sources=sources or (bare,),
    )


def with_gpus(evidence: ClusterEvidence) -> ClusterEvidence:
    """Return the evidence of the nodes that something is asked of; the others get no verdict."""
    kept = tuple(n for n in evidence.nodes if not is_out_of_scope(n.coverage))
    return evidence.model_copy(update={"nodes": kept})

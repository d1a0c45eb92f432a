"""When each node ran in reserved capacity, from reservations, blocks and training plans."""

from collections import defaultdict
from collections.abc import Mapping

from gpuvet.calculators.block_end import lead_of
from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.model.evidence import Window


def reserved_spans(evidence: CapacityEvidence) -> Mapping[str, tuple[Window, ...]]:
    """Return the spans in which capacity of a node was reserved; a node left out: not known.

    A Capacity Block is usable until its terminations begin. A HyperPod node is reserved through
    the training plan that its instance group names.
    """
    spans: dict[str, list[Window]] = defaultdict(list)
    reservations = {one.id: one for one in values(evidence.reservations)}
    for instance in values(evidence.instances):
        found = reservations.get(instance.reservation or "")
        if found is None or found.start is None:
            continue
        end = found.end - lead_of(found) if found.end and found.is_block else found.end
        end = end or max(evidence.now, evidence.window.end)
        if found.start < end:
            spans[instance.id].append(Window(start=found.start, end=end))
    for node, blocks in _planned(evidence).items():
        spans[node] += blocks
    return {node: tuple(found) for node, found in spans.items()}


def _planned(evidence: CapacityEvidence) -> Mapping[str, list[Window]]:
    found = evidence.cluster.value if evidence.cluster is not None else None
    if found is None:
        return {}
    plans = {plan.name: plan for plan in values(evidence.plans)}
    by_group = {
        group.name: plans[name]
        for group in found.groups
        if group.plan and (name := group.plan.rpartition("/")[2]) in plans
    }
    return {
        node.id: [
            Window(start=block.start, end=block.end)
            for block in by_group[node.group].blocks
            if block.start < block.end
        ]
        for node in values(evidence.hyperpod_nodes)
        if node.group in by_group
    }

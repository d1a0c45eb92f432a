"""What the nodes' types bring, and how much of it is attached."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gpuvet.catalog.instance_types import InstanceType, instance_type
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import ClusterEvidence
from gpuvet.model.events import FabricState
from gpuvet.model.report import CapabilityRow


def capability_rows(
    nodes: Sequence[CaseNode],
    evidence: ClusterEvidence,
    efa_attached: Mapping[str, int | None],
) -> tuple[CapabilityRow, ...]:
    """Return one row per GPU instance type.

    Args:
        nodes: The inventory.
        evidence: Records of the nodes; Fabric Manager's start line is looked for in all of them.
        efa_attached: Attached efa and efa-only interfaces per node; a node that EC2's API does
            not show is missing.
    """
    by_type: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        kind = instance_type(node.instance_type) if node.instance_type else None
        if node.instance_type and (kind is None or kind.gpus > 0):
            by_type[node.instance_type.removeprefix("ml.")].append(node.node)
    started = _fabric_started(evidence)
    return tuple(
        _row(name, members, instance_type(name), started, efa_attached, evidence)
        for name, members in sorted(by_type.items())
    )


def _row(
    name: str,
    members: list[str],
    kind: InstanceType | None,
    started: frozenset[str],
    efa_attached: Mapping[str, int | None],
    evidence: ClusterEvidence,
) -> CapabilityRow:
    has_switch = kind.nvswitch if kind is not None else None
    return CapabilityRow(
        instance_type=name,
        nodes=tuple(members),
        gpus=kind.gpus if kind is not None else None,
        gpu_name=kind.gpu_name if kind is not None else None,
        nvswitch=has_switch,
        efa_attached=_efa(members, kind, efa_attached, evidence),
        fabric_manager=None if has_switch is False else _fabric(members, started),
    )


def _efa(
    members: Sequence[str],
    kind: InstanceType | None,
    attached: Mapping[str, int | None],
    evidence: ClusterEvidence,
) -> str:
    most = kind.max_efa if kind is not None else None
    if most == 0:
        return "no EFA on this type"
    counts = Counter(attached[n] for n in members if attached.get(n) is not None)
    if not counts:
        if evidence.orchestrator.is_hyperpod:
            return "not visible to EC2's API on HyperPod"
        return "not read"
    of = f" of {most}" if most is not None else ""
    return ", ".join(
        f"{have}{of}" + (f" on {many} nodes" if len(counts) > 1 else "")
        for have, many in sorted(counts.items(), key=lambda c: (-c[1], c[0] or 0))
    )


def _fabric_started(evidence: ClusterEvidence) -> frozenset[str]:
    return frozenset(
        node.node
        for node in evidence.nodes
        if any(line.state is FabricState.STARTED for line in node.records.fabric_manager)
    )


def _fabric(members: Sequence[str], started: frozenset[str]) -> str:
    count = sum(1 for node in members if node in started)
    return f"start line seen on {count} of {len(members)}" if count else "not confirmed"

"""For each dark source: whose it is, and the steps that would light it. Pure."""

from collections.abc import Callable, Iterator, Sequence

from gpuvet.model.audit import (
    Hole,
    HoleKind,
    LightRow,
    LightStep,
    NodeSight,
    Sight,
    Witness,
)
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.coverage import Shipper
from gpuvet.report import lights

_KERNEL = frozenset(
    {Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY, Shipper.UNKNOWN}
)
_EKS = frozenset({Orchestrator.EKS, Orchestrator.HYPERPOD_EKS})


class Place:
    """The cluster whose sources are dark.

    Attributes:
        group: A log group its nodes write already, where there is one.
    """

    def __init__(
        self,
        orchestrator: Orchestrator,
        *,
        cluster: str | None = None,
        region: str | None = None,
        group: str | None = None,
    ) -> None:
        self.orchestrator, self.cluster = orchestrator, cluster
        self.region, self.group = region, group

    @property
    def is_eks(self) -> bool:
        """Say whether its nodes are Kubernetes nodes."""
        return self.orchestrator in _EKS


def light_rows(
    nodes: Sequence[NodeSight], holes: Sequence[Hole], place: Place
) -> tuple[LightRow, ...]:
    """Return a row for each dark source, the one with the cheapest first step first.

    Args:
        nodes: What each node allows to see.
        holes: Hours not seen, with their reasons.
        place: The cluster.
    """
    rows = [*_kernel(nodes, holes, place), *_witnesses(nodes, place)]
    return tuple(sorted(rows, key=lambda row: (row.steps[0].cost, _order(row), row.why)))


def _order(row: LightRow) -> int:
    return tuple(Witness).index(row.what)


def _kernel(nodes: Sequence[NodeSight], holes: Sequence[Hole], place: Place) -> Iterator[LightRow]:
    """Yield a row for each reason that left hours of kernel logs dark."""
    asked = {n.node for n in nodes if n.hours_asked > n.hours_measured}
    by_kind: dict[HoleKind | None, list[Hole]] = {}
    for hole in holes:
        if hole.node in asked and hole.seen_elsewhere < hole.hours and hole.source in _KERNEL:
            reasons = [c for c in hole.causes if c.kind is not HoleKind.LAG]
            measured = [c for c in reasons if c.measured]
            kind = next((c.kind for c in (*measured, *reasons)), None)
            by_kind.setdefault(kind, []).append(hole)
    for kind, found in by_kind.items():
        why = kind.value if kind is not None else "no evidence names a reason"
        yield LightRow(
            what=Witness.KERNEL,
            nodes=tuple(sorted({hole.node for hole in found})),
            why=f"{sum(h.hours for h in found)} h of kernel log not seen: {why}",
            steps=_ordered(_kernel_steps(kind, found, place)),
        )
    if place.orchestrator.is_hyperpod and nodes and not by_kind:
        yield LightRow(
            what=Witness.KERNEL,
            nodes=tuple(n.node for n in nodes if n.hours_asked),
            why="HyperPod ships no kernel log: Xids are known only as far as its agent reports",
            steps=_ordered(_ship(place)),
        )


def _kernel_steps(
    kind: HoleKind | None, holes: Sequence[Hole], place: Place
) -> Iterator[LightStep]:
    group = next((h.group for h in holes if h.group), place.group)
    if kind is HoleKind.NOT_SEARCHED:
        yield lights.search_again(group)
        return
    if kind is HoleKind.RETENTION:
        yield lights.retention(group)
    spans = dict.fromkeys((h.node, h.start, h.end) for h in holes)
    yield lights.read_on_the_node(list(spans))
    match kind:
        case HoleKind.ROTATION | HoleKind.AGENT:
            yield lights.rotation()
        case HoleKind.BUFFER | HoleKind.DISK_FULL:
            yield lights.fluent_bit_buffer()
        case HoleKind.PERMISSION:
            yield lights.agent_permission(group)
        case HoleKind.NO_STREAM | HoleKind.PROVES_NOTHING | HoleKind.NO_GROUP | None:
            yield from _ship(place)
        case _:
            pass


def _ship(place: Place) -> Iterator[LightStep]:
    """Yield what ships a host's log on this kind of cluster."""
    if place.orchestrator is Orchestrator.PARALLELCLUSTER:
        yield lights.parallelcluster()
        yield lights.cloudwatch_agent_logs(place.group)
    elif place.is_eks:
        yield lights.eks_addon(place.cluster, "amazon-cloudwatch-observability")
        yield lights.fluent_bit(place.group, place.region)
    else:
        yield lights.agent_permission(place.group)
        yield lights.cloudwatch_agent_logs(place.group)
        yield lights.fluent_bit(place.group, place.region)


def _witnesses(nodes: Sequence[NodeSight], place: Place) -> Iterator[LightRow]:
    for witness, steps in _STEPS.items():
        dark = [
            (n.node, row.because)
            for n in nodes
            for row in n.witnesses
            if row.what is witness and row.state is Sight.NOT_OBSERVABLE
        ]
        if dark:
            yield LightRow(
                what=witness,
                nodes=tuple(node for node, _ in dark),
                why=dark[0][1],
                steps=_ordered(steps(place)),
            )


def _agent_steps(place: Place) -> Iterator[LightStep]:
    yield lights.health_agent(place.orchestrator)


def _nccl_steps(place: Place) -> Iterator[LightStep]:
    yield lights.nccl_lines()
    if place.is_eks:
        yield lights.eks_addon(place.cluster, "amazon-cloudwatch-observability")


def _fabric_steps(place: Place) -> Iterator[LightStep]:
    yield lights.fabric_manager_on_the_node()
    yield from _ship(place)


def _efa_steps(place: Place) -> Iterator[LightStep]:
    yield lights.efa_on_the_node()
    if place.orchestrator is Orchestrator.HYPERPOD_EKS:
        yield lights.eks_addon(place.cluster, "amazon-sagemaker-hyperpod-observability")
    else:
        yield lights.cloudwatch_agent_metrics("efa")


def _gpu_steps(place: Place) -> Iterator[LightStep]:
    yield lights.gpu_on_the_node()
    if place.orchestrator is Orchestrator.HYPERPOD_EKS:
        yield lights.eks_addon(place.cluster, "amazon-sagemaker-hyperpod-observability")
    else:
        yield lights.cloudwatch_agent_metrics("gpu")


_STEPS: dict[Witness, Callable[[Place], Iterator[LightStep]]] = {
    Witness.AGENT: _agent_steps,
    Witness.NCCL: _nccl_steps,
    Witness.FABRIC_MANAGER: _fabric_steps,
    Witness.EFA: _efa_steps,
    Witness.GPU_ACTIVITY: _gpu_steps,
}


def _ordered(steps: Iterator[LightStep]) -> tuple[LightStep, ...]:
    found = {step.text: step for step in steps}
    return tuple(sorted(found.values(), key=lambda step: step.cost))

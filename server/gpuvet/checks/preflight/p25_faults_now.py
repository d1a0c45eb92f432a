"""P25: no node has an unresolved fault now."""

from collections.abc import Iterator

from gpuvet.checks.preflight.holdings import holdings
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, no_node, unread
from gpuvet.checks.preflight.p03_replacement import block_health
from gpuvet.checks.preflight.view import RunNode, View
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.verdict import Verdict

_HEALTH_LABEL = "sagemaker.amazonaws.com/node-health-status"
_WAITING = frozenset({"UnschedulablePendingReplacement", "UnschedulablePendingReboot"})
OPEN_VERDICTS = frozenset({Verdict.REPLACE, Verdict.REBOOT})
_RUNNING = frozenset({"Running", "running", None})


def faults_now(view: View) -> Iterator[Part]:
    """Read verdicts, labels and states of every accelerated node."""
    if not view.listed.is_complete:
        yield unread(view.listed, "the list of nodes")
    faulty = [n for n in view.nodes if n.verdict.verdict in OPEN_VERDICTS]
    need = view.run.nodes_needed or len(view.nodes)
    is_short = len(view.nodes) - len(faulty) < need
    labels = _labels(view)
    if view.orchestrator is Orchestrator.HYPERPOD_EKS:
        yield from (unread(one, one.what) for one in view.places if one.was_refused)
        if view.kube_nodes.was_refused:
            yield unread(view.kube_nodes, "health labels")
    for node in view.nodes:
        yield from _node(view, node, labels.get(node.node), is_short=is_short)
    if not view.nodes:
        yield no_node()
    yield from _blocks(view)


def _blocks(view: View) -> Iterator[Part]:
    """Yield what the system checks of the nodes' Capacity Blocks say."""
    for one in holdings(view):
        if one.reservation is not None and one.reservation.is_block:
            yield from block_health(view, one.reservation)
        elif one.open_part is not None and not view.is_hyperpod and view.members:
            yield one.open_part  # they may be a block's, whose health is then not known


def _labels(view: View) -> dict[str, str]:
    found = {n.node: n.health_label for n in view.nodes if n.health_label}
    for place in view.places:
        if place.value is not None:
            label = dict(place.value.labels).get(_HEALTH_LABEL)
            if label:
                found[place.value.node] = label
    return found


def _node(view: View, node: RunNode, label: str | None, *, is_short: bool) -> Iterator[Part]:
    verdict = node.verdict
    if label in _WAITING:
        yield Part(
            CheckStatus.FAIL,
            node.node,
            f"{node.node} is labelled {label}",
            action=f"let HyperPod finish with {node.node} before the run",
        )
    if node.state not in _RUNNING:
        yield Part(
            CheckStatus.RISK,
            node.node,
            f"{node.node} is {node.state}",
            action=f"wait until {node.node} is Running, or leave it out of the run",
            evidence=view.listed.refs,
        )
    ground = verdict.grounds[0] if verdict.grounds else None
    refs = (ground.evidence,) if ground and ground.evidence else ()
    said = f": {ground.what}" if ground else ""
    if verdict.verdict in OPEN_VERDICTS:
        yield Part(
            CheckStatus.FAIL if is_short else CheckStatus.RISK,
            node.node,
            f"{node.node}: open verdict {verdict.verdict}{said}",
            action=f"{verdict.verdict.lower()} {node.node} before the run",
            evidence=refs,
        )
    elif verdict.verdict in {Verdict.UNVERIFIED, Verdict.NOT_OBSERVABLE}:
        yield Part(
            CheckStatus.UNVERIFIED,
            node.node,
            f"{node.node}: {verdict.verdict}{said}",
            closes_with=verdict.open_check or "what makes its log visible (P6)",
            evidence=refs,
        )
    else:
        yield Part(CheckStatus.PASS, node.node, f"{node.node}: {verdict.verdict}", evidence=refs)


P25 = PreflightCheck(
    "P25",
    "no node has an unresolved fault",
    "node verdicts of the last 24 h, node-health-status labels, node states, "
    "DescribeCapacityBlockStatus",
    "FAIL: a node that waits for its replacement or reboot, or too few nodes without an open "
    "REPLACE or REBOOT. RISK: an open verdict with nodes to spare, a node that does not run, a "
    "Capacity Block with instances that fail their system check",
    "verdict rules of gpuvet, references/verdict-rules.md",
    faults_now,
)

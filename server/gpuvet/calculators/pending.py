"""What keeps a node that has not come up yet from running: only what was measured. Pure."""

from collections.abc import Iterator

from gpuvet.calculators.addresses import addresses_of_node, nodes_that_fit
from gpuvet.calculators.capacity_evidence import CapacityEvidence, JobNode, values
from gpuvet.model.bootstrap import ServiceEvent, ServiceRecord
from gpuvet.report.words import utc

_NOT_UP = frozenset({"pending", "creating"})
_SCRIPTS = frozenset(
    {
        ServiceEvent.SCRIPTS_STARTED,
        ServiceEvent.SCRIPTS_SUCCEEDED,
        ServiceEvent.SCRIPTS_FAILED,
    }
)


def pending_blockers(evidence: CapacityEvidence) -> dict[str, str]:
    """Return, by node, what a node that is still Pending was last seen to wait for."""
    found: dict[str, str] = {}
    for node in evidence.nodes:
        if (node.state or "").lower() not in _NOT_UP:
            continue
        why = next(_blockers(node, evidence), None)
        if why is not None:
            found[node.node] = f"{node.state}: {why}"
    return found


def _blockers(node: JobNode, evidence: CapacityEvidence) -> Iterator[str]:
    yield from _script_state(node, evidence.services)
    for event in values(evidence.events):
        is_mine = event.instance == node.node or (
            event.instance is None and event.group is not None and event.group == node.group
        )
        is_later = node.launched_at is None or event.at >= node.launched_at
        if is_mine and is_later and event.failure:
            yield f"HyperPod at {utc(event.at)}: “{event.failure}”"
    need = addresses_of_node(node.instance_type, evidence.orchestrator)
    subnets = values(evidence.subnets)
    fit = nodes_that_fit(subnets, need) if need else None
    if need and fit == 0:
        free = ", ".join(f"{one.id} {one.free} free" for one in subnets)
        yield f"no subnet has room for it: {free} as read now, it needs {need}"


def _script_state(node: JobNode, services: tuple[ServiceRecord, ...]) -> Iterator[str]:
    mine = [
        record
        for record in services
        if record.event in _SCRIPTS
        and node.node in {record.node, record.stream.rpartition("/")[2]}
        and (node.launched_at is None or record.at is None or record.at >= node.launched_at)
    ]
    last = max(mine, key=lambda r: (r.at is not None, r.at, r.line), default=None)
    if last is None or last.event is ServiceEvent.SCRIPTS_SUCCEEDED:
        return
    if last.event is ServiceEvent.SCRIPTS_FAILED:
        yield f"its lifecycle scripts failed at {utc(last.at)}"
    else:
        yield f"its lifecycle scripts began at {utc(last.at)} and have not ended"

"""Which nodes never ran a job, and what kept them from it: the verdict's second exception."""

from collections.abc import Sequence

from gpuvet.calculators.bootstrap import blockers
from gpuvet.calculators.pending import pending_blockers
from gpuvet.case import Case
from gpuvet.model.bootstrap import ServiceEvent
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import Orchestrator
from gpuvet.modes.capacity_readings import job_nodes, read_capacity
from gpuvet.modes.service_log import ServiceLog
from gpuvet.modes.window import Resolved

_TELLING = frozenset(
    {
        ServiceEvent.INSTANCE_IGNORED,
        ServiceEvent.CONNECT_TIMEOUT,
        ServiceEvent.SCRIPTS_FAILED,
        ServiceEvent.ACTION_EXIT,
    }
)


def read_blockers(
    case: Case,
    log: ServiceLog,
    nodes: Sequence[CaseNode],
    orchestrator: Orchestrator,
    asked: Resolved,
) -> dict[str, str]:
    """Return, by node, the measured blocker of a node that has not run a job.

    Capacity is read only where some line or some state asks for it.
    """
    is_telling = any(record.event in _TELLING for record in log.records)
    is_pending = any((node.state or "").lower() == "pending" for node in nodes)
    if not is_telling and not is_pending:
        return {}
    evidence = read_capacity(
        case,
        log,
        job_nodes(nodes),
        window=asked.window,
        now=asked.now,
        orchestrator=orchestrator,
    )
    return {**pending_blockers(evidence), **blockers(evidence)}

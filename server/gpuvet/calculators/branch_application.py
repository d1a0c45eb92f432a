"""Branch F: the application; only what is left once A to E are ruled out (§F)."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.finding import class_of
from gpuvet.model.cause import Branch, BranchEvidence, Failure, Signal
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence
from gpuvet.model.events import XidEvent
from gpuvet.model.verdict import FaultClass
from gpuvet.parse.job_log import JobLine, JobLineKind

_USER_ERROR = "XidUserAppError"
_CONSEQUENCES = frozenset({43, 45})
_MECHANISM = "the process named in the driver's line is the job's and made the invalid access"
_NO_PROGRAM = "nothing that was read names a fault of the program; its code was not looked at"


def assess_application(
    evidence: ClusterEvidence, job_lines: Sequence[JobLine], failure: Failure
) -> BranchEvidence:
    """Return what speaks for the job's own code.

    Args:
        evidence: Nodes with their records.
        job_lines: Fatal lines of the job's output; they name its processes.
        failure: When it began.
    """
    pids = {line.pid for line in job_lines if line.pid is not None}
    signals = [s for node in evidence.nodes for s in _xid_signals(node, pids)]
    signals += list(_agent_signals(evidence.nodes, pids))
    signals += list(_job_signals(job_lines, failure))
    signals.sort(key=lambda s: s.mechanism is None)
    nodes = sorted({s.node for s in signals if s.node})
    facts: list[str] = []
    gpus = {e.pci for n in evidence.nodes for e in _application_xids(n) if e.pci}
    if len(nodes) > 1:
        facts.append(
            f"the same kind of fault on {len(nodes)} nodes and {len(gpus)} different PCI ids: "
            "code, not one GPU"
        )
    return BranchEvidence(
        branch=Branch.APPLICATION,
        signals=tuple(signals),
        assessed=bool(signals),
        read_empty=_NO_PROGRAM if job_lines or _is_read(evidence.nodes) else None,
        confirming="the job's own log: failing process, traceback, what changed in the code",
        facts=tuple(facts),
        actions=(
            (
                "hand process, pid and lines to the job's owner; run once with the previous code, "
                "or with CUDA_LAUNCH_BLOCKING=1, on the same nodes"
            ),
        )
        if signals
        else (),
    )


def _is_read(nodes: Sequence[NodeEvidence]) -> bool:
    """Say whether any hour of a node was seen in which the driver could have named a program."""
    return any(node.coverage.live_hours for node in nodes)


def _application_xids(node: NodeEvidence) -> Iterator[XidEvent]:
    for event in node.records.xids:
        if event.code not in _CONSEQUENCES and class_of(event.code) is FaultClass.APPLICATION:
            yield event


def _xid_signals(node: NodeEvidence, pids: set[int]) -> Iterator[Signal]:
    """Yield one signal per GPU and code: its first line."""
    first: dict[tuple[int, str | None], XidEvent] = {}
    for event in _application_xids(node):
        key = (event.code, event.pci)
        if key not in first or (event.at and (first[key].at or event.at) > event.at):
            first[key] = event
    placed = {code for code, pci in first if pci is not None}
    for (code, pci), event in first.items():
        if pci is None and code in placed:
            continue  # a copy by a source that carries no PCI id
        who = f", process {event.process}" if event.process else ""
        who += f" pid {event.pid}" if event.pid is not None else ""
        yield Signal(
            branch=Branch.APPLICATION,
            kind="application_xid",
            what=f"{node.node}: Xid {code}{who}" + (f" on {pci}" if pci else ""),
            resource=node.node,
            node=node.node,
            at=event.at,
            mechanism=_MECHANISM if event.pid is not None and event.pid in pids else None,
            confirming="that this process is the job's, and its traceback",
            raw=event.raw,
            stream=event.stream,
            evidence=(event.evidence,),
        )


def _agent_signals(nodes: Sequence[NodeEvidence], pids: set[int]) -> Iterator[Signal]:
    del pids
    for node in nodes:
        record = next((r for r in node.records.hma if r.reason == _USER_ERROR), None)
        if record is not None:
            yield Signal(
                branch=Branch.APPLICATION,
                kind="agent_user_error",
                what=f"{node.node}: health agent says {_USER_ERROR}",
                resource=node.node,
                node=node.node,
                at=record.at or record.agent_at,
                confirming="that the process named is the job's, and its traceback",
                raw=record.raw,
                stream=record.stream,
                evidence=(record.evidence,),
            )


_WORDS = {
    JobLineKind.OUT_OF_MEMORY: "the job ran out of memory",
    JobLineKind.EXCEPTION: "the job's own exception",
}


def _job_signals(job_lines: Sequence[JobLine], failure: Failure) -> Iterator[Signal]:
    """An exception or OOM of the program itself; CUDA errors and exits are only how it ended."""
    for line in job_lines:
        words = _WORDS.get(line.kind)
        if words is None:
            continue
        own = line.kind is JobLineKind.OUT_OF_MEMORY
        yield Signal(
            branch=Branch.APPLICATION,
            kind=line.kind.value,
            what=f"{words}: {line.text[:160]}",
            node=line.node,
            at=line.at,
            effect=not own and failure.at is not None and line.at == failure.at,
            hypothesis_only=True,
            confirming="the traceback above this line",
            raw=line.text,
            stream=line.stream,
        )
        return

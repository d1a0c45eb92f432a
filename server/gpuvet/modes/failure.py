"""When and how the failure began: t0 of incident-branches, from the first source that says."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.calculators.question import TOLD_PRECISION_SECONDS, Told, symptom_of, told_times
from gpuvet.case import Case
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.cluster import ClusterEvidence
from gpuvet.model.events import FabricState
from gpuvet.modes.window import Resolved
from gpuvet.parse.job_log import JobLine, JobLineKind, fatal_lines

_SYMPTOM_OF_LINE = {
    JobLineKind.CUDA_ERROR: Symptom.CRASH,
    JobLineKind.OUT_OF_MEMORY: Symptom.CRASH,
    JobLineKind.EXCEPTION: Symptom.CRASH,
    JobLineKind.EXIT: Symptom.CRASH,
    JobLineKind.KILLED: Symptom.CRASH,
}


# Ready, AcceleratedHardwareReady, …; of MemoryPressure and its like, False is how it should be.
_GOOD_WHEN_TRUE = "Ready"


def job_lines(case: Case, now: datetime) -> tuple[JobLine, ...]:
    """Return the fatal lines of every job log of a case, in the order of their times."""
    found = [
        line
        for log in case.job_logs
        for line in fatal_lines(log.text.splitlines(), stream=log.file, reference_time=now)
    ]
    return tuple(sorted(found, key=lambda x: (x.at is None, x.at or now, x.stream, x.line)))


def find_failure(
    case: Case,
    resolved: Resolved,
    evidence: ClusterEvidence,
    lines: Sequence[JobLine],
    *,
    others: Sequence[Failure] = (),
) -> Failure:
    """Return symptom and start of the failure.

    Args:
        case: The question and what came with it.
        resolved: The window, and a failure time that was given outright.
        evidence: Nodes with their records: states that changed are starts too.
        lines: Fatal lines of the job.
        others: Starts that other sources show (step times, watchdogs, GPU activity), best first.
    """
    symptom = symptom_of(case.meta.question)
    told = told_times(case.meta.question, resolved.window)
    if symptom is Symptom.UNKNOWN and lines:
        symptom = _SYMPTOM_OF_LINE[lines[0].kind]
    for candidate in _candidates(symptom, resolved, evidence, lines, others, told):
        return candidate.model_copy(update={"symptom": symptom})
    return Failure(symptom=symptom)


def _candidates(
    symptom: Symptom,
    resolved: Resolved,
    evidence: ClusterEvidence,
    lines: Sequence[JobLine],
    others: Sequence[Failure],
    told: Told | None,
) -> Iterator[Failure]:
    """Yield starts, the one this kind of failure shows in first."""
    if resolved.failure_at is not None and resolved.failure_measured:
        yield _at(symptom, resolved.failure_at, "the case's failure time", observed=True)
    if symptom is Symptom.SLOW:
        yield from others
    if symptom in {Symptom.NODES_LOST, Symptom.START_UP, Symptom.MOUNT}:
        yield from _node_states(symptom, evidence)
    for line in lines:
        if line.at is not None:
            yield Failure(
                symptom=symptom,
                at=line.at,
                source=f"job log {line.stream}",
                observed=True,
                stream=line.stream,
                raw=line.text,
            )
    yield from others
    yield from _node_states(symptom, evidence)
    if resolved.failure_at is not None:
        yield _told(symptom, resolved.failure_at)
    if told is not None:
        yield _told(symptom, told.start, told.end)


def _at(symptom: Symptom, at: datetime, source: str, *, observed: bool) -> Failure:
    return Failure(symptom=symptom, at=at, source=source, observed=observed)


def _told(symptom: Symptom, at: datetime, until: datetime | None = None) -> Failure:
    return Failure(
        symptom=symptom,
        at=at,
        precision_seconds=TOLD_PRECISION_SECONDS,
        source="the user's words",
        observed=False,
        slow_until=until,
    )


def _node_states(symptom: Symptom, evidence: ClusterEvidence) -> Iterator[Failure]:
    """Yield the earliest change of state of a node or of a service that jobs need."""
    changes: list[tuple[datetime, str, str | None, str | None]] = []
    for node in evidence.nodes:
        if node.left_at is not None:
            changes.append((node.left_at, f"{node.node} left", None, None))
        for line in node.records.fabric_manager:
            down = line.state in {FabricState.VERSION_MISMATCH, FabricState.FAILED}
            if down and line.at is not None:
                what = f"Fabric Manager of {node.node} did not start"
                changes.append((line.at, what, line.stream, line.raw))
        for condition in (*node.facts.conditions, *node.records.conditions):
            is_down = condition.status == "False" and condition.kind.endswith(_GOOD_WHEN_TRUE)
            if is_down and condition.transition_at is not None:
                what = f"condition {condition.kind} of {node.node}"
                changes.append((condition.transition_at, what, condition.stream, condition.raw))
    if changes:
        at, what, stream, raw = min(changes, key=lambda c: (c[0], c[1]))
        yield Failure(
            symptom=symptom, at=at, source=what, observed=True, stream=stream, raw=raw or None
        )

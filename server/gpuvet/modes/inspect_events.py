"""What happened to a cluster: its events, calls that changed it, notices about its nodes."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from gpuvet.aws.changes import read_trail
from gpuvet.aws.hyperpod import read_cluster, read_cluster_events
from gpuvet.aws.instances import read_health_events, read_instance_health, read_instances
from gpuvet.calculators.capacity_evidence import values
from gpuvet.calculators.change_words import who
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.bootstrap import ServiceRecord
from gpuvet.model.case import CaseNode
from gpuvet.model.changes import Change, ClusterEvent
from gpuvet.model.evidence import Window
from gpuvet.model.inspection import ChangeList, ChangeRow, ChangeSource, EventList, EventRow
from gpuvet.modes.evidence import orchestrator_of
from gpuvet.modes.inspection import (
    Look,
    counts_of,
    grouped,
    state_of,
    told,
    whole_of,
)
from gpuvet.modes.service_log import read_service_log
from gpuvet.modes.window import Asked
from gpuvet.report.words import counted, some

# CloudTrail delivers late: calls of the last minutes may still come.
_LATE = timedelta(minutes=15)
_SERVICES = "cluster services"
_MOST_NAMED = 8


def event_list(case: Case, times: Asked, *, now: datetime) -> EventList:
    """Return the events of a cluster in a window, oldest first.

    HyperPod tells them itself; elsewhere the logs of the cluster's services do.

    Args:
        case: Where they are.
        times: The window.
        now: The clock.
    """
    look = Look.at(case, times, now)
    window = look.asked.window
    orchestrator = orchestrator_of(look.case, nodes_of(look.case))
    events = read_cluster_events(look.aws, look.case.meta.cluster, window)
    services = read_service_log(look.case, window, look.asked.now, orchestrator)
    found = [
        *(_event(one) for one in values(events)),
        *(_service(one) for one in services.records if _lies_in(one, window)),
    ]
    rows = tuple(sorted(found, key=lambda row: (row.at is None, row.at, row.description)))
    answers = look.answers(services.services)
    state = state_of(len(rows), whole_of(answers))
    kinds = ", ".join(f"{n} {word}" for word, n in counts_of(r.meaning for r in rows).items())
    none = told(state, "no event in this window", "the events of this window are")
    return EventList(
        **look.common(len(rows), answers, state),
        headline=f"{counted(len(rows), 'event')}: {kinds}" if rows else none,
        orchestrator=orchestrator.value,
        groups=grouped(rows, _alike, lambda row: row.node or row.group or ""),
        rows=rows,
    )


def _event(event: ClusterEvent) -> EventRow:
    return EventRow(
        at=event.at,
        level=event.level,
        meaning=event.meaning.value,
        node=event.instance,
        group=event.group,
        description=event.description,
        failure=event.failure,
        operation=event.operation,
        source="cluster events",
        id=event.id,
        evidence=event.evidence,
    )


def _service(record: ServiceRecord) -> EventRow:
    code = f" ({record.code})" if record.code else ""
    named = [*record.instances, *record.names] or list(record.queues)
    return EventRow(
        at=record.at,
        meaning=f"{record.event.value}{code}",
        node=record.instances[0] if len(record.instances) == 1 else None,
        group=some(named) if len(named) > 1 else None,
        description=record.raw,
        source=f"{_SERVICES}, {record.stream}",
        evidence=record.evidence,
    )


def _lies_in(record: ServiceRecord, window: Window) -> bool:
    return record.at is None or window.holds(record.at)


def _alike(row: EventRow) -> str:
    return f"{row.level or 'event'}: {row.meaning}"


def change_list(case: Case, times: Asked, *, now: datetime) -> ChangeList:
    """Return calls, notices and scheduled events that touch a cluster, newest first.

    Args:
        case: Where they are.
        times: The window; scheduled events of EC2 are those that are to come.
        now: The clock.
    """
    look = Look.at(case, times, now)
    window, nodes = look.asked.window, nodes_of(look.case)
    orchestrator = orchestrator_of(look.case, nodes)
    trail = read_trail(look.aws, window)
    ours = _Ours(look, nodes, is_hyperpod=orchestrator.is_hyperpod)
    found = [
        *(_call(one, ours) for one in trail.changes),
        *_notices(look, window, ours),
        *_scheduled(look, ours),
    ]
    rows = tuple(sorted(found, key=_newest_first))
    answers = look.answers()
    state = state_of(len(rows), whole_of(answers))
    told_ours = sum(1 for row in rows if row.is_ours)
    none = told(state, "no change in this window", "the changes of this window are")
    missed = tuple(sorted({one.name for one in trail.missed}))
    return ChangeList(
        **look.common(len(rows), answers, state),
        headline=f"{counted(len(rows), 'change')}, {told_ours} of this cluster" if rows else none,
        orchestrator=orchestrator.value,
        groups=grouped(rows, _alike_change, lambda row: row.by or row.resource or ""),
        notes=tuple(_notes(window, look.asked.now)),
        unread_names=missed,
        rows=rows,
    )


def _notes(window: Window, now: datetime) -> Iterator[str]:
    yield "what a service does by itself leaves no call: no call is no proof of no replacement"
    if window.end > now - _LATE:
        yield "CloudTrail delivers up to 15 minutes late: the last minutes may be incomplete"


class _Ours:
    """What belongs to the cluster: its names, its nodes, what they use."""

    def __init__(self, look: Look, nodes: Sequence[CaseNode], *, is_hyperpod: bool) -> None:
        name = look.case.meta.cluster
        found = read_cluster(look.aws, name).value if is_hyperpod else None
        instances = () if is_hyperpod else values(read_instances(look.aws, name))
        self.is_hyperpod = is_hyperpod
        self.nodes = frozenset(node.node for node in nodes)
        self.names = {name, found.name if found else None, found.eks if found else None} - {None}
        self.arn = found.arn if found else None
        self.resources = frozenset(
            [
                *(found.security_groups if found else ()),
                *(one.reservation for one in instances if one.reservation),
                *(group for one in instances for group in one.security_groups),
            ]
        )

    def holds(self, change: Change) -> bool | None:
        """Say whether a call is about this cluster; None where it does not tell."""
        if change.cluster is not None and self.names:
            last = change.cluster.rpartition("/")[2]
            return change.cluster == self.arn or bool({change.cluster, last} & self.names)
        if change.nodes:
            return bool(self.nodes & set(change.nodes)) if self.nodes else None
        return True if change.resource in self.resources else None


def _call(change: Change, ours: _Ours) -> ChangeRow:
    return ChangeRow(
        at=change.at,
        name=change.name,
        source=ChangeSource.CLOUDTRAIL,
        kind=change.kind.value,
        is_ours=ours.holds(change),
        by=who(change),
        invoked_by=change.invoked_by,
        nodes=change.nodes[:_MOST_NAMED],
        instance_groups=change.groups[:_MOST_NAMED],
        resource=change.resource or change.cluster,
        error=change.error,
        refused=change.refused[:_MOST_NAMED],
        what=_more(len(change.nodes)),
        evidence=change.evidence,
    )


def _more(nodes: int) -> str | None:
    return f"{nodes} nodes in all" if nodes > _MOST_NAMED else None


def _notices(look: Look, window: Window, ours: _Ours) -> Iterator[ChangeRow]:
    for event in values(read_health_events(look.aws, window)):
        mine = [one for one in event.entities or () if one in ours.nodes]
        known = event.entities is not None
        yield ChangeRow(
            at=event.start,
            name=event.code,
            source=ChangeSource.HEALTH,
            kind=event.service,
            is_ours=True if mine else None,
            nodes=tuple(mine[:_MOST_NAMED]),
            what=f"{event.status or 'state not told'}"
            + (f"; names {counted(len(event.entities or ()), 'resource')}" if known else ""),
            evidence=event.evidence,
        )


def _scheduled(look: Look, ours: _Ours) -> Iterator[ChangeRow]:
    if ours.is_hyperpod:  # EC2 does not show its instances
        return
    for one in values(read_instance_health(look.aws)):
        for at, words in zip(one.scheduled_at, one.scheduled, strict=False):
            if one.id in ours.nodes:
                yield ChangeRow(
                    at=at,
                    name=words.partition(" ")[0],
                    source=ChangeSource.EC2,
                    is_ours=True,
                    nodes=(one.id,),
                    what=words,
                    evidence=one.evidence,
                )


def _newest_first(row: ChangeRow) -> tuple[bool, float, str]:
    return (row.is_ours is False, -(row.at.timestamp() if row.at else 0.0), row.name)


def _alike_change(row: ChangeRow) -> str:
    about = {True: "this cluster", False: "another cluster", None: "cluster not told"}[row.is_ours]
    failed = ", failed" if row.error else ""
    return f"{row.name} ({row.source.value}, {about}{failed})"

"""Why nodes did not come up: the causes that can stand before a bootstrap failure record (§B).

Each row of the table is one cause. It is proven when one row has evidence that names the failed
instances, as a set where names and ids cannot be paired, and no other row has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.model.bootstrap import LaunchFault, ServiceEvent, ServiceRecord
from gpuvet.model.changes import EventMeaning
from gpuvet.model.events import TimeQuality
from gpuvet.report.words import counted, some, utc

_FAILURES = frozenset(
    {
        ServiceEvent.BOOTSTRAP_FAILED,
        ServiceEvent.RESUME_TIMEOUT,
        ServiceEvent.FAILURE_COUNT,
        ServiceEvent.PROTECTED_MODE,
    }
)
# Ours: clocks of head and compute node may differ by this much.
_SLACK = timedelta(seconds=5)


class CauseRow(StrEnum):
    """The rows of the table."""

    READ_LAG = "EC2 read lag"
    NO_ENDPOINT = "no way to an AWS endpoint"
    SCRIPT = "the user's script"
    LAUNCH = "the launch itself"


@dataclass(frozen=True, slots=True)
class BootstrapCause:
    """One row with its evidence."""

    row: CauseRow
    what: str
    records: tuple[ServiceRecord, ...]
    instances: tuple[str, ...]  # the nodes it blocks, as far as ids are known
    names: tuple[str, ...] = ()
    fault: LaunchFault | None = None
    names_the_failed: bool = True
    is_whole: bool = True  # False: part of what the row asks for was not read

    @property
    def at(self) -> datetime | None:
        """Return when its first evidence was written."""
        return min((r.at for r in self.records if r.at is not None), default=None)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A failed bootstrap: what was recorded, and each cause with evidence."""

    failures: tuple[ServiceRecord, ...]
    causes: tuple[BootstrapCause, ...]
    queues: tuple[str, ...]
    protected: ServiceRecord | None
    clean_scripts: tuple[ServiceRecord, ...]  # custom actions that ended with 0
    instances: tuple[str, ...] = ()  # of the failed nodes, where the logs pair names and ids

    @property
    def proven(self) -> BootstrapCause | None:
        """Return the cause, where exactly one row names the failed instances."""
        if len(self.causes) != 1:
            return None
        only = self.causes[0]
        return only if only.names_the_failed and only.is_whole else None


def read_bootstrap(evidence: CapacityEvidence) -> Bootstrap | None:
    """Return the failed bootstrap the cluster's services tell of, or None."""
    services = (*evidence.services, *_told_by_events(evidence))
    failures = tuple(r for r in services if r.event in _FAILURES)
    stuck = any(r.event is ServiceEvent.CONNECT_TIMEOUT for r in services)
    failed_scripts = any(_is_failed_script(r) for r in services)
    if not failures and not stuck and not failed_scripts:
        return None
    last = max((r.at for r in failures if r.at is not None), default=None)
    named = _Failed.of(failures, services)
    causes = tuple(_causes(evidence, services, named, last))
    protected = next((r for r in failures if r.event is ServiceEvent.PROTECTED_MODE), None)
    queues = tuple(dict.fromkeys(q for r in failures for q in r.queues))
    clean = tuple(r for r in services if r.event is ServiceEvent.ACTION_EXIT and r.exit_status == 0)
    return Bootstrap(failures, causes, queues, protected, clean, tuple(sorted(named.instances)))


@dataclass(frozen=True, slots=True)
class _Failed:
    """Who failed: node names, and ids where the logs pair the two."""

    names: frozenset[str]
    instances: frozenset[str]
    pairs: dict[str, str]  # name to instance

    @classmethod
    def of(cls, failures: Sequence[ServiceRecord], lines: Sequence[ServiceRecord]) -> "_Failed":
        pairs = {name: one for line in lines for name, one in line.pairs}
        names = frozenset(name for record in failures for name in record.names)
        told = {one for record in failures for one in record.instances}
        return cls(names, frozenset(told | {pairs[n] for n in names if n in pairs}), pairs)

    def has(self, instances: Sequence[str], names: Sequence[str] = ()) -> bool:
        """Say whether evidence about these is evidence about the failed ones.

        Where ids of the failed ones are known they must meet; else they match as a set.
        """
        if set(names) & self.names:
            return True
        if self.names and self.names <= self.pairs.keys():
            return bool(set(instances) & self.instances)
        return (
            bool(instances)
            if not self.instances
            else bool(set(instances) & self.instances) or (len(self.instances) < len(self.names))
        )


def _told_by_events(evidence: CapacityEvidence) -> Iterator[ServiceRecord]:
    """Yield HyperPod's events about lifecycle scripts that failed, as lines of a service."""
    for event in values(evidence.events):
        if event.meaning is EventMeaning.LIFECYCLE_FAILED:
            yield ServiceRecord(
                node=event.instance or "",
                stream="sagemaker:ListClusterEvents",
                line=0,
                raw=event.description,
                at=event.at,
                time_quality=TimeQuality.EXACT,
                event=ServiceEvent.SCRIPTS_FAILED,
                action=f"lifecycle scripts ({event.failure})" if event.failure else _SCRIPTS,
            )


_SCRIPTS = "lifecycle scripts"


def _causes(
    evidence: CapacityEvidence,
    services: Sequence[ServiceRecord],
    failed: _Failed,
    last: datetime | None,
) -> Iterator[BootstrapCause]:
    before = [r for r in services if _is_before(r, last)]
    yield from _read_lag(before, failed)
    yield from _no_endpoint(before, failed, evidence)
    yield from _scripts(before, failed)
    yield from _launches(before, failed)


def _is_before(record: ServiceRecord, last: datetime | None) -> bool:
    if last is None or record.at is None or record.time_quality is TimeQuality.INGEST_ONLY:
        return True
    return record.at <= last + _SLACK


def _read_lag(records: Sequence[ServiceRecord], failed: _Failed) -> Iterator[BootstrapCause]:
    mine = tuple(r for r in records if r.event is ServiceEvent.INSTANCE_IGNORED)
    if not mine:
        return
    instances = _once(one for r in mine for one in r.instances)
    keys = some(sorted({r.code for r in mine if r.code}))
    yield BootstrapCause(
        CauseRow.READ_LAG,
        f"clustermgtd ignored {counted(len(instances), 'instance')} whose {keys or 'record'} EC2 "
        "did not return yet (KeyError): the API's eventual consistency, counted as a bootstrap "
        "failure; not the user's script",
        mine,
        instances,
        names_the_failed=failed.has(instances),
    )


def _no_endpoint(
    records: Sequence[ServiceRecord], failed: _Failed, evidence: CapacityEvidence
) -> Iterator[BootstrapCause]:
    mine = tuple(
        r for r in records if r.event is ServiceEvent.CONNECT_TIMEOUT and r.service is not None
    )
    if not mine:
        return
    services = _once(r.service for r in mine if r.service)
    subnets = values(evidence.subnets)
    routes = {one.has_default_route for one in subnets}
    if routes == {True}:
        return
    missing, is_whole = _without_endpoint(services, evidence)
    if not missing:
        return
    known = bool(routes) and None not in routes
    where = some([one.id for one in subnets if not one.has_default_route]) or "the nodes' subnet"
    nodes = _once(r.node for r in mine if r.node)
    routed = "has no default route" if known else "was not read for a default route"
    yield BootstrapCause(
        CauseRow.NO_ENDPOINT,
        f"connect timeout to {some(list(missing))}: {where} {routed} "
        f"{'and no endpoint of that service' if is_whole else '(its endpoints were not read)'}",
        mine,
        nodes,
        # A node that only times out may never count toward protected mode: nobody needs to name it.
        names_the_failed=failed.has(nodes) or not failed.names,
        is_whole=known and is_whole,
    )


def _without_endpoint(
    services: Sequence[str], evidence: CapacityEvidence
) -> tuple[tuple[str, ...], bool]:
    """Return the services that have no endpoint, and whether the endpoints were read at all."""
    if not evidence.endpoints.status.is_complete:
        return tuple(services), False
    have = {name for one in values(evidence.endpoints) for name in one.services}
    return tuple(name for name in services if name not in have), True


def _is_failed_script(record: ServiceRecord) -> bool:
    if record.event is ServiceEvent.SCRIPTS_FAILED:
        return True
    return record.event is ServiceEvent.ACTION_EXIT and record.exit_status not in {0, None}


def _scripts(records: Sequence[ServiceRecord], failed: _Failed) -> Iterator[BootstrapCause]:
    mine = tuple(r for r in records if _is_failed_script(r))
    if not mine:
        return
    nodes = _once(r.node for r in mine if r.node)
    names = _once(name for r in mine for name in r.names)
    first = mine[0]
    status = "" if first.exit_status is None else f" with exit status {first.exit_status}"
    yield BootstrapCause(
        CauseRow.SCRIPT,
        f"{first.action or 'a custom action'} ended{status} on "
        f"{some(list(nodes)) or some(list(names)) or 'a node'}",
        mine,
        nodes,
        names,
        names_the_failed=failed.has(nodes, names) or not failed.names,
    )


def _launches(records: Sequence[ServiceRecord], failed: _Failed) -> Iterator[BootstrapCause]:
    launches = [r for r in records if r.event is ServiceEvent.LAUNCH_FAILED]
    for fault in LaunchFault:
        mine = tuple(r for r in launches if r.fault is fault)
        if not mine:
            continue
        names = _once(name for r in mine for name in r.names)
        codes = some(sorted({r.code for r in mine if r.code}))
        first = mine[0]
        yield BootstrapCause(
            CauseRow.LAUNCH,
            f"launches failed for {_FAULTS[fault]}: {codes}, first at {utc(first.at)}",
            mine,
            (),
            names,
            fault=fault,
            names_the_failed=not names or not failed.names or bool(set(names) & failed.names),
        )


_FAULTS = {
    LaunchFault.CAPACITY: "capacity",
    LaunchFault.QUOTA: "a quota",
    LaunchFault.PERMISSION: "a missing permission",
    LaunchFault.ADDRESSES: "addresses or interfaces",
    LaunchFault.OTHER: "another reason",
}


def _once(items: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def blockers(evidence: CapacityEvidence) -> dict[str, str]:
    """Return, by instance, what kept a node from ever running a job; only measured causes.

    An ignored instance counts only where a failure was recorded too: alone it is a passing lag.
    """
    found = read_bootstrap(evidence)
    blocked: dict[str, str] = {}
    for cause in found.causes if found is not None else ():
        if cause.row is CauseRow.READ_LAG and not (found and found.failures):
            continue
        if cause.row is CauseRow.NO_ENDPOINT and not cause.is_whole:
            continue
        # A proven cause is that of every failed node: they match as a set.
        others = found.instances if found is not None and found.proven is cause else ()
        for instance in (*cause.instances, *others):
            blocked.setdefault(instance, f"bootstrap failure: {cause.what}")
    return blocked


def script_said_ok(found: Bootstrap) -> str | None:
    """Return the sentence that clears the user's script, where its exit status was 0."""
    if not found.clean_scripts:
        return None
    shown = some([f"{r.action} on {r.node or r.stream}" for r in found.clean_scripts])
    return f"exit status 0 of {shown}: the script succeeded there and is ruled out"

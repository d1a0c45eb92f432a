"""P13: what manages the cluster is healthy."""

import re
from collections.abc import Iterator, Sequence

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, stamp, unknown_platform, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.bootstrap import ServiceEvent
from gpuvet.model.changes import EventMeaning
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.cluster_state import GroupState
from gpuvet.model.readiness import Alarm

_HEARTBEAT = re.compile(r"Clustermgtd(?:Heartbeat)?|Health", re.IGNORECASE)
_SICK_SLURM = re.compile(r"(?=.*\bslurm)(?=.*\bunhealthy\b)", re.IGNORECASE)
_BAD_GROUP = frozenset({"Degraded", "Failed"})
_BUSY = frozenset({"Updating", "SystemUpdating", "Creating", "Deleting"})
_SOFTWARE = frozenset({"InProgress", "Failed", "RollbackInProgress", "RollbackComplete"})


def management(view: View) -> Iterator[Part]:
    """Look at alarms of this cluster, and at what its service says of itself."""
    yield from _alarms(view)
    if view.is_hyperpod:
        yield from _hyperpod(view)
    elif view.orchestrator is Orchestrator.PARALLELCLUSTER:
        yield from _parallelcluster(view)
    elif view.orchestrator is Orchestrator.EKS:
        yield from _eks(view)
    elif not view.is_known:
        yield unknown_platform()


def _alarms(view: View) -> Iterator[Part]:
    if not view.alarms.is_complete:
        yield unread(view.alarms, "alarms")
    own = [one for one in rows(view.alarms) if _is_ours(view, one)]
    firing = [one for one in own if one.state == "ALARM"]
    joined = [one for one in firing if one.is_composite]
    below = {one.name for one in firing if any(one.name in each.rule for each in joined)}
    for one in firing:
        if one.name in below:
            continue
        age = f" since {stamp(one.since)}" if one.since else ""
        urgent = " (jobs will lose nodes)" if _HEARTBEAT.search(one.name) else ""
        yield Part(
            CheckStatus.RISK,
            one.name,
            f"alarm {one.name} is in ALARM{age}{urgent}",
            numbers={"age_h": round((view.now - one.since).total_seconds() / 3600, 1)}
            if one.since
            else {},
            action=f"clear the cause of alarm {one.name} before the run",
            evidence=(one.evidence,) if one.evidence else (),
        )
    if view.alarms.is_complete and not own:
        yield _without(view)
    elif own and not firing:
        yield Part(
            CheckStatus.PASS,
            "alarms",
            f"{len(own)} alarms of the cluster, none in ALARM",
            notes=tuple(_insufficient(own)),
            evidence=view.alarms.refs,
        )


def _insufficient(own: Sequence[Alarm]) -> Iterator[str]:
    for one in own:
        if one.state == "INSUFFICIENT_DATA":
            yield f"alarm {one.name} has no data yet: a new alarm"


def _without(view: View) -> Part:
    if view.orchestrator is Orchestrator.PARALLELCLUSTER:
        return Part(
            CheckStatus.RISK,
            "alarms",
            "no alarm of this cluster exists; ParallelCluster creates them from 3.6 on: nothing "
            "would tell of a head node in trouble",
            action="create the head node alarms again (Monitoring/Alarms in the cluster's config)",
            evidence=view.alarms.refs,
        )
    status = CheckStatus.PASS if view.is_known else CheckStatus.UNVERIFIED
    why = "no alarm is configured; none is created by default, the cluster's status decides"
    return Part(status, "alarms", why, evidence=view.alarms.refs)


def _is_ours(view: View, one: Alarm) -> bool:
    """Say whether an alarm is about this cluster, by its name or by a dimension."""
    name = view.cluster_name
    ids = {n.node for n in view.nodes} | {i.id for i in rows(view.instances)}
    if any(value in ids or (name is not None and value == name) for _, value in one.dimensions):
        return True
    return name is not None and (
        one.name == name or one.name.startswith((f"{name}-", f"{name}_", f"{name} "))
    )


def _hyperpod(view: View) -> Iterator[Part]:
    found = view.cluster.value
    if found is None:
        yield unread(view.cluster, view.cluster_name or "the cluster")
        return
    refs = view.cluster.refs
    if found.status != "InService":
        yield Part(
            CheckStatus.RISK,
            found.name,
            f"ClusterStatus {found.status or 'not returned'}",
            action=f"wait until {found.name} is InService",
            evidence=refs,
        )
    else:
        yield Part(CheckStatus.PASS, found.name, "ClusterStatus InService", evidence=refs)
    for group in found.groups:
        for said in _troubles(group):
            yield Part(
                CheckStatus.RISK,
                group.name,
                f"{group.name}: {said}",
                action=f"wait until {group.name} has settled, or find what holds it",
                evidence=refs,
            )
    drifts = [e for e in rows(view.events) if e.meaning is EventMeaning.SLURM]
    if drifts and "drift detected" in drifts[-1].description.lower():
        yield Part(
            CheckStatus.RISK,
            found.name,
            f"Slurm configuration drift at {stamp(drifts[-1].at)}",
            action="settle the Slurm configuration before the run",
        )
    sick = [e for e in rows(view.events) if _SICK_SLURM.search(e.description)]
    if sick:
        yield Part(
            CheckStatus.RISK,
            found.name,
            f"Slurm reported unhealthy at {stamp(sick[-1].at)}: {sick[-1].description}",
            action="mend Slurm on the controller before the run",
            evidence=(sick[-1].evidence,) if sick[-1].evidence else (),
        )
    if view.orchestrator is Orchestrator.HYPERPOD_SLURM and view.events.was_refused:
        yield unread(view.events, found.name, "Slurm's health in them")


def _troubles(group: GroupState) -> Iterator[str]:
    if group.status in _BAD_GROUP | _BUSY:
        yield f"status {group.status}"
    if group.short:
        yield f"{group.current} of {group.target} nodes"
    if group.software in _SOFTWARE:
        yield f"SoftwareUpdateStatus {group.software}"


def _parallelcluster(view: View) -> Iterator[Part]:
    for record in view.services:
        if record.event is ServiceEvent.PROTECTED_MODE:
            yield Part(
                CheckStatus.FAIL,
                ", ".join(record.queues) or "the fleet",
                f"protected mode: {record.raw}",
                action="mend the bootstrap failure, then start the compute fleet again",
                evidence=(record.evidence,),
            )
            return
    if not view.services_read.is_complete:
        yield unread(view.services_read, view.cluster_name or "the cluster", "protected mode")
    elif not view.manager_alive:
        yield Part(
            CheckStatus.UNVERIFIED,
            view.cluster_name or "the cluster",
            "clustermgtd's stream is not live: its silence is no health",
            closes_with="the clustermgtd stream of the head node",
        )


def _eks(view: View) -> Iterator[Part]:
    if not view.nodegroups.is_complete:
        yield unread(view.nodegroups, view.cluster_name or "the cluster")
    for group in rows(view.nodegroups):
        if group.status not in {"ACTIVE", None} or group.issues:
            yield Part(
                CheckStatus.RISK,
                group.name,
                f"node group {group.name} is {group.status}: {'; '.join(group.issues[:2])}",
                action=f"mend node group {group.name} before the run",
            )


P13 = PreflightCheck(
    "P13",
    "what manages the cluster is healthy",
    "DescribeAlarms, DescribeCluster, cluster events, node groups, clustermgtd's stream",
    "FAIL: protected mode. RISK: an alarm of the cluster in ALARM (composite and child are one), a "
    "cluster or group not settled, ParallelCluster without its alarms",
    "ParallelCluster, HyperPod and CloudWatch user guides",
    management,
)

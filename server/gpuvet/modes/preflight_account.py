"""Readings as preflight checks see them; those of the account rather than of one cluster."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from gpuvet.aws.alarms import read_alarms, read_schedules
from gpuvet.aws.closing import closes_with, reason_of, subject_of
from gpuvet.aws.eks import read_addons, read_nodegroups, read_secret_keys
from gpuvet.aws.instances import read_health_events, read_instance_health
from gpuvet.aws.kubernetes import read_objects
from gpuvet.aws.quotas import GP3_STORAGE, INTERFACES, read_quota, read_quotas, read_usage
from gpuvet.aws.reads import KUBERNETES
from gpuvet.aws.support_reads import read_key, read_retention, read_workspaces
from gpuvet.calculators.kube_words import waiting_words
from gpuvet.case import Case
from gpuvet.case.kube_state import kube_view
from gpuvet.catalog.vcpu_quotas import vcpu_quota_of
from gpuvet.checks.preflight.reading import Reading, rows
from gpuvet.checks.preflight.view import QuotaSight, View
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Envelope, Status, Window
from gpuvet.modes.gather_prometheus import RECENT, arriving
from gpuvet.report.words import some

T = TypeVar("T")
# Ours: AWS Health events that were touched this lately can concern a run.
_TOUCHED = timedelta(days=7)


def as_reading(answer: Envelope[T]) -> Reading[T]:
    """Return an envelope as a check sees it, with what would close it in words."""
    return Reading(
        what=subject_of(answer),
        status=answer.status,
        value=answer.value,
        reason=reason_of(answer),
        closes_with=closes_with(answer),
        evidence=answer.evidence,
    )


def absent(what: str) -> Reading[Any]:
    """Return the reading of a source that this kind of cluster does not have."""
    return Reading(what, Status.NOT_SUPPORTED, reason="not supported")


def account_readings(case: Case, view: View, now: datetime) -> dict[str, Any]:
    """Return the readings of the account that are no cluster's own."""
    door = case.aws
    groups = sorted(
        {s.group for n in view.nodes for s in n.coverage.sources if s.group is not None}
    )
    found: dict[str, Any] = {
        "alarms": as_reading(read_alarms(door)),
        "schedules": as_reading(read_schedules(door)),
        "interface_quota": as_reading(read_quota(door, *INTERFACES)),
        "instance_health": as_reading(read_instance_health(door)),
        "health_events": as_reading(
            read_health_events(door, Window(start=now - _TOUCHED, end=now))
        ),
        "workspaces": as_reading(read_workspaces(door)),
    }
    if view.is_hyperpod:
        found["usage_quotas"] = as_reading(read_quotas(door, "sagemaker"))
    if groups:
        found["retention"] = as_reading(read_retention(door, groups))
    return found


def kubernetes_readings(case: Case, view: View) -> dict[str, Any]:
    """Return the readings of the Kubernetes side: add-ons and node groups."""
    name: str | None = None
    if view.orchestrator is Orchestrator.EKS:
        name = view.cluster_name
    elif view.cluster.value is not None and view.cluster.value.eks is not None:
        name = view.cluster.value.eks.rpartition("/")[2]
    if name is None:
        known = view.is_known and view.orchestrator is not Orchestrator.HYPERPOD_EKS
        return {"addons": absent("EKS add-ons")} if known else {}
    found: dict[str, Any] = {
        "addons": as_reading(read_addons(case.aws, name)),
        "waiting": waiting_words(kube_view(case.kube)),
        "secrets_read": as_reading(read_secret_keys(case.aws, name)),
    }
    if KUBERNETES in case.doors:
        found["kube_nodes"] = as_reading(read_objects(case.aws, name, "ListNodes"))
    if view.orchestrator is Orchestrator.EKS:
        found["nodegroups"] = as_reading(read_nodegroups(case.aws, name))
    return found


def arriving_reading(
    case: Case, nodes: Sequence[CaseNode], now: datetime
) -> Reading[tuple[str, ...]]:
    """Return the nodes whose GPU series arrive in a workspace now.

    No value and a complete status: a workspace was looked into and has no node of ours.
    """
    what = "GPU series in Managed Prometheus"
    found = arriving(case, Window(start=now - RECENT, end=now), nodes)
    first = next(iter(found.not_seen), None)
    if found.label is not None:
        status = Status.OK if first is None else Status.PARTIAL
        return Reading(what, status, found.label.nodes, "", "", found.evidence)
    if first is not None:
        return Reading(what, Status.UNVERIFIED, None, first.reason.value, first.closes_with)
    if found.looked_into:
        return Reading(what, Status.OK_EMPTY, None, "", "", found.evidence)
    return Reading(what)


def quota_readings(case: Case, view: View, now: datetime) -> dict[str, Any]:
    """Return the quotas that a replacement counts against outside HyperPod, with their use."""
    if view.is_hyperpod or not view.is_known:
        return {}
    rows_of = {row.code: row for kind in view.types if (row := vcpu_quota_of(kind)) is not None}
    return {
        "vcpu_quotas": {
            code: _sight(case, row.service, code, now) for code, row in sorted(rows_of.items())
        },
        "ebs_quota": _sight(case, *GP3_STORAGE, now),
    }


def _sight(case: Case, service: str, code: str, now: datetime) -> QuotaSight:
    quota = as_reading(read_quota(case.aws, service, code))
    if quota.value is None:
        return QuotaSight(quota)
    return QuotaSight(quota, as_reading(read_usage(case.aws, quota.value, now)))


def key_readings(case: Case, view: View) -> Iterable[Reading[Any]]:
    """Yield the state of each key that file systems, volumes, log groups and secrets name."""
    users: dict[str, list[str]] = {}
    systems = (view.storage.systems.value or ()) if view.storage is not None else ()
    named = [
        *((one.kms_key, one.id) for one in systems),
        *((key, f"volumes of {g.name}") for g in view.accelerated for key in g.volume_keys),
        *((one.key, f"log group {one.name}") for one in rows(view.retention)),
        *((key, "secrets of the EKS cluster") for key in rows(view.secrets_read)),
    ]
    for key, user in named:
        if key:
            users.setdefault(key, []).append(user)
    for key, own in users.items():
        used_by = some(list(dict.fromkeys(own)))
        found = as_reading(read_key(case.aws, key, used_by))
        yield replace(found, what=f"key of {used_by} ({found.what})")

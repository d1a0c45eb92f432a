"""P29: quotas leave room for one more node. A quota never proves capacity.

HyperPod counts instances by type, elsewhere EC2 counts vCPUs by family; instances of a Capacity
Block count against neither. Network interfaces are in P14.
"""

from collections.abc import Iterator
from dataclasses import replace

from gpuvet.catalog.instance_types import instance_type
from gpuvet.catalog.vcpu_quotas import VcpuQuota, vcpu_quota_of
from gpuvet.checks.preflight.outcome import Number, Part, PreflightCheck, unknown_platform, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View, plain
from gpuvet.model.capacity import Instance
from gpuvet.model.check import CheckStatus
from gpuvet.model.readiness import Quota
from gpuvet.report.words import counted, some

_NOT_CAPACITY = "a quota alone never proves spare capacity"
# Names as Service Quotas lists them, from memory; one that is not returned is not judged.
_PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
_OVER_CLUSTERS = "Total number of instances allowed across SageMaker HyperPod clusters"
_VOLUME = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"
# EC2 user guide: the largest single gp3 volume was 16 TiB when the quotas were drawn up.
_LARGEST_VOLUME_TIB = 16.0


def quotas(view: View) -> Iterator[Part]:
    """Compare quotas with what is in use and what one more node takes."""
    if not view.is_known:
        yield unknown_platform()
    elif view.is_hyperpod:
        yield from _hyperpod(view)
    else:
        yield from _vcpus(view)
        yield _storage(view)


def used_up(view: View, kind: str) -> Part | None:
    """Return the part that shows the quota of a type to be used up, if one does."""
    parts = _hyperpod(view) if view.is_hyperpod else _vcpus(view)
    row = vcpu_quota_of(kind)
    subjects = {kind} if row is None else {kind, row.name}
    return next((p for p in parts if p.status is CheckStatus.RISK and p.subject in subjects), None)


def _hyperpod(view: View) -> Iterator[Part]:
    name = view.cluster_name or "the cluster"
    if view.cluster.value is None or not view.usage_quotas.is_complete:
        yield unread(view.cluster if view.cluster.value is None else view.usage_quotas, name)
        return
    if not view.types:
        why, closes = "no accelerated type is known", "list the nodes"
        yield Part(CheckStatus.UNVERIFIED, name, why, closes_with=closes)
    for kind in view.types:
        yield _of_type(view, kind)
    total = sum(g.target or g.current or 0 for g in view.cluster.value.groups)
    for wanted in (_PER_CLUSTER, _OVER_CLUSTERS):
        found = _named(view, wanted)
        if found is not None:
            yield _counted(view, wanted, found, total)
    yield from _volumes(view)


def _named(view: View, wanted: str) -> Quota | None:
    return next((q for q in rows(view.usage_quotas) if q.name == wanted), None)


def _of_type(view: View, kind: str) -> Part:
    wanted = f"ml.{kind} for cluster usage"
    found = _named(view, wanted)
    if found is None:
        why = f"no quota named {wanted!r} was returned"
        closes = "service-quotas:ListServiceQuotas of sagemaker"
        return Part(CheckStatus.UNVERIFIED, kind, why, closes_with=closes)
    groups = [g for g in view.accelerated if g.instance_type == f"ml.{kind}"]
    return _counted(view, wanted, found, sum(g.target or g.current or 0 for g in groups), kind)


def _counted(view: View, wanted: str, found: Quota, used: int, subject: str = "instances") -> Part:
    counts: dict[str, Number] = {"used": used, "quota": found.value}
    part = Part(
        CheckStatus.PASS,
        subject,
        f"{wanted}: {used} of {found.value:g} used",
        counts,
        evidence=view.usage_quotas.refs,
        notes=(_NOT_CAPACITY,),
    )
    if found.value - used < 1:
        return replace(part, status=CheckStatus.RISK, action=f"raise the quota {wanted}")
    return part


def _volumes(view: View) -> Iterator[Part]:
    """Yield the largest EBS volume of the groups against what HyperPod allows."""
    found = _named(view, _VOLUME)
    largest = max((size for g in view.accelerated for size in g.volume_gb), default=0)
    if found is None or not largest:
        return
    counts: dict[str, Number] = {"volume_gb": largest, "quota_gb": found.value}
    told = f"{_VOLUME}: a node gets {largest} of {found.value:g}"
    part = Part(CheckStatus.PASS, "EBS volume", told, counts, evidence=view.usage_quotas.refs)
    if largest > found.value:
        act = f"raise the quota {_VOLUME}"
        part = replace(part, status=CheckStatus.RISK, why=f"{told}: not enough", action=act)
    yield part


def _vcpus(view: View) -> Iterator[Part]:
    if not view.instances.is_complete:
        yield unread(view.instances, view.cluster_name or "the cluster", "what they count against")
        return
    missing = sorted({n.node for n in view.nodes} - {one.id for one in view.members})
    if missing and view.members:
        why = f"{counted(len(missing), 'node')} not returned: what they count against is not known"
        closes = f"ec2:DescribeInstances of {some(missing)}"
        yield Part(CheckStatus.UNVERIFIED, missing[0], why, closes_with=closes)
    counting = [one for one in view.members if one.lifecycle != "capacity-block"]
    if not counting:
        reserved = bool(view.members)
        yield Part(
            CheckStatus.NOT_APPLICABLE if reserved else CheckStatus.UNVERIFIED,
            "vCPUs",
            "instances of a Capacity Block do not count against On-Demand limits"
            if reserved
            else "no instance of the run was returned",
            closes_with=None if reserved else "list the nodes once they run",
            evidence=view.instances.refs,
        )
    for kind in sorted({plain(one.instance_type) for one in counting}):
        yield _family(view, kind, [o for o in counting if plain(o.instance_type) == kind])


def _family(view: View, kind: str, own: list[Instance]) -> Part:
    row, size = vcpu_quota_of(kind), instance_type(kind)
    if any(one.lifecycle == "spot" for one in own):
        why, closes = (
            f"{kind} runs as Spot: Spot limits are not judged",
            "the Spot quota of the type",
        )
        return Part(CheckStatus.UNVERIFIED, kind, why, closes_with=closes)
    if row is None or size is None:
        what = "the quota it counts against" if row is None else "how many vCPUs it has"
        closes = "Service Quotas of EC2"
        return Part(
            CheckStatus.UNVERIFIED, kind, f"{kind}: {what} is not listed", closes_with=closes
        )
    sight = view.vcpu_quotas.get(row.code)
    if sight is None or sight.quota.value is None:
        return unread(sight.quota, row.name) if sight else _not_asked(row)
    known = sum(_vcpus_of(one) for one in view.members if _counts(one, row))
    used = max(known, sight.usage.value or 0.0)
    return _room(view, kind, row, sight.quota.value, used, size.vcpus)


def _vcpus_of(one: Instance) -> int:
    size = instance_type(plain(one.instance_type))
    return size.vcpus if size else 0


def _counts(one: Instance, row: VcpuQuota) -> bool:
    is_of_family = vcpu_quota_of(plain(one.instance_type)) == row
    return is_of_family and one.lifecycle not in {"capacity-block", "spot"}


def _not_asked(row: VcpuQuota) -> Part:
    closes = f"service-quotas:GetServiceQuota of {row.service} {row.code}"
    return Part(CheckStatus.UNVERIFIED, row.name, f"{row.name}: not read", closes_with=closes)


def _room(view: View, kind: str, row: VcpuQuota, quota: Quota, used: float, need: int) -> Part:
    sight = view.vcpu_quotas[row.code]
    counts: dict[str, Number] = {"vcpus_used": used, "vcpu_quota": quota.value, "vcpus_node": need}
    told = f"{row.name} ({row.code}): {used:g} of {quota.value:g} vCPUs used; a {kind} takes {need}"
    refs = (*sight.quota.refs, *sight.usage.refs)
    if quota.value - used < need:
        act = f"raise the quota {row.name} ({row.code})"
        return Part(
            CheckStatus.RISK,
            row.name,
            told,
            counts,
            action=act,
            evidence=refs,
            notes=(_NOT_CAPACITY,),
        )
    if sight.usage.value is None:
        return Part(
            CheckStatus.UNVERIFIED,
            row.name,
            f"{told}; what else of the region counts is not read ({sight.usage.reason})",
            counts,
            closes_with=sight.usage.closes_with or "cloudwatch:GetMetricData of AWS/Usage",
            evidence=refs,
            unread=sight.usage.was_refused,
        )
    return Part(CheckStatus.PASS, row.name, told, counts, evidence=refs, notes=(_NOT_CAPACITY,))


def _storage(view: View) -> Part:
    """Judge the room for a replacement's volumes as far as it can be read."""
    sight = view.ebs_quota
    quota = sight.quota.value
    if quota is None:
        return unread(sight.quota, "EBS storage")
    used = sight.usage.value
    refs = (*sight.quota.refs, *sight.usage.refs)
    counts: dict[str, Number] = {"quota_tib": quota.value}
    if used is not None:
        counts["used_tib"] = used
        told = f"{quota.name}: {used:g} of {quota.value:g} TiB used"
        if quota.value - used >= _LARGEST_VOLUME_TIB:
            notes = (_NOT_CAPACITY,)
            return Part(CheckStatus.PASS, "EBS storage", told, counts, evidence=refs, notes=notes)
        if used >= quota.value:
            act = f"raise the quota {quota.name}"
            return Part(CheckStatus.RISK, "EBS storage", told, counts, action=act, evidence=refs)
    else:
        told = f"{quota.name}: {quota.value:g} TiB, its use not read ({sight.usage.reason})"
    return Part(
        CheckStatus.UNVERIFIED,
        "EBS storage",
        f"{told}; what a node's volumes take is not readable: ec2:DescribeVolumes is not among the "
        "reads",
        counts,
        closes_with="the volume sizes of the launch template against the EBS quota",
        evidence=refs,
    )


P29 = PreflightCheck(
    "P29",
    "quotas leave room for one more node",
    "ListServiceQuotas (sagemaker); elsewhere GetServiceQuota (ec2, ebs) and its usage metric",
    "RISK: the quota of a type, of HyperPod clusters, or of a family's vCPUs has no room for one "
    "node, or EBS storage is used up. Instances of a Capacity Block count against no vCPU quota. A "
    "quota alone never proves spare capacity: see P3",
    "Service Quotas user guide",
    quotas,
)

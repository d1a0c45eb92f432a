"""P29: quotas leave room for one more node. A quota never proves capacity."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unknown_platform, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus


def quotas(view: View) -> Iterator[Part]:
    """Compare HyperPod's quota for each type with the nodes in use."""
    name = view.cluster_name or "the cluster"
    if not view.is_known:
        yield unknown_platform()
        return
    if not view.is_hyperpod:
        why = "instance quotas do not hold inside reserved capacity; interfaces are in P14"
        yield Part(CheckStatus.NOT_APPLICABLE, name, why)
        return
    if view.cluster.value is None or not view.usage_quotas.is_complete:
        yield unread(view.cluster if view.cluster.value is None else view.usage_quotas, name)
        return
    if not view.types:
        why, closes = "no accelerated type is known", "list the nodes"
        yield Part(CheckStatus.UNVERIFIED, name, why, closes_with=closes)
    for kind in view.types:
        yield _of_type(view, kind)


def _of_type(view: View, kind: str) -> Part:
    wanted = f"ml.{kind} for cluster usage"
    found = next((q for q in rows(view.usage_quotas) if q.name == wanted), None)
    if found is None:
        why = f"no quota named {wanted!r} was returned"
        closes = "service-quotas:ListServiceQuotas of sagemaker"
        return Part(CheckStatus.UNVERIFIED, kind, why, closes_with=closes)
    used = sum(
        g.target or g.current or 0 for g in view.accelerated if g.instance_type == f"ml.{kind}"
    )
    told = f"{wanted}: {used} of {found.value:g} used"
    counts = {"used": used, "quota": found.value}
    if found.value - used < 1:
        act = f"raise the quota {wanted}"
        return Part(
            CheckStatus.RISK, kind, told, counts, action=act, evidence=view.usage_quotas.refs
        )
    return Part(CheckStatus.PASS, kind, told, counts, evidence=view.usage_quotas.refs)


P29 = PreflightCheck(
    "P29",
    "quotas leave room for one more node",
    "ListServiceQuotas (sagemaker)",
    "RISK: the quota of a type is used up. Never PASS for capacity: see P3",
    "Service Quotas user guide",
    quotas,
)

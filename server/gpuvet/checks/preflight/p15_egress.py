"""P15: a HyperPod cluster with EFA lets traffic out no wider than it must."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unknown_platform, unread
from gpuvet.checks.preflight.p07_efa import carried, not_applicable
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.model.network import SecurityGroup

_ANYWHERE = frozenset({"0.0.0.0/0", "::/0"})


def egress(view: View) -> Iterator[Part]:
    """Look for a rule that lets all traffic out to anywhere."""
    subject = view.cluster_name or "the cluster"
    if not view.is_known:
        yield unknown_platform()
        return
    if not view.is_hyperpod:
        why = "the caution about outbound rules is HyperPod's"
        yield Part(CheckStatus.NOT_APPLICABLE, subject, why)
        return
    without = not_applicable(view)
    if without is not None:
        yield without
        return
    sets = carried(view)
    if isinstance(sets, Part):
        yield sets
        return
    names = frozenset[str]().union(*sets)
    if view.groups.value is None:
        yield unread(view.groups, ", ".join(sorted(names)))
        return
    known = {one.group_id: one for one in rows(view.groups)}
    for name in sorted(names):
        yield _group(view, name, known.get(name))


def _group(view: View, name: str, found: SecurityGroup | None) -> Part:
    if found is None or found.outbound is None:
        return Part(
            CheckStatus.UNVERIFIED,
            name,
            f"the outbound rules of {name} were not returned",
            closes_with=f"ec2:DescribeSecurityGroups of {name}",
            unread=view.groups.was_refused,
        )
    wide = [r for r in found.outbound if r.protocol == "-1" and _ANYWHERE & set(r.cidrs)]
    has_self = any(
        r.protocol == "-1" and any(pair.group_id == name for pair in r.pairs)
        for r in found.outbound
    )
    if wide:
        beside = "in addition to" if has_self else "without"
        return Part(
            CheckStatus.RISK,
            name,
            f"{name} lets all traffic out to {', '.join(sorted(_ANYWHERE & set(wide[0].cidrs)))} "
            f"{beside} the self-reference: HyperPod's guide warns against it with EFA, while "
            "runbooks advise it so that nodes reach AWS endpoints",
            action=f"give the nodes VPC endpoints or narrower outbound rules before taking the "
            f"wide rule off {name}",
            evidence=view.groups.refs,
        )
    why = f"{name} lets nothing out to anywhere; see P23 for the endpoints the nodes need"
    return Part(CheckStatus.PASS, name, why, evidence=view.groups.refs)


P15 = PreflightCheck(
    "P15",
    "outbound rules are no wider than they must be",
    "DescribeSecurityGroups, DescribeCluster",
    "RISK: all traffic out to 0.0.0.0/0 or ::/0, beside or without a self-reference (advice "
    "conflicts: both are told). NOT_APPLICABLE outside HyperPod and without EFA",
    "SageMaker HyperPod user guide",
    egress,
)

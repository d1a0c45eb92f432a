"""P15: a HyperPod cluster with EFA lets traffic out no wider than it must."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.security_groups import Direction, read_direction, read_reach
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unknown_platform, unread
from gpuvet.checks.preflight.p07_efa import acl_note, carried, not_applicable
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.report.words import some


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
    if view.groups.value is None:
        yield unread(view.groups, ", ".join(sorted(frozenset[str]().union(*sets))))
        return
    for own in sorted(sets, key=sorted):
        yield _of_interface(view, own)


def _of_interface(view: View, own: frozenset[str]) -> Part:
    """Judge what all groups of one kind of interface let out together."""
    lists = rows(view.prefix_lists)
    reach = read_reach(rows(view.groups), own, Direction.OUTBOUND, lists)
    names, refs, notes = ", ".join(sorted(own)), view.groups.refs, (acl_note(view),)
    if reach.anywhere:
        to_self = read_direction(rows(view.groups), [own], Direction.OUTBOUND).is_open
        beside = "in addition to" if to_self else "without"
        by = f" through {some(reach.lists)}" if reach.lists else ""
        return Part(
            CheckStatus.RISK,
            names,
            f"{some(reach.owners)} lets all traffic out to {', '.join(reach.anywhere)}{by} "
            f"{beside} the self-reference: HyperPod's guide warns against it with EFA, while "
            "runbooks advise it so that nodes reach AWS endpoints",
            action="give the nodes VPC endpoints or narrower outbound rules before taking the "
            f"wide rule off {some(reach.owners)}",
            evidence=refs,
            notes=notes,
        )
    if reach.unread:
        return _open(view, names, reach.unread)
    why = f"{names} lets nothing out to anywhere; see P23 for the endpoints the nodes need"
    return Part(CheckStatus.PASS, names, why, evidence=refs, notes=notes)


def _open(view: View, names: str, missing: Sequence[str]) -> Part:
    lists = [name for name in missing if name.startswith("pl-")]
    groups = [name for name in missing if name not in lists]
    what = "the outbound rules" if groups else "the entries"
    calls = [f"ec2:DescribeSecurityGroups of {some(groups)}"] if groups else []
    calls += [f"ec2:GetManagedPrefixListEntries of {some(lists)}"] if lists else []
    was_refused = view.groups.was_refused or (bool(lists) and view.prefix_lists.was_refused)
    return Part(
        CheckStatus.UNVERIFIED,
        names,
        f"{what} of {some(missing)} were not returned",
        closes_with=", ".join(calls),
        evidence=(*view.groups.refs, *view.prefix_lists.refs),
        unread=was_refused,
    )


P15 = PreflightCheck(
    "P15",
    "outbound rules are no wider than they must be",
    "DescribeSecurityGroups, GetManagedPrefixListEntries, DescribeCluster",
    "RISK: all traffic out to 0.0.0.0/0 or ::/0, by a prefix list or in parts too, beside or "
    "without a self-reference (advice conflicts: both are told). NOT_APPLICABLE outside HyperPod "
    "and without EFA",
    "SageMaker HyperPod user guide",
    egress,
)

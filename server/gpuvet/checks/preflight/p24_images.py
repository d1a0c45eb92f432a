"""P24: all nodes run one image, and none is being changed."""

from collections import defaultdict
from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster_state import GroupState
from gpuvet.model.readiness import NodePlace
from gpuvet.report.words import counted

_CHANGING = frozenset({"InProgress", "RollbackInProgress"})


def images(view: View) -> Iterator[Part]:
    """Compare the images of groups and nodes."""
    if view.is_hyperpod:
        yield from _hyperpod(view)
    else:
        yield from _instances(view)


def _hyperpod(view: View) -> Iterator[Part]:
    if view.cluster.value is None:
        yield unread(view.cluster, view.cluster_name or "the cluster")
        return
    for group in view.accelerated:
        yield _group(view, group)
    releases: dict[str, list[str]] = defaultdict(list)
    ids = {n.node for n in view.nodes}
    for node in rows(view.hyperpod_nodes):
        if node.id in ids and node.release:
            releases[node.release].append(node.id)
    for place in view.places:
        if place.value is not None and place.value.image:
            releases[place.value.image].append(place.value.node)
            yield from _changing(place.value)
    yield from (unread(one, one.what) for one in view.places if one.was_refused)
    kinds = {name.startswith("ami-") for name in releases}
    if len(releases) > len(kinds):
        yield _mixed(dict(releases))
    if view.hyperpod_nodes.was_refused:
        yield unread(view.hyperpod_nodes, "nodes")


def _changing(place: NodePlace) -> Iterator[Part]:
    if place.image and place.wanted_image and place.image != place.wanted_image:
        yield Part(
            CheckStatus.FAIL,
            place.node,
            f"{place.node} runs {place.image} and is to run {place.wanted_image}",
            action=f"wait until the update of {place.node} has settled",
        )


def _group(view: View, group: GroupState) -> Part:
    refs = view.cluster.refs
    if group.software in _CHANGING or (
        group.image and group.wanted_image and group.image != group.wanted_image
    ):
        return Part(
            CheckStatus.FAIL,
            group.name,
            f"{group.name} is changing from {group.image} to {group.wanted_image} "
            f"({group.software or 'SoftwareUpdateStatus not returned'})",
            action=f"wait until the update of {group.name} has settled",
            evidence=refs,
        )
    if group.image is None:
        why = f"the image of {group.name} was not returned"
        closes = "sagemaker:DescribeCluster: CurrentImageId"
        return Part(CheckStatus.UNVERIFIED, group.name, why, closes_with=closes, evidence=refs)
    return Part(CheckStatus.PASS, group.name, f"{group.name} runs {group.image}", evidence=refs)


def _instances(view: View) -> Iterator[Part]:
    if not view.instances.is_complete:
        yield unread(view.instances, "instances")
    by_image: dict[str, list[str]] = defaultdict(list)
    for one in view.members:
        if one.image:
            by_image[one.image].append(one.id)
    unknown = [one.id for one in view.members if not one.image]
    if len(by_image) > 1:
        yield _mixed(dict(by_image))
    elif by_image and not unknown:
        name, own = next(iter(by_image.items()))
        why = f"{counted(len(own), 'node')} on {name}"
        yield Part(CheckStatus.PASS, name, why, evidence=view.instances.refs)
    elif view.instances.is_complete:
        why = "the images of the nodes were not returned"
        closes = "ec2:DescribeInstances: ImageId"
        yield Part(CheckStatus.UNVERIFIED, "instances", why, closes_with=closes)


def _mixed(by_image: dict[str, list[str]]) -> Part:
    told = "; ".join(f"{name} on {len(own)} nodes" for name, own in sorted(by_image.items()))
    return Part(
        CheckStatus.RISK,
        ", ".join(sorted(by_image)),
        f"mixed images: {told}",
        action="bring every node of the run to one image",
    )


P24 = PreflightCheck(
    "P24",
    "all nodes run one image",
    "DescribeCluster, ListClusterNodes, DescribeClusterNode, DescribeInstances",
    "FAIL: a group or a node in the middle of an update. RISK: nodes with different images "
    "or releases",
    "HyperPod API reference",
    images,
)

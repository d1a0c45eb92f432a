"""P19: no maintenance, retirement or patch falls inside the run."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, stamp, unread
from gpuvet.checks.preflight.p08_storage import maintenance, no_system
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.capacity import InstanceHealth
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster_state import GroupState
from gpuvet.report.words import counted

_ENDING = ("instance-retirement", "instance-stop")
_OVER = "[completed]"


def scheduled(view: View) -> Iterator[Part]:
    """Collect everything with a date: file systems, instances, patches, AWS Health."""
    found = view.systems
    if not found or view.storage is None or not view.storage.systems.status.is_complete:
        yield no_system(view)
    for seen in found:
        yield from maintenance(view, seen)
    yield from _instances(view)
    if view.is_hyperpod:
        yield from _patches(view)
    yield from _health(view)


def _instances(view: View) -> Iterator[Part]:
    ids = {n.node for n in view.nodes}
    own = [one for one in rows(view.instance_health) if one.id in ids]
    for one in own:
        yield from _events(view, one)
    if view.instance_health.was_refused:
        yield unread(view.instance_health, "instances")
    elif not view.is_hyperpod and (not own or not view.listed.is_complete):
        why = "status checks of the nodes were not returned: scheduled events are not excluded"
        closes = "ec2:DescribeInstanceStatus of the nodes"
        yield Part(CheckStatus.UNVERIFIED, "instances", why, closes_with=closes)
    elif own:
        why = f"scheduled events of {counted(len(own), 'instance')} were read"
        yield Part(CheckStatus.PASS, "instances", why, evidence=view.instance_health.refs)


def _events(view: View, one: InstanceHealth) -> Iterator[Part]:
    for place, words in enumerate(one.scheduled):
        at = one.scheduled_at[place] if place < len(one.scheduled_at) else None
        if _OVER in words.lower() or at is None or at >= view.run.end:
            continue
        is_ending = words.startswith(_ENDING)
        yield Part(
            CheckStatus.FAIL if is_ending else CheckStatus.RISK,
            one.id,
            f"{one.id}: {words} falls inside the run",
            numbers={"not_before": stamp(at)},
            action=f"stop and start {one.id} before the run (it moves to other hardware)"
            if is_ending
            else f"let the event of {one.id} pass first, or move it",
            evidence=(one.evidence,) if one.evidence else (),
        )


def _patches(view: View) -> Iterator[Part]:
    if view.cluster.value is None:
        yield unread(view.cluster, view.cluster_name or "the cluster")
        return
    found = False
    for group in view.accelerated:
        for part in _patch(view, group):
            found = True
            yield part
    if not found:
        why = "no patch or software update is scheduled inside the run"
        yield Part(CheckStatus.PASS, view.cluster.value.name, why, evidence=view.cluster.refs)


def _patch(view: View, group: GroupState) -> Iterator[Part]:
    refs = view.cluster.refs
    at = group.patch_at
    if at is not None and view.run.start <= at < view.run.end:
        drains = group.patch_strategy == "DrainFirst"
        yield Part(
            CheckStatus.FAIL if drains else CheckStatus.RISK,
            group.name,
            f"{group.name} is patched {stamp(at)} ({group.patch_strategy or 'strategy unknown'}), "
            "inside the run",
            numbers={"patch_at": stamp(at)},
            action=f"move the patch schedule of {group.name} behind the run",
            evidence=refs,
        )
    if group.update_schedule is not None:
        yield Part(
            CheckStatus.RISK,
            group.name,
            f"{group.name} has a software update schedule ({group.update_schedule})",
            action=f"see that no update of {group.name} falls inside the run",
            evidence=refs,
        )


def _health(view: View) -> Iterator[Part]:
    if view.health_events.was_refused:
        yield unread(view.health_events, "AWS Health")
    ids = {n.node for n in view.nodes} | {seen.system.id for seen in view.systems}
    for one in rows(view.health_events):
        is_ahead = one.status == "upcoming" or (one.start is not None and one.start > view.now)
        in_run = one.start is None or one.start < view.run.end
        named = sorted(ids & set(one.entities or ()))
        if is_ahead and in_run and named:
            when = f" from {stamp(one.start)}" if one.start else ""
            yield Part(
                CheckStatus.RISK,
                named[0],
                f"AWS Health announces {one.code} for {', '.join(named[:3])}{when}",
                action=f"read the Health event {one.code} and act on it before the run",
                evidence=(one.evidence,) if one.evidence else (),
            )


P19 = PreflightCheck(
    "P19",
    "no maintenance falls inside the run",
    "DescribeFileSystems, DescribeInstanceStatus, DescribeCluster, AWS Health",
    "FAIL: retirement or stop of a node, or a patch that drains first. RISK: file system "
    "maintenance, reboots, other patches and schedules, an announced Health event",
    "EC2, FSx and HyperPod user guides",
    scheduled,
)

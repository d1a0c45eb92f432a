"""What pods, jobs, taints and events say of a failure and of the cluster now. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from gpuvet.model.cause import TimelineEvent
from gpuvet.model.evidence import Window
from gpuvet.model.kube import ContainerEnd, KubeEvent, KubeView, PodState
from gpuvet.parse.job_log import JobLine, JobLineKind

SOURCE = "kubernetes"
# Ours: a storm of events is no better told by all of them.
MOST_EVENTS = 40
MOST_SENTENCES = 6
_ROUTINE_TAINTS = frozenset(
    {"nvidia.com/gpu", "vpc.amazonaws.com/efa", "aws.amazon.com/neuron", "node.kubernetes.io/role"}
)
_NOT_TOLD = frozenset({"SuccessfulCreate", "SuccessfulDelete", "NodeReady", "Killing"})
_KINDS = {"OOMKilled": JobLineKind.OUT_OF_MEMORY}
_STOPPED_FROM_OUTSIDE = frozenset({137, 143})


def pod_ends(view: KubeView, nodes: Mapping[str, str], window: Window) -> tuple[JobLine, ...]:
    """Return how containers of GPU pods ended, as the fatal lines of a job.

    Args:
        view: The objects.
        nodes: Node by the name Kubernetes has for it.
        window: When; an end without a time is left out.
    """
    found = [
        _line(pod, end, nodes, place)
        for place, pod in enumerate(view.pods, start=1)
        for end in pod.ends
        if pod.gpus and end.at is not None and window.holds(end.at) and _is_fault(end)
    ]
    return tuple(sorted(found, key=lambda line: (str(line.at), line.line)))


def _is_fault(end: ContainerEnd) -> bool:
    if end.reason == "OOMKilled":
        return True
    # SIGKILL and SIGTERM come from whoever stops the pod: the end of another's fault.
    return bool(end.exit_code) and end.exit_code not in _STOPPED_FROM_OUTSIDE


def _line(pod: PodState, end: ContainerEnd, nodes: Mapping[str, str], place: int) -> JobLine:
    return JobLine(
        kind=_KINDS.get(end.reason or "", JobLineKind.EXIT),
        text=f"container {end.container} of pod {pod.name}: {end.reason or 'ended'}, "
        f"exit code {end.exit_code}",
        stream=pod.file or SOURCE,
        line=place,
        at=end.at,
        node=nodes.get(pod.node or ""),
        exit_code=end.exit_code,
    )


def kube_timeline(
    view: KubeView, nodes: Mapping[str, str], window: Window
) -> Iterator[TimelineEvent]:
    """Yield what the cluster's own events, jobs and evictions date, the telling ones first."""
    padded = window.padded(timedelta(minutes=30), timedelta(minutes=30))
    events = [e for e in view.events if e.at is not None and padded.holds(e.at)]
    told = [e for e in events if e.reason not in _NOT_TOLD]
    told.sort(key=lambda e: (e.kind != "Warning", str(e.at), e.about, e.reason))
    for event in told[:MOST_EVENTS]:
        yield from _event(event, nodes)
    for job in view.jobs:
        if job.at is not None and padded.holds(job.at) and job.state:
            why = f": {job.reason}" if job.reason else ""
            what = f"HyperPodPyTorchJob {job.name} became {job.state}{why}"
            yield TimelineEvent(at=job.at, source=SOURCE, what=what, stream=job.file)


def _event(event: KubeEvent, nodes: Mapping[str, str]) -> Iterator[TimelineEvent]:
    if event.at is None:
        return
    kind, _, name = event.about.partition("/")
    often = f", {event.count} times" if event.count > 1 else ""
    yield TimelineEvent(
        at=event.at,
        source=SOURCE,
        what=f"{event.reason} of {kind} {name}{often}: {event.message[:160]}",
        node=nodes.get(name) if kind == "Node" else None,
        code=f"kube {event.reason} {event.about}",
        stream=event.file,
    )


def kube_state(view: KubeView) -> Iterator[str]:
    """Yield what an operator needs to know of the cluster's objects as read now."""
    yield from _told(_jobs(view))
    yield from _told(_waiting(view.pods))
    evicted = [p for p in view.pods if p.reason == "Evicted"]
    if evicted:
        first = evicted[0]
        yield f"{len(evicted)} pods were evicted, first {first.name}: {first.message[:120]}"
    yield from _told(_taints(view))


def _jobs(view: KubeView) -> Iterator[str]:
    for job in view.jobs:
        since = f" since {job.at:%Y-%m-%dT%H:%M:%SZ}" if job.at else ""
        why = f" ({job.reason}: {job.message[:120]})" if job.reason else ""
        yield f"HyperPodPyTorchJob {job.name}: {job.state or 'no condition'}{since}{why}"


def _waiting(pods: Iterable[PodState]) -> Iterator[str]:
    """Yield waiting pods by the scheduler's words: one sentence for all that wait for one thing."""
    groups: dict[str, list[PodState]] = {}
    for pod in pods:
        if pod.waits:
            groups.setdefault(pod.waits_because or "no reason told", []).append(pod)
    for why, own in sorted(groups.items(), key=lambda row: (-len(row[1]), row[0])):
        gpus = sum(pod.gpus for pod in own)
        more = f" and {len(own) - 1} more" if len(own) > 1 else ""
        yield f"pod {own[0].name}{more} wait{'' if more else 's'} for {gpus} GPUs: {why[:200]}"


def _taints(view: KubeView) -> Iterator[str]:
    kept = [t for t in view.taints if t.key not in _ROUTINE_TAINTS]
    counts = Counter((t.key, t.value, t.effect) for t in kept)
    for (key, value, effect), count in sorted(counts.items(), key=lambda row: (-row[1], row[0][0])):
        who = next(t.node for t in kept if (t.key, t.value, t.effect) == (key, value, effect))
        more = f" and {count - 1} more" if count > 1 else ""
        shown = f"{key}={value}" if value else key
        yield f"taint {shown}:{effect} on {who}{more}"


def _told(sentences: Iterable[str]) -> Iterator[str]:
    kept = list(sentences)
    yield from kept[:MOST_SENTENCES]
    if len(kept) > MOST_SENTENCES:
        yield f"and {len(kept) - MOST_SENTENCES} more of these"


def waiting_words(view: KubeView) -> tuple[str, ...]:
    """Return what pods wait for now, one sentence for all that wait for one thing."""
    return tuple(_told(_waiting(view.pods)))

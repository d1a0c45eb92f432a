"""DaemonSet rollouts as the cluster's own Kubernetes events tell them."""

from collections.abc import Iterable, Iterator

from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.case import KubeObject
from gpuvet.model.changes import Rollout
from gpuvet.model.events import Source, TimeQuality
from gpuvet.model.untyped import object_at, text_at
from gpuvet.parse.untrusted import clean

# The DaemonSet controller's own reasons: a pod taken down or made by a rollout.
_STEPS = frozenset({"SuccessfulDelete", "SuccessfulCreate"})


def kube_rollouts(objects: Iterable[KubeObject]) -> Iterator[Rollout]:
    """Yield a started rollout for each event in which a DaemonSet's pods were exchanged."""
    for place, one in enumerate(objects, start=1):
        about = object_at(one.body, "involvedObject") or object_at(one.body, "regarding")
        name, reason = text_at(about, "name"), text_at(one.body, "reason")
        at = next(
            (
                found
                for key in ("firstTimestamp", "eventTime", "lastTimestamp")
                if (found := as_datetime(one.body.get(key))) is not None
            ),
            None,
        )
        if one.kind != "Event" or about.get("kind") != "DaemonSet" or reason not in _STEPS:
            continue
        if name is None or at is None:
            continue
        yield Rollout(
            node="",
            stream=one.file,
            line=place,
            raw=clean(f"{reason}: {text_at(one.body, 'message') or ''}"),
            at=at,
            time_quality=TimeQuality.EXACT,
            source=Source.SERVICE,
            workload=clean(f"daemonset/{name}"),
            step="started",
        )

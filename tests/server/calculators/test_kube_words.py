"""Pods, jobs, taints and events in words: how containers ended, what waits, what is dated."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.calculators.kube_words import (
    MOST_EVENTS,
    kube_state,
    kube_timeline,
    pod_ends,
    waiting_words,
)
from gpuvet.case.case import KubeObject
from gpuvet.case.kube import node_reading
from gpuvet.case.kube_state import is_telling, kube_view
from gpuvet.model.evidence import Window
from gpuvet.model.kube import ContainerEnd, KubeEvent, KubeView, PodState, Taint
from gpuvet.parse.job_log import JobLineKind

NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)
WINDOW = Window(start=NOW - timedelta(hours=4), end=NOW)
NODE = "i-0aa11bb22cc33dd44"
NAMES = {"ip-10-0-0-7.ec2.internal": NODE}


def pod(*ends: ContainerEnd, gpus: int = 8, **rest: Any) -> PodState:  # noqa: ANN401 (of PodState)
    return PodState(name="llm-0", node="ip-10-0-0-7.ec2.internal", gpus=gpus, ends=ends, **rest)


def end(reason: str, code: int, *, minutes: int = 30) -> ContainerEnd:
    at = NOW - timedelta(minutes=minutes)
    return ContainerEnd(container="worker", reason=reason, exit_code=code, at=at)


@pytest.mark.parametrize(
    ("ended", "kinds"),
    [
        pytest.param(end("OOMKilled", 137), [JobLineKind.OUT_OF_MEMORY], id="killed for memory"),
        pytest.param(end("Error", 1), [JobLineKind.EXIT], id="its own error"),
        pytest.param(end("Error", 139), [JobLineKind.EXIT], id="a segmentation fault"),
        pytest.param(end("Error", 137), [], id="killed by whoever stopped it"),
        pytest.param(end("Error", 143), [], id="asked to stop"),
        pytest.param(end("Completed", 0), [], id="done"),
        pytest.param(end("Error", 1, minutes=600), [], id="before the window"),
        pytest.param(
            ContainerEnd(container="worker", reason="Error", exit_code=1), [], id="without a time"
        ),
    ],
)
def test_only_a_container_that_failed_by_itself_inside_the_window_ends_a_job(
    ended: ContainerEnd, kinds: list[JobLineKind]
) -> None:
    found = pod_ends(KubeView(pods=(pod(ended),)), NAMES, WINDOW)
    assert [one.kind for one in found] == kinds
    assert {one.node for one in found} <= {NODE}


def test_a_pod_without_gpus_ends_no_job() -> None:
    assert pod_ends(KubeView(pods=(pod(end("Error", 1), gpus=0),)), NAMES, WINDOW) == ()


def test_pods_that_wait_for_one_thing_are_one_sentence() -> None:
    why = "0/4 nodes are available: 4 Insufficient vpc.amazonaws.com/efa."
    pods = [PodState(name=f"llm-{n}", phase="Pending", gpus=8, waits_because=why) for n in range(3)]
    other = PodState(name="x", phase="Pending", node="ip-1", gpus=8)  # it has its place
    assert waiting_words(KubeView(pods=(*pods, other))) == (
        f"pod llm-0 and 2 more wait for 24 GPUs: {why}",
    )


def test_evictions_and_taints_that_are_not_routine_are_told() -> None:
    view = KubeView(
        pods=(pod(reason="Evicted", phase="Failed", message="low on memory"),),
        taints=(
            Taint(node=NODE, key="nvidia.com/gpu", effect="NoSchedule"),
            Taint(node=NODE, key="node.kubernetes.io/not-ready", effect="NoExecute"),
            Taint(node="i-2", key="node.kubernetes.io/not-ready", effect="NoExecute"),
        ),
    )
    assert list(kube_state(view)) == [
        "1 pods were evicted, first llm-0: low on memory",
        f"taint node.kubernetes.io/not-ready:NoExecute on {NODE} and 1 more",
    ]


def test_a_storm_of_events_is_bounded_and_its_warnings_come_first() -> None:
    events = [
        KubeEvent(
            reason="BackOff",
            about=f"Pod/p{n:03}",
            kind="Warning" if n >= 100 else "Normal",
            at=NOW - timedelta(minutes=1),
        )
        for n in range(200)
    ]
    found = list(kube_timeline(KubeView(events=tuple(events)), NAMES, WINDOW))
    assert len(found) == MOST_EVENTS
    assert found[0].what.startswith("BackOff of Pod p100")


def test_an_event_about_a_node_stands_with_that_node() -> None:
    event = KubeEvent(
        reason="NodeNotReady",
        about="Node/ip-10-0-0-7.ec2.internal",
        kind="Warning",
        at=NOW - timedelta(minutes=5),
    )
    (entry,) = kube_timeline(KubeView(events=(event,)), NAMES, WINDOW)
    assert (entry.node, entry.source) == (NODE, "kubernetes")


def test_events_outside_the_window_and_routine_ones_are_left_out() -> None:
    events = (
        KubeEvent(reason="Evicted", about="Pod/a", at=NOW - timedelta(days=2)),
        KubeEvent(reason="SuccessfulCreate", about="DaemonSet/b", at=NOW - timedelta(minutes=1)),
        KubeEvent(reason="Evicted", about="Pod/c"),
    )
    assert list(kube_timeline(KubeView(events=events), NAMES, WINDOW)) == []


def thing(kind: str, **body: Any) -> KubeObject:  # noqa: ANN401 (an object's members)
    return KubeObject(kind, "file", body)


GPU_CONTAINER = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (thing("Pod", spec=GPU_CONTAINER, status={"phase": "Running"}), True),
        (thing("Pod", spec={}, status={"phase": "Running"}), False),
        (thing("Pod", spec={}, status={"phase": "Pending"}), True),
        (
            thing(
                "Pod",
                status={
                    "phase": "Running",
                    "containerStatuses": [
                        {"lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}
                    ],
                },
            ),
            True,
        ),
        (thing("Event", type="Normal", reason="Pulled"), False),
        (thing("Event", type="Normal", reason="SuccessfulDelete"), True),
        (thing("Event", type="Warning", reason="Whatever"), True),
        (thing("Node"), True),
    ],
)
def test_routine_objects_are_not_kept(one: KubeObject, told: bool) -> None:
    assert is_telling(one) is told


def test_a_jobs_state_is_its_latest_true_condition() -> None:
    def condition(kind: str, status: str, minute: int) -> dict[str, str]:
        at = (NOW - timedelta(minutes=minute)).isoformat()
        return {"type": kind, "status": status, "lastTransitionTime": at, "reason": f"R{kind}"}

    job = thing(
        "HyperPodPyTorchJob",
        metadata={"name": "llm"},
        status={
            "conditions": [
                condition("Created", "True", 90),
                condition("Running", "False", 10),
                condition("Faulted", "True", 20),
            ]
        },
    )
    (state,) = kube_view([job]).jobs
    assert (state.name, state.state, state.reason) == ("llm", "Faulted", "RFaulted")


@pytest.mark.parametrize(
    "key",
    [
        "sagemaker.amazonaws.com/fault-types",
        "sagemaker.amazonaws.com/fault-type",
        "sagemaker.amazonaws.com/fault-reasons",
        "sagemaker.amazonaws.com/fault-reason",
        "sagemaker.amazonaws.com/deep-health-check-status",
    ],
)
def test_hyperpods_own_labels_are_read_in_both_spellings(key: str) -> None:
    node = thing(
        "Node",
        metadata={"name": "ip-10-0-0-7", "labels": {key: "X", "other/label": "Y"}},
        spec={"providerID": f"aws:///us-west-2a/{NODE}"},
        status={},
    )
    reading = node_reading(node)
    assert reading is not None
    assert [(one.kind, one.status) for one in reading.facts.conditions] == [(key, "X")]

"""Managed Prometheus and a cluster's Kubernetes API in every mode: what they add and cost."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest
from prometheus_world import (
    NODES,
    NOW,
    WORKSPACE,
    Stored,
    World,
    case_of,
    every_minute,
    gpus_of,
    host_of,
    hyperpod,
)

from gpuvet.aws.reads import OTHER_READS
from gpuvet.case import Case
from gpuvet.model.audit import AuditReport, LostCause, Sight, Witness
from gpuvet.model.check import CheckStatus
from gpuvet.model.evidence import Reason
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport, VerdictReport
from gpuvet.model.verdict import Verdict
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

Report = AuditReport | IncidentReport | PreflightReport | VerdictReport
START = NOW - timedelta(hours=8)
IDLE, FAULTY, STALE, DROPPING = NODES
UTIL, XID = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_XID_ERRORS"
FELL_OFF = NOW - timedelta(hours=2)


def busy_cluster(**rest: Any) -> World:  # noqa: ANN401 (of World)
    """Return four nodes: one idle, one that loses a GPU, one with a stale gauge, one that drops."""
    return World(hyperpod(), SERIES, objects(), answers=ANSWERS, **rest)


ANSWERS: dict[str, dict[str, Any]] = {}  # of these series: worked out once


def with_series(kept: Callable[[Stored], bool]) -> World:
    """Return the same cluster with some of its series only."""
    return World(hyperpod(), [one for one in SERIES if kept(one)], objects())


def _series() -> Iterator[Stored]:
    for place, node in enumerate(NODES):
        day = NOW - timedelta(hours=25)
        yield from gpus_of(node, UTIL, 0 if node == IDLE else 97, start=day, end=NOW)
        yield from gpus_of(node, XID, _gauge(node), start=START, end=NOW, gpus=[3])
        hot = 91 if node == DROPPING else 60 + place
        yield from gpus_of(node, "DCGM_FI_DEV_GPU_TEMP", hot, start=START, end=NOW, gpus=[0])
        yield from _exporters(node)


def _gauge(node: str) -> float | Callable[[datetime], float]:
    if node == FAULTY:
        return lambda at: 79.0 if at >= FELL_OFF else 0.0
    return 31.0 if node == STALE else 0.0


def _exporters(node: str) -> list[Stored]:
    start = NOW - timedelta(hours=30)
    place = NODES.index(node) + 1
    since = NOW - timedelta(hours=1)
    drops = every_minute(
        start,
        NOW,
        lambda at: 50 * max((at - since).total_seconds() / 60, 0.0) if node == DROPPING else 5.0,
    )
    errors = (
        "node_amazonefa_rx_drops",
        "node_amazonefa_rdma_read_wr_err",
        "node_amazonefa_rdma_write_wr_err",
    )
    labels = {"instance": f"10.0.0.{place}:9100", "device": "rdmap16s2", "port": "1"}
    efa = [
        Stored(metric, labels, drops if metric == errors[0] else every_minute(start, NOW, 0))
        for metric in errors
    ]
    down = (NOW - timedelta(minutes=50), NOW - timedelta(minutes=20))
    ready = every_minute(
        START, NOW, lambda at: 0.0 if node == FAULTY and down[0] <= at < down[1] else 1.0
    )
    return [*efa, Stored("kube_node_status_condition", {"node": host_of(node)}, ready)]


SERIES = list(_series())


def objects() -> dict[str, list[Mapping[str, Any]]]:
    """Return what the cluster's API lists."""
    nodes: list[Mapping[str, Any]] = [
        {
            "metadata": {
                "name": host_of(node),
                "labels": {"node.kubernetes.io/instance-type": "ml.p5.48xlarge"},
            },
            "spec": {"providerID": f"aws:///us-west-2a/{node}"},
            "status": {
                "conditions": [
                    {
                        "type": "MemoryPressure",
                        "status": "False",
                        "lastTransitionTime": "2026-05-06T12:00:00Z",
                    },
                    {
                        "type": "Ready",
                        "status": "True",
                        "lastTransitionTime": "2026-05-06T12:00:00Z",
                    },
                ],
                "allocatable": {"vpc.amazonaws.com/efa": "32", "nvidia.com/gpu": "8"},
            },
        }
        for node in NODES
    ]
    labels: Any = nodes[3]["metadata"]
    labels["labels"]["sagemaker.amazonaws.com/node-health-status"] = (
        "UnschedulablePendingReplacement"
    )
    taints: Any = nodes[3]["spec"]
    taints["taints"] = [
        {"key": "sagemaker.amazonaws.com/node-health-status", "effect": "NoSchedule"}
    ]
    return {
        "ListNodes": nodes,
        "ListPods": [_failed_pod(), _waiting_pod(), _routine_pod()],
        "ListEvents": [
            {
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
                "involvedObject": {"kind": "Pod", "name": "llm-1"},
                "lastTimestamp": (NOW - timedelta(minutes=30)).isoformat(),
                "count": 12,
            },
            {"type": "Normal", "reason": "Pulled", "involvedObject": {"kind": "Pod", "name": "x"}},
        ],
        "ListHyperPodPyTorchJobs": [
            {
                "metadata": {"name": "llm", "namespace": "train"},
                "status": {
                    "conditions": [
                        {
                            "type": "Faulted",
                            "status": "True",
                            "reason": "PodFailed",
                            "lastTransitionTime": (NOW - timedelta(hours=1)).isoformat(),
                        }
                    ]
                },
            }
        ],
    }


def _pod(name: str, gpus: str, **status: Any) -> dict[str, Any]:  # noqa: ANN401 (a status)
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    return {
        "metadata": {"name": name, "namespace": "train"},
        "spec": {"containers": [{"name": "worker", "resources": {"limits": limits}}]},
        "status": status,
    }


def _failed_pod() -> dict[str, Any]:
    end = {
        "reason": "OOMKilled",
        "exitCode": 137,
        "finishedAt": (NOW - timedelta(hours=1)).isoformat(),
    }
    pod = _pod(
        "llm-0",
        "8",
        phase="Failed",
        containerStatuses=[{"name": "worker", "state": {"terminated": end}}],
    )
    pod["spec"]["nodeName"] = host_of(STALE)
    return pod


def _waiting_pod() -> dict[str, Any]:
    why = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
    }
    return _pod("llm-1", "8", phase="Pending", conditions=[why])


def _routine_pod() -> dict[str, Any]:
    return _pod("coredns", "", phase="Running")


def incident(world: World) -> IncidentReport:
    case = case_of(world, "The job crashed, what happened?")
    return incident_report(case, Asked(since="4h"), clock=NOW)


def audit(world: World) -> AuditReport:
    return audit_report(case_of(world), Asked(since="4h"), clock=NOW)


def preflight(world: World) -> PreflightReport:
    return preflight_report(case_of(world), RunWords(hours=48.0), clock=NOW)


def verdict(world: World) -> VerdictReport:
    return verdict_report(case_of(world), Asked(since="4h"), clock=NOW)


MODES: dict[str, Callable[[World], Report]] = {
    "verdict": verdict,
    "incident": incident,
    "audit": audit,
    "preflight": preflight,
}


def check(report: PreflightReport, name: str) -> Any:  # noqa: ANN401 (a check row)
    return next(one for one in report.checks if one.id == name)


def test_a_gauge_that_changed_is_a_ground_of_its_nodes_verdict_and_on_the_timeline() -> None:
    report = incident(busy_cluster())
    row = next(one for one in report.nodes if one.node == FAULTY)
    assert row.verdict is Verdict.REBOOT
    ground = row.grounds[0]
    assert (ground.source, ground.pci, ground.at) == ("dcgm_gauge", "0000:13:00", FELL_OFF)
    assert WORKSPACE in (ground.stream or "")
    told = [one for one in report.timeline if one.source == "dcgm_gauge"]
    assert [(one.node, one.at, one.what) for one in told] == [
        (FAULTY, FELL_OFF, "Xid 79 on 0000:13:00")
    ]


def test_a_gauge_that_only_stands_at_a_code_says_nothing_of_its_node() -> None:
    report = incident(busy_cluster())
    row = next(one for one in report.nodes if one.node == STALE)
    assert row.verdict is Verdict.NOT_OBSERVABLE
    assert not [one for one in report.timeline if "Xid 31" in one.what]


def test_idle_gpu_hours_of_hyperpod_are_reckoned_from_the_workspace() -> None:
    report = audit(busy_cluster())
    (row,) = report.lost.rows
    assert (row.node, row.cause, row.gpu_hours) == (IDLE, LostCause.IDLE, 32.0)
    assert row.basis.startswith("GPU utilisation, Maximum")
    used = {one.node: (one.idle, one.busy, one.unknown) for one in report.lost.used}
    assert used[FAULTY] == (0.0, 32.0, 0.0)


def test_engine_activity_is_a_share_of_one_and_read_as_percent() -> None:
    world = World(hyperpod())
    for node in NODES:
        world.series += gpus_of(node, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.8, start=START, end=NOW)
    report = audit(world)
    assert [(one.idle, one.busy) for one in report.lost.used] == [(0.0, 32.0)] * 4


def test_an_hour_that_lacks_samples_is_unknown_and_not_idle() -> None:
    world = World(hyperpod())
    for node in NODES:
        series = gpus_of(node, UTIL, 0, start=START, end=NOW)
        for one in series:
            kept = [(at, v) for at, v in one.points if not (at.hour == 10 and at.minute > 30)]
            world.series.append(Stored(one.metric, one.labels, kept))
    (used, *_) = audit(world).lost.used
    assert (used.idle, used.busy, used.unknown) == (3 * 8, 0.0, 8.0)


def test_what_cloudwatch_cannot_show_on_hyperpod_names_prometheus_until_it_is_read() -> None:
    def told(report: IncidentReport) -> list[str]:
        return [row.what for row in report.not_seen if "GPU activity" in row.what]

    (without,) = told(incident(World(hyperpod(), workspaces=())))
    assert "not observable in CloudWatch, Managed Prometheus may have it" in without
    assert told(incident(busy_cluster())) == []
    dark = audit(World(hyperpod(), workspaces=())).sight[0].witnesses
    seen = audit(busy_cluster()).sight[0].witnesses
    states = [next(w for w in own if w.what is Witness.GPU_ACTIVITY) for own in (dark, seen)]
    assert [one.state for one in states] == [Sight.NOT_OBSERVABLE, Sight.OBSERVABLE]
    assert "Managed Prometheus may have it" in states[0].because
    assert states[1].because == "utilisation of 8 of 8 GPUs"


def test_a_rise_of_efas_counters_is_an_episode_of_its_node() -> None:
    report = incident(busy_cluster())
    signals = [s for b in report.branches for s in b.signals if s.kind == "efa_errors"]
    assert [(s.node, s.at) for s in signals] == [(DROPPING, NOW - timedelta(hours=1))]
    assert "rx_drops" in signals[0].what


def test_temperatures_and_nodes_that_were_not_ready_are_told() -> None:
    report = incident(busy_cluster())
    assert any("highest GPU temperature" in s and DROPPING in s for s in report.outliers)
    down = [one for one in report.timeline if one.source == "kube-state-metrics"]
    assert [(one.node, one.at, one.until) for one in down] == [
        (FAULTY, NOW - timedelta(minutes=50), NOW - timedelta(minutes=20))
    ]


def test_what_the_training_operator_counted_is_told() -> None:
    counted = every_minute(START, NOW, lambda at: 3.0 if at >= FELL_OFF else 1.0)
    world = with_series(lambda _: True)
    world.series.append(Stored("training_fault_count", {"job_name": "llm"}, counted))
    (told,) = [s for s in incident(world).cluster_state if "training operator" in s]
    assert told == "training operator, all jobs of the workspace: about 2 faults"


def test_a_run_is_told_of_how_many_nodes_gpu_series_arrive() -> None:
    row = check(preflight(busy_cluster()), "P18")
    assert row.status is CheckStatus.PASS
    assert row.arithmetic == {"nodes_with_series": 4, "nodes": 4}
    world = with_series(lambda one: one.labels.get("Hostname") != host_of(IDLE))
    row = check(preflight(world), "P18")
    assert row.status is CheckStatus.RISK
    assert row.arithmetic == {"nodes_with_series": 3, "nodes": 4}
    row = check(preflight(with_series(lambda _: False)), "P18")
    assert (row.status, row.arithmetic) == (
        CheckStatus.RISK,
        {"nodes_with_series": 0, "nodes": 4},
    )


def test_series_that_stopped_an_hour_ago_do_not_arrive() -> None:
    world = World(hyperpod())
    for node in NODES:
        world.series += gpus_of(node, UTIL, 9, start=START, end=NOW - timedelta(hours=1))
    assert check(preflight(world), "P18").status is CheckStatus.RISK


def test_reserved_gpus_of_hyperpod_are_judged_by_the_workspace() -> None:
    row = check(preflight(busy_cluster()), "P9")
    assert row.status is CheckStatus.PASS
    assert row.arithmetic == {"idle_gpu_h": 192.0, "busy_gpu_h": 576.0, "unknown_gpu_h": 0.0}
    without = check(preflight(World(hyperpod(), workspaces=())), "P9")
    assert without.status is CheckStatus.UNVERIFIED
    assert "Prometheus" in (without.closes_with or "")


def test_labels_of_kubernetes_nodes_decide_verdicts_and_the_preflight() -> None:
    world = busy_cluster()
    assert incident(world).verdicts[DROPPING] is Verdict.REPLACE
    row = check(preflight(world), "P25")
    assert row.status is CheckStatus.FAIL


def test_pods_jobs_taints_and_events_are_told() -> None:
    report = incident(busy_cluster())
    state = "\n".join(report.cluster_state)
    assert "HyperPodPyTorchJob llm: Faulted since 2026-05-09T11:00:00Z (PodFailed" in state
    assert "pod llm-1 waits for 8 GPUs: 0/4 nodes are available" in state
    assert "taint sagemaker.amazonaws.com/node-health-status:NoSchedule on " + DROPPING in state
    told = [one.what for one in report.timeline if one.source == "kubernetes"]
    why = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
    assert told == [
        "HyperPodPyTorchJob llm became Faulted: PodFailed",
        f"FailedScheduling of Pod llm-1, 12 times: {why}",
    ]


def test_a_container_killed_for_memory_begins_the_failure_and_speaks_for_the_application() -> None:
    report = incident(busy_cluster())
    assert report.failure.at == NOW - timedelta(hours=1)
    assert report.failure.source == "job log kubernetes:ListPods"
    signals = [s for b in report.branches for s in b.signals if s.kind == "out_of_memory"]
    assert [(s.node, s.hypothesis_only) for s in signals] == [(STALE, True)]


def test_a_condition_that_is_false_and_should_be_begins_no_failure() -> None:
    world = busy_cluster()
    world.objects["ListPods"] = []
    assert incident(world).failure.at != datetime.fromisoformat("2026-05-06T12:00:00+00:00")


def test_what_waits_for_gpus_is_said_beside_the_spares() -> None:
    report = preflight_report(case_of(busy_cluster()), RunWords(hours=48.0, nodes=4), clock=NOW)
    row = check(report, "P20")
    assert "llm-1 waits for 8 GPUs" in str(row)


FAULTS = {
    "denied": ("AccessDeniedException", 403),
    "throttled": ("ThrottlingException", 429),
    "timed out": ("ReadTimeoutError", 0),
    "no connection": ("ConnectTimeout", 0),
    "expired": ("ExpiredTokenException", 403),
    "unreachable": ("ServiceUnavailable", 503),
    "refused": ("bad_data", 400),
    "not found": ("ResourceNotFoundException", 404),
    "not let in": ("Unauthorized", 401),
    "forbidden": ("Forbidden", 403),
    "too large": ("AnswerTooLarge", 200),
    "elsewhere": ("Redirected", 302),
}
SHOWN = {
    "refused": "bad_data",
    "not found": "ResourceNotFoundException",
    "no connection": Reason.TIMED_OUT,
    "timed out": Reason.TIMED_OUT,
    "not let in": Reason.DENIED,
    "forbidden": Reason.DENIED,
    "too large": Reason.ROW_CAP,
    "elsewhere": Reason.REFUSED,
}
# What a fault is called matters to no mode but in its list of what was not seen: the quickest
# mode has them all, the others those that differ in kind.
WORDS = {
    "incident": ("denied", "refused", "no connection"),
    "audit": ("denied", "too large"),
    "preflight": ("denied",),
}
WEIGHT = [
    *(Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED, Verdict.MONITOR),
    *(Verdict.NOT_OBSERVABLE, Verdict.LEAVE_ALONE),
]


@cache
def whole(mode: str) -> tuple[Report, frozenset[str]]:
    """Return a mode's report where nothing fails, and what it asked."""
    world = busy_cluster()
    return MODES[mode](world), frozenset(operation for operation, _ in world.asked)


def measured(report: Report) -> dict[Any, int]:
    return {(row.node, row.group, row.stream): row.hours_measured for row in report.coverage}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", sorted({*OTHER_READS, "amp:ListWorkspaces"}))
def test_whatever_fails_a_report_comes_and_names_it(mode: str, operation: str) -> None:
    best, asked = whole(mode)
    if operation not in asked:
        return
    for word in WORDS.get(mode, FAULTS):
        error = FAULTS[word]
        world = busy_cluster(errors={operation: error})
        report = MODES[mode](world)
        named = [row for row in report.not_seen if operation in row.what]
        shown = SHOWN.get(word, word)
        assert any(r.reason == shown and r.closes_with for r in named), (word, named)
        enlarged = {k: n for k, n in measured(report).items() if n > measured(best).get(k, 0)}
        assert enlarged == {}, word
        milder = {
            node: v
            for node, v in report.verdicts.items()
            if WEIGHT.index(v) > WEIGHT.index(best.verdicts[node])
        }
        assert not milder or named, (word, milder)
        if isinstance(report, PreflightReport) and isinstance(best, PreflightReport):
            assert _better(report, best) == [], word


def _better(report: PreflightReport, best: PreflightReport) -> list[str]:
    fine = {CheckStatus.PASS, CheckStatus.NOT_APPLICABLE}
    before = {one.id: one.status for one in best.checks}
    return [
        f"{one.id}: {before[one.id]} became {one.status}"
        for one in report.checks
        if one.status in fine and before[one.id] not in fine
    ]


@pytest.mark.parametrize("mode", MODES)
def test_taking_all_of_it_away_leaves_a_report_that_names_both_doors(mode: str) -> None:
    denied = dict.fromkeys({*OTHER_READS, "amp:ListWorkspaces"}, ("AccessDeniedException", 403))
    report = MODES[mode](busy_cluster(errors=denied))
    told = " ".join(row.what for row in report.not_seen)
    assert "amp:ListWorkspaces" in told
    assert "kubernetes:ListNodes" in told


def test_a_question_asks_a_workspace_a_few_dozen_times_whatever_the_number_of_nodes() -> None:
    world = busy_cluster()
    incident(world)
    assert world.count("prometheus:") <= 50
    assert world.count("kubernetes:") == 4
    keys = [(op, str(params)) for op, params in world.asked if op.startswith("prometheus:")]
    assert len(keys) == len(set(keys))  # each read of the account is made once


def test_nothing_is_asked_of_a_workspace_that_is_not_there() -> None:
    world = World(hyperpod(), workspaces=())
    incident(world)
    assert world.count("prometheus:") == 0


def test_a_case_without_such_a_recording_asks_neither_door() -> None:
    case: Case = case_of(busy_cluster())
    assert case.doors == {"prometheus", "kubernetes"}

"""What to watch of the training operator: a ServiceMonitor and alerts over its seven metrics.

The metrics and their port are AWS's; their types are not documented. `_total` is read as a
counter, the two latencies as gauges of unknown unit, so alerts compare them with themselves.
"""

from typing import NamedTuple

from gpuvet.model.log_monitor import RestartPolicy

_PREFIX = "hyperpod_training_operator_jobs_"
_LOOP_RESTARTS = 3  # this many in half an hour is a crash loop
_LOOP_MINUTES = 30


class Alert(NamedTuple):
    """One alert rule."""

    name: str
    query: str
    hold: str
    severity: str
    text: str


QUERIES = (
    ("jobs run in a day", f"increase({_PREFIX}created_total[1d])"),
    ("restart latency against its week", f"{_PREFIX}restart_latency"),
    ("fault detection latency against its week", f"{_PREFIX}fault_detection_latency"),
    ("jobs deleted in an hour", f"increase({_PREFIX}deleted_total[1h])"),
    ("jobs completed in a day", f"increase({_PREFIX}successful_total[1d])"),
    ("jobs failed in an hour", f"increase({_PREFIX}failed_total[1h])"),
    ("automatic restarts in half an hour", f"increase({_PREFIX}restarted_total[30m])"),
)


def alerts(policy: RestartPolicy, shortest_cutoff: int | None) -> tuple[Alert, ...]:
    """Return the alerts, the crash loop one fitted to the job's budget.

    Args:
        policy: The restart budget of the job.
        shortest_cutoff: Its smallest expectedStartCutOffInSeconds, in seconds.
    """
    return (
        Alert(
            "HyperPodJobFailed",
            f"increase({_PREFIX}failed_total[15m]) > 0",
            "0m",
            "page",
            "A training job failed: its restart budget is used up, or it cannot start.",
        ),
        _crash_loop(policy, shortest_cutoff),
        *_of_any_job(),
        _slower("HyperPodSlowRestarts", "restart_latency", "Restarts take"),
        _slower("HyperPodSlowFaultDetection", "fault_detection_latency", "Fault detection takes"),
        Alert(
            "HyperPodOperatorNotSeen",
            f"absent({_PREFIX}created_total)",
            "10m",
            "page",
            "No series at all: the operator or its scrape is down.",
        ),
    )


def _crash_loop(policy: RestartPolicy, shortest_cutoff: int | None) -> Alert:
    restarts = min(_LOOP_RESTARTS, (policy.restarts_before_full or _LOOP_RESTARTS) + 1)
    cycle = (shortest_cutoff or 600) + 120  # a start that trips, and the restart behind it
    minutes = max(_LOOP_MINUTES, -(-cycle * restarts // 60))
    return Alert(
        "HyperPodCrashLoop",
        f"increase({_PREFIX}restarted_total[{minutes}m]) >= {restarts}",
        "0m",
        "page",
        f"{restarts} restarts in {minutes} min. A period equal to a start cut-off points at "
        "log monitors that trip at every start: gpuvet spec explain HPJ134",
    )


def _of_any_job() -> tuple[Alert, ...]:
    """Return the alerts on rates over a day or a burst, for whoever looks in the morning."""
    return (
        Alert(
            "HyperPodRestartsAboveNormal",
            f"increase({_PREFIX}restarted_total[1d]) "
            f"/ clamp_min(increase({_PREFIX}created_total[1d]), 1) > 5",
            "1h",
            "ticket",
            "More than five restarts for each job started today.",
        ),
        Alert(
            "HyperPodNothingCompletes",
            f"increase({_PREFIX}created_total[1d]) > 0 "
            f"and increase({_PREFIX}successful_total[1d]) == 0",
            "1h",
            "ticket",
            "Jobs were started for a day and none was completed.",
        ),
        Alert(
            "HyperPodJobsDeletedInBurst",
            f"increase({_PREFIX}deleted_total[10m]) > 10",
            "0m",
            "ticket",
            "Many jobs were deleted at once.",
        ),
    )


def _slower(name: str, metric: str, what: str) -> Alert:
    series = f"{_PREFIX}{metric}"
    return Alert(
        name,
        f"{series} > 2 * quantile_over_time(0.5, {series}[7d])",
        "30m",
        "ticket",
        f"{what} twice as long as in the median of the week (the unit is not documented).",
    )


def observe_yaml(policy: RestartPolicy, shortest_cutoff: int | None) -> str:
    """Return both objects as YAML; queries for a dashboard stand in comments."""
    queries = "".join(f"#   {what}:\n#     {query}\n" for what, query in QUERIES)
    rules = "".join(_rule(alert) for alert in alerts(policy, shortest_cutoff))
    return f"""\
# One of each serves the whole cluster: keep this in a file of its own.
# Queries:
{queries}apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: hyperpod-training-operator
  namespace: aws-hyperpod
spec:
  namespaceSelector:
    matchNames: [aws-hyperpod]
  selector: {{}}  # every Service of the namespace that has the port
  endpoints:
    - targetPort: 8081
      path: /metrics
      interval: 15s
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: hyperpod-training-operator
  namespace: aws-hyperpod
spec:
  groups:
    - name: hyperpod-training-operator
      rules:
{rules}"""


def _rule(alert: Alert) -> str:
    return (
        f"        - alert: {alert.name}\n"
        f"          expr: {alert.query}\n"
        f"          for: {alert.hold}\n"
        f"          labels: {{severity: {alert.severity}}}\n"
        "          annotations:\n"
        f"            summary: '{alert.text}'\n"
    )

"""HPJ080 to HPJ094: retries, restart budget, deadlines, and Kueue."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit, renamed
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import Field, JobSpec

RESTART_SECONDS = 120  # assumed cost of a restart beside the cut-off
_LONG_START_SECONDS = 900  # image pull and start of big images
_QUEUE = "kueue.x-k8s.io/queue-name"
_PRIORITY = "kueue.x-k8s.io/priority-class"
_TOPOLOGY = (
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-required-topology",
)
_LAYERS = (
    "topology.k8s.aws/ultraserver-id",
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
)
_TEAM_NAMESPACE = re.compile(r"hyperpod-ns-(.+)\Z")
_TEAM_QUEUE = re.compile(r"hyperpod-ns-(.+)-localqueue\Z")


def _budget(job: JobSpec) -> tuple[Field, Field, Field, Field]:
    policy = job.run_policy.at("restartPolicy")
    return (
        job.run_policy.at("jobMaxRetryCount"),
        policy.at("numRestartBeforeFullJobRestart"),
        policy.at("maxFullJobRestarts"),
        policy.at("evalPeriodSeconds"),
    )


def no_retry_count(job: JobSpec) -> Iterator[Hit]:
    """No limit on retries is written."""
    field = job.run_policy.at("jobMaxRetryCount")
    if not field.present:
        yield Hit(field, "no jobMaxRetryCount" if job.run_policy.present else "no runPolicy")


def full_restart_never_reached(job: JobSpec) -> Iterator[Hit]:
    """Fewer retries than restarts before a full one."""
    retries, before_full, _, _ = _budget(job)
    if retries.integer is not None and retries.integer < (before_full.integer or 0):
        yield Hit(
            retries,
            f"jobMaxRetryCount {retries.integer} is below "
            f"numRestartBeforeFullJobRestart {before_full.integer}",
        )


def no_escalation(job: JobSpec) -> Iterator[Hit]:
    """A budget without full restarts, or with nothing else."""
    _, before_full, full, _ = _budget(job)
    if full.integer == 0:
        yield Hit(full, "maxFullJobRestarts is 0: a bad node can never be left")
    if before_full.integer == 0:
        yield Hit(before_full, "numRestartBeforeFullJobRestart is 0: every fault is a full restart")


def monitors_without_retries(job: JobSpec) -> Iterator[Hit]:
    """Monitors in a job that may not restart."""
    retries = job.run_policy.at("jobMaxRetryCount")
    if retries.integer == 0 and job.rules:
        yield Hit(retries, f"jobMaxRetryCount is 0 with {len(job.rules)} log monitors")


def unreachable_retries(job: JobSpec) -> Iterator[Hit]:
    """More retries than one window can hold."""
    retries, before_full, full, _ = _budget(job)
    if retries.integer is None or before_full.integer is None or full.integer is None:
        return
    most = (before_full.integer + 1) * (full.integer + 1) - 1
    if retries.integer > most:
        yield Hit(
            retries,
            f"jobMaxRetryCount {retries.integer} cannot be reached in one window: "
            f"after {most} restarts restartPolicy ends the job",
        )


def window_too_short(job: JobSpec) -> Iterator[Hit]:
    """A window that ends before the failures in it can escalate."""
    _, before_full, _, window = _budget(job)
    cutoffs = [rule.cutoff.integer for rule in job.rules if rule.cutoff.integer]
    if before_full.integer is None or window.integer is None or not cutoffs:
        return
    needed = (before_full.integer + 1) * (min(cutoffs) + RESTART_SECONDS)
    if window.integer < needed:
        yield Hit(
            window,
            f"evalPeriodSeconds {window.integer}; {before_full.integer + 1} failures at the start "
            f"take about {needed} s",
            fix=f"write more than {needed}",
        )


def logs_vanish(job: JobSpec) -> Iterator[Hit]:
    """Pods and their logs removed at the end."""
    field = job.run_policy.at("cleanPodPolicy")
    if not field.present or field.words == "All":
        yield Hit(
            field, "cleanPodPolicy is All" if field.present else "cleanPodPolicy defaults to All"
        )


def uncertain_ttl(job: JobSpec) -> Iterator[Hit]:
    """A time to live of 0, written or by default."""
    field = job.run_policy.at("ttlSecondsAfterFinished")
    if not field.present or field.integer == 0:
        yield Hit(field, "ttlSecondsAfterFinished is 0" + " by default" * (not field.present))


def deadline_too_short(job: JobSpec) -> Iterator[Hit]:
    """A deadline before the job can have started."""
    cutoffs = [rule.cutoff.integer or 0 for rule in job.rules]
    least = max([_LONG_START_SECONDS, *cutoffs])
    for key in ("activeDeadlineSeconds", "startupDeadlineSeconds"):
        field = job.run_policy.at(key)
        if field.integer is not None and 0 < field.integer < least:
            yield Hit(field, f"{key} {field.integer}, a start may take {least} s")


def suspended(job: JobSpec) -> Iterator[Hit]:
    """A job that waits for somebody to release it."""
    field = job.run_policy.at("suspend")
    if field.boolean is True:
        yield Hit(field, "suspend: true")


def _queue(job: JobSpec) -> Field:
    return job.metadata.at("labels", _QUEUE)


def spares_without_queue(job: JobSpec) -> Iterator[Hit]:
    """Spares in a job that Kueue does not see."""
    for each in job.replica_sets:
        spares = each.field.at("spares")
        if (spares.integer or 0) > 0 and not _queue(job).present:
            yield Hit(spares, f"{spares.integer} spares without label {_QUEUE}")


def kueue_does_not_see(job: JobSpec) -> Iterator[Hit]:
    """A queue label Kueue will not find."""
    labels = job.metadata.at("labels")
    queue, priority = _queue(job), labels.at(_PRIORITY)
    if queue.node is not None and (queue.words or "") == "":
        yield Hit(queue, f"{_QUEUE} is empty")
    if queue.node is None and priority.present:
        yield Hit(priority, f"{_PRIORITY} without {_QUEUE}", at_key=True)
    elsewhere = [job.metadata.at("annotations", _QUEUE)]
    elsewhere += [
        each.field.at("template", "metadata", kind, _QUEUE)
        for each in job.replica_sets
        for kind in ("labels", "annotations")
    ]
    for field in elsewhere:
        if field.present and queue.node is None:
            yield Hit(field, f"{_QUEUE} stands there and not among the job's labels", at_key=True)
    for key, field in labels.members:
        right = _misspelled(key)
        if right and not labels.at(right).present:
            yield Hit(
                field,
                f"label {key!r} means {right}?",
                fix=f"write {right}",
                at_key=True,
                edits=renamed(field, right),
            )


def _misspelled(key: str) -> str | None:
    """Return the Kueue label that a key of another spelling means."""
    if key in {_QUEUE, _PRIORITY}:
        return None
    plain = re.sub(r"[^a-z]", "", key.lower())
    if "kueue" not in plain:
        return None
    if "queuename" in plain or plain.endswith("localqueue"):
        return _QUEUE
    return _PRIORITY if "priorityclass" in plain else None


def queue_of_another_team(job: JobSpec) -> Iterator[Hit]:
    """A team's queue in another namespace."""
    namespace, queue = job.metadata.at("namespace"), _queue(job)
    if namespace.text is None or queue.text is None:
        return
    team, queue_team = _TEAM_NAMESPACE.match(namespace.text), _TEAM_QUEUE.match(queue.text)
    if queue_team and (team is None or team[1] != queue_team[1]):
        yield Hit(
            queue,
            f"queue {queue.text} in namespace {namespace.text}",
            fix=f"write {namespace.text}-localqueue, or namespace hyperpod-ns-{queue_team[1]}",
        )


def bad_topology(job: JobSpec) -> Iterator[Hit]:
    """A topology annotation Kueue cannot use."""
    owners = [job.metadata, *(each.field.at("template", "metadata") for each in job.replica_sets)]
    for owner in owners:
        fields = [owner.at("annotations", key) for key in _TOPOLOGY]
        for field in fields:
            if field.present and not field.is_token and field.words not in _LAYERS:
                yield Hit(field, f"{field.words!r} is no topology level")
        if all(field.present for field in fields):
            yield Hit(fields[1], "both preferred and required topology", at_key=True)


def many_spares(job: JobSpec) -> Iterator[Hit]:
    """As many spares as pods, or more than the quota."""
    for each in job.replica_sets:
        spares, replicas = each.field.at("spares"), each.field.at("replicas")
        if not spares.integer or replicas.integer is None:
            continue
        total, quota = replicas.integer + spares.integer, job.context.quota_pods
        if 0 < replicas.integer <= spares.integer:
            yield Hit(spares, f"{spares.integer} spares for {replicas.integer} pods")
        elif quota is not None and total > quota:
            yield Hit(spares, f"{total} pods with spares, the quota is {quota}")


CHECKS = (
    Check(
        "HPJ080",
        "no-retry-count",
        Severity.ADVICE,
        "Whether no value means no retries or endless ones is not documented.",
        "set jobMaxRetryCount",
        "HyperPod CLI model of the CRD",
        no_retry_count,
    ),
    Check(
        "HPJ081",
        "full-restart-never-reached",
        Severity.WARNING,
        "The job ends before its first full restart: a bad node is never left.",
        "raise jobMaxRetryCount",
        "AWS: using the HyperPod training operator; inferred",
        full_restart_never_reached,
    ),
    Check(
        "HPJ082",
        "no-escalation",
        Severity.WARNING,
        "The restart budget has only one kind of restart.",
        "3 and 1 are AWS's own values",
        "inferred",
        no_escalation,
    ),
    Check(
        "HPJ083",
        "monitors-without-retries",
        Severity.WARNING,
        "A monitor that trips then only ends the job.",
        "raise jobMaxRetryCount",
        "AWS: using the HyperPod training operator",
        monitors_without_retries,
    ),
    Check(
        "HPJ084",
        "retries-beyond-window",
        Severity.ADVICE,
        "restartPolicy bites first; the number only counts over several windows.",
        "nothing to do",
        "AWS: using the HyperPod training operator; inferred",
        unreachable_retries,
    ),
    Check(
        "HPJ085",
        "window-too-short",
        Severity.WARNING,
        "The counters reset before they escalate: an endless restart loop.",
        "lengthen evalPeriodSeconds",
        "inferred",
        window_too_short,
    ),
    Check(
        "HPJ086",
        "logs-vanish",
        Severity.ADVICE,
        "Pods and their stdout are gone when the job ends, unless logs are shipped.",
        "None or OnlyComplete, or ship the logs",
        "AWS: using the HyperPod training operator",
        logs_vanish,
    ),
    Check(
        "HPJ087",
        "uncertain-ttl",
        Severity.ADVICE,
        "Whether 0 deletes at once or never is not documented.",
        "set it; -1 keeps",
        "HyperPod CLI model of the CRD",
        uncertain_ttl,
    ),
    Check(
        "HPJ088",
        "deadline-too-short",
        Severity.WARNING,
        "The job ends before it starts.",
        "lengthen it",
        "HyperPod CLI model of the CRD",
        deadline_too_short,
    ),
    Check(
        "HPJ089",
        "suspended",
        Severity.WARNING,
        "Without Kueue the job never starts; with Kueue, Kueue sets the field.",
        "remove it",
        "HyperPod CLI model of the CRD",
        suspended,
    ),
    Check(
        "HPJ090",
        "spares-without-queue",
        Severity.ERROR,
        "Spares need Kueue: AWS documents that the job fails without.",
        f"add the label {_QUEUE}",
        "AWS: using the HyperPod training operator",
        spares_without_queue,
    ),
    Check(
        "HPJ091",
        "kueue-does-not-see",
        Severity.WARNING,
        "Kueue ignores the job: no quota, no priority.",
        f"put {_QUEUE} among metadata.labels",
        "Kueue; HyperPod CLI template 1.0",
        kueue_does_not_see,
    ),
    Check(
        "HPJ092",
        "queue-of-another-team",
        Severity.WARNING,
        "A LocalQueue belongs to its namespace: the job is never admitted.",
        "align namespace and queue",
        "AWS: installing the HyperPod training operator",
        queue_of_another_team,
    ),
    Check(
        "HPJ093",
        "bad-topology",
        Severity.ERROR,
        "The CLI refuses it, Kueue ignores it.",
        f"one annotation, one of {', '.join(_LAYERS)}",
        "HyperPod CLI template 1.1",
        bad_topology,
    ),
    Check(
        "HPJ094",
        "many-spares",
        Severity.WARNING,
        "The job reserves more than it runs.",
        "lower spares",
        "HyperPod CLI model of the CRD",
        many_spares,
    ),
)

"""HPJ100 to HPJ107: elastic training."""

from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import JobSpec

_SAVE_SECONDS = 60  # a checkpoint takes longer than this
_SIGNAL = "HYPERPOD_SIGNAL_COORDINATION"


def step_and_values(job: JobSpec) -> Iterator[Hit]:
    """Both ways to name the sizes."""
    step = job.elastic.at("replicaIncrementStep")
    values = job.elastic.at("replicaDiscreteValues")
    if step.present and values.present:
        yield Hit(
            values, "replicaIncrementStep and replicaDiscreteValues are both set", at_key=True
        )


def outside_bounds(job: JobSpec) -> Iterator[Hit]:
    """Bounds in the wrong order, or replicas outside them."""
    least, most = job.elastic.at("minReplicas").integer, job.elastic.at("maxReplicas").integer
    if least is not None and most is not None and least > most:
        yield Hit(job.elastic.at("minReplicas"), f"minReplicas {least} above maxReplicas {most}")
        return
    total = job.total_replicas
    if not job.elastic.present or not job.replica_sets or not total:
        return
    if (least is not None and total < least) or (most is not None and total > most):
        bounds = f"{least if least is not None else 'any'} to {most if most is not None else 'any'}"
        yield Hit(job.replica_sets[0].field.at("replicas"), f"{total} replicas, bounds {bounds}")


def impossible_sizes(job: JobSpec) -> Iterator[Hit]:
    """Sizes that can never be."""
    least, most = job.elastic.at("minReplicas").integer, job.elastic.at("maxReplicas").integer
    for item in job.elastic.at("replicaDiscreteValues").items:
        value = item.integer
        if value is None:
            continue
        if value <= 0:
            yield Hit(item, f"size {value}")
        elif most is not None and value > most:
            yield Hit(item, f"size {value} above maxReplicas {most}")
        elif least is not None and value < least:
            yield Hit(item, f"size {value} below minReplicas {least}")
    step = job.elastic.at("replicaIncrementStep")
    if step.integer is not None and step.integer < 1:
        yield Hit(step, f"replicaIncrementStep {step.integer}")


def maxima_disagree(job: JobSpec) -> Iterator[Hit]:
    """The groups' maxima do not add up to the job's."""
    maxima = [each.field.at("maxReplicas") for each in job.replica_sets]
    written = [field for field in maxima if field.present]
    if not written:
        return
    if not job.elastic.present:
        yield Hit(written[0], "maxReplicas without elasticPolicy", at_key=True)
        return
    most = job.elastic.at("maxReplicas").integer
    counts = [
        field.integer if field.present else each.field.at("replicas").integer or 0
        for field, each in zip(maxima, job.replica_sets, strict=True)
    ]
    if most is None or None in counts:
        return
    total = sum(count for count in counts if count is not None)
    if total != most:
        yield Hit(written[0], f"maxReplicas {total}, elasticPolicy.maxReplicas {most}")


def unreachable_top(job: JobSpec) -> Iterator[Hit]:
    """Steps that jump over the maximum."""
    least, most = job.elastic.at("minReplicas").integer, job.elastic.at("maxReplicas").integer
    step = job.elastic.at("replicaIncrementStep")
    if least is None or most is None or not step.integer or step.integer < 1 or least > most:
        return
    if (most - least) % step.integer:
        top = least + (most - least) // step.integer * step.integer
        yield Hit(step, f"steps of {step.integer} from {least} reach {top}, not {most}")


def little_time_to_save(job: JobSpec) -> Iterator[Hit]:
    """A short or missing graceful shutdown."""
    if not job.elastic.present:
        return
    field = job.elastic.at("gracefulShutdownTimeoutInSeconds")
    if not field.present:
        yield Hit(field, "no gracefulShutdownTimeoutInSeconds")
    elif field.integer is not None and field.integer < _SAVE_SECONDS:
        yield Hit(field, f"gracefulShutdownTimeoutInSeconds {field.integer}")


def events_never_seen(job: JobSpec) -> Iterator[Hit]:
    """The script cannot see an elastic event."""
    if not job.elastic.present:
        return
    for _, container in job.trainers():
        is_token = any(env.name == _SIGNAL and env.value.is_token for env in container.env)
        value = container.env_value(_SIGNAL)
        if value != "distributed" and not is_token and _SIGNAL not in container.launch.shell_text:
            what = f"{_SIGNAL} is {value!r}" if value else f"no env {_SIGNAL}"
            yield Hit(container.field.at("env"), what)


def resizes_look_like_hangs(job: JobSpec) -> Iterator[Hit]:
    """Elastic without Kueue, or with cut-offs shorter than a resize."""
    if not job.elastic.present:
        return
    if not job.metadata.at("labels", "kueue.x-k8s.io/queue-name").present:
        yield Hit(job.elastic, "elastic job without a Kueue queue", at_key=True)
    resize = (job.elastic.at("scalingTimeoutInSeconds").integer or 0) + (
        job.elastic.at("gracefulShutdownTimeoutInSeconds").integer or 0
    )
    for rule in job.rules:
        cutoff = rule.cutoff.integer
        if cutoff is not None and cutoff < resize:
            yield Hit(rule.cutoff, f"{rule.name}: cut-off {cutoff} s, a resize takes {resize} s")


CHECKS = (
    Check(
        "HPJ100",
        "step-and-values",
        Severity.ERROR,
        "The two exclude each other; AWS's own sample sets both.",
        "keep one",
        "HyperPod CLI validators; AWS: elastic training",
        step_and_values,
    ),
    Check(
        "HPJ101",
        "outside-bounds",
        Severity.ERROR,
        "The job cannot have that size.",
        "align replicas, minReplicas and maxReplicas",
        "AWS: elastic training",
        outside_bounds,
    ),
    Check(
        "HPJ102",
        "impossible-size",
        Severity.ERROR,
        "The job can never have that size.",
        "write sizes between minReplicas and maxReplicas, steps of 1 or more",
        "HyperPod CLI validators",
        impossible_sizes,
    ),
    Check(
        "HPJ103",
        "maxima-disagree",
        Severity.WARNING,
        "AWS documents that the groups' maxima must match the job's.",
        "align the two",
        "AWS: elastic training",
        maxima_disagree,
    ),
    Check(
        "HPJ104",
        "unreachable-top",
        Severity.WARNING,
        "The largest size is never reached.",
        "make the difference a multiple of the step",
        "AWS: elastic training",
        unreachable_top,
    ),
    Check(
        "HPJ105",
        "little-time-to-save",
        Severity.WARNING,
        "The workers are stopped before their checkpoint is written.",
        "allow the time a checkpoint takes",
        "AWS: elastic training",
        little_time_to_save,
    ),
    Check(
        "HPJ106",
        "events-never-seen",
        Severity.WARNING,
        "elastic_event_detected() stays False, unless the operator injects it (not known).",
        f"set env {_SIGNAL}=distributed",
        "elastic agent 1.1",
        events_never_seen,
    ),
    Check(
        "HPJ107",
        "resize-looks-like-hang",
        Severity.WARNING,
        "Every resize restarts the rules, and their clocks run while it lasts.",
        "raise the cut-off above both timeouts; add a queue",
        "AWS: elastic training",
        resizes_look_like_hangs,
    ),
)

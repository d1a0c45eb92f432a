"""HPJ134 to HPJ139, HPJ141, HPJ158: when a rule is active and how long it waits."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.monitor_facts import (
    can_fire,
    is_checkpoint_rule,
    sees_same_lines,
    tree_of,
)
from gpuvet.checks.spec.pod_facts import mentions_accelerator
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import Argument, JobSpec, Rule
from gpuvet.simulate.regex_shape import GAP, anywhere, can_be_empty

_MULTI_NODE_START = 300  # seconds; scheduling aside, NCCL set-up and data take minutes


_LEAST_START = 60


_LEAST_GAP = 30


_SAFE_GAP = 300


_PAUSES = re.compile(
    r"(?:^|_)(?:val|validation|eval|evaluation|checkpoint|ckpt|save)(?:ing)?_"
    r"(?:\w+_)?(?:freq|frequency|every|interval|steps?|strategy|period|iters?|n_steps)"
)


_SAVE_INTERVAL = re.compile(r"(?:checkpoint|ckpt|save)")


_UNITS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "m": 60, "hour": 3600, "h": 3600}


_END = re.compile(
    r"(?:train\w*|job|run|fit\w*|process|experiment|main|loop)(?:[ _]\w+){0,3}[ _]"
    r"(?:complet|finish|done|end|over|stopp)"
    r"|(?:finish|complet|end|done)\w*(?:[ _]\w+){0,3}[ _](?:train|job|run|experiment)"
    r"|final|last|all[ _](?:epochs|steps|batches)|max[ _-]?(?:steps|epochs|iter)|exiting"
)


_IN_BETWEEN = re.compile(
    r"checkpoint|ckpt|\bsav(?:ed|ing)|\beval|validat|epoch|step|batch|iter(?:ation)?\b"
)


_AT_START = re.compile(
    r"start(?:ed|ing)|loading|loaded|initiali[sz]|configuration|experiment|begin|warming"
)


def start_too_short(job: JobSpec) -> Iterator[Hit]:
    """A start cut-off no real start meets."""
    has_accelerator = any(mentions_accelerator(container) for _, container in job.trainers())
    is_big = job.is_multi_node and has_accelerator
    least = _MULTI_NODE_START if is_big else _LEAST_START
    for rule in job.rules:
        seconds = rule.cutoff.number
        if seconds is not None and 0 < seconds < least:
            kind = "a multi-node GPU job" if is_big else "any job"
            yield Hit(rule.cutoff, f"{rule.name}: start cut-off {seconds:g} s for {kind}")


def gap_too_short(job: JobSpec) -> Iterator[Hit]:
    """A recurrence shorter than a normal gap."""
    for rule in job.rules:
        seconds = rule.recurrence.number
        if job.is_multi_node and seconds is not None and 0 < seconds < _LEAST_GAP:
            yield Hit(rule.recurrence, f"{rule.name}: recurrence {seconds:g} s on several nodes")


def silence_from_start(job: JobSpec) -> Iterator[Hit]:
    """A recurrence that nothing starts."""
    for rule in job.rules:
        if not rule.recurrence.present or rule.cutoff.present:
            continue
        others = (other for other in job.rules if other.cutoff.present and other != rule)
        if not any(sees_same_lines(rule, other) for other in others):
            yield Hit(
                rule.recurrence,
                f"{rule.name}: no expectedStartCutOffInSeconds on this line in any rule",
                at_key=True,
            )


def gap_above_start(job: JobSpec) -> Iterator[Hit]:
    """A recurrence longer than the cut-off."""
    for rule in job.rules:
        gap, start = rule.recurrence.number, rule.cutoff.number
        if gap is not None and start is not None and gap > start:
            yield Hit(
                rule.recurrence,
                f"{rule.name}: recurrence {gap:g} s above start cut-off {start:g} s",
            )


def _pauses(job: JobSpec) -> list[str]:
    """Return the options that say training pauses: evaluation, checkpoints, a script behind it."""
    names = [
        f"--{argument.name}"
        for _, container in job.trainers()
        for argument in container.launch.arguments
        if _PAUSES.search(argument.name.lower()) or argument.name == "post_train_script"
    ]
    return list(dict.fromkeys(names))


def pauses_look_like_hangs(job: JobSpec) -> Iterator[Hit]:
    """A step rule without a stopPattern beside pauses."""
    pauses = _pauses(job)
    if not pauses:
        return
    for rule in job.rules:
        if not rule.recurrence.present or rule.stop.present or is_checkpoint_rule(rule):
            continue
        gap = rule.recurrence.number
        is_bad = "--post_train_script" in pauses or (gap is not None and gap < _SAFE_GAP)
        yield Hit(
            rule.recurrence,
            f"{rule.name}: no stopPattern beside {', '.join(pauses[:3])}",
            milder=None if is_bad else Severity.ADVICE,
        )


def stops_too_early(job: JobSpec) -> Iterator[Hit]:
    """A stopPattern of normal operation."""
    for rule in job.rules:
        stop = tree_of(rule.stop)
        if stop is None or can_be_empty(stop.tree):
            continue
        text = anywhere(stop.tree).lower()
        if _END.search(text.replace(GAP, " ")):
            continue
        for words, when in ((_IN_BETWEEN, "while training goes on"), (_AT_START, "at the start")):
            if words.search(text):
                yield Hit(rule.stop, f"{rule.name}: stopPattern is printed {when}")
                break


def never_fires(job: JobSpec) -> Iterator[Hit]:
    """A rule that cannot trip."""
    for rule in job.rules:
        if not can_fire(rule):
            yield Hit(
                rule.field.at("name"),
                f"{rule.name} can never fire: no expectedStartCutOffInSeconds, no "
                "expectedRecurringFrequencyInSeconds, no complete metric, no faultOnMatch",
            )


def checkpoint_gap_too_short(job: JobSpec) -> Iterator[Hit]:
    """A checkpoint rule that waits less than the interval."""
    intervals = [
        (argument, seconds)
        for _, container in job.trainers()
        for argument in container.launch.arguments
        if (seconds := _save_seconds(argument)) is not None
    ]
    for rule in job.rules:
        if not is_checkpoint_rule(rule):
            continue
        for argument, seconds in intervals:
            yield from _shorter_than(rule, argument, seconds)


def _shorter_than(rule: Rule, argument: Argument, seconds: float) -> Iterator[Hit]:
    for field, what in ((rule.recurrence, "recurrence"), (rule.cutoff, "start cut-off")):
        if field.number is not None and field.number < seconds:
            yield Hit(
                field,
                f"{rule.name}: {what} {field.number:g} s, --{argument.name} says {seconds:g} s",
                fix=f"write {2 * seconds:g} or more",
            )


def _save_seconds(argument: Argument) -> float | None:
    """Return a checkpoint interval that is given in units of time."""
    name = argument.name.lower()
    if not _SAVE_INTERVAL.search(name) or "timeout" in name:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(s|sec|m|min|h)?", argument.value or "")
    unit = re.search(r"_(s|sec|second|min|minute|hour)s?\Z", name)
    if match is None or not (match[2] or unit):
        return None
    return float(match[1]) * _UNITS[match[2] or (unit[1] if unit else "s")]


CHECKS = (
    Check(
        "HPJ134",
        "start-too-short",
        Severity.WARNING,
        "A false HANGING at every start: a crash loop. A pre-train script counts, image pull not.",
        "300 s or more on several nodes; measure it with gpuvet spec suggest",
        "AWS samples of 60 to 1800 s; elastic agent 1.1",
        start_too_short,
    ),
    Check(
        "HPJ135",
        "gap-too-short",
        Severity.WARNING,
        "A normal pause reads as HANGING.",
        "three times the slowest step, checkpoints and evaluation included",
        "AWS samples of 5 and 10 s",
        gap_too_short,
    ),
    Check(
        "HPJ136",
        "silence-from-start",
        Severity.WARNING,
        "The gap is measured between two matches: a job that never logs is never caught.",
        "add expectedStartCutOffInSeconds",
        "elastic agent 1.1",
        silence_from_start,
    ),
    Check(
        "HPJ137",
        "gap-above-start",
        Severity.ADVICE,
        "Normally the first line is the slow one.",
        "check the two numbers",
        "inferred",
        gap_above_start,
    ),
    Check(
        "HPJ138",
        "pause-looks-like-hang",
        Severity.WARNING,
        "Evaluation, a checkpoint or the end of training reads as HANGING.",
        "allow for the pause, and stop on the last line of training",
        "elastic agent 1.1",
        pauses_look_like_hangs,
    ),
    Check(
        "HPJ139",
        "stops-too-early",
        Severity.WARNING,
        "stopPattern switches the rule off until the next restart; it is no pause.",
        "use a line that only the end of training prints",
        "AWS: using the HyperPod training operator; elastic agent 1.1",
        stops_too_early,
    ),
    Check(
        "HPJ141",
        "never-fires",
        Severity.ERROR,
        "A dead rule.",
        "add a cut-off, a recurrence, a metric or faultOnMatch, or remove the rule",
        "elastic agent 1.1",
        never_fires,
    ),
    Check(
        "HPJ158",
        "checkpoint-gap-too-short",
        Severity.WARNING,
        "A healthy job reads as HANGING between two checkpoints.",
        "twice the checkpoint interval",
        "AWS samples",
        checkpoint_gap_too_short,
    ),
)

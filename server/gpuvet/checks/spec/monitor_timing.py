"""HPJ134 to HPJ139, HPJ141, HPJ145, HPJ146, HPJ150, HPJ153, HPJ154, HPJ157 to HPJ159.

When a rule is active, how long it waits, and what it can see at all.
"""

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
from gpuvet.simulate.regex_shape import GAP, anywhere, can_be_empty, literals
from gpuvet.simulate.regex_tree import Alt, Cat, Group, Tree

_MULTI_NODE_START = 300  # seconds; scheduling aside, NCCL set-up and data take minutes
_LEAST_START = 60
_LEAST_GAP = 30
_SAFE_GAP = 300
_FAULT_ON_MATCH = (1, 1, 0)  # first agent that knows it
_PAUSES = re.compile(
    r"(?:^|_)(?:val|validation|eval|evaluation|checkpoint|ckpt|save)(?:ing)?_"
    r"(?:\w+_)?(?:freq|frequency|every|interval|steps?|strategy|period|iters?|n_steps)"
)
_SAVE_INTERVAL = re.compile(r"(?:checkpoint|ckpt|save)")
_UNITS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "m": 60, "hour": 3600, "h": 3600}
_END = re.compile(
    r"train(?:ing|er)?(?:[ _]\w+)?[ _](?:is[ _])?(?:complet|finish|done|end|over)"
    r"|(?:finish|complet|end)\w*[ _]train|final|last|all[ _](?:epochs|steps)|max_?steps"
    r"|(?:job|run|fit|process)[ _](?:is[ _])?(?:complet|finish|done|end)|exiting|shutting down"
)
_IN_BETWEEN = re.compile(
    r"checkpoint|ckpt|\bsav(?:ed|ing)|\beval|validat|epoch|step|batch|iter(?:ation)?\b"
)
_AT_START = re.compile(
    r"start(?:ed|ing)|loading|loaded|initiali[sz]|configuration|experiment|begin|warming"
)
_BROAD = frozenset(
    {"error", "err", "errors", "warn", "warning", "fail", "failed", "failure", "exception", "inf"}
)
_RANK_ZERO = re.compile(
    r"if\s+(?:[\w.]*\.)?(?:global_?)?rank\s*==\s*0|(?<!local_)rank\(\)\s*==\s*0|"
    r"is_main_process|is_global_zero|rank_zero_only|rank_zero_info|\$\{?RANK\}?\"?\s*(?:-eq|==?)\s*\"?0"
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


def no_monitor(job: JobSpec) -> Iterator[Hit]:
    """Several nodes, no monitor."""
    monitors = job.run_policy.at("logMonitoringConfiguration")
    if job.is_multi_node and not monitors.present:
        yield Hit(monitors, "no log monitors on a multi-node job")


def no_hang_rule(job: JobSpec) -> Iterator[Hit]:
    """Monitors that detect no hang."""
    if not job.rules or any(rule.recurrence.present for rule in job.rules):
        return
    if job.is_multi_node or job.is_fragment:
        yield Hit(
            job.rules[0].field,
            "no rule has expectedRecurringFrequencyInSeconds: no hang is ever detected",
            milder=Severity.ADVICE if job.is_fragment else None,
        )


def rank_zero_line(job: JobSpec) -> Iterator[Hit]:
    """A cut-off on a line that only global rank 0 prints."""
    texts = [container.launch.shell_text for _, container in job.trainers()]
    script = "\n".join([job.context.script or "", *texts])
    if not job.is_multi_node or not _RANK_ZERO.search(script):
        return
    for rule in job.rules:
        if rule.cutoff.present:
            yield Hit(rule.cutoff, f"{rule.name}: the script logs on global rank 0 only")


def broad_fault(job: JobSpec) -> Iterator[Hit]:
    """A fault pattern that meets harmless lines."""
    for rule in job.rules:
        pattern = tree_of(rule.pattern)
        if rule.faults and pattern and not can_be_empty(pattern.tree) and _is_broad(pattern.tree):
            yield Hit(
                rule.pattern, f"{rule.name}: {rule.pattern.text!r} matches harmless lines too"
            )


def _is_broad(tree: Tree) -> bool:
    """Return whether one way through a pattern needs no more than one general word."""
    alternatives = _alternatives(tree)
    return any(
        re.sub(r"[^a-z]", "", literals(each).lower()) in _BROAD or not literals(each).strip(GAP)
        for each in alternatives
    )


def _alternatives(tree: Tree) -> tuple[Tree, ...]:
    """Return the ways through the first choice of a pattern."""
    match tree:
        case Alt(branches):
            return branches
        case Group(body):
            return _alternatives(body)
        case Cat(items):
            for position, item in enumerate(items):
                ways = _alternatives(item)
                if len(ways) > 1:
                    return tuple(
                        Cat((*items[:position], way, *items[position + 1 :])) for way in ways
                    )
            return (tree,)
        case _:
            return (tree,)


def newer_agent_needed(job: JobSpec) -> Iterator[Hit]:
    """faultOnMatch, which old agents ignore."""
    version = job.context.agent_version
    for rule in job.rules:
        field = rule.field.at("faultOnMatch")
        if field.boolean is not True:
            continue
        if version is not None and version < _FAULT_ON_MATCH:
            shown = ".".join(map(str, version))
            yield Hit(field, f"{rule.name}: agent {shown} ignores faultOnMatch", at_key=True)
        elif version is None:
            yield Hit(field, f"{rule.name}: faultOnMatch needs agent 1.1.0", at_key=True)


def logs_to_stderr(job: JobSpec) -> Iterator[Hit]:
    """A script that logs where monitors do not look."""
    script = job.context.script
    if script is None or not job.rules or "StreamHandler(sys.stdout" in script:
        return
    call = re.search(r"logging\.basicConfig\(([^)]*)\)?", script)
    if call and "stdout" not in call[1]:
        yield Hit(
            job.rules[0].pattern, "logging.basicConfig without stream=sys.stdout writes to stderr"
        )
    elif "tqdm" in script and "print(" not in script and not call:
        yield Hit(job.rules[0].pattern, "tqdm writes to stderr")


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


def read_again(job: JobSpec) -> Iterator[Hit]:
    """Rules that act on old lines after an in-process restart."""
    restarts = any(c.launch.option("inprocess_restart") for _, c in job.trainers())
    if not restarts:
        return
    for rule in job.rules:
        if rule.faults or rule.stop.present:
            field = rule.field.at("faultOnMatch") if rule.faults else rule.stop
            name = field.path.rsplit(".", 1)[-1]
            yield Hit(field, f"{rule.name}: {name} with --inprocess-restart", at_key=True)


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
        "HPJ145",
        "no-monitor",
        Severity.ADVICE,
        "A silent hang costs until somebody looks.",
        "gpuvet spec suggest --log stdout.log",
        "AWS: using the HyperPod training operator",
        no_monitor,
    ),
    Check(
        "HPJ146",
        "no-hang-rule",
        Severity.WARNING,
        "The main use of monitors is missing.",
        "add a rule with expectedRecurringFrequencyInSeconds on the step line",
        "AWS: using the HyperPod training operator",
        no_hang_rule,
    ),
    Check(
        "HPJ150",
        "rank-zero-line",
        Severity.WARNING,
        "Each pod's local rank 0 is watched: other pods never print it. Whether the operator "
        "gives them the rules is not known.",
        "print on every local rank 0",
        "elastic agent 1.1",
        rank_zero_line,
    ),
    Check(
        "HPJ153",
        "broad-fault",
        Severity.WARNING,
        "Any such line restarts the job: a loop.",
        "name the error",
        "AWS: using the HyperPod training operator",
        broad_fault,
    ),
    Check(
        "HPJ154",
        "newer-agent-needed",
        Severity.ADVICE,
        "Older agents ignore it silently; CLI and SDK 3.9 refuse it.",
        "pin hyperpod-elastic-agent 1.1.2 or later",
        "elastic agent 1.1; HyperPod CLI 3.9",
        newer_agent_needed,
    ),
    Check(
        "HPJ157",
        "logs-to-stderr",
        Severity.WARNING,
        "Monitors read stdout only.",
        "logging.basicConfig(stream=sys.stdout)",
        "AWS: using the HyperPod training operator",
        logs_to_stderr,
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
    Check(
        "HPJ159",
        "lines-read-again",
        Severity.WARNING,
        "After an in-process restart the same file is read from its start: an old fault line "
        "faults again, an old stop line stops again.",
        "leave such rules out of checkpointless jobs",
        "elastic agent 1.1",
        read_again,
    ),
)

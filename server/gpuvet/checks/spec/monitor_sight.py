"""HPJ145, HPJ146, HPJ150, HPJ153, HPJ154, HPJ157, HPJ159: what rules can see, what trips them."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.monitor_facts import (
    tree_of,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import JobSpec
from gpuvet.simulate.regex_shape import GAP, can_be_empty, literals
from gpuvet.simulate.regex_tree import Alt, Cat, Group, Tree

_FAULT_ON_MATCH = (1, 1, 0)  # first agent that knows it


_BROAD = frozenset(
    {"error", "err", "errors", "warn", "warning", "fail", "failed", "failure", "exception", "inf"}
)


_RANK_ZERO = re.compile(
    r"if\s+(?:[\w.]*\.)?(?:global_?)?rank\s*==\s*0|(?<!local_)rank\(\)\s*==\s*0|"
    r"is_main_process|is_global_zero|rank_zero_only|rank_zero_info|\$\{?RANK\}?\"?\s*(?:-eq|==?)\s*\"?0"
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

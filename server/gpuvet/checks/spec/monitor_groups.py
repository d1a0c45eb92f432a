"""HPJ122 to HPJ124, HPJ147, HPJ148: the group that catches the number."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.monitor_facts import (
    Metric,
    is_complete_metric,
    metric_of,
    patterns,
    tree_of,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import JobSpec, Rule
from gpuvet.simulate.regex_shape import (
    GAP,
    before_group,
    can_be_empty,
    characters,
    first_characters,
    group,
    is_numeric,
    is_optional,
    is_wildcard,
    literals,
)
from gpuvet.simulate.regex_tree import (
    DIGITS,
    Repeat,
    mask,
)

_COUNTER = re.compile(
    r"(?:step|epoch|batch|iter(?:ation)?|rank|node)[\s:=_#/\[(]*\Z", re.IGNORECASE
)


def no_group(job: JobSpec) -> Iterator[Hit]:
    """A metric without a capturing group."""
    for rule, pattern in patterns(job):
        if rule.has_metric and pattern.groups == 0:
            yield Hit(
                rule.pattern,
                f"{rule.name}: no capturing group, so no number is ever read and the rule stays "
                "healthy",
                fix="put the number in parentheses: ([0-9]+(?:\\.[0-9]+)?)",
            )


def which_group(job: JobSpec) -> Iterator[Hit]:
    """Several groups, of which the first counts."""
    for rule, pattern in patterns(job):
        first = group(pattern.tree, 1)
        if not rule.has_metric or pattern.groups < 2 or first is None:
            continue
        inner = sum(1 for index in range(2, pattern.groups + 1) if group(first.body, index))
        before = "".join(literals(part) for part in before_group(pattern.tree, 1))
        is_nested_only = inner == pattern.groups - 1
        is_wrong = not is_numeric(first.body) or bool(_COUNTER.search(before.rsplit(GAP, 1)[-1]))
        if is_nested_only or not is_wrong:
            yield Hit(
                rule.pattern,
                f"{rule.name}: {pattern.groups} groups; group 1 is judged",
                milder=Severity.ADVICE,
            )
        else:
            yield Hit(rule.pattern, f"{rule.name}: group 1 is judged, and it is not the number")


def catches_words(rule: Rule) -> str | None:
    """Return how group 1 of a metric can catch what is no number, or None."""
    pattern = tree_of(rule.pattern)
    first = group(pattern.tree, 1) if pattern else None
    if pattern is None or first is None or not is_complete_metric(rule):
        return None
    if is_optional(pattern.tree, 1):
        return "group 1 can be left out"
    if can_be_empty(first.body):
        return "group 1 can be empty"
    if not is_numeric(first.body):
        return "group 1 can catch text that is no number"
    return None


def non_number(job: JobSpec) -> Iterator[Hit]:
    """A metric group that fits more than numbers."""
    for rule in job.rules:
        how = catches_words(rule)
        if how:
            yield Hit(
                rule.pattern, f"{rule.name}: {how}", fix="use ([-+0-9.eE]+) or a stricter number"
            )


def greedy_before_number(job: JobSpec) -> Iterator[Hit]:
    """A greedy wildcard that leaves the number its last digit."""
    for rule, pattern in patterns(job):
        first = group(pattern.tree, 1)
        if first is None or not (
            rule.field.at("metricThreshold").present or rule.field.at("operator").present
        ):
            continue
        before = before_group(pattern.tree, 1)
        last = before[-1] if before else None
        if not isinstance(last, Repeat) or not last.is_greedy or not is_wildcard(last):
            continue
        bits = first_characters(first.body)
        if bits & DIGITS == DIGITS and not bits & ~mask("0123456789.+-"):
            yield Hit(
                rule.pattern,
                f"{rule.name}: the wildcard before the group takes all digits but the last",
                fix="put a literal, a blank or \\D before the group",
            )


def short_number(job: JobSpec) -> Iterator[Hit]:
    """A number without room for sign or exponent."""
    for rule, pattern in patterns(job):
        first = group(pattern.tree, 1)
        if first is None or not is_complete_metric(rule) or metric_of(rule) is Metric.THROUGHPUT:
            continue
        if is_numeric(first.body) and not characters(first.body) & mask("eE"):
            yield Hit(rule.pattern, f"{rule.name}: 1.5e+03 would be read as 1.5")


CHECKS = (
    Check(
        "HPJ122",
        "metric-without-group",
        Severity.ERROR,
        "The metric is never evaluated.",
        "add a capturing group",
        "elastic agent 1.1",
        no_group,
    ),
    Check(
        "HPJ123",
        "which-group",
        Severity.WARNING,
        "Group 1 is used, the others are ignored.",
        "write (?:…) for all but the number",
        "HyperPod CLI model of the CRD; elastic agent 1.1",
        which_group,
    ),
    Check(
        "HPJ124",
        "catches-non-number",
        Severity.WARNING,
        "float() fails on such a line, and the line is lost for every rule; nan reads as healthy.",
        "catch digits only",
        "elastic agent 1.1",
        non_number,
    ),
    Check(
        "HPJ147",
        "greedy-before-number",
        Severity.WARNING,
        "A greedy .* leaves only the last digit to the group.",
        "put a literal before the group",
        "elastic agent 1.1",
        greedy_before_number,
    ),
    Check(
        "HPJ148",
        "number-without-exponent",
        Severity.ADVICE,
        "The value read is a thousand times too small when the metric is printed with an exponent.",
        "use ([-+0-9.eE]+)",
        "elastic agent 1.1",
        short_number,
    ),
)

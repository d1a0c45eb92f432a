"""HPJ125 to HPJ130, HPJ149, HPJ151, HPJ152, HPJ155, HPJ156, HPJ160: thresholds and counts."""

from collections.abc import Iterator

from gpuvet.catalog.job_fields import OPERATORS
from gpuvet.checks.registry import Check, Hit, rewritten
from gpuvet.checks.spec.monitor_facts import Metric, is_complete_metric, metric_of, tree_of
from gpuvet.checks.spec.monitor_groups import catches_words
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import JobSpec, Rule
from gpuvet.simulate.regex_shape import anywhere, characters, group
from gpuvet.simulate.regex_tree import mask

_OTHER_SPELLINGS = {
    ">": "gt",
    ">=": "gteq",
    "<": "lt",
    "<=": "lteq",
    "==": "eq",
    "=": "eq",
    "ge": "gteq",
    "gte": "gteq",
    "geq": "gteq",
    "le": "lteq",
    "lte": "lteq",
    "leq": "lteq",
    "greaterthan": "gt",
    "lessthan": "lt",
    "equals": "eq",
    "equal": "eq",
}
_FLIPPED = {"gt": "lt", "gteq": "lteq", "lt": "gt", "lteq": "gteq"}
_EXAMPLE_INTERVAL = 10  # seconds between two log lines, for the example of HPJ160


def half_a_metric(job: JobSpec) -> Iterator[Hit]:
    """A threshold without an operator, or the other way round."""
    for rule in job.rules:
        threshold, operator = rule.field.at("metricThreshold"), rule.field.at("operator")
        if threshold.present and not operator.present:
            yield Hit(threshold, f"{rule.name}: metricThreshold without operator", at_key=True)
        if operator.present and not threshold.present:
            yield Hit(operator, f"{rule.name}: operator without metricThreshold", at_key=True)


def points_without_metric(job: JobSpec) -> Iterator[Hit]:
    """A count of data points with nothing to count."""
    for rule in job.rules:
        points = rule.field.at("metricEvaluationDataPoints")
        if points.present and not (
            rule.field.at("metricThreshold").present or rule.field.at("operator").present
        ):
            yield Hit(
                points, f"{rule.name}: metricEvaluationDataPoints without a metric", at_key=True
            )


def threshold_not_whole(job: JobSpec) -> Iterator[Hit]:
    """A threshold with a fraction, or text."""
    for rule in job.rules:
        field = rule.field.at("metricThreshold")
        node = field.scalar
        if not field.present or field.is_token:
            continue
        if field.integer is None or node is None:
            written = node.text if node else "no number"
            yield Hit(field, f"{rule.name}: metricThreshold is {written}")
        elif isinstance(node.value, float):
            yield Hit(
                field,
                f"{rule.name}: metricThreshold {node.text} is read as {field.integer}",
                milder=Severity.ADVICE,
                edits=rewritten(field, str(field.integer)),
            )


def bad_point_count(job: JobSpec) -> Iterator[Hit]:
    """A count of data points below 1, or no number."""
    for rule in job.rules:
        field = rule.field.at("metricEvaluationDataPoints")
        if field.present and not field.is_token and (field.integer is None or field.integer < 1):
            yield Hit(
                field, f"{rule.name}: metricEvaluationDataPoints is {field.words or 'no number'}"
            )


def unknown_operator(job: JobSpec) -> Iterator[Hit]:
    """An operator the agent does not know."""
    for rule in job.rules:
        field = rule.field.at("operator")
        if not field.present or field.is_token or field.text in OPERATORS:
            continue
        written = (field.words or "").strip()
        plain = written.lower().replace(" ", "").replace("_", "")
        meant = plain if plain in OPERATORS else _OTHER_SPELLINGS.get(plain)
        yield Hit(
            field,
            f"{rule.name}: operator {written!r}",
            fix=f"write {meant}" if meant else f"write one of {', '.join(OPERATORS)}",
            edits=rewritten(field, meant) if meant else (),
        )


def repeated_rule_name(job: JobSpec) -> Iterator[Hit]:
    """Two rules of one name."""
    seen: set[str] = set()
    for rule in job.rules:
        name = rule.field.at("name")
        if name.words and name.words in seen:
            yield Hit(name, f"two rules are named {name.words!r}")
        seen.add(name.words or "")


def nan_goes_unseen(job: JobSpec) -> Iterator[Hit]:
    """A loss rule that NaN passes, or turns into a hang."""
    texts = [anywhere(p.tree).lower() for r in job.rules if r.faults and (p := tree_of(r.pattern))]
    if any("nan" in text for text in texts):
        return
    for rule in job.rules:
        pattern = tree_of(rule.pattern)
        first = group(pattern.tree, 1) if pattern else None
        if first is None or metric_of(rule) is not Metric.LOSS:
            continue
        takes_nan = bool(characters(first.body) & mask("n"))
        operator = rule.field.at("operator").text
        if rule.recurrence.present and not takes_nan:
            yield Hit(
                rule.pattern,
                f"{rule.name}: nan does not match the number, so a NaN loss shows as HANGING after "
                f"{rule.recurrence.words} s",
                fix="add a rule with faultOnMatch: true for lines whose loss is nan or inf",
            )
        elif is_complete_metric(rule) and operator in {"gt", "gteq"}:
            how = "compares as healthy and resets the count" if takes_nan else "is not matched"
            yield Hit(rule.pattern, f"{rule.name}: a NaN loss {how}")


def direction_odd(job: JobSpec) -> Iterator[Hit]:
    """An operator that names the good side."""
    for rule in job.rules:
        operator = rule.field.at("operator")
        if not is_complete_metric(rule) or operator.text not in _FLIPPED:
            continue
        metric, threshold = metric_of(rule), rule.field.at("metricThreshold").words
        is_high = operator.text in {"gt", "gteq"}
        other = _FLIPPED[operator.text or ""]
        if metric is Metric.THROUGHPUT and is_high:
            what = f"a fast run, with values above {threshold}, counts as SLOW and is restarted"
        elif metric in {Metric.LOSS, Metric.TIME} and not is_high:
            good = "a run that converges" if metric is Metric.LOSS else "a fast run"
            side = "at or below" if operator.text == "lteq" else "below"
            what = (
                f"{good} ({metric} {side} {threshold}: low is good) counts as SLOW and is restarted"
            )
        else:
            continue
        yield Hit(
            operator,
            f"{rule.name}: operator {operator.text} on {metric}: {what}",
            fix=f"the operator states the bad side: write {other.removesuffix('eq')}",
        )


def exact_equality(job: JobSpec) -> Iterator[Hit]:
    """An exact comparison of a number with a fraction."""
    for rule in job.rules:
        operator = rule.field.at("operator")
        pattern = tree_of(rule.pattern)
        first = group(pattern.tree, 1) if pattern else None
        if operator.text != "eq" or first is None or not is_complete_metric(rule):
            continue
        if characters(first.body) & mask(".") or metric_of(rule) is not Metric.OTHER:
            yield Hit(operator, f"{rule.name}: eq on a number with a fraction")


def one_outlier(job: JobSpec) -> Iterator[Hit]:
    """One data point of a noisy metric decides."""
    for rule in job.rules:
        points = rule.field.at("metricEvaluationDataPoints")
        if points.is_token or not is_complete_metric(rule) or metric_of(rule) is Metric.OTHER:
            continue
        if not points.present or points.integer == 1:
            yield Hit(points, f"{rule.name}: one data point of {metric_of(rule)} decides")


def hides_later_rules(job: JobSpec) -> Iterator[Hit]:
    """A rule that can fail stands before others."""
    for rule in job.rules[:-1]:
        if catches_words(rule):
            later = len(job.rules) - rule.position - 1
            yield Hit(
                rule.field.at("name"),
                f"{rule.name} can fail on a value and hide {_counted(later)} after it on that line",
            )


def _counted(rules: int) -> str:
    return f"the {rules} rules" if rules > 1 else "the rule"


def detection_time(job: JobSpec) -> Iterator[Hit]:
    """How long a metric rule takes to see anything."""
    for rule in job.rules:
        points = rule.field.at("metricEvaluationDataPoints").integer or 1
        if is_complete_metric(rule) and points > 1:
            yield Hit(rule.field.at("metricEvaluationDataPoints"), _detection(rule, points))


def _detection(rule: Rule, points: int) -> str:
    return (
        f"{rule.name}: {points} bad values in a row; with a line every {_EXAMPLE_INTERVAL} s that "
        f"is {points * _EXAMPLE_INTERVAL} s until it is seen"
    )


CHECKS = (
    Check(
        "HPJ125",
        "half-a-metric",
        Severity.ERROR,
        "The metric is never evaluated.",
        "write both metricThreshold and operator, or neither",
        "HyperPod CLI model of the CRD; elastic agent 1.1",
        half_a_metric,
    ),
    Check(
        "HPJ126",
        "points-without-metric",
        Severity.WARNING,
        "It has no effect.",
        "remove it, or add metricThreshold and operator",
        "HyperPod CLI model of the CRD",
        points_without_metric,
    ),
    Check(
        "HPJ127",
        "threshold-not-whole",
        Severity.ERROR,
        "The field is an integer: refused, or the agent truncates it or drops all rules.",
        "write a whole number, or log a scaled value",
        "HyperPod CLI model of the CRD; elastic agent 1.1",
        threshold_not_whole,
    ),
    Check(
        "HPJ128",
        "bad-point-count",
        Severity.ERROR,
        "With 0 every match is SLOW, even when the value is fine.",
        "write 1 or more",
        "elastic agent 1.1",
        bad_point_count,
    ),
    Check(
        "HPJ129",
        "unknown-operator",
        Severity.ERROR,
        "The agent drops all rules.",
        f"write one of {', '.join(OPERATORS)}",
        "AWS: using the HyperPod training operator; elastic agent 1.1",
        unknown_operator,
    ),
    Check(
        "HPJ130",
        "rule-name-repeated",
        Severity.WARNING,
        "Results are kept by name: the two overwrite each other in the report.",
        "rename one",
        "elastic agent 1.1",
        repeated_rule_name,
    ),
    Check(
        "HPJ149",
        "nan-goes-unseen",
        Severity.ADVICE,
        "NaN compares false with everything, and \\d does not match it.",
        "add a faultOnMatch rule for nan and inf",
        "elastic agent 1.1",
        nan_goes_unseen,
    ),
    Check(
        "HPJ151",
        "direction-odd",
        Severity.WARNING,
        "The rule fires on good values.",
        "flip the operator",
        "inferred",
        direction_odd,
    ),
    Check(
        "HPJ152",
        "exact-equality",
        Severity.WARNING,
        "Floats are compared exactly.",
        "write gteq or lteq",
        "elastic agent 1.1",
        exact_equality,
    ),
    Check(
        "HPJ155",
        "one-outlier-decides",
        Severity.WARNING,
        "One outlier restarts the job.",
        "metricEvaluationDataPoints: 5 or more",
        "AWS: using the HyperPod training operator",
        one_outlier,
    ),
    Check(
        "HPJ156",
        "hides-later-rules",
        Severity.WARNING,
        "When float() fails, the rules after it never see the line.",
        "mend the group, or list the rule last",
        "elastic agent 1.1",
        hides_later_rules,
    ),
    Check(
        "HPJ160",
        "detection-time",
        Severity.ADVICE,
        "A metric rule sees a fault only after that many lines.",
        "nothing to do",
        "AWS: using the HyperPod training operator",
        detection_time,
    ),
)

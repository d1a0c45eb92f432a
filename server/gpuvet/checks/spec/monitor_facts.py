"""What the monitor checks share: patterns as trees, the metric a rule reads, what a rule can do.

A pattern is compiled here to learn whether Python accepts it; it is never matched against text.
"""

import re
import warnings
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from gpuvet.model.job_spec import Field, JobSpec, Rule
from gpuvet.simulate.regex_match import matches, witness
from gpuvet.simulate.regex_shape import GAP, after_group, anywhere, before_group, literals
from gpuvet.simulate.regex_tree import MAX_PATTERN, Pattern, read

# A backslash meant for the regex that YAML kept as two: \\d, \\., \\[ ...
DOUBLED = re.compile(r"\\\\(?=[dDwWsSbB.\[\](){}+*?|^$/])")
_THROUGHPUT = re.compile(
    r"tflop|throughput|samples?_?(?:/| per |_per_|/)_?s|tok(?:en)?s?_?(?:/| per |_per_)_?(?:s|gpu)|"
    r"\bit/s|\bmfu\b|speed|words?_per_s|steps?(?:/|_per_)s|\btps\b|images?/s"
)
_TIME = re.compile(
    r"(?:step|iter|iteration|batch)[_ ]?time|time[_ ]?per|latency|\bs/it\b|ms/step|duration|elapsed"
)
_LOSS = re.compile(r"loss|perplexity|\bppl\b")
_CHECKPOINT = re.compile(r"checkpoint|ckpt|\bsav(?:ed|ing)\b")


class Metric(StrEnum):
    """What a rule's number measures, as far as its words show."""

    THROUGHPUT = "throughput"
    TIME = "time"
    LOSS = "loss"
    OTHER = "other"


@lru_cache(maxsize=256)
def regex_error(pattern: str) -> str | None:
    """Return why Python refuses a pattern, or None."""
    if len(pattern) > MAX_PATTERN:
        return f"longer than {MAX_PATTERN} characters"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of set notation that a later Python may read otherwise
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            return str(error)[:200]
    return None


@lru_cache(maxsize=256)
def _read(pattern: str) -> Pattern | None:
    return None if regex_error(pattern) else read(pattern)


def tree_of(field: Field) -> Pattern | None:
    """Return a field's pattern; None when absent, a token, broken, or doubly escaped."""
    text = field.text
    if text is None or DOUBLED.search(text) or "\b" in text:
        return None
    return _read(text)


def patterns(job: JobSpec) -> Iterator[tuple[Rule, Pattern]]:
    """Yield the rules whose logPattern can be read."""
    for rule in job.rules:
        pattern = tree_of(rule.pattern)
        if pattern is not None:
            yield rule, pattern


def is_complete_metric(rule: Rule) -> bool:
    """Return whether threshold, operator and a capturing group are all there."""
    pattern = tree_of(rule.pattern)
    return rule.has_metric and (pattern is None or pattern.groups > 0)


def can_fire(rule: Rule) -> bool:
    """Return whether anything at all could make the rule trip."""
    faults = rule.field.at("faultOnMatch")
    return (
        rule.cutoff.present
        or rule.recurrence.present
        or is_complete_metric(rule)
        or faults.boolean is True
        or faults.is_token
    )


def metric_of(rule: Rule) -> Metric:
    """Return what the rule's number measures: words beside the group, then all, then the name."""
    pattern = tree_of(rule.pattern)
    texts = [rule.name]
    if pattern is not None:
        before = GAP.join(("", *map(anywhere, before_group(pattern.tree, 1))))
        after = "".join(map(anywhere, after_group(pattern.tree, 1)))
        joined_before = "".join(map(anywhere, before_group(pattern.tree, 1)))
        near = joined_before.rsplit(GAP, 1)[-1] if before else ""
        texts = [near, after.lstrip(GAP + " ").split(GAP, 1)[0], anywhere(pattern.tree), rule.name]
    return next((kind for text in texts if (kind := _kind(text))), Metric.OTHER)


def _kind(text: str) -> Metric | None:
    text = text.lower()
    found = [
        (match.start(), kind)
        for kind, words in (
            (Metric.THROUGHPUT, _THROUGHPUT),
            (Metric.TIME, _TIME),
            (Metric.LOSS, _LOSS),
        )
        for match in words.finditer(text)
    ]
    return max(found)[1] if found else None


def is_checkpoint_rule(rule: Rule) -> bool:
    """Return whether the rule watches checkpoints rather than steps."""
    pattern = tree_of(rule.pattern)
    return pattern is not None and bool(_CHECKPOINT.search(literals(pattern.tree).lower()))


def sees_same_lines(left: Rule, right: Rule) -> bool:
    """Return whether some line matches both rules, judged by one example of each."""
    if left.pattern.text is not None and left.pattern.text == right.pattern.text:
        return True
    one, other = tree_of(left.pattern), tree_of(right.pattern)
    if one is None or other is None:
        return False
    return matches(other.tree, witness(one.tree)) or matches(one.tree, witness(other.tree))


def regex_fields(job: JobSpec) -> tuple[tuple[Rule, Field], ...]:
    """Return every logPattern and stopPattern of the job."""
    return tuple((rule, field) for rule in job.rules for field in (rule.pattern, rule.stop))


def yaml_quoted(pattern: str) -> str:
    """Return a pattern in single quotes, where a backslash is a backslash."""
    return "'" + pattern.replace("'", "''") + "'"

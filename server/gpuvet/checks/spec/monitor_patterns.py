"""HPJ120 to HPJ124, HPJ131 to HPJ133, HPJ140 to HPJ144, HPJ147, HPJ148: the patterns."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit, rewritten
from gpuvet.checks.spec.monitor_facts import (
    DOUBLED,
    Metric,
    is_complete_metric,
    metric_of,
    regex_error,
    regex_fields,
    tree_of,
    yaml_quoted,
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
    matches,
    runaway,
    wants_newline,
    witness,
)
from gpuvet.simulate.regex_tree import (
    DIGITS,
    Alt,
    Cat,
    Chars,
    Group,
    Pattern,
    Repeat,
    Tree,
    mask,
)

# What training log lines begin with besides digits and brackets: level words, glog letters.
_LINE_STARTS = re.compile(
    r"[\[{<(\"'0-9]|(?:INFO|DEBUG|WARN|WARNING|ERROR|CRITICAL|FATAL|NOTICE|TRACE)\b|[IWEF][0-9]{4}|time="
)
_CONSTANT = re.compile(
    r"(?:(?<![a-z])(?:epoch|global_step|step|batch|iteration|iter|update|round)[\s:=_#/\[(-]{0,3}\d+"
    r"|(?<![a-z])rank[\s:=_]{0,2}\d+"
    r"|(?<!\d)20\d\d[-/][01]\d(?:[-/][0-3]\d)?"
    r"|(?<![a-z0-9])ip-\d+-\d+-\d+-\d+|(?<![a-z0-9])i-[0-9a-f]{8,17}(?![0-9a-f])"
    r"|-(?:pods?|workers?|master)-\d+)",
    re.IGNORECASE,
)
_COUNTER = re.compile(
    r"(?:step|epoch|batch|iter(?:ation)?|rank|node)[\s:=_#/\[(]*\Z", re.IGNORECASE
)


def _patterns(job: JobSpec) -> Iterator[tuple[Rule, Pattern]]:
    for rule in job.rules:
        pattern = tree_of(rule.pattern)
        if pattern is not None:
            yield rule, pattern


def broken_pattern(job: JobSpec) -> Iterator[Hit]:
    """A pattern Python does not accept."""
    for rule, field in regex_fields(job):
        error = regex_error(field.text) if field.text is not None else None
        if error:
            yield Hit(field, f"{rule.name}: not a Python regular expression: {error}")


def escaped_twice(job: JobSpec) -> Iterator[Hit]:
    """Backslashes that YAML left doubled, or turned into a backspace."""
    for rule, field in regex_fields(job):
        text = field.text
        if text is None:
            continue
        if DOUBLED.search(text):
            right = DOUBLED.sub(lambda _: "\\", text)
            yield Hit(
                field,
                f"{rule.name}: two backslashes reach the regex; it wants a literal backslash",
                fix=f"write {yaml_quoted(right)}",
                edits=rewritten(field, yaml_quoted(right)),
            )
        elif "\b" in text:
            yield Hit(
                field,
                f'{rule.name}: "\\b" in double quotes is a backspace character',
                fix='write "\\\\b", or single quotes',
                edits=rewritten(field, yaml_quoted(text.replace("\b", "\\b"))),
            )


def no_group(job: JobSpec) -> Iterator[Hit]:
    """A metric without a capturing group."""
    for rule, pattern in _patterns(job):
        if rule.has_metric and pattern.groups == 0:
            yield Hit(
                rule.pattern,
                f"{rule.name}: no capturing group, so no number is ever read and the rule stays "
                "healthy",
                fix="put the number in parentheses: ([0-9]+(?:\\.[0-9]+)?)",
            )


def which_group(job: JobSpec) -> Iterator[Hit]:
    """Several groups, of which the first counts."""
    for rule, pattern in _patterns(job):
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


def console_prefix(job: JobSpec) -> Iterator[Hit]:
    """A pattern that wants the prefix of kubectl logs."""
    for rule, field in regex_fields(job):
        pattern = tree_of(field)
        if pattern and "[default" in literals(pattern.tree):
            yield Hit(field, f"{rule.name}: the pattern wants the console prefix [default…]:")


def not_from_line_start(job: JobSpec) -> Iterator[Hit]:
    """A pattern that begins in the middle of a line."""
    for rule, field in regex_fields(job):
        pattern = tree_of(field)
        if pattern is None or can_be_empty(pattern.tree) or _fits_line_start(pattern.tree):
            continue
        text = field.text or ""
        prefixed = f".*(?:{text})" if isinstance(pattern.tree, Alt) else f".*{text.lstrip('^')}"
        yield Hit(
            field,
            f"{rule.name}: the pattern is tried at the start of the line only, where a stamp or a "
            "level stands",
            fix=f"write {yaml_quoted(prefixed)}",
            edits=rewritten(field, yaml_quoted(prefixed)),
        )


def _fits_line_start(tree: Tree) -> bool:
    """Return whether a pattern can begin where a log line begins."""
    items = _items(tree)
    for position, item in enumerate(items):
        if isinstance(item, Alt):
            rest = items[position + 1 :]
            return all(_fits_line_start(Cat((branch, *rest))) for branch in item.branches)
        body = item.body if isinstance(item, Repeat) else item
        if isinstance(body, Chars) and body.literal is None:
            return True  # a class of characters: . or [^ ] or a digit
        if not can_be_empty(item):
            text = literals(Cat(tuple(items[position:]))).split(GAP, 1)[0]
            return bool(_LINE_STARTS.match(text))
    return True


def _items(tree: Tree) -> list[Tree]:
    """Return what stands one after the other, groups opened."""
    match tree:
        case Cat(parts):
            return [item for part in parts for item in _items(part)]
        case Group(body):
            return _items(body)
        case _:
            return [tree]


def constant_in_pattern(job: JobSpec) -> Iterator[Hit]:
    """A number, date or name that changes while the job runs."""
    for rule, pattern in _patterns(job):
        match = _CONSTANT.search(literals(pattern.tree))
        if match is None:
            continue
        constant = match[0]
        freq, cutoff = rule.recurrence.words, rule.cutoff.words
        if freq:
            then = f"HANGING {freq} s after the last line with {constant!r}, then a restart loop"
        elif cutoff:
            then = f"HANGING {cutoff} s after a start that never prints {constant!r} (a resume)"
        else:
            then = "the rule goes blind"
        yield Hit(
            rule.pattern,
            f"{rule.name}: the pattern matches {constant!r} only; once training moves on: {then}",
            fix=f"write '{_generalised(constant)}' so that any value matches",
        )


def _generalised(constant: str) -> str:
    text = (
        re.sub(r"[0-9a-f]{8,}", r"[0-9a-f]+", constant) if constant.startswith("i-") else constant
    )
    return re.sub(r"\d+", lambda _: r"\d+", text) if "[0-9a-f]" not in text else text


def stops_on_its_own_line(job: JobSpec) -> Iterator[Hit]:
    """A stopPattern that meets the rule's own lines."""
    for rule, pattern in _patterns(job):
        stop = tree_of(rule.stop)
        if stop is None or can_be_empty(stop.tree):
            continue
        if matches(stop.tree, witness(pattern.tree)):
            yield Hit(rule.stop, f"{rule.name}: stopPattern matches the lines of logPattern")


def matches_nothing_at_all(job: JobSpec) -> Iterator[Hit]:
    """A pattern that matches the empty string."""
    for rule, field in regex_fields(job):
        pattern = tree_of(field)
        if pattern and can_be_empty(pattern.tree):
            yield Hit(field, f"{rule.name}: {field.text!r} matches the empty string")


def runaway_pattern(job: JobSpec) -> Iterator[Hit]:
    """A shape that backtracks without bound."""
    for rule, field in regex_fields(job):
        pattern = tree_of(field)
        shape = runaway(pattern.tree) if pattern else None
        if shape:
            yield Hit(field, f"{rule.name}: {shape}")


def several_lines(job: JobSpec) -> Iterator[Hit]:
    """A pattern that speaks of more than one line."""
    for rule, field in regex_fields(job):
        pattern = tree_of(field)
        if pattern is None:
            continue
        is_dot_all = bool(re.search(r"\(\?[aiLmux]*s", field.text or ""))
        if is_dot_all or _newline_inside(pattern.tree):
            what = "(?s)" if is_dot_all else "a line break"
            yield Hit(field, f"{rule.name}: the pattern holds {what}")


def _newline_inside(tree: Tree) -> bool:
    """A line break at the very end is fine: a line keeps its own."""
    if isinstance(tree, Cat):
        return any(wants_newline(item) for item in tree.items[:-1]) or _newline_inside(
            tree.items[-1]
        )
    return not isinstance(tree, Chars) and wants_newline(tree)


def greedy_before_number(job: JobSpec) -> Iterator[Hit]:
    """A greedy wildcard that leaves the number its last digit."""
    for rule, pattern in _patterns(job):
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
    for rule, pattern in _patterns(job):
        first = group(pattern.tree, 1)
        if first is None or not is_complete_metric(rule) or metric_of(rule) is Metric.THROUGHPUT:
            continue
        if is_numeric(first.body) and not characters(first.body) & mask("eE"):
            yield Hit(rule.pattern, f"{rule.name}: 1.5e+03 would be read as 1.5")


CHECKS = (
    Check(
        "HPJ120",
        "broken-pattern",
        Severity.ERROR,
        "One bad pattern disables all rules, and the job runs on unwatched.",
        "mend the pattern",
        "elastic agent 1.1",
        broken_pattern,
    ),
    Check(
        "HPJ121",
        "escaped-twice",
        Severity.ERROR,
        "It compiles and never matches.",
        "one backslash in single quotes, two in double quotes",
        "YAML 1.2",
        escaped_twice,
    ),
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
        "HPJ131",
        "wants-console-prefix",
        Severity.ERROR,
        "stdout.log has no such prefix: the pattern never matches and its cut-off always fires.",
        "drop the prefix",
        "elastic agent 1.1; torch",
        console_prefix,
    ),
    Check(
        "HPJ132",
        "not-from-line-start",
        Severity.WARNING,
        "match() is anchored at the line's start: the pattern misses lines with a stamp.",
        "begin with .*",
        "elastic agent 1.1",
        not_from_line_start,
    ),
    Check(
        "HPJ133",
        "constant-in-pattern",
        Severity.WARNING,
        "Later lines no longer match: a recurrence rule reports a false HANGING, a metric goes "
        "blind.",
        "match any number: Epoch \\d+",
        "AWS sample, twice",
        constant_in_pattern,
    ),
    Check(
        "HPJ140",
        "stops-on-own-line",
        Severity.WARNING,
        "The rule is off after its first match.",
        "use a line that only the end of training prints",
        "elastic agent 1.1",
        stops_on_its_own_line,
    ),
    Check(
        "HPJ142",
        "matches-empty-string",
        Severity.ERROR,
        "It counts as matched every idle second: it never reports a hang, burns a core with a "
        "metric, and faults at once with faultOnMatch.",
        "require literal text",
        "elastic agent 1.1",
        matches_nothing_at_all,
    ),
    Check(
        "HPJ143",
        "runaway-pattern",
        Severity.WARNING,
        "On some lines matching takes for ever: the reader stalls and everything looks hung.",
        "write one repetition where two meet",
        "Python re",
        runaway_pattern,
    ),
    Check(
        "HPJ144",
        "several-lines",
        Severity.WARNING,
        "Rules are judged line by line.",
        "match one line, or use two rules",
        "elastic agent 1.1",
        several_lines,
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

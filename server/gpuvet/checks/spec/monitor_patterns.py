"""HPJ120, HPJ121, HPJ131 to HPJ133, HPJ140, HPJ142 to HPJ144: what a pattern meets."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit, rewritten
from gpuvet.checks.spec.monitor_facts import (
    DOUBLED,
    patterns,
    regex_error,
    regex_fields,
    tree_of,
    yaml_quoted,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import JobSpec
from gpuvet.simulate.regex_match import matches, witness
from gpuvet.simulate.regex_shape import (
    GAP,
    can_be_empty,
    literals,
    runaway,
    wants_newline,
)
from gpuvet.simulate.regex_tree import (
    Alt,
    Cat,
    Chars,
    Group,
    Repeat,
    Tree,
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
    for rule, pattern in patterns(job):
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
    for rule, pattern in patterns(job):
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
    if isinstance(tree, Cat) and tree.items:
        return any(wants_newline(item) for item in tree.items[:-1]) or _newline_inside(
            tree.items[-1]
        )
    return not isinstance(tree, Chars) and wants_newline(tree)


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
)

"""`regex` and `contains` assertions, with the published tool's wording of evidence."""

import re
from collections.abc import Sequence
from typing import Protocol

from gpuvet.model.base import Value
from gpuvet_evals.evals_json import Assertion
from gpuvet_evals.untrusted import mask_secrets

SHOWN_MATCH = 100
MAX_MATCHES = 10_000
_NOT_FOUND = "Pattern not found in the output"


class Matches(Value):
    """What one pattern finds in a text: how often, and the first match."""

    count: int
    first: str = ""
    error: str | None = None  # why the pattern could not be applied


class Matcher(Protocol):
    """Applies patterns that somebody else wrote; they may be broken, or take for ever."""

    def find(self, patterns: Sequence[str], text: str) -> tuple[Matches, ...]:
        """Return what each pattern finds."""
        ...


class PatternScore(Value):
    """Whether an assertion holds; `passed` is None where that could not be decided."""

    passed: bool | None
    evidence: str | None = None
    error: str | None = None


def count_matches(pattern: str, text: str) -> Matches:
    """Apply one pattern in this process."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return Matches(count=0, error=f"pattern {pattern!r} is no regular expression: {error}")
    first, count = "", 0
    for match in compiled.finditer(text):
        first = first if count else match[0]
        count += 1
        if count >= MAX_MATCHES:
            break
    return Matches(count=count, first=first[: SHOWN_MATCH * 4])


class InProcess:
    """Applies patterns here, without a deadline: for patterns of our own."""

    def find(self, patterns: Sequence[str], text: str) -> tuple[Matches, ...]:
        """Return what each pattern finds."""
        return tuple(count_matches(pattern, text) for pattern in patterns)


def score_patterns(
    assertions: Sequence[Assertion], text: str, matcher: Matcher
) -> dict[int, PatternScore]:
    """Return the score of each `regex` and `contains` assertion, by its index."""
    wanted = {
        i: a.pattern
        for i, a in enumerate(assertions)
        if a.evaluator == "regex" and a.pattern is not None
    }
    found = dict(zip(wanted, matcher.find(tuple(wanted.values()), text), strict=True))
    scores: dict[int, PatternScore] = {}
    for index, assertion in enumerate(assertions):
        if assertion.evaluator == "contains":
            scores[index] = _score_contains(assertion, text)
        elif assertion.evaluator == "regex":
            scores[index] = _score_regex(assertion, found.get(index))
    return scores


def _score_contains(assertion: Assertion, text: str) -> PatternScore:
    folded = text.casefold()
    for wanted in assertion.any_of:
        if wanted.casefold() in folded:
            return PatternScore(passed=not assertion.absent, evidence=f"Found '{wanted}'")
    return PatternScore(passed=assertion.absent, evidence="Text not found in the output")


def _score_regex(assertion: Assertion, found: Matches | None) -> PatternScore:
    if found is None:
        return PatternScore(passed=None, error="the assertion has no pattern")
    if found.error is not None:
        return PatternScore(passed=None, error=found.error)
    needed = 1 if assertion.min_count is None else assertion.min_count
    if assertion.absent:
        return PatternScore(passed=not found.count, evidence=_counted(found, None))
    if found.count < needed:
        return PatternScore(passed=False, evidence=_counted(found, assertion.min_count))
    first = f"Matched '{_cut(found.first)}'" if found.count else _NOT_FOUND
    return PatternScore(passed=True, evidence=first)


def _counted(found: Matches, needed: int | None) -> str:
    """Word how often a pattern was found where that decides."""
    if not found.count and needed is None:
        return _NOT_FOUND
    required = "" if needed is None else f", required at least {needed}"
    first = f", first: '{_cut(found.first)}'" if found.count else ""
    return f"Found {found.count} match(es){required}{first}"


def _cut(match: str) -> str:
    shown = mask_secrets(match)
    return shown if len(shown) <= SHOWN_MATCH else f"{shown[:SHOWN_MATCH]}…"

"""`regex` and `contains` assertions, with the published tool's wording of evidence."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from gpuvet.model.base import Value
from gpuvet_evals.evals_json import Assertion
from gpuvet_evals.pattern_child import Found, count_matches
from gpuvet_evals.untrusted import mask

SHOWN_MATCH = 100
_NOT_FOUND = "Pattern not found in the output"


class Request(NamedTuple):
    """Patterns, and the text they are applied to."""

    patterns: tuple[str, ...]
    text: str


Findings = tuple[Found, ...]  # of one request, in the order of its patterns


class Matcher(Protocol):
    """Applies patterns that somebody else wrote; they may be broken, or take for ever."""

    def ask(self, requests: Sequence[Request]) -> Callable[[], list[Findings]]:
        """Start on requests; what is returned waits for the findings of each."""
        ...


class InProcess:
    """Applies patterns here, without a deadline: for patterns of our own."""

    def ask(self, requests: Sequence[Request]) -> Callable[[], list[Findings]]:
        """Return what gives the findings of each request."""
        return lambda: [tuple(count_matches(p, r.text) for p in r.patterns) for r in requests]


class PatternScore(Value):
    """Whether an assertion holds; `passed` is None where that could not be decided."""

    passed: bool | None
    evidence: str | None = None
    error: str | None = None


def patterns_of(assertions: Sequence[Assertion]) -> tuple[str, ...]:
    """Return the patterns to apply, in the order of the assertions."""
    return tuple(a.pattern for a in assertions if a.evaluator == "regex" and a.pattern is not None)


def score_patterns(
    assertions: Sequence[Assertion], text: str, findings: Findings
) -> tuple[tuple[int, PatternScore], ...]:
    """Return the score of each `regex` and `contains` assertion with its index.

    Args:
        assertions: All of an eval.
        text: What they are applied to.
        findings: Of `patterns_of` the assertions in this text.
    """
    found = iter(findings)
    scores: list[tuple[int, PatternScore]] = []
    for index, assertion in enumerate(assertions):
        if assertion.evaluator == "contains":
            scores.append((index, _score_contains(assertion, text)))
        elif assertion.evaluator == "regex":
            pattern = assertion.pattern
            scores.append(
                (index, _score_regex(assertion, next(found) if pattern is not None else None))
            )
    return tuple(scores)


def _score_contains(assertion: Assertion, text: str) -> PatternScore:
    folded = text.casefold()
    for wanted in assertion.any_of:
        if wanted.casefold() in folded:
            return PatternScore(passed=not assertion.absent, evidence=f"Found '{wanted}'")
    return PatternScore(passed=assertion.absent, evidence="Text not found in the output")


def _score_regex(assertion: Assertion, found: Found | None) -> PatternScore:
    if found is None:
        return PatternScore(passed=None, error="the assertion has no pattern")
    if found.error is not None:
        return PatternScore(passed=None, error=found.error)
    needed = 1 if assertion.min_count is None else assertion.min_count
    if assertion.absent:
        return PatternScore(passed=not found.times, evidence=_counted(found, None))
    if found.times < needed:
        return PatternScore(passed=False, evidence=_counted(found, assertion.min_count))
    first = f"Matched '{_cut(found.first)}'" if found.times else _NOT_FOUND
    return PatternScore(passed=True, evidence=first)


def _counted(found: Found, needed: int | None) -> str:
    """Word how often a pattern was found where that decides."""
    if not found.times and needed is None:
        return _NOT_FOUND
    required = "" if needed is None else f", required at least {needed}"
    first = f", first: '{_cut(found.first)}'" if found.times else ""
    return f"Found {found.times} match(es){required}{first}"


def _cut(match: str) -> str:
    shown = mask(match)
    return shown if len(shown) <= SHOWN_MATCH else f"{shown[:SHOWN_MATCH]}…"

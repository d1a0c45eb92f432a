"""Patterns of evals: the published wording, and a child process that cannot hold us up."""

from collections.abc import Iterator

import pytest

from gpuvet_evals.assertions.patterns import (
    InProcess,
    Matcher,
    Request,
    patterns_of,
    score_patterns,
)
from gpuvet_evals.evals_json import Assertion
from gpuvet_evals.pattern_guard import PatternGuard

NEVER_ENDS = r"(a+)+$"
TRAP = "a" * 40 + "!"


@pytest.fixture(scope="module")
def guard() -> Iterator[PatternGuard]:
    with PatternGuard(deadline_seconds=0.5) as running:
        yield running


def regex(pattern: str | None, *, absent: bool = False, least: int | None = None) -> Assertion:
    return Assertion(text="t", evaluator="regex", pattern=pattern, absent=absent, min_count=least)


def contains(*any_of: str) -> Assertion:
    return Assertion(text="t", evaluator="contains", any_of=any_of)


@pytest.mark.parametrize(
    ("assertion", "passed", "evidence"),
    [
        (regex("b+"), True, "Matched 'bb'"),
        (regex("x"), False, "Pattern not found in the output"),
        (regex("B"), False, "Pattern not found in the output"),
        (regex("(?i)B"), True, "Matched 'b'"),
        (regex("b", least=2), True, "Matched 'b'"),
        (regex("b", least=3), False, "Found 2 match(es), required at least 3, first: 'b'"),
        (regex("x", least=3), False, "Found 0 match(es), required at least 3"),
        (regex("b", absent=True), False, "Found 2 match(es), first: 'b'"),
        (regex("x", absent=True), True, "Pattern not found in the output"),
        (regex("c{5,}"), True, f"Matched '{'c' * 100}…'"),
        (contains("AB"), True, "Found 'AB'"),
        (contains("x", "BB"), True, "Found 'BB'"),
        (contains("x"), False, "Text not found in the output"),
    ],
)
def test_evidence_is_worded_as_the_published_tool_words_it(
    assertion: Assertion, passed: bool, evidence: str
) -> None:
    text = "abb" + "c" * 200
    (findings,) = InProcess().ask([Request(patterns_of([assertion]), text)])()

    ((_, score),) = score_patterns([assertion], text, findings)

    assert (score.passed, score.evidence) == (passed, evidence)


def test_a_broken_pattern_decides_nothing() -> None:
    wrong, missing = regex("("), regex(None)
    (findings,) = InProcess().ask([Request(patterns_of([wrong, missing]), "x")])()

    scores = [score for _, score in score_patterns([wrong, missing], "x", findings)]

    assert [s.passed for s in scores] == [None, None]
    assert "no regular expression" in str(scores[0].error)


def test_secrets_do_not_come_back_in_evidence() -> None:
    text = "key AKIAABCDEFGHIJKLMNOP"
    (findings,) = InProcess().ask([Request((r"AKIA\w+",), text)])()

    ((_, score),) = score_patterns([regex(r"AKIA\w+")], text, findings)

    assert score.evidence == "Matched '[masked]'"


def test_the_guarded_child_finds_what_this_process_finds(guard: PatternGuard) -> None:
    requests = [
        Request((r"\d+", "x", "("), "a 12 b 3"),
        Request((), "nothing to ask"),
        Request(("b",), ""),
    ]
    applied: list[Matcher] = [guard, InProcess()]

    first, second = (matcher.ask(requests)() for matcher in applied)

    assert first == second


def test_a_pattern_that_never_ends_is_named_and_the_others_are_scored(guard: PatternGuard) -> None:
    requests = [Request(("a", NEVER_ENDS, "!"), TRAP), Request(("b",), "b")]

    (first, second) = guard.ask(requests)()

    assert [found.times for found in first] == [40, 0, 1]
    assert "took longer than 0.5 s" in str(first[1].error)
    assert second[0].times == 1


def test_a_pattern_that_hung_is_not_tried_again(guard: PatternGuard) -> None:
    guard.ask([Request((NEVER_ENDS,), TRAP)])()

    ((found,),) = guard.ask([Request((NEVER_ENDS,), "aaa")])()

    assert "took longer" in str(found.error)

"""What raw replies of a judge amount to, and who wins a pair judged in both orders."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuvet_evals.judge.pairs import flip_rate, read_slot, settle
from gpuvet_evals.judge.reply import Judgement, Outcome, holds_quote, read_judgement

CASES = Path(__file__).parent.parent / "cases" / "journals"
REPLIES = json.loads((CASES / "judge_outputs.json").read_text(encoding="utf-8"))
PAIRS = json.loads((CASES / "pairwise.json").read_text(encoding="utf-8"))


def reply(**fields: object) -> str:
    return json.dumps({"passed": True, "confidence": "high", "evidence": "", **fields})


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["name"])
def test_each_recorded_reply_is_read_as_it_should(case: dict[str, Any]) -> None:
    expected = dict(case["expect"])
    reasoning = expected.pop("reasoning_clean", None)
    evidence = expected.pop("evidence", None)

    read = read_judgement(case["raw"], case.get("answer"))

    assert {
        "verdict": read.verdict.value,
        "confidence": read.confidence,
        "flags": list(read.flags),
    } == expected
    assert reasoning is None or read.reasoning == reasoning
    assert evidence is None or read.evidence == evidence


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: case["name"])
def test_each_recorded_pair_is_settled_as_it_should(case: dict[str, Any]) -> None:
    expected = {"status": "judged", **case["expect"]}

    verdict = settle(case["order_ab"], case["order_ba"])

    assert {
        "winner": verdict.winner,
        "flipped": verdict.flipped,
        "status": verdict.status,
    } == expected


def test_the_share_of_flips_leaves_unjudged_pairs_out() -> None:
    verdicts = [settle(case["order_ab"], case["order_ba"]) for case in PAIRS]

    assert flip_rate(verdicts) == 1 / 4
    assert flip_rate([]) is None


@pytest.mark.parametrize(
    ("raw", "slot"),
    [
        ('{"reasoning": "A is right.", "winner": "A"}', "A"),
        ('Here:\n```json\n{"winner": "b"}\n```', "B"),
        ('{"winner": "equivalent"}', "tie"),
        ('{"winner": "with_skill"}', None),
        ("A", None),
    ],
)
def test_a_slot_is_read_or_it_is_no_reply(raw: str, slot: str | None) -> None:
    assert read_slot(raw) == slot


def test_a_pass_without_a_quote_is_asked_again() -> None:
    read = read_judgement(reply(reasoning="Both nodes are named."), "Nodes a and b.")

    assert read == Judgement(
        verdict=Outcome.NEEDS_REJUDGE,
        confidence="high",
        reasoning="Both nodes are named.",
        flags=("no_evidence",),
    )


@pytest.mark.parametrize(
    ("reasoning", "passed"),
    [
        pytest.param("The assertion would fail had it named no stream, but it holds.", True,
                     id="a condition is no conclusion"),
        pytest.param("One could say the assertion holds; the assertion is not met.", False,
                     id="the last conclusion counts"),
        pytest.param("The health check fails on node a, which the answer reports.", True,
                     id="what fails is the node's check"),
        pytest.param("The assertion asks who fails over, and the answer says so.", True,
                     id="a node that fails over"),
        pytest.param("It does not meet the assertion: no stream is named.", False,
                     id="a fail in other words"),
        pytest.param("It satisfies this assertion in its first line.", True,
                     id="a pass in other words"),
        pytest.param("The job's check fails, so the run does not start; both are said.", True,
                     id="a conclusion of the answer's own"),
        pytest.param("It names a requirement of the job, and the job holds.", True,
                     id="a job that holds"),
    ],
)  # fmt: skip
def test_reasoning_that_agrees_is_no_contradiction(reasoning: str, passed: bool) -> None:
    read = read_judgement(reply(passed=passed, reasoning=reasoning, evidence="x"), "x")

    assert read.verdict is (Outcome.PASS if passed else Outcome.FAIL)


@pytest.mark.parametrize(
    "reasoning",
    [
        "The answer never says so, so the assertion is not satisfied.",
        "No bar is stated; the requirement isn't met.",
        "Does not hold.",
        "The criterion is not fully met.",
        "Only one node is named, so the answer does not satisfy the assertion.",
        "No stream is named; therefore it fails.",
        "This should be marked as failed.",
        "At first sight the assertion holds, yet no bar is named: the assertion failed.",
    ],
)
def test_a_pass_that_argues_for_a_fail_is_asked_again(reasoning: str) -> None:
    read = read_judgement(reply(reasoning=reasoning, evidence="x"), "x")

    assert (read.verdict, read.flags) == (Outcome.NEEDS_REJUDGE, ("contradiction",))


@pytest.mark.parametrize(
    "reasoning",
    [
        "The assertion is met: both nodes are named.",
        "The answer meets the requirement in its table.",
        "Coverage is given per node, so it passes.",
        "It ought to be graded as passed.",
    ],
)
def test_a_fail_that_argues_for_a_pass_is_asked_again(reasoning: str) -> None:
    read = read_judgement(reply(passed=False, reasoning=reasoning), "x")

    assert (read.verdict, read.flags) == (Outcome.NEEDS_REJUDGE, ("contradiction",))


@pytest.mark.parametrize(
    ("reasoning", "evidence"),
    [
        ("There are no percentages in the answer, therefore none was changed.", ""),
        ("No percentage is given; nothing could be rescaled.", "n/a"),
        ("The assertion is trivially true, as no node is named.", ""),
        ("It mentions no drain, so the condition vacuously holds.", "None"),
    ],
)
def test_true_because_there_was_nothing_is_not_applicable(reasoning: str, evidence: str) -> None:
    read = read_judgement(reply(reasoning=reasoning, evidence=evidence), "Some answer.")

    assert (read.verdict, read.flags) == (Outcome.NOT_APPLICABLE, ("vacuous",))


@pytest.mark.parametrize(
    ("raw", "verdict", "flags"),
    [
        pytest.param(json.dumps(reply(passed=False)), Outcome.FAIL, (), id="JSON in JSON"),
        pytest.param(f"[{reply(passed=False)}]", Outcome.FAIL, (), id="a list of one"),
        pytest.param(reply(passed="Yes", evidence="x"), Outcome.PASS, ("coerced",), id="a word"),
        pytest.param(reply(passed=0), Outcome.FAIL, ("coerced",), id="a number"),
        pytest.param(reply(passed="perhaps"), Outcome.JUDGE_ERROR, ("unparseable",), id="neither"),
        pytest.param(reply(passed=None), Outcome.JUDGE_ERROR, ("unparseable",), id="nothing"),
        pytest.param("null", Outcome.JUDGE_ERROR, ("unparseable",), id="no object"),
        pytest.param("I would say it passes.", Outcome.JUDGE_ERROR, ("unparseable",), id="prose"),
    ],
)
def test_odd_forms_are_read_or_refused(raw: str, verdict: Outcome, flags: tuple[str, ...]) -> None:
    read = read_judgement(raw)

    assert (read.verdict, read.flags) == (verdict, flags)


def test_what_the_judge_calls_not_applicable_is_neither() -> None:
    raw = reply(passed=False, applicable=False, reasoning="No percentage is given.")

    assert read_judgement(raw, "All fine.").verdict is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        pytest.param("**REBOOT** `i-0a`", True, id="marks of Markdown aside"),
        pytest.param("reboot   i-0a first", True, id="white space and case aside"),
        pytest.param("“REBOOT i-0a”", True, id="outer quotes aside"),
        pytest.param("REBOOT … 54 of 72 h", True, id="an ellipsis leaves words out"),
        pytest.param("54 of 72 h … REBOOT", False, id="but keeps their order"),
        pytest.param("REPLACE i-0a", False, id="another word"),
        pytest.param("…", False, id="nothing quoted"),
    ],
)
def test_a_quote_is_looked_up_as_a_reader_would(quote: str, found: bool) -> None:
    assert holds_quote("REBOOT `i-0a` first.\nSeen: 54 of 72 h.", quote) is found


def test_secrets_in_a_reply_are_masked() -> None:
    raw = reply(reasoning="It shows AKIAIOSFODNN7EXAMPLE.", evidence="x")

    assert "AKIAIOSFODNN7EXAMPLE" not in read_judgement(raw).reasoning

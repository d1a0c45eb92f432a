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


def reply(**fields: object) -> str:
    return json.dumps({"passed": True, "confidence": "high", "evidence": "", **fields})


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
    ],
)
def test_a_pass_that_argues_for_a_fail_is_asked_again(reasoning: str) -> None:
    read = read_judgement(reply(reasoning=reasoning, evidence="x"), "x")

    assert (read.verdict, read.flags) == (Outcome.NEEDS_REJUDGE, ("contradiction",))


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

"""The rules of the answer lint, sentence by sentence: what is a fault, and what only looks so.

Each sentence of cases/answers/sentences.json stands in an otherwise right answer about four nodes
(answer_world), so that it is the only thing there is to find.
"""

import json
from pathlib import Path

import pytest
from answer_world import DARK, GROUP, OPEN, QUIET, REPLACED, STREAMS, codes, preflight

from gpuvet.checks.answer import ANSWER_RULES

SENTENCES = json.loads(
    (Path(__file__).parents[2] / "cases" / "answers" / "sentences.json").read_text(encoding="utf-8")
)
VERDICTS = (
    f"Verdicts: REPLACE `{REPLACED}`. UNVERIFIED `{OPEN}`: reboot in any case, the ECC check "
    f"decides. NOT OBSERVABLE `{DARK}`. LEAVE ALONE `{QUIET}`."
)
LABEL = "The cause is a hypothesis."
# Their sentence has to come first: a question before the answer, a cause in the headline.
FIRST = {"ANS601", "ANS602", "ANS603", "ANS604", "ANS702"}


def spelt(sentence: str) -> str:
    """Return a sentence with the world's nodes and streams put in."""
    for name, value in (
        *((f"{{STREAMS[{n}]}}", STREAMS[v]) for n, v in _NODES.items()),
        *((f"{{{n}}}", v) for n, v in _NODES.items()),
        ("{GROUP}", GROUP),
    ):
        sentence = sentence.replace(name, value)
    return sentence


_NODES = {"REPLACED": REPLACED, "DARK": DARK, "QUIET": QUIET, "OPEN": OPEN}


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        pytest.param(code, sentence, id=f"{code} {sentence[:70]}")
        for code, sentences in SENTENCES["flagged"].items()
        for sentence in sentences
    ],
)
def test_a_faulty_sentence_is_found_by_its_rule_and_by_no_other(code: str, sentence: str) -> None:
    text = spelt(sentence)
    draft = f"{text}\n\n{VERDICTS}" if code in FIRST else f"{LABEL}\n\n{VERDICTS}\n\n{text}"
    assert codes(draft) == [code]


@pytest.mark.parametrize("sentence", SENTENCES["clean"], ids=lambda sentence: sentence[:70])
def test_a_sentence_that_claims_nothing_wrong_is_left_alone(sentence: str) -> None:
    assert codes(f"{LABEL}\n\n{VERDICTS}\n\n{spelt(sentence)}") == []


@pytest.mark.parametrize("case", SENTENCES["whole"], ids=lambda case: case["draft"][:70])
def test_a_whole_draft_has_these_faults(case: dict[str, object]) -> None:
    assert codes(spelt(str(case["draft"]))) == case["found"]


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        pytest.param("Not ready for 72 h: P1 FAIL, P4 RISK.", [], id="as judged"),
        pytest.param("Ready: yes, with risks for 24 h.", [], id="one of the lengths"),
        pytest.param("72 h: Yes, ready.", ["ANS506"], id="ready against the evidence"),
        pytest.param("Ready: yes.", ["ANS506"], id="a plain yes says more than with risks"),
        pytest.param("Not ready. P4: PASS.", ["ANS507"], id="a risk told as passed"),
        pytest.param("| P1 | capacity | PASS |\n\nNot ready.", [], id="P1 passes for 24 h"),
        pytest.param(
            "Not ready: cr-0aaaabbbbccccdddd is usable until 2026-08-22T11:30:00Z.",
            ["ANS803"],
            id="capacity used to its very end",
        ),
        pytest.param(
            "Not ready: cr-0aaaabbbbccccdddd ends 2026-08-22T11:30:00Z, usable until 11:00 UTC.",
            [],
            id="capacity used until terminations begin",
        ),
    ],
)
def test_readiness_and_capacity_are_held_against_the_preflight(
    draft: str, found: list[str]
) -> None:
    assert codes(draft, preflight()) == found


def test_what_no_report_tells_is_not_judged() -> None:
    assert codes("REPLACE it: Proven, root cause found. Ready: yes.", _plain()) == []


def _plain() -> dict[str, object]:
    return {"schema": "gpuvet/verdict/1", "mode": "Incident", "cluster": "tri-b200"}


def test_every_rule_is_shown_to_speak() -> None:
    shown = set(SENTENCES["flagged"]) | {c for case in SENTENCES["whole"] for c in case["found"]}
    elsewhere = {"ANS504", "ANS505", "ANS506", "ANS507", "ANS602", "ANS704", "ANS803"}
    assert {rule.code for rule in ANSWER_RULES} - shown - elsewhere == set()


def test_codes_are_unique_and_every_rule_says_why_how_to_mend_it_and_who_asks() -> None:
    assert len({rule.code for rule in ANSWER_RULES}) == len(ANSWER_RULES)
    assert [r.code for r in ANSWER_RULES if not (r.why and r.fix and r.source)] == []
    assert [r.code for r in ANSWER_RULES if not r.run.__doc__] == []

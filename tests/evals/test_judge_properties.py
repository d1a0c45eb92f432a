"""Whatever a judge or a model says, it is read: nothing raises, nothing slips through."""

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet_evals.asking import Reply
from gpuvet_evals.evals_json import Eval
from gpuvet_evals.inspection import RunIdentity, inspect_journal
from gpuvet_evals.journal import read_journal
from gpuvet_evals.judge.judge import Decision, decide
from gpuvet_evals.judge.reply import Judgement, Outcome, holds_quote, read_judgement
from gpuvet_evals.run.plain_tools import PlainTools
from gpuvet_evals.run.record import journal_text
from gpuvet_evals.run.turns import Result, Turn

NOW = datetime(2026, 11, 12, tzinfo=UTC)
WORDS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.sampled_from(["use_aws", "fs_read", "datetime", "skill_read", "nothing"])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "passed": JSON,
        "applicable": JSON,
        "confidence": JSON,
        "evidence": JSON,
        "reasoning": JSON,
    },
)


@given(raw=st.text(max_size=200) | FIELDS.map(json.dumps), answer=st.text(max_size=80))
@settings(max_examples=60, deadline=None)
def test_any_reply_is_read_and_a_pass_always_quotes_the_answer(raw: str, answer: str) -> None:
    read = read_judgement(raw, answer)

    if read.verdict is Outcome.PASS:
        assert holds_quote(answer, json.loads(raw)["evidence"])
    assert read == read_judgement(raw, answer)


VOTES = st.lists(
    st.none() | st.sampled_from(list(Outcome)).map(lambda o: Judgement(verdict=o)), max_size=7
)


@given(votes=VOTES, more=st.sampled_from([Outcome.PASS, Outcome.FAIL]))
@settings(max_examples=60, deadline=None)
def test_a_missing_vote_that_comes_in_never_turns_a_decision_round(
    votes: list[Judgement | None], more: Outcome
) -> None:
    before = decide([*votes, None]).decision
    after = decide([*votes, Judgement(verdict=more)]).decision

    if before in {Decision.PASS, Decision.FAIL, Decision.NOT_APPLICABLE}:
        assert after is before


@given(
    name=st.sampled_from(["use_aws", "fs_read", "datetime", "skill_read", "nothing"]), given_=JSON
)
@settings(max_examples=60, deadline=None)
def test_any_input_of_a_tool_is_answered_in_words(name: str, given_: object) -> None:
    tools = PlainTools(case=None, files={"a": "b"}, skill=None, now=NOW)

    said = tools.call(name, given_)

    assert said.is_error
    assert said.text


BLOCKS = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=30)})
    | st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": st.sampled_from("ab"), "input": JSON,
         "name": st.sampled_from(["use_aws", "skill_read", "ask_user"])}
    ),
    max_size=3,
)  # fmt: skip


@given(
    turns=st.lists(BLOCKS, max_size=4),
    final=st.booleans(),
    kind=st.sampled_from(["chat", "investigation"]),
)
@settings(max_examples=60, deadline=None)
def test_any_turns_become_a_journal_that_can_be_inspected(
    turns: list[list[dict[str, Any]]], final: bool, kind: str
) -> None:
    eval_ = Eval(id="e", prompt="Why?", task_type=kind)
    played = [
        Turn(
            reply=Reply(content=tuple(blocks), stop_reason="end_turn"),
            replied_at=NOW,
            results=tuple(
                Result(tool_use_id=b["id"], text="x") for b in blocks if b["type"] == "tool_use"
            ),
            answered_at=NOW,
        )
        for blocks in turns
    ]
    text = journal_text("n", eval_, played, NOW, is_final=final and bool(played))

    journal = read_journal(text)
    identity = RunIdentity(
        case="c", skill_name="s", eval_id="e", iteration=1, run_type="with_skill"
    )
    inspection = inspect_journal(journal, identity, eval_)

    assert journal.malformed == 0
    assert journal.unknown_types == {}
    assert inspection.metrics.records == len(journal.records)

"""Both forms of evals.json."""

import json

import pytest

from gpuvet_evals.errors import UnreadableEvals
from gpuvet_evals.evals_json import Assertion, Eval, EvalSet, parse_assertion, read_evals


def test_the_hand_written_list_is_read() -> None:
    text = json.dumps(
        [{"id": 3, "prompt": "p", "expected_output": "e", "files": ["files/a.yaml"],
          "assertions": ["contains 'X'", "The answer is right."]}]
    )  # fmt: skip

    assert read_evals(text) == EvalSet(
        skill_name=None,
        evals=(
            Eval(
                id="3",
                prompt="p",
                expected="e",
                files=("files/a.yaml",),
                assertions=(
                    Assertion(text="contains 'X'", evaluator="contains", any_of=("X",)),
                    Assertion(text="The answer is right.", evaluator="llm"),
                ),
            ),
        ),
    )


def test_the_functional_form_is_read() -> None:
    entry = {
        "id": "slow",
        "task_type": "investigation",
        "prompt": "TITLE: slow, DESCRIPTION: d",
        "expected_root_cause": "storage",
        "should_trigger": False,
        "assertions": [{"text": "t", "evaluator": "regex", "pattern": "x", "match": "absent"}],
        "mood": "good",
    }

    read = read_evals(json.dumps({"skill_name": "s", "evals": [entry]}))

    assert read.skill_name == "s"
    assert read.find("slow") == Eval(
        id="slow",
        task_type="investigation",
        prompt="TITLE: slow, DESCRIPTION: d",
        expected="storage",
        should_trigger=False,
        assertions=(Assertion(text="t", evaluator="regex", pattern="x", absent=True),),
        unknown_keys=("mood",),
    )


@pytest.mark.parametrize(
    ("text", "evaluator", "any_of", "pattern"),
    [
        ("contains 'A' or contains \"B\"", "contains", ("A", "B"), None),
        ("matches regex /a+/", "regex", (), "a+"),
        ("matches regex /a+/i", "regex", (), "(?i)a+"),
        ("matches regex /a/b/ms", "regex", (), "(?ms)a/b"),
        ("The answer contains 'A'.", "llm", (), None),
    ],
)
def test_strings_follow_the_grammar_or_are_judged(
    text: str, evaluator: str, any_of: tuple[str, ...], pattern: str | None
) -> None:
    found = parse_assertion(text)

    assert (found.evaluator, found.any_of, found.pattern) == (evaluator, any_of, pattern)


def test_no_assertions_and_an_empty_list_are_two_things() -> None:
    read = read_evals(json.dumps([{"id": "a"}, {"id": "b", "assertions": []}]))

    assert [e.assertions for e in read.evals] == [None, ()]


def test_files_that_leave_the_folder_are_left_out() -> None:
    files = ["/etc/passwd", "../x", "files/ok.log", "c:x"]

    assert read_evals(json.dumps([{"id": "a", "files": files}])).evals[0].files == ("files/ok.log",)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="no JSON"),
        pytest.param("7", id="a number"),
        pytest.param('{"evals": {}}', id="evals that are no list"),
        pytest.param("[1]", id="an entry that is no object"),
        pytest.param('[{"prompt": "p"}]', id="an entry without id"),
        pytest.param('[{"id": true}]', id="an id that is neither text nor number"),
        pytest.param('[{"id": "a", "assertions": [7]}]', id="an assertion that is a number"),
    ],
)
def test_what_cannot_be_understood_is_refused(text: str) -> None:
    with pytest.raises(UnreadableEvals):
        read_evals(text)


def test_trigger_queries_are_evals_that_only_ask_for_the_load() -> None:
    entry = {"id": "t1", "query": "Replace it?", "should_trigger": True, "rationale": "a verdict"}

    assert read_evals(json.dumps({"skill_name": "s", "queries": [entry]})) == EvalSet(
        skill_name="s", evals=(Eval(id="t1", prompt="Replace it?", is_query=True),)
    )


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"id": "t1", "query": "q"}, id="that does not say whether to load"),
        pytest.param({"query": "q", "should_trigger": True}, id="without an id"),
        pytest.param("q", id="that is no object"),
    ],
)
def test_a_query_that_says_too_little_is_refused(entry: object) -> None:
    with pytest.raises(UnreadableEvals, match=r"query (0|'t1')"):
        read_evals(json.dumps({"queries": [entry]}))

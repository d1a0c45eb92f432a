"""Answer status before any score."""

from typing import Any

import pytest

from gpuvet_evals.answer import AnswerStatus, find_answer
from gpuvet_evals.calls import tool_calls
from gpuvet_evals.journal_writer import JournalWriter

AWS = {"service_name": "sagemaker", "operation_name": "list_clusters"}
ASK: dict[str, Any] = {"question": "Go on?", "options": []}


@pytest.mark.parametrize(
    ("written", "status", "text"),
    [
        pytest.param(
            JournalWriter().user("q").use("use_aws", AWS).result("{}").final("it is so"),
            AnswerStatus.FINAL,
            "it is so",
            id="a final response",
        ),
        pytest.param(
            JournalWriter().user("q").final("first").user("more").final("second"),
            AnswerStatus.FINAL,
            "second",
            id="the last of two",
        ),
        pytest.param(
            (
                JournalWriter()
                .user("q")
                .use("use_aws", AWS)
                .result("{}")
                .use("ask_user", ASK, call="t2", text="so")
            ),
            AnswerStatus.ANSWERED_THEN_ASKED,
            "so",
            id="an answer in the asking message",
        ),
        pytest.param(
            (
                JournalWriter()
                .user("q")
                .use("use_aws", AWS)
                .result("{}")
                .say("so")
                .use("ask_user", ASK, call="t2")
                .used(3)
            ),
            AnswerStatus.ANSWERED_THEN_ASKED,
            "so",
            id="an answer before a silent question",
        ),
        pytest.param(
            JournalWriter().user("q").use("ask_user", ASK, text="which cluster?").used(3),
            AnswerStatus.BLOCKED_ON_USER,
            "which cluster?",
            id="asked before any call",
        ),
        pytest.param(
            JournalWriter().user("q").use("use_aws", AWS).result("{}").used(3),
            AnswerStatus.TRUNCATED_MID_TOOL,
            "",
            id="cut after a result",
        ),
        pytest.param(
            JournalWriter().user("q").use("use_aws", AWS),
            AnswerStatus.TRUNCATED_MID_TOOL,
            "",
            id="cut after a call",
        ),
        pytest.param(
            JournalWriter().user("q").use("gather_context", {}).summary("{}"),
            AnswerStatus.TRUNCATED_MID_TOOL,
            "",
            id="cut inside a subagent",
        ),
        pytest.param(
            JournalWriter().user("q").used(3), AnswerStatus.ERRORED, "", id="nothing was done"
        ),
    ],
)
def test_a_chat_ends_in_one_of_these_ways(
    written: JournalWriter, status: AnswerStatus, text: str
) -> None:
    journal = written.journal()

    answer = find_answer(journal, tool_calls(journal))

    assert (answer.status, answer.text) == (status, text)


def test_an_investigation_answers_in_its_raw_markdown_summary() -> None:
    journal = (
        JournalWriter(investigation=True)
        .user("TITLE: t, DESCRIPTION: d")
        .record("investigation_summary_md", "# Summary\n\n### Root Cause: x\n")
        .record("utilization", {}, subagent="one")
        .journal()
    )

    answer = find_answer(journal, ())

    assert (answer.status, answer.text) == (
        AnswerStatus.FINAL,
        "# Summary\n\n### Root Cause: x\n",
    )


def test_an_investigation_without_summary_is_not_final_for_all_its_text() -> None:
    journal = (
        JournalWriter(investigation=True).user("TITLE: t").say("the cause is storage").journal()
    )

    assert find_answer(journal, ()).status is AnswerStatus.NO_SUMMARY


def test_an_empty_final_response_is_no_answer() -> None:
    journal = JournalWriter().user("q").use("use_aws", AWS).result("{}").final(" ").journal()

    assert find_answer(journal, tool_calls(journal)).status is not AnswerStatus.FINAL

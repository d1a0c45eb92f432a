"""Reading journal_records.json: every record kept, nothing unknown dropped silently."""

import json

import pytest

from gpuvet_evals.calls import hidden_errors, result_text, tool_calls
from gpuvet_evals.errors import UnreadableJournal
from gpuvet_evals.journal import read_journal
from gpuvet_evals.journal_writer import JournalWriter
from gpuvet_evals.timing import run_metrics, shown_duration


def test_unknown_types_and_malformed_entries_are_counted() -> None:
    entries = json.loads(JournalWriter().user("hello").record("hologram", {"a": 1}).text())

    journal = read_journal(json.dumps([*entries, 7, {"recordId": "no type"}]))

    assert dict(journal.types) == {"hologram": 1, "message": 1}
    assert journal.unknown_types == {"hologram": 1}
    assert journal.malformed == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("[{", id="cut short"),
        pytest.param('{"records": []}', id="an object"),
        pytest.param("[1, 2]", id="no record at all"),
        pytest.param("[" * 100_000, id="nested without end"),
        pytest.param(b"\xff\xfe", id="no text"),
    ],
)
def test_what_is_no_journal_is_refused(text: str | bytes) -> None:
    with pytest.raises(UnreadableJournal):
        read_journal(text)


def test_an_empty_list_is_a_journal_of_nothing() -> None:
    assert read_journal("[]").records == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param([{"text": "a"}, {"text": "b"}], "a\nb", id="a block list"),
        pytest.param("[{'text': 'it\\'s \"so\"'}]", 'it\'s "so"', id="the repr of one"),
        pytest.param("[{'text': 'cut", "[{'text': 'cut", id="a broken repr stays as it is"),
        pytest.param("plain", "plain", id="plain text"),
        pytest.param("[{'text': __import__('os')}]", "[{'text': __import__('os')}]", id="code"),
        pytest.param(None, "", id="nothing"),
    ],
)
def test_the_text_of_a_result(content: object, expected: str) -> None:
    assert result_text(content) == expected


def test_use_summary_and_result_are_one_call() -> None:
    journal = (
        JournalWriter()
        .user("q")
        .use("use_aws", {"service_name": "fsx", "operation_name": "describe_file_systems"})
        .summary("{}", call="t1", subagent=None)
        .result("{}")
        .journal()
    )

    (call,) = tool_calls(journal)

    assert (call.tool, call.label, len(call.results)) == ("use_aws", "Running Use Aws", 2)
    assert call.has_visible_input


def test_an_error_recorded_as_a_success_is_told_once() -> None:
    text = "AWS API error (logs.FilterLogEvents, account 111122223333): AccessDenied — no"
    journal = (
        JournalWriter()
        .user("q")
        .use("use_aws", {})
        .summary(text, call="t1", subagent=None)
        .result(text)
        .summary("fine, not an AWS API error (x", call="s2")
        .journal()
    )

    assert list(hidden_errors(tool_calls(journal))) == [journal.records[2].record_id]


def test_runtime_leaves_out_users_titles_accounting_and_silent_messages() -> None:
    journal = (
        JournalWriter()
        .user("q")
        .record("chat_title", {"content": [{"type": "chat_title", "title": "t"}]})
        .say("first")  # second 2
        .use("use_aws", {})
        .final("last")  # seconds 4 and 5
        .used(4)
        .journal()
    )

    metrics = run_metrics(journal)

    assert (metrics.runtime_seconds, metrics.runtime, metrics.cost) == (3.0, "3s", "$0.02")
    assert (metrics.context_utilization, metrics.records) == ("4.0%", 7)


def test_subagent_records_do_not_count_into_the_runtime() -> None:
    journal = (
        JournalWriter(investigation=True)
        .say("first")
        .say("second")
        .record("message", {"role": "assistant"}, subagent="metrics")
        .journal()
    )

    assert run_metrics(journal).runtime_seconds == 1.0
    assert journal.subagents == ("metrics",)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "0s"), (59.9, "59s"), (60.0, "1m0s"), (116.4, "1m56s"), (1599.0, "26m39s")],
)
def test_durations_are_floored(seconds: float, shown: str) -> None:
    assert shown_duration(seconds) == shown

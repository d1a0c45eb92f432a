"""Each figure of an answer traced to what the run read."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet_evals.audit.grounding import Trace, grounding_of, trace_answer
from gpuvet_evals.calls import tool_calls
from gpuvet_evals.journal_writer import JournalWriter


def traces(answer: str, result: str = "", *, prompt: str = "q") -> tuple[Trace, ...]:
    given = {"service_name": "ec2", "operation_name": "describe_instances"}
    run = JournalWriter().user(prompt).use("use_aws", given).result(result).final(answer)
    journal = run.journal()
    return trace_answer(journal, tool_calls(journal), answer)


def unsupported(answer: str, result: str = "", *, prompt: str = "q") -> tuple[str, ...]:
    return grounding_of(traces(answer, result, prompt=prompt)).unsupported_numbers


@pytest.mark.parametrize(
    ("answer", "result", "expected"),
    [
        pytest.param("1,874 records", '{"n": 1874.0}', (), id="grouped against decimal zeros"),
        pytest.param("48211 records", "48,211 records", (), id="plain against grouped"),
        pytest.param("96.4 percent", "96.40", (), id="trailing zeros"),
        pytest.param("96.4 percent", "96.39842", ("96.4",), id="a rounded value is another"),
        pytest.param("83 C", "833 and 183 and 8.83", ("83",), id="a part of a number is not it"),
        pytest.param("83 C", "at 03:83:00 on 2026-11-83", ("83",), id="nor of a time or a date"),
        pytest.param("41 of 72 hours", "hours: 41, of 72.", (), id="punctuation around"),
        pytest.param("90 percent", "hours above 90", (), id="in words"),
        pytest.param(
            "48 hours", "p5.48xlarge ip-10-0-0-48", ("48",), id="a part of a name is not it"
        ),
        pytest.param("5 of 9, and 5.0", "", (), id="one digit is left out"),
        pytest.param("2026-11-11 03:42:17 UTC, Nov 12, 09:30Z", "", (), id="times are left out"),
        pytest.param("83C, 83 %, 83x", "", ("83",), id="a unit is no part of it; once is enough"),
        pytest.param("ml.p5.48xlarge in us-east-2", "", (), id="names are no numbers"),
        pytest.param("driver 570.133.20", "version 570.133.20.", (), id="a version is one figure"),
        pytest.param(
            "driver 570.133.20", "570.133 and 133.20", ("570.133.20",), id="of all its parts"
        ),
        pytest.param("10. Restart.\n  11) Wait.", "", (), id="numbers of a list are none"),
        pytest.param("It took\n10. 12 more.", "", ("12",), id="what follows them is"),
        pytest.param("on PCI 0000:b3:00 of 10.2.0.11", "", (), id="nor are addresses"),
    ],
)
def test_a_number_is_supported_by_the_same_value_alone(
    answer: str, result: str, expected: tuple[str, ...]
) -> None:
    assert unsupported(answer, result) == expected


def test_the_prompt_supports_a_number() -> None:
    assert unsupported("job 5120 died", prompt="job 5120?") == ()


def test_ids_are_told_apart_from_numbers() -> None:
    answer = (
        "reservation cr-0ffffffffffff0009, node i-0a1b2c3d4e5f60011.system, volume vol-0a1b2c3d"
    )

    found = grounding_of(traces(answer, '{"InstanceId": "i-0a1b2c3d4e5f60011"}'))

    assert found.supported_ids == ("i-0a1b2c3d4e5f60011",)
    assert found.unsupported_ids == ("cr-0ffffffffffff0009", "vol-0a1b2c3d")
    assert found.unsupported_numbers == ()


def test_a_model_in_between_makes_a_figure_second_hand() -> None:
    run = (
        JournalWriter().user("q").use("distill", {"tool_use_id": "x"}).result("the peak was 5.663")
    )
    run.use("gather_context", {}, call="g").result("Collected: 771 lines", call="g")
    answer = "It peaked at 5.663 in 771 lines and 772 others."
    journal = run.final(answer).journal()

    found = {t.shown: t.backing.value for t in trace_answer(journal, tool_calls(journal), answer)}

    assert found == {"5.663": "second_hand", "771": "second_hand", "772": "unsupported"}


def test_behind_the_preview_of_a_large_result_a_figure_is_lost() -> None:
    preview = "## Large Tool Result\n45k tokens\npreview: 4411"

    found = {t.shown: t.backing.value for t in traces("4411 and 4412", preview)}

    assert found == {"4411": "raw", "4412": "lost"}
    assert unsupported("4411 and 4412", preview) == ()


def test_a_raw_result_is_named_before_a_report_of_it() -> None:
    run = (
        JournalWriter().user("q").use("gather_context", {}, call="g").summary("777 free", call="s")
    )
    run.summary("777 free", call="g", block_type="run_subagent", subagent=None)
    journal = run.final("777 free").journal()

    (trace,) = trace_answer(journal, tool_calls(journal), "777 free")

    assert (trace.backing.value, trace.record_id) == ("raw", journal.records[2].record_id)


@settings(max_examples=60, deadline=None)
@given(st.integers(10, 10**9), st.integers(0, 4), st.sampled_from(["", " ", "x", "\n", ", "]))
def test_every_number_a_tool_gives_is_found_again(number: int, decimals: int, after: str) -> None:
    shown = f"{number:.{decimals}f}"

    assert unsupported(f"it is {number:,}.", json.dumps({"v": f"{shown}{after}"})) == ()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_answer_can_be_traced(answer: str) -> None:
    found = traces(answer, "nothing")

    assert all(answer[t.offset : t.offset + len(t.shown)] == t.shown for t in found)


def test_a_hostile_answer_takes_no_time() -> None:
    for text in ("a-" * 40_000 + "11", "1" * 80_000, "/a" * 40_000 + "1", "0:" * 40_000):
        traces(f"x11 {text} 22 y")

"""Lines of a job from its log groups: which groups, which lines, how far."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.aws.door import LogLine
from gpuvet.aws.job_logs import job_group_names, read_job_lines
from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import CallError, RecordedCall
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.model.evidence import Reason, Status, Window

START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
WINDOW = Window(start=START, end=START + timedelta(hours=1))
STEP = {"timestamp": "2026-07-01T12:05:00Z", "message": "step 5 step_time 1.2s"}
TALK = {"timestamp": "2026-07-01T12:06:00Z", "message": "hello"}


def group(*events: dict[str, str]) -> dict[str, Any]:
    return {
        "creationTime": 1780000000000,
        "logGroupClass": "STANDARD",
        "streams": {"rank0": {"hours": {}, "events": list(events)}},
    }


def store(groups: dict[str, Any], *calls: RecordedCall) -> RecordedAws:
    return RecordedAws(calls, stores=StoreAnswers(read_log_store(groups)))


@pytest.mark.parametrize(
    ("cluster", "question", "names"),
    [
        pytest.param("nova-p4", None, ("nova-p4", "nova"), id="the cluster, how its name begins"),
        pytest.param("a-p5", None, ("a-p5",), id="unless that is too short"),
        pytest.param(
            "a-p5", "Job llm-7b on a-p5 was slow", ("a-p5", "llm-7b"), id="the job's own name"
        ),
        pytest.param("a-p5", "Our 2-node job on a-p5 is slow", ("a-p5",), id="no name"),
        pytest.param("a-p5", "The job that ran here died", ("a-p5",), id="no name either"),
        pytest.param(None, None, (), id="nothing is guessed"),
    ],
)
def test_groups_are_looked_for_by(
    cluster: str | None, question: str | None, names: tuple[str, ...]
) -> None:
    assert job_group_names(cluster, question) == names


def test_lines_that_match_are_returned_from_the_customers_own_groups() -> None:
    aws = store({"/train/nova/job": group(STEP, TALK), "/aws/lambda/train": group(STEP)})
    found = read_job_lines(aws, ("train", "nova"), WINDOW, "step")
    assert found.status is Status.OK
    assert found.value == (
        LogLine(
            node="",
            group="/train/nova/job",
            stream="rank0",
            line=1,
            text="step 5 step_time 1.2s",
            shipped_at_ms=1782907500000,
        ),
    )


def test_container_logs_of_applications_are_the_jobs_too() -> None:
    aws = store({"/aws/containerinsights/train-eks/application": group(STEP)})
    assert len(read_job_lines(aws, ("train",), WINDOW, "step").value or ()) == 1


def test_no_group_is_an_empty_answer() -> None:
    found = read_job_lines(store({}), ("train",), WINDOW, "step")
    assert (found.status, found.value) == (Status.OK_EMPTY, ())


def test_a_denied_query_is_no_empty_answer() -> None:
    denied = RecordedCall("logs:StartQuery", {}, (CallError("AccessDeniedException", ""),))
    found = read_job_lines(store({"/train/job": group(STEP)}, denied), ("train",), WINDOW, "step")
    assert (found.status, found.reason) == (Status.UNVERIFIED, Reason.DENIED)


def test_one_group_denied_makes_the_rest_partial() -> None:
    denied = RecordedCall(
        "logs:StartQuery",
        {"logGroupNames": ["/train/b"]},
        (CallError("AccessDeniedException", ""),),
    )
    aws = store({"/train/a": group(STEP), "/train/b": group(STEP)}, denied)
    found = read_job_lines(aws, ("train",), WINDOW, "step")
    assert (found.status, found.reason, len(found.value or ())) == (
        Status.PARTIAL,
        Reason.DENIED,
        1,
    )

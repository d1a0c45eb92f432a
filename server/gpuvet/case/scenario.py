"""Recorded scenarios: one cluster, one question, and all that the recorded AWS side may answer.

The file also carries the answer expected of it; `expected`, `insights` and `title` are not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuvet.aws.cloudwatch_logs import CloudWatchLogs
from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.metric_store import read_metric_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import RecordedCall, read_calls
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.case import Case, Reply
from gpuvet.case.cluster_facts import cluster_facts
from gpuvet.case.verdict_case import read_orchestrator
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import CaseForm, CaseMeta, FileKind, FileReport, FileStatus, RunPlan
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Window
from gpuvet.model.untyped import is_object, object_at, objects_at, text_at, whole_at

FORMAT = "gpu-triage-scenario/1"


def is_scenario(document: object) -> bool:
    """Say whether a JSON document is a recorded scenario."""
    return is_object(document) and document.get("format") == FORMAT


def read_scenario(
    document: Mapping[str, Any], *, file: str, size: int, question: str | None
) -> Case:
    """Return a recorded scenario as a case, its clock frozen at its `now`.

    Raises:
        UnreadableCase: The clock, a call or a store cannot be read.
    """
    try:
        calls = read_calls(objects_at(document, "calls"))
        logs = read_log_store(object_at(document, "log_store"))
        series = read_metric_store(objects_at(document, "metric_store"))
    except (KeyError, TypeError, ValueError) as error:
        msg = f"{file} is a scenario that cannot be read: {error}; see its format's README"
        raise UnreadableCase(msg) from error
    meta = _meta(document, file, question)
    if meta.orchestrator is Orchestrator.UNKNOWN:
        facts = cluster_facts(list(_replies(calls, file)), logs.groups, (), ())
        meta = meta.model_copy(update={"orchestrator": facts.orchestrator})
    stores = StoreAnswers(logs, series, account=meta.account, region=meta.region)
    aws = RecordedAws(calls, account=meta.account, region=meta.region, now=meta.now, stores=stores)
    report = FileReport(
        path=file,
        kind=FileKind.SCENARIO,
        status=FileStatus.READ,
        records=len(calls),
        size=size,
    )
    clusters = (meta.cluster,) if meta.cluster else ()
    doors = CloudWatchLogs(aws, clusters=clusters, account=meta.account, now=meta.now)
    return Case(meta=meta, files=(report,), aws=aws, logs=doors, doors=aws.other_doors)


def _replies(calls: Sequence[RecordedCall], file: str) -> Iterator[Reply]:
    for call in calls:
        for page in call.pages:
            yield Reply(call.operation, file, page)


def _meta(document: Mapping[str, Any], file: str, question: str | None) -> CaseMeta:
    now = as_datetime(document.get("now"))
    if now is None:
        msg = f"{file} is a scenario without a clock: give `now` in ISO 8601"
        raise UnreadableCase(msg)
    request = object_at(document, "request")
    span = object_at(request, "window")
    start, end = as_datetime(span.get("start")), as_datetime(span.get("end"))
    has_window = start is not None and end is not None and start < end
    return CaseMeta(
        id=text_at(document, "id") or file.removesuffix(".json"),
        form=CaseForm.SCENARIO,
        question=question or text_at(document, "question"),
        now=now,
        now_source="the case's clock",
        account=text_at(document, "account_id"),
        region=text_at(document, "region"),
        cluster=text_at(request, "cluster"),
        orchestrator=read_orchestrator(text_at(request, "orchestrator")),
        window=Window(start=start, end=end) if start and end and has_window else None,
        window_source="the request" if has_window else "not given",
        failure_at=as_datetime(request.get("failure_at")),
        failure_measured=False,  # the request repeats the user's words
        mode=text_at(request, "mode"),
        run=_run(request.get("run")),
    )


def _run(raw: object) -> RunPlan | None:
    if not is_object(raw):
        return None
    return RunPlan(
        start=as_datetime(raw.get("start")),
        hours=_number(raw.get("hours")),
        checkpoint_interval_minutes=_number(raw.get("checkpoint_interval_min")),
        nodes_needed=whole_at(raw, "nodes_needed"),
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)

"""Folders, archives and raw files to a case: two passes, then everything joined.

The first pass takes the small files; from them follow the clock and the nodes. The second pass
streams the logs, whose year-less stamps need the one and whose host names need the other.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.metric_store import read_metric_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.case.case import Case
from gpuvet.case.cluster_facts import ClusterFacts, cluster_facts
from gpuvet.case.container import Container
from gpuvet.case.held_logs import UNATTRIBUTED, HeldLogs
from gpuvet.case.inventory import nodes
from gpuvet.case.log_scan import LogScanner
from gpuvet.case.put_off import PutOff, owner_of, read_put_off, smi_facts
from gpuvet.case.readings import merged_facts
from gpuvet.case.recognise import JOB_KINDS, MANIFEST_KINDS, SMI_KINDS
from gpuvet.case.replies import reply_calls
from gpuvet.case.streams import held_streams
from gpuvet.case.tables import read_metrics
from gpuvet.case.take import Taken, take_file
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import CaseHeader, CaseMeta, FileStatus
from gpuvet.model.evidence import Window


def read_folder(container: Container, *, question: str | None, now: datetime | None = None) -> Case:
    """Return the files of a container as one case.

    Args:
        container: A folder, an archive or one raw file.
        question: The user's words; they replace those of case.json.
        now: The clock of a case that has none of its own.

    Raises:
        UnreadableCase: The container is hostile, or holds nothing that was understood.
    """
    taken = Taken()
    for file in container.files():
        take_file(file, taken, container.limits)
    meta = _meta(container, taken, question, now)
    first = _assembled(meta, taken, ())
    found = nodes(first)
    names = {alias: node.node for node in found for alias in (node.node, *node.aliases)}
    only = found[0].node if len(found) == 1 else None
    for text in taken.texts:
        if text.kind in SMI_KINDS:
            owner = owner_of(text.file, names) or only
            taken.facts.append(smi_facts(text.text, text.file, owner))
    logs = _second_pass(container, taken, meta, names, only)
    _require_something(container, taken)
    return _assembled(meta, taken, logs)


def _second_pass(
    container: Container,
    taken: Taken,
    meta: CaseMeta,
    names: Mapping[str, str],
    only: str | None,
) -> tuple[PutOff, ...]:
    if not taken.put_off:
        return ()
    scanner = LogScanner(meta.now or (meta.window.end if meta.window else None))
    found: list[PutOff] = []
    for file in container.files():
        kind = taken.put_off.get(file.path)
        if kind is None or file.content is None:
            continue
        read = read_put_off(
            file.path,
            kind,
            file.content,
            scanner,
            names=names,
            only=only,
            limit=container.limits.document_bytes,
        )
        taken.reports[file.path] = read.report
        if read.facts is not None:
            taken.facts.append(read.facts)
        found.append(read)
    return tuple(found)


def _assembled(meta: CaseMeta, taken: Taken, logs: Sequence[PutOff]) -> Case:
    calls = [*taken.calls, *reply_calls(taken.replies)]
    aws = RecordedAws(
        calls,
        account=meta.account,
        region=meta.region,
        now=meta.now,
        stores=_stores(taken, meta),
    )
    streams = held_streams(taken.counts, taken.searches, taken.lines, logs)
    day = meta.window.start.date() if meta.window else None
    return Case(
        meta=meta,
        files=tuple(taken.reports[path] for path in sorted(taken.reports)),
        aws=aws,
        logs=HeldLogs(streams, now=meta.now),
        facts=merged_facts(taken.facts),
        notes=tuple(taken.notes),
        searches=tuple(taken.searches),
        job_logs=tuple(text for text in taken.texts if text.kind in JOB_KINDS),
        manifests=tuple(text for text in taken.texts if text.kind in MANIFEST_KINDS),
        transcripts=tuple(text for text in taken.texts if text.kind in SMI_KINDS),
        metrics=tuple(
            series for path, table in taken.metrics for series in read_metrics(table, path, day)
        ),
        replies=tuple(taken.replies),
        kube=tuple(taken.kube),
        named=tuple((one.node, one.stream) for one in streams if one.node != UNATTRIBUTED),
    )


def _stores(taken: Taken, meta: CaseMeta) -> StoreAnswers:
    """Return what a recording's stores answer; without one the recorded calls stand alone."""
    try:
        logs = [read_log_store(one["log_store"]) for one in taken.stores if "log_store" in one]
        series = [s for one in taken.stores for s in read_metric_store(one.get("metric_store", ()))]
    except (KeyError, TypeError, ValueError) as error:
        msg = f"the recording's store cannot be read: {error}; see references/case-format.md"
        raise UnreadableCase(msg) from error
    has_metrics = any("metric_store" in one for one in taken.stores)
    return StoreAnswers(
        logs[0] if logs else None,
        series if has_metrics else None,
        account=meta.account,
        region=meta.region,
    )


def _meta(
    container: Container, taken: Taken, question: str | None, now: datetime | None
) -> CaseMeta:
    header = taken.header or CaseHeader()
    facts = _cluster(taken)
    window, window_source = _window(header, taken)
    clock, clock_source = _clock(header, taken, window, now)
    return CaseMeta(
        id=header.id or container.path.name,
        form=container.form,
        question=question or header.question,
        now=clock,
        now_source=clock_source,
        account=header.account or facts.account,
        region=header.region or facts.region,
        cluster=header.cluster or facts.name,
        orchestrator=header.orchestrator or facts.orchestrator,
        window=window,
        window_source=window_source,
        window_padded=header.window_padded if header.window else window is not None,
        failure_at=header.failure_at,
        failure_measured=header.failure_measured,
        mode=header.mode,
        run=header.run,
    )


def _cluster(taken: Taken) -> ClusterFacts:
    groups = (
        *(one.group for one in taken.counts),
        *(one.group for one in taken.searches),
        *(one.group for one in taken.lines),
    )
    kinds = (*taken.put_off.values(), *(one.kind for one in taken.reports.values()))
    return cluster_facts(taken.replies, {one for one in groups if one}, taken.kube, kinds)


def _window(header: CaseHeader, taken: Taken) -> tuple[Window | None, str]:
    """Return the window asked about: of case.json, else the hours that counts or searches name."""
    if header.window is not None:
        return header.window, "case.json"
    if not taken.windows:
        return None, "not given"
    start = min(one.start for one in taken.windows)
    end = max(one.end for one in taken.windows)
    return Window(start=start, end=end), "the hours that the case's counts name, pad included"


def _clock(
    header: CaseHeader, taken: Taken, window: Window | None, now: datetime | None
) -> tuple[datetime | None, str]:
    """Return the case's now: said in it, else the end of its window, else its latest time."""
    if header.now is not None:
        return header.now, "case.json"
    if taken.clock is not None:
        return taken.clock, "the case's clock file"
    if window is not None:
        return window.end, "the end of the window"
    if taken.latest is not None:
        return taken.latest, "the latest time that a file of the case writes"
    return now, "the time of asking" if now is not None else "not given"


def _require_something(container: Container, taken: Taken) -> None:
    """Refuse a path of which nothing at all was understood.

    Raises:
        UnreadableCase: It is empty, or every file of it is foreign.
    """
    reports = taken.reports.values()
    if any(one.status is not FileStatus.NOT_UNDERSTOOD and one.size for one in reports):
        return
    if not reports:
        msg = f"{container.path} holds no files; give a folder, an archive or a file of a case"
        raise UnreadableCase(msg)
    first = next(iter(sorted(reports, key=lambda one: one.path)))
    msg = (
        f"none of the {len(taken.reports)} files of {container.path} was understood; "
        f"{first.path!r}: {first.reason or 'empty'}"
    )
    raise UnreadableCase(msg)

"""Folders, archives and raw files to a case: two passes, then everything joined.

The first pass takes the small files; from them follow the clock and the nodes. The second pass
streams the logs, whose year-less stamps need the one and whose host names need the other.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.metric_store import read_metric_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import CallError, RecordedCall
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.case.case import Case
from gpuvet.case.cluster_facts import ClusterFacts, cluster_facts
from gpuvet.case.container import Container
from gpuvet.case.held_logs import UNATTRIBUTED, HeldLogs, HeldStream
from gpuvet.case.inventory import nodes
from gpuvet.case.log_scan import LogScanner
from gpuvet.case.put_off import PutOff, owner_of, read_put_off, smi_facts
from gpuvet.case.readings import merged_facts
from gpuvet.case.recognise import JOB_KINDS, MANIFEST_KINDS, SMI_KINDS
from gpuvet.case.replies import reply_calls
from gpuvet.case.streams import held_streams, tells_of_a_gpu
from gpuvet.case.tables import HOUR, read_metrics
from gpuvet.case.take import take_file
from gpuvet.case.taken import Taken
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import (
    CaseHeader,
    CaseMeta,
    CaseNode,
    FileKind,
    FileStatus,
    OperatorFacts,
)
from gpuvet.model.coverage import Shipper
from gpuvet.model.evidence import Window
from gpuvet.parse.shipper import shipper_of_name
from gpuvet.parse.wrappers import instance_id

_INSTANCE = re.compile(r"(?<![0-9A-Za-z])i-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9A-Za-z])")
_LATEST = "the latest time that a file of the case writes"
_ASKING = "the time of asking"
_NOT_GIVEN = "not given"
# Ours: how far a log without years may go on after the latest time written in full elsewhere.
_LATER = timedelta(days=60)


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
    names = _names(found)
    _use_one_name(taken, names)
    # A stream that stands for a node nobody names is no proof that there is only one.
    stand_ins = {line.stream for line in taken.lines if line.node == UNATTRIBUTED}
    present = {names[node.node] for node in found if node.node not in stand_ins}
    only = present.pop() if len(present) == 1 else None
    logs = _second_pass(container, taken, meta, names, only)
    hosts = {part.node for log in logs for part in log.logs} - {UNATTRIBUTED}
    known = {**{host: host for host in hosts}, **names}
    taken.facts += [
        smi_facts(text.text, text.file, owner_of(text.file, known) or only)
        for text in taken.texts
        if text.kind in SMI_KINDS
    ]
    meta = _with_clock_of_logs(meta, logs)
    _require_something(container, taken)
    return _assembled(meta, taken, logs)


def _names(found: Sequence[CaseNode]) -> dict[str, str]:
    """Return the node of every name. A host name that is another node's alias is that node."""
    names = {node.node: node.node for node in found}
    for node in found:
        for alias in node.aliases:
            is_own = names.get(alias, alias) == alias
            if is_own and (alias not in names or instance_id(alias) is None):
                names[alias] = node.node
    return names


def _use_one_name(taken: Taken, names: Mapping[str, str]) -> None:
    """Bring counts, lines and readings that name a node by its host under the node's id."""

    def renamed(name: str) -> dict[str, str]:
        return {"node": names.get(name, name)}

    taken.counts = [one.model_copy(update=renamed(one.node)) for one in taken.counts]
    taken.lines = [one.model_copy(update=renamed(one.node)) for one in taken.lines]
    taken.facts = [
        facts.model_copy(
            update={"nodes": tuple(one.model_copy(update=renamed(one.node)) for one in facts.nodes)}
        )
        for facts in taken.facts
    ]


def _second_pass(
    container: Container,
    taken: Taken,
    meta: CaseMeta,
    names: Mapping[str, str],
    only: str | None,
) -> tuple[PutOff, ...]:
    if not taken.put_off:
        return ()
    scanner = LogScanner(_latest_plausible(meta, container))
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
            only=None if kind is FileKind.CLUSTER_LOG else only,  # the head node writes those
            limits=container.limits,
        )
        taken.reports[file.path] = read.report
        if read.facts is not None:
            taken.facts.append(read.facts)
        found.append(read)
    return tuple(found)


def _latest_plausible(meta: CaseMeta, container: Container) -> datetime | None:
    """Return what a stamp without a year cannot lie after, give or take a day.

    The case's own clock; else some time after the latest full time that the case writes or
    names; else when its files were last written, which was after their last line.
    """
    if meta.now is not None and meta.now_source not in {_LATEST, _ASKING}:
        return meta.now
    told = meta.now if meta.now_source == _LATEST else meta.failure_at
    if told is not None:
        return told + _LATER
    return container.modified() or meta.now


def _with_clock_of_logs(meta: CaseMeta, logs: Sequence[PutOff]) -> CaseMeta:
    """Return the clock of a case that has none: no earlier than the last hour a log writes."""
    hours = [
        one.hour for log in logs for part in log.logs if part.counts for one in part.counts.bins
    ]
    if meta.now_source not in {_LATEST, _NOT_GIVEN, _ASKING} or not hours:
        return meta
    end = max(hours) + HOUR
    if meta.now_source == _LATEST and meta.now is not None and meta.now > end - HOUR:
        return meta
    return meta.model_copy(update={"now": end, "now_source": _LATEST})


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
        service_logs=tuple(log.text for log in logs if log.text is not None),
        manifests=tuple(text for text in taken.texts if text.kind in MANIFEST_KINDS),
        transcripts=tuple(text for text in taken.texts if text.kind in SMI_KINDS),
        metrics=tuple(
            series for path, table in taken.metrics for series in read_metrics(table, path, day)
        ),
        replies=tuple(taken.replies),
        kube=tuple(taken.kube),
        prometheus=tuple(taken.prometheus),
        flight_dumps=tuple(taken.flight_dumps),
        doors=aws.other_doors,
        refused=_refused(calls),
        unowned=(*_unowned(streams), *_unowned_readings(taken.facts)),
        named=(
            *((one.node, one.stream) for one in streams if one.node != UNATTRIBUTED),
            *_named_by_the_manager(taken, logs),
        ),
    )


def _refused(calls: Sequence[RecordedCall]) -> tuple[tuple[str, str], ...]:
    """Return the reads of logs that ended in an error; other reads are asked for by name."""
    return tuple(
        (call.operation, answer.code)
        for call in calls
        if call.operation.startswith("logs:")
        for answer in call.answers
        if isinstance(answer, CallError)
    )


_MAY_BE_A_NODES = frozenset(
    {Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY, Shipper.UNKNOWN}
)


def _unowned(streams: Sequence[HeldStream]) -> tuple[tuple[str, bool], ...]:
    """Return the logs of which no line tells whose it is, or a driver's line does not."""
    owned = {one.stream for one in streams if one.node != UNATTRIBUTED}
    return tuple(
        (one.stream, tells_of_a_gpu(one.lines))
        for one in streams
        if one.node == UNATTRIBUTED
        and (tells_of_a_gpu(one.lines) or (one.stream not in owned and _may_be_a_nodes(one)))
    )


def _unowned_readings(facts: Sequence[OperatorFacts]) -> Iterator[tuple[str, bool]]:
    for reading in (one for fact in facts for one in fact.nodes if one.node == UNATTRIBUTED):
        for file in reading.files:
            yield file, reading.facts.nvidia_smi_answers is False


def _may_be_a_nodes(one: HeldStream) -> bool:
    kind = one.counts.shipper if one.counts is not None else shipper_of_name(one.stream, one.group)
    return kind in _MAY_BE_A_NODES


# Replies that list the nodes of a cluster.
_LISTINGS = frozenset({"ec2:DescribeInstances", "sagemaker:ListClusterNodes"})
_MANAGERS = frozenset({FileKind.CLUSTER_LOG, FileKind.SLURM_LOG})


def _named_by_the_manager(taken: Taken, logs: Sequence[PutOff]) -> Iterator[tuple[str, str]]:
    """Yield the instances that a cluster manager's log names, where no reply lists the nodes."""
    if any(reply.operation in _LISTINGS for reply in taken.replies):
        return
    for log in logs:
        if log.kind in _MANAGERS and log.text is not None:
            for node in dict.fromkeys(_INSTANCE.findall(log.text.text)):
                yield node, log.path


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
        return taken.latest, _LATEST
    return now, _ASKING if now is not None else _NOT_GIVEN


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

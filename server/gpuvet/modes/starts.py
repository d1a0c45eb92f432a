"""Starts of a failure that metrics and job output show: watchdogs, step times, GPU power."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from gpuvet.calculators.gpu_activity import (
    GPU_POWER,
    MEASURES,
    measure_of,
    power_fall,
    stopped_at,
)
from gpuvet.calculators.outliers import standings
from gpuvet.calculators.slowdown import slowdown
from gpuvet.case import Case
from gpuvet.model.case import CaseNode
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.cluster import ClusterEvidence
from gpuvet.model.evidence import Window
from gpuvet.modes.gather_gpu import GpuPower, gather_gpu
from gpuvet.modes.job_lines import PAD, job_lines
from gpuvet.modes.window import Resolved
from gpuvet.parse.job_steps import step_points
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.nccl_log import parse_nccl

# Ours: fewer lines than this on any node need no comparison.
_WORTH_COMPARING = 10
# PyTorch's default of a collective's timeout, where the line does not print its own
# (incident-branches names 10 and 30 min: the report says which was assumed).
_WATCHDOG_DEFAULT = timedelta(minutes=10)


def observed_starts(
    case: Case, resolved: Resolved, nodes: Sequence[CaseNode], symptom: Symptom
) -> tuple[Failure, ...]:
    """Return starts that were measured, best first for this symptom."""
    found = [*_steps(case, resolved, symptom), *_watchdogs(case, resolved.now, symptom)]
    found += _gpu_power(case, resolved, nodes, symptom)
    return tuple(found)


def _steps(case: Case, resolved: Resolved, symptom: Symptom) -> Iterator[Failure]:
    window = resolved.window.padded(PAD, PAD)
    lines = job_lines(case, window, case.meta.cluster).lines
    found = slowdown(step_points(lines, reference=resolved.now))
    if found is not None and symptom in {Symptom.SLOW, Symptom.UNKNOWN}:
        yield Failure(
            symptom=Symptom.SLOW,
            at=found.at,
            precision_seconds=max(1.0, (found.at - found.last_normal_at).total_seconds()),
            source=(
                f"step times of {found.source}: {found.seconds:g} s against a median of "
                f"{found.median_before_seconds:g} s"
            ),
            observed=True,
            slow_until=found.slow_until,
            stream=found.source,
            raw=found.raw,
            evidence=found.evidence,
        )


def _watchdogs(case: Case, now: datetime, symptom: Symptom) -> Iterator[Failure]:
    """A watchdog reports late: the failure began a timeout before it."""
    starts: list[tuple[datetime, str, str]] = []
    for log in case.job_logs:
        raw = (RawLine(line, place) for place, line in enumerate(log.text.splitlines(), 1))
        for line in parse_nccl(
            raw, node=log.node or "", stream=log.file, reference_time=now
        ).watchdog:
            if line.at is None or (line.timeout_ms is None and line.ran_ms is None):
                continue
            waited = (
                timedelta(milliseconds=line.timeout_ms or line.ran_ms or 0) or _WATCHDOG_DEFAULT
            )
            starts.append((line.at - waited, log.file, line.raw))
    if starts and symptom in {Symptom.HANG, Symptom.CRASH, Symptom.UNKNOWN}:
        at, stream, raw_line = min(starts)
        yield Failure(
            symptom=Symptom.HANG,
            at=at,
            precision_seconds=30.0,
            source=f"NCCL watchdog of {stream}, less its timeout",
            observed=True,
            stream=stream,
            raw=raw_line,
        )


def _gpu_power(
    case: Case, resolved: Resolved, nodes: Sequence[CaseNode], symptom: Symptom
) -> Iterator[Failure]:
    window = resolved.window
    gpu = read_gpu(case, window, resolved.now, nodes)
    if symptom is Symptom.SLOW:
        fall = power_fall(gpu.series, window)
        if fall is not None:
            yield Failure(
                symptom=symptom,
                at=fall.at,
                precision_seconds=float(fall.precision_seconds),
                source=(
                    f"{fall.measure} of {fall.gpus} GPUs fell from {fall.before_percent:.0f} % to "
                    f"{fall.after_percent:.0f} %"
                ),
                observed=True,
                slow_until=fall.until,
            )
        return
    stopped = stopped_at(gpu.series, window)
    if stopped is not None:
        yield Failure(
            symptom=symptom,
            at=stopped,
            precision_seconds=60.0,
            source=_stop_words(measure_of(gpu.series)),
            observed=True,
        )


def _stop_words(measure: str) -> str:
    word = "power" if measure == MEASURES[GPU_POWER] else measure.removeprefix("GPU ")
    return f"every GPU of the job below 5 % {word}"


def read_gpu(case: Case, window: Window, now: datetime, nodes: Sequence[CaseNode]) -> GpuPower:
    """Return GPU activity around a window."""
    return gather_gpu(case, window.padded(PAD, PAD), now, nodes)


def outlier_sentences(evidence: ClusterEvidence) -> tuple[str, ...]:
    """Return how each node's count of its commonest Xid stands among its peers."""
    counts: dict[int, Counter[str]] = {}
    for node in evidence.nodes:
        for event in node.records.xids:
            counts.setdefault(event.code, Counter())[node.node] += 1
    sentences: list[str] = []
    for code, by_node in sorted(counts.items()):
        values: Mapping[str, float] = {n.node: by_node.get(n.node, 0) for n in evidence.nodes}
        most, count = by_node.most_common(1)[0]
        if count < _WORTH_COMPARING:
            continue
        sentences += [
            f"Xid {code}: {one.sentence}" for one in standings(values) if one.peer == most
        ]
    return tuple(sentences)

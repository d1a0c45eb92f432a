"""Every hour of every node and stream by name: seen, a hole, or excused and by what. Pure.

A row's letter at an hour follows from the coverage proof alone (coverage.md); the node's row
is the union of its streams: an hour that any searched stream saw is seen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from gpuvet.calculators.hours import (
    HOUR,
    CoverageRules,
    Life,
    exposure,
    hours_of,
    life_of,
)
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence
from gpuvet.model.coverage import (
    CoverageStatus,
    Gate,
    HourState,
    NodeCoverage,
    Shipper,
    SourceCoverage,
)
from gpuvet.model.evidence import Window
from gpuvet.model.hours import HourCode, HourGrid, HourRow

_OF_STATE = {
    HourState.LIVE: HourCode.LIVE,
    HourState.EMPTY: HourCode.EMPTY,
    HourState.EMPTY_PARTIAL: HourCode.EMPTY_PARTIAL,
    HourState.RETENTION_LOST: HourCode.RETENTION_LOST,
    HourState.NO_GROUP: HourCode.NO_GROUP,
    HourState.UNKNOWN: HourCode.UNKNOWN,
    HourState.UNKNOWN_STATE: HourCode.UNKNOWN_STATE,
    HourState.INCOMPLETE: HourCode.INSIDE_LAG,
    HourState.NOT_REQUIRED: HourCode.TOO_SHORT,
}
_AGENT_SPEAKS = frozenset({CoverageStatus.DETECTIONS, CoverageStatus.NO_HMA_DETECTIONS})
# Which of several holes at one hour names the node's: the one that tells most comes first.
_TELLING = (
    HourCode.EMPTY,
    HourCode.EMPTY_PARTIAL,
    HourCode.RETENTION_LOST,
    HourCode.NO_GROUP,
    HourCode.UNKNOWN_STATE,
    HourCode.UNKNOWN,
)
_KERNEL = frozenset(
    {Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY, Shipper.UNKNOWN}
)
Codes = tuple[HourCode, ...]
_RUN = re.compile(r"(\d+)([A-Z])")


class Frame:
    """The hours that are drawn, and what excuses one of them for a node.

    Attributes:
        hours: Epoch hours of the padded window, in order.
    """

    def __init__(self, window: Window, now: datetime, rules: CoverageRules) -> None:
        self._window, self.now, self._rules = window, now, rules
        self.hours = hours_of(window.padded(rules.pad, rules.pad))

    def excuse(self, hour: datetime, life: Life) -> HourCode:
        """Return by what name an hour that was not asked for is excused."""
        born = life.created_at or life.launched_at
        if born is not None and hour <= born:
            return HourCode.BEFORE_LAUNCH
        if life.left_at is not None and hour + HOUR > life.left_at:
            return HourCode.AFTER_END
        if any(span.start <= hour and hour + HOUR <= span.end for span in life.stopped):
            return HourCode.STOPPED
        if hour + HOUR > self.now - self._rules.lag:
            return HourCode.INSIDE_LAG
        return HourCode.TOO_SHORT

    def asked(self, life: Life) -> frozenset[datetime]:
        """Return the hours of which enough was asked for to count, whatever the streams say."""
        span = exposure(self._window, self.now, life, self._rules)
        if span is None:
            return frozenset()
        return frozenset(
            hour
            for hour in self.hours
            if min(hour + HOUR, span.end) - max(hour, span.start) >= self._rules.gap_exposure
            and hour + HOUR <= self.now - self._rules.lag
        )


def source_codes(source: SourceCoverage, frame: Frame, life: Life) -> Codes:
    """Return the letter of every hour of one source."""
    if source.source is Shipper.HMA:
        return _agent_codes(source, frame, life)
    live = frozenset(source.live_hours)
    holes = _holes(source)
    if not live and not holes:
        return _without_hours(source, frame, life)
    return tuple(
        HourCode.LIVE if hour in live else holes.get(hour) or frame.excuse(hour, life)
        for hour in frame.hours
    )


def _holes(source: SourceCoverage) -> Mapping[datetime, HourCode]:
    return {
        gap.start + HOUR * n: _OF_STATE[gap.state] for gap in source.gaps for n in range(gap.hours)
    }


def _without_hours(source: SourceCoverage, frame: Frame, life: Life) -> Codes:
    """A source without an hour of its own: covered as stated, not applicable, or not counted."""
    asked = frame.asked(life)
    if source.status is CoverageStatus.MEASURED:
        shown = HourCode.DECLARED
    elif source.status is CoverageStatus.NOT_APPLICABLE:
        shown = HourCode.NOT_APPLICABLE
    else:
        shown = HourCode.UNKNOWN
    return tuple(shown if h in asked else frame.excuse(h, life) for h in frame.hours)


def _agent_codes(source: SourceCoverage, frame: Frame, life: Life) -> Codes:
    """The agent has no hours of its own: its status speaks for every hour the node existed."""
    asked = frame.asked(life)
    if source.status in _AGENT_SPEAKS:
        shown = HourCode.AGENT
    elif source.status is CoverageStatus.NOT_APPLICABLE:
        shown = HourCode.NOT_APPLICABLE
    else:
        shown = HourCode.UNKNOWN
    return tuple(shown if h in asked else frame.excuse(h, life) for h in frame.hours)


def node_codes(coverage: NodeCoverage, sources: Sequence[Codes], frame: Frame, life: Life) -> Codes:
    """Return the letter of every hour of a node, from those of its sources."""
    if _is_declared(coverage):
        return _declared(coverage, frame, life)
    live = frozenset(coverage.live_hours)
    kernel = [
        codes
        for one, codes in zip(coverage.sources, sources, strict=True)
        if one.source in _KERNEL and one.status is not CoverageStatus.NOT_APPLICABLE
    ]
    agent = coverage.gate is Gate.HMA_ONLY
    asked = frozenset[datetime]() if is_out_of_scope(coverage) else frame.asked(life)
    return tuple(
        HourCode.LIVE
        if hour in live
        else _union([codes[place] for codes in kernel], asked=hour in asked, agent=agent)
        or _idle(coverage, frame, hour, life)
        for place, hour in enumerate(frame.hours)
    )


def _union(codes: Sequence[HourCode], *, asked: bool, agent: bool) -> HourCode | None:
    """Return what streams say of an hour that no searched stream saw; None: it is excused."""
    open_codes = [code for code in codes if code.is_hole]
    if HourCode.LIVE in codes and not agent:
        return HourCode.NOT_SEARCHED
    if agent and (open_codes or asked):
        return HourCode.AGENT
    if open_codes:
        return next(code for code in _TELLING if code in open_codes)
    return HourCode.NO_STREAM if asked and not codes else None


def is_out_of_scope(coverage: NodeCoverage) -> bool:
    """Say whether nothing of the node is asked for: no accelerator, or not there in the window."""
    return bool(coverage.sources) and all(
        one.status is CoverageStatus.NOT_APPLICABLE for one in coverage.sources
    )


def _idle(coverage: NodeCoverage, frame: Frame, hour: datetime, life: Life) -> HourCode:
    if is_out_of_scope(coverage) and hour in frame.asked(life):
        return HourCode.NOT_APPLICABLE
    return frame.excuse(hour, life)


def _is_declared(coverage: NodeCoverage) -> bool:
    """Say whether a case states the coverage instead of counting it."""
    return coverage.gate is Gate.MEASURED and not coverage.live_hours


def _declared(coverage: NodeCoverage, frame: Frame, life: Life) -> Codes:
    asked, empty = frame.asked(life), frozenset(coverage.empty_hours)
    return tuple(
        HourCode.EMPTY
        if hour in empty
        else HourCode.DECLARED
        if hour in asked
        else frame.excuse(hour, life)
        for hour in frame.hours
    )


def hour_grid(evidence: ClusterEvidence, rules: CoverageRules) -> HourGrid:
    """Return a row for every node, each followed by the rows of its sources."""
    frame = Frame(evidence.window, evidence.now, rules)
    rows = [row for node in evidence.nodes for row in _rows(node, frame)]
    return HourGrid(start=frame.hours[0], hours=len(frame.hours), rows=tuple(rows))


def _rows(node: NodeEvidence, frame: Frame) -> Iterable[HourRow]:
    life = life_of(node, frame.now)
    codes = [source_codes(source, frame, life) for source in node.coverage.sources]
    yield HourRow(node=node.node, runs=packed(node_codes(node.coverage, codes, frame, life)))
    for source, own in zip(node.coverage.sources, codes, strict=True):
        yield HourRow(
            node=node.node,
            source=source.source,
            group=source.group,
            stream=source.stream,
            runs=packed(own),
        )


def packed(codes: Iterable[HourCode]) -> str:
    """Return letters as runs: `24L2E`."""
    return "".join(f"{len(tuple(run))}{code.value}" for code, run in groupby(codes))


def runs_of(runs: str) -> Iterator[tuple[HourCode, int]]:
    """Yield the runs of a row; the reverse of `packed`."""
    for count, letter in _RUN.findall(runs):
        yield HourCode(letter), int(count)


def unpacked(runs: str) -> Codes:
    """Return the letters of a row, one an hour."""
    return tuple(code for code, count in runs_of(runs) for _ in range(count))


def joined(grids: Sequence[HourGrid]) -> HourGrid:
    """Return grids of several clusters as one; hours outside a cluster's window are not asked."""
    start = min(grid.start for grid in grids)
    end = max(grid.start + HOUR * grid.hours for grid in grids)
    rows: list[HourRow] = []
    for grid in grids:
        before = (grid.start - start) // HOUR
        after = (end - grid.start) // HOUR - grid.hours
        lead = f"{before}{HourCode.NOT_ASKED.value}" if before else ""
        tail = f"{after}{HourCode.NOT_ASKED.value}" if after else ""
        rows += [
            row.model_copy(update={"runs": lead + row.runs + tail}) if lead or tail else row
            for row in grid.rows
        ]
    return HourGrid(start=start, hours=(end - start) // HOUR, rows=tuple(rows))

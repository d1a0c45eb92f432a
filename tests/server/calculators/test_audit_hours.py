"""Every hour by name, and blinding: one hour taken away shows as exactly that hour."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.audit_hours import hour_grid, joined, packed, unpacked
from gpuvet.calculators.coverage import node_coverage, source_coverage
from gpuvet.calculators.hours import HOUR, CoverageRules, Life
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence
from gpuvet.model.coverage import (
    CoverageStatus,
    Gap,
    Gate,
    HourCount,
    HourState,
    NodeCoverage,
    Shipper,
    SourceCoverage,
    StreamCounts,
)
from gpuvet.model.evidence import Reason, Status, Window
from gpuvet.model.hours import HourCode, HourGrid, HourRow

START = datetime(2026, 3, 10, 10, tzinfo=UTC)
RULES = CoverageRules()
NODE = "i-0aa11bb22cc33dd44"


def counts(
    hours: range, *, start: datetime = START, stream: str = "messages/a", node: str = NODE
) -> StreamCounts:
    bins = tuple(HourCount(hour=start + HOUR * h, lines=40) for h in hours)
    return StreamCounts(
        node=node,
        group="/fleet/kernel",
        stream=stream,
        shipper=Shipper.HOST_SYSLOG,
        bins=bins,
        kernel_lines_ever=9,
    )


def grid_of(
    streams: list[StreamCounts],
    *,
    window: Window,
    now: datetime,
    life: Life = Life(),  # noqa: B008 (a frozen value)
    searched: list[str] | None = None,
) -> HourGrid:
    sources = [source_coverage(s, window, now, life=life, rules=RULES) for s in streams]
    node = NodeEvidence(
        node=NODE,
        launched_at=life.launched_at,
        left_at=life.left_at,
        coverage=node_coverage(NODE, sources, searched=searched),
    )
    return hour_grid(ClusterEvidence(now=now, window=window, nodes=(node,)), RULES)


WINDOW = Window(start=START, end=START + HOUR * 6)
LATE = START + HOUR * 40
WHOLE = range(-1, 7)


@pytest.mark.parametrize(
    ("streams", "life", "now", "node", "source"),
    [
        pytest.param([counts(WHOLE)], Life(), LATE, "8L", "8L", id="every hour seen, pad too"),
        pytest.param(
            [counts(range(-1, 3))], Life(), LATE, "4L4E", "4L4E", id="an hour without a line"
        ),
        pytest.param(
            [counts(range(2, 7))],
            Life(launched_at=START + timedelta(hours=1, minutes=50)),
            LATE,
            "3B5L",
            "3B5L",
            id="before launch, with a first hour too short to count",
        ),
        pytest.param(
            [counts(range(-1, 3))],
            Life(left_at=START + timedelta(hours=3, minutes=5)),
            LATE,
            "4L4X",
            "4L4X",
            id="after the node was gone",
        ),
        pytest.param(
            [counts(range(-1, 4))],
            Life(),
            START + timedelta(hours=5),
            "5L3I",
            "5L3I",
            id="inside the delivery lag",
        ),
        pytest.param(
            [counts(WHOLE).model_copy(update={"retention_days": 1})],
            Life(),
            START + HOUR * 26,
            "3R5L",
            "3R5L",
            id="older than retention",
        ),
        pytest.param(
            [counts(range(2, 7)).model_copy(update={"group_created": START + HOUR * 2})],
            Life(),
            LATE,
            "3G5L",
            "3G5L",
            id="before the group existed",
        ),
        pytest.param(
            [
                counts(range(-1, 3)).model_copy(
                    update={"bins_status": Status.PARTIAL, "bins_reason": Reason.ROW_CAP}
                )
            ],
            Life(),
            LATE,
            "4L4U",
            "4L4U",
            id="an incomplete count is not an empty hour",
        ),
        pytest.param(
            [counts(WHOLE).model_copy(update={"kernel_lines_ever": 0})],
            Life(),
            LATE,
            "8U",
            "8U",
            id="a stream that never carried the kernel proves nothing",
        ),
        pytest.param(
            [counts(range(-1, 3)), counts(range(3, 7), stream="syslog/a")],
            Life(),
            LATE,
            "8L",
            "4L4E",
            id="the node is the union of its streams",
        ),
    ],
)
def test_every_hour_has_a_name(
    streams: list[StreamCounts], life: Life, now: datetime, node: str, source: str
) -> None:
    grid = grid_of(streams, window=WINDOW, now=now, life=life)
    assert (grid.start, grid.hours) == (START - HOUR, 8)
    assert [row.runs for row in grid.rows[:2]] == [node, source]


def test_lines_that_nobody_searched_claim_nothing_and_say_so() -> None:
    grid = grid_of([counts(WHOLE)], window=WINDOW, now=LATE, searched=[])
    assert [row.runs for row in grid.rows] == ["8Q", "8L"]


def test_a_node_without_any_stream_is_a_hole_in_every_hour_it_existed() -> None:
    life = Life(launched_at=START + HOUR * 2)
    grid = grid_of([], window=WINDOW, now=LATE, life=life)
    assert [row.runs for row in grid.rows] == ["3B5O"]


def test_coverage_that_a_case_states_is_shown_as_stated() -> None:
    declared = NodeCoverage(
        node=NODE,
        status=CoverageStatus.MEASURED,
        gate=Gate.MEASURED,
        empty_hours=(START + HOUR,),
    )
    node = NodeEvidence(node=NODE, coverage=declared)
    evidence = ClusterEvidence(now=LATE, window=WINDOW, nodes=(node,))
    assert hour_grid(evidence, RULES).rows[0].runs == "2D1E5D"


def test_the_health_agent_speaks_for_hours_without_a_kernel_log() -> None:
    agent = SourceCoverage(
        node=NODE,
        source=Shipper.HMA,
        group="/aws/sagemaker/Clusters/c/x",
        stream=None,
        status=CoverageStatus.NO_HMA_DETECTIONS,
    )
    node = NodeEvidence(node=NODE, coverage=node_coverage(NODE, [agent]))
    evidence = ClusterEvidence(now=LATE, window=WINDOW, nodes=(node,))
    assert [row.runs for row in hour_grid(evidence, RULES).rows] == ["8A", "8A"]


def test_runs_read_back_as_they_were_written() -> None:
    codes = tuple(HourCode(letter) for letter in "LLLEEBBXILUU")
    assert unpacked(packed(codes)) == codes


def test_grids_of_two_windows_stand_in_one_frame() -> None:
    one = HourGrid(start=START, hours=2, rows=(HourRow(node="a", runs="2L"),))
    other = HourGrid(start=START + HOUR * 3, hours=1, rows=(HourRow(node="b", runs="1E"),))
    whole = joined([one, other])
    assert (whole.start, whole.hours) == (START, 4)
    assert [row.runs for row in whole.rows] == ["2L2Z", "3Z1E"]


# ---- 1,000 random clusters: what is taken away shows, and only that ----


@dataclass(frozen=True)
class Cluster:
    """One node with its streams, as random as a bad week."""

    window: Window
    now: datetime
    life: Life
    streams: tuple[StreamCounts, ...]


def random_cluster(seed: int) -> Cluster:
    pick = random.Random(seed)  # noqa: S311 (the same clusters every time)
    hours = pick.randrange(2, 30)
    start = START + timedelta(minutes=pick.choice((0, 0, 20, 47)))
    window = Window(start=start, end=start + HOUR * hours + timedelta(minutes=pick.choice((0, 13))))
    now = window.end + timedelta(minutes=pick.choice((-70, 0, 5, 40, 600)))
    launched = (
        start + timedelta(minutes=pick.randrange(60 * hours)) if pick.random() < 0.3 else None
    )
    left = None
    if pick.random() < 0.3:
        left = (launched or start) + timedelta(minutes=pick.randrange(30, 60 * hours))
    streams: list[StreamCounts] = []
    for place in range(pick.randrange(1, 4)):
        seen = [h for h in range(-2, hours + 3) if pick.random() < pick.choice((1.0, 0.9, 0.4))]
        bins = tuple(
            HourCount(hour=START + HOUR * h, lines=pick.randrange(1, 90))
            for h in seen
            if launched is None or START + HOUR * (h + 1) > launched
        )
        one = counts(range(0), stream=f"messages/{place}")
        streams.append(
            one.model_copy(
                update={
                    "bins": bins,
                    "retention_days": pick.choice((None, None, 1, 30)),
                    "bins_status": Status.OK,
                }
            )
        )
    return Cluster(window, now, Life(launched_at=launched, left_at=left), tuple(streams))


def rows_of(cluster: Cluster) -> list[tuple[HourCode, ...]]:
    grid = grid_of(list(cluster.streams), window=cluster.window, now=cluster.now, life=cluster.life)
    return [unpacked(row.runs) for row in grid.rows]


def blanked(cluster: Cluster, stream: int, hour: datetime | None) -> Cluster:
    one = cluster.streams[stream]
    kept = () if hour is None else tuple(b for b in one.bins if b.hour != hour)
    streams = list(cluster.streams)
    streams[stream] = one.model_copy(update={"bins": kept})
    return replace(cluster, streams=tuple(streams))


def is_excused(cluster: Cluster, hour: datetime, code: HourCode) -> bool:
    """Check an excuse by the clock, not by the code under test."""
    life, end = cluster.life, hour + HOUR
    match code:
        case HourCode.BEFORE_LAUNCH:
            return life.launched_at is not None and hour <= life.launched_at
        case HourCode.AFTER_END:
            return life.left_at is not None and end > life.left_at
        case HourCode.INSIDE_LAG:
            return end > cluster.now - RULES.lag
        case HourCode.TOO_SHORT:
            born = life.launched_at or cluster.window.start - RULES.pad
            first = max(hour, cluster.window.start - RULES.pad, born)
            last = min(end, cluster.window.end + RULES.pad, cluster.now - RULES.lag)
            return last - first < RULES.gap_exposure
        case _:
            return False


def misplaced(
    cluster: Cluster,
    stream: int,
    hour: datetime,
    rows: Callable[[Cluster], list[tuple[HourCode, ...]]] = rows_of,
) -> list[str]:
    """Return what is wrong after one hour of one stream was taken away; nothing where all is."""
    before, after = rows(cluster), rows(blanked(cluster, stream, hour))
    frame = (cluster.window.start - RULES.pad).replace(minute=0)
    place = (hour - frame) // HOUR
    wrong: list[str] = []
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        changed = [h for h, (a, b) in enumerate(zip(old, new, strict=True)) if a is not b]
        own = row == stream + 1
        if not own and row > 0 and changed:
            wrong.append(f"row {row} changed at {changed}")
        if own and any(new[h].is_seen for h in changed):
            wrong.append("a blinded stream shows more")
        code = new[place] if own and 0 <= place < len(new) else HourCode.EMPTY
        if not code.is_hole and not is_excused(cluster, hour, code):
            wrong.append(f"the hour is seen, or not excused: {code}")
        still = any(code is HourCode.LIVE for code in new)
        if own and still and changed not in ([], [place]):
            wrong.append(f"{changed} instead of {[place]}")
    wrong += not_the_union(after)
    return wrong


def not_the_union(rows: list[tuple[HourCode, ...]]) -> list[str]:
    node, *sources = rows
    wrong: list[str] = []
    for place, code in enumerate(node):
        seen = any(own[place] is HourCode.LIVE for own in sources)
        if (code is HourCode.LIVE) is not seen:
            wrong.append(f"hour {place} of the node is {code}, its sources say {seen}")
        if code.is_hole and not any(own[place].is_hole for own in sources):
            wrong.append(f"hour {place} of the node is a hole of no source")
    return wrong


def test_of_a_thousand_clusters_each_blinded_hour_shows_as_exactly_that_hour() -> None:
    wrong: list[str] = []
    for seed in range(1_000):
        cluster = random_cluster(seed)
        pick = random.Random(seed)  # noqa: S311 (likewise)
        stream = pick.randrange(len(cluster.streams))
        hours = [b.hour for b in cluster.streams[stream].bins]
        if hours:
            wrong += [f"{seed}: {w}" for w in misplaced(cluster, stream, pick.choice(hours))]
        gone = rows_of(blanked(cluster, stream, None))
        if any(code.is_seen for code in gone[stream + 1]):
            wrong.append(f"{seed}: an empty stream is seen")
        wrong += [f"{seed}: {w}" for w in not_the_union(gone)]
    assert wrong == []


def hopeful_rows(cluster: Cluster) -> list[tuple[HourCode, ...]]:
    """The planted bug: an empty hour is taken for a quiet one."""
    return [
        tuple(HourCode.LIVE if code is HourCode.EMPTY else code for code in row)
        for row in rows_of(cluster)
    ]


def test_the_property_fails_on_a_planted_bug() -> None:
    found = [
        wrong
        for seed in range(40)
        for cluster in [random_cluster(seed)]
        for hour in [b.hour for b in cluster.streams[0].bins][:1]
        for wrong in misplaced(cluster, 0, hour, hopeful_rows)
    ]
    assert found


def test_a_gap_of_a_source_is_drawn_where_it_lies() -> None:
    gap = Gap(start=START, end=START + HOUR * 2, state=HourState.EMPTY)
    source = SourceCoverage(
        node=NODE,
        source=Shipper.HOST_SYSLOG,
        group="/fleet/kernel",
        stream="messages/a",
        status=CoverageStatus.PARTIAL,
        live_hours=tuple(START + HOUR * h for h in (-1, 2, 3, 4, 5, 6)),
        hours_asked=8,
        gaps=(gap,),
    )
    node = NodeEvidence(node=NODE, coverage=node_coverage(NODE, [source]))
    evidence = ClusterEvidence(now=LATE, window=WINDOW, nodes=(node,))
    assert [row.runs for row in hour_grid(evidence, RULES).rows] == ["1L2E5L", "1L2E5L"]

"""Which hours of which stream could be seen: every edge case of coverage.md."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.calculators.coverage import (
    CoverageRules,
    Life,
    count_scope,
    epoch_hour,
    exposure,
    hma_coverage,
    hours_of,
    node_coverage,
    same_image_boot_output,
    source_coverage,
)
from gpuvet.calculators.hours import hour_states, in_words
from gpuvet.model.coverage import (
    CoverageStatus,
    Gap,
    Gate,
    HourCount,
    HourState,
    LogClass,
    Shipper,
    SourceCoverage,
    StreamCounts,
)
from gpuvet.model.evidence import Reason, Status, Window

NODE, HOUR = "i-0aaa0000000000001", timedelta(hours=1)
DAY = datetime(2026, 3, 12, tzinfo=UTC)
NOON = DAY + 12 * HOUR
WINDOW = Window(start=DAY + 10 * HOUR, end=DAY + 14 * HOUR)
LATER = DAY + 24 * HOUR
PADDED = range(9, 15)  # the hours asked about: the window with its pad


def hour(number: float) -> datetime:
    return DAY + number * HOUR


def counts(live: Iterable[float] = PADDED, **more: object) -> StreamCounts:
    return StreamCounts.model_validate(
        {
            "node": NODE,
            "group": "/var/log",
            "stream": "messages",
            "shipper": Shipper.HOST_SYSLOG,
            "bins": tuple(HourCount(hour=hour(h), lines=40) for h in live),
            **more,
        }
    )


def seen(
    live: Iterable[float] = PADDED,
    *,
    window: Window = WINDOW,
    now: datetime = LATER,
    life: Life | None = None,
    **more: object,
) -> SourceCoverage:
    launched = life or Life(launched_at=DAY - 24 * HOUR)
    return source_coverage(counts(live, **more), window, now, life=launched)


def gaps(*spans: tuple[float, float, HourState]) -> tuple[Gap, ...]:
    return tuple(Gap(start=hour(a), end=hour(b), state=state) for a, b, state in spans)


def without(*missing: int) -> list[int]:
    return [h for h in PADDED if h not in missing]


EMPTY, PARTLY = HourState.EMPTY, HourState.EMPTY_PARTIAL
MEASURED, PARTIAL = CoverageStatus.MEASURED, CoverageStatus.PARTIAL
DARK, UNSURE = CoverageStatus.NOT_OBSERVABLE, CoverageStatus.UNVERIFIED


@pytest.mark.parametrize(
    ("found", "status", "measured", "asked", "expected"),
    [
        pytest.param(seen(), MEASURED, 6, 6, (), id="every hour has lines"),
        pytest.param(
            seen(without(12)), PARTIAL, 5, 6, gaps((12, 13, EMPTY)), id="one hour is empty"
        ),
        pytest.param(
            seen(without(10, 11, 13)),
            *(PARTIAL, 3, 6, gaps((10, 12, EMPTY), (13, 14, EMPTY))),
            id="gaps are grouped by consecutive hours",
        ),
        pytest.param(seen([9]), PARTIAL, 1, 6, gaps((10, 15, EMPTY)), id="one of six hours"),
        pytest.param(seen([]), DARK, 0, 6, gaps((9, 15, EMPTY)), id="no hour at all"),
        pytest.param(
            seen(range(12, 15), life=Life(launched_at=hour(12))),
            *(MEASURED, 3, 3, ()),
            id="launched inside the window: the hours before are not asked for",
        ),
        pytest.param(
            seen(range(12, 15), life=Life(launched_at=hour(11.8))),
            *(MEASURED, 3, 3, ()),
            id="a first hour shorter than the boot grace is excused",
        ),
        pytest.param(
            seen(range(12, 15), life=Life(launched_at=hour(11.4))),
            *(PARTIAL, 3, 4, gaps((11, 12, PARTLY))),
            id="a silent first hour of 36 minutes is a gap",
        ),
        pytest.param(
            seen(range(9, 12), life=Life(launched_at=DAY, left_at=hour(12))),
            *(MEASURED, 3, 3, ()),
            id="terminated inside the window: the hours after are not asked for",
        ),
        pytest.param(
            seen(range(9, 12), life=Life(launched_at=DAY, left_at=hour(12.6))),
            *(PARTIAL, 3, 4, gaps((12, 13, PARTLY))),
            id="a silent last hour of 36 minutes is a gap",
        ),
        pytest.param(
            seen(range(9, 12), life=Life(launched_at=DAY, left_at=hour(12.4))),
            *(MEASURED, 3, 3, ()),
            id="a silent last hour of 24 minutes is a caution",
        ),
        pytest.param(
            seen([], life=Life(launched_at=hour(20))),
            *(CoverageStatus.NOT_APPLICABLE, 0, 0, ()),
            id="a node that did not exist yet",
        ),
        pytest.param(
            seen(life=Life()), MEASURED, 6, 6, (), id="launch unknown: asked from the pad on"
        ),
        pytest.param(
            seen(
                [9, 12, 13, 14],
                life=Life(launched_at=hour(12), created_at=DAY - 24 * HOUR),
            ),
            *(PARTIAL, 4, 6, gaps((10, 12, HourState.UNKNOWN_STATE))),
            id="stopped and started: the silence before is of an unknown state",
        ),
        pytest.param(
            seen(
                [9, 12, 13, 14],
                life=Life(
                    launched_at=hour(12),
                    created_at=DAY - 24 * HOUR,
                    stopped=(Window(start=hour(10), end=hour(12)),),
                ),
            ),
            *(MEASURED, 4, 4, ()),
            id="stopped and started, with the span from CloudTrail",
        ),
        pytest.param(
            seen(range(9, 13), now=hour(13.5)),
            *(MEASURED, 4, 4, ()),
            id="the current hour is neither gap nor proof",
        ),
        pytest.param(
            seen(range(9, 13), now=hour(14.1)),
            *(MEASURED, 4, 4, ()),
            id="an hour inside the delivery lag is neither",
        ),
        pytest.param(
            seen([9, 10, 11, 12, 13], window=Window(start=hour(10.3), end=hour(12.67))),
            *(MEASURED, 5, 5, ()),
            id="a window off the hour touches five epoch hours",
        ),
        pytest.param(
            seen([10, 11, 12, 13], window=Window(start=hour(10.3), end=hour(12.67))),
            *(PARTIAL, 4, 5, gaps((9, 10, PARTLY))),
            id="its first partial hour counts from half an hour on",
        ),
        pytest.param(
            seen([11, 12, 13], window=Window(start=hour(12.2), end=hour(12.4))),
            *(MEASURED, 3, 3, ()),
            id="a window inside one hour",
        ),
        pytest.param(
            seen(without(9, 10, 11), retention_days=1, now=hour(36)),
            *(PARTIAL, 3, 6, gaps((9, 12, HourState.RETENTION_LOST))),
            id="hours older than the retention",
        ),
        pytest.param(
            seen(retention_days=None), MEASURED, 6, 6, (), id="a group that never expires"
        ),
        pytest.param(
            seen(group_created=hour(11.5)),
            *(PARTIAL, 3, 6, gaps((9, 12, HourState.NO_GROUP))),
            id="hours before the group was created, that hour included",
        ),
        pytest.param(
            seen(range(12, 15), group_created=hour(11.5), life=Life(launched_at=hour(12))),
            *(MEASURED, 3, 3, ()),
            id="a node launched after the group",
        ),
        pytest.param(
            seen(without(11), bins_status=Status.PARTIAL, bins_reason=Reason.ROW_CAP),
            *(UNSURE, 5, 6, gaps((11, 12, HourState.UNKNOWN))),
            id="cut rows are unknown, never empty",
        ),
        pytest.param(
            seen([], bins_status=Status.UNVERIFIED, bins_reason=Reason.TIMED_OUT),
            *(UNSURE, 0, 6, gaps((9, 15, HourState.UNKNOWN))),
            id="a failed query is unknown, never empty",
        ),
        pytest.param(
            seen(bins_status=Status.PARTIAL),
            *(MEASURED, 6, 6, ()),
            id="hours with lines are live even where the count is cut",
        ),
        pytest.param(
            seen(kernel_status=Status.UNVERIFIED, kernel_reason=Reason.DENIED),
            *(UNSURE, 0, 6, gaps((9, 15, HourState.UNKNOWN))),
            id="nobody could look for kernel lines",
        ),
        pytest.param(
            seen(kernel_lines_ever=0),
            *(DARK, 0, 6, gaps((9, 15, HourState.UNKNOWN))),
            id="a stream that never carried a kernel line",
        ),
        pytest.param(
            seen(shipper=Shipper.UNKNOWN),
            *(UNSURE, 0, 6, gaps((9, 15, HourState.UNKNOWN))),
            id="a stream that nothing shows to carry the kernel",
        ),
        pytest.param(
            seen(shipper=Shipper.UNKNOWN, kernel_lines_ever=3),
            *(MEASURED, 6, 6, ()),
            id="an odd stream with kernel lines",
        ),
        pytest.param(
            seen(without(12), shipper=Shipper.KERNEL_ONLY),
            *(PARTIAL, 5, 6, gaps((12, 13, EMPTY))),
            id="a silent kernel-only hour is quiet or dead",
        ),
        pytest.param(
            seen(shared_with=("i-0bbb",)),
            *(DARK, 0, 6, gaps((9, 15, HourState.UNKNOWN))),
            id="a stream that two nodes write",
        ),
        pytest.param(
            seen(skewed=True),
            *(UNSURE, 0, 6, gaps((9, 15, HourState.UNKNOWN))),
            id="a clock that puts lines into wrong hours",
        ),
        pytest.param(
            seen(log_class=LogClass.DELIVERY),
            *(CoverageStatus.NOT_SUPPORTED, 0, 6, gaps((9, 15, HourState.UNKNOWN))),
            id="a group of class DELIVERY",
        ),
        pytest.param(
            seen(log_class=LogClass.INFREQUENT_ACCESS),
            *(MEASURED, 6, 6, ()),
            id="a group of class INFREQUENT_ACCESS",
        ),
        pytest.param(
            seen(late_share=0.4), MEASURED, 6, 6, (), id="late lines fall into their own hours"
        ),
        pytest.param(
            seen([], window=Window(start=hour(12), end=hour(12.1)), now=hour(12.2)),
            *(CoverageStatus.INSUFFICIENT_EXPOSURE, 0, 0, ()),
            id="a window that is not over: no hour is complete",
        ),
        pytest.param(
            seen([], now=hour(9.2), life=Life(launched_at=hour(9))),
            *(CoverageStatus.NOT_APPLICABLE, 0, 0, ()),
            id="a node younger than the lag",
        ),
        pytest.param(
            seen([], now=hour(9.5), life=Life(launched_at=hour(9))),
            *(CoverageStatus.INSUFFICIENT_EXPOSURE, 0, 0, ()),
            id="a node of half an hour",
        ),
    ],
)
def test_an_edge_of_the_proof(
    found: SourceCoverage,
    status: CoverageStatus,
    measured: int,
    asked: int,
    expected: tuple[Gap, ...],
) -> None:
    told = tuple(gap.model_copy(update={"note": None}) for gap in found.gaps)
    assert (found.status, found.hours_measured, found.hours_asked, told) == (
        status,
        measured,
        asked,
        expected,
    )


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (seen(kernel_lines_ever=0), "NO_KERNEL_LINES in the life of the stream"),
        (
            seen(without(12), shipper=Shipper.KERNEL_ONLY),
            "a kernel-only stream cannot tell quiet from dead (QUIET_OR_DEAD)",
        ),
        (seen(shared_with=("i-0bbb",)), "SHARED_STREAM with i-0bbb"),
        (seen(skewed=True), "CLOCK_SKEW: lines fall into wrong hours"),
        (
            seen([], bins_status=Status.UNVERIFIED, bins_reason=Reason.DENIED),
            "hourly counts incomplete: denied",
        ),
        (seen(log_class=LogClass.DELIVERY), "group of class DELIVERY cannot be queried"),
    ],
    ids=["no kernel lines", "quiet or dead", "shared", "skewed", "denied", "delivery"],
)
def test_a_source_that_proves_less_says_why(found: SourceCoverage, reason: str) -> None:
    assert found.reason == reason


@pytest.mark.parametrize(
    ("found", "note"),
    [
        (seen(life=Life()), "launch unknown: asked from the start of the padded window"),
        (
            seen(without(12), shipper=Shipper.KERNEL_ONLY),
            "a healthy kernel is quiet; ship a heartbeat or the full syslog",
        ),
        (seen(late_share=0.4), "LATE_DELIVERY: 40% of sampled lines over 1 h late"),
        (
            seen([12, 13], life=Life(launched_at=hour(12.2))),
            "BOOT_ONLY: lines only in the hours around the launch",
        ),
        (
            seen(range(9, 12), life=Life(launched_at=DAY, left_at=hour(12.4))),
            "no line in the 24 min of 2026-03-12T12:00Z that count",
        ),
        (
            seen(life=Life(launched_at=hour(12))),
            "lines before the launch: the instance was stopped and started",
        ),
    ],
    ids=["launch unknown", "heartbeat", "late", "boot only", "caution", "restarted"],
)
def test_a_doubt_is_a_note(found: SourceCoverage, note: str) -> None:
    assert note in found.notes


def test_a_stream_of_few_lines_is_noted_and_its_gap_still_told() -> None:
    few = tuple(HourCount(hour=hour(h), lines=2) for h in without(12))
    found = seen(bins=few)
    assert (found.status, found.gaps) == (PARTIAL, gaps((12, 13, EMPTY)))
    assert "LOW_RATE_STREAM: median 2 lines an hour" in found.notes


def test_of_a_gap_up_to_the_lag_only_the_hours_inside_it_may_still_arrive() -> None:
    found = seen(range(9, 12), now=hour(13.5))
    assert found.gaps[-1].note == (
        "only hours inside the delivery lag (15 min) may still arrive: read up to 2026-03-12T13:15Z"
    )
    assert seen(without(10)).gaps[-1].note is None
    assert seen(range(9, 14), now=hour(13.5), kernel_lines_ever=0).gaps[-1].note is None


@pytest.mark.parametrize(
    ("life", "why"),
    [
        pytest.param(
            Life(launched_at=hour(13.8)),
            "node launched at 2026-03-12T13:48:00Z, no full hour was due yet",
            id="launched inside the window",
        ),
        pytest.param(
            Life(launched_at=hour(18)),
            "node launched at 2026-03-12T18:00:00Z, after the window",
            id="launched after it",
        ),
        pytest.param(
            Life(left_at=hour(6)),
            "node left at 2026-03-12T06:00:00Z, before the window",
            id="left before it",
        ),
    ],
)
def test_a_node_of_which_nothing_was_due_says_since_when(life: Life, why: str) -> None:
    found = seen([], now=hour(14), life=life)
    assert (found.status, found.reason) == (CoverageStatus.NOT_APPLICABLE, why)


def test_a_short_partial_hour_is_not_asked_for() -> None:
    span = exposure(WINDOW, LATER, Life(launched_at=hour(11.9)), CoverageRules())
    assert span is not None
    states = hour_states(counts([]), span, LATER, Life(launched_at=hour(11.9)), CoverageRules())
    assert states[hour(11)] is HourState.NOT_REQUIRED


def test_hours_are_those_of_the_epoch_whatever_the_window() -> None:
    assert hours_of(Window(start=hour(10.3), end=hour(12))) == (hour(10), hour(11))
    assert epoch_hour(hour(10.99)) == hour(10)


def test_a_summary_groups_hours_and_counts_them_from_the_set() -> None:
    hours = [hour(9) + n * HOUR for n in range(47)]
    assert in_words([*hours, hours[0]]) == "2026-03-12 09:00Z to 2026-03-14 08:00Z (47 hours)"
    assert in_words([hour(1), hour(3)]) == (
        "2026-03-12 01:00Z to 2026-03-12 02:00Z (1 hour); "
        "2026-03-12 03:00Z to 2026-03-12 04:00Z (1 hour)"
    )


def agent(status: CoverageStatus) -> SourceCoverage:
    return SourceCoverage(
        node=NODE, source=Shipper.HMA, group="g", stream=None, status=status, detections=None
    )


def other(live: Iterable[int]) -> SourceCoverage:
    return seen(live, stream="journal")


SILENT = agent(CoverageStatus.NO_HMA_DETECTIONS)
DENIED: dict[str, Any] = {"kernel_status": Status.UNVERIFIED, "kernel_reason": Reason.DENIED}


@pytest.mark.parametrize(
    ("sources", "status", "gate", "measured", "empty"),
    [
        pytest.param([seen(), seen([], stream="dead")], MEASURED, Gate.MEASURED, 6, 0, id="one is"),
        pytest.param(
            [seen(without(12)), other([12])], MEASURED, Gate.MEASURED, 6, 0, id="both together"
        ),
        pytest.param(
            [seen(without(12, 13)), other([12])], PARTIAL, Gate.PARTIAL, 5, 1, id="a hole remains"
        ),
        pytest.param([seen([])], DARK, Gate.NONE, 0, 6, id="nothing at all"),
        pytest.param([], DARK, Gate.NONE, 0, 0, id="no source"),
        pytest.param([seen(**DENIED)], UNSURE, Gate.PARTIAL, 0, 6, id="denied claims no hour"),
        pytest.param(
            [seen(**DENIED), other(without(9))], PARTIAL, Gate.PARTIAL, 5, 1, id="denied lends none"
        ),
        pytest.param(
            [seen(without(11), bins_status=Status.PARTIAL)],
            *(UNSURE, Gate.PARTIAL, 5, 1),
            id="a cut count",
        ),
        pytest.param(
            [seen([]), SILENT],
            *(CoverageStatus.NO_HMA_DETECTIONS, Gate.HMA_ONLY, 0, 6),
            id="only the agent",
        ),
        pytest.param(
            [seen(**DENIED), SILENT],
            *(UNSURE, Gate.PARTIAL, 0, 6),
            id="a denied kernel log is not one that is not shipped",
        ),
        pytest.param(
            [agent(CoverageStatus.NOT_OBSERVABLE)],
            DARK,
            Gate.NONE,
            0,
            0,
            id="an agent nobody heard",
        ),
        pytest.param(
            [seen(shipper=Shipper.APP)], DARK, Gate.NONE, 0, 0, id="an application's stream is none"
        ),
        pytest.param(
            [seen([], life=Life(launched_at=hour(20)))],
            *(CoverageStatus.NOT_APPLICABLE, Gate.NONE, 0, 0),
            id="a node that did not exist",
        ),
    ],
)
def test_the_sources_of_a_node_together(
    sources: list[SourceCoverage],
    status: CoverageStatus,
    gate: Gate,
    measured: int,
    empty: int,
) -> None:
    found = node_coverage(NODE, sources)
    assert (found.status, found.gate, found.hours_measured, len(found.empty_hours)) == (
        status,
        gate,
        measured,
        empty,
    )
    assert found.sources == tuple(sources)


def test_a_composite_says_which_source_covered_which_hours() -> None:
    found = node_coverage(NODE, [seen(without(12)), other([12])])
    told = (
        "composite: messages 2026-03-12 09:00Z to 2026-03-12 12:00Z (3 hours); 2026-03-12 13:00Z "
        "to 2026-03-12 15:00Z (2 hours); journal 2026-03-12 12:00Z to 2026-03-12 13:00Z (1 hour)"
    )
    assert found.notes == (told,)


def test_lines_that_nobody_searched_support_no_zero() -> None:
    found = node_coverage(NODE, [seen()], searched=())
    assert (found.gate, found.live_hours) == (Gate.NONE, ())
    assert "lines arrived, but no complete Xid search ran over their stream" in found.notes


@pytest.mark.parametrize(
    ("arguments", "status", "detections"),
    [
        ({"has_accelerator": False}, CoverageStatus.NOT_APPLICABLE, None),
        ({"detections": 2, "group_live": None}, CoverageStatus.DETECTIONS, 2),
        ({}, CoverageStatus.NO_HMA_DETECTIONS, None),
        ({"stream": "SagemakerHealthMonitoringAgent/w/i-1"}, CoverageStatus.DETECTIONS, 0),
        ({"group_live": False}, CoverageStatus.NOT_OBSERVABLE, None),
        (
            {"group_live": False, "stream": "SagemakerHealthMonitoringAgent/w/i-1"},
            CoverageStatus.NOT_OBSERVABLE,
            None,
        ),
        ({"group_live": None}, CoverageStatus.UNVERIFIED, None),
        ({"agent_running": False}, CoverageStatus.NOT_OBSERVABLE, None),
    ],
    ids=[
        "no accelerator",
        "detections",
        "none, and the group is live",
        "a stream without any in the window",
        "a dead group",
        "a stream in a dead group",
        "liveness not read",
        "the agent does not run",
    ],
)
def test_the_agents_silence_needs_a_live_group(
    arguments: dict[str, object], status: CoverageStatus, detections: int | None
) -> None:
    values: dict[str, object] = {
        "group": "g",
        "stream": None,
        "detections": 0,
        "group_live": True,
        "has_accelerator": True,
        **arguments,
    }
    found = hma_coverage(NODE, **values)  # type: ignore[arg-type] # cases differ in one argument
    assert (found.status, found.detections) == (status, detections)


@pytest.mark.parametrize(
    ("live", "told"),
    [
        (PADDED, "0 in 6 of 6 hours"),
        ([9, 10], "0 in 2 of 6 hours; not observable in 4"),
        ([], "0 Xids seen; no hour of this node was covered"),
    ],
    ids=["measured", "two hours", "none"],
)
def test_zero_xids_speaks_for_covered_hours_only(live: Iterable[float], told: str) -> None:
    assert count_scope(0, node_coverage(NODE, [seen(live)])) == told


def test_nodes_with_equal_counts_in_every_hour_show_their_images_boot_output() -> None:
    same = counts([9, 10])
    twin = same.model_copy(update={"node": "i-0bbb"})
    third = counts([9, 11], node="i-0ccc")
    assert same_image_boot_output([same, twin, third]) == (NODE, "i-0bbb")

"""Hours that a reading lacks: closed one by one, and never a neighbour with them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.calculators.coverage import CoverageRules, node_coverage, source_coverage, unsearched
from gpuvet.model.coverage import (
    CoverageStatus,
    Gap,
    Gate,
    HourCount,
    HourState,
    Shipper,
    SourceCoverage,
    StreamCounts,
)
from gpuvet.model.evidence import Reason, Status, Window

NODE, HOUR = "i-0aaa0000000000001", timedelta(hours=1)
DAY = datetime(2026, 3, 12, tzinfo=UTC)
RULES = CoverageRules(pad=timedelta(0), lag=timedelta(0))
WINDOW = Window(start=DAY, end=DAY + 8 * HOUR)
LATER = DAY + 24 * HOUR


def span(start: float, end: float) -> Window:
    return Window(start=DAY + start * HOUR, end=DAY + end * HOUR)


def counts(*live: int, unread: tuple[Window, ...] = ()) -> StreamCounts:
    return StreamCounts(
        node=NODE,
        group="/g",
        stream="messages",
        shipper=Shipper.HOST_SYSLOG,
        bins=tuple(HourCount(hour=DAY + h * HOUR, lines=9) for h in live),
        bins_status=Status.PARTIAL if unread else Status.OK,
        bins_reason=Reason.DENIED if unread else None,
        bins_unread=unread,
        kernel_lines_ever=9,
    )


def covered(one: StreamCounts) -> SourceCoverage:
    return source_coverage(one, WINDOW, LATER, rules=RULES)


def hours(found: SourceCoverage) -> list[int]:
    return [(at - DAY) // HOUR for at in found.live_hours]


def test_an_hour_that_was_not_counted_is_unknown_and_the_counted_ones_stand() -> None:
    found = covered(counts(0, 1, 2, 3, unread=(span(4, 8),)))
    assert (found.status, hours(found)) == (CoverageStatus.UNVERIFIED, [0, 1, 2, 3])
    assert found.gaps == (Gap(start=DAY + 4 * HOUR, end=DAY + 8 * HOUR, state=HourState.UNKNOWN),)
    assert found.reason == "hourly counts incomplete: denied"


def test_a_silent_hour_that_was_counted_is_empty_beside_one_that_was_not() -> None:
    found = covered(counts(0, 1, 3, unread=(span(4, 8),)))
    assert [(gap.state, gap.hours) for gap in found.gaps] == [
        (HourState.EMPTY, 1),
        (HourState.UNKNOWN, 4),
    ]


def test_a_partial_count_that_does_not_tell_what_it_lacks_lacks_every_silent_hour() -> None:
    one = counts(0, 1).model_copy(update={"bins_status": Status.PARTIAL})
    assert {gap.state for gap in covered(one).gaps} == {HourState.UNKNOWN}


@pytest.mark.parametrize(
    ("unread", "left"),
    [
        pytest.param(span(2, 3), [0, 1, 3, 4, 5, 6, 7], id="one hour"),
        pytest.param(span(2.5, 2.6), [0, 1, 3, 4, 5, 6, 7], id="a part closes its hour"),
        pytest.param(span(2.5, 4.5), [0, 1, 5, 6, 7], id="both ends"),
        pytest.param(span(-9, 99), [], id="all"),
        pytest.param(span(-9, 0), list(range(8)), id="before"),
    ],
)
def test_lines_that_were_not_read_close_their_hours(unread: Window, left: list[int]) -> None:
    found = unsearched(covered(counts(*range(8))), [unread])
    assert hours(found) == left
    is_whole = len(left) == 8
    assert found.status is (CoverageStatus.MEASURED if is_whole else CoverageStatus.UNVERIFIED)
    assert sum(gap.hours for gap in found.gaps) == 8 - len(left)
    assert found.hours_asked == 8


def test_a_node_claims_what_another_of_its_streams_was_searched_for() -> None:
    one = unsearched(covered(counts(*range(8))), [span(2, 4)])
    other = covered(counts(2, 3)).model_copy(update={"stream": "journal"})
    together = node_coverage(NODE, [one, other])
    assert (together.status, together.gate) == (CoverageStatus.MEASURED, Gate.MEASURED)
    assert len(together.live_hours) == 8


@given(
    st.sets(st.integers(0, 7)),
    st.lists(st.tuples(st.floats(0, 8), st.floats(0.1, 4)), max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_what_is_not_read_never_adds_to_what_is_claimed(
    live: set[int], gaps: list[tuple[float, float]]
) -> None:
    whole = covered(counts(*sorted(live)))
    unread = [span(start, start + length) for start, length in gaps]
    found = unsearched(whole, unread)
    assert set(found.live_hours) <= set(whole.live_hours)
    lost = set(whole.live_hours) - set(found.live_hours)
    assert all(any(s.start < at + HOUR and at < s.end for s in unread) for at in lost)
    if lost:
        assert found.status is not CoverageStatus.MEASURED

"""Taking evidence away only shrinks what is claimed, and order says nothing.

Blinding is an hour emptied, a stream denied, cut or taken away. Each property is also run against
a calculator with a planted bug, which it must catch.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from node_world import (
    GPU2,
    NODE,
    NOW,
    WINDOW,
    cluster,
    days,
    hma,
    node_of,
    reboot,
    sxid,
    xid,
)

from gpuvet.calculators.coverage import Life, node_coverage, source_coverage
from gpuvet.calculators.verdict import judge_cluster
from gpuvet.model.coverage import (
    Gate,
    HourCount,
    NodeCoverage,
    Shipper,
    StreamCounts,
)
from gpuvet.model.events import AnyRecord
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.verdict import NodeVerdict, Verdict

HOUR = timedelta(hours=1)
HOURS = [WINDOW.start + n * HOUR for n in range(-1, 25)]
LIFE = Life(launched_at=WINDOW.start - timedelta(days=30))
MILD = (Verdict.MONITOR, Verdict.LEAVE_ALONE)
MILDNESS = {
    Verdict.REPLACE: 0,
    Verdict.REBOOT: 1,
    Verdict.UNVERIFIED: 2,
    Verdict.NOT_OBSERVABLE: 3,
    Verdict.MONITOR: 4,
    Verdict.LEAVE_ALONE: 5,
}

WORDS = (
    "not observable in",
    "no hour of the window may be claimed",
    "no line",
    "could not be established",
    "no log source of this node",
)

CoverageMaker = Callable[[Sequence[StreamCounts]], NodeCoverage]
Judge = Callable[[Sequence[AnyRecord], NodeCoverage], NodeVerdict]


def cover(streams: Sequence[StreamCounts]) -> NodeCoverage:
    sources = [source_coverage(s, WINDOW, NOW + HOUR * 3, life=LIFE) for s in streams]
    return node_coverage(NODE, sources)


def judge(records: Sequence[AnyRecord], coverage: NodeCoverage) -> NodeVerdict:
    return judge_cluster(cluster(node_of(*records, coverage=coverage)))[0]


def claimed(coverage: NodeCoverage) -> set[tuple[str | None, datetime]]:
    """Return the source and hour of everything that is claimed to have been seen."""
    return {(s.stream, hour) for s in coverage.sources for hour in s.live_hours}


STREAMS = st.lists(
    st.builds(
        StreamCounts,
        node=st.just(NODE),
        group=st.just("g"),
        stream=st.sampled_from(["messages", "journal", "dmesg"]),
        shipper=st.sampled_from([Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY]),
        bins=st.sets(st.sampled_from(HOURS), min_size=20).map(
            lambda hours: tuple(HourCount(hour=h, lines=9) for h in sorted(hours))
        ),
        kernel_lines_ever=st.sampled_from([None, 0, 500]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda s: s.stream,
)


def empty_an_hour(stream: StreamCounts, hour: datetime) -> StreamCounts:
    return stream.model_copy(update={"bins": tuple(b for b in stream.bins if b.hour != hour)})


def deny(stream: StreamCounts, _: datetime) -> StreamCounts:
    return stream.model_copy(
        update={
            "bins": (),
            "bins_status": Status.UNVERIFIED,
            "bins_reason": Reason.DENIED,
            "kernel_status": Status.UNVERIFIED,
            "kernel_reason": Reason.DENIED,
            "kernel_lines_ever": None,
        }
    )


def cut_short(stream: StreamCounts, hour: datetime) -> StreamCounts:
    return stream.model_copy(
        update={
            "bins": tuple(b for b in stream.bins if b.hour < hour),
            "bins_status": Status.PARTIAL,
            "bins_reason": Reason.ROW_CAP,
        }
    )


def lose_the_kernel_search(stream: StreamCounts, _: datetime) -> StreamCounts:
    return stream.model_copy(
        update={
            "kernel_status": Status.UNVERIFIED,
            "kernel_reason": Reason.THROTTLED,
            "kernel_lines_ever": None,
        }
    )


BLINDFOLDS = [empty_an_hour, deny, cut_short, lose_the_kernel_search]
Blindfold = Callable[[StreamCounts, datetime], StreamCounts]


def blinded(
    streams: Sequence[StreamCounts], which: int, blindfold: Blindfold, hour: datetime
) -> list[StreamCounts]:
    place = which % len(streams)
    return [blindfold(s, hour) if n == place else s for n, s in enumerate(streams)]


def never_claims_more(
    make: CoverageMaker, streams: Sequence[StreamCounts], less: Sequence[StreamCounts]
) -> None:
    before, after = make(streams), make(less)
    assert claimed(after) <= claimed(before)
    assert set(after.live_hours) <= set(before.live_hours)
    if after.gate is Gate.MEASURED:
        assert before.gate is Gate.MEASURED
        assert {*before.live_hours, *before.empty_hours} <= set(after.live_hours)


THOROUGH = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@THOROUGH
@given(
    streams=STREAMS,
    which=st.integers(0, 2),
    blindfold=st.sampled_from(BLINDFOLDS),
    hour=st.sampled_from(HOURS),
)
def test_blinding_never_enlarges_what_is_claimed(
    streams: list[StreamCounts], which: int, blindfold: Blindfold, hour: datetime
) -> None:
    never_claims_more(cover, streams, blinded(streams, which, blindfold, hour))


@THOROUGH
@given(streams=STREAMS, which=st.integers(0, 2))
def test_taking_a_stream_away_never_enlarges_what_is_claimed(
    streams: list[StreamCounts], which: int
) -> None:
    place = which % len(streams)
    never_claims_more(cover, streams, [s for n, s in enumerate(streams) if n != place])


def cover_taking_denied_for_empty(streams: Sequence[StreamCounts]) -> NodeCoverage:
    """A planted bug: what could not be read counts as an hour without trouble."""
    whole = tuple(HourCount(hour=h, lines=1) for h in HOURS)
    return cover(
        [
            s
            if s.bins_status.is_complete and s.kernel_status.is_complete
            else s.model_copy(
                update={
                    "bins": whole,
                    "bins_status": Status.OK,
                    "kernel_status": Status.OK,
                    "kernel_lines_ever": 1,
                }
            )
            for s in streams
        ]
    )


def cover_skipping_what_it_cannot_count(streams: Sequence[StreamCounts]) -> NodeCoverage:
    """A planted bug: a hole is left out of the hours that were asked about."""
    found = cover(streams)
    live = found.live_hours
    sources = tuple(s.model_copy(update={"gaps": ()}) for s in found.sources)
    gate = Gate.MEASURED if live else Gate.NONE
    return found.model_copy(update={"gate": gate, "empty_hours": (), "sources": sources})


WHOLE = StreamCounts(
    node=NODE,
    group="g",
    stream="messages",
    shipper=Shipper.HOST_SYSLOG,
    bins=tuple(HourCount(hour=h, lines=9) for h in HOURS),
    kernel_lines_ever=500,
)
HOLED = empty_an_hour(WHOLE, HOURS[11])


@pytest.mark.parametrize(
    ("bug", "streams"),
    [(cover_taking_denied_for_empty, [HOLED]), (cover_skipping_what_it_cannot_count, [WHOLE])],
    ids=["denied taken for empty", "holes skipped"],
)
def test_the_properties_catch_a_calculator_that_claims_the_unseen(
    bug: CoverageMaker, streams: list[StreamCounts]
) -> None:
    with pytest.raises(AssertionError):
        hold_under_every_blindfold(bug, streams)


def hold_under_every_blindfold(make: CoverageMaker, streams: Sequence[StreamCounts]) -> None:
    for blindfold in BLINDFOLDS:
        less = blinded(streams, 0, blindfold, HOURS[11])
        never_claims_more(make, streams, less)
        never_milder_unnamed(judge, make, (), streams, less)


FALSE_CALM = xid(94, "Contained: SM (0x1). RST: No, D-RST: No")
EVENTS = st.lists(
    st.sampled_from(
        [
            xid(79, "GPU has fallen off the bus", -300),
            xid(31, "MMU Fault: ENGINE GRAPHICS", -900, pid=7),
            xid(31, "MMU Fault: ENGINE GRAPHICS", -7200, pid=8),
            xid(48, "DBE has been detected on GPU in the framebuffer", -60, pci=GPU2),
            xid(63, "Row Remapper: New row marked for remapping", -58, pci=GPU2),
            xid(45, "Ch 1 caused by previous Xid 79", -290, root=79),
            xid(43, "Ch 2", -280),
            xid(79, "GPU has fallen off the bus", -days(1)),
            xid(154, "changed from 0x0 (None) to 0x1 (GPU Reset Required)", -50),
            xid(9999, "news", -20),
            FALSE_CALM,
            sxid(20034, -295, fatal=True, link=3),
            reboot(-7200),
            reboot(3600),
            hma(-30, condition="NvidiaErrorReboot", reason="XidHardwareFailure"),
            hma(-20, reason="XidUserAppError"),
        ]
    ),
    max_size=8,
    unique_by=lambda r: (r.stream, r.line, r.at),
)


def never_milder_unnamed(
    judging: Judge,
    make: CoverageMaker,
    records: Sequence[AnyRecord],
    streams: Sequence[StreamCounts],
    less: Sequence[StreamCounts],
) -> None:
    """Hold that a node judged on less is not milder, or that what is missing is named."""
    before, coverage = judging(records, make(streams)), make(less)
    after = judging(records, coverage)
    if MILDNESS[after.verdict] <= MILDNESS[before.verdict]:
        return
    unseen = coverage.empty_hours or coverage.whole_window_unknown or coverage.gate is Gate.NONE
    assert unseen, "milder, and nothing is said to be missing"
    named = [*after.notes, *(g.what for g in after.grounds)]
    assert any(word in note for note in named for word in WORDS)
    if after.verdict in MILD:
        assert after.confidence == "provisional"


@THOROUGH
@given(
    records=EVENTS,
    streams=STREAMS,
    which=st.integers(0, 2),
    blindfold=st.sampled_from(BLINDFOLDS),
    hour=st.sampled_from(HOURS),
)
def test_blinding_leaves_no_node_milder_without_naming_what_is_missing(
    records: list[AnyRecord],
    streams: list[StreamCounts],
    which: int,
    blindfold: Blindfold,
    hour: datetime,
) -> None:
    less = blinded(streams, which, blindfold, hour)
    never_milder_unnamed(judge, cover, records, streams, less)


def judge_calling_the_unseen_clean(
    records: Sequence[AnyRecord], coverage: NodeCoverage
) -> NodeVerdict:
    """A planted bug: without findings a node is left alone, whatever was seen of it."""
    found = judge(records, coverage)
    if found.verdict is Verdict.NOT_OBSERVABLE:
        return found.model_copy(
            update={
                "verdict": Verdict.LEAVE_ALONE,
                "notes": (),
                "grounds": (),
                "confidence": "proven",
            }
        )
    return found


def test_the_property_catches_a_judge_that_calls_the_unseen_clean() -> None:
    with pytest.raises(AssertionError):
        never_milder_unnamed(
            judge_calling_the_unseen_clean, cover, [FALSE_CALM], [WHOLE], [deny(WHOLE, NOW)]
        )


@THOROUGH
@given(records=EVENTS, data=st.data())
def test_order_and_duplicates_change_nothing(records: list[AnyRecord], data: st.DataObject) -> None:
    coverage = cover([WHOLE])
    shuffled = data.draw(st.permutations(records))
    again = data.draw(st.lists(st.sampled_from(records), max_size=3)) if records else []
    assert same_in_any_order(judge, records, [*shuffled, *again], coverage)


def test_a_record_told_twice_pushes_no_lesser_finding_out() -> None:
    agent = hma(550, reason="XidUserAppError")
    lines: list[AnyRecord] = [
        xid(9999, "news", 550),
        xid(94, "Contained: SM (0x1). RST: No, D-RST: No", 0),
        xid(79, "GPU has fallen off the bus", 270),
        xid(31, "MMU Fault: ENGINE GRAPHICS", -330, pid=8),
        xid(31, "MMU Fault: ENGINE GRAPHICS", -6600, pid=9),
        xid(63, "Row Remapper: New row marked for remapping", 0, pci="0000:64:00"),
        agent,
    ]
    coverage = cover([WHOLE])
    assert len([n for n in judge(lines, coverage).notes if n.startswith("also seen")]) == 6
    assert same_in_any_order(judge, lines, [*lines, agent, agent], coverage)


def same_in_any_order(
    judging: Judge,
    records: Sequence[AnyRecord],
    others: Sequence[AnyRecord],
    coverage: NodeCoverage,
) -> bool:
    return judging(records, coverage) == judging(others, coverage)


def judge_by_arrival(records: Sequence[AnyRecord], coverage: NodeCoverage) -> NodeVerdict:
    """A planted bug: of two lines of one burst only the one that arrived last is kept."""
    evidence = node_of(*records, coverage=coverage)
    last = {(x.code, x.pci): x for x in evidence.records.xids}
    kept = evidence.records.model_copy(update={"xids": tuple(last.values())})
    return judge_cluster(cluster(evidence.model_copy(update={"records": kept})))[0]


def test_the_property_catches_a_judge_that_goes_by_arrival() -> None:
    lines = [xid(94, "Contained: SM. RST: Yes"), xid(94, "Contained: SM. RST: No", 1)]
    coverage = cover([WHOLE])
    assert same_in_any_order(judge, lines, lines[::-1], coverage)
    assert not same_in_any_order(judge_by_arrival, lines, lines[::-1], coverage)


@THOROUGH
@given(streams=STREAMS, data=st.data())
def test_the_order_of_hours_and_of_streams_changes_no_claim(
    streams: list[StreamCounts], data: st.DataObject
) -> None:
    mixed = [
        s.model_copy(update={"bins": tuple(data.draw(st.permutations(s.bins)))})
        for s in data.draw(st.permutations(streams))
    ]
    before, after = cover(streams), cover(mixed)
    assert (before.status, before.gate, before.live_hours, before.empty_hours) == (
        after.status,
        after.gate,
        after.live_hours,
        after.empty_hours,
    )


@THOROUGH
@given(records=EVENTS)
def test_a_line_that_says_nothing_changes_nothing(records: list[AnyRecord]) -> None:
    # An hour more of the same live stream, and a count of nothing, are no evidence of anything.
    more = WHOLE.model_copy(update={"bins": (*WHOLE.bins, HourCount(hour=HOURS[3], lines=0))})
    assert judge(records, cover([WHOLE])) == judge(records, cover([more]))


def test_the_streams_of_the_properties_can_be_measured() -> None:
    # Otherwise the properties above would hold for want of anything to lose.
    assert cover([WHOLE]).gate is Gate.MEASURED
    assert cover([HOLED]).gate is Gate.PARTIAL
    assert judge([], cover([WHOLE])).verdict is Verdict.LEAVE_ALONE
    assert judge([], cover([HOLED])).verdict is Verdict.NOT_OBSERVABLE

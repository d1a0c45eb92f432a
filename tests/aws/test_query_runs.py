"""Log queries over the simulated account: few, side by side, whole, and named where they fail."""

import math
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import limits
from simulated.account import Account, Fault, Params, account_of
from simulated.clients import live_door
from simulated.fleet import CLUSTER, GROUPS, HOUR, NOW, Fleet, Kind, Stream, fleet, node, xid
from simulated.queries import Query

from gpuvet.aws.cloudwatch_logs import CloudWatchLogs
from gpuvet.aws.door import LogStream, NodeName
from gpuvet.aws.live_queries import Queries
from gpuvet.aws.log_asks import hours_around, slices
from gpuvet.aws.log_queries import (
    MOST_CHARACTERS,
    MOST_GROUPS,
    MOST_ROWS,
    Part,
    bins_query,
    kernel_query,
    lines_query,
    packed,
)
from gpuvet.aws.query_runs import Ask, QueryRuns
from gpuvet.model.evidence import Reason, Status, Window

WINDOW = Window(start=NOW - timedelta(hours=25, minutes=10), end=NOW - timedelta(hours=1))
KINDS: list[Kind] = ["hyperpod", "parallelcluster", "eks", "ec2"]
HOURS = 25  # that the window touches


def names_of(made: Fleet) -> list[NodeName]:
    return [
        NodeName(node=one.id, aliases=(one.host, f"{one.host}.us-west-2.compute.internal"))
        for one in made.nodes
    ]


def logs(account: Account, *, seconds: float = 600.0) -> CloudWatchLogs:
    door = live_door(account, seconds=seconds)
    return CloudWatchLogs(door, clusters=(CLUSTER,), account="111122223333", now=NOW)


def streams_of(made: Fleet) -> list[LogStream]:
    return [LogStream(node=one.id, group=s.group, stream=s.name) for one, s in made.carriers()]


def fit_a_query(streams: list[LogStream]) -> int:
    """Return how many of these names fit one query of the service."""
    longest = max(len(one.stream) for one in streams)
    return (MOST_CHARACTERS - len(bins_query(Part((), ("",))))) // (longest + 4)


def floor(streams: list[LogStream], rows: int, *, row_cap: int = MOST_ROWS) -> int:
    """Return the least queries: rows by the row cap, and streams by those that fit a query."""
    return max(1, math.ceil(rows / row_cap)) + math.ceil(len(streams) / fit_a_query(streams))


# Packing


@given(
    st.lists(
        st.tuples(st.sampled_from(["/a", "/b", "/c"]), st.text('ab-./"\\é', min_size=1)),
        max_size=60,
    ),
    st.sampled_from([bins_query, kernel_query, lines_query]),
)
@settings(max_examples=40, deadline=None)
def test_every_stream_is_in_one_part_that_fits(
    streams: list[tuple[str, str]], query: Callable[[Part], str]
) -> None:
    parts = list(packed(streams, query))
    held = {(g, n) for part in parts for g in part.groups for n in part.streams}
    assert set(streams) <= held
    assert all(len(query(part)) <= MOST_CHARACTERS for part in parts)


def test_names_of_many_groups_share_a_query_up_to_the_groups_it_takes() -> None:
    streams = [(f"/group/{place:03d}", f"s{place}") for place in range(2 * MOST_GROUPS + 1)]
    assert [len(part.groups) for part in packed(streams, bins_query)] == [50, 50, 1]


@pytest.mark.parametrize("count", [1, 100, 400, 3_000])
def test_a_query_is_as_full_as_it_can_be(count: int) -> None:
    names = [f"ip-10-0-{n // 250}-{n % 250}.i-0{n:016x}.system-messages" for n in range(count)]
    parts = list(packed([("/g", name) for name in names], bins_query))
    used = sum(len(bins_query(part)) for part in parts[:-1])
    assert used >= (len(parts) - 1) * (MOST_CHARACTERS - 100)


def test_hours_are_cut_at_epoch_hours_to_fit_the_row_cap() -> None:
    whole = hours_around(WINDOW)
    cut = slices(whole, 4_096, "hour")
    assert len(cut) == 2
    assert (cut[0].start, cut[-1].end) == (whole.start, whole.end)
    assert all(one.start.minute == 0 and one.start.second == 0 for one in cut)
    assert [a.end for a in cut[:-1]] == [b.start for b in cut[1:]]
    assert slices(whole, 4_096, "@timestamp") == [whole]


# Queries a question


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 16, 130, 300])
def test_a_question_takes_at_most_twice_the_least_queries(kind: Kind, count: int) -> None:
    made = fleet(kind, count)
    account = account_of(made)
    door = logs(account)
    found = door.streams(names_of(made), WINDOW).value or ()
    counted = door.hourly_counts(found, WINDOW)
    hours = len({b.hour for one in counted.value or () for b in one.bins})
    asked = account.made["logs:StartQuery"]
    assert counted.status is Status.OK
    assert hours == HOURS
    assert asked <= 2 * floor(list(found), len(found) * HOURS)
    door.gpu_lines(found, WINDOW)
    assert account.made["logs:StartQuery"] - asked <= 2 * floor(list(found), 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [3, 300])
def test_counts_of_a_fleet_are_those_of_its_streams(kind: Kind, count: int) -> None:
    made = fleet(kind, count)
    dark = made.carrier(1)
    silent = [int((NOW - timedelta(hours=h)).replace(minute=0).timestamp()) for h in (3, 4)]
    dark.dark = frozenset(silent)
    account = account_of(made)
    door = logs(account)
    counted = door.hourly_counts(door.streams(names_of(made), WINDOW).value or (), WINDOW)
    by_stream = {one.stream: one for one in counted.value or ()}
    span = hours_around(WINDOW)
    every = range(int(span.start.timestamp()), int(span.end.timestamp()), HOUR)
    for _, stream in made.carriers():
        one = by_stream[stream.name]
        told = {int(b.hour.timestamp()): b.lines for b in one.bins}
        assert told == {h: stream.lines_an_hour for h in every if h not in stream.dark}
        assert (one.bins_status, one.kernel_status) == (Status.OK, Status.OK)
        assert one.kernel_lines_ever == sum(4 for h in every if h not in stream.dark)


def test_a_fleet_is_counted_without_listing_its_streams() -> None:
    account = account_of(fleet("parallelcluster", 500))
    door = logs(account)
    found = door.streams(names_of(account.fleet), WINDOW).value or ()
    assert len(found) == 500
    assert account.made["logs:DescribeLogStreams"] == 0
    assert account.calls < 30


def test_the_groups_of_an_account_do_not_use_up_its_calls() -> None:
    made = fleet("ec2", 4)
    for place in range(400):
        made.group(f"/app/system-{place:03d}").add(Stream(f"/app/system-{place:03d}", "s", 0.0))
        made.group(f"/aws/lambda/messages-{place:03d}")
    account = account_of(made)
    found = logs(account).streams(names_of(made), WINDOW)
    assert account.calls < 60
    assert (found.status, found.reason) == (Status.PARTIAL, Reason.BUDGET)
    assert any("were not looked into" in note for note in found.notes)


def test_a_group_with_more_streams_than_are_listed_is_asked_for_the_nodes_own() -> None:
    made = fleet("ec2", 4)
    group = made.group(GROUPS["ec2"])
    for place in range(3_000):
        group.add(Stream(group.name, f"another-{place:05d}", 0.0))
    account = account_of(made)
    door = logs(account)
    found = door.streams(names_of(made), WINDOW)
    assert {one.node for one in found.value or ()} == {one.id for one in made.nodes}
    assert account.made["logs:DescribeLogStreams"] == 40
    assert {row[1]["value"] for q in account.queries.values() for row in q.rows} == {
        one.id for one in made.nodes
    }
    # Which silent streams the listing did not reach is not known, and said.
    assert (found.status, found.reason) == (Status.PARTIAL, Reason.PAGE_CAP)


# Answers that are full


@pytest.mark.parametrize("cap", [7, 25, 40, 100])
def test_a_full_answer_is_gone_on_from_and_no_row_comes_twice(cap: int) -> None:
    made = fleet("ec2", 20)
    account = account_of(made, rows_a_query=cap)
    door = logs(account)
    counted = door.hourly_counts(streams_of(made), WINDOW)
    rows = 20 * HOURS
    told = sum(len(one.bins) for one in counted.value or ())
    if cap <= 20:  # an hour alone fills an answer: what it lacks cannot be asked for by time
        assert (counted.status, counted.reason) == (Status.PARTIAL, Reason.ROW_CAP)
        assert told < rows
        assert all(one.bins_unread for one in counted.value or ())
    else:
        assert (counted.status, told) == (Status.OK, rows)
        assert {b.lines for one in counted.value or () for b in one.bins} == {40}
        least = floor(streams_of(made), rows, row_cap=cap)
        assert account.made["logs:StartQuery"] <= 2 * least


def test_a_result_of_exactly_the_limit_is_not_taken_for_the_whole() -> None:
    made = fleet("ec2", 1)
    for minute in range(50):
        xid(made.carrier(0), 31, NOW - timedelta(hours=4) + timedelta(minutes=minute))
    account = account_of(made, rows_a_query=10)
    found = logs(account).gpu_lines(streams_of(made), WINDOW)
    assert (found.status, len(found.value or ())) == (Status.OK, 50)
    assert len({one.text for one in found.value or ()}) == 50
    assert [one.line for one in found.value or ()] == list(range(1, 51))


def test_more_lines_in_a_second_than_an_answer_holds_close_that_second() -> None:
    made = fleet("ec2", 1)
    at = (NOW - timedelta(hours=4)).replace(minute=10, second=0)
    for count in range(30):
        xid(made.carrier(0), 31, at + timedelta(milliseconds=10 * count))
    xid(made.carrier(0), 79, at + timedelta(hours=1))
    account = account_of(made, rows_a_query=10)
    door = logs(account)
    found = door.gpu_lines(streams_of(made), WINDOW)
    assert (found.status, found.reason) == (Status.PARTIAL, Reason.ROW_CAP)
    assert any(": 79," in one.text for one in found.value or ())
    (gap,) = door.unread_lines(streams_of(made), WINDOW)
    assert gap.window == Window(start=at, end=at + timedelta(seconds=1))


# Several at once


def test_queries_run_side_by_side_and_never_more_than_we_allow() -> None:
    made = fleet("parallelcluster", 1_000)
    account = account_of(made)
    counted = logs(account).hourly_counts(streams_of(made), WINDOW)
    started = account.made["logs:StartQuery"]
    assert counted.status is Status.OK
    assert started > 4
    assert account.most_queries_at_once == 4
    one_by_one = started * (limits.QUERY_SECONDS + limits.RESULTS_LAG_SECONDS)
    assert account.clock.seconds < 0.7 * one_by_one
    assert account.made["logs:GetQueryResults"] <= 2 * started
    assert account.throttled["logs:GetQueryResults"] == 0


@pytest.mark.parametrize("busy", [17, 19])
def test_a_quota_that_others_fill_slows_a_question_and_fails_none_of_it(busy: int) -> None:
    made = fleet("parallelcluster", 700)
    account = account_of(made, busy_queries=busy)
    counted = logs(account).hourly_counts(streams_of(made), WINDOW)
    assert counted.status is Status.OK
    assert account.most_queries_at_once == limits.QUERIES_AT_ONCE - busy


def test_a_quota_that_stays_full_is_named_within_the_deadline() -> None:
    account = account_of(fleet("ec2", 4), busy_queries=limits.QUERIES_AT_ONCE)
    counted = logs(account, seconds=45).hourly_counts(streams_of(account.fleet), WINDOW)
    assert account.clock.seconds <= 46
    assert counted.status is not Status.OK
    assert all(not one.bins and not one.bins_status.is_complete for one in counted.value or ())


def test_two_questions_that_share_our_slots_both_end() -> None:
    made = fleet("ec2", 700)
    account = account_of(made)
    names = [(s.group or "", s.stream) for s in streams_of(made)]
    asks = [
        Ask(part.groups, bins_query(part), hours_around(WINDOW), "hour")
        for part in packed(names, bins_query)
    ]
    slots = Queries()
    one, other = (QueryRuns(live_door(account, queries=slots)) for _ in range(2))
    one.begin(asks)
    assert all(not found.unread for found in other.found(asks))
    assert all(not found.unread for found in one.found(asks))


def test_a_question_asked_twice_is_run_once() -> None:
    account = account_of(fleet("ec2", 30))
    door = logs(account)
    first = door.hourly_counts(streams_of(account.fleet), WINDOW)
    made = account.calls
    assert door.hourly_counts(streams_of(account.fleet), WINDOW) == first
    assert account.calls == made


def test_other_reads_are_made_while_queries_run() -> None:
    def seconds(*, ahead: bool) -> float:
        account = account_of(fleet("ec2", 500))
        door = live_door(account)
        own = CloudWatchLogs(door, clusters=(CLUSTER,), now=NOW)
        reads = [("cloudtrail:LookupEvents", {"MaxResults": place}) for place in range(1, 9)]
        if ahead:
            own.begin(others=reads)
        own.hourly_counts(streams_of(account.fleet), WINDOW)
        if not ahead:
            for operation, params in reads:
                door.read(operation, params)
        assert account.made["cloudtrail:LookupEvents"] == 8
        return account.clock.seconds

    assert seconds(ahead=True) < seconds(ahead=False) - 1


# Groups without an index of names


def test_a_group_without_an_index_is_not_scanned_once_for_every_few_names() -> None:
    made = fleet("ec2", 500, log_class="INFREQUENT_ACCESS")
    account = account_of(made)
    counted = logs(account).hourly_counts(streams_of(made), WINDOW)
    assert counted.status is Status.OK
    assert account.made["logs:StartQuery"] == 1
    assert len(counted.value or ()) == 500


def test_a_delivery_group_is_not_queried_and_not_supported() -> None:
    made = fleet("ec2", 3, log_class="DELIVERY")
    account = account_of(made)
    counted = logs(account).hourly_counts(streams_of(made), WINDOW)
    assert account.made["logs:StartQuery"] == 0
    assert {one.bins_status for one in counted.value or ()} == {Status.NOT_SUPPORTED}


# What fails closes what it covered, and nothing else


def names_a_stream(name: str) -> Callable[[Params], bool]:
    return lambda params: f'"{name}"' in params["queryString"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("AccessDeniedException", Reason.DENIED),
        ("ThrottlingException", Reason.THROTTLED),
        ("ServiceUnavailableException", Reason.UNREACHABLE),
    ],
)
def test_a_query_that_cannot_start_closes_the_streams_it_names(code: str, reason: Reason) -> None:
    made = fleet("ec2", 900)
    account = account_of(made)
    lost = made.carrier(5).name
    account.faults.append(Fault("logs:StartQuery", code, names_a_stream(lost)))
    door = logs(account)
    counted = door.hourly_counts(streams_of(made), WINDOW).value or ()
    closed = {one.stream for one in counted if one.bins_status is not Status.OK}
    assert lost in closed
    assert {one.bins_reason for one in counted if one.stream in closed} == {reason}
    assert 0 < len(closed) <= fit_a_query(streams_of(made))
    assert all(len(one.bins) == HOURS for one in counted if one.stream not in closed)
    assert all(one.bins == () for one in counted if one.stream in closed)


@pytest.mark.parametrize("state", ["Failed", "Timeout", "Cancelled"])
def test_a_query_that_ends_otherwise_closes_the_streams_it_names(state: str) -> None:
    made = fleet("ec2", 900)
    lost = made.carrier(5).name

    def broken(one: Query) -> str | None:
        return state if f'"{lost}"' in one.text else None

    account = account_of(made, broken_queries=broken)
    found = logs(account).gpu_lines(streams_of(made), WINDOW)
    gaps = logs(account).unread_lines(streams_of(made), WINDOW)
    assert (found.status, found.reason) == (Status.PARTIAL, Reason.TIMED_OUT)
    assert lost in {gap.stream for gap in gaps}
    assert len(gaps) <= fit_a_query(streams_of(made))
    assert {(gap.window, gap.reason) for gap in gaps} == {(WINDOW, Reason.TIMED_OUT)}


def test_a_slice_of_time_that_fails_closes_its_hours_and_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpuvet.aws.log_asks.MOST_ROWS", 4_000)
    made = fleet("ec2", 300)
    account = account_of(made)
    whole = hours_around(WINDOW)
    later = slices(whole, 300, "hour")[1]
    account.faults.append(
        Fault(
            "logs:StartQuery",
            "AccessDeniedException",
            lambda params: params["startTime"] == int(later.start.timestamp()),
        )
    )
    door = logs(account)
    found = door.streams(names_of(made), WINDOW).value or ()
    counted = door.hourly_counts(found, WINDOW).value or ()
    assert len(counted) == 300
    for one in counted:
        assert one.bins_unread == (later,)
        assert {b.hour for b in one.bins} == {
            whole.start + timedelta(hours=n)
            for n in range((later.start - whole.start) // timedelta(hours=1))
        }


def test_one_denied_group_of_several_is_found_and_the_others_are_read() -> None:
    made = fleet("ec2", 6)
    for place in range(6):
        group = made.group(f"/own/{place}")
        group.add(Stream(group.name, made.nodes[place].id, 0.0))
    streams = [
        LogStream(node=one.id, group=f"/own/{place}", stream=one.id)
        for place, one in enumerate(made.nodes)
    ]
    account = account_of(made)
    account.faults.append(
        Fault(
            "logs:StartQuery",
            "AccessDeniedException",
            lambda params: "/own/3" in params["logGroupNames"],
        )
    )
    counted = logs(account).hourly_counts(streams, WINDOW).value or ()
    assert [one.bins_status for one in counted] == [
        Status.UNVERIFIED if place == 3 else Status.OK for place in range(6)
    ]


def test_a_node_in_another_place_of_the_fleet_is_the_same_node() -> None:
    assert node(7, NOW) == node(7, NOW)
    assert node(7, NOW).id != node(8, NOW).id

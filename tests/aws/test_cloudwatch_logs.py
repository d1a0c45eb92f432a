"""The log door over CloudWatch Logs: found streams, counted hours, and what was not seen."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from gpuvet.aws.cloudwatch_logs import CloudWatchLogs
from gpuvet.aws.door import LogStream, NodeName
from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.model.coverage import Shipper
from gpuvet.model.evidence import Envelope, Reason, Status, Window

T = TypeVar("T")
NODE = NodeName(node="i-0aa11bb22cc33dd44", aliases=("ip-10-1-2-3",))
OTHER = NodeName(node="i-0aa11bb22cc33dd45", aliases=("ip-10-1-2-30",))
WINDOW = Window(
    start=datetime(2026, 3, 2, 4, 20, tzinfo=UTC), end=datetime(2026, 3, 2, 6, 10, tzinfo=UTC)
)
XID = "ip-10-1-2-3 kernel: NVRM: Xid (PCI:0000:53:00): 79"


def stream(**hours: int) -> dict[str, Any]:
    return {
        "hours": {f"2026-03-02T{hour[1:]}:00:00Z": lines for hour, lines in hours.items()},
        "kernel_hours": {"2026-03-02T04:00:00Z": 1},
        "events": [{"timestamp": "2026-03-02T05:12:00Z", "message": XID}],
    }


STORE: dict[str, Any] = {
    "/one/kernel": {"streams": {"ip-10-1-2-3.syslog": stream(h03=1, h04=5, h05=3, h06=2, h07=9)}},
    "/two/syslog": {"streams": {f"{OTHER.node}.messages": stream(h04=5)}},
}


def logs(*calls: Mapping[str, Any], store: Mapping[str, Any] = STORE) -> CloudWatchLogs:
    stores = StoreAnswers(read_log_store(store), (), account="111122223333", region="us-west-2")
    door = RecordedAws(read_calls(calls), account="111122223333", region="us-west-2", stores=stores)
    return CloudWatchLogs(door, clusters=("one",), now=datetime(2026, 3, 2, 8, tzinfo=UTC))


def all_of(answer: Envelope[tuple[T, ...]]) -> list[T]:
    return list(answer.value or ())


def denied(operation: str, **params: object) -> dict[str, object]:
    error = {"Code": "AccessDeniedException", "Message": "no"}
    return {"service": "logs", "operation": operation, "params": params, "error": error}


def test_streams_are_found_by_whole_names_in_groups_of_any_prefix() -> None:
    found = logs().streams((NODE, OTHER))
    assert found.status is Status.OK
    assert {(one.node, one.group, one.stream) for one in found.value or ()} == {
        (NODE.node, "/one/kernel", "ip-10-1-2-3.syslog"),
        (OTHER.node, "/two/syslog", f"{OTHER.node}.messages"),
    }


def test_every_hour_that_the_window_touches_is_counted_whole() -> None:
    door = logs()
    counts = door.hourly_counts(door.streams((NODE,)).value or (), WINDOW)
    (one,) = all_of(counts)
    assert [(bin_.hour.hour, bin_.lines) for bin_ in one.bins] == [(4, 5), (5, 3), (6, 2)]
    assert (one.kernel_lines_ever, one.shipper) == (2, Shipper.HOST_SYSLOG)
    assert one.evidence is not None


def test_candidate_lines_come_with_their_shipping_time() -> None:
    door = logs()
    (line,) = all_of(door.gpu_lines(door.streams((NODE,)).value or (), WINDOW))
    assert (line.text, line.node) == (XID, NODE.node)
    assert line.shipped_at_ms == int(datetime(2026, 3, 2, 5, 12, tzinfo=UTC).timestamp() * 1000)


def test_no_lines_are_an_empty_answer_and_not_an_unread_one() -> None:
    door = logs()
    early = Window(start=WINDOW.start.replace(hour=0), end=WINDOW.start.replace(hour=1))
    found = door.gpu_lines(door.streams((NODE,)).value or (), early)
    assert (found.status, found.value) == (Status.OK_EMPTY, ())


def test_a_denied_listing_is_no_absence_of_streams() -> None:
    nothing = logs(denied("DescribeLogGroups")).streams((NODE,))
    assert (nothing.status, nothing.reason, nothing.value) == (
        Status.UNVERIFIED,
        Reason.DENIED,
        (),
    )
    some = logs(denied("DescribeLogGroups", logGroupNamePattern="syslog")).streams((NODE, OTHER))
    assert (some.status, some.reason) == (Status.PARTIAL, Reason.DENIED)
    assert len(some.value or ()) == 1
    assert "syslog" in some.notes[0]


def test_a_denied_query_makes_no_hour_empty() -> None:
    door = logs(denied("StartQuery"))
    streams = door.streams((NODE,)).value or ()
    counts = door.hourly_counts(streams, WINDOW)
    assert (counts.status, counts.reason) == (Status.UNVERIFIED, Reason.DENIED)
    (one,) = all_of(counts)
    assert (one.bins, one.bins_status, one.kernel_status) == (
        (),
        Status.UNVERIFIED,
        Status.UNVERIFIED,
    )
    assert one.kernel_lines_ever is None
    assert door.gpu_lines(streams, WINDOW).reason is Reason.DENIED


def test_one_denied_group_of_two_leaves_the_other_counted() -> None:
    door = logs(denied("StartQuery", logGroupNames=["/two/syslog"]))
    counts = door.hourly_counts(door.streams((NODE, OTHER)).value or (), WINDOW)
    assert (counts.status, counts.reason) == (Status.PARTIAL, Reason.DENIED)
    assert [one.bins_status for one in counts.value or ()] == [Status.OK, Status.UNVERIFIED]


def test_a_query_that_did_not_end_says_nothing() -> None:
    running: dict[str, Any] = {
        "service": "logs",
        "operation": "GetQueryResults",
        "params": {},
        "response": {"status": "Running", "results": []},
    }
    started = {
        "service": "logs",
        "operation": "StartQuery",
        "params": {},
        "response": {"queryId": "q"},
    }
    door = CloudWatchLogs(RecordedAws(read_calls([started, running])))
    asked = (LogStream(node=NODE.node, group="/one/kernel", stream="s"),)
    found = door.gpu_lines(asked, WINDOW)
    assert (found.status, found.reason) == (Status.UNVERIFIED, Reason.TIMED_OUT)


def test_a_stream_of_two_nodes_is_given_to_both_and_said_to_be_shared() -> None:
    name = f"{NODE.node}-{OTHER.node}-messages"
    door = logs(store={"/one/kernel": {"streams": {name: stream(h04=1)}}})
    found = door.streams((NODE, OTHER)).value or ()
    assert [one.shared_with for one in found] == [(OTHER.node,), (NODE.node,)]

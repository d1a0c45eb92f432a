"""EFA counters in CloudWatch: discovered, never guessed."""

from datetime import UTC, datetime, timedelta

from gpuvet.aws.efa_metrics import read_efa_series
from gpuvet.aws.metric_store import StoredSeries
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import CallError, RecordedCall
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.model.evidence import Reason, Status, Window

NODE = "i-0aaaaaaaaaaaaaaaa"
START = datetime(2026, 3, 7, 9, tzinfo=UTC)
HOUR = Window(start=START, end=START + timedelta(hours=1))


def stored(metric: str, node: str = NODE) -> StoredSeries:
    return StoredSeries(
        namespace="CWAgent",
        metric=metric,
        dimensions=(("InstanceId", node), ("device", "rdmap79s0")),
        period_s=60,
        stat="Maximum",
        unit=None,
        start=START,
        values=(0.0, None, 12.0),
    )


def door(*series: StoredSeries) -> RecordedAws:
    call = RecordedCall("cloudwatch:ListMetrics", {}, ({"Metrics": []},), source="test")
    return RecordedAws([call], now=HOUR.end, stores=StoreAnswers(None, series))


def test_error_counters_of_the_nodes_are_read_with_their_gaps() -> None:
    found = read_efa_series(
        door(
            stored("efa_retrans_timeout_events"),
            stored("efa_rx_bytes"),
            stored("efa_rx_drops", "i-0bbbbbbbbbbbbbbbb"),
        ),
        [NODE],
        HOUR,
    )
    assert found.status is Status.OK
    assert found.value is not None
    (series,) = found.value
    assert (series.counter, series.node, series.device) == (
        "retrans_timeout_events",
        NODE,
        "rdmap79s0",
    )
    assert [(one.at, one.value) for one in series.points] == [
        (START, 0.0),
        (START + timedelta(minutes=2), 12.0),
    ]


def test_counters_that_are_not_published_are_no_zeros() -> None:
    found = read_efa_series(door(), [NODE], HOUR)
    assert (found.status, found.value) == (Status.OK_EMPTY, ())


def test_a_listing_that_was_denied_leaves_counters_unread() -> None:
    error = CallError("AccessDenied", "no")
    call = RecordedCall("cloudwatch:ListMetrics", {}, (error,), source="test")
    found = read_efa_series(RecordedAws([call], now=HOUR.end), [NODE], HOUR)
    assert (found.status, found.reason, found.value) == (
        Status.UNVERIFIED,
        Reason.DENIED,
        None,
    )

"""CloudWatch metrics through the door: discovery, batches, pages, statuses."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.aws.metric_spans import told_series
from gpuvet.aws.metrics import Wanted, finest_period, list_metrics, read_series
from gpuvet.model.case import MetricSeries, MetricSpan
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.metrics import MetricName, TimeSeries

START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
WINDOW = Window(start=START, end=START + timedelta(minutes=4))
Page = Mapping[str, Any]


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


class Door:
    """Answers from a list, and keeps what it was asked."""

    def __init__(self, *answers: Envelope[tuple[Page, ...]]) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self._answers = list(answers)

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Give the next answer; the last one repeats."""
        del region
        self.asked.append((operation, params))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def pages(*found: Page, status: Status = Status.OK, reason: Reason | None = None) -> Envelope[Any]:
    return Envelope[tuple[Page, ...]](
        service="cloudwatch", operation="X", status=status, reason=reason, value=found or None
    )


def cpu(server: str) -> MetricName:
    dimensions = (("FileServer", server), ("FileSystemId", "fs-0123456789abcdef0"))
    return MetricName(namespace="AWS/FSx", metric="CPUUtilization", dimensions=dimensions)


def result(number: int, times: Sequence[datetime], values: Sequence[float], **rest: str) -> Page:
    row = {"Id": f"m{number}", "Timestamps": list(times), "Values": list(values), **rest}
    return {"MetricDataResults": [row]}


def test_metrics_are_discovered_with_their_dimensions_once_each() -> None:
    row = {
        "Namespace": "AWS/FSx",
        "MetricName": "CPUUtilization",
        "Dimensions": [
            {"Name": "FileSystemId", "Value": "fs-0123456789abcdef0"},
            {"Name": "FileServer", "Value": "MDS0000"},
        ],
    }
    foreign = {**row, "Namespace": "AWS/EC2"}
    door = Door(pages({"Metrics": [row, row]}, {"Metrics": [foreign, {"MetricName": "x"}]}))
    found = list_metrics(door, "AWS/FSx")
    assert (found.status, found.value) == (Status.OK, (cpu("MDS0000"),))
    assert door.asked == [("cloudwatch:ListMetrics", {"Namespace": "AWS/FSx"})]


@pytest.mark.parametrize(
    ("answer", "status", "value"),
    [
        pytest.param(pages({"Metrics": []}), Status.OK_EMPTY, (), id="none is a statement"),
        pytest.param(
            pages(status=Status.UNVERIFIED, reason=Reason.DENIED),
            Status.UNVERIFIED,
            None,
            id="denied",
        ),
    ],
)
def test_a_listing_keeps_its_status(
    answer: Envelope[Any], status: Status, value: tuple[MetricName, ...] | None
) -> None:
    found = list_metrics(Door(answer), "AWS/FSx")
    assert (found.status, found.value) == (status, value)


def test_points_are_put_on_the_grid_and_missing_periods_stay_missing() -> None:
    door = Door(pages(result(0, [at(3), at(1)], [30, 10], StatusCode="Complete")))
    assert read_series(door, [Wanted(cpu("MDS0000"), "Maximum")], WINDOW, 60) == (
        TimeSeries(
            name=cpu("MDS0000"),
            stat="Maximum",
            period_seconds=60,
            start=START,
            values=(None, 10.0, None, 30.0),
            evidence=pages().evidence,
        ),
    )
    ((operation, params),) = door.asked
    assert operation == "cloudwatch:GetMetricData"
    assert params["ScanBy"] == "TimestampAscending"
    assert params["MetricDataQueries"][0]["MetricStat"]["Period"] == 60


def test_one_query_may_go_on_over_pages() -> None:
    first = result(0, [at(0)], [1], StatusCode="PartialData")
    second = result(0, [at(1)], [2], StatusCode="Complete")
    (series,) = read_series(
        Door(pages(first, second)), [Wanted(cpu("MDS0000"), "Maximum")], WINDOW, 60
    )
    assert (series.values, series.status) == ((1.0, 2.0, None, None), Status.OK)


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        pytest.param(
            pages(result(0, [at(0)], [1], StatusCode="PartialData")),
            Status.PARTIAL,
            Reason.ROW_CAP,
            id="cut short",
        ),
        pytest.param(
            pages(result(0, [], [], StatusCode="Forbidden")),
            Status.UNVERIFIED,
            Reason.DENIED,
            id="denied inside a 200",
        ),
        pytest.param(
            pages(result(0, [], [], StatusCode="InternalError")),
            Status.UNVERIFIED,
            Reason.UNREACHABLE,
            id="an error of the service",
        ),
        pytest.param(
            pages(status=Status.UNVERIFIED, reason=Reason.THROTTLED),
            Status.UNVERIFIED,
            Reason.THROTTLED,
            id="throttled",
        ),
        pytest.param(
            pages({"MetricDataResults": []}),
            Status.NOT_CHECKED,
            Reason.NOT_RECORDED,
            id="a query without an answer",
        ),
        pytest.param(
            pages(result(0, [], [], StatusCode="Complete")), Status.OK_EMPTY, None, id="no points"
        ),
    ],
)
def test_each_series_has_its_own_status(
    answer: Envelope[Any], status: Status, reason: Reason | None
) -> None:
    (series,) = read_series(Door(answer), [Wanted(cpu("MDS0000"), "Maximum")], WINDOW, 60)
    assert (series.status, series.reason) == (status, reason)


@pytest.mark.parametrize(
    ("count", "minutes", "sizes"),
    [
        pytest.param(1001, 4, [500, 500, 1], id="500 queries a call"),
        pytest.param(150, 24 * 60, [70, 70, 10], id="100,800 datapoints a call"),
        pytest.param(0, 4, [], id="nothing wanted, nothing asked"),
    ],
)
def test_queries_are_batched(count: int, minutes: int, sizes: list[int]) -> None:
    door = Door(pages({"MetricDataResults": []}))
    window = Window(start=START, end=at(minutes))
    wanted = [Wanted(cpu(f"OSS{i:04x}"), "Maximum") for i in range(count)]
    series = read_series(door, wanted, window, 60)
    assert [len(params["MetricDataQueries"]) for _, params in door.asked] == sizes
    assert [one.name for one in series] == [one.name for one in wanted]


def test_the_ends_of_a_window_are_rounded_outwards_to_the_period() -> None:
    door = Door(pages({"MetricDataResults": []}))
    ragged = Window(start=START + timedelta(seconds=90), end=START + timedelta(seconds=601))
    read_series(door, [Wanted(cpu("MDS0000"), "Maximum")], ragged, 300)
    ((_, params),) = door.asked
    assert (params["StartTime"], params["EndTime"]) == (START, at(15))


@pytest.mark.parametrize(
    ("age", "period"),
    [(timedelta(days=15), 60), (timedelta(days=15, seconds=1), 300), (timedelta(days=64), 3600)],
)
def test_old_points_are_kept_at_longer_periods(age: timedelta, period: int) -> None:
    assert finest_period(START - age, START) == period


def span(value: float, first: float | None, last: float | None, period: int = 60) -> MetricSpan:
    return MetricSpan(
        value=value,
        start=None if first is None else at(first),
        end=None if last is None else at(last),
        period_seconds=period,
    )


def told(*spans: MetricSpan, stat: str = "Maximum") -> TimeSeries:
    table = MetricSeries(
        file="metrics.json",
        metric="CPUUtilization",
        dimensions=cpu("MDS0000").dimensions,
        statistic=stat,
        spans=spans,
    )
    return told_series([table])[0]


def test_spans_of_a_table_are_one_point_a_period_and_gaps_stay_gaps() -> None:
    series = told(span(10, 0, 2), span(90, 3, 5))
    assert series.name == cpu("MDS0000")  # the namespace follows from the dimension
    assert (series.start, series.values) == (START, (10, 10, None, 90, 90))


def test_a_value_without_time_is_an_extreme_and_no_point() -> None:
    series = told(span(31, None, None))
    assert (series.extreme, series.values) == (31, ())
    assert told(span(31, None, None), span(3, None, None), stat="Minimum").extreme == 3


def test_words_beside_the_statistic_are_left_out() -> None:
    assert told(span(88000, 0, 2), stat="Sum per 60 s").stat == "Sum"

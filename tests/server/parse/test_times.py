"""Every form of time the sources write becomes a UTC time with its quality."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.model.events import TimeQuality
from gpuvet.parse.times import SLACK, Stamp, epoch, leading_stamp, parse_time, place_in_year

REFERENCE = datetime(2026, 3, 20, tzinfo=UTC)
AT = datetime(2025, 2, 23, 16, 24, 18, tzinfo=UTC)
FINE = AT.replace(microsecond=104201)


@pytest.mark.parametrize(
    ("text", "at", "quality"),
    [
        pytest.param("2025-02-23T16:24:18Z", AT, TimeQuality.EXACT, id="ISO with Z"),
        pytest.param("2025-02-23T16:24:18+0000", AT, TimeQuality.EXACT, id="journalctl short-iso"),
        pytest.param("2025-02-23T16:24:18.104201+00:00", FINE, TimeQuality.EXACT, id="new rsyslog"),
        pytest.param(
            "2025-02-23T16:24:18,104201+00:00", FINE, TimeQuality.EXACT, id="dmesg iso, comma"
        ),
        pytest.param("2025-02-23T08:24:18-08:00", AT, TimeQuality.EXACT, id="another zone"),
        pytest.param(
            "2025-02-23T16:24:18.104201999Z", FINE, TimeQuality.EXACT, id="nanoseconds, as CRI"
        ),
        pytest.param("2025-02-23 16:24:18", AT, TimeQuality.ASSUMED, id="no zone"),
        pytest.param(
            "2025-02-23 16:24:18,104",
            AT.replace(microsecond=104000),
            TimeQuality.ASSUMED,
            id="Python logging",
        ),
        pytest.param("[2025-02-23T16:24:18.104201]", FINE, TimeQuality.ASSUMED, id="slurmd"),
        pytest.param("2025/02/23 16:24:18", AT, TimeQuality.ASSUMED, id="slashes"),
        pytest.param("[2025/02/23 16:24:18]", AT, TimeQuality.ASSUMED, id="Fluent Bit's own log"),
        pytest.param("[Sun Feb 23 16:24:18 2025]", AT, TimeQuality.ASSUMED, id="dmesg -T"),
        pytest.param("Sun 2025-02-23 16:24:18 UTC", AT, TimeQuality.EXACT, id="short-full"),
        pytest.param("Sun, 23 Feb 2025 16:24:18 +0000", AT, TimeQuality.EXACT, id="RFC 2822"),
        pytest.param("Feb 23 2025 16:24:18", AT, TimeQuality.ASSUMED, id="month first with year"),
        pytest.param("1740327858", AT, TimeQuality.EXACT, id="epoch seconds"),
        pytest.param("1740327858000", AT, TimeQuality.EXACT, id="epoch milliseconds"),
        pytest.param("1740327858104201", FINE, TimeQuality.EXACT, id="journald microseconds"),
        pytest.param("1740327858104201999", FINE, TimeQuality.EXACT, id="epoch nanoseconds"),
        pytest.param("1740327858.104201", FINE, TimeQuality.EXACT, id="journalctl short-unix"),
        pytest.param("Feb 23 16:24:18", AT.replace(year=2026), TimeQuality.ASSUMED, id="RFC 3164"),
        pytest.param(
            "E0223 16:24:18.104201", FINE.replace(year=2026), TimeQuality.ASSUMED, id="klog"
        ),
        pytest.param(
            "2016-12-31T23:59:60Z",
            datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC),
            TimeQuality.EXACT,
            id="a leap second",
        ),
    ],
)
def test_a_stamp_of_the_sources_is_read(text: str, at: datetime, quality: TimeQuality) -> None:
    assert parse_time(text, REFERENCE) == Stamp(at, quality)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NVRM: Xid",
        "2025-13-23T16:24:18Z",
        "2025-02-30T16:24:18Z",
        "Jun 31 16:24:18",
        "0001-01-01T00:00:00+05:00",
        "2025-02-23T16:24:18Zulu",
        "٢٠٢٥-02-23T16:24:18Z",
        "1",
        "9" * 21,
        "[430954.509105]",
    ],
)
def test_what_is_no_time_gives_none(text: str) -> None:
    assert parse_time(text, REFERENCE) is None


@pytest.mark.parametrize(
    ("stamp", "reference", "year"),
    [
        pytest.param("Dec 31 23:59:59", datetime(2026, 1, 2, tzinfo=UTC), 2025, id="last year"),
        pytest.param("Jan  2 00:00:00", datetime(2026, 1, 2, tzinfo=UTC), 2026, id="this year"),
        pytest.param("Jan  1 00:30:00", datetime(2025, 12, 31, 23, tzinfo=UTC), 2026, id="a zone"),
        pytest.param("Jan  3 00:00:00", datetime(2025, 12, 31, tzinfo=UTC), 2025, id="too late"),
        pytest.param("Feb 29 01:00:00", datetime(2026, 3, 1, tzinfo=UTC), 2024, id="leap day"),
    ],
)
def test_a_stamp_without_a_year_gets_the_latest_that_is_not_after_its_reference(
    stamp: str, reference: datetime, year: int
) -> None:
    found, _ = leading_stamp(stamp, reference)
    assert found is not None
    assert found.at.year == year


@settings(max_examples=60)
@given(
    at=st.datetimes(min_value=datetime(2010, 1, 1), max_value=datetime(2090, 1, 1)),  # noqa: DTZ001
    ahead=st.timedeltas(min_value=-SLACK, max_value=timedelta(days=300)),
)
def test_a_yearless_time_up_to_ten_months_old_comes_back_whole(
    at: datetime, ahead: timedelta
) -> None:
    at = at.replace(microsecond=0, tzinfo=UTC)
    found = place_in_year(at.month, at.day, at.strftime("%H:%M:%S"), at + ahead)
    assert found == at


def test_the_rest_of_a_line_begins_after_its_time() -> None:
    text = "[Sun Feb 23 16:24:18 2025]  NVRM: Xid"
    stamp, end = leading_stamp(text, REFERENCE)
    assert (stamp, text[end:]) == (Stamp(AT, TimeQuality.ASSUMED), "NVRM: Xid")


def test_an_epoch_that_is_a_size_or_a_counter_is_no_time() -> None:
    assert [epoch(number) for number in (0, 4711, float("nan"), float("inf"), 10**30)] == [None] * 5

"""Time stamps of logs, in many forms."""

import pytest

from gpuvet.simulate.clock import Clock, form_of, read_time


@pytest.mark.parametrize(
    ("lines", "form", "elapsed"),
    [
        pytest.param(
            ["2026-03-02 08:00:03,250 [INFO] a", "2026-03-02 08:01:03,750 b"],
            "ISO 8601",
            60.5,
            id="logging's asctime",
        ),
        pytest.param(
            ["2026-03-02T08:00:03Z a", "2026-03-02T10:00:03+02:00 b"], "ISO 8601", 0.0, id="zones"
        ),
        pytest.param(
            ["[2026-03-02 08:00:03] a", "[2026-03-02 08:00:04] b"], "ISO 8601", 1.0, id="brackets"
        ),
        pytest.param(
            ["[NeMo I 2026-03-02 08:00:03 nemo:1] a", "[NeMo I 2026-03-02 08:00:05 nemo:1] b"],
            "ISO 8601",
            2.0,
            id="behind a name",
        ),
        pytest.param(
            ["2026-03-02T08:00:03.123456789Z a", "2026-03-02T08:00:04.123456789Z b"],
            "ISO 8601",
            1.0,
            id="kubectl --timestamps",
        ),
        pytest.param(
            ["Mar  2 23:59:59 host a", "Mar  3 00:00:01 host b"], "month by name", 2.0, id="syslog"
        ),
        pytest.param(["I0302 08:00:03.5 1 a", "W0302 08:00:04.0 1 b"], "glog", 0.5, id="glog"),
        pytest.param(
            ["03/02/2026 08:00:03 AM a", "03/02/2026 08:00:03 PM b"],
            "month/day/year",
            43200.0,
            id="with AM and PM",
        ),
        pytest.param(
            ["INFO 03-02 08:00:03 a", "INFO 03-02 08:00:09 b"], "month-day", 6.0, id="month and day"
        ),
        pytest.param(
            ["1772438403.25 a", "1772438405.25 b"], "seconds since 1970", 2.0, id="epoch seconds"
        ),
        pytest.param(
            ['{"ts": 1772438403250, "a": 1}', '{"ts": 1772438404250, "a": 1}'],
            "seconds since 1970",
            1.0,
            id="epoch milliseconds in JSON",
        ),
        pytest.param(
            ["[   12.500000] a", "[   14.000000] b"], "seconds since start", 1.5, id="since boot"
        ),
        pytest.param(["23:59:58 a", "00:00:03 b"], "time of day", 5.0, id="past midnight"),
        pytest.param(
            ["02/Mar/2026:08:00:03 +0000 a", "02/Mar/2026:08:00:03 -0100 b"],
            "date of the common log format",
            3600.0,
            id="common log format",
        ),
    ],
)
def test_a_form_is_found_and_read(lines: list[str], form: str, elapsed: float) -> None:
    found = form_of(lines)
    assert found is not None
    clock = Clock(found)
    first, last = (clock.seconds(line) for line in lines)

    assert found.name == form
    assert first is not None
    assert last is not None
    assert last - first == pytest.approx(elapsed)


def test_a_log_without_stamps_has_no_form() -> None:
    assert form_of(["step 1 loss=2", "step 2 loss=2", "100%|####| 3/3 [00:01<00:00]"]) is None


def test_a_date_that_cannot_be_is_no_stamp() -> None:
    form = form_of(["2026-03-02 08:00:03 a"])
    assert form is not None

    assert Clock(form).seconds("2026-13-45 08:00:03 a") is None


def test_a_stamp_inside_the_message_is_not_the_line_s() -> None:
    form = form_of(["2026-03-02 08:00:03 a"])
    assert form is not None

    line = "loaded the checkpoint that was written on the first node at 2026-03-01 08:00:00"

    assert Clock(form).seconds(line) is None


def test_a_stage_start_may_carry_a_date_that_the_log_lacks() -> None:
    form = form_of(["08:00:03 a"])
    assert form is not None

    assert read_time("2026-03-02T08:00:00Z", form) == 8 * 3600

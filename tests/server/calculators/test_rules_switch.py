"""NVSwitch errors: SXids (verdict-rules §4, §5, §11)."""

import pytest
from node_world import boundary, days, judged, reboot, sxid, xid

from gpuvet.model.events import AnyRecord, BoundaryKind


def again(code: int, **more: object) -> list[AnyRecord]:
    first, second = sxid(code, -days(1)), sxid(code)
    return [first.model_copy(update=more), reboot(-3600), second.model_copy(update=more)]


@pytest.mark.parametrize(
    ("records", "verdict", "fault_class"),
    [
        pytest.param(
            [sxid(20034, fatal=True, link=30)],
            *("REBOOT", "software_link"),
            id="a fatal link error",
        ),
        pytest.param(
            [sxid(11001, fatal=False, link=32)],
            *("MONITOR", "software_link"),
            id="a printed Non-fatal, where the table leaves it to the word",
        ),
        pytest.param(
            [sxid(10001, fatal=True)], "REBOOT", "hardware", id="Fatal lifts the table's MONITOR"
        ),
        pytest.param(
            [sxid(10003, fatal=False)], "REBOOT", "hardware", id="Non-fatal lowers nothing"
        ),
        pytest.param([sxid(10003)], "REBOOT", "hardware", id="no word: the table decides"),
        pytest.param([sxid(99999)], "UNVERIFIED", "hardware", id="a code in no list"),
        pytest.param([sxid(99999, fatal=True)], "REBOOT", "hardware", id="a Fatal code in no list"),
        pytest.param(
            again(20034, fatal=True, link=30),
            *("REPLACE", "software_link"),
            id="a fatal link error again after a reboot",
        ),
        pytest.param(
            [
                sxid(20034, -days(1), fatal=True, link=29),
                reboot(-3600),
                sxid(20034, fatal=True, link=30),
            ],
            *("REBOOT", "software_link"),
            id="on another link after the reboot",
        ),
        pytest.param(
            [
                sxid(20034, -days(1), fatal=True, link=30),
                boundary(BoundaryKind.STOP_START, -3600),
                sxid(20034, fatal=True, link=30),
            ],
            *("REBOOT", "software_link"),
            id="on other hardware",
        ),
        pytest.param(
            [
                sxid(20034, -days(15), fatal=True, link=30),
                reboot(-3600),
                sxid(20034, fatal=True, link=30),
            ],
            *("REBOOT", "software_link"),
            id="after more than 14 days",
        ),
        pytest.param(again(10001, fatal=False), "UNVERIFIED", "hardware", id="a mild one again"),
        pytest.param(
            [xid(79, "x"), sxid(20034, 12, fatal=True, link=48)],
            *("REBOOT", "hardware"),
            id="after a lost GPU: that decides",
        ),
    ],
)
def test_an_nvswitch_error_decides(
    records: list[AnyRecord], verdict: str, fault_class: str
) -> None:
    found = judged(*records)
    assert (found.verdict.value, found.fault_class) == (verdict, fault_class)


def test_an_nvswitch_error_after_a_lost_gpu_is_named_as_its_consequence() -> None:
    found = judged(xid(79, "x"), sxid(20034, 60, fatal=True, link=48))
    assert "SXid 20034 is a consequence (follows the lost GPU)" in found.notes
    assert len(found.grounds) == 1


def test_an_nvswitch_error_over_a_minute_after_a_lost_gpu_stands_by_itself() -> None:
    found = judged(xid(79, "x"), sxid(20034, 61, fatal=True, link=48))
    assert len(found.grounds) == 2


def test_an_nvswitch_error_is_the_cause_of_its_own_verdict() -> None:
    found = judged(sxid(20034, fatal=True, link=30), xid(43, "Ch 1", 5))
    assert found.cause is not None
    assert found.cause.what.startswith("SXid 20034, link 30")


def test_the_earlier_of_two_equal_findings_is_the_cause() -> None:
    found = judged(xid(79, "x", 10), sxid(20034, -500, fatal=True, link=30))
    assert found.cause is not None
    assert found.cause.what.startswith("SXid 20034")

"""The recovery action the driver asks for: Xid 154 (verdict-rules §11)."""

import pytest
from node_world import GPU, GPU2, days, judged, reboot, xid

from gpuvet.model.events import AnyRecord, XidEvent

FULL = "Row Remapper Error: (0x1) - Row Remapping table is full"


def x154(value: str, seconds: float = 0, *, pci: str = GPU) -> XidEvent:
    return xid(154, f"GPU recovery action changed from 0x0 (None) to {value}", seconds, pci=pci)


@pytest.mark.parametrize(
    ("value", "verdict", "least"),
    [
        pytest.param("0x0 (None)", "LEAVE ALONE", "none", id="none"),
        pytest.param("0x1 (GPU Reset Required)", "REBOOT", "REBOOT", id="GPU reset"),
        pytest.param("0x2 (Node Reboot Required)", "REBOOT", "REBOOT", id="node reboot"),
        pytest.param("0x2 (OS Reboot)", "REBOOT", "REBOOT", id="the other text for 2"),
        pytest.param("0x3 (Drain P2P)", "UNVERIFIED", "stop peer jobs", id="drain P2P"),
        pytest.param("0x4 (Drain and Reset)", "REBOOT", "REBOOT", id="drain and reset"),
        pytest.param(
            "0x5 (Recover IMEX Domain)", "UNVERIFIED", "recover the IMEX domain", id="IMEX domain"
        ),
        pytest.param("0x6 (Bus Reset)", "REBOOT", "REBOOT", id="bus reset"),
        pytest.param("0x7 (System Reboot)", "REBOOT", "REBOOT", id="system reboot"),
        pytest.param("0x9 (News)", "UNVERIFIED", "MONITOR", id="a value nobody lists"),
    ],
)
def test_the_number_decides(value: str, verdict: str, least: str) -> None:
    found = judged(x154(value))
    assert (found.verdict.value, found.minimum_action) == (verdict, least)
    assert (found.open_check is None) == (verdict != "UNVERIFIED")


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        pytest.param(
            [x154("0x1 (GPU Reset Required)", -60), x154("0x0 (None)")],
            "LEAVE ALONE",
            id="the last value of the boot counts",
        ),
        pytest.param(
            [x154("0x1 (GPU Reset Required)", -60), x154("0x0 (None)", pci=GPU2)],
            "REBOOT",
            id="another GPU's value does not",
        ),
        pytest.param([xid(64, FULL), x154("0x0 (None)", 5)], "REPLACE", id="0 removes no ground"),
        pytest.param(
            [xid(64, FULL), x154("0x1 (GPU Reset Required)", 5)], "REPLACE", id="1 lowers nothing"
        ),
        pytest.param(
            [x154("0x3 (Drain P2P)", -days(1)), reboot(-3600)],
            "LEAVE ALONE",
            id="a boot ends a drain",
        ),
    ],
)
def test_it_raises_and_never_lowers(records: list[AnyRecord], verdict: str) -> None:
    assert judged(*records).verdict.value == verdict


def test_none_after_a_replacement_ground_is_a_contradiction() -> None:
    found = judged(xid(64, FULL), x154("0x0 (None)", 5))
    assert "Xid 154 back to None after a REPLACE ground: REPLACE stays" in found.contradictions


def test_without_another_xid_the_trigger_is_missing() -> None:
    found = judged(x154("0x1 (GPU Reset Required)"))
    assert (found.cause, found.fault_class) == (None, "qualifier")
    assert "the Xid that triggered this 154 is missing: its cause is UNVERIFIED" in found.notes


def test_it_is_never_the_cause_of_what_another_xid_began() -> None:
    found = judged(xid(31, "fault", -30, pid=1), x154("0x1 (GPU Reset Required)"))
    assert found.cause is not None
    assert (found.verdict, found.cause.what, found.fault_class) == (
        "REBOOT",
        "Xid 31",
        "application",
    )

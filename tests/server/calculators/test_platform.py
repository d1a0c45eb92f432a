"""What HyperPod itself decided about a node (verdict-rules §11, HyperPod; §13)."""

from typing import Any

import pytest
from node_world import condition, covered, deep_check, hma, judged, reboot, xid

from gpuvet.model.cluster import NodeFacts, Orchestrator
from gpuvet.model.coverage import Gate
from gpuvet.model.events import AnyRecord, Source

LABEL = "sagemaker.amazonaws.com/node-health-status"
CHECK = "sagemaker.amazonaws.com/deep-health-check-status"
NOTHING: dict[str, object] = {}
PLATFORM: dict[str, Any] = {"orchestrator": Orchestrator.HYPERPOD_EKS}


@pytest.mark.parametrize(
    ("records", "facts", "verdict"),
    [
        pytest.param([hma(condition="NvidiaErrorTerminate")], {}, "REPLACE", id="terminate"),
        pytest.param([hma(condition="NvidiaErrorReboot")], {}, "REBOOT", id="reboot"),
        pytest.param(
            [
                hma(condition="NvidiaErrorReboot"),
                hma(60, condition="NvidiaErrorReboot", condition_true=False),
            ],
            *(NOTHING, "LEAVE ALONE"),
            id="a condition that was cleared",
        ),
        pytest.param(
            [
                hma(condition="NvidiaErrorReboot", condition_true=False),
                hma(60, condition="NvidiaErrorReboot"),
            ],
            *(NOTHING, "REBOOT"),
            id="a condition that came back",
        ),
        pytest.param([hma(reason="XidUserAppError")], {}, "LEAVE ALONE", id="a user's error"),
        pytest.param(
            [hma(recommendation="Please Replace the Faulty Node.")], {}, "REPLACE", id="recommended"
        ),
        pytest.param([hma(repair_action="Replace")], {}, "REPLACE", id="a repair action"),
        pytest.param([hma(repair_action="None")], {}, "LEAVE ALONE", id="no repair action"),
        pytest.param(
            [], {"health_label": "UnschedulablePendingReplacement"}, "REPLACE", id="label replace"
        ),
        pytest.param(
            [], {"health_label": "UnschedulablePendingReboot"}, "REBOOT", id="label reboot"
        ),
        pytest.param([], {"health_label": "Unschedulable"}, "LEAVE ALONE", id="check running"),
        pytest.param([], {"health_label": "Schedulable"}, "LEAVE ALONE", id="schedulable"),
        pytest.param([], {"status": "Running"}, "LEAVE ALONE", id="running"),
        pytest.param(
            [condition("", kind=LABEL, status="UnschedulablePendingReboot")],
            *(NOTHING, "REBOOT"),
            id="a label read as a condition",
        ),
        pytest.param(
            [condition("", kind=CHECK, status="Failed")], {}, "UNVERIFIED", id="label check failed"
        ),
        pytest.param(
            [], {"replacement_requested": "Replace it"}, "REPLACE", id="the platform's own request"
        ),
        pytest.param(
            [deep_check(0, passed=False, faulty=True)], {}, "REPLACE", id="faulty instance"
        ),
        pytest.param([deep_check(0, passed=False)], {}, "UNVERIFIED", id="a deep check failed"),
        pytest.param([deep_check(0, passed=True)], {}, "LEAVE ALONE", id="a deep check passed"),
        pytest.param(
            [deep_check(0, passed=False), deep_check(60, passed=True)],
            *(NOTHING, "LEAVE ALONE"),
            id="a deep check failed, then passed",
        ),
        pytest.param(
            [deep_check(0, passed=False, faulty=True), deep_check(60, passed=True)],
            *(NOTHING, "REPLACE"),
            id="a faulty instance stays one",
        ),
    ],
)
def test_the_platforms_word_is_followed(
    records: list[AnyRecord], facts: dict[str, object], verdict: str
) -> None:
    found = judged(*records, facts=NodeFacts.model_validate(facts), **PLATFORM)
    assert found.verdict.value == verdict


def test_schedulable_clears_nothing() -> None:
    facts = NodeFacts(health_label="Schedulable", status="Running")
    assert judged(xid(79, "x"), facts=facts, **PLATFORM).verdict == "REBOOT"


def test_its_words_are_quoted() -> None:
    record = hma(
        condition="NvidiaErrorReboot",
        reason="XidHardwareFailure",
        repair_action="None",
        recommendation="Please Reboot the Node.",
    )
    found = judged(record, coverage=covered(Gate.HMA_ONLY), **PLATFORM)
    assert found.grounds[0].what == (
        "health agent: NvidiaErrorReboot (condition NvidiaErrorReboot, reason XidHardwareFailure, "
        "RepairAction None, Recommendation Please Reboot the Node.)"
    )


def test_a_users_error_against_a_hardware_xid_loses_and_is_told() -> None:
    found = judged(
        hma(reason="XidUserAppError"), xid(31, "fault", pid=1), xid(79, "x", 120), **PLATFORM
    )
    assert found.verdict == "REBOOT"
    told = (
        "HMA XidUserAppError against kernel Xid 79: the agent judged the one line it saw; "
        "the hardware verdict stands"
    )
    assert found.contradictions == (told,)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        pytest.param(xid(31, "fault", pid=1), True, id="only a program's code"),
        pytest.param(xid(110, "SEC_FAULT", 5), False, id="hardware"),
    ],
)
def test_a_claim_of_hardware_against_a_measured_log_is_provisional(
    record: AnyRecord, told: bool
) -> None:
    found = judged(hma(condition="NvidiaErrorTerminate"), record, **PLATFORM)
    assert found.verdict == "REPLACE"
    assert any("the agent's condition is followed" in c for c in found.contradictions) == told
    assert (found.confidence == "provisional") == told


def test_a_link_fault_of_the_kernel_agrees_with_the_agent() -> None:
    found = judged(
        hma(condition="NvidiaErrorReboot"), xid(74, "NVLink: fatal error on link 3", 2), **PLATFORM
    )
    assert not any("the agent's condition" in c for c in found.contradictions)


def test_a_hardware_xid_after_a_passed_check_wins_and_is_told() -> None:
    found = judged(reboot(-7200), deep_check(-3600, passed=True), xid(79, "x"), **PLATFORM)
    assert found.verdict == "REBOOT"
    assert "deep health check passed, then Xid 79: the later hardware event wins" in (
        found.contradictions
    )


def test_a_line_of_the_agent_and_of_dcgm_are_one_event() -> None:
    found = judged(
        xid(79, "x", source=Source.HMA, stream="agent"),
        xid(79, "", 1, pci=None, source=Source.DCGM, stream="dcgm"),
        coverage=covered(Gate.HMA_ONLY),
        **PLATFORM,
    )
    assert [g.source for g in found.grounds] == ["dcgm+hma"]

"""Coverage decides last what may be said of things not seen (verdict-rules §12)."""

from datetime import timedelta

import pytest
from node_world import FAILURE, NODE, OTHER, THIRD, covered, hma, judged, node_of, verdicts, xid

from gpuvet.model.cluster import NodeFacts
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.events import AnyRecord, Source

HOUR = timedelta(hours=1)
NOON = FAILURE
AT_FAILURE = covered(Gate.PARTIAL, empty=[NOON - HOUR])
LONG_BEFORE = covered(Gate.PARTIAL, empty=[NOON - 5 * HOUR])
AFTERWARDS = covered(Gate.PARTIAL, empty=[NOON + HOUR])
UNKNOWN = covered(Gate.PARTIAL, whole_window_unknown=True)
DIED = covered(Gate.PARTIAL, live=[NOON - 2 * HOUR, NOON - HOUR, NOON], empty=[NOON + HOUR])
NONE, AGENT = covered(Gate.NONE), covered(Gate.HMA_ONLY)
BLOCKED = NodeFacts(ran_no_job=True, blocker="no free address in its subnet")
LOST, FAULT, CONTAINED = xid(79, "x"), xid(31, "fault", pid=7), xid(94, "Contained: SM. RST: No")


@pytest.mark.parametrize(
    ("records", "coverage", "verdict"),
    [
        pytest.param([LOST], NONE, "REBOOT", id="what was seen stands without any coverage"),
        pytest.param([LOST], AT_FAILURE, "REBOOT", id="what was seen stands beside a hole"),
        pytest.param([xid(110, "SEC")], UNKNOWN, "REPLACE", id="also where hours are unknown"),
        pytest.param([CONTAINED], NONE, "NOT OBSERVABLE", id="MONITOR rests on silence"),
        pytest.param([FAULT], NONE, "NOT OBSERVABLE", id="LEAVE ALONE rests on silence"),
        pytest.param([FAULT], AT_FAILURE, "NOT OBSERVABLE", id="a hole before the failure"),
        pytest.param([FAULT], LONG_BEFORE, "LEAVE ALONE", id="a hole long before the failure"),
        pytest.param([FAULT], AFTERWARDS, "LEAVE ALONE", id="a hole after the failure"),
        pytest.param([FAULT], UNKNOWN, "NOT OBSERVABLE", id="hours that nobody knows"),
        pytest.param([FAULT], DIED, "NOT OBSERVABLE", id="a stream that died with the failure"),
        pytest.param([FAULT], AGENT, "LEAVE ALONE", id="the agent's detections"),
        pytest.param([], NONE, "NOT OBSERVABLE", id="nothing seen without coverage"),
        pytest.param([], AT_FAILURE, "NOT OBSERVABLE", id="nothing seen beside a hole"),
        pytest.param([], LONG_BEFORE, "NOT OBSERVABLE", id="nothing seen beside any hole"),
        pytest.param([], AGENT, "LEAVE ALONE", id="nothing detected"),
    ],
)
def test_a_hole_lets_nothing_be_called_clean(
    records: list[AnyRecord], coverage: NodeCoverage, verdict: str
) -> None:
    assert judged(*records, coverage=coverage).verdict.value == verdict


def test_nothing_seen_in_a_measured_log_is_zero_xids_measured() -> None:
    found = judged()
    assert (found.verdict, found.fault_class, found.confidence) == ("LEAVE ALONE", "none", "proven")
    assert found.grounds[0].what == "0 Xids measured"


def test_nothing_detected_is_never_zero_xids() -> None:
    told = judged(coverage=AGENT).grounds[0].what
    assert told == "no HMA detections; agent detections only, kernel log not shipped"
    assert "0 Xids" not in told


def test_cleared_detections_are_not_no_detections() -> None:
    cleared = hma(condition="NvidiaErrorReboot", condition_true=False)
    told = judged(cleared, coverage=AGENT).grounds[0].what
    assert "no HMA detections" not in told


def test_a_verdict_beside_a_hole_names_it() -> None:
    found = judged(LOST, coverage=AT_FAILURE)
    assert "not observable in 1 h: hour 2026-03-02 11:00Z" in found.notes


def test_a_mild_verdict_beside_a_hole_is_provisional() -> None:
    assert judged(FAULT, coverage=LONG_BEFORE).confidence == "provisional"


def test_a_node_that_left_with_the_agents_silence_alone_is_not_observable() -> None:
    left = {"left_at": NOON + HOUR}
    assert judged(coverage=AGENT, node=left).verdict == "NOT OBSERVABLE"


def test_a_node_that_left_measured_to_its_end_keeps_its_verdict() -> None:
    assert judged(node={"left_at": NOON + HOUR}).verdict == "LEAVE ALONE"


def test_a_stream_that_died_with_the_failure_is_told() -> None:
    found = judged(coverage=DIED)
    assert "its last line lies just before the failure, which is itself suspicious" in found.notes


def test_an_agent_that_names_the_process_keeps_a_node_left_alone() -> None:
    found = judged(
        hma(reason="XidUserAppError"),
        xid(31, "fault", pid=7, source=Source.HMA),
        coverage=NONE,
    )
    assert (found.verdict, found.confidence) == ("LEAVE ALONE", "provisional")
    assert "kept: the health agent names the failing process" in found.notes


def test_the_same_application_code_on_three_nodes_keeps_them_left_alone() -> None:
    dark = {
        n: NodeCoverage(node=n, status=CoverageStatus.NOT_OBSERVABLE, gate=Gate.NONE)
        for n in (NODE, OTHER, THIRD)
    }
    nodes = [
        node_of(xid(31, "fault", 400 * k, pid=1), node=n, coverage=dark[n])
        for k, n in enumerate((NODE, OTHER, THIRD))
    ]
    assert set(verdicts(*nodes).values()) == {"LEAVE ALONE"}
    assert set(verdicts(*nodes[:2]).values()) == {"NOT OBSERVABLE"}


@pytest.mark.parametrize("coverage", [NONE, AT_FAILURE, UNKNOWN], ids=["none", "hole", "unknown"])
def test_a_node_that_ran_no_job_for_a_named_reason_is_left_alone(coverage: NodeCoverage) -> None:
    found = judged(coverage=coverage, facts=BLOCKED)
    assert (found.verdict, found.confidence) == ("LEAVE ALONE", "provisional")
    assert any("GPU health not observed" in g.what for g in found.grounds)


def test_a_blocked_node_with_a_lost_gpu_still_needs_its_reboot() -> None:
    assert judged(LOST, coverage=NONE, facts=BLOCKED).verdict == "REBOOT"


def test_without_a_failure_a_hole_anywhere_is_named_and_kept() -> None:
    found = judged(FAULT, coverage=AT_FAILURE, failure_at=None)
    assert (found.verdict, found.confidence) == ("LEAVE ALONE", "provisional")

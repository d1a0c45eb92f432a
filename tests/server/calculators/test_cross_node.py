"""What only several nodes together can show (verdict-rules §4)."""

import pytest
from node_world import (
    GPU2,
    NODE,
    OTHER,
    THIRD,
    cluster,
    hma,
    judged,
    node_of,
    reboot,
    sxid,
    verdicts,
    xid,
)

from gpuvet.calculators.verdict import judge_cluster
from gpuvet.model.events import AnyRecord


@pytest.mark.parametrize(
    ("fault", "follower", "verdict", "fault_class"),
    [
        pytest.param(
            [xid(79, "x")], [xid(45, "Ch", 600)], "LEAVE ALONE", "sympathetic", id="10 min after"
        ),
        pytest.param([xid(79, "x")], [xid(45, "Ch", 601)], "MONITOR", "sympathetic", id="later"),
        pytest.param([xid(79, "x")], [xid(45, "Ch", -1)], "MONITOR", "sympathetic", id="before"),
        pytest.param(
            [xid(79, "x")], [xid(31, "x", 5, pid=1)], "LEAVE ALONE", "sympathetic", id="a 31 after"
        ),
        pytest.param(
            [xid(94, "Contained: SM. RST: No")],
            [xid(45, "Ch", 5)],
            *("MONITOR", "sympathetic"),
            id="after a MONITOR",
        ),
        pytest.param(
            [xid(119, "x")], [xid(45, "Ch", 5)], "LEAVE ALONE", "sympathetic", id="after a GSP"
        ),
        pytest.param(
            [sxid(20034, fatal=True, link=3)],
            [xid(45, "Ch", 5)],
            *("LEAVE ALONE", "sympathetic"),
            id="after an NVSwitch error",
        ),
        pytest.param(
            [hma(condition="NvidiaErrorReboot")],
            [xid(45, "Ch", 5)],
            *("LEAVE ALONE", "sympathetic"),
            id="after the agent's condition",
        ),
        pytest.param(
            [xid(79, "x")],
            [xid(45, "Ch", 5), xid(94, "Contained: SM. RST: No", 400, pci=GPU2)],
            *("MONITOR", "sympathetic"),
            id="with something of its own in that time",
        ),
        pytest.param(
            [xid(79, "x"), reboot(7200)],
            [xid(45, "Ch", 5)],
            *("LEAVE ALONE", "sympathetic"),
            id="after a fault that a reboot has cured since",
        ),
        pytest.param(
            [xid(79, "x", -90_000), xid(62, "x")],
            [xid(45, "Ch", 5)],
            *("LEAVE ALONE", "sympathetic"),
            id="after the second of two faults",
        ),
    ],
)
def test_a_node_that_only_follows_another_is_left_alone(
    fault: list[AnyRecord], follower: list[AnyRecord], verdict: str, fault_class: str
) -> None:
    evidence = cluster(node_of(*fault), node_of(*follower, node=OTHER))
    found = judge_cluster(evidence)[1]
    assert (found.verdict.value, found.fault_class) == (verdict, fault_class)


def test_a_node_does_not_follow_itself() -> None:
    # Its own 79 lies too long before for its own 45.
    assert judged(xid(79, "x", -400), xid(45, "Ch", pci=GPU2)).verdict == "REBOOT"


def test_an_echo_names_the_fault_and_its_node() -> None:
    evidence = cluster(node_of(xid(79, "x")), node_of(xid(45, "Ch", 5), node=OTHER))
    (ground,) = judge_cluster(evidence)[1].grounds
    assert "after Xid 79" in ground.what
    assert ground.what.endswith(f"on {NODE}")


def test_old_events_of_its_own_do_not_hide_that_a_node_followed() -> None:
    old = xid(94, "Contained: SM. RST: No", -90_000)
    found = verdicts(node_of(xid(79, "x")), node_of(old, xid(45, "Ch", 5), node=OTHER))
    assert found[OTHER] == "MONITOR"
    told = judge_cluster(
        cluster(node_of(xid(79, "x")), node_of(old, xid(45, "Ch", 5), node=OTHER))
    )[1]
    assert any("Xid 45" in note and "LEAVE ALONE" in note for note in told.notes)


def test_nodes_are_judged_in_the_order_of_the_evidence() -> None:
    nodes = [node_of(node=n) for n in (THIRD, NODE, OTHER)]
    assert [v.node for v in judge_cluster(cluster(*nodes))] == [THIRD, NODE, OTHER]


def test_the_order_of_nodes_changes_no_verdict() -> None:
    nodes = [
        node_of(xid(79, "x"), node=NODE),
        node_of(xid(45, "Ch", 5), node=OTHER),
        node_of(xid(31, "x", 9, pid=1), node=THIRD),
    ]
    assert verdicts(*nodes) == verdicts(*reversed(nodes))

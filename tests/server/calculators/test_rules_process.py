"""Xids that speak of a process: 11, 13, 25, 31, 32, 43, 45, 69, 80, 109 (verdict-rules §6)."""

import pytest
from node_world import (
    GPU,
    GPU2,
    GPU3,
    NODE,
    OTHER,
    START,
    THIRD,
    at,
    days,
    gpu,
    judged,
    next_line,
    node_of,
    reboot,
    verdicts,
    xid,
)

from gpuvet.model.cluster import NodeFacts
from gpuvet.model.events import AnyRecord, PcieError, TimeQuality

WARP = "Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address"
WARP_ELSEWHERE = "Graphics SM Warp Exception on (GPC 2, TPC 0, SM 0): Out Of Range Address"
FAULT = "Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_3 faulted"
UNKNOWN_CLIENT = "MMU Fault: ENGINE HOST UNRECOGNIZED_CLIENT faulted @ 0x0. Fault is of type FAULT"


def pcie(seconds: float, pci: str | None = GPU) -> PcieError:
    return PcieError(
        node=NODE,
        stream="messages",
        line=next_line(),
        raw="pcieport: AER: Corrected error received",
        at=at(seconds),
        time_quality=TimeQuality.EXACT,
        pci=pci,
    )


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        pytest.param([xid(13, WARP, pid=1)], "LEAVE ALONE", id="a warp exception"),
        pytest.param(
            [xid(13, WARP, -3600, pid=1), xid(13, WARP, pid=2)],
            "UNVERIFIED",
            id="the same SM in two runs",
        ),
        pytest.param(
            [xid(13, WARP, -3600, pid=1), xid(13, WARP_ELSEWHERE, pid=2)],
            "LEAVE ALONE",
            id="another SM in each run",
        ),
        pytest.param(
            [xid(13, WARP, -59, pid=1), xid(13, WARP, pid=2)],
            "LEAVE ALONE",
            id="two processes of one run",
        ),
        pytest.param(
            [xid(13, WARP, -3600, pid=1), xid(13, WARP, pid=1)],
            "LEAVE ALONE",
            id="one process twice is one run",
        ),
        pytest.param(
            [xid(13, WARP, -3600, pid=1), xid(13, WARP, pid=2), xid(13, WARP, 5, pci=GPU2, pid=2)],
            "LEAVE ALONE",
            id="two runs while another GPU shows it too",
        ),
        pytest.param(
            [xid(13, WARP, -90_000, pid=1), xid(13, WARP, pid=2)],
            "LEAVE ALONE",
            id="two runs more than a day apart",
        ),
        pytest.param([xid(31, FAULT, pid=1)], "LEAVE ALONE", id="one MMU fault"),
        pytest.param(
            [xid(31, FAULT, -3600, pid=1), xid(31, FAULT, pid=2)],
            "UNVERIFIED",
            id="MMU faults in two runs on one GPU only",
        ),
        pytest.param(
            [
                xid(31, FAULT, -3600, pid=1),
                xid(31, FAULT, pid=2),
                xid(31, FAULT, -1800, pci=GPU2, pid=3),
            ],
            "LEAVE ALONE",
            id="MMU faults in two runs and on another GPU",
        ),
        pytest.param([xid(32, "Channel ID 0000000d", pid=1)], "LEAVE ALONE", id="one bad stream"),
        pytest.param(
            [xid(32, "Channel ID 0000000d", -days(2), pid=1), xid(32, "Channel ID 1", pid=2)],
            "UNVERIFIED",
            id="bad streams in two runs, a day between them or not",
        ),
        pytest.param(
            [xid(32, "Channel ID 0000000d", pid=1), pcie(-5)],
            "UNVERIFIED",
            id="a bad stream beside PCIe errors of its GPU",
        ),
        pytest.param(
            [xid(32, "Channel ID 0000000d", pid=1), pcie(-5, GPU2)],
            "LEAVE ALONE",
            id="a bad stream beside PCIe errors of another GPU",
        ),
        pytest.param([xid(43, "Ch 00000020")], "LEAVE ALONE", id="a stopped channel"),
        pytest.param([xid(45, "Ch 00000001")], "MONITOR", id="a lone 45 on one node"),
        pytest.param([xid(109, "CTX SWITCH TIMEOUT")], "REBOOT", id="a context switch timeout"),
        pytest.param(
            [xid(109, "CTX", -days(1)), reboot(-3600), xid(109, "CTX SWITCH TIMEOUT")],
            "REPLACE",
            id="a context switch timeout again after a reboot",
        ),
        *(
            pytest.param([xid(code, "news")], "LEAVE ALONE", id=f"a lone {code}")
            for code in (11, 25, 69, 80)
        ),
    ],
)
def test_a_process_decides(records: list[AnyRecord], verdict: str) -> None:
    assert judged(*records).verdict.value == verdict


@pytest.mark.parametrize(
    ("code", "fault_class"), [(13, "application"), (31, "application"), (43, "application")]
)
def test_its_class_is_application(code: int, fault_class: str) -> None:
    assert judged(xid(code, WARP, pid=1)).fault_class == fault_class


def test_a_109_after_a_fault_of_the_same_process_is_of_class_application() -> None:
    found = judged(xid(31, FAULT, -50, pid=7, pci=GPU2), xid(109, "CTX SWITCH TIMEOUT", pid=7))
    assert (found.verdict, found.fault_class) == ("REBOOT", "application")


@pytest.mark.parametrize(
    ("seconds", "pid"), [(-61, 7), (-50, 8)], ids=["too long before", "another process"]
)
def test_a_109_after_an_unrelated_fault_is_of_class_hardware(seconds: float, pid: int) -> None:
    found = judged(
        xid(31, FAULT, seconds, pid=pid, pci=GPU2), xid(109, "CTX SWITCH TIMEOUT", pid=7)
    )
    assert (found.verdict, found.fault_class) == ("REBOOT", "hardware")


def test_two_jobs_are_two_runs_even_of_one_process_id() -> None:
    jobs = (("8841", at(-7200), at(-1800)), ("8842", at(-1800), at(60)))
    found = judged(xid(31, FAULT, -3600, pid=1), xid(31, FAULT, pid=1), node={"jobs": jobs})
    assert found.verdict == "UNVERIFIED"


def test_one_job_is_one_run_even_of_two_processes() -> None:
    jobs = (("8841", START, at(60)),)
    found = judged(xid(31, FAULT, -3600, pid=1), xid(31, FAULT, pid=2), node={"jobs": jobs})
    assert found.verdict == "LEAVE ALONE"


def test_an_unverified_31_names_the_check_that_settles_it() -> None:
    found = judged(xid(31, FAULT, -3600, pid=1), xid(31, FAULT, pid=2))
    assert found.open_check == "DCGM EUD on this GPU, then NVIDIA's field diagnostics"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        pytest.param(NodeFacts(nvidia_smi_answers=False), "REBOOT", id="nvidia-smi hangs"),
        pytest.param(NodeFacts(gpus_seen=0), "REBOOT", id="no GPU answers"),
        pytest.param(NodeFacts(gpus_seen=8), "LEAVE ALONE", id="all GPUs answer"),
        pytest.param(NodeFacts(), "LEAVE ALONE", id="nobody looked"),
    ],
)
def test_an_unrecognised_client_with_gpus_that_stop_answering_needs_a_reboot(
    facts: NodeFacts, verdict: str
) -> None:
    found = judged(xid(31, UNKNOWN_CLIENT, pid=1), facts=facts)
    assert (found.verdict.value, found.fault_class) == (verdict, "application")


def test_replays_that_nvidia_smi_counted_are_pcie_evidence() -> None:
    facts = NodeFacts(gpus=(gpu(pcie_replays=12),))
    assert judged(xid(32, "Channel ID 1", pid=1), facts=facts).verdict == "UNVERIFIED"


def test_45s_on_several_nodes_at_once_are_a_teardown() -> None:
    found = verdicts(
        node_of(xid(45, "Ch 1")),
        node_of(xid(45, "Ch 1", 119), node=OTHER),
    )
    assert found == {NODE: "LEAVE ALONE", OTHER: "LEAVE ALONE"}


def test_45s_more_than_two_minutes_apart_are_none() -> None:
    found = verdicts(
        node_of(xid(45, "Ch 1")),
        node_of(xid(45, "Ch 1", 121), node=OTHER),
    )
    assert found == {NODE: "MONITOR", OTHER: "MONITOR"}


@pytest.mark.parametrize(
    ("extra", "verdict"),
    [
        pytest.param([], "LEAVE ALONE", id="nothing before"),
        pytest.param(
            [xid(79, "GPU has fallen off the bus", -4000, pci=GPU3)],
            "REBOOT",
            id="a lost GPU before on one of them",
        ),
    ],
)
def test_application_codes_on_three_nodes_at_once_are_the_jobs_own(
    extra: list[AnyRecord], verdict: str
) -> None:
    found = verdicts(
        node_of(xid(31, FAULT, pid=1), *extra),
        node_of(xid(13, WARP, 60, pid=1), node=OTHER),
        node_of(xid(80, "CRC", 110, pid=1), node=THIRD),
    )
    assert found == {NODE: verdict, OTHER: "LEAVE ALONE", THIRD: "LEAVE ALONE"}


def test_half_of_the_jobs_nodes_are_enough() -> None:
    old: list[AnyRecord] = [xid(80, "CRC", -days(1)), reboot(-3600)]
    found = verdicts(
        node_of(*old, xid(80, "CRC", pid=1)), node_of(xid(80, "CRC", 5, pid=1), node=OTHER)
    )
    assert found == {NODE: "LEAVE ALONE", OTHER: "LEAVE ALONE"}


def test_a_lone_80_that_comes_back_is_unverified() -> None:
    assert judged(xid(80, "CRC", -days(1)), reboot(-3600), xid(80, "CRC")).verdict == "UNVERIFIED"

"""What people and nvidia-smi read on a node (verdict-rules §11)."""

from typing import Any

import pytest
from node_world import (
    FAILURE,
    GPU,
    GPU2,
    NODE,
    at,
    boundary,
    condition,
    covered,
    days,
    gpu,
    judged,
    next_line,
    reboot,
    xid,
)

from gpuvet.model.cluster import Flag, GpuFacts, NodeFacts, Orchestrator
from gpuvet.model.coverage import Gate
from gpuvet.model.events import (
    AnyRecord,
    BoundaryKind,
    FabricManagerLine,
    FabricState,
    GpuPresence,
    InforomCorrupted,
    TimeQuality,
)

NOTHING: dict[str, object] = {}
HYPERPOD, EC2 = Orchestrator.HYPERPOD_EKS, Orchestrator.EC2


def manager(state: FabricState, seconds: float = 0, **more: object) -> FabricManagerLine:
    return FabricManagerLine.model_validate(
        {
            "node": NODE,
            "stream": "messages",
            "line": next_line(),
            "raw": f"nv-fabricmanager: {state}",
            "at": at(seconds),
            "time_quality": TimeQuality.EXACT,
            "state": state,
            **more,
        }
    )


def inforom(seconds: float, pci: str = GPU) -> InforomCorrupted:
    return InforomCorrupted(
        node=NODE,
        stream="agent",
        line=next_line(),
        raw=f"WARNING: infoROM is corrupted at gpu {pci}.0",
        at=at(seconds),
        time_quality=TimeQuality.EXACT,
        pci=pci,
    )


def presence(seen: int, seconds: float) -> GpuPresence:
    return GpuPresence(
        node=NODE,
        stream="agent",
        line=next_line(),
        raw=f"{seen} GPUs",
        at=at(seconds),
        time_quality=TimeQuality.EXACT,
        seen=seen,
    )


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        pytest.param(gpu(remap_failed=Flag.YES), "REPLACE", id="a remap that failed"),
        pytest.param(gpu(unrepairable_memory=Flag.YES), "REPLACE", id="memory beyond repair"),
        pytest.param(
            gpu(sram_threshold_exceeded=Flag.YES), "REPLACE", id="SRAM over its threshold"
        ),
        pytest.param(gpu(remap_pending=Flag.YES), "REBOOT", id="a pending remap"),
        pytest.param(gpu(channel_repair_pending=Flag.YES), "REBOOT", id="a pending channel repair"),
        pytest.param(gpu(tpc_repair_pending=Flag.YES), "REBOOT", id="a pending TPC repair"),
        pytest.param(gpu(banks_low=2), "MONITOR", id="banks with few spare rows"),
        pytest.param(gpu(banks_low=0), "LEAVE ALONE", id="banks with enough"),
        pytest.param(gpu(remap_pending=Flag.NO), "LEAVE ALONE", id="nothing pending"),
        pytest.param(
            gpu(fabric_state="Completed", fabric_status="Success"), "LEAVE ALONE", id="fabric up"
        ),
        pytest.param(gpu(fabric_state="In Progress"), "REBOOT", id="fabric still in progress"),
        pytest.param(
            gpu(fabric_state="Completed", fabric_status="Error"), "REBOOT", id="fabric failed"
        ),
        pytest.param(gpu(fabric_state="N/A"), "LEAVE ALONE", id="no fabric to speak of"),
    ],
)
def test_a_gpu_fact_decides_without_any_xid(facts: GpuFacts, verdict: str) -> None:
    assert judged(facts=NodeFacts(gpus=(facts,))).verdict.value == verdict


def test_fabric_facts_say_nothing_on_a_type_without_nvswitch() -> None:
    facts = NodeFacts(gpus=(gpu(fabric_state="In Progress"),))
    assert judged(facts=facts, instance_type="g6e.48xlarge").verdict == "LEAVE ALONE"


@pytest.mark.parametrize(
    ("minutes", "verdict"), [(9, "UNVERIFIED"), (11, "REBOOT")], ids=["just booted", "later"]
)
def test_a_fabric_in_progress_may_take_ten_minutes_after_a_boot(minutes: int, verdict: str) -> None:
    facts = NodeFacts(gpus=(gpu(fabric_state="In Progress", read_at=at(minutes * 60)),))
    assert judged(reboot(0), facts=facts).verdict.value == verdict


@pytest.mark.parametrize(
    ("gpus", "verdict"),
    [
        pytest.param(
            [gpu(links_active=0, links_inactive=18), gpu(GPU2, links_active=18)],
            "REBOOT",
            id="one GPU has none",
        ),
        pytest.param(
            [gpu(links_active=16, links_inactive=2), gpu(GPU2, links_active=18)],
            "REBOOT",
            id="one GPU has fewer",
        ),
        pytest.param(
            [gpu(links_active=0, links_inactive=18), gpu(GPU2, links_active=0, links_inactive=18)],
            "LEAVE ALONE",
            id="no GPU has any",
        ),
    ],
)
def test_inactive_links_count_beside_live_ones(gpus: list[GpuFacts], verdict: str) -> None:
    assert judged(facts=NodeFacts(gpus=tuple(gpus))).verdict.value == verdict


@pytest.mark.parametrize(
    ("records", "facts", "orchestrator", "verdict"),
    [
        pytest.param([], {"gpus_seen": 7}, EC2, "REPLACE", id="fewer on EC2"),
        pytest.param([], {"gpus_seen": 7}, HYPERPOD, "REBOOT", id="fewer on HyperPod"),
        pytest.param([], {"gpus_seen": 8}, EC2, "LEAVE ALONE", id="all of them"),
        pytest.param([], {"gpus_seen": None}, EC2, "LEAVE ALONE", id="not counted"),
        pytest.param([], {"gpus_seen": 9}, EC2, "LEAVE ALONE", id="too many is no loss"),
        pytest.param(
            [], {"gpus_seen": 7, "gpus_seen_stale": True}, EC2, "LEAVE ALONE", id="a stale metric"
        ),
        *(
            pytest.param(
                [xid(code, "x")], {"gpus_seen": 7}, EC2, "REBOOT", id=f"fewer beside a {code}"
            )
            for code in (79, 143)
        ),
        pytest.param(
            [xid(79, "x", -days(1)), reboot(-3600)],
            *({"gpus_seen": 7, "gpus_seen_at": at(0)}, EC2, "REPLACE"),
            id="still fewer after the reboot",
        ),
        pytest.param(
            [xid(79, "x", -days(1)), reboot(-3600)],
            *({"gpus_seen": 7, "gpus_seen_at": at(-7200)}, EC2, "MONITOR"),
            id="fewer before the reboot that helped",
        ),
        pytest.param(
            [xid(79, "x", -days(1)), reboot(-3600)],
            *({"gpus_seen": 7}, EC2, "UNVERIFIED"),
            id="fewer, read nobody knows when",
        ),
        pytest.param(
            [presence(7, -7200), reboot(-3600), presence(7, 0)],
            *(NOTHING, HYPERPOD, "REPLACE"),
            id="fewer before and after a reboot",
        ),
        pytest.param(
            [presence(7, 0), presence(8, 60)], {}, EC2, "LEAVE ALONE", id="the later count wins"
        ),
        pytest.param(
            [presence(8, 0), presence(7, 60)], {}, EC2, "REPLACE", id="also where it is the lower"
        ),
    ],
)
def test_a_low_count_of_gpus(
    records: list[AnyRecord], facts: dict[str, object], orchestrator: Orchestrator, verdict: str
) -> None:
    found = judged(
        *records,
        facts=NodeFacts.model_validate(facts),
        orchestrator=orchestrator,
        instance_type="p6-b200.48xlarge",
    )
    assert found.verdict.value == verdict


def test_a_list_of_all_gpus_after_a_low_count_is_trusted_and_told() -> None:
    listed = tuple(gpu(f"0000:{n:02x}:00", read_at=at(120)) for n in range(8))
    found = judged(facts=NodeFacts(gpus_seen=7, gpus_seen_at=at(0), gpus=listed))
    assert found.verdict == "LEAVE ALONE"
    told = (
        "GPU counts differ: 7 by gpu count (2026-03-02T11:59:30Z), "
        "8 by nvidia-smi (2026-03-02T12:01:30Z); the later reading is trusted"
    )
    assert found.contradictions == (told,)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"gpus_seen": 9}, "9 GPUs seen, 8 expected: ignored"),
        ({"gpus_seen": 7, "gpus_seen_stale": True}, "7 of 8 GPUs from a stale metric: ignored"),
    ],
    ids=["too many", "stale"],
)
def test_a_count_that_cannot_be_right_is_a_contradiction(
    facts: dict[str, object], told: str
) -> None:
    assert judged(facts=NodeFacts.model_validate(facts)).contradictions == (told,)


@pytest.mark.parametrize(
    ("records", "verdict", "fault_class"),
    [
        pytest.param(
            [manager(FabricState.VERSION_MISMATCH)], "LEAVE ALONE", "driver_config", id="refused"
        ),
        pytest.param(
            [manager(FabricState.VERSION_MISMATCH), manager(FabricState.FAILED, 1)],
            *("LEAVE ALONE", "driver_config"),
            id="refused, and so down",
        ),
        pytest.param(
            [manager(FabricState.VERSION_MISMATCH), manager(FabricState.STARTED, 60)],
            *("LEAVE ALONE", "none"),
            id="refused, then started",
        ),
        pytest.param([manager(FabricState.FAILED)], "REBOOT", "software_link", id="down"),
        pytest.param(
            [manager(FabricState.FAILED), manager(FabricState.STARTED, 60)],
            *("LEAVE ALONE", "none"),
            id="down, then started",
        ),
        pytest.param(
            [manager(FabricState.NO_SWITCH)], "LEAVE ALONE", "none", id="no switch to manage"
        ),
    ],
)
def test_fabric_managers_last_word_decides(
    records: list[AnyRecord], verdict: str, fault_class: str
) -> None:
    found = judged(*records)
    assert (found.verdict.value, found.fault_class) == (verdict, fault_class)


def test_a_refused_version_explains_a_fabric_that_is_not_up() -> None:
    facts = NodeFacts(gpus=(gpu(fabric_state="In Progress"),))
    assert judged(manager(FabricState.VERSION_MISMATCH), facts=facts).verdict == "LEAVE ALONE"


def test_fabric_manager_lines_of_two_streams_at_one_time_do_not_clash() -> None:
    same: dict[str, Any] = {"at": at(0), "line": 7}
    records = [
        manager(FabricState.FAILED, stream="messages", **same),
        manager(FabricState.FAILED, stream="journal", **same),
    ]
    assert judged(*records).verdict == "REBOOT"


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        pytest.param([inforom(0)], "REBOOT", id="once"),
        pytest.param([inforom(-60), inforom(0)], "REBOOT", id="twice in one boot"),
        pytest.param(
            [inforom(-days(1)), reboot(-3600), inforom(0)], "REPLACE", id="after a reboot"
        ),
        pytest.param(
            [inforom(-days(1)), reboot(-3600), inforom(0, GPU2)], "REBOOT", id="another GPU"
        ),
        pytest.param(
            [inforom(-days(1)), boundary(BoundaryKind.STOP_START, -3600), inforom(0)],
            "REBOOT",
            id="other hardware",
        ),
    ],
)
def test_a_corrupted_inforom_is_cured_by_one_reboot_at_most(
    records: list[AnyRecord], verdict: str
) -> None:
    assert judged(*records).verdict.value == verdict


def test_a_dcgm_error_is_no_evidence_of_a_gpu() -> None:
    found = judged(condition("DCGMError", -days(8)))
    assert (found.verdict, found.fault_class) == ("LEAVE ALONE", "none")
    assert any("monitoring software, no GPU evidence" in note for note in found.notes)


def test_a_dcgm_error_makes_no_hole_milder() -> None:
    hole = FAILURE.replace(minute=0) - (FAILURE - FAILURE.replace(hour=3))
    coverage = covered(Gate.PARTIAL, empty=[hole])
    found = judged(condition("DCGMError", -days(8)), coverage=coverage)
    assert found.verdict == "NOT OBSERVABLE"

"""Uncorrectable memory errors: which memory, and what that calls for (verdict-rules §6, §7)."""

import pytest
from node_world import GPU, GPU2, at, days, gpu, judged, reboot, xid

from gpuvet.model.cluster import Flag, NodeFacts
from gpuvet.model.events import AnyRecord
from gpuvet.model.verdict import NodeVerdict

DRAM = "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer."
SRAM = "An uncorrectable double bit error (DBE) has been detected on GPU in L2 cache."
CHANNEL = "channel 0x00000002"
ROW = "Row Remapper: New row (0x18f31d80) marked for remapping, reset gpu to activate."
FULL = "Row Remapper Error: (0x18f31d80) - Row Remapping table is full"
PENDING = (
    "Row Remapper: (0x18f31d80) - Attempting to remap a row that is already pending remapping. "
    "Remapping will occur when the GPU is reset"
)
EXCEEDED = gpu(sram_threshold_exceeded=Flag.YES)
NOT_EXCEEDED = gpu(sram_threshold_exceeded=Flag.NO)
NO_EARLIER = NodeFacts(earlier_same_gpu_events=0)


def facts(*gpus: object, **more: object) -> NodeFacts:
    return NodeFacts.model_validate({"gpus": gpus, **more})


@pytest.mark.parametrize(
    ("records", "read", "verdict", "least"),
    [
        pytest.param([xid(48, DRAM)], facts(), "REBOOT", "REBOOT", id="named in the text as DRAM"),
        pytest.param(
            [xid(48, CHANNEL), xid(171, "GDDR, Uncorrectable DRAM error", 5)],
            *(facts(), "REBOOT", "REBOOT"),
            id="a 171 beside it says DRAM",
        ),
        pytest.param(
            [xid(48, CHANNEL), xid(63, ROW, 5)],
            *(facts(), "REBOOT", "REBOOT"),
            id="a row marked beside it says DRAM",
        ),
        pytest.param(
            [xid(48, CHANNEL), xid(63, ROW, 61)],
            *(facts(), "UNVERIFIED", "REBOOT"),
            id="a row marked more than 60 s away says nothing",
        ),
        pytest.param(
            [xid(48, CHANNEL), xid(171, "DRAM", 5, pci=GPU2)],
            *(facts(), "UNVERIFIED", "REBOOT"),
            id="another GPU's 171 says nothing of this one",
        ),
        pytest.param(
            [xid(48, DRAM), xid(64, FULL, 1)],
            *(facts(), "REPLACE", "REPLACE"),
            id="DRAM with a final 64 is replaced",
        ),
        pytest.param(
            [xid(48, DRAM), xid(64, PENDING, 1)],
            *(facts(), "REBOOT", "REBOOT"),
            id="DRAM with a pending 64 is rebooted",
        ),
        pytest.param(
            [xid(48, DRAM)],
            *(facts(gpu(remap_failed=Flag.YES)), "REPLACE", "REPLACE"),
            id="DRAM with a failed remap is replaced",
        ),
        pytest.param(
            [xid(48, DRAM)],
            *(facts(gpu(unrepairable_memory=Flag.YES)), "REPLACE", "REPLACE"),
            id="DRAM that is unrepairable is replaced",
        ),
        pytest.param(
            [xid(48, DRAM, -days(1)), reboot(-3600), xid(48, DRAM + " elsewhere")],
            *(facts(), "REPLACE", "REPLACE"),
            id="DRAM again after a reboot is replaced, at whatever address",
        ),
        pytest.param(
            [xid(171, "GDDR, DRAM", -days(1)), reboot(-3600), xid(48, DRAM)],
            *(facts(), "REPLACE", "REPLACE"),
            id="a 171 before the reboot is of the same family",
        ),
        pytest.param(
            [xid(63, ROW, -days(1)), reboot(-3600), xid(48, DRAM)],
            *(facts(), "REBOOT", "REBOOT"),
            id="a lone 63 before the reboot is not",
        ),
        pytest.param(
            [xid(48, SRAM, -days(1)), reboot(-3600), xid(48, DRAM)],
            *(facts(NOT_EXCEEDED), "REBOOT", "REBOOT"),
            id="an SRAM error before the reboot is not",
        ),
        pytest.param(
            [xid(48, SRAM)], facts(EXCEEDED), "REPLACE", "REPLACE", id="SRAM over its threshold"
        ),
        pytest.param(
            [xid(48, SRAM)], facts(NOT_EXCEEDED), "REBOOT", "REBOOT", id="SRAM under its threshold"
        ),
        pytest.param(
            [xid(48, CHANNEL), xid(172, "GSP-RISCV, Uncorrectable SRAM error", 1)],
            *(facts(NOT_EXCEEDED), "REBOOT", "REBOOT"),
            id="a 172 beside it says SRAM",
        ),
        pytest.param(
            [xid(48, SRAM, -days(1)), reboot(-3600), xid(48, SRAM)],
            *(facts(NOT_EXCEEDED), "REPLACE", "REPLACE"),
            id="SRAM again after a reboot is replaced",
        ),
        pytest.param(
            [xid(48, SRAM, -days(1)), reboot(-3600), xid(48, SRAM)],
            *(facts(), "REPLACE", "REPLACE"),
            id="SRAM again after a reboot is replaced whatever the flag would say",
        ),
        pytest.param(
            [xid(48, SRAM)], facts(), "UNVERIFIED", "REBOOT", id="SRAM with its flag not read"
        ),
        pytest.param(
            [xid(48, SRAM)],
            *(facts(gpu(sram_threshold_exceeded=Flag.NOT_READ)), "UNVERIFIED", "REBOOT"),
            id="N/A is not No",
        ),
        pytest.param(
            [xid(48, CHANNEL)], facts(), "UNVERIFIED", "REBOOT", id="memory that nothing names"
        ),
        pytest.param(
            [xid(48, CHANNEL), xid(171, "DRAM", 1), xid(172, "SRAM", 2)],
            *(facts(), "UNVERIFIED", "REBOOT"),
            id="both named: the stronger question, SRAM with its flag not read",
        ),
        pytest.param(
            [xid(48, CHANNEL), xid(171, "DRAM", 1), xid(172, "SRAM", 2)],
            *(facts(NOT_EXCEEDED), "REBOOT", "REBOOT"),
            id="both named and the flag is No: a reboot",
        ),
        pytest.param(
            [xid(171, "GDDR, Uncorrectable DRAM error in FBPA 3")],
            *(facts(), "REBOOT", "REBOOT"),
            id="a 171 whose 48 is lost stands for a 48 in DRAM",
        ),
        pytest.param(
            [xid(172, "GSP-RISCV, Uncorrectable SRAM error")],
            *(facts(), "UNVERIFIED", "REBOOT"),
            id="a 172 whose 48 is lost stands for a 48 in SRAM",
        ),
        pytest.param(
            [xid(140, "An uncorrectable ECC error detected DRAM:1, LTC:0, MMU:0, PCIE:0")],
            *(facts(), "REBOOT", "REBOOT"),
            id="a 140 with a DRAM count splits as a 48",
        ),
        pytest.param(
            [xid(140, "An uncorrectable ECC error detected DRAM:0, LTC:2, MMU:0, PCIE:0")],
            *(facts(), "UNVERIFIED", "REBOOT"),
            id="a 140 with an LTC count is SRAM",
        ),
        pytest.param(
            [xid(63, ROW)], facts(), "MONITOR", "MONITOR", id="a lone 63 is a staged repair"
        ),
        pytest.param(
            [xid(63, ROW)],
            *(facts(gpu(remap_pending=Flag.YES)), "REBOOT", "REBOOT"),
            id="a 63 with a pending remap",
        ),
        pytest.param(
            [xid(63, ROW, -days(1)), reboot(-3600), xid(63, ROW)],
            *(facts(), "UNVERIFIED", "MONITOR"),
            id="a 63 again after a reboot is a trend to look at",
        ),
        pytest.param([xid(64, FULL)], facts(), "REPLACE", "REPLACE", id="a final 64"),
        pytest.param(
            [xid(64, "DRAM Retirement failed due to HW limit reached at 0x1")],
            *(facts(), "REPLACE", "REPLACE"),
            id="a 64 with any other reason is final",
        ),
        pytest.param([xid(64, PENDING)], facts(), "REBOOT", "REBOOT", id="a pending 64"),
        *(
            pytest.param(
                [xid(64, f"DRAM Retirement failed due to {why} at 0x1")],
                *(facts(), "REBOOT", "REBOOT"),
                id=f"a 64 because of a {why}",
            )
            for why in ("pending row remap", "pending bank remap", "pending LTS swap")
        ),
        pytest.param(
            [xid(64, PENDING)],
            *(facts(gpu(remap_failed=Flag.YES)), "REPLACE", "REPLACE"),
            id="a pending 64 whose remap failed all the same",
        ),
        pytest.param(
            [xid(64, PENDING, -days(1)), reboot(-3600), xid(64, PENDING)],
            *(facts(), "REPLACE", "REPLACE"),
            id="a pending 64 that the reboot did not clear",
        ),
        pytest.param(
            [xid(94, "Contained: SM (0x1). RST: No, D-RST: No")],
            *(facts(), "MONITOR", "MONITOR"),
            id="a contained error",
        ),
        pytest.param(
            [xid(94, "Contained: SM (0x1). RST: Yes, D-RST: No")],
            *(facts(), "REBOOT", "REBOOT"),
            id="a contained error that asks for a reset",
        ),
        pytest.param(
            [xid(94, "Contained: SM (0x1). RST: No, D-RST: Yes")],
            *(facts(), "REBOOT", "REBOOT"),
            id="a contained error that asks for a drain and reset",
        ),
        pytest.param(
            [xid(94, "Contained", -days(1)), reboot(-3600), xid(94, "Contained: SM. RST: No")],
            *(facts(), "MONITOR", "MONITOR"),
            id="a contained error never escalates by repetition",
        ),
        pytest.param(
            [xid(95, "Uncontained: LTC TAG")], facts(), "REBOOT", "REBOOT", id="an uncontained one"
        ),
        pytest.param(
            [xid(95, "Uncontained", -days(1)), reboot(-3600), xid(95, "Uncontained")],
            *(facts(), "REPLACE", "REPLACE"),
            id="an uncontained one again after a reboot",
        ),
    ],
)
def test_memory_decides(
    records: list[AnyRecord], read: NodeFacts, verdict: str, least: str
) -> None:
    found = judged(*records, facts=read)
    assert (found.verdict.value, found.minimum_action) == (verdict, least)


def judged_first(*records: AnyRecord, read: NodeFacts = NO_EARLIER) -> NodeVerdict:
    return judged(*records, facts=read)


def test_both_memories_named_are_a_contradiction() -> None:
    found = judged_first(xid(48, CHANNEL), xid(171, "DRAM", 1), xid(172, "SRAM", 2))
    assert found.contradictions == (
        f"Xid 48 on {GPU}: lines name both DRAM and SRAM; the stronger verdict is taken",
    )


def test_nothing_staged_is_a_contradiction_and_still_a_reboot() -> None:
    read = facts(gpu(remap_pending=Flag.NO), earlier_same_gpu_events=0)
    found = judged_first(xid(48, DRAM), read=read)
    assert found.verdict == "REBOOT"
    assert "nothing was staged" in found.contradictions[0]


def test_no_failure_read_after_a_final_64_leaves_the_replacement_provisional() -> None:
    found = judged_first(xid(64, FULL), read=facts(gpu(remap_failed=Flag.NO, read_at=at(60))))
    assert (found.verdict, found.confidence) == ("REPLACE", "provisional")
    assert "the line stands" in found.contradictions[0]


def test_no_failure_read_before_a_final_64_contradicts_nothing() -> None:
    found = judged_first(xid(64, FULL), read=facts(gpu(remap_failed=Flag.NO, read_at=at(-60))))
    assert (found.verdict, found.confidence, found.contradictions) == ("REPLACE", "proven", ())


def test_channel_lines_of_a_48_are_no_second_finding() -> None:
    found = judged_first(xid(48, DRAM), xid(48, CHANNEL, 1), xid(48, CHANNEL, 2))
    assert [g.what for g in found.grounds] == ["Xid 48, one fault in 3 lines: DRAM"]


def test_an_open_question_about_the_memory_outranks_a_reboot() -> None:
    found = judged_first(xid(48, SRAM), xid(79, "GPU has fallen off the bus", 20, pci=GPU2))
    assert (found.verdict, found.minimum_action) == ("UNVERIFIED", "REBOOT")
    assert found.open_check is not None
    assert "SRAM Threshold Exceeded" in found.open_check


def test_a_48_of_an_old_driver_says_that_missing_171_means_nothing() -> None:
    found = judged(xid(48, CHANNEL), node={"driver_version": "535.183.01"})
    assert "driver 535.183.01 is older than R565: a missing 171 or 172 says nothing" in found.notes


def test_poison_of_another_gpu_keeps_a_contained_error_at_monitor() -> None:
    found = judged_first(
        xid(48, DRAM, -10, pci=GPU2), xid(94, "Contained: SM (0x1). RST: Yes, D-RST: No")
    )
    assert found.grounds[0].pci == GPU2
    assert any("Xid 94" in n and "MONITOR" in n for n in found.notes)


def test_a_63_never_names_a_cause_alone() -> None:
    assert judged_first(xid(63, ROW)).cause is None

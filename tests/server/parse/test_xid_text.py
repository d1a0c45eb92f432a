"""What the text of every code says."""

import pytest

from gpuvet.parse import xid_text as x
from gpuvet.parse.xid_text import Memory, RowRemap, Severity


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        pytest.param(
            "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer "
            "at physAddr 0x18f31d80 partition 16, subpartition 3.",
            Memory.DRAM,
            id="framebuffer",
        ),
        pytest.param("Double Bit ECC Error in FBPA 4 subpartition 1", Memory.DRAM, id="FBPA"),
        pytest.param("HBM, Uncorrectable DRAM error in FBPA 4", Memory.DRAM, id="171"),
        pytest.param("GSP-RISCV uncorrectable ECC error", Memory.SRAM, id="GSP"),
        pytest.param("… detected on GPU in the SM L1 cache.", Memory.SRAM, id="SM"),
        pytest.param("… in the SM L1 cache and the framebuffer", Memory.BOTH, id="both"),
        pytest.param("channel 0x00000002", Memory.UNKNOWN, id="a channel has no place"),
        pytest.param("Ch 00000076", Memory.UNKNOWN, id="nor has this"),
    ],
)
def test_a_48_names_its_memory(text: str, memory: Memory) -> None:
    assert x.memory(text) is memory


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("GSP-RISCV, Uncorrectable SRAM error", "GSP-RISCV"),
        ("SM, Uncorrectable SRAM error", "SM"),
        ("GDDR, Uncorrectable DRAM error in FBPA 3 subpartition 0 physAddr 0xe9b0107e0", "GDDR"),
        ("Uncorrectable SRAM error", None),
    ],
)
def test_a_171_or_172_names_its_unit(text: str, unit: str | None) -> None:
    assert x.ecc_unit(text) == unit


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        (
            "Row Remapper: New row (0x0000000018f31d80) marked for remapping, reset gpu.",
            RowRemap.ROW,
            "0x0000000018f31d80",
        ),
        ("Row Remapper: New row marked for remapping, reset gpu to activate.", RowRemap.ROW, None),
        (
            "Dynamic Page Retirement: New retired page, reload the driver to activate. (0x1A2b)",
            RowRemap.PAGE,
            "0x1a2b",
        ),
        ("something new", RowRemap.OTHER, None),
    ],
)
def test_a_63_says_what_it_staged(text: str, kind: RowRemap, address: str | None) -> None:
    assert (x.row_remap(text), x.address(text)) == (kind, address)


@pytest.mark.parametrize(
    ("text", "pending"),
    [
        ("Row Remapper Error: (0x01) - Row Remapping table is full", False),
        ("Row Remapper Error: (0x01) - All reserved rows for bank are remapped", False),
        ("Row Remapper Error: (0x01) - Attempting to remap a reserved row", False),
        (
            (
                "Row Remapper: (0x01) - Attempting to remap a row that is already pending "
                "remapping. Remapping will occur when the GPU is reset"
            ),
            True,
        ),
        ("DRAM Retirement failed due to pending row remap at 0x01", True),
        ("DRAM Retirement failed due to pending bank remap at 0x01", True),
        ("DRAM Retirement failed due to pending LTS swap at 0x01", True),
        ("DRAM Retirement failed due to no spare for retirement at 0x01", False),
        ("", None),
        ("Row Remapper Error: (0x01)", None),
        ("Row Remapper: (0x01) - Attempting to remap a row that is alre", None),
        ("DRAM Retirement failed due to pending", None),
    ],
)
def test_a_64_is_final_unless_it_repeats_what_is_pending(text: str, pending: bool | None) -> None:
    assert x.is_pending_remap(text) is pending


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Contained: SM (0x1). RST: No, D-RST: No",
            x.Containment(contained=True, unit="SM", reset=False, drain_and_reset=False),
        ),
        (
            "Contained: CE User Channel (0x9). RST: No, D-RST: Yes",
            x.Containment(
                contained=True, unit="CE User Channel", reset=False, drain_and_reset=True
            ),
        ),
        (
            "Uncontained: LTC TAG (0x2,0x1). RST: Yes, D-RST: No",
            x.Containment(contained=False, unit="LTC TAG", reset=True, drain_and_reset=False),
        ),
        (
            "Contained: DRAM (0x1) physAddr: 0x1a2b. RST: No",
            x.Containment(contained=True, unit="DRAM", reset=False),
        ),
        ("GSP-RISCV instance 0 fatal error", x.Containment(contained=False, unit="GSP-RISCV")),
        ("Contained: SM (0x1). RS", x.Containment(contained=True, unit="SM")),
        ("Ch 00000009", None),
    ],
)
def test_a_94_or_95_says_what_was_hit_and_which_reset_it_asks_for(
    text: str, expected: x.Containment | None
) -> None:
    assert x.containment(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
            x.LinkFault(link=14, registers=(0, 0, 0x10000, 0, 0, 0, 0)),
        ),
        ("NVLink: fatal error detected on link 6", x.LinkFault(link=6)),
        ("NVLink: fatal error detected on link 6(0x0, 0x1", x.LinkFault(link=6)),
        (
            "NVLink: failed to train link 3 to remote PCI:0000:00:02",
            x.LinkFault(link=3, failed_to_train=True, remote_pci="0000:00:02"),
        ),
        ("NVLink", None),
    ],
)
def test_a_74_names_its_link_and_registers(text: str, expected: x.LinkFault | None) -> None:
    assert x.link_fault(text) == expected


LINK_EVENT = x.NvLink5(
    units=("NETIR_LINK_EVT",),
    severity=Severity.FATAL,
    cross_contained=0,
    injected=0,
    link=8,
    intr_info=0x004505C6,
    error_status=0,
    rest=(0, 0, 0, 0),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000 "
                "0x00000000 0x00000000 0x00000000)"
            ),
            LINK_EVENT,
        ),
        (
            "TLW_RX/TLW_RX_PIPE0 Nonfatal XC1 i1 Link -1 (0x1 0x2 0x3 0x4)",
            x.NvLink5(
                units=("TLW_RX", "TLW_RX_PIPE0"),
                severity=Severity.NONFATAL,
                cross_contained=1,
                injected=1,
                link=-1,
                intr_info=1,
                error_status=2,
                rest=(3, 4),
            ),
        ),
        (
            "RLW_REMAP Link Fatal XC0 i0 Link 3 (0x1 0x2 0x3 0x4 0x5 0x6 0x7)",
            x.NvLink5(
                units=("RLW_REMAP",),
                severity=Severity.LINK_FATAL,
                cross_contained=0,
                injected=0,
                link=3,
                intr_info=1,
                error_status=2,
                rest=(3, 4, 5, 6, 7),
            ),
        ),
        ("NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x0000", None),
        ("NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6)", None),
        ("NETIR_LINK_EVT  Fatal", None),
    ],
)
def test_a_144_to_150_is_read_whole_or_not_at_all(text: str, expected: x.NvLink5 | None) -> None:
    assert x.nvlink5(text) == expected


def test_the_severity_of_a_cut_line_is_still_known() -> None:
    assert x.printed_severity("NETIR_LINK_EVT  Fatal   XC0 i0") is Severity.FATAL
    assert x.printed_severity("RLW_REMAP Nonfatal") is Severity.NONFATAL
    assert x.printed_severity("RLW_REMAP Link Fat") is None
    assert [severity.is_fatal for severity in Severity] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            x.RecoveryAction(
                before=0, after=1, before_text="None", after_text="GPU Reset Required"
            ),
        ),
        (
            "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (OS Reb",
            x.RecoveryAction(
                before=1, after=2, before_text="GPU Reset Required", after_text="OS Reb"
            ),
        ),
        ("GPU recovery action changed from 0x0 (None) to", None),
    ],
)
def test_a_154_gives_both_numbers(text: str, expected: x.RecoveryAction | None) -> None:
    assert x.recovery_action(text) == expected


def test_a_13_names_its_place() -> None:
    text = "Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address"
    assert x.shader_place(text) == x.ShaderPlace(gpc=1, tpc=3, sm=0)
    assert x.shader_place("Graphics Exception: ESR 0x50df30=0x107000e") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_6 faulted @ "
                "0x7f5a_e7504000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
            ),
            x.MmuFault(
                engine="GRAPHICS",
                client="GPCCLIENT_T1_6",
                address="0x7f5a_e7504000",
                fault="FAULT_PDE",
                access="ACCESS_TYPE_VIRT_READ",
            ),
        ),
        (
            "MMU Fault: ENGINE GRAPHICS GPC0 GPCCLIENT_T1_6 faulted @ 0x1",
            x.MmuFault(engine="GRAPHICS", client="GPC0 GPCCLIENT_T1_6", address="0x1"),
        ),
        (
            "MMU Fault: ENGINE CE0 UNRECOGNIZED_CLIENT faulted @ 0x1",
            x.MmuFault(engine="CE0", client="UNRECOGNIZED_CLIENT", address="0x1"),
        ),
        ("Ch 00000007, intr 00000000.", None),
    ],
)
def test_a_31_names_engine_client_and_fault(text: str, expected: x.MmuFault | None) -> None:
    assert x.mmu_fault(text) == expected
    if expected is not None:
        assert expected.is_unrecognized_client is ("UNRECOGNIZED" in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76 "
                "(GSP_RM_CONTROL) (0x20802a02 0x8)."
            ),
            x.GspTimeout(gpu_index=4, function=76, function_name="GSP_RM_CONTROL", seconds=6),
        ),
        ("Timeout waiting for RPC from GSP!", x.GspTimeout()),
    ],
)
def test_a_119_names_gpu_and_function(text: str, expected: x.GspTimeout) -> None:
    assert x.gsp_timeout(text) == expected


def test_a_140_carries_four_counts() -> None:
    text = (
        "An uncorrectable ECC error detected (possible firmware handling failure) "
        "DRAM:1, LTC:0, MMU:2, PCIE:0"
    )
    assert x.ecc_counts(text) == x.EccCounts(dram=1, ltc=0, mmu=2, pcie=0)
    assert x.ecc_counts("DRAM:1, LTC:") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Retiring TPC 3 from GPC 1 with a spare from the same GPC.",
            x.Repair(possible=True, place=x.ShaderPlace(gpc=1, tpc=3)),
            id="156",
        ),
        pytest.param(
            "Unable to retire TPC 3 from GPC 1 as there are no spare TPCs available.",
            x.Repair(possible=False, place=x.ShaderPlace(gpc=1, tpc=3)),
            id="157",
        ),
        pytest.param(
            "Unable to retire TPC 3 from GPC 1 in MIG mode.",
            x.Repair(possible=False, mig_mode=True, place=x.ShaderPlace(gpc=1, tpc=3)),
            id="157 with MIG",
        ),
        pytest.param(
            "Marking Channel 2 in FBPA 5 along with its pair for repair. Perform a reset to "
            "activate repair.",
            x.Repair(possible=True, to_activate=True, channel=2, fbpa=5),
            id="160",
        ),
        pytest.param(
            "Repairing Channel failed as there are no more spare channels.",
            x.Repair(possible=False),
            id="161",
        ),
        pytest.param(
            "Bank Remapper: New bank marked for remapping, reset gpu to activate.",
            x.Repair(possible=True, to_activate=True),
            id="177",
        ),
    ],
)
def test_a_repair_is_staged_or_impossible(text: str, expected: x.Repair) -> None:
    assert x.repair(text) == expected


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("Ch 00000020, engmask 00000101", 0x20),
        ("Channel ID 0000000d intr0 00040000", 0xD),
        ("channel 0x00000002", 2),
        ("Graphics Exception: ChID 000c, Class 0000cbc0, Offset 00000000", 0xC),
        ("GPU has fallen off the bus.", None),
    ],
)
def test_a_channel_is_read_in_every_spelling(text: str, channel: int | None) -> None:
    assert x.channel_id(text) == channel


@pytest.mark.parametrize(
    ("text", "link", "links"),
    [
        ("RLW_RXPIPE interrupt hit on link 11 on GPU0: PRIV Error", 11, (11,)),
        ("NVLink: Privilege error on link 7, remote MMU fault", 7, (7,)),
        ("NETIR_LINK_DOWN Fatal XC0 i0 Link -1 (0x1", -1, (-1,)),
        ("NVLink: Link training failed for link 4(0x0, 0x1)", 4, (4,)),
        ("NVLink: Link training failed for links 0x12(0x0, 0x1)", None, (1, 4)),
        ("GPU has fallen off the bus.", None, ()),
    ],
)
def test_a_link_is_named_singly_or_by_a_mask(
    text: str, link: int | None, links: tuple[int, ...]
) -> None:
    assert (x.link_number(text), x.link_numbers(text)) == (link, links)

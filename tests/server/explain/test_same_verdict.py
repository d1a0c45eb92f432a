"""One line explained and one line judged: the same verdict, except where the node adds something.

A look-up that says otherwise than `gpuvet verdict` would make people doubt both. So every kind of
line is explained by itself and judged as the only line of a node whose log was seen in full.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.verdict import judge_cluster
from gpuvet.catalog.kinds import NVLINK5_CODES
from gpuvet.catalog.nvlink5_table import nvlink_rows
from gpuvet.catalog.recovery_actions import recovery_actions
from gpuvet.catalog.sxids import sxids
from gpuvet.catalog.xid74 import MEANINGFUL_REGISTERS
from gpuvet.catalog.xids import xids
from gpuvet.explain.line import explain_line
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.evidence import Window
from gpuvet.model.verdict import Verdict
from gpuvet.parse.kernel_log import node_records, parse_lines

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
KERNEL = "2026-03-02T11:00:00+00:00 ip-10-0-0-7 kernel: "
DECIDED_BY_THE_NODE = (45, 154)  # see the last test


def judged(line: str) -> Verdict:
    """Return the verdict on a node that wrote this line and nothing else, seen in full."""
    parsed = parse_lines([line], node="n", stream="s", reference_time=NOW)
    coverage = NodeCoverage(node="n", status=CoverageStatus.MEASURED, gate=Gate.MEASURED)
    node = NodeEvidence(node="n", records=node_records(parsed.records), coverage=coverage)
    window = Window(start=NOW - timedelta(hours=24), end=NOW)
    return judge_cluster(ClusterEvidence(now=NOW, window=window, nodes=(node,)))[0].verdict


def xid(code: int, text: str) -> str:
    return f"{KERNEL}NVRM: Xid (PCI:0000:53:00): {code}, pid=2187734, name=python3, {text}"


def sxid(code: int, rest: str) -> str:
    return f"{KERNEL}nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): {code}, {rest}"


def every_code() -> Iterable[str]:
    return (xid(code, "news") for code in (*xids(), 178, 99999) if code not in DECIDED_BY_THE_NODE)


def every_code_with_each_word_that_decides_some() -> Iterable[str]:
    words = (
        "Contained: SM (0x1). RST: Yes, D-RST: No",
        "Contained: SM (0x1). RST: No, D-RST: Yes",
        "Uncontained: LTC TAG (0x2,0x0). RST: No, D-RST: No",
        "Row Remapper: (0x1) - Row is already pending remapping",
        "DBE has been detected on GPU in the framebuffer at physAddr 0x18f31d80",
        "DBE has been detected on GPU in L2 cache",
        "in the framebuffer and in L2 cache",
        "An uncorrectable ECC error detected DRAM:1, LTC:0, MMU:0, PCIE:0",
        "An uncorrectable ECC error detected DRAM:0, LTC:0, MMU:3, PCIE:0",
        "An uncorrectable ECC error detected DRAM:1, LTC:1, MMU:0, PCIE:0",
        "An uncorrectable ECC error detected DRAM:0, LTC:0, MMU:0, PCIE:0",
        "Marking Channel 2 in FBPA 5 for repair. Reset to activate repair.",
        "Unable to retire TPC 3 from GPC 1 while MIG mode is on",
        "MMU Fault: ENGINE HOST UNRECOGNIZED_CLIENT_5 faulted @ 0x7f_0.",
        "Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address",
        "NVLink: failed to train link 3 to remote PCI:0000:00:02",
        "Ch 00000001 caused by previous Xid 79",
    )
    codes = [code for code in xids() if code not in DECIDED_BY_THE_NODE]
    return (xid(code, text) for code in codes for text in words)


def every_bit_of_a_74() -> Iterable[str]:
    for number in MEANINGFUL_REGISTERS:
        for bit in range(32):
            held = ["0x0"] * 7
            held[number - 1] = f"{1 << bit:#x}"
            yield xid(74, f"NVLink: fatal error detected on link 14({', '.join(held)})")
    yield xid(74, "NVLink: fatal error detected on link 14(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)")
    yield xid(74, "NVLink: fatal error detected on link 14(0x2, 0x0, 0x0, 0x10000, 0x0, 0x0, 0x0)")
    yield xid(74, "NVLink: fatal error detected on link 14(0x1, 0x0")


def every_row_of_the_decode_sheet() -> Iterable[str]:
    for row in nvlink_rows():
        masks = (*row.masks, *row.action2_masks)
        for word in ("Fatal", "Nonfatal"):
            for mask in masks:
                for status in row.statuses or (0x0, 0x1):
                    held = f"({mask.value:#010x} {status:#010x} 0x0 0x0 0x0 0x0)"
                    yield xid(row.xid, f"{row.units[1]} {word} XC0 i0 Link 08 {held}")


def what_the_decode_sheet_cannot_read() -> Iterable[str]:
    for code in NVLINK5_CODES:
        yield xid(code, "NETIR_LINK_EVT Fatal XC0 i1 Link 08 (0x004505c6 0x0 0x0 0x0 0x0 0x0)")
        yield xid(code, "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x0045")
        yield xid(code, "NETIR_LINK_EVT Nonfatal XC0 i0 Link 08 (0x0045")
        yield xid(code, "UNHEARD_OF Fatal XC0 i0 Link 08 (0x004505c6 0x0 0x0 0x0 0x0 0x0)")
        yield xid(code, "UNHEARD_OF Nonfatal XC0 i0 Link 08 (0x004505c6 0x0 0x0 0x0 0x0 0x0)")


def every_sxid_with_each_word() -> Iterable[str]:
    return (
        sxid(code, f"{word}{link}LTSSM Fault Up")
        for code in (*sxids(), 99999)
        for word in ("Fatal, ", "Non-fatal, ", "")
        for link in ("Link 30 ", "")
    )


def every_recovery_action_that_raises_a_verdict() -> Iterable[str]:
    values = (*(v for v, action in recovery_actions().items() if action.verdict), 8, 9, 0xFF)
    return (
        xid(154, f"GPU recovery action changed from 0x0 (None) to {value:#x} (said so)")
        for value in values
    )


def what_a_program_wrote() -> Iterable[str]:
    return (
        f"Mar  2 11:00:00 ip-10-0-0-7 root: NVRM: Xid (PCI:0000:53:00): {code}, pid=1, name=x, y"
        for code in (31, 48, 64, 74, 79, 119, 140, 149)
    )


def name_of(lines: Callable[[], Iterable[str]]) -> str:
    return lines.__name__.replace("_", " ")


@pytest.mark.parametrize(
    "lines",
    [
        every_code,
        every_code_with_each_word_that_decides_some,
        every_bit_of_a_74,
        every_row_of_the_decode_sheet,
        what_the_decode_sheet_cannot_read,
        every_sxid_with_each_word,
        every_recovery_action_that_raises_a_verdict,
        what_a_program_wrote,
    ],
    ids=name_of,
)
def test_a_line_alone_gets_the_verdict_its_node_gets(
    lines: Callable[[], Iterable[str]],
) -> None:
    differ = [
        (line, explained.value, node.value)
        for line in lines()
        if (explained := explain_line(line).verdict) is not (node := judged(line))
    ]
    assert differ == []


@pytest.mark.parametrize(
    ("line", "explained", "node"),
    [
        pytest.param(
            xid(45, "Ch 00000078"),
            *(Verdict.LEAVE_ALONE, Verdict.MONITOR),
            id="a 45 follows something, unless the whole log shows nothing it could follow",
        ),
        pytest.param(
            xid(45, "Ch 00000000 caused by previous Xid 149"),
            *(Verdict.LEAVE_ALONE, Verdict.REBOOT),
            id="a 45 that names its cause gets its node the verdict of that cause",
        ),
        pytest.param(
            xid(154, "GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)"),
            *(Verdict.MONITOR, Verdict.LEAVE_ALONE),
            id="a 154 to 0 raises nothing, so a node is left as its other events have it",
        ),
        pytest.param(
            xid(154, "GPU recovery action cha"),
            *(Verdict.MONITOR, Verdict.MONITOR),
            id="a 154 cut before its value asks for the value and lets nothing be called clean",
        ),
    ],
)
def test_a_line_whose_verdict_the_node_decides(
    line: str, explained: Verdict, node: Verdict
) -> None:
    assert (explain_line(line).verdict, judged(line)) == (explained, node)

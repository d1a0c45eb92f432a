"""Explaining a raw line: what it says by itself, never more."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.errors import UnknownCode
from gpuvet.explain.line import MAX_EVENTS, explain_line, explain_lines
from gpuvet.explain.text import as_text
from gpuvet.model.verdict import Verdict


def xid(code: int, text: str) -> str:
    return f"[430954.509105] NVRM: Xid (PCI:0000:53:00): {code}, pid=2187734, name=python3, {text}"


@pytest.mark.parametrize(
    ("line", "verdict", "again", "at_least"),
    [
        pytest.param(
            xid(79, "GPU has fallen off the bus."), "REBOOT", "REPLACE", "REBOOT", id="79"
        ),
        pytest.param(
            xid(48, "DBE has been detected on GPU in the framebuffer at physAddr 0x18f31d80"),
            *("REBOOT", "REPLACE", "REBOOT"),
            id="48 in DRAM",
        ),
        pytest.param(
            xid(48, "DBE has been detected on GPU in L2 cache"),
            *("UNVERIFIED", "REPLACE", "REBOOT"),
            id="48 in SRAM",
        ),
        pytest.param(
            xid(48, "channel 0x00000002"),
            *("UNVERIFIED", "REPLACE", "REBOOT"),
            id="48 of one channel, without a memory",
        ),
        pytest.param(
            xid(171, "Uncorrectable DRAM error in FBPA 3"),
            *("REBOOT", "REPLACE", "REBOOT"),
            id="171 alone",
        ),
        pytest.param(
            xid(172, "GSP-RISCV, Uncorrectable SRAM error"),
            *("UNVERIFIED", "UNVERIFIED", "REBOOT"),
            id="172 alone",
        ),
        pytest.param(
            xid(64, "Row Remapper Error: (0x18f3) - Row Remapping table is full"),
            *("REPLACE", "REPLACE", "REBOOT"),
            id="64, final",
        ),
        pytest.param(
            xid(
                64,
                "Row Remapper: (0x1) - Row is already pending remapping",
            ),
            *("REBOOT", "REPLACE", "REBOOT"),
            id="64, pending",
        ),
        pytest.param(
            xid(94, "Contained: SM (0x1). RST: No, D-RST: No"),
            *("MONITOR", "MONITOR", "restart job"),
            id="94, no reset asked",
        ),
        pytest.param(
            xid(94, "Contained: SM (0x1). RST: Yes, D-RST: No"),
            *("REBOOT", "MONITOR", "REBOOT"),
            id="94, reset asked",
        ),
        pytest.param(
            xid(94, "Contained: SM (0x1). RST: No, D-RST: Yes"),
            *("REBOOT", "MONITOR", "drain, then REBOOT"),
            id="94, reset after draining",
        ),
        pytest.param(
            xid(
                74, "NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
            ),
            *("REBOOT", "REPLACE", "REBOOT"),
            id="74, diagnose if repeated",
        ),
        pytest.param(
            xid(74, "NVLink: fatal error detected on link 14(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"),
            *("MONITOR", "MONITOR", "none"),
            id="74, ignorable",
        ),
        pytest.param(
            xid(74, "NVLink: fatal error detected on link 14(0x2, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"),
            *("UNVERIFIED", "UNVERIFIED", "REBOOT"),
            id="74, secondary alone",
        ),
        pytest.param(
            xid(74, "NVLink: failed to train link 3 to remote PCI:0000:00:02"),
            *("REBOOT", "REPLACE", "REBOOT"),
            id="74, failed to train",
        ),
        pytest.param(
            xid(
                149,
                "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 0x0 0x0 0x0 0x0)",
            ),
            *("REBOOT", "REPLACE", "REBOOT"),
            id="149, link event 4",
        ),
        pytest.param(
            xid(
                149,
                "NETIR_LINK_EVT  Fatal   XC0 i1 Link 08 (0x004505c6 0x00000000 0x0 0x0 0x0 0x0)",
            ),
            *("LEAVE ALONE", "LEAVE ALONE", "MONITOR"),
            id="149, injected",
        ),
        pytest.param(
            xid(149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x0045"),
            *("REBOOT", "UNVERIFIED", "REBOOT"),
            id="149, cut",
        ),
        pytest.param(
            xid(144, "SAW_MVB Nonfatal XC0 i0 Link -1 (0x00000001 0x00000001 0x0 0x0 0x0)"),
            *("MONITOR", "MONITOR", "MONITOR"),
            id="144, nonfatal",
        ),
        pytest.param(
            xid(140, "An uncorrectable ECC error detected DRAM:1, LTC:0, MMU:0, PCIE:0"),
            *("REBOOT", "REPLACE", "REBOOT"),
            id="140 in DRAM",
        ),
        pytest.param(
            xid(140, "An uncorrectable ECC error detected DRAM:0, LTC:2, MMU:0, PCIE:0"),
            *("UNVERIFIED", "REPLACE", "REBOOT"),
            id="140 in an SRAM",
        ),
        pytest.param(
            xid(154, "GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)"),
            *("REBOOT", "REBOOT", "REBOOT"),
            id="154 to node reboot",
        ),
        pytest.param(
            xid(154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"),
            *("MONITOR", "MONITOR", "none"),
            id="154 to none",
        ),
        pytest.param(
            xid(154, "GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)"),
            *("UNVERIFIED", "UNVERIFIED", "stop peer jobs"),
            id="154 to drain P2P",
        ),
        pytest.param(
            xid(154, "GPU recovery action changed from 0x0 (None) to 0x9 (Dance)"),
            *("UNVERIFIED", "MONITOR", "read its value"),
            id="154 to an action nobody lists",
        ),
        pytest.param(
            xid(
                160,
                "Marking Channel 2 in FBPA 5 for repair. Reset to activate repair.",
            ),
            *("REBOOT", "UNVERIFIED", "REBOOT"),
            id="160 to activate",
        ),
        pytest.param(
            xid(157, "Unable to retire TPC 3 from GPC 1 while MIG mode is on"),
            *("MONITOR", "REPLACE", "MONITOR"),
            id="157 under MIG",
        ),
        pytest.param(
            xid(
                31, "Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS faulted @ 0x7f5a_0000."
            ),
            *("LEAVE ALONE", "UNVERIFIED", "restart job"),
            id="31",
        ),
        pytest.param(xid(99999, "news"), "UNVERIFIED", "UNVERIFIED", "MONITOR", id="in no list"),
        pytest.param(
            "Feb 23 16:24:18 ip-10-1-2-3 root: NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=x, y",
            *("LEAVE ALONE", "LEAVE ALONE", "none"),
            id="written by a program",
        ),
        pytest.param(
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            *("REBOOT", "REPLACE", "REBOOT"),
            id="an NVSwitch error",
        ),
    ],
)
def test_a_line_by_itself_gives(line: str, verdict: str, again: str, at_least: str) -> None:
    found = explain_line(line)
    assert (found.verdict.value, found.on_recurrence.value, found.minimum_action) == (
        verdict,
        again,
        at_least,
    )
    assert found.line == line
    assert (found.open_check is not None) == (found.verdict is Verdict.UNVERIFIED)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param(
            xid(45, "Ch 00000001 caused by previous Xid 149"),
            "caused by Xid 149: follow that one, by itself UNVERIFIED",
            id="45 names its cause",
        ),
        pytest.param(
            xid(13, "Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address"),
            "GPC 1, TPC 3",
            id="13 names its place",
        ),
        pytest.param(
            xid(
                31,
                "MMU Fault: ENGINE HOST UNRECOGNIZED_CLIENT_5 faulted @ 0x7f_0.",
            ),
            "UNRECOGNIZED_CLIENT: REBOOT if the GPUs or nvidia-smi stop answering",
            id="31 of no known client",
        ),
        pytest.param(
            xid(
                74, "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
            ),
            "register 1, bit 16: possible hardware fault, or the connection, REBOOT.",
            id="74 register by register",
        ),
        pytest.param(
            "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress",
            "switch 0000:c4:00.0, link 32, Non-fatal",
            id="an SXid's switch and link",
        ),
    ],
)
def test_a_line_is_decoded(line: str, told: str) -> None:
    assert told in explain_line(line).decode


def test_a_printed_severity_that_differs_is_told() -> None:
    line = xid(144, "SAW_MVB Fatal XC0 i0 Link 03 (0x00000001 0x00000001 0x0 0x0 0x0)")
    assert explain_line(line).contradictions == (
        "the line says Fatal, the decode sheet rates it nonfatal; the printed word wins",
    )


def test_several_lines_are_explained_in_their_order() -> None:
    text = "\n".join((xid(48, "channel 1"), "benign", xid(79, "GPU has fallen off the bus.")))
    assert [found.code for found in explain_lines(text)] == [48, 79]


@pytest.mark.parametrize("text", ["", "banana", "Xid (43, pid: 5678)", "NVRM: API mismatch"])
def test_a_text_without_an_xid_is_refused_with_what_would_work(text: str) -> None:
    with pytest.raises(UnknownCode, match="a driver's line holds"):
        explain_line(text)


def test_a_whole_log_is_refused_with_what_would_work() -> None:
    with pytest.raises(UnknownCode, match="gpuvet verdict"):
        explain_lines("\n".join(xid(31, f"x{n}") for n in range(MAX_EVENTS + 1)))


def test_what_a_line_holds_is_shown_masked_and_escaped() -> None:
    found = explain_line(xid(31, "\x1b[31m AKIAIOSFODNN7EXAMPLE \u202e end"))
    assert found.line is not None
    assert "AKIAIOSFODNN7EXAMPLE" not in found.line
    assert "\x1b" not in found.line
    assert "\u202e" not in found.line


@settings(max_examples=60)
@given(st.sampled_from([13, 31, 45, 48, 64, 74, 94, 95, 140, 149, 154, 157, 160, 177]), st.text())
def test_whatever_a_line_says_the_wording_holds_nothing_of_it(code: int, text: str) -> None:
    line = f"NVRM: Xid (PCI:0000:53:00): {code}, pid=1, name=x, ¤{text}".splitlines()[0]
    for found in explain_lines(line):
        told = as_text(replace(found, line=None))
        assert "¤" not in told
        assert found.verdict is not Verdict.NOT_OBSERVABLE


def test_the_text_of_a_line_reads_as_agreed(golden: Callable[[str, str], None]) -> None:
    line = xid(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x0 0x0 0x0 0x0 0x0)")
    golden("explain/line_149.txt", as_text(explain_line(line)))

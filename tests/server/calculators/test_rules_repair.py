"""Staged repairs, codes of the catalog, and events that are not what they claim (§6, §13)."""

import pytest
from node_world import (
    GPU,
    GPU2,
    at,
    condition,
    covered,
    days,
    gpu,
    hma,
    judged,
    reboot,
    xid,
)

from gpuvet.catalog.xids import xids
from gpuvet.model.cluster import Flag, NodeFacts, Orchestrator
from gpuvet.model.coverage import Gate, NodeCoverage
from gpuvet.model.events import AnyRecord, Source
from gpuvet.model.verdict import Verdict

B200 = "p6-b200.48xlarge"
TO_ACTIVATE = "Marking Channel 2 in FBPA 5 along with its pair for repair. Perform to activate."
RETIRE = "Retiring TPC 3 from GPC 1 with a spare from the same GPC."


@pytest.mark.parametrize(
    ("records", "facts", "verdict"),
    [
        pytest.param([xid(156, RETIRE)], NodeFacts(), "REBOOT", id="a TPC repair is staged"),
        pytest.param(
            [xid(156, RETIRE, -days(1)), reboot(-3600), xid(156, RETIRE)],
            *(NodeFacts(), "REPLACE"),
            id="the same TPC again after a reboot",
        ),
        pytest.param(
            [xid(156, RETIRE, -days(1)), reboot(-3600), xid(156, RETIRE.replace("3", "4"))],
            *(NodeFacts(), "UNVERIFIED"),
            id="another TPC after a reboot is a trend",
        ),
        pytest.param([xid(160, "news")], NodeFacts(), "MONITOR", id="a channel repair"),
        pytest.param(
            [xid(160, TO_ACTIVATE)], NodeFacts(), "REBOOT", id="a channel repair to activate"
        ),
        pytest.param(
            [xid(177, "news")],
            *(NodeFacts(gpus=(gpu(channel_repair_pending=Flag.YES),)), "REBOOT"),
            id="a bank repair with a pending flag",
        ),
        pytest.param([xid(177, "news")], NodeFacts(), "MONITOR", id="a bank repair"),
        pytest.param([xid(157, "no spare TPCs available")], NodeFacts(), "REPLACE", id="no spare"),
        pytest.param(
            [xid(157, "Unable to retire in MIG mode")], NodeFacts(), "MONITOR", id="refused by MIG"
        ),
        pytest.param([xid(161, "no more spare channels")], NodeFacts(), "REPLACE", id="no channel"),
        pytest.param([xid(110, "SEC_FAULT")], NodeFacts(), "REPLACE", id="only a cold reset helps"),
        pytest.param([xid(79, "fallen off")], NodeFacts(), "REBOOT", id="a first lost GPU"),
        pytest.param(
            [xid(79, "x", -days(1)), reboot(-3600), xid(79, "x")],
            *(NodeFacts(), "REPLACE"),
            id="a GPU lost again after a reboot",
        ),
        pytest.param([xid(143, "init")], NodeFacts(), "REBOOT", id="a GPU that did not start"),
        pytest.param(
            [xid(143, "init", -days(1)), reboot(-3600), xid(143, "init")],
            *(NodeFacts(), "REPLACE"),
            id="a GPU that did not start twice",
        ),
        pytest.param([xid(14, "fake")], NodeFacts(), "LEAVE ALONE", id="a test injection"),
        pytest.param([xid(9999, "news")], NodeFacts(), "UNVERIFIED", id="a code nobody lists"),
    ],
)
def test_a_repair_or_a_listed_code_decides(
    records: list[AnyRecord], facts: NodeFacts, verdict: str
) -> None:
    assert judged(*records, facts=facts, instance_type=B200).verdict.value == verdict


DECIDED_BY_TEXT = frozenset({13, 31, 43, 45, 48, 63, 64, 74, 94, 137, 154, 171, 172})


@pytest.mark.parametrize(
    "code", [c for c in xids() if c not in DECIDED_BY_TEXT and not 144 <= c <= 150]
)
def test_every_other_code_gets_its_default_and_its_verdict_on_recurrence(code: int) -> None:
    row = xids()[code]
    text = "DRAM:1, LTC:0, MMU:0, PCIE:0" if code == 140 else "on link 3"
    facts = NodeFacts(earlier_same_gpu_events=0)
    assert judged(xid(code, text), facts=facts, instance_type=None).verdict is row.default_verdict
    again = judged(
        xid(code, text, -days(1), pid=1), reboot(-3600), xid(code, text, pid=2), instance_type=None
    )
    assert again.verdict is row.on_recurrence


def test_an_unlisted_code_quotes_its_line_and_names_the_catalog() -> None:
    found = judged(xid(9999, "news"))
    assert found.minimum_action == "MONITOR"
    assert found.grounds[0].raw == f"NVRM: Xid (PCI:{GPU}): 9999, news"
    assert found.open_check is not None
    assert "NVIDIA's current catalog" in found.open_check


@pytest.mark.parametrize(
    ("other", "verdict", "fault_class"),
    [
        pytest.param(xid(94, "Contained: SM. RST: No"), "MONITOR", "hardware", id="hardware"),
        pytest.param(xid(79, "x"), "REBOOT", "hardware", id="stronger hardware"),
        pytest.param(xid(31, "fault", pid=1), "UNVERIFIED", "unknown", id="an application"),
    ],
)
def test_an_unlisted_code_never_outranks_a_known_hardware_verdict(
    other: AnyRecord, verdict: str, fault_class: str
) -> None:
    found = judged(xid(9999, "news", -100), other)
    assert (found.verdict.value, found.fault_class) == (verdict, fault_class)
    assert any(g.what.startswith("Xid 9999") for g in found.grounds) or any(
        "Xid 9999" in note for note in found.notes
    )


@pytest.mark.parametrize(
    ("code", "instance_type"),
    [(74, B200), (149, "p5.48xlarge"), (143, "p4d.24xlarge")],
    ids=["74 on B200", "149 on H100", "143 on A100"],
)
def test_a_code_of_another_architecture_is_unverified(code: int, instance_type: str) -> None:
    found = judged(xid(code, "news"), instance_type=instance_type)
    assert (found.verdict, found.minimum_action) == ("UNVERIFIED", "MONITOR")
    assert "wrong instance type or wrong node mapping?" in found.contradictions[0]


@pytest.mark.parametrize("instance_type", [None, "g6e.48xlarge"])
def test_no_mismatch_is_claimed_where_no_list_covers_the_type(instance_type: str | None) -> None:
    assert judged(xid(74, "on link 3"), instance_type=instance_type).verdict == "REBOOT"


def all_gpus(*pcis: str) -> NodeFacts:
    return NodeFacts(gpus=tuple(gpu(pci) for pci in pcis))


EIGHT = tuple(f"0000:{n:02x}:00" for n in (0x53, 0x64, 0x75, 0x86, 0x97, 0xA8, 0xB9, 0xCA))


def test_an_xid_on_a_gpu_the_node_does_not_have_is_unverified() -> None:
    found = judged(xid(79, "x", pci="0000:10:1c"), facts=all_gpus(*EIGHT))
    assert found.verdict == "UNVERIFIED"
    assert found.open_check == "whether stream messages belongs to this node"
    assert "wrong node mapping?" in found.contradictions[0]


def test_an_excerpt_of_its_gpus_says_nothing_of_the_others() -> None:
    assert judged(xid(79, "x", pci="0000:10:1c"), facts=all_gpus(GPU, GPU2)).verdict == "REBOOT"


@pytest.mark.parametrize("code", [71, 73])
def test_nvlink_text_under_another_number_leaves_the_class_to_the_number(code: int) -> None:
    line = "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    found = judged(
        xid(code, line),
        hma(1, condition="NvidiaErrorReboot", reason="XidHardwareFailure", code=code),
        orchestrator=Orchestrator.HYPERPOD_EKS,
    )
    assert (found.verdict, found.fault_class) == ("REBOOT", xids()[code].fault_class)
    assert any("known to be odd" in c for c in found.contradictions)


def test_without_the_platform_the_number_alone_gives_the_verdict() -> None:
    found = judged(xid(71, "NVLink: fatal error detected on link 6"))
    assert found.verdict is xids()[71].default_verdict


def test_a_line_that_a_program_wrote_is_left_alone() -> None:
    found = judged(xid(79, "x", source=Source.USER_SPACE))
    assert found.verdict == "LEAVE ALONE"
    assert "the health agent may still act on such a line" in found.notes


def test_a_line_that_a_program_wrote_is_no_first_occurrence() -> None:
    injected = xid(79, "x", -days(1), source=Source.USER_SPACE)
    assert judged(injected, reboot(-3600), xid(79, "x")).verdict == "REBOOT"


@pytest.mark.parametrize(
    ("reading", "coverage", "verdict"),
    [
        pytest.param(
            condition("NvidiaXID79Error"), None, "UNVERIFIED", id="against a measured kernel log"
        ),
        pytest.param(
            condition("NvidiaXID79Error"),
            covered(Gate.PARTIAL, empty=[at(0).replace(minute=0, second=0)]),
            "REBOOT",
            id="where the kernel log has a hole",
        ),
        pytest.param(
            condition("NvidiaXID79Error", -days(3)), None, "REBOOT", id="from before the window"
        ),
    ],
)
def test_a_node_condition_alone_stands_for_the_event_unless_the_log_denies_it(
    reading: AnyRecord, coverage: NodeCoverage | None, verdict: str
) -> None:
    found = judged(reading, coverage=coverage, instance_type=None)
    assert found.verdict.value == verdict


def test_a_node_condition_beside_its_line_is_a_second_source() -> None:
    found = judged(xid(79, "x"), condition("NvidiaXID79Error", 100))
    assert found.verdict is Verdict.REBOOT
    assert [g.source for g in found.grounds] == ["eks_condition+kernel"]

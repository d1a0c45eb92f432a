"""The shipped tables: complete, sourced, consistent with each other, and unchangeable."""

import csv
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import gpuvet.catalog
from gpuvet.catalog.conditions import Condition, conditions, conditions_of
from gpuvet.catalog.consequences import (
    CauseKind,
    Consequence,
    Scope,
    consequences,
    follows_from,
    leads_to,
)
from gpuvet.catalog.disagreements import disagreements, disagreements_about
from gpuvet.catalog.instance_types import InstanceType, RunsHma, instance_type, instance_types
from gpuvet.catalog.kinds import CodeKind
from gpuvet.catalog.recovery_actions import recovery_actions
from gpuvet.catalog.sources import sources
from gpuvet.catalog.sxids import BY_TEXT, sxid_verdict, sxids
from gpuvet.catalog.xids import Applies, Architecture, XidRow, xids
from gpuvet.model.verdict import FaultClass, Verdict

FOLDER = Path(gpuvet.catalog.__file__).parent
TABLES = sorted(path.name for path in FOLDER.glob("*.csv"))


def cells(table: str, column: str) -> Iterator[str]:
    with (FOLDER / table).open(encoding="utf-8", newline="") as file:
        yield from (row[column] for row in csv.DictReader(file))


@pytest.mark.parametrize("table", [t for t in TABLES if t != "sources.csv"])
def test_every_row_names_its_sources_and_every_source_has_a_title(table: str) -> None:
    for cell in cells(table, "source"):
        assert cell
        assert set(cell.split(";")) <= set(sources()), cell


def test_every_source_is_used() -> None:
    used = {
        w for t in TABLES if t != "sources.csv" for c in cells(t, "source") for w in c.split(";")
    }
    assert used == set(sources())


def test_177_xids_are_listed_without_a_gap() -> None:
    assert list(xids()) == list(range(1, 178))


def test_an_xid_reads_as_a_whole_value() -> None:
    assert xids()[54] == XidRow(
        code=54,
        mnemonic="SILENT_RUNNING_PWR_REDUCED_CLOCKING",
        description="The board lacks its auxiliary power connection",
        immediate_action="CHECK_MECHANICALS",
        investigatory_action="CONTACT_SUPPORT",
        applies=Applies.LISTED,
        architectures=(Architecture.A100, Architecture.H100, Architecture.B100),
        xid154_linkage="no",
        fault_class=FaultClass.HARDWARE,
        default_verdict=Verdict.REPLACE,
        minimum_action="REPLACE",
        on_recurrence=Verdict.REPLACE,
        source="nvidia_catalog(2025-09-30);gpud;aws_healthcheck;eks_node_monitor",
        note="Nobody on EC2 can reseat a cable: the check-mechanicals path is stop/start or "
        "replace.",
    )


@pytest.mark.parametrize(
    ("code", "architecture", "expected"),
    [
        pytest.param(74, Architecture.B100, False, id="74 is not for B200"),
        pytest.param(149, Architecture.H100, False, id="149 is not for H100"),
        pytest.param(149, Architecture.GB200, True, id="149 is for GB200"),
        pytest.param(143, Architecture.A100, False, id="143 is not for A100"),
        pytest.param(65, Architecture.H100, True, id="a retired code claims no mismatch"),
        pytest.param(177, Architecture.H100, True, id="an unlisted code claims no mismatch"),
    ],
)
def test_a_code_is_expected_where_the_catalog_lists_it(
    code: int, architecture: Architecture, expected: bool
) -> None:
    assert xids()[code].is_expected_on(architecture) is expected


def test_a_repeat_never_calls_for_less_except_where_repetition_means_nothing() -> None:
    strength = [
        Verdict.REPLACE,
        Verdict.REBOOT,
        Verdict.UNVERIFIED,
        Verdict.MONITOR,
        Verdict.LEAVE_ALONE,
    ]
    milder = {
        row.code
        for row in xids().values()
        if strength.index(row.on_recurrence) > strength.index(row.default_verdict)
    }
    # After a reboot that did not cure: a setting or a staged repair, whose cause must be found.
    assert milder == {151, 156, 168}


def test_402_sxids_are_listed() -> None:
    assert len(sxids()) == 402


@pytest.mark.parametrize(
    ("code", "fatal", "expected"),
    [
        pytest.param(20034, None, Verdict.REBOOT, id="listed fatal"),
        pytest.param(20034, False, Verdict.REBOOT, id="Non-fatal lowers nothing"),
        pytest.param(10001, True, Verdict.REBOOT, id="Fatal lifts MONITOR"),
        pytest.param(10001, None, Verdict.MONITOR, id="listed non-fatal"),
        pytest.param(11001, True, Verdict.REBOOT, id="by text, Fatal"),
        pytest.param(11001, False, Verdict.MONITOR, id="by text, Non-fatal"),
        pytest.param(11001, None, Verdict.UNVERIFIED, id="by text, no word"),
        pytest.param(10007, False, Verdict.MONITOR, id="no severity known, Non-fatal settles it"),
        pytest.param(10007, None, Verdict.UNVERIFIED, id="no severity known, no word"),
        pytest.param(99999, True, Verdict.REBOOT, id="in no list, Fatal"),
        pytest.param(99999, False, Verdict.UNVERIFIED, id="in no list, Non-fatal"),
    ],
)
def test_the_printed_word_decides_an_sxid(code: int, fatal: bool | None, expected: Verdict) -> None:
    assert sxid_verdict(sxids().get(code), fatal=fatal) is expected


def test_a_lost_gpu_brings_its_peers_links_down() -> None:
    assert Consequence(
        rule="nvlink-after-peer",
        effect_kind=CodeKind.XID,
        effects=(74,),
        effect_condition=None,
        cause_kind=CauseKind.XID,
        causes=(46, 62, 79, 95, 110, 119, 140, 143, 158),
        not_causes=(),
        cause_condition=None,
        scope=Scope.OTHER_GPU,
        cause_before_seconds=60,
        cause_after_seconds=30,
        verdict=None,
        source="ours",
    ) in leads_to(79)


def test_what_follows_and_what_brings_are_two_views_of_one_table() -> None:
    for code in xids():
        for row in leads_to(code):
            assert all(row in follows_from(row.effect_kind, effect) for effect in row.effects)


def test_teardown_codes_bring_nothing_of_their_own() -> None:
    for code in (43, 45, 154, 171, 172):
        assert "teardown-after-xid" not in {row.rule for row in leads_to(code)}


def test_every_code_of_the_side_tables_is_listed() -> None:
    assert {code for row in conditions() for code in row.codes} <= set(xids())
    assert {c for r in consequences() for c in r.causes} <= set(xids())
    for row in disagreements():
        assert row.code in (xids() if row.kind is CodeKind.XID else sxids())


def test_an_exception_reads_as_a_whole_value() -> None:
    assert conditions_of(157) == (
        Condition(
            codes=(157,),
            evidence="the text names MIG mode",
            verdict=Verdict.MONITOR,
            advice="Leaving MIG mode may free a spare.",
            source="open_driver_595.45.04",
        ),
    )


def test_a_ruling_is_the_verdict_the_catalog_gives() -> None:
    for row in disagreements():
        if row.kind is CodeKind.XID:
            assert Verdict(row.ruling) is xids()[row.code].default_verdict
        else:
            assert row.ruling == sxids()[row.code].default_verdict
        assert set(row.decided_by.split(";")) <= set(sources())


def test_every_code_the_devops_agent_skill_is_wrong_about_is_named() -> None:
    named = {row.code for row in disagreements() if row.who == "DevOps-agent skill"}
    assert {32, 45, 48, 64, 71, 79, 94, 110, 119, 120, 140, 143, *range(144, 151)} <= named
    assert {154, 155, 156} <= named
    assert [row.who for row in disagreements_about(CodeKind.XID, 71)] == [
        "AWS HyperPod sample",
        "DevOps-agent skill",
    ]


def test_recovery_actions_raise_and_only_0_raises_nothing() -> None:
    assert {value: action.verdict for value, action in recovery_actions().items()} == {
        0: None,
        1: Verdict.REBOOT,
        2: Verdict.REBOOT,
        3: Verdict.UNVERIFIED,
        4: Verdict.REBOOT,
        5: Verdict.UNVERIFIED,
        6: Verdict.REBOOT,
        7: Verdict.REBOOT,
    }


@pytest.mark.parametrize("name", ["p5.48xlarge", "ml.p5.48xlarge", " ml.p5.48xlarge "])
def test_a_type_is_found_by_its_ec2_and_its_sagemaker_name(name: str) -> None:
    assert instance_type(name) == InstanceType(
        name="p5.48xlarge",
        gpus=8,
        gpu_name="H100",
        gpu_memory_mib=81920,
        architecture=Architecture.H100,
        neuron_devices=0,
        max_efa=32,
        network_cards=32,
        ipv4_per_interface=50,
        vcpus=192,
        memory_gib=2048,
        nvswitch=True,
        runs_hma=RunsHma.YES,
        source="ec2_describe_instance_types(moto 5.2.5);hyperpod_cli;recall(nvswitch)",
    )


@pytest.mark.parametrize("name", ["p9.48xlarge", "ml.", "", "p5"])
def test_an_unlisted_type_is_none(name: str) -> None:
    assert instance_type(name) is None


@pytest.mark.parametrize(
    ("name", "gpus", "architecture", "max_efa", "nvswitch"),
    [
        ("p4d.24xlarge", 8, Architecture.A100, 4, True),
        ("p4de.24xlarge", 8, Architecture.A100, 4, True),
        ("p5.4xlarge", 1, Architecture.H100, 1, False),
        ("p5e.48xlarge", 8, Architecture.H100, 32, True),
        ("p5en.48xlarge", 8, Architecture.H100, 16, True),
        ("p6-b200.48xlarge", 8, Architecture.B100, 8, True),
        ("p6-b300.48xlarge", 8, Architecture.B100, 16, True),
        ("p6e-gb200.36xlarge", 4, Architecture.GB200, None, True),
        ("g5.48xlarge", 8, None, 1, False),
        ("g6e.48xlarge", 8, None, 4, False),
        ("m5.12xlarge", 0, None, 0, False),
    ],
)
def test_types_carry_what_the_checks_count_on(
    name: str, gpus: int, architecture: Architecture | None, max_efa: int | None, nvswitch: bool
) -> None:
    found = instance_types()[name]
    assert (found.gpus, found.architecture, found.max_efa, found.nvswitch) == (
        gpus,
        architecture,
        max_efa,
        nvswitch,
    )


def test_efa_never_exceeds_the_network_cards() -> None:
    for kind in instance_types().values():
        if kind.max_efa is not None and kind.network_cards is not None:
            assert kind.max_efa <= kind.network_cards


def test_tables_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        xids()[79] = xids()[31]  # type: ignore[index]  # the test is that this fails
    with pytest.raises(FrozenInstanceError):
        xids()[79].default_verdict = Verdict.MONITOR  # type: ignore[misc]  # likewise


def test_by_text_is_the_word_of_the_table() -> None:
    assert sum(row.default_verdict == BY_TEXT for row in sxids().values()) == 73

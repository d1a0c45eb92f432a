"""Audits of the recorded cases: verdicts, hours, holes with reasons, and what may be said."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case.load import load_case
from gpuvet.model.audit import AuditReport, HoleKind, Sight, Witness
from gpuvet.model.cause import Label
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.verdict import Verdict
from gpuvet.modes.audit import Price, audit_report, exit_code
from gpuvet.modes.window import Asked
from gpuvet.report.audit import next_steps

CASES = Path(__file__).parents[2] / "cases"
FIELD_12 = CASES / "field" / "12-audit-rotation-and-hole"
SCENARIOS = sorted((CASES / "scenarios").glob("*.json"))
VERDICTS = sorted((CASES / "verdicts").glob("v*.json"))
FIELD = sorted(p for p in (CASES / "field").iterdir() if (p / "expected.json").is_file())
LATE = datetime(2027, 1, 1, tzinfo=UTC)


def audited(path: Path, question: str | None = None, **options: Any) -> AuditReport:  # noqa: ANN401 (passes through)
    return audit_report(load_case(path, question=question), Asked(), clock=LATE, **options)


def expected_of(path: Path) -> dict[str, Any]:
    text = (path / "expected.json" if path.is_dir() else path).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document if path.is_dir() else document["expected"]


def field_12() -> AuditReport:
    return audited(FIELD_12 / "inputs", expected_of(FIELD_12)["question"])


def test_the_field_case_gets_its_verdicts_mode_and_label() -> None:
    expected, report = expected_of(FIELD_12), field_12()
    assert report.verdicts == {n: Verdict(v) for n, v in expected["verdicts"].items()}
    assert (report.mode, report.branch) == (expected["mode"], expected["branch"])
    assert report.label is Label(expected["label"])
    assert exit_code(report) == 3


@pytest.mark.parametrize("half", ["short", "markdown"])
def test_the_field_case_is_told_with_what_must_and_without_what_must_not_be_said(
    half: str,
) -> None:
    expected, report = expected_of(FIELD_12), field_12()
    text = re.sub(r"\\(.)", r"\1", getattr(report, half))
    missing = [p for p in expected["must_mention"] if not re.search(p, text, re.IGNORECASE)]
    said = [p for p in expected["must_not_say"] if re.search(p, text, re.IGNORECASE)]
    assert (missing, said) == ([], [])


def test_every_hole_of_the_field_case_has_its_hours_and_its_reason() -> None:
    holes = {h.node: h for h in field_12().holes}
    told = {
        node: (h.start.hour, h.hours, h.stream, [(c.kind, c.measured) for c in h.causes])
        for node, h in holes.items()
    }
    assert told == {
        "i-0902ea5022043b600": (
            9,
            2,
            "messages/i-0902ea5022043b600",
            [(HoleKind.BUFFER, True)],
        ),
        "i-0afc2f63aad2d7af7": (
            4,
            20,
            "messages/i-0afc2f63aad2d7af7",
            [(HoleKind.AGENT, True), (HoleKind.ROTATION, False), (HoleKind.LAG, False)],
        ),
        "i-0fb633dc47a3c37e9": (0, 24, None, [(HoleKind.NO_STREAM, True)]),
    }


def test_the_same_hours_of_two_nodes_are_read_by_a_command_for_each() -> None:
    report = field_12()
    row = next(r for r in report.lights if any(s.kind == "shell" for s in r.steps))
    step = next(s for s in row.steps if s.kind == "shell")
    times = "journalctl --since '2026-03-14 00:00:00 UTC' | wc -l"
    alike = [
        row.model_copy(
            update={
                "nodes": (node,),
                "steps": (step.model_copy(update={"text": f"# {node}\n{times}"}),),
            }
        )
        for node in ("i-0a", "i-0b", "i-0b")
    ]
    (told,) = next_steps(report.model_copy(update={"lights": tuple(alike)}))
    assert told.step.text == f"# i-0a\n{times}\n# i-0b\n{times}"


def test_the_sentence_for_management_is_one_of_four() -> None:
    claim = field_12().claim
    assert claim.startswith("0 Xids may be claimed for every hour of 1 of 4 nodes")
    assert "50 of 96 node-hours" in claim


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda p: p.stem)
def test_coverage_of_every_scenario_is_as_it_says(path: Path) -> None:
    report = audited(path)
    rows = {(c.node, c.group, c.stream): c for c in report.coverage}
    by_node = {n.node: n for n in report.sight}
    wrong: list[str] = []
    for row in expected_of(path)["coverage"]:
        node = by_node[row["node"]]
        accepted = {row["status"], *row.get("accept", ())}
        if node.status.value not in accepted:
            wrong.append(f"{node.node}: {node.status} is none of {sorted(accepted)}")
        if "hours_total" in row and node.hours_asked != row["hours_total"]:
            wrong.append(f"{node.node}: {node.hours_asked} h asked, not {row['hours_total']}")
        if "live_hours_count" in row and node.hours_measured != row["live_hours_count"]:
            wrong.append(f"{node.node}: {node.hours_measured} h, not {row['live_hours_count']}")
        place = (node.node, row.get("group"), row.get("stream"))
        if row.get("stream") and place not in rows:
            wrong.append(f"{node.node}: {row['stream']} is not told")
    assert wrong == []


def test_the_silent_stream_gets_no_claim_and_the_custom_group_gets_one() -> None:
    path = next(p for p in SCENARIOS if p.stem.startswith("s01"))
    expected, report = expected_of(path), audited(path)
    assert {n: report.verdicts[n].value for n in expected["verdicts"]} == expected["verdicts"]
    assert report.label is Label.PROVEN
    claims = {n.node: n.claim for n in report.sight}
    silent, seen = expected["verdicts"]
    assert claims[silent].startswith("0 Xids in 2 of 49 h. Not observable:")
    assert "/ops/fleet/tri-b200/kernel" in claims[seen]
    assert "never carried a kernel line" in report.markdown
    assert "no errors" not in report.markdown.lower()


def test_a_replaced_node_is_told_with_who_replaced_it() -> None:
    path = next(p for p in SCENARIOS if p.stem.startswith("s06"))
    (row,) = audited(path).replacements
    assert (row.old, row.new) == (("i-0e55a1b2c3d4e5f51",), ("i-0e57a1b2c3d4e5f73",))
    assert row.by.startswith("dana")
    assert row.certain


@pytest.mark.parametrize("path", [*SCENARIOS, *VERDICTS], ids=lambda p: p.stem)
def test_an_audit_never_claims_more_hours_than_were_seen(path: Path) -> None:
    report = audited(path)
    for node in report.sight:
        assert node.hours_measured <= node.hours_asked
        assert node.claim
    assert set(report.verdicts) <= {n.node for n in report.sight}
    assert AuditReport.model_validate_json(report.model_dump_json(by_alias=True)) == report


@pytest.mark.parametrize("path", FIELD, ids=lambda p: p.name)
def test_every_field_case_can_be_audited(path: Path) -> None:
    report = audited(path / "inputs", expected_of(path).get("question"))
    assert len(report.short.split()) <= 600


def test_what_does_not_apply_is_told_apart_from_what_was_not_seen() -> None:
    path = next(p for p in SCENARIOS if p.stem.startswith("s02"))
    states = {n.node: {w.what: w.state for w in n.witnesses} for n in audited(path).sight}
    cpu = states["i-0c33f0a1b2c3d4e73"]
    assert set(cpu.values()) == {Sight.NOT_APPLICABLE}
    gpu = states["i-0c33f0a1b2c3d4e62"]
    assert gpu[Witness.AGENT] is Sight.OBSERVABLE
    assert gpu[Witness.XIDS] is Sight.NOT_OBSERVABLE


def test_a_node_without_gpus_is_asked_for_nothing() -> None:
    path = next(p for p in SCENARIOS if p.stem.startswith("s02"))
    report = audited(path)
    cpu = next(n for n in report.sight if n.node == "i-0c33f0a1b2c3d4e73")
    assert (cpu.status, cpu.hours_asked) == (CoverageStatus.NOT_APPLICABLE, 0)
    assert cpu.node not in report.verdicts


def test_money_stands_nowhere_without_a_price() -> None:
    path = next(p for p in SCENARIOS if p.stem.startswith("s06"))
    bare, priced = audited(path), audited(path, price=Price(10.0, "EUR"))
    assert all(row.money is None for row in bare.lost.rows)
    assert all(row.money == row.gpu_hours * 10 for row in priced.lost.rows)
    assert priced.lost.rows


def test_a_rotation_that_the_host_itself_logged_is_a_measured_reason(tmp_path: Path) -> None:
    start = datetime(2026, 3, 14, tzinfo=UTC)
    lines = [
        f"{start + timedelta(hours=h, minutes=5):%Y-%m-%dT%H:%M:%S}.000000+00:00 ip-10-0-0-1 {text}"
        for h in (0, 1, 2, 3, 6, 7)
        for text in (
            "systemd[1]: Started Session 4 of User root.",
            "kernel: NVRM: loading NVIDIA UNIX Open Kernel Module  570.86.15",
        )
    ]
    at = start + timedelta(hours=3, minutes=50)
    rotated = f"{at:%Y-%m-%dT%H:%M:%S}.000000+00:00 ip-10-0-0-1 rsyslogd: rsyslogd was HUPed"
    log = tmp_path / "messages.i-0545d989d0034eaae.log"
    log.write_text("\n".join(sorted([*lines, rotated])) + "\n", encoding="utf-8")
    asked = Asked(since="2026-03-14T01:00:00Z", until="2026-03-14T07:00:00Z")
    report = audit_report(load_case(tmp_path), asked, clock=LATE)
    (hole,) = [h for h in report.holes if h.start.hour == 4]
    assert (hole.hours, [(c.kind, c.measured) for c in hole.causes]) == (
        2,
        [(HoleKind.ROTATION, True)],
    )

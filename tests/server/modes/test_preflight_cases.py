"""Whole preflights over the cases: what they say, in value, in text and as a page."""

import json
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case import load_case
from gpuvet.model.cause import Label
from gpuvet.model.check import CheckStatus
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.readiness import Ready
from gpuvet.modes.preflight import exit_code, preflight_report
from gpuvet.modes.preflight_run import RunWords
from gpuvet.report.html import preflight_page

CASES = Path(__file__).parents[2] / "cases"
LATE = datetime(2027, 1, 1, tzinfo=UTC)
S07 = CASES / "scenarios" / "s07-preflight-fails-p1-p4.json"
SPECS = sorted(p for p in (CASES / "field").glob("1[01]-spec-*"))
NEGATED = re.compile(
    r"\b(no|not|never|don't|do not|doesn't|isn't|cannot|can't|rather than|instead of|without"
    r"|nothing|ruled? out|avoid)\b",
    re.IGNORECASE,
)


def expected(path: Path) -> dict[str, Any]:
    where = path / "expected.json" if path.is_dir() else path
    document = json.loads(where.read_text(encoding="utf-8"))
    found: dict[str, Any] = document if path.is_dir() else document["expected"]
    return found


def answered(path: Path, question: str | None = None, **words: Any) -> PreflightReport:  # noqa: ANN401
    return preflight_report(load_case(path, question=question), RunWords(**words), clock=LATE)


def claims(pattern: str, text: str) -> list[str]:
    """Return hits that are not negated within their own sentence."""
    found: list[str] = []
    for match in re.finditer(pattern, text, re.IGNORECASE):
        before = re.split(r"[.!?\n]", text[max(0, match.start() - 40) : match.start()])[-1]
        if not NEGATED.search(before):
            found.append(match[0])
    return found


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.name)
def test_a_job_spec_alone_is_answered_with_what_must_be_said(path: Path) -> None:
    wanted = expected(path)
    report = answered(path, wanted["question"])

    for text in (report.short, report.markdown):
        assert [
            p for p in wanted["must_mention"] if not re.search(p, text, re.IGNORECASE | re.DOTALL)
        ] == []
        assert [h for p in wanted["must_not_say"] for h in claims(p, text)] == []
    assert (report.mode, report.label.value) == (wanted["mode"], wanted["label"])
    assert report.branch in wanted["accept_branches"]
    assert set(report.ready.values()) == {Ready.NO}
    assert exit_code(report) == 1


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.name)
def test_findings_of_the_spec_have_the_severity_they_have_for_the_run(path: Path) -> None:
    wanted = expected(path)
    report = answered(path, wanted["question"])
    found = {(f.severity.value, f.path.rpartition(".")[2]) for f in report.spec_findings}

    for one in wanted["spec_findings"]:
        word = one["path"].rpartition(".")[2]
        places = {"logPattern", "operator", "name"} if "." not in one["path"] else {word}
        assert any((one["severity"], place) in found for place in places), one


def test_what_needs_the_account_is_not_checked_for_a_spec_alone() -> None:
    report = answered(SPECS[0])
    skipped = {c.id for c in report.checks if c.status is CheckStatus.NOT_CHECKED}

    assert skipped == {f"P{n}" for n in range(1, 31)} - {"P27"}


def test_the_scenario_has_its_statuses() -> None:
    wanted = expected(S07)
    report = answered(S07)
    found = {check.id: check.status.value for check in report.checks}

    for name, status in wanted["checks"].items():
        accepted: list[str] = [status] if isinstance(status, str) else status["accept"]
        assert found[name] in accepted, name
    assert report.ready == {"72": Ready(wanted["ready"])}
    assert report.label is Label.PROVEN
    assert exit_code(report) == 1


def test_the_scenario_has_its_numbers() -> None:
    wanted = expected(S07)["numbers"]
    numbers = {k: v for check in answered(S07).checks for k, v in check.arithmetic.items()}

    assert numbers["usable_until"] == wanted["usable_until"]
    assert numbers["run_end"] == wanted["run_end"]
    assert numbers["margin_h"] == wanted["margin_h"]
    assert numbers["hours_covered"] == wanted["hours_covered"]
    assert numbers["longest_run_now_h"] == wanted["longest_run_now_h"]
    assert numbers["ip_need"] == wanted["ip_need"]
    assert numbers["free_ips"] == wanted["free_ips"]
    assert numbers["maintenance"] == wanted["maintenance"]
    assert numbers["latest_safe_start_72_past_h"] == wanted["latest_safe_start_72_past_h"]
    starts = {k: numbers[f"latest_safe_start_{k}"] for k in wanted["latest_safe_start"]}
    assert starts == wanted["latest_safe_start"]


def test_the_scenario_has_its_coverage() -> None:
    rows = {row.node: row for row in answered(S07).coverage}
    for one in expected(S07)["coverage"]:
        assert (rows[one["node"]].status.value, rows[one["node"]].group) == (
            one["status"],
            one["group"],
        )


@pytest.mark.parametrize(
    "said",
    [
        "zephyr-plan",
        "NodeRecovery None",
        "lead assumed from Capacity Blocks",
        r"srun --auto-resume=1 (on srun, not sbatch)",
        "by rule an extension is possible",
        "not observable on HyperPod",
        "Friday 2026-08-21T02:00:00Z",
        "nightly-report is about something else",
        "2026-08-19T11:00:00Z",
        "already past",
    ],
)
def test_the_scenario_says(said: str) -> None:
    assert said in answered(S07).markdown.replace("\\", "")


def test_the_answer_names_no_price_and_never_says_yes() -> None:
    report = answered(S07)
    for text in (report.short, report.markdown):
        assert not re.search(r"\bprice|\bUSD|\$\d", text, re.IGNORECASE)
        assert not re.search(r"\bYes\b", text)
    assert len(report.short.split()) <= 600


@pytest.mark.parametrize("path", [S07, *SPECS], ids=lambda p: p.stem)
def test_reports_are_golden(path: Path, golden: Any) -> None:  # noqa: ANN401 (a fixture function)
    question = None if path.is_file() else expected(path)["question"]
    report = answered(path, question)
    golden(f"preflight/{path.stem}.md", report.markdown)
    golden(f"preflight/{path.stem}.short.md", report.short)


def test_the_same_case_twice_gives_the_same_bytes() -> None:
    assert answered(S07).model_dump_json() == answered(S07).model_dump_json()


def test_the_value_reads_back() -> None:
    report = answered(S07)
    assert PreflightReport.model_validate_json(report.model_dump_json(by_alias=True)) == report


def test_the_page_shows_checks_and_calendar_and_escapes() -> None:
    page = preflight_page(answered(S07, question="<script>alert(1)</script> 72 hour run"))

    assert "Capacity calendar" in page
    assert "2026-08-22T11:00:00Z" in page
    assert "<script>alert" not in page


def test_without_a_length_three_are_decided() -> None:
    document = json.loads(S07.read_text(encoding="utf-8"))
    del document["request"]["run"]
    document["question"] = "Are we ready to train on zephyr?"
    report = _of(document)

    assert list(report.ready) == ["24", "48", "72"]
    by_hours = next(c for c in report.checks if c.id == "P1").by_hours
    assert by_hours == {"24": CheckStatus.PASS, "48": CheckStatus.PASS, "72": CheckStatus.FAIL}
    assert any("24, 48 and 72" in line for line in report.run.assumed)


def _of(document: dict[str, Any], **words: Any) -> PreflightReport:  # noqa: ANN401
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "scenario.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return answered(path, **words)


def _changed(operation: str, **members: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the scenario with members of one operation's replies replaced."""
    document: dict[str, Any] = json.loads(S07.read_text(encoding="utf-8"))
    for call in document["calls"]:
        is_it = call["operation"] == operation and call["service"] == "sagemaker"
        if is_it and "response" in call:
            call["response"].update(members)
    return document


def test_a_plan_with_a_gap_inside_the_run_is_no() -> None:
    blocks = [
        {
            "StartTime": a,
            "EndTime": b,
            "Status": "Active",
            "InstanceType": "ml.p5.48xlarge",
            "TotalInstanceCount": 2,
            "AvailabilityZone": "us-west-2a",
        }
        for a, b in (
            ("2026-08-01T11:30:00Z", "2026-08-20T11:30:00Z"),
            ("2026-08-21T11:30:00Z", "2026-09-20T11:30:00Z"),
        )
    ]
    report = _of(_changed("DescribeTrainingPlan", ReservedCapacitySummaries=blocks))
    first = next(c for c in report.checks if c.id == "P1")

    assert first.status is CheckStatus.FAIL
    assert "a gap from 2026-08-20T11:30:00Z to 2026-08-21T11:30:00Z" in first.why
    assert [row.gap_before_hours for row in report.calendar] == [None, 24.0]


def test_an_ultraserver_plan_ends_an_hour_early() -> None:
    document = json.loads(S07.read_text(encoding="utf-8"))
    for call in document["calls"]:
        if call["operation"] == "DescribeTrainingPlan" and "response" in call:
            call["response"]["ReservedCapacitySummaries"][0]["ReservedCapacityType"] = "UltraServer"
    first = next(c for c in _of(document).checks if c.id == "P1")

    assert first.arithmetic["usable_until"] == "2026-08-22T10:30:00Z"


def test_a_cluster_with_room_and_recovery_is_ready_with_risks() -> None:
    document = _changed("DescribeTrainingPlan", AvailableSpareInstanceCount=1)
    for call in document["calls"]:
        if call["operation"] == "DescribeCluster" and call["service"] == "sagemaker":
            call.get("response", {})["NodeRecovery"] = "Automatic"
    report = _of(document, hours=24.0)

    assert report.ready == {"24": Ready.WITH_RISKS}
    assert exit_code(report) == 0
    assert exit_code(report, fail_on_risk=True) == 1

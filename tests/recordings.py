"""Questions about recorded scenarios, asked with a tape before the door, and asked again of it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from live.scenarios import as_live, asked, now

from gpuvet.aws.budget import SCAN_GB
from gpuvet.aws.door import AwsDoor
from gpuvet.case import Case, load_case
from gpuvet.model.audit import AuditReport
from gpuvet.model.evidence import EvidenceOf, witnessed
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport, VerdictReport
from gpuvet.model.target import Target
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked
from gpuvet.record.archive import Recording, Written, write_recording
from gpuvet.record.heading import Heading
from gpuvet.record.tape import Tape

Report = AuditReport | IncidentReport | PreflightReport | VerdictReport
Mode = Callable[[Case, Asked, datetime], Report]
KEY = b"a key of more than sixteen bytes"


def _preflight(case: Case, _window: Asked, clock: datetime) -> Report:
    return preflight_report(case, RunWords(hours=48.0), clock=clock)


MODES: Mapping[str, Mode] = {
    "verdict": lambda case, window, clock: verdict_report(case, window, clock=clock),
    "incident": lambda case, window, clock: incident_report(case, window, clock=clock),
    "audit": lambda case, window, clock: audit_report(case, window, clock=clock),
    "preflight": _preflight,
}


class Kept(NamedTuple):
    """A question's answer, and where all that it read lies."""

    answer: str
    written: Written


def record(
    scenario: Mapping[str, Any],
    aws: AwsDoor,
    mode: Mode,
    path: Path,
    *,
    key: bytes | None = KEY,
    max_scan_gb: float = SCAN_GB,
) -> Kept:
    """Ask a scenario's question and record what is read.

    Args:
        scenario: The account, and what is asked.
        aws: Its door.
        mode: What answers.
        path: Of the zip.
        key: Of the stand-ins; None: none.
        max_scan_gb: What log queries may scan.
    """
    tape = Tape()
    evidence: dict[str, EvidenceOf] = {}
    with witnessed(evidence):
        case = as_live(scenario, tape.around(aws), max_scan_gb=max_scan_gb)
        report = mode(case, asked(scenario), now(scenario))
    heading = Heading(
        gpuvet="0",
        redacted=False,
        now=now(scenario),
        account=scenario["account_id"],
        region=scenario["region"],
        question=scenario["question"],
        target=Target(cluster=scenario["request"]["cluster"]),
        max_scan_gb=max_scan_gb,
    )
    recording = Recording(heading, tape.readings)
    return Kept(as_json(report), write_recording(recording, path, evidence=evidence, key=key))


def replay(scenario: Mapping[str, Any], mode: Mode, path: Path) -> str:
    """Return what a recording answers to a scenario's question."""
    return as_json(mode(load_case(path), asked(scenario), now(scenario)))


def as_json(report: Report) -> str:
    """Return a report as the command line prints it."""
    return report.model_dump_json(by_alias=True, indent=2)

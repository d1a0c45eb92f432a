"""What a check says: severity, status, finding, and the edit that would mend it.

Tuples with names, not `Value`s: `gpuvet spec check` starts without pydantic, which alone would
double its start.
"""

from enum import StrEnum
from typing import NamedTuple, TypedDict


class Severity(StrEnum):
    """How sure and how bad, strongest first."""

    ERROR = "error"  # refused, or cannot do its work
    WARNING = "warning"  # likely a mistake
    ADVICE = "advice"  # worth knowing; never fails a run


class CheckStatus(StrEnum):
    """What a preflight or audit check came to."""

    PASS = "PASS"  # noqa: S105  (a status, not a password)
    RISK = "RISK"
    FAIL = "FAIL"
    UNVERIFIED = "UNVERIFIED"
    NEEDS_INPUT = "NEEDS_INPUT"
    NOT_CHECKED = "NOT_CHECKED"
    NOT_APPLICABLE = "NOT_APPLICABLE"


class Edit(NamedTuple):
    """One replacement in a file's text; offsets count characters from 0, end excluded."""

    start: int
    end: int
    text: str


class FindingJson(TypedDict):
    """A finding as programs read it (the contract of the answers, `spec check`)."""

    code: str
    severity: str
    file: str
    line: int
    column: int
    path: str
    message: str
    why: str
    fix: str
    source: str


class Finding(NamedTuple):
    """One fault of one place in a file."""

    code: str
    severity: Severity
    file: str
    line: int  # from 1; 0 where the whole file is meant
    column: int
    path: str  # e.g. spec.replicaSpecs[0].replicas
    message: str  # what is there
    why: str  # what it leads to
    fix: str  # what to write instead
    source: str  # who says so
    end_line: int = 0
    end_column: int = 0
    edits: tuple[Edit, ...] = ()  # empty: not mechanical

    def as_json(self) -> FindingJson:
        """Return the promised keys, and no others."""
        return FindingJson(
            code=self.code,
            severity=str(self.severity),
            file=self.file,
            line=self.line,
            column=self.column,
            path=self.path,
            message=self.message,
            why=self.why,
            fix=self.fix,
            source=self.source,
        )


class Suppressed(NamedTuple):
    """A finding that a comment in the file turned off, and the reason given there."""

    code: str
    line: int
    path: str
    reason: str


class SkippedDocument(NamedTuple):
    """A document that is not judged, by name."""

    line: int
    name: str
    why: str


class SpecReport(NamedTuple):
    """All that `spec check` says of one file."""

    file: str
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    skipped: tuple[SkippedDocument, ...] = ()
    notes: tuple[str, ...] = ()  # e.g. a suppression without a reason
    jobs: int = 0  # HyperPodPyTorchJob documents judged
    monitors: int = 0  # log monitor rules judged

    def number_of(self, severity: Severity) -> int:
        """Return how many findings have this severity."""
        return sum(finding.severity is severity for finding in self.findings)


class CheckOptions(NamedTuple):
    """What the user says beside the file, and which checks are wanted."""

    instance_type: str | None = None
    agent_version: str | None = None  # e.g. 1.1.3
    script: str | None = None  # text of the training script
    quota_pods: int | None = None
    select: tuple[str, ...] = ()  # codes or their beginnings; empty: all
    ignore: tuple[str, ...] = ()

"""What `gpuvet answer check` says of a drafted answer."""

from pydantic import Field

from gpuvet.model.base import Value
from gpuvet.model.check import Severity


class AnswerFinding(Value):
    """One fault of a draft, and what to write instead."""

    code: str
    name: str
    severity: Severity
    line: int  # from 1
    column: int
    shown: str  # the words of the draft; empty where something is missing
    message: str
    why: str
    fix: str
    source: str


class EvidenceRow(Value):
    """One thing the draft was held against."""

    what: str  # incident report, case, journal, text
    of: str  # where it comes from
    characters: int


class AnswerCheck(Value):
    """`gpuvet answer check`: the findings, and what they rest on."""

    schema_: str = Field(
        default="gpuvet/answer/1", validation_alias="schema", serialization_alias="schema"
    )
    clean: bool  # no error; warnings may stand
    errors: int
    warnings: int
    findings: tuple[AnswerFinding, ...]
    evidence: tuple[EvidenceRow, ...]
    not_judged: tuple[str, ...] = ()  # rules without evidence to judge by, and what would give it
    rules: int  # that were run
    markdown: str = ""

"""The tool that answers whether a run would survive until its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

from mcp.types import CallToolResult
from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.cause import Label
from gpuvet.model.check import CheckStatus
from gpuvet.model.preflight import (
    CheckRow,
    PreflightReport,
    RunRow,
    SafeStartRow,
    SpecFindingRow,
)
from gpuvet.model.readiness import Ready
from gpuvet.tools.arguments import (
    Cluster,
    Cursor,
    Detail,
    Instances,
    Profile,
    Question,
    Region,
    Role,
    Tag,
    Where,
)
from gpuvet.tools.paging import onward, resume, with_rest
from gpuvet.tools.reply import fit, limit_of, reply

if TYPE_CHECKING:
    from gpuvet.modes.preflight_run import RunWords

_MOST_SPEC_FINDINGS = 12
_WHY_CHARACTERS = 300

Start = Annotated[
    str | None,
    Field(description="Start of the run, ISO 8601 with Z. Default: now.", max_length=40),
]
Hours = Annotated[
    float | None,
    Field(description="Length of the run in hours. Default: 24, 48 and 72 are each decided."),
]
CheckpointEvery = Annotated[
    str | None,
    Field(description="Time between checkpoints, e.g. '30m', '2h'.", max_length=20),
]
RunNodes = Annotated[int | None, Field(description="Nodes the run takes.")]
AutoResume = Annotated[
    bool | None,
    Field(description="Whether the job restarts by itself (srun --auto-resume=1, an operator)."),
]
JobSpecText = Annotated[
    str | None,
    Field(description="Text of the HyperPodPyTorchJob or its log monitors.", max_length=200_000),
]


class ShortCheck(Value):
    """One check in the short answer."""

    id: str
    name: str
    status: CheckStatus
    by_hours: dict[str, CheckStatus] | None = None
    subject: str
    why: str
    arithmetic: dict[str, str | int | float] | None = None
    action: str | None = None
    closes_with: str | None = None
    evidence: tuple[str, ...] = ()


class PreflightPage(Value):
    """One page of a preflight report: ready per length, then checks, FAIL and RISK first."""

    schema_: str = Field(
        default="gpuvet/preflight-page/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: str
    headline: str
    ready: dict[str, Ready]
    because: dict[str, tuple[str, ...]]
    label: Label
    confidence: str
    cluster: str | None = None
    now: AwareDatetime
    run: RunRow
    latest_safe_start: tuple[SafeStartRow, ...]
    counts: dict[CheckStatus, int]
    checks: tuple[ShortCheck, ...]
    spec_findings: tuple[SpecFindingRow, ...] = ()
    shown: int
    total: int
    cursor: str | None = None


class Preflighter(Protocol):
    """Whatever can judge a run that has not begun."""

    def preflight(
        self, *, question: str | None, words: "RunWords", where: Where
    ) -> PreflightReport:
        """Return the preflight report of a run."""
        ...


@dataclass(frozen=True, slots=True)
class PreflightTools:
    """Questions about a run that has not begun."""

    source: Preflighter

    def preflight_report(
        self,
        question: Question = None,
        start: Start = None,
        hours: Hours = None,
        checkpoint_every: CheckpointEvery = None,
        nodes: RunNodes = None,
        auto_resume: AutoResume = None,
        job_spec: JobSpecText = None,
        cluster: Cluster = None,
        instances: Instances = None,
        tag: Tag = None,
        profile: Profile = None,
        region: Region = None,
        role: Role = None,
        detail: Detail = "summary",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, PreflightPage]:
        """Say whether a run would survive until its end: Yes, Yes with risks, No, Not decided.

        Decides each run length from capacity (usable until, gaps, latest safe start), recovery,
        log sight, EFA, storage, addresses, versions and the job spec. Each check gives its
        arithmetic in UTC, one operator action, and what closes it if open. Asks nothing back.
        """
        # A job spec is too long for a cursor: whoever goes on with a page gives it again.
        asked: dict[str, str | None] = {
            "question": question,
            "start": start,
            "hours": _text(hours),
            "checkpoint_every": checkpoint_every,
            "nodes": _text(nodes),
            "auto_resume": _text(auto_resume),
            **Where(cluster, instances, tag, profile, region, role)._asdict(),
        }
        begin = resume(cursor, "preflight_report", asked)
        report = self._report(asked, job_spec)
        ordered = _by_urgency(report.checks)

        def page(count: int) -> tuple[PreflightPage, str]:
            kept = ordered[begin : begin + count]
            rest = onward("preflight_report", asked, begin + len(kept), len(ordered))
            text = report.markdown if detail == "full" else report.short
            return (
                _page(report, kept, total=len(ordered), cursor=rest),
                with_rest(text, len(kept), len(ordered), rest),
            )

        answer, text, _ = fit(page, len(ordered) - begin, limit_of(detail))
        return reply(answer, text)

    def _report(self, asked: Mapping[str, str | None], job_spec: str | None) -> PreflightReport:
        from gpuvet.modes.preflight_run import RunWords

        words = RunWords(
            start=asked["start"],
            hours=float(asked["hours"]) if asked["hours"] else None,
            checkpoint_every=asked["checkpoint_every"],
            nodes=int(asked["nodes"]) if asked["nodes"] else None,
            auto_resume=asked["auto_resume"] == "True" if asked["auto_resume"] else None,
            spec=job_spec,
        )
        return self.source.preflight(question=asked["question"], words=words, where=Where.of(asked))


def _text(value: float | None) -> str | None:
    return None if value is None else str(value)


def _by_urgency(checks: tuple[CheckRow, ...]) -> list[CheckRow]:
    order = list(_ORDER)
    return sorted(checks, key=lambda check: order.index(check.status))


_ORDER = (
    CheckStatus.FAIL,
    CheckStatus.RISK,
    CheckStatus.UNVERIFIED,
    CheckStatus.NEEDS_INPUT,
    CheckStatus.NOT_CHECKED,
    CheckStatus.PASS,
    CheckStatus.NOT_APPLICABLE,
)


def _page(
    report: PreflightReport, checks: list[CheckRow], *, total: int, cursor: str | None
) -> PreflightPage:
    counts: dict[CheckStatus, int] = {}
    for check in report.checks:
        counts[check.status] = counts.get(check.status, 0) + 1
    return PreflightPage(
        mode=report.mode,
        headline=report.headline,
        ready=report.ready,
        because=report.because,
        label=report.label,
        confidence=report.confidence,
        cluster=report.cluster,
        now=report.now,
        run=report.run,
        latest_safe_start=report.latest_safe_start,
        counts=counts,
        checks=tuple(_short(check) for check in checks),
        spec_findings=report.spec_findings[:_MOST_SPEC_FINDINGS],
        shown=len(checks),
        total=total,
        cursor=cursor,
    )


def _short(check: CheckRow) -> ShortCheck:
    return ShortCheck(
        id=check.id,
        name=check.name,
        status=check.status,
        by_hours=check.by_hours if len(set(check.by_hours.values())) > 1 else None,
        subject=check.subject,
        why=check.why[:_WHY_CHARACTERS],
        arithmetic=check.arithmetic or None,
        action=check.action,
        closes_with=check.closes_with,
        evidence=check.evidence[:2],
    )

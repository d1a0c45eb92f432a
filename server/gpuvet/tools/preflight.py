"""The tool that answers whether a run would survive until its end."""

from typing import ClassVar

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
from gpuvet.modes.preflight import preflight_report as report_preflight
from gpuvet.modes.preflight_run import RunWords
from gpuvet.tools.arguments import NodesPaged
from gpuvet.tools.reply import report_text
from gpuvet.tools.request import Reply, Request, Rest, detail_of

_MOST_SPEC_FINDINGS = 12
_WHY_CHARACTERS = 300


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


class RunQuestion(NodesPaged):
    """What `preflight_report` takes."""

    # A job spec is too long for a cursor: whoever goes on with a page gives it again.
    not_carried: ClassVar[frozenset[str]] = NodesPaged.not_carried | {"job_spec"}
    question: str | None = Field(
        None, description="The question in the user's words.", max_length=2000
    )
    start: str | None = Field(
        None, description="Start of the run, ISO 8601 with Z. Default: now.", max_length=40
    )
    hours: float | None = Field(None, description="Length in hours. Default: 24, 48 and 72.")
    checkpoint_every: str | None = Field(
        None, description="Time between checkpoints, e.g. '30m', '2h'.", max_length=20
    )
    nodes: int | None = Field(None, description="Nodes the run takes.")
    auto_resume: bool | None = Field(None, description="Whether the job restarts by itself.")
    job_spec: str | None = Field(
        None,
        description="Text of the HyperPodPyTorchJob or its log monitors.",
        max_length=200_000,
    )


def preflight_report(request: Request, asked: RunQuestion) -> Reply[PreflightPage]:
    """Say whether a run would survive until its end: Yes, Yes with risks, No, Not decided.

    Decides each run length from capacity (usable until, gaps, latest safe start), recovery, log
    sight, EFA, storage, addresses, versions and the job spec. Each check gives its arithmetic in
    UTC, one operator action, and what closes it if open. Asks nothing back.
    """
    opened = request.case(asked.question)
    words = RunWords(
        start=asked.start,
        hours=asked.hours,
        checkpoint_every=asked.checkpoint_every,
        nodes=asked.nodes,
        auto_resume=asked.auto_resume,
        spec=asked.job_spec,
    )
    report = report_preflight(opened.case, words, clock=opened.now)

    def page(kept: tuple[CheckRow, ...], rest: Rest) -> tuple[PreflightPage, str]:
        text = report_text(report.markdown, report.short, detail_of(asked))
        return _page(report, kept, rest), text

    return request.page(_by_urgency(report.checks), page, opened)


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


def _page(report: PreflightReport, checks: tuple[CheckRow, ...], rest: Rest) -> PreflightPage:
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
        **rest._asdict(),
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

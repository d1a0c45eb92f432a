"""Tools over job specs: text in, findings, a simulation or a proposal out; no account is asked."""

from typing import Literal

from pydantic import Field

from gpuvet.model.base import Value
from gpuvet.model.check import CheckOptions, Finding, SpecReport
from gpuvet.model.log_monitor import (
    BudgetForecast,
    FirstTrip,
    RuleState,
    Simulation,
)
from gpuvet.model.monitor_proposal import Spacing, Spread
from gpuvet.modes.spec import bounded, check_text
from gpuvet.modes.spec_simulate import TEXT_LIMITS, simulate_spec
from gpuvet.modes.spec_suggest import suggest_monitors
from gpuvet.report.simulation import simulation_text
from gpuvet.report.spec import spec_markdown
from gpuvet.report.suggestion import suggestion_text
from gpuvet.tools.arguments import Arguments, Detail, Names
from gpuvet.tools.reply import fit, limit_of
from gpuvet.tools.request import Reply, Request

_MOST_SPEC = 262_144  # ours: a manifest with a script inlined has some 20 kB
_MOST_LOG = 4_000_000  # characters of a request; longer logs belong to the command line
_FILE = "spec"
_VERSION = "Of hyperpod-elastic-agent, e.g. 1.1.3."
_LOG = "Lines of one pod's stdout with their time stamps, oldest first."
_STAGE_START = "Second 0, as the log writes times. Default: the first stamp."
_LOG_FORM = "raw: each line as printed; console_tee: the agent's [rank]: prefix."

LogForm = Literal["raw", "console_tee"] | None


class SpecQuestion(Arguments):
    """What `check_job_spec` takes."""

    spec: str = Field(
        description="YAML or JSON of a HyperPodPyTorchJob or a bare logMonitoringConfiguration.",
        max_length=_MOST_SPEC,
    )
    instance_type: str | None = Field(
        None, description="Where the manifest names none, e.g. ml.p5.48xlarge.", max_length=40
    )
    agent_version: str | None = Field(None, description=_VERSION, max_length=20)
    select: Names = Field(
        (), description="Codes or their beginnings, e.g. HPJ12; default all.", max_length=50
    )
    ignore: Names = Field((), description="Codes to leave out.", max_length=50)
    detail: Detail = "summary"


class SimulationQuestion(Arguments):
    """What `simulate_log_monitors` takes."""

    spec: str = Field(description="The manifest, YAML or JSON.", max_length=_MOST_SPEC)
    log: str = Field(description=_LOG, max_length=_MOST_LOG)
    stage_start: str | None = Field(None, description=_STAGE_START, max_length=40)
    end_seconds: float | None = Field(
        None,
        description="Length of the watch in s. Default: to the last stamp.",
        gt=0,
        le=31_536_000,
    )
    log_format: LogForm = Field(None, description=_LOG_FORM)
    agent_version: str | None = Field(None, description=_VERSION, max_length=20)
    detail: Detail = "summary"


class SuggestionQuestion(Arguments):
    """What `suggest_log_monitors` takes."""

    log: str = Field(description=_LOG, max_length=_MOST_LOG)
    bad_log: str | None = Field(
        None, description="A run that should trip: hung, slow, diverged.", max_length=_MOST_LOG
    )
    stage_start: str | None = Field(None, description=_STAGE_START, max_length=40)
    log_format: LogForm = Field(None, description=_LOG_FORM)


class FindingRow(Value):
    """One fault of one place in the manifest."""

    code: str
    severity: str
    line: int
    column: int
    path: str
    message: str
    why: str
    fix: str
    source: str


class SpecPage(Value):
    """What the checks say, strongest first where not all fit."""

    schema_: str = Field(
        default="gpuvet/spec-check-page/1", validation_alias="schema", serialization_alias="schema"
    )
    jobs: int
    monitors: int
    findings: tuple[FindingRow, ...]
    suppressed: tuple[str, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    shown: int
    total: int


class RuleRow(Value):
    """What one rule comes to over the log."""

    rule: str
    state: RuleState
    at_seconds: float | None = None
    value: float | None = None
    line: int | None = None
    stopped_at_seconds: float | None = None
    matches: int = 0


class SimulationPage(Value):
    """Every rule over the log, the first trip and what the restart budget does with it."""

    schema_: str = Field(
        default="gpuvet/spec-simulate-page/1",
        validation_alias="schema",
        serialization_alias="schema",
    )
    log_format: str
    lines: int
    stage_start: str
    end_seconds: float
    rules: tuple[RuleRow, ...]
    first_trip: FirstTrip | None = None
    unparsable_values: int
    budget: BudgetForecast | None = None
    assumptions: tuple[str, ...]
    findings: tuple[FindingRow, ...]
    shown: int
    total: int


class RunRow(Value):
    """What the proposed rules do over one log."""

    lines: int
    end_seconds: float
    first_trip: FirstTrip | None = None


class SuggestionPage(Value):
    """Proposed log monitors, what was measured, and the proof on the given logs."""

    schema_: str = Field(
        default="gpuvet/spec-suggest-page/1",
        validation_alias="schema",
        serialization_alias="schema",
    )
    yaml: str
    reasons: dict[str, tuple[str, ...]]
    spacing: Spacing
    metrics: tuple[Spread, ...]
    good_run: RunRow
    bad_runs: tuple[RunRow, ...]
    notes: tuple[str, ...]


def check_job_spec(request: Request, asked: SpecQuestion) -> Reply[SpecPage]:
    """Check a HyperPodPyTorchJob or its log monitors; works offline on text.

    Every finding has its HPJ code, severity, place, what is there, why it matters, the fix and
    the source. Template placeholders are named, not called errors. The manifest is data: nothing
    in it is followed, and its patterns run only in a child process with a deadline.
    """
    del request  # no account is asked
    options = CheckOptions(
        instance_type=asked.instance_type,
        agent_version=asked.agent_version,
        select=asked.select,
        ignore=asked.ignore,
    )
    report = check_text(asked.spec, file=_FILE, options=options)

    def page(count: int) -> tuple[SpecPage, str]:
        kept = bounded(report, most=count)
        return _spec_page(kept, total=len(report.findings)), spec_markdown((kept,))

    answer, text, _ = fit(page, len(report.findings), limit_of(asked.detail))
    return Reply(answer, text)


def _spec_page(report: SpecReport, *, total: int) -> SpecPage:
    return SpecPage(
        jobs=report.jobs,
        monitors=report.monitors,
        findings=tuple(_finding(each) for each in report.findings),
        suppressed=tuple(
            f"line {each.line}: {each.code}: {each.reason}" for each in report.suppressed[:20]
        ),
        skipped=tuple(f"line {e.line}: {e.name}: {e.why}" for e in report.skipped[:20]),
        notes=report.notes[:20],
        shown=len(report.findings),
        total=total,
    )


def _finding(finding: Finding) -> FindingRow:
    row = {name: value for name, value in finding.as_json().items() if name != "file"}
    return FindingRow.model_validate(row)


def simulate_log_monitors(request: Request, asked: SimulationQuestion) -> Reply[SimulationPage]:
    """Step every log monitor of a spec over a log as the elastic agent does.

    The clock is the log's own stamps. Says for every rule its state and time, the first trip,
    the restart it causes, what the restart budget then does, and what is assumed of the operator.
    """
    del request  # no account is asked
    result = simulate_spec(
        asked.spec,
        file=_FILE,
        text=asked.log,
        log_format=asked.log_format,
        stage_start=asked.stage_start,
        end_seconds=asked.end_seconds,
        agent=asked.agent_version,
        limits=TEXT_LIMITS,
    )

    def page(count: int) -> tuple[SimulationPage, str]:
        kept = result.model_copy(update={"rules": result.rules[:count]})
        return _simulation_page(kept, total=len(result.rules)), simulation_text(kept)

    answer, text, _ = fit(page, len(result.rules), limit_of(asked.detail))
    return Reply(answer, text)


def _simulation_page(result: Simulation, *, total: int) -> SimulationPage:
    return SimulationPage(
        log_format=str(result.log_format),
        lines=result.lines,
        stage_start=result.stage_start,
        end_seconds=result.end_seconds,
        rules=tuple(
            RuleRow.model_validate(each.model_dump(exclude={"timeline"})) for each in result.rules
        ),
        first_trip=result.first_trip,
        unparsable_values=result.unparsable_values,
        budget=result.budget,
        assumptions=result.assumptions,
        findings=tuple(_finding(each) for each in result.findings[:20]),
        shown=len(result.rules),
        total=total,
    )


def suggest_log_monitors(request: Request, asked: SuggestionQuestion) -> Reply[SuggestionPage]:
    """Propose log monitors from the log of a healthy run, with reasons.

    Measures the spacing of step lines and the spread of their metrics, writes a whole
    logMonitoringConfiguration, and proves that the good run never trips it and when the bad one
    would.
    """
    del request  # no account is asked
    proposal = suggest_monitors(
        text=asked.log,
        bad_texts=() if asked.bad_log is None else (asked.bad_log,),
        log_format=asked.log_format,
        stage_start=asked.stage_start,
        limits=TEXT_LIMITS,
    )
    answer = SuggestionPage(
        yaml=proposal.yaml,
        reasons={each.monitor.name: each.reasons for each in proposal.rules},
        spacing=proposal.spacing,
        metrics=proposal.metrics,
        good_run=_run(proposal.good_run),
        bad_runs=tuple(_run(each) for each in proposal.bad_runs),
        notes=proposal.notes,
    )
    return Reply(answer, suggestion_text(proposal))


def _run(result: Simulation) -> RunRow:
    return RunRow(lines=result.lines, end_seconds=result.end_seconds, first_trip=result.first_trip)

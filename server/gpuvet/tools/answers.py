"""The tool that holds a drafted answer against the evidence of its run."""

from pydantic import Field

from gpuvet.model.answer import AnswerCheck, AnswerFinding, EvidenceRow
from gpuvet.model.base import Value
from gpuvet.modes.answer import (
    MODES,
    hold,
    of_case,
    of_document,
    of_question,
    of_raw,
)
from gpuvet.modes.answer import (
    check_answer as check,
)
from gpuvet.modes.window import Asked as Times
from gpuvet.parse.draft import MOST_CHARACTERS
from gpuvet.report.answer import answer_markdown
from gpuvet.tools.arguments import Nodes, OverWindow
from gpuvet.tools.reply import SUMMARY_CHARACTERS, fit
from gpuvet.tools.request import Reply, Request

_MOST_RESULTS = 1_000_000  # characters of what other tools answered


class DraftQuestion(Nodes, OverWindow):
    """What `check_answer` takes."""

    draft: str = Field(description="The answer as it would be shown.", max_length=MOST_CHARACTERS)
    results: str | None = Field(
        None, description="What other calls answered, as text.", max_length=_MOST_RESULTS
    )
    question: str | None = Field(None, description="As the user put it.", max_length=2000)
    failure_at: str | None = Field(None, description="ISO 8601 with Z.", max_length=40)


class AnswerPage(Value):
    """Findings in reading order, and what they rest on."""

    schema_: str = Field(
        default="gpuvet/answer-page/1", validation_alias="schema", serialization_alias="schema"
    )
    clean: bool
    errors: int
    warnings: int
    findings: tuple[AnswerFinding, ...]
    evidence: tuple[EvidenceRow, ...]
    not_judged: tuple[str, ...]
    shown: int
    total: int


def check_answer(request: Request, asked: DraftQuestion) -> Reply[AnswerPage]:
    """Check a drafted answer against the evidence before it is shown.

    Finds ids and figures in no evidence, sources not as written, absences without hours, verdicts
    and labels unlike the reports', proposals told as done, and says what to write instead.
    """
    opened = request.case(asked.question)
    times = Times(asked.since, asked.until, asked.failure_at)
    # Reports of a live account are read anew: only the question's own. A case costs nothing.
    every = None if opened.case.ledger is not None else MODES
    evidence = of_case(opened.case, times, opened.now, modes=every)
    if opened.texts is not None:
        evidence += of_raw(opened.texts(), "files of the case")
    if asked.question:
        evidence += of_question(asked.question)
    if asked.results:
        evidence += of_document(asked.results, "results given")
    found = check(asked.draft, hold(evidence))

    total = len(found.findings)

    def page(count: int) -> tuple[AnswerPage, str]:
        shown = found.model_copy(update={"findings": found.findings[:count]})
        rest = "" if count >= total else f"\n{count} of {total} findings are shown.\n"
        return _page(shown, total), answer_markdown(shown) + rest

    answer, text, _ = fit(page, total, SUMMARY_CHARACTERS)
    return Reply(answer, text)


def _page(found: AnswerCheck, total: int) -> AnswerPage:
    return AnswerPage(
        clean=found.clean,
        errors=found.errors,
        warnings=found.warnings,
        findings=found.findings,
        evidence=found.evidence,
        not_judged=found.not_judged,
        shown=len(found.findings),
        total=total,
    )

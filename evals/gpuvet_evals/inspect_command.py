"""`gpuvet-evals inspect`: journals on disk to inspections, and those to text."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuvet.model.base import Value
from gpuvet_evals.assertions.job_spec import SpecChecker
from gpuvet_evals.assertions.patterns import Matcher
from gpuvet_evals.errors import UnreadableJournal
from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.inspection import Inspection, inspect_journal, inspection_json
from gpuvet_evals.journal import Journal, read_journal
from gpuvet_evals.locate import (
    RunPlace,
    evals_beside,
    files_of,
    identify,
    places_under,
    read_evals_file,
)
from gpuvet_evals.untrusted import clean


class BrokenRun(Value):
    """A journal that cannot be read; it costs only itself."""

    case: str
    error: str


class Inspections(Value):
    """What was inspected, and what could not be."""

    inspections: tuple[Inspection, ...]
    broken: tuple[BrokenRun, ...]


def load_journal(place: RunPlace) -> Journal:
    """Read the journal of a place.

    Raises:
        UnreadableJournal: It is missing or no journal.
    """
    try:
        return read_journal(place.journal.read_bytes())
    except OSError as error:
        raise UnreadableJournal(f"{place.case}: no journal: {error.strerror}") from error


def inspect_paths(
    paths: Sequence[Path],
    *,
    evals_path: Path | None = None,
    skill: str | None = None,
    eval_id: str | None = None,
    iteration: int | None = None,
    side: str | None = None,
    matcher: Matcher | None = None,
    checker: SpecChecker | None = None,
) -> Inspections:
    """Inspect every journal at or under the paths; what is not None overrides a place."""
    told = {"eval_id": eval_id, "iteration": iteration, "run_type": side}
    changes = {key: value for key, value in told.items() if value is not None}
    given = read_evals_file(evals_path) if evals_path else None
    inspections: list[Inspection] = []
    broken: list[BrokenRun] = []
    for path in paths:
        for place in places_under(path):
            evals = given or evals_beside(place.folder)
            if skill is not None:
                evals = EvalSet(skill_name=skill, evals=evals.evals if evals else ())
            try:
                asked = place.model_copy(update=changes)
                inspections.append(_inspect_place(asked, evals, matcher, checker))
            except UnreadableJournal as error:
                broken.append(BrokenRun(case=place.case, error=str(error)))
    return Inspections(inspections=tuple(inspections), broken=tuple(broken))


def inspections_text(shown: Inspections, *, as_json: bool, full: bool) -> str:
    """Return the inspections for people or for programs.

    One run is one JSON object; several, or any broken one, are `{runs, broken}`.
    """
    if not as_json:
        lines = [_paragraph(inspection) for inspection in shown.inspections]
        lines += [f"{clean(b.case)}\n  unreadable: {clean(b.error)}" for b in shown.broken]
        return "\n\n".join(lines)
    runs = [inspection_json(inspection, full=full) for inspection in shown.inspections]
    if len(runs) == 1 and not shown.broken:
        return json.dumps(runs[0], indent=1)
    broken = [b.model_dump() for b in shown.broken]
    return json.dumps({"runs": runs, "broken": broken}, indent=1)


def _inspect_place(
    place: RunPlace,
    evals: EvalSet | None,
    matcher: Matcher | None,
    checker: SpecChecker | None,
) -> Inspection:
    journal = load_journal(place)
    identity = identify(place, journal, evals)
    found = evals.find(identity.eval_id) if evals and identity.eval_id else None
    files = files_of(found, place.folder) if found else {}
    return inspect_journal(journal, identity, found, files=files, matcher=matcher, checker=checker)


def _paragraph(run: Inspection) -> str:
    return "\n".join(_lines(run))


def _lines(run: Inspection) -> Iterator[str]:
    counted = "counts" if run.counts_in_pass_rates else "kept out of the rates"
    trigger, metrics = run.trigger, run.metrics
    yield clean(run.identity.case)
    beginning = clean(run.answer.text, limit=70)
    yield f"  answer     {run.answer.status.value} ({counted}): {beginning}"
    yield (
        f"  trigger    {trigger.verdict.value}: {trigger.named_loads} named, "
        f"{trigger.ambiguous_loads} unnamed, {trigger.error_loads} refused"
    )
    yield f"  assertions {_assertion_counts(run)}"
    yield f"  read-only  {run.read_only.verdict.value}{_mutations(run)}"
    unsupported = (*run.grounding.unsupported_ids, *run.grounding.unsupported_numbers)
    yield f"  grounding  {_listed(unsupported) or 'nothing unsupported'}"
    yield f"  leaks      {_listed(run.leaks.account_ids_in_answer) or 'no account id'}"
    yield f"  took       {metrics.runtime}, {metrics.cost}, context {metrics.context_utilization}"
    unknown = sum(count for _, count in run.unknown_types)
    yield (
        f"  records    {metrics.records}, {unknown} of unknown type, "
        f"{run.malformed_records} malformed"
    )


def _assertion_counts(run: Inspection) -> str:
    if run.assertions is None:
        return "none"
    passed = sum(score.passed is True for _, score in run.scores)
    failed = sum(score.passed is False for _, score in run.scores)
    unjudged = sum(a.is_judged for a in run.assertions)
    return f"{passed} passed, {failed} failed, {unjudged} unjudged (on {run.answer.applies_to})"


def _mutations(run: Inspection) -> str:
    shown = run.read_only.model_dump(by_alias=True)["mutating_calls"]
    signs = [m.get("from") or f"{m['service']} {m['operation']}" for m in shown]
    return f": {_listed(signs)}" if signs else ""


def _listed(items: Sequence[str]) -> str:
    return ", ".join(clean(item, limit=100) for item in items)

"""`job_spec` assertions: the specs of a run go through gpuvet's check and its simulator.

`SpecChecker` is the seam: text and log in, codes and the first trip out; `spec_checker` fills it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from gpuvet.model.base import Value
from gpuvet_evals.assertions.patterns import PatternScore
from gpuvet_evals.evals_json import JobSpecExpectation
from gpuvet_evals.job_specs import FoundSpec, SpecSource
from gpuvet_evals.untrusted import clean

NO_TRIP = "none"  # a first_trip that expects no rule to trip
NO_ERROR_HANDED_OUT = "Every job spec the answer hands out is free of errors."
_SHOWN = 5


class SpecVerdict(Value):
    """What gpuvet says of one spec, over one log where there is one."""

    codes: tuple[str, ...]  # every code found, sorted
    errors: tuple[str, ...]  # of severity error, each as `HPJ024 line 12: message`
    first_trip: str | None = None  # the rule that trips first
    tripped_at_seconds: float | None = None
    problem: str | None = None  # why it could not be checked or simulated


class SpecChecker(Protocol):
    """Checks and simulates job specs."""

    def check(self, spec: str, log: str | None) -> SpecVerdict:
        """Return what is found in a spec, and which rule trips first over the log."""
        ...


class CheckedSpec(Value):
    """A spec of a run with its verdict."""

    spec: FoundSpec
    verdict: SpecVerdict

    @property
    def name(self) -> str:
        """Where it stands, worded."""
        if self.spec.source is SpecSource.ATTACHED:
            return f"file {clean(self.spec.where, limit=80)}"
        return "a tool's result" if self.spec.source is SpecSource.TOOL else "the answer"


def score_job_spec(
    expectation: JobSpecExpectation,
    specs: Sequence[FoundSpec],
    files: Mapping[str, str],
    checker: SpecChecker,
) -> PatternScore:
    """Return whether the specs of a run are as expected.

    Args:
        expectation: Of the eval.
        specs: All that were found; the expectation's source chooses among them.
        files: The eval's files by name, for its spec and its log.
        checker: Checks and simulates.
    """
    log = files.get(expectation.log) if expectation.log else None
    if expectation.log and log is None:
        return PatternScore(passed=None, error=f"no file {expectation.log!r} with the eval")
    wanted = list(_wanted(expectation, specs))
    if not wanted:
        where = "run" if expectation.source == "any" else expectation.source
        return PatternScore(passed=False, evidence=f"No job spec found in the {where}")
    checked = [CheckedSpec(spec=s, verdict=checker.check(s.text, log)) for s in wanted]
    if problems := [c.verdict.problem for c in checked if c.verdict.problem]:
        return PatternScore(passed=None, error=problems[0])
    failures = list(_failures(expectation, checked))
    shown = "; ".join(failures[:_SHOWN]) or _found(checked)
    return PatternScore(passed=not failures, evidence=shown)


def score_handed_out(specs: Sequence[FoundSpec], checker: SpecChecker) -> PatternScore | None:
    """Return whether the specs an answer hands out are free of errors; None where there is none."""
    checked = [CheckedSpec(spec=spec, verdict=checker.check(spec.text, None)) for spec in specs]
    if not checked:
        return None
    errors = [error for c in checked for error in c.verdict.errors]
    return PatternScore(passed=not errors, evidence="; ".join(errors[:_SHOWN]) or _found(checked))


def _wanted(expectation: JobSpecExpectation, specs: Sequence[FoundSpec]) -> Iterator[FoundSpec]:
    for spec in specs:
        if expectation.source in {"any", spec.source.value} and (
            expectation.spec is None or spec.where == expectation.spec
        ):
            yield spec


def _failures(expectation: JobSpecExpectation, checked: Sequence[CheckedSpec]) -> Iterator[str]:
    found = {code for c in checked for code in c.verdict.codes}
    for code in expectation.codes:
        if code not in found:
            yield f"{code} not found; found {', '.join(sorted(found)) or 'nothing'}"
    for code in expectation.absent:
        if code in found:
            yield f"{code} found"
    if expectation.clean:
        yield from (f"{c.name}: {error}" for c in checked for error in c.verdict.errors)
    if expectation.first_trip is not None:
        yield from _trip_failures(expectation.first_trip, checked)


def _trip_failures(wanted: str, checked: Sequence[CheckedSpec]) -> Iterator[str]:
    trips = [c.verdict.first_trip for c in checked]
    expected = None if wanted == NO_TRIP else wanted
    if expected not in trips:
        shown = ", ".join(trip or "nothing" for trip in trips)
        yield f"{wanted} expected to trip first; {shown} does"


def _found(checked: Sequence[CheckedSpec]) -> str:
    codes = sorted({code for c in checked for code in c.verdict.codes})
    count = f"{len(checked)} spec{'s' if len(checked) != 1 else ''} checked"
    trips = [c.verdict.first_trip for c in checked if c.verdict.first_trip]
    tripped = f"; {', '.join(trips)} trips first" if trips else ""
    return f"{count}: {', '.join(codes) or 'no finding'}{tripped}"

"""gpuvet's check of job specs and its simulator of log monitors, behind the seam of assertions."""

from functools import lru_cache

from gpuvet.errors import UsageError
from gpuvet.model.check import Severity
from gpuvet.modes.spec import check_text
from gpuvet.modes.spec_simulate import TEXT_LIMITS, simulate_spec
from gpuvet_evals.assertions.job_spec import SpecVerdict


class GpuvetChecker:
    """gpuvet's own checks and simulator; the same spec and log are looked at once."""

    def check(self, spec: str, log: str | None) -> SpecVerdict:
        """Return what is found in a spec, and which rule trips first over the log."""
        return _checked(spec, log)


@lru_cache(maxsize=512)  # a suite's tools give the same spec back run after run
def _checked(spec: str, log: str | None) -> SpecVerdict:
    try:
        report = check_text(spec)
        trip = simulate_spec(spec, text=log, limits=TEXT_LIMITS).first_trip if log else None
    except UsageError as error:
        return SpecVerdict(codes=(), errors=(), problem=str(error))
    errors = [f for f in report.findings if f.severity is Severity.ERROR]
    return SpecVerdict(
        codes=tuple(sorted({finding.code for finding in report.findings})),
        errors=tuple(f"{f.code} line {f.line}: {f.message}" for f in errors),
        first_trip=trip.rule if trip else None,
        tripped_at_seconds=trip.at_seconds if trip else None,
    )

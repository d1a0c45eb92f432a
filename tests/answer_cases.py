"""gpuvet's own reports of every case here, each with the evidence it was made from."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gpuvet.case import load_case
from gpuvet.case.raw_text import raw_texts
from gpuvet.modes.answer import MODES, Evidence, Held, hold, of_case, of_raw
from gpuvet.modes.window import Asked

CASES = Path(__file__).parent / "cases"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


class OwnReport(NamedTuple):
    """One report: its JSON, and as evidence."""

    case: str
    mode: str
    report: dict[str, Any]
    evidence: Evidence

    @property
    def id(self) -> str:
        """Which it is."""
        return f"{self.case} {self.mode}"


def case_paths() -> tuple[Path, ...]:
    """Return every case: field folders, scenarios, verdict cases."""
    return (
        *sorted((CASES / "field").glob("[0-9]*")),
        *sorted((CASES / "scenarios").glob("*.json")),
        *sorted((CASES / "verdicts").glob("*.json")),
    )


@cache
def own_reports(path: Path) -> tuple[OwnReport, ...]:
    """Return the incident, audit and preflight report of a case."""
    return tuple(_reports(path))


def _reports(path: Path) -> Iterator[OwnReport]:
    case = load_case(path)
    for mode in MODES:
        evidence = of_case(case, Asked(), NOW, modes=(mode,))
        yield OwnReport(path.stem, mode, dict(evidence.reports[0]), evidence)


@cache
def whole_evidence(path: Path) -> Held:
    """Return all reports of a case and its files, as `gpuvet answer check --case` takes them."""
    return hold(of_case(load_case(path), Asked(), NOW) + of_raw(raw_texts(path), path.name))

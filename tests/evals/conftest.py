"""The shared journals, for tests of the evals."""

from pathlib import Path

import pytest

from gpuvet_evals.evals_json import EvalSet, read_evals


@pytest.fixture
def journals() -> Path:
    return Path(__file__).parent.parent / "cases" / "journals"


@pytest.fixture
def shared_evals(journals: Path) -> EvalSet:
    return read_evals((journals / "evals.json").read_bytes())

"""What the harness raises on purpose; all but the last two are usage errors of gpuvet's tree.

UsageError (gpuvet.errors)
├── UnreadableJournal   a journal that is no JSON list of records, or out of bounds
├── UnreadableEvals     an evals.json, or a file beside it, that cannot be understood
├── UnreadableTree      a folder that holds no runs
└── ModelUnavailable    nothing can be asked: no key, a refused key, no SDK
GpuvetError
├── ModelFailed         one request failed, also after retries
└── BudgetSpent         what may be spent on a model is spent
"""

from gpuvet.errors import GpuvetError, UsageError

__all__ = [
    "BudgetSpent",
    "ModelFailed",
    "ModelUnavailable",
    "UnreadableEvals",
    "UnreadableJournal",
    "UnreadableTree",
]


class UnreadableJournal(UsageError):
    """A journal that is no JSON list of records, or that exceeds the bounds."""


class UnreadableEvals(UsageError):
    """Eval definitions, or a file beside them, that cannot be understood."""


class UnreadableTree(UsageError):
    """A folder that holds no runs, or none of the asked version."""


class ModelUnavailable(UsageError):
    """No model can be asked at all: no key, a key that is refused, or no SDK."""


class ModelFailed(GpuvetError):
    """One request failed, also after retries; the next may succeed."""


class BudgetSpent(GpuvetError):
    """What may be spent on a model is spent; nothing more is asked."""

"""What the harness raises on purpose; each is a usage error of gpuvet's tree.

UsageError (gpuvet.errors)
├── UnreadableJournal   a journal that is no JSON list of records, or out of bounds
├── UnreadableEvals     an evals.json that cannot be understood
└── UnreadableTree      a folder that holds no runs
"""

from gpuvet.errors import UsageError

__all__ = ["UnreadableEvals", "UnreadableJournal", "UnreadableTree"]


class UnreadableJournal(UsageError):
    """A journal that is no JSON list of records, or that exceeds the bounds."""


class UnreadableEvals(UsageError):
    """Eval definitions that cannot be understood."""


class UnreadableTree(UsageError):
    """A folder that holds no runs, or none of the asked version."""

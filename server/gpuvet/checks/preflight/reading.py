"""One source as a check sees it: its value, how far it was read, and what would close it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from gpuvet.model.evidence import Status

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """A source that was read, or why it was not.

    Attributes:
        what: The source in words, with its operation.
        status: How far it was read; only OK and OK_EMPTY make an absence a statement.
        value: What it gave; None where nothing was read.
        reason: Why it is not complete: denied, throttled, …
        closes_with: The call or permission that would complete it.
        evidence: Its evidence id.
    """

    what: str
    status: Status = Status.NOT_CHECKED
    value: T | None = None
    reason: str = "not asked"
    closes_with: str = ""
    evidence: str | None = None

    @property
    def is_complete(self) -> bool:
        """True when everything asked for was read."""
        return self.status.is_complete

    @property
    def is_supported(self) -> bool:
        """False where the source does not exist for this kind of cluster."""
        return self.status is not Status.NOT_SUPPORTED

    @property
    def was_refused(self) -> bool:
        """True where somebody could have read it: denied, throttled, cut short, not recorded."""
        return not self.is_complete and self.status not in {Status.NOT_SUPPORTED, Status.NOT_FOUND}

    @property
    def refs(self) -> tuple[str, ...]:
        """Its evidence id, as a tuple."""
        return (self.evidence,) if self.evidence else ()


def rows(reading: "Reading[tuple[T, ...]]") -> tuple[T, ...]:
    """Return what a listing gave; nothing where it was not read: ask its status before a "none"."""
    return reading.value or ()

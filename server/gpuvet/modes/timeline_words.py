"""What every gatherer's timeline shares: its pad, and rows for what was not read."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from gpuvet.model.cause import EventKind, TimelineEvent
from gpuvet.model.evidence import Envelope, Status

# incident-branches: the timeline reaches this far beyond the window on both sides.
TIMELINE_PAD = timedelta(minutes=30)


def not_read_rows(
    envelope: Envelope[Any] | None, source: str, what: str, now: datetime
) -> Iterator[TimelineEvent]:
    """Yield the row that makes a source's absence visible; one that does not apply has none."""
    if envelope is None or envelope.status.is_complete or envelope.status is Status.NOT_SUPPORTED:
        return
    why = envelope.reason or envelope.status
    yield TimelineEvent(
        at=envelope.called_at or now,
        source=source,
        kind=EventKind.UNREAD,
        what=f"source {what} not read: {why}"
        + (f" ({envelope.error_code})" if envelope.error_code else ""),
        evidence=(envelope.evidence,),
    )

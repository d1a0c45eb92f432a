"""The recorder: whatever a door answered, kept beside the question that it answers.

It stands right before the door, so that all that is above it can be run again from the tape. What
it hands on is what it keeps: secrets are gone from both.
"""

from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.model.evidence import Envelope
from gpuvet.record.masking import cleaned, cleaned_text

AWS = "aws"

Answer = Envelope[tuple[Page, ...]]


class Reading(NamedTuple):
    """One read as it was made and answered."""

    kind: str  # which door
    operation: str  # in that door's words
    params: Mapping[str, Any]
    region: str | None  # as asked; None: the door's own
    answer: Answer


class Tape:
    """Everything one question read, in the order of reading."""

    def __init__(self) -> None:
        self._readings: list[Reading] = []
        self._lock = Lock()

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What was read so far."""
        with self._lock:
            return tuple(self._readings)

    def take(
        self,
        kind: str,
        operation: str,
        params: Mapping[str, Any],
        answer: Answer,
        *,
        region: str | None = None,
    ) -> Answer:
        """Keep one answer of a door; return what of it may be handed on.

        Args:
            kind: Which door.
            operation: What was asked, in that door's words.
            params: With what; secrets in them are masked.
            answer: What it came to, failures too.
            region: As asked; None: the door's own.
        """
        pages = None if answer.value is None else tuple(cleaned(page) for page in answer.value)
        notes = tuple(cleaned_text(note) for note in answer.notes)
        kept = answer.model_copy(update={"value": pages, "notes": notes})
        with self._lock:
            self._readings.append(Reading(kind, operation, cleaned(params), region, kept))
        return kept

    def around(self, door: AwsDoor, kind: str = AWS) -> AwsDoor:
        """Return a door that answers as another and keeps what it answers.

        Args:
            door: Any door with the signature of `AwsDoor.read`.
            kind: Which door it is.
        """
        return _Taped(self, door, kind)


class _Taped:
    def __init__(self, tape: Tape, door: AwsDoor, kind: str) -> None:
        self._tape = tape
        self._door = door
        self._kind = kind

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Answer:
        answer = self._door.read(operation, params, region=region)
        return self._tape.take(self._kind, operation, params, answer, region=region)

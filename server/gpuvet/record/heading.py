"""What a recording says of itself: the question, its clock, and how it ended."""

from typing import Literal

from pydantic import AwareDatetime

from gpuvet.aws.budget import SCAN_GB
from gpuvet.model.base import Value
from gpuvet.model.evidence import Window
from gpuvet.model.target import Target

HEADING = "recording.json"
FORM = "gpuvet-recording/1"
ANSWERED = "answered"
SPEC_TEXT = "spec_text"  # the given word that holds a whole manifest

Word = str | int | float | bool | None


class Heading(Value):
    """The first file of a recording."""

    format: Literal["gpuvet-recording/1"] = "gpuvet-recording/1"
    gpuvet: str  # the version that recorded
    redacted: bool  # identifiers are stand-ins
    map: str | None = None  # names the local map that belongs to it
    now: AwareDatetime  # the clock of the whole question
    account: str | None = None
    region: str | None = None
    question: str | None = None
    target: Target
    max_scan_gb: float = SCAN_GB
    window: Window | None = None  # as asked, where one was
    failure_at: AwareDatetime | None = None
    given: tuple[tuple[str, Word], ...] = ()  # what the command was given besides
    ended: str = ANSWERED  # else why there may be less than was to be read
    readings: int = 0
    incomplete: int = 0  # readings that are neither OK nor OK_EMPTY

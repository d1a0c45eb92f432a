"""What may be said of a node, and on what grounds."""

from typing import Literal

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.words import FaultClass, Verdict

__all__ = ["Confidence", "DecidedBy", "FaultClass", "Ground", "NodeVerdict", "Verdict"]


Confidence = Literal["proven", "provisional"]


class Ground(Value):
    """One thing that was seen and that the verdict rests on."""

    what: str
    pci: str | None = None
    at: AwareDatetime | None = None
    source: str  # who wrote it: kernel, hma, nvidia-smi, …
    stream: str | None = None
    line: int | None = None
    raw: str | None = None
    evidence: str | None = None


class DecidedBy(Value):
    """The rule that set the verdict, so that a reader can look it up."""

    rule: str
    source: str


class NodeVerdict(Value):
    """The verdict on one node."""

    node: str
    verdict: Verdict
    fault_class: FaultClass = Field(validation_alias="class", serialization_alias="class")
    minimum_action: str
    confidence: Confidence
    grounds: tuple[Ground, ...] = ()
    cause: Ground | None = None
    open_check: str | None = None
    contradictions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    decided_by: DecidedBy | None = None

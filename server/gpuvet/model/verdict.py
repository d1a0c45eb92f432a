"""What may be said of a node, and on what grounds."""

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value


class Verdict(StrEnum):
    """One word per node, in the order of xid_rules §1."""

    REPLACE = "REPLACE"
    REBOOT = "REBOOT"
    UNVERIFIED = "UNVERIFIED"
    MONITOR = "MONITOR"
    LEAVE_ALONE = "LEAVE ALONE"
    NOT_OBSERVABLE = "NOT OBSERVABLE"

    @classmethod
    def _missing_(cls, value: object) -> "Verdict | None":
        """Read the underscore spelling of case files too."""
        if isinstance(value, str) and "_" in value:
            return cls(value.replace("_", " "))
        return None


class FaultClass(StrEnum):
    """What kind of thing an event speaks of."""

    HARDWARE = "hardware"
    APPLICATION = "application"
    SYMPATHETIC = "sympathetic"
    INFORMATIONAL = "informational"
    DRIVER_CONFIG = "driver_config"
    SOFTWARE_LINK = "software_link"
    QUALIFIER = "qualifier"
    UNKNOWN = "unknown"
    NONE = "none"


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
    fault_class: FaultClass = Field(alias="class")
    minimum_action: str
    confidence: Confidence
    grounds: tuple[Ground, ...] = ()
    cause: Ground | None = None
    open_check: str | None = None
    contradictions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    decided_by: DecidedBy | None = None

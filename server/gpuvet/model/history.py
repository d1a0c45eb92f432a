"""What befell a cluster's nodes before now: who told it, what was joined, and over which hours."""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.evidence import Window


class Teller(StrEnum):
    """A source that can tell of a fault or a replacement."""

    EVENTS = "HyperPod cluster events"
    TRAIL = "CloudTrail"
    LOGS = "node logs"
    SERVICES = "the cluster manager's log"
    STATUS = "EC2 status checks"
    HEALTH = "AWS Health"
    LAUNCHES = "launch times"


class Role(StrEnum):
    """What a word says happened to its node."""

    FAULT = "failed"  # a fault or a reboot: the node keeps its id
    LEFT = "left"
    CAME = "came"


class Weight(StrEnum):
    """What else must be told before a word counts as a fault or a replacement."""

    ALWAYS = "counts by itself"
    WITH_SUCCESSOR = "counts where a node came in its place"
    WITH_FAULT = "counts where another source says that the node failed"
    NEVER = "joins others, and says nothing alone"


class Told(Value):
    """One source's word about one node."""

    teller: Teller
    role: Role
    node: str
    at: AwareDatetime
    what: str
    weight: Weight = Weight.ALWAYS
    group: str | None = None
    failed: bool = False  # an attempt that did not succeed and was tried again
    evidence: str | None = None


class Sight(Value):
    """How far one source was seen; `spans` hold for every node, `hours` for one each."""

    teller: Teller
    spans: tuple[Window, ...] = ()
    hours: tuple[tuple[str, tuple[AwareDatetime, ...]], ...] = ()  # node, whole hours
    reason: str | None = None  # why it was not read, or not in full
    closes_with: str | None = None


class Life(Value):
    """When one node is known to have existed."""

    node: str
    start: AwareDatetime
    end: AwareDatetime
    group: str | None = None


class PastEvent(Value):
    """One fault or replacement, however many sources tell it."""

    at: AwareDatetime
    nodes: tuple[str, ...]
    what: str
    tellers: tuple[Teller, ...]
    evidence: tuple[str, ...] = ()

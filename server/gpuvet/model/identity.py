"""Replaced nodes: who asked, what was asked, what is there now, and which id followed which."""

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime

from gpuvet.model.base import Value


class RequestKind(StrEnum):
    """What a call does to a node."""

    REPLACE = "replace"  # HyperPod BatchReplaceClusterNodes
    REBOOT = "reboot"  # HyperPod BatchRebootClusterNodes: the id stays
    DELETE = "delete"  # HyperPod BatchDeleteClusterNodes: no successor
    TERMINATE = "terminate"  # EC2 TerminateInstances


class NodeRequest(Value):
    """One call of CloudTrail that names nodes."""

    at: AwareDatetime
    kind: RequestKind
    nodes: tuple[str, ...] = ()
    logical_ids: tuple[str, ...] = ()
    cluster: str | None = None  # name or ARN, as the call wrote it
    successful: tuple[str, ...] | None = None  # None: the answer lists none
    error_code: str | None = None
    caller: str | None = None  # userIdentity.arn
    invoked_by: str | None = None  # an AWS service on its own behalf
    evidence: str | None = None


class CurrentNode(Value):
    """A node as listed now."""

    node: str
    launched_at: AwareDatetime | None = None
    instance_type: str | None = None
    group: str | None = None  # instance group, or Slurm queue
    logical_id: str | None = None
    host: str | None = None
    ip: str | None = None
    pending: bool = False


class FormerNode(Value):
    """What is remembered of an id that may be gone."""

    node: str
    instance_type: str | None = None
    group: str | None = None
    logical_id: str | None = None
    host: str | None = None
    ip: str | None = None


class NodeEvent(Value):
    """A cluster event about one instance, as the service wrote it."""

    at: AwareDatetime
    node: str
    group: str | None = None
    description: str = ""


class LinkBasis(StrEnum):
    """What joins a successor to the id before it, strongest first."""

    LOGICAL_ID = "logical id"
    STREAM_GROUP = "stream group"
    CLUSTER_EVENT = "cluster event"
    HOST = "host name or address"
    LAUNCH_TIME = "launch time only"

    @property
    def is_proof(self) -> bool:
        """True for what only the same slot can share."""
        return self in {LinkBasis.LOGICAL_ID, LinkBasis.STREAM_GROUP, LinkBasis.CLUSTER_EVENT}


class Initiator(StrEnum):
    """Who caused a node to go or to come."""

    CUSTOMER = "customer"
    SLURM = "slurm"  # clustermgtd, by the head node's role
    SERVICE = "service"
    NODE_RECOVERY = "automatic node recovery"
    UNKNOWN = "service-initiated or unknown"


class Fate(StrEnum):
    """What became of a node that a call named."""

    REPLACED = "replaced"
    NOT_JOINED = "gone, its replacement has not joined"
    REMOVED = "removed"
    REBOOTED = "rebooted, same id"
    STILL_PRESENT = "still present"


class NodeFate(Value):
    """What became of one node, and who followed it."""

    node: str  # instance id, or the logical id where the call named only that
    fate: Fate
    at: AwareDatetime
    initiator: Initiator
    caller: str | None = None
    group: str | None = None
    successors: tuple[str, ...] = ()  # more than one: a set, individual pairing unknown
    basis: LinkBasis | None = None
    label: Literal["Proven", "Hypothesis"] | None = None  # of the link to its successors
    notes: tuple[str, ...] = ()
    evidence: str | None = None


class Arrival(Value):
    """A node that came, or is coming, without a call that names its predecessor."""

    node: str
    at: AwareDatetime | None
    initiator: Initiator
    why: str
    replaced: str | None = None  # the id an event or a condition names


class Identities(Value):
    """Everything that may be said of replaced nodes."""

    fates: tuple[NodeFate, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    attempts: tuple[str, ...] = ()  # calls that failed, in words

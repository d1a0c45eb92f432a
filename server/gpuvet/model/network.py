"""GPU communication: what NCCL, its watchdog and EFA say, and what the network is set up as.

Missing means not read, never zero: a group without its outbound list says nothing of it.
"""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.events import Record
from gpuvet.model.software import SoftwareVersion


class Transport(StrEnum):
    """What a line of NCCL says about the way data goes (incident-branches §D, layer 1)."""

    OFI_EFA = "OFI_EFA"
    OFI_NOT_EFA = "OFI_NOT_EFA"
    SOCKET = "SOCKET"
    IB_UNEXPECTED = "IB_UNEXPECTED"
    P2P = "P2P"
    NVLS = "NVLS"
    SHM = "SHM"


class NcclKind(StrEnum):
    """What sort of statement a line is; only a choice and a channel tell the transport."""

    CHOICE = "choice"  # the network or the provider that was selected
    CHANNEL = "channel"  # one connection between two ranks
    CANDIDATE = "candidate"  # a network that could be used: no choice yet
    PLUGIN = "plugin"  # the OFI plugin loaded, nothing more
    BOOTSTRAP = "bootstrap"  # out-of-band set-up over TCP, never the transport
    PLACE = "place"  # rank, GPU and bus of a communicator
    CONNECTED = "connected"  # rings and trees stand
    ERROR = "error"


class NcclError(StrEnum):
    """Kinds of errors; causes are only listed for them, never concluded from the text."""

    SET_UP = "set-up"  # a peer's address could not be taken over
    NO_PROVIDER = "no provider"
    MEMORY = "memory registration"
    REMOTE = "remote"
    OTHER = "other"


class NcclLine(Record):
    """One line that NCCL or its network plugin printed."""

    kind: NcclKind
    transport: Transport | None = None
    error: NcclError | None = None
    said: str = ""  # the words that matter: a provider, a path, a message
    host: str | None = None  # as NCCL prints it: a pod's or a node's host name
    pid: int | None = None
    device: int | None = None  # the local GPU in brackets
    from_rank: int | None = None
    to_rank: int | None = None
    receives: bool | None = None  # a channel's direction, seen from its host
    rank: int | None = None
    world_size: int | None = None  # of the communicator
    bus: str | None = None  # PCI id dddd:bb:dd


class WatchdogKind(StrEnum):
    """What ProcessGroupNCCL or the store reports."""

    TIMEOUT = "timeout"  # one collective, with its sequence number
    STATE = "state"  # last enqueued and completed work at a timeout
    DUMP_SIGNAL = "dump signal"  # another rank timed out; this one answers
    STUCK = "stuck"  # the watchdog itself made no progress
    BARRIER = "barrier"  # a monitored barrier names who did not come
    RENDEZVOUS = "rendezvous"  # a store that waited for clients


class WatchdogLine(Record):
    """One line of a rank about the collectives it waits for."""

    kind: WatchdogKind
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pod: str | None = None
    group_name: str | None = None  # of the process group
    sequence: int | None = None
    operation: str | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    last_enqueued: int | None = None
    last_completed: int | None = None
    signalled_by: int | None = None  # the rank whose timeout is answered
    missing_ranks: tuple[int, ...] = ()
    joined: int | None = None
    wanted: int | None = None


class PeerComplaint(Record):
    """One rank or node that says of another one that it does not answer."""

    reporter: str | None = None  # as written: an instance id, a host, rank N
    peer: str | None = None  # likewise; None: the line names nobody
    peer_address: str | None = None  # EFA address, without queue and key
    own_address: str | None = None
    error: str = ""


class RankPlace(Value):
    """Where a rank runs, as far as lines tell."""

    rank: int
    local_rank: int | None = None
    host: str | None = None
    pod: str | None = None
    node: str | None = None
    bus: str | None = None
    world_size: int | None = None


class FlightGroup(Value):
    """One process group in a flight recorder's dump."""

    group: str
    name: str | None = None
    ranks: tuple[int, ...] = ()
    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None
    open_sequence: int | None = None  # the first collective that did not complete
    open_operation: str | None = None
    open_state: str | None = None


class FlightDump(Value):
    """One rank's flight recorder."""

    file: str
    rank: int | None = None
    groups: tuple[FlightGroup, ...] = ()
    entries: int = 0


class NcclLog(Value):
    """Everything of GPU communication in some lines."""

    lines: tuple[NcclLine, ...] = ()
    watchdog: tuple[WatchdogLine, ...] = ()
    complaints: tuple[PeerComplaint, ...] = ()
    places: tuple[RankPlace, ...] = ()
    driver_links: tuple[
        str, ...
    ] = ()  # NVLink lines of the driver without an Xid, never classified
    benign: tuple[str, ...] = ()  # known warnings that mean nothing: kind, once each
    versions: tuple[SoftwareVersion, ...] = ()
    read: int = 0


class GroupPair(Value):
    """Another group in a rule."""

    group_id: str
    user_id: str | None = None
    peering_status: str | None = None


class Permission(Value):
    """One rule of a security group; protocol -1 is all traffic."""

    protocol: str
    from_port: int | None = None
    to_port: int | None = None
    pairs: tuple[GroupPair, ...] = ()
    cidrs: tuple[str, ...] = ()
    prefix_lists: tuple[str, ...] = ()


class PrefixList(Value):
    """The ranges that a managed prefix list stands for."""

    list_id: str
    cidrs: tuple[str, ...] = ()


class SecurityGroup(Value):
    """One group as read; None is a direction that the reply does not carry."""

    group_id: str
    owner: str | None = None
    vpc: str | None = None
    inbound: tuple[Permission, ...] | None = None
    outbound: tuple[Permission, ...] | None = None


class Interface(Value):
    """One network interface."""

    interface_id: str | None = None
    kind: str = "interface"  # interface, efa, efa-only
    groups: tuple[str, ...] | None = None
    subnet: str | None = None
    mac: str | None = None
    instance: str | None = None


class InstanceNetwork(Value):
    """How one node is attached."""

    node: str
    instance_type: str | None = None
    groups: tuple[str, ...] = ()
    interfaces: tuple[Interface, ...] | None = None
    subnet: str | None = None
    zone: str | None = None
    state: str | None = None

    @property
    def efa_attached(self) -> int | None:
        """EFA interfaces of either kind, or None where interfaces were not read."""
        if self.interfaces is None:
            return None
        return sum(1 for one in self.interfaces if one.kind in {"efa", "efa-only"})

    @property
    def group_sets(self) -> frozenset[frozenset[str]]:
        """The different sets of groups that this node's EFA interfaces carry."""
        own = frozenset(self.groups)
        efa = [one for one in self.interfaces or () if one.kind in {"efa", "efa-only"}]
        sets = {frozenset(one.groups) if one.groups is not None else own for one in efa} or {own}
        return frozenset(one for one in sets if one)


class EfaLimit(Value):
    """What an instance type can have."""

    instance_type: str
    supported: bool | None = None
    most: int | None = None
    gpus: int | None = None


class Route(Value):
    """One route of a table."""

    destination: str
    target: str | None = None
    state: str | None = None


class RouteTable(Value):
    """One route table and what it is associated with."""

    table: str
    vpc: str | None = None
    subnets: tuple[str, ...] = ()
    is_main: bool = False
    routes: tuple[Route, ...] = ()


class RuleChange(Value):
    """One call that changed a rule of a security group."""

    name: str  # AuthorizeSecurityGroupEgress, …
    at: AwareDatetime
    group_id: str
    by: str | None = None
    failed: bool = False
    evidence: str | None = None


class EfaPoint(Value):
    """One datapoint of a counter."""

    at: AwareDatetime
    value: float


class EfaSeries(Value):
    """One EFA counter over time, as published: cumulative or per period."""

    counter: str  # without the exporter's prefix
    node: str | None = None
    device: str | None = None
    period_seconds: int = 60
    points: tuple[EfaPoint, ...] = ()
    source: str = ""
    evidence: str | None = None


class EfaReading(Value):
    """One EFA counter as one number, without a time."""

    counter: str
    value: float
    node: str | None = None
    device: str | None = None
    file: str = ""


class PodRequest(Value):
    """What one container of a manifest or a pod asks for."""

    file: str
    kind: str
    name: str | None = None
    container: str | None = None
    replicas: int | None = None
    gpus: int | None = None
    efa: int | None = None  # None: not asked for
    environment: tuple[tuple[str, str], ...] = ()  # FI_ and NCCL_ names only


class PeerCount(Value):
    """How often a peer was named, and by whom."""

    peer: str
    lines: int
    reporters: tuple[str, ...]


class Suspect(Value):
    """Who should be looked at first, and why."""

    rank: int | None = None
    pod: str | None = None
    host: str | None = None
    node: str | None = None
    local_rank: int | None = None
    bus: str | None = None
    why: tuple[str, ...] = ()


class GuiltyFinding(Value):
    """What the ranks say of each other. Always a hypothesis: a rank that is late is a symptom."""

    suspects: tuple[Suspect, ...] = ()
    behind: tuple[int, ...] = ()  # ranks whose last work lies before the others'
    ahead: tuple[int, ...] = ()  # a few ranks with work that the others never began
    never_reported: tuple[int, ...] = ()
    reporters: tuple[int, ...] = ()
    world_size: int | None = None
    peers: tuple[PeerCount, ...] = ()
    facts: tuple[str, ...] = ()
    confirming: str | None = None
    evidence: tuple[str, ...] = ()

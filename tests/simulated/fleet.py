"""A made-up cluster of any size: its nodes, its log groups and streams, and what stands in them.

Streams are named as each orchestrator's agents name them. A stream is a rule, not a list of
lines: so many lines every hour of its life, none in the hours it was dark, and a few events with
a text.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

Kind = Literal["hyperpod", "parallelcluster", "eks", "ec2"]

NOW = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)
CLUSTER = "train-a"
CLUSTER_ID = "0a1b2c3d4e5f"
ACCOUNT, REGION = "111122223333", "us-west-2"
HOUR = 3_600
# coverage.md: files the agent of a ParallelCluster compute node ships beside its system log.
_SERVICES = (
    *("cloud-init", "cloud-init-output", "chef-client", "supervisord", "computemgtd"),
    *("slurmd", "slurm_health_check"),
)


@dataclass(frozen=True, slots=True)
class Event:
    """One line with its text, at epoch seconds."""

    at: float
    text: str


@dataclass(slots=True)
class Stream:
    """One log stream; times in epoch seconds, hours as the epoch seconds they begin at."""

    group: str
    name: str
    born: float
    lines_an_hour: int = 40
    kernel_an_hour: int = 4
    died: float | None = None
    dark: frozenset[int] = frozenset()
    events: list[Event] = field(default_factory=list[Event])
    kernel_text: str = "kernel:"

    def lines_of(self, hour: int, now: float) -> tuple[int, int]:
        """Return all lines and kernel lines of the hour that begins at epoch seconds."""
        end = min(now, now if self.died is None else self.died)
        if hour in self.dark or hour + HOUR <= self.born or hour >= end:
            return 0, 0
        return self.lines_an_hour, self.kernel_an_hour


@dataclass(slots=True)
class Group:
    """One log group."""

    name: str
    created: float
    log_class: str = "STANDARD"
    retention_days: int | None = 90
    streams: dict[str, Stream] = field(default_factory=dict[str, Stream])

    def add(self, stream: Stream) -> Stream:
        """Keep a stream under its name."""
        self.streams[stream.name] = stream
        return stream


@dataclass(frozen=True, slots=True)
class Node:
    """One node as the control plane lists it."""

    id: str
    host: str
    address: str
    group: str
    launched: datetime


@dataclass(slots=True)
class Fleet:
    """A cluster and the log groups of its account."""

    kind: Kind
    nodes: tuple[Node, ...]
    groups: dict[str, Group]
    now: datetime = NOW

    def group(self, name: str, **more: object) -> Group:
        """Return a group, made on first use."""
        if name not in self.groups:
            created = (self.now - timedelta(days=60)).timestamp()
            self.groups[name] = Group(name, created, **more)  # type: ignore[arg-type]  # its fields
        return self.groups[name]

    def carriers(self) -> Iterator[tuple[Node, Stream]]:
        """Yield every node with the stream of its system log."""
        for node in self.nodes:
            group, name = kernel_stream(self.kind, node)
            yield node, self.groups[group].streams[name]

    def carrier(self, place: int) -> Stream:
        """Return the system log of a node by its place."""
        group, name = kernel_stream(self.kind, self.nodes[place])
        return self.groups[group].streams[name]


def node(place: int, launched: datetime) -> Node:
    """Return a node by its place in the fleet."""
    address = f"10.{place // 62_500}.{place // 250 % 250}.{place % 250 + 4}"
    return Node(
        id=f"i-0{place * 2_654_435_761 % 16**16:016x}",
        host=f"ip-{address.replace('.', '-')}",
        address=address,
        group=f"workers-{place // 512}",
        launched=launched,
    )


def kernel_stream(kind: Kind, one: Node) -> tuple[str, str]:
    """Return group and name of the stream that carries a node's system log."""
    match kind:
        case "hyperpod":
            return f"/fleet/{CLUSTER}/kernel", f"{one.id}/messages"
        case "parallelcluster":
            return GROUPS[kind], f"{one.host}.{one.id}.system-messages"
        case "eks":
            return GROUPS[kind], f"{one.host}.{REGION}.compute.internal-host.messages"
        case "ec2":
            return GROUPS[kind], one.id


GROUPS: Mapping[Kind, str] = {
    "hyperpod": f"/aws/sagemaker/Clusters/{CLUSTER}/{CLUSTER_ID}",
    "parallelcluster": f"/aws/parallelcluster/{CLUSTER}-202601010000",
    "eks": f"/aws/containerinsights/{CLUSTER}/host",
    "ec2": "/ec2/train/syslog",
}


def fleet(
    kind: Kind, count: int, *, now: datetime = NOW, log_class: str = "STANDARD", others: int = 0
) -> Fleet:
    """Return a healthy cluster.

    Args:
        kind: Who runs it; it decides groups and names.
        count: Nodes.
        now: The end of all logs.
        log_class: Of the groups of the nodes.
        others: Log groups of the account that are nobody's here.
    """
    launched = now - timedelta(days=20)
    made = Fleet(kind, tuple(node(place, launched) for place in range(count)), {}, now)
    for one in made.nodes:
        _ship(made, one, log_class)
    for place in range(others):
        made.group(f"/lambda/function-{place:05d}")
    return made


def _ship(made: Fleet, one: Node, log_class: str) -> None:
    """Give a node the streams its orchestrator's agents would."""
    kind, born = made.kind, one.launched.timestamp()
    group, name = kernel_stream(kind, one)
    made.group(group, log_class=log_class).add(Stream(group, name, born))
    beside = made.group(GROUPS[kind], log_class=log_class)
    match kind:
        case "hyperpod":
            beside.add(Stream(beside.name, "ClusterMetrics/slurm", born, 12, 0))
            beside.add(
                Stream(beside.name, f"LifecycleConfig/{one.group}/{one.id}", born, 30, 0, born + 60)
            )
        case "parallelcluster":
            for service in _SERVICES:
                beside.add(Stream(beside.name, f"{one.host}.{one.id}.{service}", born, 5, 0))
        case "eks":
            stem = f"{one.host}.{REGION}.compute.internal-host"
            beside.add(Stream(beside.name, f"{stem}.dmesg", born, 200, 0, born + 60))
            beside.add(Stream(beside.name, f"{stem}.secure", born, 3, 0))
        case "ec2":
            pass


def xid(stream: Stream, code: int, at: datetime, bus: str = "0000:53:00") -> None:
    """Write an Xid of the driver into a stream."""
    stamp = f"{at:%b} {at.day:2d} {at:%H:%M:%S}"
    text = (
        f"{stamp} host kernel: NVRM: Xid (PCI:{bus}): {code}, pid='<unknown>', name=<unknown>, "
        "GPU has fallen off the bus."
    )
    stream.events.append(Event(at.timestamp(), text))


def detection(made: Fleet, one: Node, code: int, at: datetime) -> Stream:
    """Let HyperPod's health agent report an Xid; its stream begins with the first detection."""
    group = made.group(GROUPS["hyperpod"])
    name = f"SagemakerHealthMonitoringAgent/{one.group}/{one.id}"
    stream = group.streams.get(name) or group.add(Stream(group.name, name, at.timestamp(), 0, 0))
    said = (
        "Node condition NvidiaErrorReboot is now: True, reason: XidHardwareFailure, message: "
        f'"NVRM: Xid (PCI:0000:b9:00): {code}, pid=1, name=python"'
    )
    text = json.dumps(
        {
            "level": "info",
            "ts": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            "msg": "NPD caught event: %v",
            "details: ": {
                "severity": "warn",
                "timestamp": f"{at:%Y-%m-%dT%H:%M:%SZ}",
                "reason": "XidHardwareFailure",
                "message": said,
            },
            "HealthMonitoringAgentDetectionEvent": "HealthEvent",
        }
    )
    stream.events.append(Event(at.timestamp(), text))
    return stream

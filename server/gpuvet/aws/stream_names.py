"""What the name of a log stream tells: whose it is, and what it carries (log_sources §1, §2)."""

import re
from collections.abc import Sequence

from gpuvet.aws.door import LogStream, NodeName
from gpuvet.model.coverage import Shipper

# Parts of stream names (log_sources §1) and what such a stream carries; a part stands between
# slashes, or ends the name after a dot or a dash.
_PARTS = (
    (Shipper.HOST_SYSLOG, r"system-messages|syslog|messages"),
    (Shipper.KERNEL_ONLY, r"dmesg|kernel|kern\.log"),
    (Shipper.JOURNAL_ALL, r"journal|journald"),
    (
        Shipper.SERVICE,
        r"slurm(?:ctld|dbd|d|_\w+)|c(?:loud-init|fn-init|hef-client)(?:-output)?|\w+mgtd(?:_events)?",
    ),
)
_KINDS = tuple(
    (kind, re.compile(rf"(?:^|[/.-])(?:{part})(?:$|/(?!var))")) for kind, part in _PARTS
)


def stream_shipper(stream: str) -> Shipper:
    """Return what a stream carries, as far as its name tells."""
    if stream.startswith("SagemakerHealthMonitoringAgent/"):
        return Shipper.HMA
    if stream.startswith(("LifecycleConfig/", "DeepHealthCheckResults/", "ClusterMetrics/")):
        return Shipper.SERVICE
    if "-application.var.log.containers." in stream:
        return Shipper.APP
    kinds = (kind for kind, part in _KINDS if part.search(stream))
    return next(kinds, Shipper.UNKNOWN)


def holds_name(text: str, name: str) -> bool:
    """Say whether a text carries a name as a whole word: i-0abc is not in i-0abcd."""
    found = re.search(rf"(?<![0-9A-Za-z]){re.escape(name)}(?![0-9A-Za-z])", text)
    return bool(name) and found is not None


def owned_streams(group: str, stream: str, nodes: Sequence[NodeName]) -> list[LogStream]:
    """Return a stream once for each node whose name it carries; several of them share it."""
    owners = [
        node.node
        for node in nodes
        if any(holds_name(stream, name) for name in (node.node, *node.aliases))
    ]
    return [
        LogStream(
            node=owner,
            group=group,
            stream=stream,
            shared_with=tuple(other for other in owners if other != owner),
        )
        for owner in owners
    ]

"""What a Managed Prometheus workspace says of nodes: numbers of devices, changes, spans.

Missing means not collected, never zero.
"""

from pydantic import AwareDatetime

from gpuvet.model.base import Value


class WorkspaceAddress(Value):
    """One workspace and where it is."""

    workspace: str
    region: str
    via: str = "amp:ListWorkspaces"  # what named it


class NodeLabel(Value):
    """Which label of a metric names our nodes, and by which values."""

    metric: str
    label: str
    values: tuple[tuple[str, str], ...]  # label value, node
    devices: tuple[str, ...] = ()  # labels that tell a node's devices apart

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes whose series were found."""
        return tuple(sorted({node for _, node in self.values}))


class DeviceNumber(Value):
    """One number about one device of a node, over a span that ends at the question's end."""

    metric: str
    node: str
    value: float
    gpu: str | None = None
    uuid: str | None = None
    pci: str | None = None  # dddd:bb:dd
    device: str | None = None
    evidence: str | None = None


class XidChange(Value):
    """The last-Xid gauge of one GPU took another value: some Xid of that code came before `at`."""

    node: str
    code: int
    before: int  # the value it had; 0 is none since the exporter started
    at: AwareDatetime  # the first sample with the new code
    precision_seconds: int  # from the sample before it
    gpu: str | None = None
    uuid: str | None = None
    pci: str | None = None
    workspace: str = ""
    evidence: str | None = None


class NotReadySpan(Value):
    """A node was not Ready, or not known to be, as kube-state-metrics saw it."""

    node: str
    since: AwareDatetime
    until: AwareDatetime | None = None
    precision_seconds: int = 60
    evidence: str | None = None

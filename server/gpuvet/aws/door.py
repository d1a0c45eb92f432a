"""The doors: the only ways to AWS and to logs, each with a live and a recorded side.

Nothing above this module knows which side it talks to. A denied, throttled, capped or unrecorded
reading comes back as a status with its reason, never as an empty answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gpuvet.model.base import Value
from gpuvet.model.coverage import HourCount, StreamCounts
from gpuvet.model.evidence import Envelope, Reason, Window

Page = Mapping[str, Any]


class AwsDoor(Protocol):
    """One read operation of AWS, all its pages."""

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return every page of one read, e.g. of 'sagemaker:ListClusterNodes'.

        Args:
            operation: `service:Operation`, with boto3's client name.
            params: The operation's own parameters.
            region: Another region than the door's own.

        Raises:
            NotReadOnly: The operation is not on the list of reads.
        """
        ...


class NodeName(Value):
    """A node and the names its streams may carry."""

    node: str
    aliases: tuple[str, ...] = ()  # host, private DNS name, hyperpod-i-…, dashed address
    groups: tuple[str, ...] = ()  # log groups to look in first


class LogStream(Value):
    """One stream that carries lines of one node."""

    node: str
    group: str | None
    stream: str
    shared_with: tuple[str, ...] = ()


class LogLine(Value):
    """One line as shipped, with the place to find it again."""

    node: str
    group: str | None
    stream: str
    line: int
    text: str
    shipped_at_ms: int | None = None  # CloudWatch timestamp, where the store has one
    ingested_at_ms: int | None = None


class LineSearch(Value):
    """Lines wanted by what stands in them, wherever in some groups they are.

    Attributes:
        pattern: A regular expression both Logs Insights and Python read alike, without slashes.
        groups: Prefixes of log groups; what a case holds in files counts whatever its group.
        window: When the lines were shipped.
        streams: A regular expression that stream names match; None: any stream.
    """

    pattern: str
    groups: tuple[str, ...]
    window: Window
    streams: str | None = None


class LineGap(Value):
    """A span of a stream whose lines were not all read."""

    node: str
    group: str | None
    stream: str
    window: Window
    reason: Reason | None = None


class LogDoor(Protocol):
    """Logs of nodes: which streams, how many lines an hour, and the lines that matter."""

    def streams(
        self,
        nodes: Sequence[NodeName],
        window: Window | None = None,
        *,
        lines: Sequence[Window] = (),
    ) -> Envelope[tuple[LogStream, ...]]:
        """Return every stream that carries lines of these nodes.

        Args:
            nodes: Whose.
            window: Where streams are too many to list, those that wrote in it are found; None:
                the window asked about before.
            lines: Windows of which `gpu_lines` will be asked next: they are begun.
        """
        ...

    def group_streams(self, prefix: str) -> Envelope[tuple[LogStream, ...]]:
        """Return every stream of the groups under a prefix, whoever's; their node is empty."""
        ...

    def hourly_counts(
        self, streams: Sequence[LogStream], window: Window
    ) -> Envelope[tuple[StreamCounts, ...]]:
        """Return lines per epoch hour of each stream; hours without lines are left out."""
        ...

    def group_hours(self, prefix: str, window: Window) -> Envelope[tuple[HourCount, ...]]:
        """Return lines per epoch hour of all groups under a prefix, whoever wrote them."""
        ...

    def gpu_lines(
        self, streams: Sequence[LogStream], window: Window
    ) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines that may speak of a GPU, a boot or an agent, in stream order."""
        ...

    def unread_lines(self, streams: Sequence[LogStream], window: Window) -> tuple[LineGap, ...]:
        """Return where `gpu_lines` of the same streams and window did not read everything."""
        ...

    def lines_like(
        self, streams: Sequence[LogStream], window: Window, pattern: str
    ) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines that match a pattern of ours, in stream order.

        What is in hand anyway may come whole: whoever reads the lines sorts them out.

        Args:
            streams: Exact streams.
            window: Start included, end not.
            pattern: A regular expression without slashes; never a user's.
        """
        ...

    def find(self, search: LineSearch) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines a search asks for; the node of a line is empty where none is known."""
        ...

    def begin(
        self,
        *,
        searches: Sequence[LineSearch] = (),
        like: Sequence[tuple[Sequence[LogStream], Window, str]] = (),
        hours: Sequence[tuple[str, Window]] = (),
        others: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> None:
        """Start what will be asked for soon, the most deciding first; nothing is waited for.

        Args:
            searches: For `find`.
            like: Arguments of `lines_like`.
            hours: Prefixes and windows of `group_hours`.
            others: Reads of the AWS door, operation and parameters, to make while queries run.
        """
        ...

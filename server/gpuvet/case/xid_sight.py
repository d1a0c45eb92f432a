"""What makes "0 Xids" a statement about a node: its log in hand, or a complete search over it."""

from collections.abc import Sequence
from typing import NamedTuple

from gpuvet.aws.stream_names import holds_name
from gpuvet.case.case import Case
from gpuvet.case.inventory import nodes
from gpuvet.model.case import CaseForm, FileKind, FileStatus, LogSearch

_KERNEL_KINDS = frozenset({FileKind.KERNEL_LOG, FileKind.JOURNAL, FileKind.BUG_REPORT})


class XidSight(NamedTuple):
    """Where a node's Xid lines would have been seen. Neither: nothing may be said of them."""

    logs: tuple[str, ...] = ()  # files with the node's kernel lines, read to their end
    searches: tuple[LogSearch, ...] = ()  # complete searches for Xids over its streams

    @property
    def can_say_none(self) -> bool:
        """Say whether an absence of Xid lines means anything here."""
        return bool(self.logs or self.searches)


def xid_sight(case: Case, node: str, aliases: Sequence[str] | None = None) -> XidSight:
    """Return the logs and searches that would have shown an Xid of a node.

    A verdict case declares coverage instead; its lines are all there are. A scenario's log door
    searches by itself: the status of its answer says the same.

    Args:
        case: Where they are.
        node: Instance id.
        aliases: Its other names, where the caller has listed the nodes already.
    """
    if case.meta.form is CaseForm.VERDICT:
        return XidSight(logs=tuple(sorted(name for one, name in case.named if one == node)))
    logs = (
        report.path
        for report in case.files
        if report.kind in _KERNEL_KINDS
        and report.status is FileStatus.READ
        and node in report.nodes
    )
    names = aliases
    if names is None:
        names = next((one.aliases for one in nodes(case) if one.node == node), ())
    searches = (
        search
        for search in case.searches
        if search.is_for_xids
        and search.status.is_complete
        and any(holds_name(stream, name) for stream in search.streams for name in (node, *names))
    )
    return XidSight(tuple(sorted(logs)), tuple(searches))

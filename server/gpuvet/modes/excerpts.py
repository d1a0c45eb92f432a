"""Raw logs of a case that hold fewer lines than were counted of the same nodes.

People keep what a search left beside the counts of the whole stream. Such a file is taken for the
result of a search for driver lines, and that this was assumed is said.
"""

from collections.abc import Iterator, Mapping

from gpuvet.case import Case, xid_sight
from gpuvet.model.coverage import Shipper
from gpuvet.model.report import NotSeenRow
from gpuvet.modes.evidence import Gathered
from gpuvet.report.words import counted, some


def excerpt_rows(case: Case, gathered: Gathered) -> Iterator[NotSeenRow]:
    """Yield a row for the raw logs that must be excerpts of what was counted, if any is one."""
    if case.meta.form.searches_by_itself:
        return
    held = {report.path: report.lines for report in case.files}
    arrived = _counted(gathered)
    of_file: dict[str, list[str]] = {}
    for node in gathered.nodes:
        for path in xid_sight(case, node.node, node.aliases).logs:
            of_file.setdefault(path, []).append(node.node)
    total = {path: sum(arrived.get(node, 0) for node in own) for path, own in of_file.items()}
    cut = [path for path in of_file if path in held and held[path] < total[path]]
    if cut:
        lines = counted(sum(held[path] for path in cut), "line")
        yield NotSeenRow(
            what=f"the rest of {some(cut, 2)}: {lines} in hand, "
            f"{sum(total[path] for path in cut):,} counted",
            reason="an excerpt, taken for what a search for driver lines left",
            closes_with="the whole log, or the search with its status",
            nodes=tuple(dict.fromkeys(node for path in cut for node in of_file[path])),
        )


def _counted(gathered: Gathered) -> Mapping[str, int]:
    """Return the lines that were counted of each node's own streams in the window."""
    return {
        node: sum(
            one_hour.lines
            for one in streams
            if one.shipper is not Shipper.HMA
            for one_hour in one.bins
        )
        for node, streams in gathered.logs.counts.items()
    }

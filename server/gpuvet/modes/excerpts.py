"""Raw logs of a case that hold fewer lines than were counted of the same nodes.

People keep what a search left beside the counts of the whole stream. Such a file is taken for the
result of a search for driver lines, and that this was assumed is said. One that ends inside a line
is no result of a search: it was cut.
"""

from collections.abc import Iterator

from gpuvet.case import Case, xid_sight
from gpuvet.model.report import NotSeenRow
from gpuvet.modes.evidence import Gathered
from gpuvet.modes.node_coverage import lines_of
from gpuvet.report.words import counted, some

_CUT = "cut: it ends inside a line"
_EXCERPT = "an excerpt, taken for what a search for driver lines left"


def excerpt_rows(case: Case, gathered: Gathered) -> Iterator[NotSeenRow]:
    """Yield a row for the raw logs that must be excerpts of what was counted, if any is one."""
    if case.meta.form.searches_by_itself:
        return
    held = {report.path: report for report in case.files}
    arrived = {node: lines_of(streams) for node, streams in gathered.logs.counts.items()}
    of_file: dict[str, list[str]] = {}
    for node in gathered.nodes:
        for path in xid_sight(case, node.node, node.aliases).logs:
            of_file.setdefault(path, []).append(node.node)
    total = {path: sum(arrived.get(node, 0) for node in own) for path, own in of_file.items()}
    short = [path for path in of_file if path in held and held[path].lines < total[path]]
    for is_torn, reason in ((True, _CUT), (False, _EXCERPT)):
        cut = [path for path in short if held[path].ends_in_a_line is is_torn]
        if not cut:
            continue
        lines = counted(sum(held[path].lines for path in cut), "line")
        yield NotSeenRow(
            what=f"the rest of {some(cut, 2)}: {lines} in hand, "
            f"{sum(total[path] for path in cut):,} counted",
            reason=reason,
            closes_with="the whole log, or the search with its status",
            nodes=tuple(dict.fromkeys(node for path in cut for node in of_file[path])),
        )

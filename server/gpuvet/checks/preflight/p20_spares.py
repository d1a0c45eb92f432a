"""P20: the cluster has the nodes the run needs, and one more."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, combine, unread
from gpuvet.checks.preflight.p03_replacement import replacement
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.report.words import counted


def spares(view: View) -> Iterator[Part]:
    """Compare running nodes with those the run needs."""
    name = view.cluster_name or "the cluster"
    need = view.run.nodes_needed
    if not view.listed.is_complete:
        yield unread(view.listed, name)
        return
    running = [n for n in view.nodes if n.state in {None, "Running", "running"}]
    counts = {"running": len(running)} | ({"nodes_needed": need} if need is not None else {})
    refs = view.listed.refs
    told = f"{counted(len(running), 'accelerated node')} running"
    if need is None:
        closes = "say how many nodes the run takes (--nodes)"
        why = f"{told}; how many the run needs was not told"
        yield Part(CheckStatus.NEEDS_INPUT, name, why, counts, closes_with=closes, evidence=refs)
    elif len(running) < need:
        yield Part(
            CheckStatus.FAIL,
            name,
            f"{told}, the run needs {need} ({view.run.nodes_from})",
            counts,
            action=f"bring {need - len(running)} more nodes up before the run",
            evidence=refs,
            notes=view.waiting,
        )
    elif len(running) == need and combine(replacement(view)).status is not CheckStatus.PASS:
        yield Part(
            CheckStatus.RISK,
            name,
            f"{told}, the run needs all of them, and no replacement is shown to be at hand (P3)",
            counts,
            action="keep one node idle as a spare, or plan for a stop",
            evidence=refs,
            notes=view.waiting,
        )
    else:
        why = f"{told}, the run needs {need}"
        yield Part(CheckStatus.PASS, name, why, counts, evidence=refs, notes=view.waiting)


P20 = PreflightCheck(
    "P20",
    "the cluster has the nodes the run needs",
    "the list of nodes; nodes needed, as told or as the job spec says",
    "FAIL: fewer than needed. RISK: exactly as many, without a spare (P3). NEEDS_INPUT: nobody "
    "said how many",
    "ours",
    spares,
)

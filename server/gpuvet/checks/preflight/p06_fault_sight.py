"""P6: GPU faults during the run will be visible."""

from collections.abc import Iterator
from datetime import timedelta

from gpuvet.checks.preflight.outcome import Number, Part, PreflightCheck, no_node, stamp, unread
from gpuvet.checks.preflight.view import RunNode, View
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import NotSeen
from gpuvet.model.coverage import VISIBLE, CoverageStatus, Gate, NodeCoverage, Shipper
from gpuvet.model.events import HmaRecord

# preflight P6: a gap this young means that logs are not arriving now.
RECENT = timedelta(hours=6)
_APPLICATION = "XidUserAppError"
_KERNEL_LOGS = frozenset({Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY})


def fault_sight(view: View) -> Iterator[Part]:
    """Read the last 24 h of every accelerated node's coverage."""
    if not view.listed.is_complete:
        yield unread(view.listed, "the list of nodes")
    if not view.nodes:
        yield no_node()
    for node in view.nodes:
        yield _sight(view, node)
        yield from _detections(node)


def _sight(view: View, node: RunNode) -> Part:
    coverage = node.coverage
    source = next((s for s in coverage.sources if s.status is coverage.status), None)
    where = f"{source.group or 'file'} {source.stream or ''}".strip() if source else "no stream"
    counts: dict[str, Number] = {
        "hours_measured": coverage.hours_measured,
        "hours_asked": coverage.hours_asked,
    }
    refs = (source.evidence,) if source and source.evidence else ()
    status, why = _judged(view, node)
    lost = _lost(view, node)
    closes = lost.closes_with if lost is not None else f"the lines per hour of {where}"
    notes = ("a live group without detections shows that the agent's silence counts",)
    is_agent = coverage.status is CoverageStatus.NO_HMA_DETECTIONS
    return Part(
        status,
        node.node,
        f"{node.node}: {why} ({where})",
        numbers=counts,
        action=f"make the kernel log or the health agent of {node.node} arrive in {where}"
        if status in {CheckStatus.FAIL, CheckStatus.RISK}
        else None,
        closes_with=closes if status is CheckStatus.UNVERIFIED else None,
        evidence=refs,
        notes=notes if is_agent else (),
        unread=status is CheckStatus.UNVERIFIED,
    )


def _lost(view: View, node: RunNode) -> NotSeen | None:
    """Return a reading of a node's logs that did not succeed, if one did not."""
    return next((one for one in view.logs_unread if node.node in (one.nodes or (node.node,))), None)


def _judged(view: View, node: RunNode) -> tuple[CheckStatus, str]:
    status = node.coverage.status
    holed = _holed_and_unsearched(node.coverage)
    if status in VISIBLE and holed is None:
        return CheckStatus.PASS, status.value
    if status in VISIBLE:
        told = f"{holed} has holes and was not searched to its end; the agent alone speaks"
        return CheckStatus.UNVERIFIED, f"{status.value}: {told}"
    # What a refused reading leaves dark may well be lit.
    lost = _lost(view, node)
    if lost is not None:
        return CheckStatus.UNVERIFIED, f"{status.value}, with {lost.what} not read ({lost.reason})"
    if not view.is_known and status is not CoverageStatus.NOT_APPLICABLE:
        return CheckStatus.UNVERIFIED, f"{status.value}; which agents run here is not known"
    if status in {CoverageStatus.UNVERIFIED, CoverageStatus.INSUFFICIENT_EXPOSURE}:
        return CheckStatus.UNVERIFIED, f"{status.value}: its hours could not be read"
    if status is CoverageStatus.PARTIAL:
        gaps = node.coverage.empty_hours
        youngest = max(gaps, default=None)
        is_recent = youngest is not None and view.now - youngest <= RECENT
        when = f", the last one {stamp(youngest)}" if youngest else ""
        told = f"{len(gaps)} of {node.coverage.hours_asked} hours empty{when}"
        return (CheckStatus.FAIL if is_recent else CheckStatus.RISK), told
    if status is CoverageStatus.NOT_APPLICABLE:
        return CheckStatus.NOT_APPLICABLE, "no accelerator"
    return CheckStatus.FAIL, f"{status.value}: no source would show a GPU fault"


def _holed_and_unsearched(coverage: NodeCoverage) -> str | None:
    """Return a kernel log that would fail a node, were it searched: then the agent stands in."""
    if coverage.gate is not Gate.HMA_ONLY:
        return None
    return next(
        (
            one.stream
            for one in coverage.sources
            if one.source in _KERNEL_LOGS and one.status is CoverageStatus.PARTIAL
        ),
        None,
    )


def _detections(node: RunNode) -> Iterator[Part]:
    # A policy line without a condition copies a driver's line; the verdict judges that (P25).
    hardware = (r for r in node.records.hma if r.condition and r.reason != _APPLICATION)
    told = sorted(hardware, key=_when)
    latest = {r.condition: r for r in told}
    active = [r for r in latest.values() if r.condition_true]
    if active:
        last = max(active, key=_when)
        yield Part(
            CheckStatus.RISK,
            node.node,
            f"{node.node}: the health agent reports {last.reason or last.condition}"
            + (f" at {stamp(last.at)}" if last.at else ""),
            action=f"run gpuvet incident for {node.node} before the run",
            evidence=(last.evidence,),
        )


def _when(record: HmaRecord) -> str:
    return record.at.isoformat() if record.at else ""


P6 = PreflightCheck(
    "P6",
    "GPU faults will be visible",
    "log groups, streams, lines per hour of the last 24 h, the health agent's detections",
    "FAIL: nothing would show a fault, or an empty hour in the last six. RISK: older empty hours, "
    "or an active hardware detection. PASS: every node measured, or its agent's group live",
    "coverage rules of gpuvet, coverage.md",
    fault_sight,
)

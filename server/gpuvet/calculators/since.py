"""What was done since a finding: new hardware, a reboot, a passed check (verdict-rules §5, §11).

Nobody is told to do again what was done, and evidence never counts against other hardware.
"""

from collections.abc import Sequence
from datetime import datetime

from gpuvet.calculators.boots import microseconds, moment
from gpuvet.calculators.finding import Finding, NodeView
from gpuvet.calculators.hours import epoch_hour
from gpuvet.calculators.platform import cleared_at
from gpuvet.model.coverage import Gate
from gpuvet.model.verdict import Verdict

_NEW_HARDWARE = "the hardware has changed since: nothing against the present one"


def as_of_now(view: NodeView, found: Sequence[Finding]) -> list[Finding]:
    """Return a node's findings as they stand today."""
    if not view.clock.starts and not view.clock.identities:
        return list(found)
    return _already_done(view, [_for_present_hardware(view, f) for f in found])


def _for_present_hardware(view: NodeView, finding: Finding) -> Finding:
    """Evidence of an older hardware epoch never counts against what is there now."""
    if finding.verdict is Verdict.LEAVE_ALONE or not _is_of_older_hardware(view, finding):
        return finding
    return finding._replace(
        verdict=Verdict.LEAVE_ALONE,
        open_replace=False,
        open_check=None,
        minimum_action=None,
        provisional=False,
        notes=(*finding.notes, _NEW_HARDWARE),
    )


def _is_of_older_hardware(view: NodeView, finding: Finding) -> bool:
    clock, now_us = view.clock, microseconds(view.incident.now)
    occurrence = finding.occurrence
    if occurrence is not None:
        return occurrence.epoch < clock.epoch_of(occurrence.pci, view.last_boot, now_us)
    boot = _boot(view, finding)
    if boot is None:
        return False
    at = finding.happened_at or finding.fact_at
    at_us = microseconds(at) if at is not None else now_us
    pci = finding.pci
    return clock.epoch_of(pci, boot, at_us) < clock.epoch_of(pci, view.last_boot, now_us)


def _boot(view: NodeView, finding: Finding) -> int | None:
    """Return the boot a finding speaks of; None for a fact as of now."""
    if finding.occurrence is not None:
        return finding.occurrence.boot
    if finding.record is not None:
        return view.clock.boot_of(finding.record)
    return view.clock.boot_at(microseconds(finding.fact_at)) if finding.fact_at else None


def _already_done(view: NodeView, found: Sequence[Finding]) -> list[Finding]:
    """Do not ask again for a reboot that has happened and helped."""
    starts = view.clock.start_us
    if not starts or any(_is_bad_now(view, f) for f in found):
        return list(found)
    passed = cleared_at(view)
    clean = _measured_since(view, moment(starts[-1]))
    if passed is None and not clean:
        return list(found)
    why = "clean since" if clean else "a deep health check has passed since"
    note = f"rebooted at {moment(starts[-1]):%Y-%m-%dT%H:%M:%SZ}, {why}"
    return [_turned_down(view, f, note) for f in found]


def _is_bad_now(view: NodeView, finding: Finding) -> bool:
    """Say whether a fact that no reboot cleared still calls for one or more."""
    is_fact = finding.occurrence is None and finding.record is None
    return is_fact and finding.rank <= 3 and not _lies_before_last_boot(view, finding)


def _lies_before_last_boot(view: NodeView, finding: Finding) -> bool:
    boot = _boot(view, finding)
    return boot is not None and boot < view.last_boot and not finding.survives_boot


def _turned_down(view: NodeView, finding: Finding, note: str) -> Finding:
    if not _lies_before_last_boot(view, finding):
        return finding
    if finding.verdict is Verdict.REBOOT:
        return finding._replace(
            verdict=Verdict.MONITOR,
            notes=(*finding.notes, note),
            open_check=None,
            provisional=False,
        )
    if finding.verdict is Verdict.UNVERIFIED and finding.minimum_action == Verdict.REBOOT:
        return finding._replace(
            minimum_action=Verdict.MONITOR, notes=(*finding.notes, f"{note}: the question is left")
        )
    return finding


def _measured_since(view: NodeView, start: datetime) -> bool:
    """Say whether every hour since a boot was seen."""
    coverage = view.node.coverage
    if start >= view.incident.window.end:
        return False
    if coverage.gate is Gate.MEASURED:
        return True
    first = epoch_hour(start)
    return (
        coverage.gate is Gate.PARTIAL
        and not coverage.whole_window_unknown
        and any(h >= first for h in coverage.live_hours)
        and not any(h >= first for h in coverage.empty_hours)
    )

"""Staged repairs and the codes that the catalog's own columns decide (xid_rules §6)."""

from collections.abc import Iterator

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, class_of, described, row_of
from gpuvet.calculators.recurrence import OPEN_CHECK, Recurs, recurrence
from gpuvet.catalog.instance_types import instance_type
from gpuvet.catalog.xids import XidRow
from gpuvet.model.cluster import Flag
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.parse.xid_text import repair

_RULE = "xid_rules §6"
_STAGED = {156: Verdict.REBOOT, 160: Verdict.MONITOR, 177: Verdict.MONITOR}


def staged_repair(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 156, 160, 177: a repair waits for the next reset."""
    gpu = view.gpu(occurrence.pci)
    pending = gpu is not None and Flag.YES in {gpu.channel_repair_pending, gpu.tpc_repair_pending}
    asks = any(repair(line.text).to_activate for line in occurrence.lines)
    verdict = Verdict.REBOOT if pending or asks else _STAGED[occurrence.code]
    quiet = verdict is Verdict.REBOOT
    yield Finding(
        verdict=verdict,
        fault_class=class_of(occurrence.code),
        what=f"{described(occurrence)}: staged repair",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        notes=("at a quiet moment: work may go on until then",) if quiet else (),
    )


def no_spare_left(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 157, 161: no spare part is left; a MIG refusal of 157 is not that."""
    del view
    mig = occurrence.code == 157 and all(repair(line.text).mig_mode for line in occurrence.lines)
    yield Finding(
        verdict=Verdict.MONITOR if mig else Verdict.REPLACE,
        fault_class=class_of(occurrence.code),
        what=f"{described(occurrence)}: "
        + ("refused because of MIG mode" if mig else "no spare part is left"),
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        notes=() if mig else ("planned: work may go on until the node is swapped",),
    )


def by_catalog(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Any other code: its default verdict, and its verdict on recurrence."""
    row = row_of(occurrence.code)
    if row is None:
        yield _unlisted(occurrence)
        return
    verdict, unknown = row.default_verdict, False
    notes: tuple[str, ...] = ()
    if row.on_recurrence is not row.default_verdict:
        again = recurrence(view, occurrence)
        notes = again.notes
        if again.recurs is Recurs.YES:
            verdict = row.on_recurrence
            notes += ("the same code on this GPU before the last reboot",)
        unknown = again.recurs is Recurs.UNKNOWN
    gap = " after a reboot" if verdict is not row.default_verdict else ""
    yield Finding(
        verdict=verdict,
        fault_class=row.fault_class,
        what=f"{described(occurrence)}: {row.description}{gap and f', again{gap}'}",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=_least(row) if verdict is Verdict.UNVERIFIED else None,
        open_check=_check(row, verdict, unknown=unknown),
        provisional=unknown or occurrence.inferred,
        notes=notes,
    )


def _unlisted(occurrence: Occurrence) -> Finding:
    return Finding(
        verdict=Verdict.UNVERIFIED,
        fault_class=FaultClass.UNKNOWN,
        what=f"{described(occurrence)}: in no published list",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=Verdict.MONITOR,
        open_check=f"what NVIDIA's current catalog says of Xid {occurrence.code}",
    )


def _least(row: XidRow) -> Verdict:
    return Verdict.REBOOT if row.minimum_action == "REBOOT" else Verdict.MONITOR


def _check(row: XidRow, verdict: Verdict, *, unknown: bool) -> str | None:
    if verdict is Verdict.UNVERIFIED:
        return f"NVIDIA's advice for Xid {row.code}: {row.immediate_action}"
    return OPEN_CHECK if unknown and verdict in {Verdict.REBOOT, Verdict.MONITOR} else None


def wrong_architecture(view: NodeView, occurrence: Occurrence) -> Finding | None:
    """Return the finding of a code the instance type's GPUs do not raise, or None."""
    row = row_of(occurrence.code)
    kind = instance_type(view.node.instance_type) if view.node.instance_type else None
    architecture = kind.architecture if kind is not None else None
    if row is None or architecture is None or row.is_expected_on(architecture):
        return None
    return Finding(
        verdict=Verdict.UNVERIFIED,
        fault_class=FaultClass.UNKNOWN,
        what=f"{described(occurrence)}: not a code of {architecture} ({view.node.instance_type})",
        rule="xid_rules §13",
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=Verdict.MONITOR,
        open_check="instance type of this node, and whether the stream belongs to it",
        contradictions=(
            (
                f"Xid {occurrence.code} does not exist on {architecture}: "
                "wrong instance type or wrong node mapping?"
            ),
        ),
    )

"""Staged repairs and the codes that the catalog's own columns decide (verdict-rules §6)."""

from collections.abc import Iterator
from functools import cache

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, class_of, described, row_of
from gpuvet.calculators.link_lines import links_named
from gpuvet.calculators.recurrence import Outcome, outcome, same_gpu
from gpuvet.catalog.instance_types import instance_type
from gpuvet.catalog.xids import Architecture, XidRow, xids
from gpuvet.model.cluster import Flag
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.parse.xid_text import repair

_RULE = "verdict-rules §6"
_STAGED = {156: Verdict.REBOOT, 160: Verdict.MONITOR, 177: Verdict.MONITOR}
CATALOG_PAGE = "https://docs.nvidia.com/deploy/xid-errors/"
_LINK_TRAINING = 136
_UNCONTAINED = 95


def staged_repair(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 156, 160, 177: a repair waits for the next reset."""
    gpu = view.gpu(occurrence.pci)
    pending = gpu is not None and Flag.YES in {gpu.channel_repair_pending, gpu.tpc_repair_pending}
    asks = any(repair(line.text).to_activate for line in occurrence.lines)
    first = Verdict.REBOOT if pending or asks else _STAGED[occurrence.code]
    settled = outcome(view, occurrence, first, Verdict.REPLACE, same=_same_part)
    if not settled.companions:
        settled = outcome(view, occurrence, first, _then(occurrence.code))
    quiet = settled.verdict is Verdict.REBOOT
    yield with_outcome(
        settled,
        occurrence,
        "staged repair",
        open_check="how many spares are left: repairs of one GPU keep coming",
        notes=("at a quiet moment: work may go on until then",) if quiet else (),
    )


def _same_part(earlier: Occurrence, later: Occurrence) -> bool:
    """Say whether two repairs concern one TPC: its spare failed too (catalog, Xid 156)."""
    places = [place for line in earlier.lines if (place := repair(line.text).place) is not None]
    return same_gpu(earlier, later) and any(
        repair(line.text).place in places for line in later.lines
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
    same = _same_links if occurrence.code == _LINK_TRAINING else same_gpu
    settled = outcome(view, occurrence, row.default_verdict, row.on_recurrence, same=same)
    notes: tuple[str, ...] = ()
    if occurrence.code == _UNCONTAINED and _is_on(view, Architecture.A100):
        notes = ("on A100 without MIG a GPU reset is not enough: the node must reboot",)
    again = ", again after a reboot" if settled.companions else ""
    yield with_outcome(
        settled,
        occurrence,
        f"{row.description}{again}",
        minimum_action=_least(row),
        open_check=f"NVIDIA's advice for Xid {row.code}: {row.immediate_action}",
        notes=notes,
    )


def with_outcome(
    settled: Outcome,
    occurrence: Occurrence,
    what: str,
    *,
    rule: str = _RULE,
    fault_class: FaultClass | None = None,
    minimum_action: str = Verdict.MONITOR,
    open_check: str | None = None,
    notes: tuple[str, ...] = (),
    contradictions: tuple[str, ...] = (),
    is_qualifier: bool = False,
    open_replace: bool = False,
) -> Finding:
    """Return the finding of an event whose recurrence is settled.

    Args:
        settled: Its verdict.
        occurrence: The event.
        what: What it is, without code and GPU.
        rule: The rule that decides.
        fault_class: Where it is not that of the code.
        minimum_action: For an UNVERIFIED that is no recurrence.
        open_check: What settles an UNVERIFIED.
        notes: More for the reader.
        contradictions: As in `Finding`, like the next two.
        is_qualifier: It never names a cause alone.
        open_replace: UNVERIFIED leaves a REPLACE question open.
    """
    unverified = settled.verdict is Verdict.UNVERIFIED
    return Finding(
        verdict=settled.verdict,
        fault_class=fault_class or class_of(occurrence.code),
        what=f"{described(occurrence)}: {what}",
        rule=rule,
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=(settled.minimum_action or minimum_action) if unverified else None,
        open_check=open_check if unverified else settled.open_check,
        provisional=settled.provisional,
        open_replace=open_replace and unverified,
        is_qualifier=is_qualifier,
        companions=settled.companions,
        contradictions=contradictions,
        notes=notes + settled.notes if settled.notes else notes,
    )


def _then(code: int) -> Verdict:
    row = row_of(code)
    return row.on_recurrence if row is not None else Verdict.UNVERIFIED


def _same_links(earlier: Occurrence, later: Occurrence) -> bool:
    """Say whether two NVLink events lie on one link of one GPU."""
    links = {n for line in earlier.lines for n in links_named(line.text)}
    return same_gpu(earlier, later) and any(
        not links.isdisjoint(links_named(line.text)) for line in later.lines
    )


def _unlisted(occurrence: Occurrence) -> Finding:
    return Finding(
        verdict=Verdict.UNVERIFIED,
        fault_class=FaultClass.UNKNOWN,
        what=f"{described(occurrence)}: in no published list",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        is_unlisted=True,
        minimum_action=Verdict.MONITOR,
        open_check=f"what NVIDIA's current catalog says of Xid {occurrence.code} ({CATALOG_PAGE})",
    )


@cache
def _architecture(type_name: str | None) -> Architecture | None:
    kind = instance_type(type_name) if type_name else None
    return kind.architecture if kind is not None else None


def _is_on(view: NodeView, architecture: Architecture) -> bool:
    return _architecture(view.node.instance_type) is architecture


def _least(row: XidRow) -> Verdict:
    return Verdict.REBOOT if row.minimum_action == "REBOOT" else Verdict.MONITOR


@cache
def foreign_codes(type_name: str | None) -> frozenset[int]:
    """Return the codes that the GPUs of an instance type do not raise (verdict-rules §13)."""
    architecture = _architecture(type_name)
    if architecture is None:
        return frozenset()
    return frozenset(row.code for row in xids().values() if not row.is_expected_on(architecture))


def wrong_architecture(view: NodeView, occurrence: Occurrence) -> Finding | None:
    """Return the finding of a code the instance type's GPUs do not raise, or None."""
    if occurrence.code not in view.foreign_codes:
        return None
    architecture = _architecture(view.node.instance_type)
    return Finding(
        verdict=Verdict.UNVERIFIED,
        fault_class=FaultClass.UNKNOWN,
        what=f"{described(occurrence)}: not a code of {architecture} ({view.node.instance_type})",
        rule="verdict-rules §13",
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


def foreign_gpu(view: NodeView, occurrence: Occurrence) -> Finding | None:
    """Return the finding of an event on a PCI id that the node does not have, or None."""
    if not view.known_gpus or occurrence.pci is None or occurrence.pci in view.known_gpus:
        return None
    return Finding(
        verdict=Verdict.UNVERIFIED,
        fault_class=FaultClass.UNKNOWN,
        what=f"{described(occurrence)}: on {occurrence.pci}, which is no GPU of this node",
        rule="verdict-rules §13",
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=Verdict.MONITOR,
        open_check=f"whether stream {occurrence.first.stream} belongs to this node",
        contradictions=(
            (
                f"Xid {occurrence.code} on {occurrence.pci}: this node lists "
                f"{len(view.known_gpus)} GPUs, none of them there: wrong node mapping?"
            ),
        ),
    )

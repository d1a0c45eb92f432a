"""One finding on a node, and the order findings have (verdict-rules §1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from gpuvet.calculators.boots import NodeClock
from gpuvet.calculators.events import NodeEvents, Occurrence
from gpuvet.catalog.instance_types import instance_type
from gpuvet.catalog.xids import XidRow, xids
from gpuvet.model.cluster import GpuFacts, NodeEvidence, Orchestrator
from gpuvet.model.coverage import Gate
from gpuvet.model.events import Record, Source
from gpuvet.model.evidence import Window
from gpuvet.model.verdict import FaultClass, Ground, Verdict

US = 1_000_000

# verdict-rules §4: how long after the stated failure an event may still be its cause; both ours.
SLACK_MEASURED = timedelta(seconds=60)
SLACK_TOLD = timedelta(minutes=15)


class Finding(NamedTuple):
    """What one event, fact or condition says about a node.

    Attributes:
        verdict: What it calls for.
        fault_class: The class of the event, or of the fact.
        what: One phrase that names it, for a reader.
        rule: The rule that decided, as `verdict-rules §…`.
        occurrence: The Xid event, or None for anything else.
        record: The record behind an SXid or a platform condition.
        is_event: The record is an event and so may be the cause: an SXid.
        fact_at: When a fact was read; None: as of now.
        open_replace: UNVERIFIED with an open REPLACE question; ranks above REBOOT.
        minimum_action: For UNVERIFIED: what is right whatever the check says.
        open_check: The one check that settles an UNVERIFIED.
        provisional: Rests on something that a later reading may change.
        is_qualifier: Its verdict counts, but it never names a cause: Xid 154, and 63.
        is_unlisted: A code in no list, which never outranks a known hardware verdict.
        survives_boot: A fact that a reboot does not clear, such as an aggregate counter.
        companions: Further grounds of the same finding.
    """

    verdict: Verdict
    fault_class: FaultClass
    what: str
    rule: str
    occurrence: Occurrence | None = None
    record: Record | None = None
    is_event: bool = False
    pci: str | None = None
    fact_source: str | None = None
    fact_raw: str | None = None
    fact_at: datetime | None = None
    open_replace: bool = False
    minimum_action: str | None = None
    open_check: str | None = None
    provisional: bool = False
    is_qualifier: bool = False
    is_unlisted: bool = False
    survives_boot: bool = False
    companions: tuple[Ground, ...] = ()
    notes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """Return the place in the order of verdict-rules §1; 1 is the strongest."""
        return _RANK[self.verdict] if not self.open_replace else 2

    @property
    def is_cause(self) -> bool:
        """True for an event of its own, which may be the cause of what happened."""
        return (self.occurrence is not None or self.is_event) and not self.is_qualifier

    @property
    def is_recovered(self) -> bool:
        """True for an Xid 154 that went back to None."""
        return self.is_qualifier and self.verdict is Verdict.LEAVE_ALONE

    @property
    def happened_at(self) -> datetime | None:
        """Return when its event or record happened; None for a fact that was read."""
        if self.occurrence is not None:
            return self.occurrence.at
        return self.record.at if self.record is not None else None

    @property
    def ground(self) -> Ground:
        """Return the finding as a ground that quotes its line."""
        record = self.occurrence.first if self.occurrence is not None else self.record
        if record is None:
            return Ground(
                what=self.what,
                pci=self.pci,
                at=self.fact_at,
                source=self.fact_source or "fact",
                raw=self.fact_raw,
            )
        return ground_of(record, self.what, pci=self.pci, occurrence=self.occurrence)


_RANK = {
    Verdict.REPLACE: 1,
    Verdict.REBOOT: 3,
    Verdict.UNVERIFIED: 4,
    Verdict.MONITOR: 5,
    Verdict.LEAVE_ALONE: 6,
    Verdict.NOT_OBSERVABLE: 7,
}


def ground_of(
    record: Record, what: str, *, pci: str | None = None, occurrence: Occurrence | None = None
) -> Ground:
    """Return a ground that quotes one record."""
    sources = occurrence.sources if occurrence is not None else (record.source.value,)
    return Ground(
        what=what,
        pci=pci,
        at=occurrence.at if occurrence is not None else record.at,
        source="+".join(sources),
        stream=record.stream,
        line=record.line,
        raw=record.raw,
        evidence=record.evidence,
    )


_PLAIN = frozenset({Source.KERNEL, Source.HMA, Source.DCGM, Source.DCGM_GAUGE})


@dataclass(frozen=True, slots=True)
class Incident:
    """What every node of one question shares.

    Attributes:
        since_us: Start of the window in microseconds.
    """

    orchestrator: Orchestrator
    window: Window
    now: datetime
    since_us: int
    failure_at: datetime | None = None
    failure_measured: bool = True
    driver_changed_at: datetime | None = None

    @property
    def latest_cause(self) -> datetime | None:
        """Return the last moment at which an event may still be the cause."""
        if self.failure_at is None:
            return None
        return self.failure_at + (SLACK_MEASURED if self.failure_measured else SLACK_TOLD)


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node as the rules read it.

    Attributes:
        aside: Events that are consequences, with what they follow.
        aside_ids: The same events by identity.
        by_code: Every event by its code, in order.
        kept: The events that are no consequence, in order.
        known_gpus: PCI ids of all its GPUs, where something listed all of them; else empty.
        foreign_codes: Codes that the GPUs of its type do not raise.
    """

    node: NodeEvidence
    incident: Incident
    events: NodeEvents
    aside: Sequence[tuple[Occurrence, str]]
    aside_ids: frozenset[int]
    by_code: Mapping[int, Sequence[Occurrence]]
    kept: Sequence[Occurrence]
    known_gpus: frozenset[str] = frozenset()
    foreign_codes: frozenset[int] = frozenset()

    @property
    def clock(self) -> NodeClock:
        """Return the node's clock."""
        return self.events.clock

    @property
    def last_boot(self) -> int:
        """Return the boot the node is in."""
        return len(self.events.clock.starts)

    @property
    def is_measured(self) -> bool:
        """True when the kernel log was proven live in every hour."""
        return self.node.coverage.gate is Gate.MEASURED

    def of(self, *codes: int) -> Iterator[Occurrence]:
        """Yield every event of these codes, consequences included."""
        for code in codes:
            yield from self.by_code.get(code, ())

    def is_aside(self, occurrence: Occurrence) -> bool:
        """Say whether an event is a consequence of another one."""
        return id(occurrence) in self.aside_ids

    def near(
        self, occurrence: Occurrence, codes: Iterable[int], *, seconds: float
    ) -> tuple[Occurrence, ...]:
        """Return events of these codes on the same PCI id, within seconds either side."""
        reach = int(seconds * US)
        return tuple(
            other
            for code in codes
            for other in self.by_code.get(code, ())
            if other is not occurrence
            and other.pci == occurrence.pci
            and other.boot == occurrence.boot
            and other.start_us - reach <= occurrence.end_us
            and occurrence.start_us - reach <= other.end_us
        )

    def pci_of(self, uuid: str | None) -> str | None:
        """Return the PCI id of a GPU named by its UUID, or None."""
        if uuid is None:
            return None
        for named in (self.node.records.identities, self.node.facts.gpus):
            for gpu in named:
                if gpu.uuid == uuid and gpu.pci is not None:
                    return gpu.pci
        return None

    def gpu(self, pci: str | None) -> GpuFacts | None:
        """Return what was read of one GPU."""
        return next((g for g in self.node.facts.gpus if g.pci == pci), None) if pci else None


def expected_gpus(node: NodeEvidence) -> int | None:
    """Return how many GPUs a node should list, as stated or by its instance type."""
    if node.gpu_expected is not None:
        return node.gpu_expected
    kind = instance_type(node.instance_type) if node.instance_type else None
    return kind.gpus if kind is not None else None


def has_switch(node: NodeEvidence) -> bool:
    """Say whether a node's type has NVSwitches."""
    kind = instance_type(node.instance_type) if node.instance_type else None
    return kind is not None and kind.nvswitch


def row_of(code: int) -> XidRow | None:
    """Return the catalog's row of a code."""
    return xids().get(code)


def class_of(code: int) -> FaultClass:
    """Return the class of a code; a code in no list is unknown."""
    row = xids().get(code)
    return row.fault_class if row is not None else FaultClass.UNKNOWN


def described(occurrence: Occurrence) -> str:
    """Return a short name for an event: code, mnemonic-free, with its line count."""
    if not occurrence.folded and not occurrence.inferred and occurrence.first.source in _PLAIN:
        return f"Xid {occurrence.code}"
    messages = occurrence.messages
    often = f", one fault in {messages} lines" if messages > 1 else ""
    lost = " (told by the bus error; no Xid line was logged)" if occurrence.is_gpu_lost_only else ""
    named = " (named by another event; its own line was not seen)" if occurrence.inferred else ""
    return f"Xid {occurrence.code}{lost}{named}{often}"

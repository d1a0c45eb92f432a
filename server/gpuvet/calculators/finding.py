"""One finding on a node, and the order findings have (xid_rules §1)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.calculators.boots import NodeClock
from gpuvet.calculators.events import NodeEvents, Occurrence
from gpuvet.catalog.xids import XidRow, xids
from gpuvet.model.cluster import GpuFacts, NodeEvidence, Orchestrator
from gpuvet.model.coverage import Gate
from gpuvet.model.events import Record
from gpuvet.model.evidence import Window
from gpuvet.model.verdict import FaultClass, Ground, Verdict

US = 1_000_000

# xid_rules §4: how long after the stated failure an event may still be its cause; both ours.
SLACK_MEASURED = timedelta(seconds=60)
SLACK_TOLD = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one event, fact or condition says about a node.

    Attributes:
        verdict: What it calls for.
        fault_class: The class of the event, or of the fact.
        what: One phrase that names it, for a reader.
        rule: The rule that decided, as `xid_rules §…`.
        occurrence: The event, or None for a fact or a platform condition.
        record: The record behind a platform condition.
        open_replace: UNVERIFIED with an open REPLACE question; ranks above REBOOT.
        minimum_action: For UNVERIFIED: what is right whatever the check says.
        open_check: The one check that settles an UNVERIFIED.
        provisional: Rests on something that a later reading may change.
        companions: Further grounds of the same finding.
    """

    verdict: Verdict
    fault_class: FaultClass
    what: str
    rule: str
    occurrence: Occurrence | None = None
    record: Record | None = None
    pci: str | None = None
    fact_source: str | None = None
    fact_raw: str | None = None
    fact_at: datetime | None = None
    open_replace: bool = False
    minimum_action: Verdict | None = None
    open_check: str | None = None
    provisional: bool = False
    is_qualifier: bool = False  # an Xid 154: its verdict counts, the event is never the cause
    companions: tuple[Ground, ...] = ()
    notes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """Return the place in the order of xid_rules §1; 1 is the strongest."""
        return _RANK[self.verdict] if not self.open_replace else 2

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


@dataclass(frozen=True, slots=True)
class Incident:
    """What every node of one question shares."""

    orchestrator: Orchestrator
    window: Window
    now: datetime
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
        aside: Indexes of events that are consequences, with what they follow.
    """

    node: NodeEvidence
    incident: Incident
    events: NodeEvents
    aside: Mapping[int, str]
    by_code: Mapping[int, tuple[Occurrence, ...]]

    @property
    def clock(self) -> NodeClock:
        """Return the node's clock."""
        return self.events.clock

    @property
    def is_measured(self) -> bool:
        """True when the kernel log was proven live in every hour."""
        return self.node.coverage.gate is Gate.MEASURED

    def candidates(self) -> Iterator[Occurrence]:
        """Yield the events that are not consequences, in order."""
        for index, occurrence in enumerate(self.events.occurrences):
            if index not in self.aside:
                yield occurrence

    def of(self, *codes: int) -> Iterator[Occurrence]:
        """Yield every event of these codes, consequences included."""
        for code in codes:
            yield from self.by_code.get(code, ())

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

    def gpu(self, pci: str | None) -> GpuFacts | None:
        """Return what was read of one GPU."""
        return next((g for g in self.node.facts.gpus if g.pci == pci), None) if pci else None


def row_of(code: int) -> XidRow | None:
    """Return the catalog's row of a code."""
    return xids().get(code)


def class_of(code: int) -> FaultClass:
    """Return the class of a code; a code in no list is unknown."""
    row = xids().get(code)
    return row.fault_class if row is not None else FaultClass.UNKNOWN


def described(occurrence: Occurrence) -> str:
    """Return a short name for an event: code, mnemonic-free, with its line count."""
    lines = len({(e.stream, e.line) for e in occurrence.lines})
    often = f", {lines} lines" if lines > 1 else ""
    lost = " (GPU lost without an Xid line)" if occurrence.is_gpu_lost_only else ""
    named = " (named by another event; its own line was not seen)" if occurrence.inferred else ""
    return f"Xid {occurrence.code}{lost}{named}{often}"

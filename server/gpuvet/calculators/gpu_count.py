"""How many GPUs a node shows, and what a low count is worth (verdict-rules §11, §13)."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from gpuvet.calculators.boots import microseconds
from gpuvet.calculators.finding import Finding, NodeView, expected_gpus
from gpuvet.calculators.rules_process import stops_answering
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.events import GpuPresence
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "verdict-rules §11"
_LOSES_A_GPU = (79, 143)
_ON_EC2 = frozenset({Orchestrator.EC2, Orchestrator.PARALLELCLUSTER, Orchestrator.EKS})
_LIST_CHECK = "how many GPUs nvidia-smi -L lists since the last reboot"


class Count(NamedTuple):
    """One reading of how many GPUs a node shows; no time: as of now."""

    seen: int
    at: datetime | None
    source: str
    record: GpuPresence | None = None

    @property
    def when(self) -> str:
        """The time for a reader."""
        return f"{self.at:%Y-%m-%dT%H:%M:%SZ}" if self.at is not None else "as read now"


def count_findings(view: NodeView) -> Iterator[Finding]:
    """Yield what the latest count calls for, unless an event of its boot already says it."""
    counts, expected = _counts(view), expected_gpus(view.node)
    if not counts or expected is None or counts[-1].seen >= expected:
        return
    latest = counts[-1]
    read_in = _boot(view, latest)
    lost = [o for o in view.of(*_LOSES_A_GPU) if _is_present(view, o.pci, o.epoch)]
    low_before = any(c.seen < expected and _boot(view, c) < read_in for c in counts)
    told_reboot = (view.node.facts.reboots_since_event or 0) > 0
    counted = f"{latest.seen} of {expected} GPUs seen"
    if not told_reboot and any(o.boot == read_in for o in lost):
        return  # the same evidence as the Xid, not a second ground
    if told_reboot or (latest.at is not None and any(o.boot < read_in for o in lost)):
        yield _count(view, latest, Verdict.REPLACE, f"{counted}, still low after a reboot")
    elif lost or read_in < view.last_boot:
        yield _undecided(view, latest, counted)
    elif low_before:
        yield _count(view, latest, Verdict.REPLACE, f"{counted}, still low after a reboot")
    elif not any(stops_answering(view, o) for o in view.of(31) if o.boot == read_in):
        yield _unexplained(view, latest, f"{counted}, no lost GPU in this boot's log")


def _counts(view: NodeView) -> list[Count]:
    """Return every reading that counts, the latest last; a stale metric counts for nothing."""
    facts, expected = view.node.facts, expected_gpus(view.node)
    counts = [Count(r.seen, r.at, r.source.value, r) for r in view.node.records.presence]
    if facts.gpus_seen is not None and not facts.gpus_seen_stale:
        counts.append(Count(facts.gpus_seen, facts.gpus_seen_at, facts.gpus_seen_source))
    listed = {g.pci or g.uuid for g in facts.gpus if g.pci or g.uuid}
    if expected and len(listed) >= expected:  # fewer may be an excerpt, not a count
        read_at = max((g.read_at for g in facts.gpus if g.read_at is not None), default=None)
        counts.append(Count(len(listed), read_at, "nvidia-smi"))
    sure = [c for c in counts if expected is None or c.seen <= expected]
    now = view.incident.now
    return sorted(sure, key=lambda c: (c.at or now, c.at is None, c.seen, c.source))


def _boot(view: NodeView, count: Count) -> int:
    return view.last_boot if count.at is None else view.clock.boot_at(microseconds(count.at))


def _is_present(view: NodeView, pci: str | None, epoch: int) -> bool:
    now = microseconds(view.incident.now)
    return epoch >= view.clock.epoch_of(pci, view.last_boot, now)


def _unexplained(view: NodeView, latest: Count, what: str) -> Finding:
    if view.incident.orchestrator in _ON_EC2:
        note = "on EC2: stop and start, which brings new hardware"
        return _count(view, latest, Verdict.REPLACE, what, note)
    note = "the HyperPod health agent itself reboots on a count mismatch"
    return _count(view, latest, Verdict.REBOOT, what, note)


def _count(
    view: NodeView, latest: Count, verdict: Verdict, what: str, note: str | None = None
) -> Finding:
    return Finding(
        verdict=verdict,
        fault_class=FaultClass.HARDWARE,
        what=what,
        rule=_RULE,
        fact_source=latest.source,
        fact_raw=latest.record.raw if latest.record is not None else what,
        fact_at=latest.at,
        survives_boot=True,
        provisional=view.incident.orchestrator is Orchestrator.UNKNOWN,
        notes=(note,) if note else (),
    )


def _undecided(view: NodeView, latest: Count, counted: str) -> Finding:
    what = f"{counted}, read {latest.when}: before or after the last reboot?"
    return _count(view, latest, Verdict.UNVERIFIED, what)._replace(
        minimum_action=Verdict.MONITOR if latest.at is not None else Verdict.REBOOT,
        open_check=_LIST_CHECK,
    )


def count_contradictions(view: NodeView) -> Iterator[str]:
    """Yield counts that are too high, stale, or disagree with each other."""
    facts, expected = view.node.facts, expected_gpus(view.node)
    if expected is None:
        return
    if facts.gpus_seen is not None and facts.gpus_seen > expected:
        yield f"{facts.gpus_seen} GPUs seen, {expected} expected: ignored"
    elif facts.gpus_seen is not None and facts.gpus_seen < expected and facts.gpus_seen_stale:
        yield f"{facts.gpus_seen} of {expected} GPUs from a stale metric: ignored"
    counts = _counts(view)
    if len({c.seen for c in counts}) > 1:
        told = ", ".join(f"{c.seen} by {c.source} ({c.when})" for c in counts)
        yield f"GPU counts differ: {told}; the later reading is trusted"

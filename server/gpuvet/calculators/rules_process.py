"""Xids that speak of a process: 13, 31, 32, 43, 45, 109 (verdict-rules §6)."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gpuvet.calculators.cross_node import Shared
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import (
    US,
    Finding,
    NodeView,
    described,
    expected_gpus,
    row_of,
)
from gpuvet.calculators.recurrence import RECURRENCE_DAYS, outcome
from gpuvet.calculators.rules_repair import with_outcome
from gpuvet.model.events import HardwareKind, XidEvent
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.parse.xid_line import pci_id
from gpuvet.parse.xid_text import ShaderPlace, shader_place

# verdict-rules §6: two runs are two job ids, or two pids this far apart, inside a day.
RUN_APART_US = 60 * US
RUNS_WITHIN_US = 86_400 * US
SAME_PROCESS_SECONDS = 60

_RULE = "verdict-rules §6"
_DIAGNOSE = "DCGM EUD on this GPU, then NVIDIA's field diagnostics"
_LINK_CHECK = "PCIe link state and replay counters of this GPU"


def _leave(occurrence: Occurrence, what: str, *, notes: tuple[str, ...] = ()) -> Finding:
    name, pid = occurrence.first.process, occurrence.first.pid
    if occurrence.folded:
        name = min((e.process for e in occurrence.folded if e.process), default=None)
        pid = min((e.pid for e in occurrence.folded if e.pid is not None), default=None)
    who = f", process {name}" if name is not None else ""
    who += f" pid {pid}" if pid is not None else ""
    return Finding(
        verdict=Verdict.LEAVE_ALONE,
        fault_class=FaultClass.APPLICATION,
        what=f"{described(occurrence)}{who}: {what}",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        notes=notes,
    )


def _runs(view: NodeView, lines: Sequence[tuple[int, XidEvent]]) -> int:
    """Return how many runs these lines belong to: by job where known, else by pid and time."""
    jobs: set[str] = set()
    pids: dict[int, int] = {}
    for position, event in lines:
        job = _job(view, event) if view.node.jobs else None
        if job is not None:
            jobs.add(job)
        elif event.pid is not None:
            pids[event.pid] = min(position, pids.get(event.pid, position))
    runs, last = len(jobs), None
    for position in sorted(pids.values()):
        if last is None or position - last >= RUN_APART_US:
            runs += 1
            last = position
    return runs


def _job(view: NodeView, event: XidEvent) -> str | None:
    at = event.at
    if at is None:
        return None
    return next((job for job, start, end in view.node.jobs if start <= at < end), None)


def _lines_until(
    view: NodeView, occurrence: Occurrence, reach_us: int
) -> list[tuple[int, XidEvent]]:
    """Return the lines of this code on this GPU in the time up to the event's end."""
    return [
        (o.start_us if len(o.lines) == 1 else view.clock.position(line, o.boot), line)
        for o in view.of(occurrence.code)
        if o.pci == occurrence.pci
        and o.epoch == occurrence.epoch
        and 0 <= occurrence.end_us - o.start_us <= reach_us
        for line in o.lines
    ]


def _elsewhere(view: NodeView, occurrence: Occurrence, shared: Shared) -> bool:
    """Say whether another GPU or node shows the code within a day."""
    if not occurrence.placed:
        return any(o.pci != occurrence.pci for o in view.of(occurrence.code))
    mine = (occurrence.start_us, view.node.node, occurrence.pci)
    return shared.is_elsewhere(occurrence.code, mine, RUNS_WITHIN_US)


def on_many_nodes(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 11, 13, 25, 31, 69 or 80 on several nodes at once: the job's own fault."""
    del view
    yield _leave(occurrence, "on several nodes at once: code, not hardware")


def graphics_exception(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 13: the same SM in two runs while other GPUs are clean needs a diagnosis."""
    lines = _lines_until(view, occurrence, RUNS_WITHIN_US)
    repeated = _repeated_place(view, lines) if _runs(view, lines) >= 2 else None
    if repeated is not None and not _elsewhere(view, occurrence, shared):
        gpc, tpc = repeated
        yield _repeated(occurrence, f"the same GPC {gpc}, TPC {tpc} in 2 or more runs")
    else:
        yield _leave(occurrence, "a program's own fault")


def _repeated_place(
    view: NodeView, lines: Sequence[tuple[int, XidEvent]]
) -> tuple[int, int] | None:
    """Return the (GPC, TPC) that two runs name, or None."""
    places: dict[tuple[int, int], list[tuple[int, XidEvent]]] = {}
    for position, line in lines:
        place = _place(line.text)
        if place is not None:
            places.setdefault((place.gpc, place.tpc), []).append((position, line))
    return next((p for p, found in places.items() if _runs(view, found) >= 2), None)


@lru_cache(maxsize=4096)
def _place(text: str) -> ShaderPlace | None:
    return shader_place(text)


def _repeated(occurrence: Occurrence, why: str, check: str = _DIAGNOSE) -> Finding:
    return Finding(
        verdict=Verdict.UNVERIFIED,
        fault_class=FaultClass.APPLICATION,
        what=f"{described(occurrence)}: {why}",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=Verdict.MONITOR,
        open_check=check,
    )


def mmu(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 31: application, unless one GPU alone repeats it over runs, or all stop answering."""
    if stops_answering(view, occurrence):
        yield _leave(occurrence, "unrecognised client, and the GPUs stopped answering")._replace(
            verdict=Verdict.REBOOT
        )
        return
    runs = _runs(view, _lines_until(view, occurrence, RUNS_WITHIN_US))
    if runs >= 2 and not _elsewhere(view, occurrence, shared):
        yield _repeated(occurrence, f"{runs} runs on this GPU only, no other GPU or node")
    else:
        yield _leave(occurrence, "a program's illegal access")


def stops_answering(view: NodeView, occurrence: Occurrence) -> bool:
    """Say whether an Xid 31 of an unknown client left GPUs or nvidia-smi without an answer."""
    if not any("UNRECOGNIZED_CLIENT" in line.text for line in occurrence.lines):
        return False
    facts, expected = view.node.facts, expected_gpus(view.node)
    fewer = facts.gpus_seen is not None and facts.gpus_seen < (expected or 1)
    return facts.nvidia_smi_answers is False or (fewer and not facts.gpus_seen_stale)


def pushbuffer(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 32: one-off is a program's; PCIe errors or a second run put the link in question."""
    del shared
    if _has_pcie_errors(view, occurrence):
        yield _repeated(occurrence, "with PCIe errors of this GPU", _LINK_CHECK)
    elif _runs(view, _lines_until(view, occurrence, RECURRENCE_DAYS * RUNS_WITHIN_US)) >= 2:
        yield _repeated(occurrence, "the same GPU in 2 or more runs", _LINK_CHECK)
    else:
        yield _leave(occurrence, "one invalid push buffer stream")


def _has_pcie_errors(view: NodeView, occurrence: Occurrence) -> bool:
    """Say whether the same boot shows AER lines, or nvidia-smi counted replays, on this GPU."""
    gpu = view.gpu(occurrence.pci)
    if gpu is not None and gpu.pcie_replays:
        return True
    return any(
        error.pci in {None, occurrence.pci} and view.clock.boot_of(error) == occurrence.boot
        for error in view.node.records.pcie
    ) or any(
        error.kind is HardwareKind.PCIE
        and pci_id(error.device or "") == occurrence.pci
        and view.clock.boot_of(error) == occurrence.boot
        for error in view.node.records.hardware
    )


def reset_channel(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 43 with nothing before it: the program's channel was stopped."""
    del view, shared
    yield _leave(occurrence, "a program's channel was stopped; the GPU is healthy")


def preempted(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 45 with nothing before it: teardown on several nodes, Fabric Manager on one."""
    if view.node.node in shared.teardown:
        verdict, what = Verdict.LEAVE_ALONE, "job teardown, on several nodes in the same seconds"
        notes: tuple[str, ...] = ("the number of 45s means nothing",)
    else:
        verdict, what = Verdict.MONITOR, "channels removed, and nothing before it on this node"
        notes = ("check Fabric Manager (NVIDIA: RESTART_FM for a lone 45)",)
    yield Finding(
        verdict=verdict,
        fault_class=FaultClass.SYMPATHETIC,
        what=f"{described(occurrence)}: {what}",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        notes=notes,
    )


def context_switch(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 109: the GPU needs the reset; the class follows what the process did before."""
    pids = {e.pid for e in occurrence.lines if e.pid is not None}
    reach_us = SAME_PROCESS_SECONDS * US
    before = next(
        (
            o
            for o in view.of(13, 31)
            if o.boot == occurrence.boot
            and o.start_us <= occurrence.start_us <= o.end_us + reach_us
            and not pids.isdisjoint(e.pid for e in o.lines)
        ),
        None,
    )
    row = row_of(occurrence.code)
    then = row.on_recurrence if row is not None else Verdict.REBOOT
    yield with_outcome(
        outcome(view, occurrence, Verdict.REBOOT, then),
        occurrence,
        "context switch timeout"
        + (f", after Xid {before.code} of the same process" if before else ""),
        fault_class=FaultClass.APPLICATION if before else None,
    )

"""Xids that speak of a process: 13, 31, 32, 43, 45, 109 (xid_rules §6)."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.cross_node import Shared
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import US, Finding, NodeView, described
from gpuvet.model.events import XidEvent
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.parse.xid_text import mmu_fault, shader_place

# xid_rules §6: two runs are two job ids, or two pids this far apart, inside a day.
RUN_APART_US = 60 * US
RUNS_WITHIN_US = 86_400 * US
SAME_PROCESS_SECONDS = 60

_RULE = "xid_rules §6"
_DIAGNOSE = "DCGM EUD on this GPU, then NVIDIA's field diagnostics"
_LINK_CHECK = "PCIe link state and replay counters of this GPU"


def _leave(occurrence: Occurrence, what: str, *, notes: tuple[str, ...] = ()) -> Finding:
    pids = sorted({e.pid for e in occurrence.lines if e.pid is not None})
    names = sorted({e.process for e in occurrence.lines if e.process})
    who = f", process {names[0]}" if names else ""
    who += f" pid {pids[0]}" if pids else ""
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
    if view.node.jobs:
        return len({_job(view, event) for _, event in lines} - {None})
    pids: dict[int, int] = {}
    for position, event in sorted(lines, key=lambda item: item[0]):
        if event.pid is not None:
            pids.setdefault(event.pid, position)
    runs, last = 0, None
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


def _recent_lines(view: NodeView, occurrence: Occurrence) -> list[tuple[int, XidEvent]]:
    """Return the lines of this code on this GPU in the 24 h up to the event's end."""
    return [
        (o.start_us if len(o.lines) == 1 else view.clock.position(line, o.boot), line)
        for o in view.of(occurrence.code)
        if o.pci == occurrence.pci
        and o.epoch == occurrence.epoch
        and -RUNS_WITHIN_US <= o.start_us - occurrence.end_us <= RUNS_WITHIN_US
        for line in o.lines
    ]


def _elsewhere(view: NodeView, occurrence: Occurrence, shared: Shared, code: int) -> bool:
    gpus = shared.application_gpus.get(code, frozenset())
    return len(gpus) > ((view.node.node, occurrence.pci) in gpus)


def graphics_exception(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 13: the same SM in two runs while other GPUs are clean needs a diagnosis."""
    if view.node.node in shared.mass_application:
        yield _leave(occurrence, "on several nodes at once: code, not hardware")
        return
    places: dict[tuple[int, int], list[tuple[int, XidEvent]]] = {}
    for position, line in _recent_lines(view, occurrence):
        place = shader_place(line.text)
        if place is not None:
            places.setdefault((place.gpc, place.tpc), []).append((position, line))
    others = {o.pci for o in view.of(13)} - {occurrence.pci}
    repeated = [p for p, lines in places.items() if _runs(view, lines) >= 2]
    if repeated and not others:
        gpc, tpc = repeated[0]
        yield _repeated(occurrence, f"the same GPC {gpc}, TPC {tpc} in 2 or more runs")
    else:
        yield _leave(occurrence, "a program's own fault")


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
    faults = [f for line in occurrence.lines if (f := mmu_fault(line.text)) is not None]
    unknown_client = any(f.is_unrecognized_client for f in faults)
    seen = view.node.facts.gpus_seen
    if unknown_client and seen is not None and seen == 0:
        finding = _leave(occurrence, "unrecognised client, and the GPUs stopped answering")
        yield Finding(
            verdict=Verdict.REBOOT,
            fault_class=FaultClass.APPLICATION,
            what=finding.what,
            rule=_RULE,
            occurrence=occurrence,
            pci=occurrence.pci,
        )
        return
    if view.node.node in shared.mass_application:
        yield _leave(occurrence, "on several nodes at once: code, not hardware")
        return
    runs = _runs(view, _recent_lines(view, occurrence))
    if runs >= 2 and not _elsewhere(view, occurrence, shared, 31):
        yield _repeated(occurrence, f"{runs} runs on this GPU only, no other GPU or node")
    else:
        yield _leave(occurrence, "a program's illegal access")


def pushbuffer(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 32: one-off is a program's; over two runs the PCIe link is in question."""
    del shared
    if _runs(view, _recent_lines(view, occurrence)) >= 2:
        yield _repeated(occurrence, "the same GPU in 2 or more runs", _LINK_CHECK)
    else:
        yield _leave(occurrence, "one invalid push buffer stream")


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


def context_switch(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """Xid 109: the GPU needs the reset; the class follows what the process did before."""
    del shared
    pids = {e.pid for e in occurrence.lines if e.pid is not None}
    before = [
        o
        for o in view.near(occurrence, (13, 31), seconds=SAME_PROCESS_SECONDS)
        if o.start_us <= occurrence.start_us and pids & {e.pid for e in o.lines}
    ]
    yield Finding(
        verdict=Verdict.REBOOT,
        fault_class=FaultClass.APPLICATION if before else FaultClass.HARDWARE,
        what=f"{described(occurrence)}: context switch timeout"
        + (f", after Xid {before[0].code} of the same process" if before else ""),
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
    )

"""NVSwitch errors: SXids (xid_rules §4, §5, §11)."""

from collections import defaultdict
from collections.abc import Iterator

from gpuvet.calculators.finding import Finding, NodeView, ground_of
from gpuvet.calculators.recurrence import RECURRENCE_DAYS
from gpuvet.calculators.sympathy import switch_follows_loss
from gpuvet.catalog.sxids import sxid_verdict, sxids
from gpuvet.model.events import SxidEvent
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "xid_rules §11, SXid"
_Key = tuple[str | None, int, int | None]


def switch_findings(view: NodeView) -> Iterator[Finding]:
    """Yield one finding per switch, code and link; what follows a lost GPU yields none."""
    placed: dict[_Key, list[tuple[int, int, SxidEvent]]] = defaultdict(list)
    for event in view.node.records.sxids:
        boot = view.clock.boot_of(event)
        position = view.clock.position(event, boot)
        fatal_link = event.fatal and event.link is not None
        if fatal_link and switch_follows_loss(position, boot, view.events.occurrences):
            continue
        placed[(event.switch_pci, event.code, event.link)].append((boot, position, event))
    for (switch, code, link), events in placed.items():
        events.sort(key=lambda e: (e[0], e[1], e[2].line))
        yield _finding(switch, code, link, events)


def _finding(
    switch: str | None, code: int, link: int | None, events: list[tuple[int, int, SxidEvent]]
) -> Finding:
    row = sxids().get(code)
    strongest = max(events, key=lambda e: (bool(e[2].fatal), -e[0], -e[1]))
    verdict = sxid_verdict(row, fatal=strongest[2].fatal)
    reach = RECURRENCE_DAYS * 86_400 * 1_000_000
    recurs = events[0][0] < events[-1][0] and events[-1][1] - events[0][1] <= reach
    shown = events[-1][2] if recurs else strongest[2]
    if recurs and row is not None and verdict is Verdict.REBOOT:
        verdict = row.on_recurrence
    name = row.name if row is not None and row.name else "in no published list"
    where = f", link {link}" if link is not None else ""
    fatal = {True: "Fatal", False: "Non-fatal", None: "severity not printed"}[strongest[2].fatal]
    unverified = verdict is Verdict.UNVERIFIED
    return Finding(
        verdict=verdict,
        fault_class=FaultClass.SOFTWARE_LINK if link is not None else FaultClass.HARDWARE,
        what=f"SXid {code}{where}: {name}, {fatal}" + (", again after a reboot" if recurs else ""),
        rule=_RULE,
        record=shown,
        pci=switch,
        minimum_action=Verdict.MONITOR if unverified else None,
        open_check=f"whether the driver prints SXid {code} as Fatal" if unverified else None,
        companions=(ground_of(events[0][2], f"SXid {code} before the last reboot", pci=switch),)
        if recurs
        else (),
    )

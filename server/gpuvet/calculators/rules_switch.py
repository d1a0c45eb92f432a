"""NVSwitch errors: SXids (verdict-rules §4, §5, §11)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpuvet.calculators.finding import US, Finding, NodeView, ground_of
from gpuvet.calculators.recurrence import OPEN_CHECK, RECURRENCE_DAYS
from gpuvet.calculators.sympathy import switch_follows_loss
from gpuvet.catalog.sxids import SxidRow, sxid_verdict, sxids
from gpuvet.model.events import SxidEvent
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "verdict-rules §11, SXid"
_Key = tuple[str | None, int, int | None]


class _Placed(NamedTuple):
    """An SXid with its place on the node's clock and the hardware it speaks of."""

    boot: int
    position_us: int
    line: int
    stream: str
    hardware: int
    event: SxidEvent


def switch_findings(view: NodeView) -> Iterator[Finding]:
    """Yield one finding per switch, code and link; what follows a lost GPU yields none."""
    placed: dict[_Key, list[_Placed]] = defaultdict(list)
    lost = tuple(view.of(79))
    for event in view.node.records.sxids:
        if switch_follows_loss(event, view.clock, lost):
            continue
        boot = view.clock.boot_of(event)
        position = view.clock.position(event, boot)
        place = _Placed(boot, position, event.line, event.stream, view.clock.hardware[boot], event)
        placed[event.switch_pci, event.code, event.link].append(place)
    for (switch, code, link), events in placed.items():
        events.sort(key=lambda e: e[:4])
        yield _finding(view, switch, code, link, events)


def switch_notes(view: NodeView) -> tuple[str, ...]:
    """Return the SXids that only follow a lost GPU, in words."""
    lost = tuple(view.of(79))
    codes = {
        event.code
        for event in view.node.records.sxids
        if lost and switch_follows_loss(event, view.clock, lost)
    }
    return tuple(f"SXid {code} is a consequence (follows the lost GPU)" for code in sorted(codes))


def _finding(
    view: NodeView, switch: str | None, code: int, link: int | None, events: Sequence[_Placed]
) -> Finding:
    row = sxids().get(code)
    present = [e for e in events if e.hardware == events[-1].hardware]
    earlier = _before_last_boot(present)
    # What came back, or came in several boots, is judged by what it is now.
    now = [e for e in present if e.boot == present[-1].boot]
    shown = min(now, key=lambda e: not e.event.fatal)
    fatal = shown.event.fatal
    first = sxid_verdict(row, fatal=fatal)
    then = _on_return(row, first)
    verdict = then if earlier else first
    unverified = verdict is Verdict.UNVERIFIED
    unknown = earlier is None and then is not first and not _life_is_known(view)
    name = row.name if row is not None and row.name else "in no published list"
    where = f", link {link}" if link is not None else ""
    word = {True: "Fatal", False: "Non-fatal", None: "severity not printed"}[fatal]
    return Finding(
        verdict=verdict,
        fault_class=FaultClass.SOFTWARE_LINK if link is not None else FaultClass.HARDWARE,
        what=f"SXid {code}{where}: {name}, {word}" + (", again after a reboot" if earlier else ""),
        rule=_RULE,
        record=shown.event,
        is_event=True,
        pci=switch,
        minimum_action=(Verdict.REBOOT if first is Verdict.REBOOT else Verdict.MONITOR)
        if unverified
        else None,
        open_check=_check(code, row) if unverified else OPEN_CHECK if unknown else None,
        provisional=unknown,
        companions=(ground_of(earlier.event, f"SXid {code} before the last reboot", pci=switch),)
        if earlier
        else (),
    )


def _before_last_boot(events: Sequence[_Placed]) -> _Placed | None:
    """Return the last such event of an earlier boot within the days that count, or None."""
    last = events[-1]
    reach = RECURRENCE_DAYS * 86_400 * US
    found = [e for e in events if e.boot < last.boot and last.position_us - e.position_us <= reach]
    return found[-1] if found else None


def _on_return(row: SxidRow | None, first: Verdict) -> Verdict:
    """Return the verdict of a recurrence; a column of MONITOR takes no stronger verdict back."""
    if row is None or row.on_recurrence in {Verdict.MONITOR, Verdict.LEAVE_ALONE}:
        return first
    return row.on_recurrence


def _life_is_known(view: NodeView) -> bool:
    launched = view.node.launched_at
    return view.is_measured and launched is not None and view.incident.window.start <= launched


def _check(code: int, row: SxidRow | None) -> str:
    if row is None:
        return f"whether the driver prints SXid {code} as Fatal"
    return f"NVIDIA's advice for SXid {code}: {row.action}"

"""What one raw line means: its code's explanation, sharpened by what the line itself says. Pure."""

from dataclasses import replace
from datetime import UTC, datetime

from gpuvet.errors import UnknownCode
from gpuvet.explain.own_text import OwnText, read_own_text
from gpuvet.explain.xid import XidExplanation, explain_code, explain_sxid
from gpuvet.model.events import Source, SxidEvent, XidEvent
from gpuvet.model.words import Verdict
from gpuvet.parse.kernel_log import parse_lines
from gpuvet.parse.untrusted import clean

MAX_EVENTS = 50

# Only stamps without a year need it, and an explanation shows no time.
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def explain_line(text: str) -> XidExplanation:
    """Return what the first Xid or SXid of a text means, by itself.

    Raises:
        UnknownCode: The text holds none.
    """
    return explain_lines(text)[0]


def explain_lines(text: str) -> tuple[XidExplanation, ...]:
    """Return what each Xid or SXid of a text means, by itself, in the order of the lines.

    Args:
        text: One or more raw lines in any wrapper.

    Raises:
        UnknownCode: The text holds none, or more than MAX_EVENTS.
    """
    parsed = parse_lines(text.splitlines(), node="node", stream="line", reference_time=_ANY_TIME)
    events = [record for record in parsed.records if isinstance(record, (XidEvent, SxidEvent))]
    if not events:
        raise UnknownCode(
            f"no Xid or SXid in {clean(text, limit=80)!r}; a driver's line holds "
            "'NVRM: Xid (PCI:…): 79, …', and a bare number goes without --line"
        )
    if len(events) > MAX_EVENTS:
        raise UnknownCode(
            f"{len(events)} events, and this explains {MAX_EVENTS} at most; for a whole log ask "
            "'gpuvet verdict', which judges them together"
        )
    return tuple(map(explain_event, events))


def explain_event(event: XidEvent | SxidEvent) -> XidExplanation:
    """Return what one event means, by itself."""
    if isinstance(event, SxidEvent):
        known = explain_sxid(event.code, fatal=event.fatal, names_link=event.link is not None)
        return replace(known, line=clean(event.raw), decode=_switch_line(event))
    known, own = explain_code(event.code), read_own_text(event)
    verdict = own.verdict or known.verdict
    if event.source is Source.USER_SPACE:
        own, verdict = _not_from_the_kernel(own), Verdict.LEAVE_ALONE
    open_check = own.open_check or known.open_check
    return replace(
        known,
        line=clean(event.raw),
        decode=(*_place(event), *own.says),
        verdict=verdict,
        on_recurrence=own.on_recurrence or known.on_recurrence,
        minimum_action=own.minimum_action or known.minimum_action,
        open_check=open_check if verdict is Verdict.UNVERIFIED else None,
        contradictions=own.contradictions,
    )


def _not_from_the_kernel(own: OwnText) -> OwnText:
    written = "written by a program, not the kernel: an injection or a copy"
    return own._replace(
        says=(written, "the health agent may still act on it", *own.says),
        on_recurrence=Verdict.LEAVE_ALONE,
        minimum_action="none",
    )


def _place(event: XidEvent) -> tuple[str, ...]:
    where = f"PCI id {event.pci}" if event.pci else "no PCI id: the line does not say which GPU"
    mig = f", MIG GPU instance {event.gpu_instance}" if event.gpu_instance is not None else ""
    pid = f", pid {event.pid}" if event.pid else ""
    cut = ("the line is cut",) if event.cut else ()
    return (f"{where}{mig}{pid}", *cut)


def _switch_line(event: SxidEvent) -> tuple[str, ...]:
    word = {True: "Fatal", False: "Non-fatal", None: "no severity printed"}[event.fatal]
    link = f", link {event.link}" if event.link is not None else ""
    return (f"switch {event.switch_pci or 'not named'}{link}, {word}",)

"""NVLink events: Xid 74, 137, 144 to 150 and 155 (verdict-rules §6, §9, §10)."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import US, Finding, NodeView, row_of
from gpuvet.calculators.link_lines import bits_of, decoded, fault_of, link_of, links_named
from gpuvet.calculators.recurrence import (
    Outcome,
    SamePlace,
    outcome,
    recurrence,
    same_gpu,
    settled,
)
from gpuvet.calculators.rules_action import action_verdict, advice, change_of, least_of
from gpuvet.calculators.rules_repair import with_outcome
from gpuvet.catalog.nvlink5 import NVLINK5_CODES, NvLinkDecode
from gpuvet.catalog.nvlink5_table import Investigatory
from gpuvet.catalog.xid74 import (
    ECC_PARITY_LIMIT,
    OnRepeat,
    RegisterBit,
    RegisterKind,
)
from gpuvet.model.events import XidEvent
from gpuvet.model.verdict import FaultClass, Verdict

# verdict-rules §6: an NVLink event this close on the same link explains a 137.
PRIVILEGE_SECONDS = 5
# verdict-rules §10.6: the 154 that decides a FOLLOW_154 row.
FOLLOW_SECONDS = 60

_DIAGNOSE = "NVIDIA's field diagnostics on this GPU and its link"
_OTHER_END = "the other end of the link: the one GPU or switch that all events point at"


def nvlink5(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 144 to 150: the highest of its lines' decodes."""
    judged = [_nvlink5_line(view, occurrence, line) for line in _distinct(occurrence)]
    yield min(judged, key=lambda f: (f.rank, f.what))


def _distinct(occurrence: Occurrence) -> list[XidEvent]:
    if len(occurrence.lines) == 1:
        return [occurrence.first]
    return list({line.text: line for line in reversed(occurrence.lines)}.values())[::-1]


def _nvlink5_line(view: NodeView, occurrence: Occurrence, line: XidEvent) -> Finding:
    decode, link = decoded(line), link_of(line)
    first, check, least = decode.verdict_first, decode.open_check, str(Verdict.MONITOR)
    notes: list[str] = []
    if decode.follow_154:
        action = _followed_action(view, occurrence)
        first = (action_verdict(action) if action is not None else None) or Verdict.LEAVE_ALONE
        check, least = advice(action), least_of(action)
        notes.append("NVIDIA's table follows the Xid 154 of this GPU")
    if decode.is_decoded and not decode.injected:
        again = recurrence(view, occurrence, same=_same_link(link))
        judged = settled(again, first, _on_return(first, decode.verdict_recurrence))
    else:
        judged = Outcome(first)
    if Investigatory.INVESTIGATE_PEER_DEVICE in decode.investigatory:
        check = _OTHER_END
        notes.append(f"look at {_OTHER_END}")
    return with_outcome(
        judged,
        occurrence,
        _shown(decode, link),
        rule="verdict-rules §10",
        minimum_action=least,
        open_check=check or "the line itself, whole",
        notes=(*notes, *((decode.note,) if decode.note else ())),
        contradictions=(decode.contradiction,) if decode.contradiction else (),
    )


def _on_return(first: Verdict, then: Verdict) -> Verdict:
    """Return the verdict of a recurrence; a column of MONITOR takes no stronger verdict back."""
    return first if then in {Verdict.MONITOR, Verdict.LEAVE_ALONE} else then


def _shown(decode: NvLinkDecode, link: int | None) -> str:
    event = f"event {decode.link_event_code}, " if decode.link_event_code else ""
    on_link = f"link {link}, " if link is not None and link >= 0 else ""
    come_to = decode.resolution.value if decode.resolution else "undecoded"
    where = f", {', '.join(decode.investigatory)}" if decode.investigatory else ""
    return f"{on_link}{event}{come_to}{where}"


def _same_link(link: int | None) -> SamePlace:
    def same(earlier: Occurrence, later: Occurrence) -> bool:
        return (
            same_gpu(earlier, later)
            and link is not None
            and any(link_of(e) == link and not decoded(e).injected for e in earlier.lines)
        )

    return same


def _followed_action(view: NodeView, occurrence: Occurrence) -> int | None:
    """Return the last recovery action within 60 s of an event, or None."""
    reach = FOLLOW_SECONDS * US
    last: tuple[int, int] | None = None
    for other in view.near(occurrence, (154,), seconds=FOLLOW_SECONDS):
        for line in other.lines:
            position = view.clock.position(line, other.boot)
            change = change_of(line.text)
            near = occurrence.start_us - reach <= position <= occurrence.end_us + reach
            if near and change is not None and (last is None or position >= last[0]):
                last = (position, change.after)
    return last[1] if last is not None else None


def nvlink4(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 74 of A100 and H100: its registers, or its text where it has none."""
    judged: list[Finding] = []
    found: list[tuple[int | None, RegisterBit]] = []
    for line in _distinct(occurrence):
        fault, bits = fault_of(line), bits_of(line)
        link = fault.link if fault is not None else None
        if bits:
            found += [(link, bit) for bit in bits]
        else:
            again = recurrence(view, occurrence, same=_same_link74(link))
            what = f"{_link_name(link)}, no registers in the line"
            settled_one = settled(again, Verdict.REBOOT, Verdict.REPLACE)
            judged.append(with_outcome(settled_one, occurrence, what, rule=_RULE74))
    judged += [_bit_finding(view, occurrence, link, bit) for link, bit in _telling(found)]
    yield min(judged, key=lambda f: (f.rank, f.what))


_RULE74 = "verdict-rules §9"
_NO_FAULT = frozenset({RegisterKind.IGNORABLE, RegisterKind.SECONDARY})


def _telling(
    found: Sequence[tuple[int | None, RegisterBit]],
) -> Sequence[tuple[int | None, RegisterBit]]:
    """Leave out secondary bits where a bit beside them names the error they follow."""
    if all(bit.kind in _NO_FAULT for _, bit in found):
        return found
    return [item for item in found if item[1].kind is not RegisterKind.SECONDARY]


def _link_name(link: int | None) -> str:
    return f"link {'?' if link is None else link}"


def _same_link74(link: int | None) -> SamePlace:
    def same(earlier: Occurrence, later: Occurrence) -> bool:
        links = {f.link for line in earlier.lines if (f := fault_of(line)) is not None}
        return same_gpu(earlier, later) and link is not None and link in links

    return same


def _bit_finding(
    view: NodeView, occurrence: Occurrence, link: int | None, bit: RegisterBit
) -> Finding:
    first = bit.first_verdict
    if bit.on_repeat is OnRepeat.NONE:
        judged = Outcome(first)
    else:
        again = recurrence(view, occurrence, same=_same_link74(link))
        then = (
            Verdict.UNVERIFIED if bit.on_repeat is OnRepeat.REPEATED_UNVERIFIED else Verdict.REPLACE
        )
        seen = _times_in_boot(view, occurrence, link, bit.kind)
        judged = settled(again, then if seen > _OFTEN[bit.on_repeat] else first, then)
    place = f", register {bit.register_number} bit {bit.bit}, {bit.meaning}"
    return with_outcome(
        judged,
        occurrence,
        f"{_link_name(link)}{place}",
        rule=_RULE74,
        open_check=_FOLLOWED if bit.is_secondary else _DIAGNOSE,
    )


# How many times in one boot a bit may come before it counts as repeated.
_OFTEN = {
    OnRepeat.OVER_2_OR_RECURS: ECC_PARITY_LIMIT,
    OnRepeat.REPEATED_UNVERIFIED: 1,
    OnRepeat.RECURS: 1_000_000,  # only a reboot in between counts
}
_FOLLOWED = "the error this one follows, on this node or at the other end of the link"


def _times_in_boot(
    view: NodeView, occurrence: Occurrence, link: int | None, kind: RegisterKind
) -> int:
    """Return how often bits of one kind came on one link in this boot, this time included."""
    return sum(
        1
        for other in view.of(occurrence.code)
        if other.pci == occurrence.pci
        and other.boot == occurrence.boot
        and other.start_us <= occurrence.start_us
        and any(_has_bit(line, link, kind) for line in other.lines)
    )


def _has_bit(line: XidEvent, link: int | None, kind: RegisterKind) -> bool:
    fault = fault_of(line)
    on_link = fault is not None and fault.link == link
    return on_link and any(bit.kind is kind for bit in bits_of(line))


def illegal_peer_access(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 137: an illegal access, unless an NVLink event on the same link explains it."""
    links = {link for line in occurrence.lines for link in links_named(line.text)}
    for other in view.near(occurrence, NVLINK5_CODES, seconds=PRIVILEGE_SECONDS):
        if {link_of(line) for line in other.lines} & links:
            return
    row = row_of(occurrence.code)

    def same(earlier: Occurrence, later: Occurrence) -> bool:
        before = {link for line in earlier.lines for link in links_named(line.text)}
        return same_gpu(earlier, later) and bool(before & links)

    then = row.on_recurrence if row is not None else Verdict.LEAVE_ALONE
    yield with_outcome(
        outcome(view, occurrence, Verdict.LEAVE_ALONE, then, same=same),
        occurrence,
        "illegal peer access, NVLink only in its name",
        fault_class=FaultClass.APPLICATION,
        open_check="the process's peer mappings, then NVIDIA's flow for Xid 137",
    )


def software_defined(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 155: software-defined; it matters only where links stay down."""
    gpu = view.gpu(occurrence.pci)
    down = gpu is not None and (
        (gpu.fabric_state or "Completed").casefold() not in {"completed", "n/a"}
        or (gpu.fabric_status or "Success").casefold() not in {"success", "n/a"}
        or bool(gpu.links_inactive)
    )
    row = row_of(occurrence.code)
    then = row.on_recurrence if row is not None else Verdict.MONITOR
    judged = Outcome(Verdict.REBOOT) if down else outcome(view, occurrence, Verdict.MONITOR, then)
    yield with_outcome(
        judged,
        occurrence,
        "software-defined link event" + (", links still down" if down else ""),
        open_check="who took the link down: Fabric Manager's log, and nvidia-smi nvlink -s",
    )

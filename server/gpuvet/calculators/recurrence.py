"""Whether the same thing happened to the same GPU before the last reboot (verdict-rules §5)."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from gpuvet.calculators.boots import microseconds, moment
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import US, NodeView, described, ground_of
from gpuvet.model.events import BoundaryKind, Source
from gpuvet.model.verdict import Ground, Verdict

# Ours: gpud keeps 3 days and allows 2 reboots, NVSentinel counts 5 faults in 24 h.
RECURRENCE_DAYS = 14
OPEN_CHECK = "same code on this PCI id before the last reboot?"

_REACH_US = RECURRENCE_DAYS * 86_400 * US
_INJECTED = (Source.USER_SPACE.value,)

SamePlace = Callable[[Occurrence, Occurrence], bool]


class Recurs(Enum):
    """Whether an event came back."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # earlier boots lie outside what was read


class Recurrence(NamedTuple):
    """The answer, the earlier event where there is one, and what was tried in between."""

    recurs: Recurs
    earlier: Occurrence | None = None
    notes: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """A verdict after the question whether the event came back.

    Attributes:
        verdict: The first-time verdict, or the one of a recurrence.
        minimum_action: For UNVERIFIED: what is right all the same.
        open_check: The question that is left where earlier boots were not read.
        provisional: An answer to it would change the verdict.
        companions: The earlier event.
    """

    verdict: Verdict
    minimum_action: str | None = None
    open_check: str | None = None
    provisional: bool = False
    companions: tuple[Ground, ...] = ()
    notes: tuple[str, ...] = ()


def same_gpu(one: Occurrence, other: Occurrence) -> bool:
    """Say whether two events lie on one PCI id with one hardware behind it."""
    return one.pci == other.pci and one.epoch == other.epoch and one.pci is not None


def recurrence(
    view: NodeView,
    occurrence: Occurrence,
    *,
    family: Iterable[int] | None = None,
    same: SamePlace = same_gpu,
) -> Recurrence:
    """Return whether an event of the family lies in an earlier boot of the same hardware.

    Args:
        view: The node.
        occurrence: The later event.
        family: Codes that count as the same thing; default its own code.
        same: What "the same place" means; NVLink codes add the link.
    """
    facts, notes = view.node.facts, tuple[str, ...]()
    if occurrence.boot or view.clock.resets:
        codes = tuple(family) if family is not None else (occurrence.code,)
        earlier = _earlier(view, occurrence, codes, same)
        if earlier is not None:
            return Recurrence(Recurs.YES, earlier)
        notes = _weaker_rungs(view, occurrence, codes, same)
    if facts.earlier_same_gpu_events is not None:
        return _as_told(facts.earlier_same_gpu_events, facts.reboots_since_event, notes)
    answer = Recurs.NO if _whole_life_read(view, occurrence) else Recurs.UNKNOWN
    return Recurrence(answer, notes=notes) if notes else _WITHOUT_MORE[answer]


_WITHOUT_MORE = {answer: Recurrence(answer) for answer in Recurs}


def _earlier(
    view: NodeView, occurrence: Occurrence, codes: Iterable[int], same: SamePlace
) -> Occurrence | None:
    """Return the last such event of an earlier boot; consequences and injections are none."""
    found = [
        other
        for other in view.of(*codes)
        if other.boot < occurrence.boot
        and occurrence.start_us - other.start_us <= _REACH_US
        and other.sources != _INJECTED
        and same(other, occurrence)
        and not view.is_aside(other)
    ]
    return max(found, key=lambda o: (o.boot, o.start_us), default=None)


def outcome(
    view: NodeView,
    occurrence: Occurrence,
    first: Verdict,
    then: Verdict,
    *,
    family: Iterable[int] | None = None,
    same: SamePlace = same_gpu,
) -> Outcome:
    """Return the verdict of an event: `first`, or `then` where it came back after a reboot."""
    if first is then:
        return _CLOSED[first]
    return settled(recurrence(view, occurrence, family=family, same=same), first, then)


def settled(again: Recurrence, first: Verdict, then: Verdict) -> Outcome:
    """Return the verdict that an answered question of recurrence leaves."""
    if again.recurs is Recurs.YES:
        least = first if first is Verdict.REBOOT else Verdict.MONITOR
        return Outcome(
            then,
            minimum_action=least if then is Verdict.UNVERIFIED else None,
            companions=earlier_ground(again),
            notes=(*again.notes, "the same on this GPU before the last reboot"),
        )
    unknown = again.recurs is Recurs.UNKNOWN and first is not then
    found = _OPEN[first] if unknown else _CLOSED[first]
    return found._replace(notes=again.notes) if again.notes else found


_OPEN = {v: Outcome(v, open_check=OPEN_CHECK, provisional=True) for v in Verdict}
_CLOSED = {v: Outcome(v) for v in Verdict}


def earlier_ground(again: Recurrence) -> tuple[Ground, ...]:
    """Return the event before the last reboot as a ground; none where there is none."""
    earlier = again.earlier
    if earlier is None:
        return ()
    what = f"{described(earlier)}, before the last reboot"
    return (ground_of(earlier.first, what, pci=earlier.pci, occurrence=earlier),)


def _as_told(earlier: int, reboots: int | None, notes: tuple[str, ...]) -> Recurrence:
    """Read the operator's counts: an earlier event recurs only over a reboot in between."""
    if earlier == 0:
        return Recurrence(Recurs.NO, notes=notes)
    if reboots is None:
        return Recurrence(Recurs.UNKNOWN, notes=notes)
    told = f"{earlier} earlier event(s) on this GPU, {reboots} reboot(s) since, as told"
    return Recurrence(Recurs.YES if reboots > 0 else Recurs.NO, notes=(*notes, told))


def _weaker_rungs(
    view: NodeView, occurrence: Occurrence, codes: Iterable[int], same: SamePlace
) -> tuple[str, ...]:
    notes: list[str] = []
    for other in view.of(*codes):
        if other is occurrence or other.boot != occurrence.boot or not same(other, occurrence):
            continue
        for reset in view.clock.resets:
            elsewhere = view.pci_of(reset.uuid) not in {None, occurrence.pci}
            if other.end_us < reset.at_us <= occurrence.start_us and not elsewhere:
                tried = "GPU reset" if reset.kind is BoundaryKind.GPU_RESET else "driver reload"
                at = f"{moment(reset.at_us):%Y-%m-%dT%H:%M:%SZ}"
                notes.append(f"a {tried} at {at} did not cure it")
    return tuple(dict.fromkeys(notes))


def _whole_life_read(view: NodeView, occurrence: Occurrence) -> bool:
    """Say whether every hour in which it could have happened before was seen."""
    if not view.is_measured:
        return False
    since_us = view.incident.since_us
    launched = view.node.launched_at
    if launched is not None and since_us <= microseconds(launched):
        return True
    if occurrence.placed and occurrence.start_us - since_us >= _REACH_US:
        return True
    return any(s.new_hardware and s.at_us >= since_us for s in view.clock.starts[: occurrence.boot])

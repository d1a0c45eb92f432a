"""Whether the same thing happened to the same GPU before the last reboot (xid_rules §5)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from gpuvet.calculators.boots import moment
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import US, NodeView
from gpuvet.model.events import BoundaryKind

# Ours: gpud keeps 3 days and allows 2 reboots, NVSentinel counts 5 faults in 24 h.
RECURRENCE_DAYS = 14
OPEN_CHECK = "same code on this PCI id before the last reboot?"

SamePlace = Callable[[Occurrence, Occurrence], bool]


class Recurs(Enum):
    """Whether an event came back."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # earlier boots lie outside what was read


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The answer, the earlier event where there is one, and what was tried in between."""

    recurs: Recurs
    earlier: Occurrence | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_certain(self) -> bool:
        """True when no reading could change the answer."""
        return self.recurs is not Recurs.UNKNOWN


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
    codes = tuple(family) if family is not None else (occurrence.code,)
    reach = RECURRENCE_DAYS * 86_400 * US
    for other in view.of(*codes):
        earlier = other.boot < occurrence.boot and occurrence.start_us - other.start_us <= reach
        if earlier and same(other, occurrence):
            return Recurrence(Recurs.YES, other)
    notes = _weaker_rungs(view, occurrence, codes, same)
    facts = view.node.facts
    if facts.earlier_same_gpu_events is not None:
        return _as_told(facts.earlier_same_gpu_events, facts.reboots_since_event, notes)
    if _whole_life_read(view, occurrence):
        return Recurrence(Recurs.NO, notes=notes)
    return Recurrence(Recurs.UNKNOWN, notes=notes)


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
    if not view.clock.resets:
        return ()
    notes: list[str] = []
    for other in view.of(*codes):
        if other is occurrence or other.boot != occurrence.boot or not same(other, occurrence):
            continue
        for reset in view.clock.resets:
            if other.end_us < reset.at_us <= occurrence.start_us:
                tried = "GPU reset" if reset.kind is BoundaryKind.GPU_RESET else "driver reload"
                at = f"{moment(reset.at_us):%Y-%m-%dT%H:%M:%SZ}"
                notes.append(f"a {tried} at {at} did not cure it")
    return tuple(dict.fromkeys(notes))


def _whole_life_read(view: NodeView, occurrence: Occurrence) -> bool:
    """Say whether every hour since this hardware started was seen."""
    if not view.is_measured:
        return False
    launched = view.node.launched_at
    if launched is not None and view.incident.window.start <= launched:
        return True
    started = [s.at_us for s in view.clock.starts[: occurrence.boot] if s.new_hardware]
    return bool(started) and moment(started[-1]) >= view.incident.window.start

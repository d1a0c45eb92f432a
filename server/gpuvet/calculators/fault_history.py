"""Faults and replacements in the account's own node-hours (preflight, history). Pure.

One fault is one event though several sources tell it: a fault, the call that replaces the node,
its end and the node that comes in its place are joined. Node-hours are counted only where nodes
are known to have existed and the source that tells every replacement was seen: HyperPod's
cluster events, elsewhere CloudTrail; where that one was not read, hours of searched node logs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.calculators.arrivals import JOINS_WITHIN
from gpuvet.calculators.poisson import History, Interval
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Window
from gpuvet.model.history import Life, PastEvent, Role, Sight, Teller, Told, Weight

# Ours: a node that is replaced within a day of its fault is replaced for it.
ENDED_FOR = timedelta(hours=24)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class FaultHistory:
    """What is known of the past.

    Attributes:
        events: Faults and replacements inside the hours that count, oldest first.
        node_hours: Node-hours that count.
        seen_by: The source whose hours count; None: none was seen.
        outside: Events outside of these hours; they are told and not counted.
        aside: Words that may be ordinary scaling and are not counted.
        sights: How far each source was seen.
    """

    events: tuple[PastEvent, ...] = ()
    node_hours: float = 0.0
    seen_by: Teller | None = None
    outside: tuple[PastEvent, ...] = ()
    aside: tuple[Told, ...] = ()
    sights: tuple[Sight, ...] = ()

    @property
    def rate(self) -> History:
        """The same as counts."""
        return History(len(self.events), self.node_hours)

    def interruptions(self, node_hours: float) -> Interval | None:
        """Return the range to expect in some node-hours; None for too little history."""
        return self.rate.interruptions(node_hours)

    def told_by(self, teller: Teller) -> int:
        """Return how many of the events a source tells of."""
        return sum(1 for event in self.events if teller in event.tellers)


def leading_tellers(
    orchestrator: Orchestrator, *, replaces_itself: bool = True
) -> tuple[Teller, ...]:
    """Return the sources whose hours may count, the most telling first.

    What HyperPod replaces by itself leaves no call: its own events are the only trace, unless
    node recovery is off. Elsewhere instances end and start by calls.
    """
    if orchestrator.is_hyperpod:
        calls = () if replaces_itself else (Teller.TRAIL,)
        return (Teller.EVENTS, *calls, Teller.LOGS)
    if orchestrator is Orchestrator.UNKNOWN:
        return (Teller.LOGS,)
    return (Teller.TRAIL, Teller.LOGS)


def fault_history(
    words: Iterable[Told],
    lives: Sequence[Life],
    sights: Sequence[Sight],
    orchestrator: Orchestrator,
    *,
    replaces_itself: bool = True,
) -> FaultHistory:
    """Return what befell the nodes in hours that were seen.

    Args:
        words: Of every source, in any order, copies among them.
        lives: When nodes are known to have existed.
        sights: How far each source was seen; one that was not read says why.
        orchestrator: Who runs the nodes; it decides which source tells all.
        replaces_itself: HyperPod may replace nodes without a call; False only where it is read.
    """
    joined, aside = join_words(words)
    by_teller = {one.teller: one for one in sights}
    for teller in leading_tellers(orchestrator, replaces_itself=replaces_itself):
        sight = by_teller.get(teller)
        if sight is None or not (sight.spans or sight.hours):
            continue
        inside = [event for event in joined if _is_seen(event, sight)]
        return FaultHistory(
            events=tuple(inside),
            node_hours=round(_node_hours(lives, sight), 1),
            seen_by=teller,
            outside=tuple(event for event in joined if event not in inside),
            aside=aside,
            sights=tuple(sights),
        )
    return FaultHistory(outside=joined, aside=aside, sights=tuple(sights))


def _is_seen(event: PastEvent, sight: Sight) -> bool:
    if any(span.start <= event.at <= span.end for span in sight.spans):
        return True
    own = {hour for node, hours in sight.hours if node in event.nodes for hour in hours}
    return any(hour <= event.at < hour + _HOUR for hour in own)


def _node_hours(lives: Sequence[Life], sight: Sight) -> float:
    hours = sum(_overlap(life, span) for life in lives for span in sight.spans)
    for node, seen in sight.hours:
        own = [life for life in lives if life.node == node]
        spans = [Window(start=hour, end=hour + _HOUR) for hour in seen]
        hours += sum(_overlap(life, span) for life in own for span in spans)
    return hours


def _overlap(life: Life, span: Window) -> float:
    length = min(life.end, span.end) - max(life.start, span.start)
    return max(length, timedelta(0)) / _HOUR


class _Bundle:
    """Words that are one event, while they are being joined."""

    def __init__(self, word: Told) -> None:
        self.words = [word]
        self.partner: _Bundle | None = None

    @property
    def role(self) -> Role:
        return self.words[-1].role

    @property
    def first(self) -> datetime:
        return self.words[0].at

    @property
    def last(self) -> datetime:
        return self.words[-1].at

    @property
    def group(self) -> str | None:
        return next((word.group for word in self.words if word.group), None)

    @property
    def is_failed_try(self) -> bool:
        return all(word.failed for word in self.words)

    def counts(self) -> bool:
        """Say whether it is a fault or a replacement rather than ordinary scaling."""
        others = self.partner.words if self.partner is not None else []
        weights = {word.weight for word in (*self.words, *others)}
        return Weight.ALWAYS in weights or (
            Weight.WITH_SUCCESSOR in weights and self.partner is not None
        )


def join_words(words: Iterable[Told]) -> tuple[tuple[PastEvent, ...], tuple[Told, ...]]:
    """Return one event for each fault or replacement, and the words that count for none."""
    ordered = sorted(set(words), key=lambda w: (w.at, w.node, w.role, w.teller, w.what))
    left = _of_nodes(w for w in ordered if w.role is not Role.CAME)
    came = _with_retries(_of_nodes(w for w in ordered if w.role is Role.CAME))
    _pair(left, came)
    events = [_event(one) for one in left if one.counts()]
    events += [_event(one) for one in came if one.partner is None and one.counts()]
    aside = tuple(
        word
        for one in left
        if not one.counts()
        for word in one.words
        if word.weight is not Weight.NEVER
    )
    return tuple(sorted(events, key=lambda e: (e.at, e.nodes))), aside


def _of_nodes(words: Iterable[Told]) -> list[_Bundle]:
    """Join what is told of one node: close in time, or its end within a day of its fault."""
    found: list[_Bundle] = []
    latest: dict[str, _Bundle] = {}
    for word in words:
        open_one = latest.get(word.node)
        if open_one is not None and word.at - open_one.last <= _reach(open_one, word):
            open_one.words.append(word)
        else:
            latest[word.node] = _Bundle(word)
            found.append(latest[word.node])
    return found


def _reach(bundle: _Bundle, word: Told) -> timedelta:
    is_end_of_fault = bundle.role is Role.FAULT and word.role is Role.LEFT
    return ENDED_FOR if is_end_of_fault else JOINS_WITHIN


def _with_retries(came: Sequence[_Bundle]) -> list[_Bundle]:
    """Let a node that failed to start join the next one that came in its group."""
    found: list[_Bundle] = []
    for one in came:
        earlier = next(
            (
                other
                for other in found
                if other.is_failed_try
                and one.first - other.last <= JOINS_WITHIN
                and _may_share(one.group, other.group)
            ),
            None,
        )
        if earlier is None:
            found.append(one)
        else:
            earlier.words += one.words
    return found


def _pair(left: Sequence[_Bundle], came: Sequence[_Bundle]) -> None:
    """Pair each node that left with at most one that came within the time a replacement takes."""
    for one in left:
        if not any(word.role is Role.LEFT for word in one.words):
            continue
        candidates = [
            other
            for other in came
            if other.partner is None
            and one.first - JOINS_WITHIN <= other.first <= one.last + JOINS_WITHIN
            and _may_share(one.group, other.group)
        ]
        if candidates:
            nearest = min(candidates, key=lambda other: abs(other.first - one.last))
            one.partner, nearest.partner = nearest, one


def _may_share(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _event(bundle: _Bundle) -> PastEvent:
    words = [*bundle.words, *(bundle.partner.words if bundle.partner else ())]
    return PastEvent(
        at=bundle.first,
        nodes=tuple(dict.fromkeys(word.node for word in words)),
        what="; ".join(dict.fromkeys(_whats(words))),
        tellers=tuple(dict.fromkeys(word.teller for word in words)),
        evidence=tuple(dict.fromkeys(word.evidence for word in words if word.evidence)),
    )


def _whats(words: Sequence[Told]) -> Iterator[str]:
    told = [word for word in words if word.weight is not Weight.NEVER] or words
    return (word.what for word in told)

"""One fault is one event, and node-hours are counted only where somebody was looking."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.calculators.fault_history import (
    FaultHistory,
    fault_history,
    join_words,
    leading_tellers,
)
from gpuvet.calculators.poisson import exact_interval
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Window
from gpuvet.model.history import Life, PastEvent, Role, Sight, Teller, Told, Weight

NOW = datetime(2026, 8, 19, 15, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
OLD, NEW, OTHER = "i-0aaaaaaaaaaaaaa01", "i-0aaaaaaaaaaaaaa09", "i-0aaaaaaaaaaaaaa02"
HYPERPOD, SLURM = Orchestrator.HYPERPOD_SLURM, Orchestrator.PARALLELCLUSTER


def at(hours: float) -> datetime:
    return NOW + hours * HOUR


def told(
    teller: Teller,
    role: Role,
    node: str,
    hours: float,
    weight: Weight = Weight.ALWAYS,
    *,
    group: str | None = "gpu",
    failed: bool = False,
) -> Told:
    return Told(
        teller=teller,
        role=role,
        node=node,
        at=at(hours),
        what=f"{role} by {teller}",
        weight=weight,
        group=group,
        failed=failed,
    )


XID = told(Teller.LOGS, Role.FAULT, OLD, -10)
CALL = told(Teller.TRAIL, Role.LEFT, OLD, -9)
STARTING = told(Teller.EVENTS, Role.CAME, NEW, -8.7)
LAUNCH = told(Teller.LAUNCHES, Role.CAME, NEW, -8.6, Weight.NEVER)


def nodes_of(*words: Told) -> list[tuple[str, ...]]:
    return [event.nodes for event in join_words(words)[0]]


def test_a_fault_its_replacement_and_the_node_that_came_are_one_event() -> None:
    events, aside = join_words((XID, CALL, STARTING, LAUNCH))

    assert events == (
        PastEvent(
            at=at(-10),
            nodes=(OLD, NEW),
            what="failed by node logs; left by CloudTrail; came by HyperPod cluster events",
            tellers=(Teller.LOGS, Teller.TRAIL, Teller.EVENTS, Teller.LAUNCHES),
        ),
    )
    assert aside == ()


def test_order_and_copies_of_words_change_nothing() -> None:
    words = (XID, CALL, STARTING, LAUNCH)
    found = {join_words((*order, *order)) for order in permutations(words)}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("words", "events"),
    [
        pytest.param((XID, told(Teller.HEALTH, Role.FAULT, OLD, -9)), 1, id="two tell one fault"),
        pytest.param((XID, told(Teller.LOGS, Role.FAULT, OLD, -5)), 2, id="two faults hours apart"),
        pytest.param(
            (XID, told(Teller.TRAIL, Role.LEFT, OLD, 10)), 1, id="replaced within a day of it"
        ),
        pytest.param(
            (XID, told(Teller.TRAIL, Role.LEFT, OLD, 20)), 2, id="replaced more than a day later"
        ),
        pytest.param((XID, told(Teller.LOGS, Role.FAULT, OTHER, -10)), 2, id="two nodes at once"),
        pytest.param(
            (CALL, told(Teller.TRAIL, Role.LEFT, OTHER, -9), STARTING),
            2,
            id="two left and one has come so far",
        ),
        pytest.param(
            (STARTING, told(Teller.EVENTS, Role.CAME, OTHER, -8.7)),
            2,
            id="two came and nobody says for whom",
        ),
        pytest.param(
            (CALL, told(Teller.EVENTS, Role.CAME, NEW, -8.7, group="other")),
            2,
            id="another group's node is not its successor",
        ),
        pytest.param(
            (
                CALL,
                told(Teller.EVENTS, Role.CAME, OTHER, -8.7, failed=True),
                told(Teller.EVENTS, Role.CAME, NEW, -8),
            ),
            1,
            id="a start that failed is tried again",
        ),
    ],
)
def test_words_are_joined(words: tuple[Told, ...], events: int) -> None:
    assert len(nodes_of(*words)) == events


END = told(Teller.TRAIL, Role.LEFT, OLD, -9, Weight.WITH_SUCCESSOR)
SCALE_DOWN = told(Teller.TRAIL, Role.LEFT, OLD, -9, Weight.WITH_FAULT)


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        pytest.param((END,), False, id="an end alone is scaling"),
        pytest.param((END, LAUNCH), True, id="an end with a successor is a replacement"),
        pytest.param((SCALE_DOWN, LAUNCH), False, id="the cluster manager scales down and up"),
        pytest.param((XID, SCALE_DOWN), True, id="the cluster manager ends a node that failed"),
        pytest.param((SCALE_DOWN, STARTING), True, id="the service says replacement"),
        pytest.param((LAUNCH,), False, id="a launch alone is growth"),
    ],
)
def test_scaling_is_not_a_fault(words: tuple[Told, ...], counts: bool) -> None:
    events, aside = join_words(words)
    assert bool(events) is counts
    assert bool(aside) is (not counts and words != (LAUNCH,))


def test_one_successor_stands_for_one_end() -> None:
    second = END.model_copy(update={"node": OTHER})

    events, aside = join_words((END, second, LAUNCH))

    assert [event.nodes for event in events] == [(OLD, NEW)]
    assert [word.node for word in aside] == [OTHER]


DAYS_10 = Window(start=at(-240), end=NOW)
LIVES = (
    Life(node=OTHER, start=at(-500), end=NOW),
    Life(node=NEW, start=at(-8.6), end=NOW),
    Life(node=OLD, start=at(-10), end=at(-9)),
)


def test_node_hours_are_those_of_known_lives_inside_what_was_seen() -> None:
    sights = (Sight(teller=Teller.EVENTS, spans=(DAYS_10,)),)

    found = fault_history((XID, CALL), LIVES, sights, HYPERPOD)

    assert found.node_hours == pytest.approx(240 + 8.6 + 1)
    assert found.seen_by is Teller.EVENTS
    assert [event.nodes for event in found.events] == [(OLD,)]


def test_an_event_outside_of_what_was_seen_is_told_and_not_counted() -> None:
    sights = (Sight(teller=Teller.EVENTS, spans=(Window(start=at(-5), end=NOW),)),)

    found = fault_history((CALL,), LIVES, sights, HYPERPOD)

    assert (found.events, len(found.outside)) == ((), 1)


def test_without_the_source_that_tells_all_only_searched_hours_count() -> None:
    hours = (at(-11), at(-10))
    sights = (
        Sight(teller=Teller.EVENTS, reason="denied"),
        Sight(teller=Teller.TRAIL, spans=(DAYS_10,)),
        Sight(teller=Teller.LOGS, hours=((OTHER, hours),)),
    )

    found = fault_history(
        (CALL, told(Teller.LOGS, Role.FAULT, OTHER, -9.5)), LIVES, sights, HYPERPOD
    )

    assert (found.seen_by, found.node_hours) == (Teller.LOGS, 2.0)
    assert [event.nodes for event in found.events] == [(OTHER,)]
    assert [event.nodes for event in found.outside] == [(OLD,)]


def test_nothing_seen_claims_no_hour() -> None:
    sights = (Sight(teller=Teller.TRAIL, reason="denied"),)

    found = fault_history((CALL,), LIVES, sights, SLURM)

    assert found == FaultHistory(outside=found.outside, sights=sights)
    assert found.interruptions(1_000.0) is None


@pytest.mark.parametrize(
    ("orchestrator", "replaces_itself", "leading"),
    [
        (HYPERPOD, True, (Teller.EVENTS, Teller.LOGS)),
        (HYPERPOD, False, (Teller.EVENTS, Teller.TRAIL, Teller.LOGS)),
        (SLURM, True, (Teller.TRAIL, Teller.LOGS)),
        (Orchestrator.EKS, True, (Teller.TRAIL, Teller.LOGS)),
        (Orchestrator.EC2, True, (Teller.TRAIL, Teller.LOGS)),
        (Orchestrator.UNKNOWN, True, (Teller.LOGS,)),
    ],
)
def test_who_tells_every_replacement(
    orchestrator: Orchestrator, replaces_itself: bool, leading: tuple[Teller, ...]
) -> None:
    assert leading_tellers(orchestrator, replaces_itself=replaces_itself) == leading


def test_the_range_is_the_exact_interval_of_the_run_s_node_hours() -> None:
    fleet = tuple(Life(node=f"i-{n:017x}", start=at(-500), end=NOW) for n in range(10))
    faults = [told(Teller.TRAIL, Role.LEFT, f"i-{n:017x}", -20 * n - 1) for n in range(3)]
    sights = (Sight(teller=Teller.TRAIL, spans=(DAYS_10,)),)

    found = fault_history(faults, fleet, sights, SLURM)

    assert (len(found.events), found.node_hours) == (3, 2_400.0)
    assert found.interruptions(1_200.0) == exact_interval(3).times(0.5)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([Teller.LOGS, Teller.TRAIL, Teller.EVENTS]),
            st.sampled_from(list(Role)),
            st.sampled_from([OLD, NEW, OTHER]),
            st.floats(-200, 0),
            st.sampled_from(list(Weight)),
        ),
        max_size=8,
    ),
    st.data(),
)
def test_less_evidence_never_makes_more_of_a_history(
    rows: list[tuple[Teller, Role, str, float, Weight]], data: st.DataObject
) -> None:
    words = [told(*row) for row in rows]
    sights = [
        Sight(teller=Teller.EVENTS, spans=(DAYS_10,)),
        Sight(teller=Teller.LOGS, hours=((OTHER, (at(-3), at(-2))),)),
    ]
    whole = fault_history(words, LIVES, sights, HYPERPOD)
    blind = [Sight(teller=Teller.EVENTS, reason="denied"), sights[1]]
    kept = [w for w in words if w.teller is not Teller.EVENTS]

    less = fault_history(kept, LIVES, blind, HYPERPOD)

    assert less.node_hours <= whole.node_hours
    fewer = data.draw(st.lists(st.sampled_from(LIVES), unique=True)) if LIVES else []
    assert fault_history(words, fewer, sights, HYPERPOD).node_hours <= whole.node_hours

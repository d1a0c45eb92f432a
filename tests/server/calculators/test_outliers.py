"""Counts against peers of the same job."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.calculators.outliers import outliers, standings

EIGHT = {f"node-{n}": float(v) for n, v in enumerate((11702, 11760, 11650, 11710, 11800, 11690))}


def test_a_large_count_can_be_usual() -> None:
    assert outliers(EIGHT) == ()
    sentence = next(one for one in standings(EIGHT) if one.peer == "node-1").sentence
    assert sentence.startswith("11,760 on node-1 is usual among 6 peers: median 11,706, MAD 35")
    assert "heuristic" in sentence


def test_a_count_far_above_the_others_stands_out() -> None:
    found = outliers({**EIGHT, "node-9": 25_000.0})
    assert [one.peer for one in found] == ["node-9"]


def test_a_count_far_below_does_not_stand_out() -> None:
    assert outliers({**EIGHT, "node-9": 3.0}) == ()


def test_too_few_peers_say_nothing() -> None:
    assert standings({"a": 1.0, "b": 1.0, "c": 9000.0}) == ()


@pytest.mark.parametrize(("value", "names"), [(5.0, []), (10.0, ["e"])])
def test_among_equal_peers_it_takes_ten_and_twice_as_many(value: float, names: list[str]) -> None:
    found = outliers({"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": value})
    assert [one.peer for one in found] == names


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=12))
def test_the_order_of_peers_changes_nothing(values: list[float]) -> None:
    named = {f"n{place:02}": value for place, value in enumerate(values)}
    mixed = dict(sorted(named.items(), key=lambda one: -one[1]))
    assert standings(named) == standings(mixed)

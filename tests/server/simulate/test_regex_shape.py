"""Patterns read as trees agree with Python's own engine."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.simulate.regex_match import matches, witness
from gpuvet.simulate.regex_shape import (
    can_be_empty,
    group,
    is_numeric,
    literals,
    required_text,
    runaway,
)
from gpuvet.simulate.regex_tree import Pattern, read

ATOMS = st.sampled_from(["a", "b", ".", r"\d", r"\w", "[ab]", "[^a]", r"\s", "1", r"\.", "(?:ab)"])
SUFFIXES = st.sampled_from(["", "*", "+", "?", "{2}", "{1,3}", "*?"])
PIECES = st.tuples(ATOMS, SUFFIXES).map("".join)
PATTERNS = st.recursive(
    st.lists(PIECES, min_size=1, max_size=3).map("".join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("|".join),
        inner.map("({})".format),
        st.tuples(inner, inner).map("".join),
    ),
    max_leaves=4,
)


def tree(pattern: str) -> Pattern:
    found = read(pattern)
    assert found is not None, pattern
    return found


@settings(max_examples=150, deadline=None)
@given(PATTERNS, st.text(alphabet="ab1. \n", max_size=6))
def test_matching_agrees_with_python(pattern: str, text: str) -> None:
    assert matches(tree(pattern).tree, text) == (re.match(pattern, text) is not None)


@settings(max_examples=100, deadline=None)
@given(PATTERNS)
def test_a_witness_is_matched(pattern: str) -> None:
    assert re.match(pattern, witness(tree(pattern).tree))


@settings(max_examples=100, deadline=None)
@given(PATTERNS)
def test_empty_matches_agree_with_python(pattern: str) -> None:
    assert can_be_empty(tree(pattern).tree) == (re.match(pattern, "") is not None)


@settings(max_examples=100, deadline=None)
@given(PATTERNS, st.text(alphabet="ab1. ", max_size=8))
def test_required_text_stands_in_every_match(pattern: str, text: str) -> None:
    found = tree(pattern)
    needed = required_text(found.tree, found.flags)

    if needed is not None and re.match(pattern, text):
        assert needed in text


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<loss>\d+)",
        r"[]a]+",
        r"a{2,}b{,3}",
        r"(?i:abc)",
        r"(?=a)b",
        r"\u0041",
        r"a{x}",
        r"(?#no)a",
    ],
)
def test_python_s_syntax_is_read(pattern: str) -> None:
    assert read(pattern) is not None
    re.compile(pattern)


@pytest.mark.parametrize("pattern", ["(", "a)", "[a", "*a", "(?P<x", "a" * 5000, "(" * 200])
def test_what_cannot_be_read_is_said(pattern: str) -> None:
    assert read(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "is_runaway"),
    [
        (r"(\w+\s*)+", True),
        (r"(.*)*x", True),
        (r"(a|a)+", True),
        (r".*.*=", True),
        (r"(?:\d+,?)+", True),
        (r"(\w+\s)+", False),
        (r"(?:\d+\.)+", False),
        (r".* (.+)TFLOPs.*", False),
        (r".*\[Epoch \d+.*'x': (\d+(\.\d+)?).*", False),
        (r"(?:ab|cd)+", False),
    ],
)
def test_runaway_shapes_are_named(pattern: str, is_runaway: bool) -> None:
    assert (runaway(tree(pattern).tree) is not None) == is_runaway


@pytest.mark.parametrize(
    ("inner", "numeric"),
    [
        (r"\d+(\.\d+)?", True),
        (r"[-+0-9.eE]+", True),
        (r"nan|\d+", True),
        (r"\d+.\d+", True),
        (r".+", False),
        (r"[^,]+", False),
        (r"\d*", False),
        (r"\w+", False),
        (r"\d+%", False),
    ],
)
def test_a_group_is_a_number_or_not(inner: str, numeric: bool) -> None:
    found = group(tree(f".*=({inner})").tree, 1)
    assert found is not None

    assert is_numeric(found.body) == numeric


def test_literals_keep_their_order_and_gaps() -> None:
    assert literals(tree(r".*\[Epoch \d+ [Bb]atch").tree) == "\x00[Epoch \x00 batch"

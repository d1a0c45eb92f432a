"""Stand-ins for words: another word of the same shape, in the same order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.record.names import word_shape
from gpuvet.record.ordered import HEX, fixed, of_kind, stand_ins

KEYS = st.binary(min_size=16, max_size=32)
IDS = st.sets(st.text(HEX, min_size=8, max_size=8), min_size=1, max_size=60)
WORDS = st.sets(st.text("abcxyzABZ0159é漢", min_size=1, max_size=10), min_size=1, max_size=40)


def drawn(words: set[str], key: bytes) -> dict[str, str]:
    return stand_ins({word: word_shape(word) for word in words}, key)


@settings(max_examples=60)
@given(words=WORDS, key=KEYS)
def test_order_length_and_common_beginnings_are_kept(words: set[str], key: bytes) -> None:
    becomes = drawn(words, key)
    assert sorted(words) == sorted(words, key=lambda word: becomes[word])
    for one in words:
        for other in words:
            shared = next(
                (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
                min(len(one), len(other)),
            )
            assert becomes[one][:shared] == becomes[other][:shared]
    assert [len(word) for word in words] == [len(becomes[word]) for word in words]


@settings(max_examples=60)
@given(words=WORDS, key=KEYS)
def test_no_two_words_become_the_same(words: set[str], key: bytes) -> None:
    assert len(set(drawn(words, key).values())) == len(words)


@settings(max_examples=60)
@given(words=WORDS, key=KEYS)
def test_each_character_stays_of_its_kind(words: set[str], key: bytes) -> None:
    for word, stand_in in drawn(words, key).items():
        for before, after in zip(word, stand_in, strict=True):
            assert before.isdigit() == after.isdigit()
            assert before.isupper() == after.isupper()
            assert before.isascii() == after.isascii()


@settings(max_examples=40)
@given(ids=IDS, key=KEYS)
def test_the_same_key_and_words_give_the_same_stand_ins(ids: set[str], key: bytes) -> None:
    words = {one: of_kind(one, HEX) for one in ids}
    backwards = {one: words[one] for one in sorted(ids, reverse=True)}
    assert stand_ins(words, key) == stand_ins(backwards, key)


@settings(max_examples=40)
@given(ids=IDS, key=KEYS)
def test_no_stand_in_is_a_word_that_was_there(ids: set[str], key: bytes) -> None:
    becomes = stand_ins({one: of_kind(one, HEX) for one in ids}, key)
    assert not ids & set(becomes.values())


def test_another_key_gives_other_stand_ins() -> None:
    words = {one: of_kind(one, HEX) for one in ("0a1b2c3d", "0a1b9999")}
    assert stand_ins(words, b"k" * 16) != stand_ins(words, b"l" * 16)


def test_where_every_digit_occurs_the_order_leaves_no_choice() -> None:
    words = {one: of_kind(one, "0123456789") for one in "0123456789"}
    assert stand_ins(words, b"k" * 16) == {one: one for one in "0123456789"}


def test_words_that_stay_keep_their_place_among_the_others() -> None:
    words = {"kernel": fixed("kernel"), "kerfuffle": word_shape("kerfuffle"), "a": word_shape("a")}
    becomes = stand_ins(words, b"k" * 16)
    assert becomes["kernel"] == "kernel"
    assert becomes["kerfuffle"][:3] == "ker"
    assert becomes["a"] < becomes["kerfuffle"] < "kernel"


@pytest.mark.parametrize("avoid", [{"b"}, {"b", "c", "d"}])
def test_what_is_to_be_avoided_is_avoided_where_there_is_a_choice(avoid: set[str]) -> None:
    for key in (bytes([n]) * 16 for n in range(20)):
        assert stand_ins({"x": word_shape("x")}, key, avoid=avoid)["x"] not in {*avoid, "x"}

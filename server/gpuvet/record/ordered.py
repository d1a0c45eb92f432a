"""Stand-ins for words that keep length, kind of character, common beginnings and sort order. Pure.

The words of one kind form a tree of their characters. At each branch the characters that occur
there are drawn anew, in their order, from those that may stand there. So two words share as long
a beginning as before, sort as before, and a word that was cut short still leads to its original.
What this cannot hide is how the words branch: where all ten digits occur at one place they stay.
"""

import hmac
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

_ATTEMPTS = 24

DIGITS = "0123456789"
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
HEX = "0123456789abcdef"
UPPER_HEX = HEX.upper()
# Without vowels no word of a language comes about by chance.
_VOWELS = frozenset("aeiouyAEIOUY")
_BLOCK = 64  # characters of other scripts stay within their block of this size


class Place(NamedTuple):
    """One character of a word, and what may stand for it: sorted, the character among it."""

    character: str
    choices: str


Word = tuple[Place, ...]


def fixed(text: str) -> Word:
    """Return a word that stays as it is."""
    return tuple(Place(character, character) for character in text)


def of_kind(text: str, alphabet: str) -> Word:
    """Return a word of which each character may become any of an alphabet; others stay."""
    return tuple(Place(c, alphabet if c in alphabet else c) for c in text)


def letters(character: str) -> str:
    """Return what may stand for a letter: its own case of Latin, or its block of other scripts."""
    if character in LOWER:
        return LOWER
    if character in UPPER:
        return UPPER
    if character.isascii() or not character.isalpha():
        return character
    first = ord(character) // _BLOCK * _BLOCK
    near = (chr(code) for code in range(first, first + _BLOCK))
    return "".join(one for one in near if one.isalpha() and one.islower() == character.islower())


def stand_ins(
    words: Mapping[str, Word], key: bytes, *, avoid: Container[str] = ()
) -> dict[str, str]:
    """Return the stand-in of every word.

    As far as the order leaves a choice no stand-in is one of the words, nor one to avoid.

    Args:
        words: Each word by its text.
        key: The same key and words give the same stand-ins.
        avoid: What else no stand-in should be.
    """
    best: dict[str, str] = {}
    fewest: int | None = None
    for attempt in range(_ATTEMPTS):
        drawn = dict(_drawn(words, key + attempt.to_bytes(2, "big")))
        unlucky = sum(
            (word != stand_in and (stand_in in words or stand_in in avoid))
            or (word == stand_in and any(len(place.choices) > 1 for place in words[word]))
            for word, stand_in in drawn.items()
        )
        if fewest is None or unlucky < fewest:
            best, fewest = drawn, unlucky
        if not unlucky:
            break
    return best


def _drawn(words: Mapping[str, Word], key: bytes) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[int, str, list[str]]] = [(0, "", sorted(words))] if words else []
    while waiting:
        depth, begun, here = waiting.pop()
        if len(here) == 1:  # nothing branches any more
            yield here[0], begun + _alone(words[here[0]], depth, key, here[0])
            continue
        branches: dict[str, list[str]] = {}
        for text in here:
            if len(text) == depth:
                yield text, begun
            else:
                branches.setdefault(text[depth], []).append(text)
        choices = [_common(words, group, depth) for group in branches.values()]
        becomes = _in_order(choices, _Chance(key, here[0][:depth]))
        for group, character in zip(branches.values(), becomes, strict=True):
            waiting.append((depth + 1, begun + character, group))


def _alone(word: Word, depth: int, key: bytes, text: str) -> str:
    chance = _Chance(key, text[: depth + 1])
    return "".join(chance.choice(_without_vowels(place.choices)) for place in word[depth:])


def _common(words: Mapping[str, Word], group: Sequence[str], depth: int) -> str:
    """Return what may stand at a place of all these words."""
    offered = {words[text][depth].choices for text in group}
    first = next(iter(offered))
    if len(offered) == 1:
        return first
    allowed = frozenset(first).intersection(*offered)
    return "".join(sorted(allowed))


class _Chance:
    """Numbers that follow from a key and the beginning of a word."""

    def __init__(self, key: bytes, beginning: str) -> None:
        self._key = key
        self._bytes = hmac.digest(key, beginning.encode("utf-8", "surrogatepass"), "sha512")
        self._at = 0

    def choice(self, able: str) -> str:
        """Return one of some characters."""
        if len(able) == 1:
            return able
        if self._at == len(self._bytes):
            self._bytes, self._at = hmac.digest(self._key, self._bytes, "sha512"), 0
        number = int.from_bytes(self._bytes[self._at : self._at + 4], "big")
        self._at += 4
        return able[number % len(able)]


def _in_order(choices: Sequence[str], chance: _Chance) -> list[str]:
    """Draw one character for each branch so that they rise as the branches do."""
    plain = [_without_vowels(allowed) for allowed in choices]
    return _rising(plain, chance) or _rising(choices, chance) or []


@cache
def _without_vowels(allowed: str) -> str:
    if len(allowed) < len(LOWER):  # hexadecimal digits and fixed characters have no spelling
        return allowed
    return "".join(one for one in allowed if one not in _VOWELS) or allowed


def _rising(choices: Sequence[str], chance: _Chance) -> list[str] | None:
    latest: list[str] = []
    bound: str | None = None
    for allowed in reversed(choices):
        below = [one for one in allowed if bound is None or one < bound]
        if not below:
            return None
        bound = max(below)
        latest.append(bound)
    drawn: list[str] = []
    for allowed, last in zip(choices, reversed(latest), strict=True):
        able = "".join(one for one in allowed if one <= last and (not drawn or one > drawn[-1]))
        drawn.append(chance.choice(able))
    return drawn

"""Identifiers and names for their stand-ins, over a whole recording, and back. Pure.

The same value becomes the same stand-in wherever it stands: in a parameter, a reply, a line of a
log, JSON inside a string. What was cut short at its end becomes as much of its stand-in.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

from gpuvet.parse.untrusted import CUT
from gpuvet.record.kinds import Kind, Seen, seen_in, word_of
from gpuvet.record.names import Names, named
from gpuvet.record.ordered import stand_ins
from gpuvet.record.sightings import Sightings
from gpuvet.record.walk import Role, walked

# Reports show an account by its end: …3333.
_END_DIGITS = 4
_END = re.compile(rf"…\d{{{_END_DIGITS}}}(?!\d)")
_ATTEMPTS = 16
_SHORTEST_REST = 3
_LONGEST_REST = 512
_LONGEST_KNOWN = 160  # fields and names of streams repeat by the thousand


@dataclass
class _Direction:
    """What becomes of identifiers and names one way."""

    values: Mapping[Kind, Mapping[str, str]]
    names: Names
    whole: list[tuple[str, str]] = field(init=False)
    _known: dict[tuple[str, bool], str] = field(init=False, default_factory=dict[Any, str])

    def __post_init__(self) -> None:
        pairs = chain(self.names.becomes.items(), *(one.items() for one in self.values.values()))
        self.whole = sorted(pairs)

    def replaced(self, text: str, *, is_name: bool) -> str:
        if len(text) > _LONGEST_KNOWN:
            return self._replaced(text, is_name=is_name)
        known = self._known.get((text, is_name))
        if known is None:
            known = self._known[(text, is_name)] = self._replaced(text, is_name=is_name)
        return known

    def _replaced(self, text: str, *, is_name: bool) -> str:
        if CUT in text:
            return CUT.join(
                self._of_cut(part, is_name=is_name, is_cut=is_cut) for part, is_cut in _parts(text)
            )
        return self._of_whole(text, is_name=is_name)

    def _of_whole(self, text: str, *, is_name: bool) -> str:
        parts: list[str] = []
        done = 0
        for seen in seen_in(text):
            stand_in = self._of_value(seen)
            if stand_in is not None:
                parts.append(self.names.replaced(text[done : seen.start], is_name=is_name))
                parts.append(_spelt(seen, stand_in))
                done = seen.end
        parts.append(self.names.replaced(text[done:], is_name=is_name))
        return "".join(parts)

    def _of_value(self, seen: Seen) -> str | None:
        known = self.values.get(seen.kind, {}).get(seen.value)
        if known is not None or seen.kind is not Kind.RESOURCE:
            return known
        at = bisect_left(self.whole, (seen.value, ""))  # reports shorten ids
        is_begun = at < len(self.whole) and self.whole[at][0].startswith(seen.value)
        return self.whole[at][1][: len(seen.value)] if is_begun else None

    def _of_cut(self, text: str, *, is_name: bool, is_cut: bool) -> str:
        kept, rest = self._rest(text) if is_cut else (text, "")
        return self._of_whole(kept, is_name=is_name) + rest

    def _rest(self, text: str) -> tuple[str, str]:
        """Return a text without the beginning of a value it ends with, and what that becomes."""
        for start in range(max(0, len(text) - _LONGEST_REST), len(text) - _SHORTEST_REST + 1):
            if start and text[start - 1].isalnum():
                continue
            begun = text[start:]
            at = bisect_left(self.whole, (begun, ""))
            if at < len(self.whole) and self.whole[at][0].startswith(begun):
                return text[:start], self.whole[at][1][: len(begun)]
        return text, ""


def _parts(text: str) -> list[tuple[str, bool]]:
    parts = text.split(CUT)
    return [(part, at < len(parts) - 1) for at, part in enumerate(parts)]


def _spelt(seen: Seen, stand_in: str) -> str:
    return stand_in.replace(".", "-") if seen.is_dashed else stand_in


class Pseudonyms:
    """The stand-ins of one recording, both ways."""

    def __init__(self, values: Mapping[Kind, Mapping[str, str]], names: Mapping[str, str]) -> None:
        """Hold stand-ins by their originals."""
        self._values = values
        self._names = names
        self._there = _Direction(values, Names(names, guarded=True))
        back = {kind: {s: o for o, s in known.items()} for kind, known in values.items()}
        self._ends = {
            f"…{stand_in[-_END_DIGITS:]}": f"…{original[-_END_DIGITS:]}"
            for stand_in, original in back.get(Kind.NUMBER, {}).items()
        }
        self._back = _Direction(back, Names({s: o for o, s in names.items()}, guarded=False))

    @classmethod
    def of(cls, seen: Sightings, key: bytes) -> Self:
        """Return stand-ins for what was seen.

        Args:
            seen: Everything of one recording.
            key: The same key and sightings give the same stand-ins.
        """
        values = {
            kind: stand_ins(
                {value: word_of(kind, value, seen.blocks.get(value)) for value in known},
                key + kind.encode(),
            )
            for kind, known in sorted(seen.values.items())
        }
        if Kind.NUMBER in seen.values:
            values[Kind.NUMBER] = _told_by_their_ends(seen.values[Kind.NUMBER], key)
        names = named(sorted(seen.names), sorted(seen.paths), key + b"names", seen.words)
        return cls(values, names.becomes)

    def text(self, text: str, role: Role = Role.TEXT) -> str:
        """Return a text with every original replaced.

        Args:
            text: Any text.
            role: What it is where it stands.
        """
        return self._there.replaced(text, is_name=role in {Role.NAME, Role.PATH})

    def value(self, value: Any, member: str = "") -> Any:  # noqa: ANN401 (a reply is what it is)
        """Return a reply or parameters with every original replaced, in keys and strings."""
        return walked(value, self.text, member)

    def restored(self, text: str) -> str:
        """Return a text with the originals put back for their stand-ins."""
        whole = self._back.replaced(text, is_name=True)
        return _END.sub(lambda match: self._ends.get(match[0], match[0]), whole)

    def pairs(self) -> Mapping[str, Mapping[str, str]]:
        """Return originals by stand-in, under their kind; for the map that stays at home."""
        kinds = {kind.value: {s: o for o, s in v.items()} for kind, v in self._values.items()}
        return {**kinds, "name": {s: o for o, s in self._names.items()}}

    @classmethod
    def from_pairs(cls, pairs: Mapping[str, Mapping[str, str]]) -> Self:
        """Return the stand-ins of a stored map; see `pairs`."""
        values = {kind: _turned(pairs[kind]) for kind in Kind if kind in pairs}
        return cls(values, _turned(pairs.get("name", {})))

    def originals(self) -> Iterable[str]:
        """Yield every original."""
        yield from self._names
        for known in self._values.values():
            yield from known


def _told_by_their_ends(known: Iterable[str], key: bytes) -> dict[str, str]:
    """Return stand-ins of numbers whose last digits, as reports show accounts, differ."""
    words = {value: word_of(Kind.NUMBER, value) for value in known}
    ends = {value[-_END_DIGITS:] for value in words}
    drawn: dict[str, str] = {}
    for attempt in range(_ATTEMPTS):
        drawn = stand_ins(words, key + Kind.NUMBER.encode() + bytes([attempt]))
        if len({stand_in[-_END_DIGITS:] for stand_in in drawn.values()}) >= len(ends):
            break
    return drawn


def _turned(pairs: Mapping[str, str]) -> dict[str, str]:
    return {original: stand_in for stand_in, original in pairs.items()}

"""Names that people chose: their words, their stand-ins, and finding them in running text. Pure.

A name has no form to be found by. It is known because it stood where a name stands, and from then
on it is found wherever its words follow each other, whatever encoding it stands in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from gpuvet.record.ordered import DIGITS, Place, Word, fixed, letters, stand_ins
from gpuvet.record.vocabulary import is_field_word, own_words

_SHORTEST = 3
_LONGEST = 512
# Numbers of up to four digits count things: nodes of a list, versions, ports.
_LONGEST_COUNT = 4
# What may stand right before a name though it ends in a letter or a digit: percent and backslash
# escapes, colours of a terminal, control characters as rsyslog writes them.
_STEP = re.compile(
    r"""(?:[%$](?:25)*[0-9A-Fa-f]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[nrtbf]
        |(?:\x1b|\\x1b|\\u001b)\[[0-9;]*m|\#0[0-9]{2})|([^\W_]+)""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W_]+")
_QUOTES = "\"'`"


def words_of(text: str) -> list[str]:
    """Return the words of a text: letters and digits without anything between."""
    return _WORD.findall(text)


def trimmed(name: str) -> str:
    """Return a name from its first to its last letter or digit."""
    found = [(m.start(), m.end()) for m in _WORD.finditer(name)]
    return name[found[0][0] : found[-1][1]] if found else ""


class Names:
    """Names and their stand-ins, found in text in either direction."""

    def __init__(self, becomes: Mapping[str, str], *, guarded: bool) -> None:
        """Prepare a direction.

        Args:
            becomes: What stands for each name.
            guarded: Leave a name that is a word of our own alone in running text, except between
                quotes and after a slash.
        """
        self.becomes = becomes
        own = own_words() if guarded else frozenset[str]()
        self._plain = {n for n in becomes if _WORD.fullmatch(n) and n.lower() in own}
        self._by_word: dict[str, list[str]] = {}
        for name in sorted(becomes, key=lambda one: (-len(one), one)):
            self._by_word.setdefault(words_of(name)[0], []).append(name)

    def replaced(self, text: str, *, is_name: bool) -> str:
        """Return a text with every name replaced.

        Args:
            text: Any text.
            is_name: It stood where a name stands: also plain words in it are names.
        """
        if not self._by_word:
            return text
        parts: list[str] = []
        done = 0
        for step in _STEP.finditer(text):
            start = step.start(1)
            if start < done or step[1] not in self._by_word:
                continue
            found = self._name_at(text, start, is_name=is_name)
            if found is not None:
                name, end = found
                parts += (text[done:start], _spelt(self.becomes[name], text[start:end]))
                done = end
        return "".join((*parts, text[done:])) if parts else text

    def _name_at(self, text: str, start: int, *, is_name: bool) -> tuple[str, int] | None:
        for name in self._by_word[_word_at(text, start)]:
            end = _end_of(name, text, start)
            if end is None or text[end : end + 1].isalnum():
                continue
            if is_name or name not in self._plain or _is_set_off(text, start, end):
                return name, end
        return None


def _end_of(name: str, text: str, start: int) -> int | None:
    """Return where a name ends in a text; Markdown and JSON put a backslash before some signs."""
    if text.startswith(name, start):
        return start + len(name)
    at = start
    for character in name:
        if text[at : at + 1] == "\\" and not character.isalnum():
            at += 1
        if text[at : at + 1] != character:
            return None
        at += 1
    return at


def _spelt(stand_in: str, found: str) -> str:
    """Return a stand-in with the backslashes that its name had."""
    if len(stand_in) == len(found):
        return stand_in
    signs = iter(stand_in)
    return "".join(c if c == "\\" else next(signs) for c in found)


def _word_at(text: str, start: int) -> str:
    found = _WORD.match(text, start)
    return found[0] if found else ""


def _is_set_off(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return before == "/" or (before != "" and before in _QUOTES and before == after)


class _Avoided:
    def __init__(self, words: frozenset[str]) -> None:
        self.words = words

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and len(word) >= _SHORTEST and word.lower() in self.words


def named(names: Iterable[str], paths: Iterable[str], key: bytes, seen: Iterable[str]) -> Names:
    """Return the stand-ins of names: the same word becomes the same in all of them.

    Args:
        names: Names as a whole; of one that has only words of the field, more than the first
            changes all the same.
        paths: Several names with separators; words of the field stay.
        key: See `stand_ins`.
        seen: Words that no stand-in should be, in lower case.
    """
    stated = {trimmed(name) for name in names}
    known = {one for one in stated if _is_name(one)}
    routes = {one for one in (trimmed(path) for path in paths) if _is_name(one)}
    whole = {one for one in known if " " not in one and _stays(one) and len(words_of(one)) > 1}
    words = {word: word_shape(word) for one in known | routes for word in words_of(one)}
    words |= {one: _whole_shape(one) for one in whole}
    # Too short to be told from other text, so it stays; the others keep their order beside it.
    words |= {word: fixed(word) for one in stated - known for word in words_of(one)}
    drawn = stand_ins(words, key, avoid=_Avoided(own_words() | frozenset(seen)))
    inner = Names({one: drawn[one] for one in whole}, guarded=False)
    becomes = {one: _composed(one, inner, drawn) for one in known | routes}
    return Names({o: s for o, s in becomes.items() if o != s}, guarded=True)


def _is_name(text: str) -> bool:
    return _SHORTEST <= len(text) <= _LONGEST and not text.isdigit()


def _stays(name: str) -> bool:
    return all(len(place.choices) == 1 for word in words_of(name) for place in word_shape(word))


def _composed(name: str, inner: Names, drawn: Mapping[str, str]) -> str:
    if name in inner.becomes:
        return inner.becomes[name]
    parts: list[str] = []
    for text, is_whole in _split(name, inner):
        parts.append(text if is_whole else _WORD.sub(lambda m: drawn.get(m[0], m[0]), text))
    return "".join(parts)


def _split(name: str, inner: Names) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a name; those that are names as a whole come replaced."""
    for one in sorted(inner.becomes, key=len, reverse=True):
        found = re.search(rf"(?<![^\W_]){re.escape(one)}(?![^\W_])", name)
        if found is not None:
            yield from _split(name[: found.start()], inner)
            yield inner.becomes[one], True
            yield from _split(name[found.end() :], inner)
            return
    yield name, False


def word_shape(word: str) -> Word:
    """Return a word of a name with what may stand for its characters.

    Words of the field stay. Letters keep their case. Digits stay where they count; in what looks
    like an id, and in long numbers, they do not.
    """
    if is_field_word(word):
        return fixed(word)
    is_id = len(word) >= 8 and sum(c.isdigit() for c in word) >= 3 and not word.isdigit()
    shape: list[Place] = []
    for run in re.findall(r"[0-9]+|[^0-9]+", word):
        counts = run.isascii() and run.isdigit() and len(run) <= _LONGEST_COUNT and not is_id
        shape += fixed(run) if counts else _free(run)
    return tuple(shape)


def _whole_shape(name: str) -> Word:
    return tuple(place for c in name for place in (_free(c) if c.isalpha() else fixed(c)))


def _free(run: str) -> Word:
    return tuple(Place(c, DIGITS if c in DIGITS else letters(c)) for c in run)

"""ANS3: log groups and streams as the service writes them, each with the node that writes it."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from gpuvet.checks.answer.claims import absences
from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.parse.draft import Unit

_NAME = r"[^\s`'\"|,;()<>\[\]{}\u201c\u201d]"
_INSTANCE = re.compile(r"(?<![\w-])i-[0-9a-f]{8,17}(?![\w…-])")
_TOKEN = re.compile(rf"{_NAME}{{3,400}}")
# An instance id, whole or cut; a name around one is a stream.
_PART = re.compile(r"\bi-[0-9a-f]{2,20}")
_CALLED = re.compile(
    r"\b(?:log[- ]?)?(?:group|stream)s?\b[ :=]*(?:named |called |is )?\W{0,2}\Z", re.IGNORECASE
)
_ONLY_IDS = re.compile(r"(?:[^\w]|\bi-[0-9a-f]{8,17}\b|\b\w{1,20}=)*+")
_LOOSE = re.compile(
    r"\b(?:HMA|health[- ](?:monitoring[- ])?agent(?:'s)?|kernel|system|syslog|journal|dmesg"
    r"|messages|Slurm|CloudWatch|node)\s+(?:logs?|streams?)\b",
    re.IGNORECASE,
)
_CUT = re.compile(r"(?<![\w-])(i-[0-9a-f]{2,16})(?=…|\.{2,3}|\*)")
# Between a node and a stream: the stream is said of the node that came in its place.
_SUCCESSION = re.compile(
    r"\b(?:replaced|replacement|replacing|successor|succeeded|became|took over"
    r"|(?:new|old|former|previous|next|second|other) (?:node|id|instance|machine|host|one)s?)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"\b(?:but|while|whereas|although|though|however|yet)\b", re.IGNORECASE)
_PART_END = re.compile(rf";|, and\b|{_CONTRAST.pattern}", re.IGNORECASE)
# Between a group and the stream that is said to lie in it, or the other way round.
_JOINED = re.compile(
    r"\W*(?:(?:log|group|streams?|in|of|the|its|and|at|from|under|lies)\W+)*", re.IGNORECASE
)
_AWS = "/aws/"
_SHORTEST = 3  # characters of a path that may be a log group
_TRAILING = ".:,;!?*_"


class _Token(NamedTuple):
    shown: str
    at: int  # in the words of the draft
    unit: Unit


def source_not_as_written(reading: Reading) -> Iterator[Hit]:
    """A log group or stream that stands in no evidence just so: cut, mistyped or invented."""
    for token in _tokens(reading):
        if not _stands(reading, token.shown):
            near = _nearest(reading, token.shown)
            tail = f"; the service writes {near}" if near else ""
            message = f"no log group or stream is called {token.shown}{tail}"
            yield Hit(token.at, token.shown, message)


def source_of_another(reading: Reading) -> Iterator[Hit]:
    """A stream beside a node that does not write it, or in a group that does not hold it."""
    written = {s.stream: s for s in reading.told.streams}
    tokens = list(_tokens(reading))
    for token in tokens:
        stream = written.get(token.shown)
        if stream is None:
            continue
        words = _without_tokens(token.unit, tokens)
        nodes = _nodes_beside(words, token)
        known = nodes & set(reading.backing.ids)
        is_other = bool(known and stream.nodes) and nodes.isdisjoint(stream.nodes)
        if is_other and not _is_anothers_by_words(words, token, stream.nodes):
            owner, beside = ", ".join(stream.nodes[:3]), ", ".join(sorted(nodes)[:3])
            message = f"{token.shown} is a stream of {owner}, not of {beside}"
            yield Hit(token.at, token.shown, message)
        elif (group := _other_group(reading, token, tokens)) is not None:
            message = f"{token.shown} lies in {stream.group}, not in {group}"
            yield Hit(token.at, token.shown, message)


def source_not_named(reading: Reading) -> Iterator[Hit]:
    """Something cleared by "the kernel log" or "the HMA log", and no stream by its name."""
    if not reading.told.streams or any(_stands(reading, t.shown) for t in _tokens(reading)):
        return
    for claim in absences(reading):
        loose = _LOOSE.search(claim.unit.text)
        if loose is not None:
            at = claim.unit.start + loose.start()
            message = f"{loose[0]!r} is no source a reader can open: name its group and stream"
            yield Hit(at, loose[0], message)
            return


def _tokens(reading: Reading) -> Iterator[_Token]:
    """Yield what reads like a log group or a stream, or is called as one."""
    known = {s.stream for s in reading.told.streams if not s.stream.isalnum()}
    for unit in reading.draft.prose:
        for match in _TOKEN.finditer(unit.text):
            shown = match[0].rstrip(_TRAILING).removesuffix("'s")
            if _PART.search(shown):
                is_name = not _ONLY_IDS.fullmatch(shown)
                is_ours = (
                    is_name and not shown.startswith(("arn:", "http")) and not _is_cut_id(shown)
                )
            else:
                is_path = shown[:1] == "/" and _is_group(reading, unit, match.start(), shown)
                is_ours = is_path or shown in known
            if is_ours:
                yield _Token(shown, unit.start + match.start(), unit)


def _is_cut_id(shown: str) -> bool:
    return (
        re.fullmatch(r"\W*[a-z]{1,6}-[0-9a-f]{2,16}(?:…|\.{2,3}|\*+)[0-9a-f]*\W*", shown)
        is not None
    )


def _is_group(reading: Reading, unit: Unit, at: int, shown: str) -> bool:
    """Say whether a path is a log group: by its root, by the word before it, or nearly one."""
    if len(shown) < _SHORTEST:
        return False
    if shown.startswith(_AWS) or _CALLED.search(unit.text[max(0, at - 24) : at]):
        return True
    known = {s.group for s in reading.told.streams if s.group}
    return any(group.startswith(shown) or shown.startswith(group) for group in known)


def _stands(reading: Reading, name: str) -> bool:
    pattern = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)")
    return any(name in text and pattern.search(text) for text in reading.backing.texts)


def _nearest(reading: Reading, shown: str) -> str | None:
    known = {n for s in reading.told.streams for n in (s.group, s.stream) if n}
    longer = next((n for n in sorted(known) if n.startswith(shown.rstrip("….*"))), None)
    return longer or next(iter(get_close_matches(shown, known, n=1, cutoff=0.6)), None)


def _without_tokens(unit: Unit, tokens: list[_Token]) -> str:
    text = unit.text
    for token in tokens:
        if token.unit is unit:
            start = token.at - unit.start
            text = text[:start] + " " * len(token.shown) + text[start + len(token.shown) :]
    return text


def _nodes_beside(words: str, token: _Token) -> set[str]:
    """Return the nodes that a stream is said of: those of its sentence.

    Where none stands before it, those of a part that begins after it are not meant.
    """
    at = token.at - token.unit.start
    end = _PART_END.search(words, at) if _INSTANCE.search(words, 0, at) is None else None
    return set(_INSTANCE.findall(words, 0, end.start() if end else len(words)))


def _is_anothers_by_words(words: str, token: _Token, owners: Sequence[str]) -> bool:
    """Say whether a sentence gives a stream to its own node: by a cut id, or as the successor's."""
    if any(owner.startswith(cut) for cut in _CUT.findall(words) for owner in owners):
        return True
    at = token.at - token.unit.start
    before = [m.end() for m in _INSTANCE.finditer(words, 0, at)]
    return bool(before) and _SUCCESSION.search(words, before[-1], at) is not None


def _other_group(reading: Reading, token: _Token, tokens: list[_Token]) -> str | None:
    """Return the one group named beside a stream, where the evidence has it in another."""
    groups = {s.group for s in reading.told.streams if s.group}
    own = {s.group for s in reading.told.streams if s.stream == token.shown}
    near = [t for t in tokens if t.unit is token.unit]
    beside = [t for t in near if t.shown in groups]
    named = {t.shown for t in beside}
    if len(named) != 1 or not own or None in own or not named.isdisjoint(own):
        return None
    group = named.pop()
    inside = {s.stream for s in reading.told.streams if s.group == group}
    is_anothers = any(t.shown in inside for t in near)
    words = _without_tokens(token.unit, tokens)
    gaps = [_between(words, token, t) for t in beside]
    if any(_JOINED.fullmatch(gap) for gap in gaps):
        return group
    return None if is_anothers or all(_CONTRAST.search(gap) for gap in gaps) else group


def _between(words: str, one: _Token, other: _Token) -> str:
    """Return the words between two names of a sentence; another name there is blank."""
    first, last = sorted((one, other), key=lambda token: token.at)
    begin = first.at + len(first.shown) - one.unit.start
    return words[begin : last.at - one.unit.start]

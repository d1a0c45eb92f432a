"""One example of a pattern, and matching by sets of positions instead of backtracking.

Pure: time is bounded by the size of the tree times the square of the text.
"""

from collections.abc import Iterator

from gpuvet.simulate.regex_tree import (
    Alt,
    BackReference,
    Cat,
    Chars,
    Edge,
    Group,
    Look,
    Repeat,
    Tree,
    mask,
)

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_WITNESS = "0123456789" + _LOWER + _LOWER.upper() + " _-.:,=/'\"[](){}"
_MAX_WITNESS = 400


def witness(tree: Tree) -> str:
    """Return one short text that the pattern matches (looks and references left out)."""
    return "".join(_witness(tree))[:_MAX_WITNESS]


def _witness(tree: Tree) -> Iterator[str]:
    match tree:
        case Chars(bits, literal):
            if literal is not None:
                yield literal
            else:
                yield next((char for char in _WITNESS if bits & mask(char)), "\u00e9")
        case Cat(items):
            for item in items:
                yield from _witness(item)
        case Alt(branches):
            yield from _witness(branches[0])
        case Repeat(body, least):
            text = "".join(_witness(body)) if least else ""
            yield text * min(least, _MAX_WITNESS // max(len(text), 1) + 1)
        case Group(body):
            yield from _witness(body)
        case Edge() | Look() | BackReference():
            pass


def matches(tree: Tree, text: str) -> bool:
    """Return whether the pattern matches at the text's start, by sets of positions.

    No backtracking: time is bounded by the size of the tree times the square of the text.
    Looks and back references count as matched.
    """
    return bool(_ends(tree, text, frozenset({0})))


def _ends(tree: Tree, text: str, starts: frozenset[int]) -> frozenset[int]:
    match tree:
        case Chars(bits):
            return frozenset(at + 1 for at in starts if at < len(text) and bits & mask(text[at]))
        case Cat(items):
            for item in items:
                starts = _ends(item, text, starts)
            return starts
        case Alt(branches):
            return frozenset[int]().union(*(_ends(each, text, starts) for each in branches))
        case Group(body):
            return _ends(body, text, starts)
        case Repeat(body, least, most):
            return _repeat_ends(body, text, starts, least, most)
        case Edge(kind):
            return frozenset(at for at in starts if _at_edge(kind, at, text))
        case Look() | BackReference():
            return starts


def _repeat_ends(
    body: Tree, text: str, starts: frozenset[int], least: int, most: int | None
) -> frozenset[int]:
    for _ in range(min(least, len(text) + 1)):
        starts = _ends(body, text, starts)
    reached = starts
    rounds = len(text) + 1 if most is None else min(most - least, len(text) + 1)
    for _ in range(rounds):
        starts = _ends(body, text, starts) - reached
        if not starts:
            break
        reached |= starts
    return reached


def _at_edge(kind: str, at: int, text: str) -> bool:
    if kind in {"^", "\\A"}:
        return at == 0
    if kind == "\\Z":
        return at == len(text)
    if kind == "$":
        return at == len(text) or text[at:] == "\n"
    around = [0 <= i < len(text) and (text[i].isalnum() or text[i] == "_") for i in (at - 1, at)]
    return (around[0] != around[1]) == (kind == "\\b")

"""What a pattern's tree shows without running it: literals, empty matches, runaway shapes.

Pure and linear in the size of the pattern; `ends` is bounded by text length times tree size.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gpuvet.simulate.regex_tree import (
    ALL,
    DIGITS,
    DOT,
    NEWLINE,
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

GAP = "\x00"  # stands between literals that do not touch
_NUMBER = DIGITS | mask("+-.eE_")


def can_be_empty(tree: Tree) -> bool:
    """Return whether the pattern matches the empty string (edges and looks counted as free)."""
    match tree:
        case Chars():
            return False
        case Cat(items):
            return all(can_be_empty(item) for item in items)
        case Alt(branches):
            return any(can_be_empty(branch) for branch in branches)
        case Repeat(body, least):
            return least == 0 or can_be_empty(body)
        case Group(body):
            return can_be_empty(body)
        case Edge() | Look() | BackReference():
            return True


def literals(tree: Tree) -> str:
    """Return the text every match must hold, in order, with a gap where anything may stand."""
    text = "".join(_literals(tree))
    while GAP + GAP in text:
        text = text.replace(GAP + GAP, GAP)
    return text


def _literals(tree: Tree) -> Iterator[str]:
    match tree:
        case Chars(literal=literal):
            yield literal if literal is not None else GAP
        case Cat(items):
            for item in items:
                yield from _literals(item)
        case Repeat(body, least, most):
            if least > 0:
                yield from _literals(body)
            if most != 1 or least == 0:
                yield GAP
        case Group(body):
            yield from _literals(body)
        case Alt() | BackReference():
            yield GAP
        case Edge() | Look():
            pass


def anywhere(tree: Tree) -> str:
    """Return all literal text of a pattern, alternatives and optional parts included."""
    return "".join(_anywhere(tree))


def _anywhere(tree: Tree) -> Iterator[str]:
    match tree:
        case Chars(literal=literal):
            yield literal if literal is not None else GAP
        case Cat(items):
            for item in items:
                yield from _anywhere(item)
        case Alt(branches):
            for branch in branches:
                yield GAP
                yield from _anywhere(branch)
            yield GAP
        case Repeat(body):
            yield from _anywhere(body)
            yield GAP
        case Group(body):
            yield from _anywhere(body)
        case Edge() | Look() | BackReference():
            yield GAP


def required_text(tree: Tree, flags: frozenset[str]) -> str | None:
    """Return the longest text that stands in every match exactly, or None.

    A line without it cannot match, which spares running the pattern.
    """
    if flags - {"a", "s", "m", "u"}:
        return None
    exact = "".join(_exact(tree))
    longest = max(exact.split(GAP), key=len, default="")
    return longest if len(longest) > 1 and longest.isascii() else None


def _exact(tree: Tree) -> Iterator[str]:
    match tree:
        case Chars(bits, literal):
            yield literal if literal is not None and bits == mask(literal) else GAP
        case Cat(items):
            for item in items:
                yield from _exact(item)
        case Repeat(body, least, most):
            if least > 0:
                yield from _exact(body)
            if most != 1 or least == 0:
                yield GAP
        case Group(body):
            yield from _exact(body)
        case Alt() | BackReference() | Edge() | Look():
            yield GAP


def group(tree: Tree, index: int) -> Group | None:
    """Return the capturing group of a number."""
    return next((each for each in groups(tree) if each.number == index), None)


def groups(tree: Tree) -> Iterator[Group]:
    """Yield every capturing group, outer before inner."""
    if isinstance(tree, Group) and tree.number is not None:
        yield tree
    for part in _parts(tree):
        yield from groups(part)


def is_optional(tree: Tree, index: int) -> bool:
    """Return whether a match can leave the group of this number out."""
    match tree:
        case Group(body, number):
            return number != index and is_optional(body, index)
        case Cat(items):
            return any(is_optional(item, index) for item in items)
        case Alt(branches):
            return any(_holds(branch, index) for branch in branches)
        case Repeat(body, least):
            return _holds(body, index) and (least == 0 or is_optional(body, index))
        case Chars() | Edge() | Look() | BackReference():
            return False


def _holds(tree: Tree, index: int) -> bool:
    return any(each.number == index for each in groups(tree))


def before_group(tree: Tree, index: int) -> tuple[Tree, ...]:
    """Return what stands before a group on every way to it, first to last."""
    match tree:
        case Cat(items):
            for position, item in enumerate(items):
                if _holds(item, index):
                    return (*items[:position], *before_group(item, index))
            return ()
        case Group(body, number):
            return () if number == index else before_group(body, index)
        case Repeat(body):
            return before_group(body, index)
        case Alt(branches):
            return next((before_group(each, index) for each in branches if _holds(each, index)), ())
        case Chars() | Edge() | Look() | BackReference():
            return ()


def after_group(tree: Tree, index: int) -> tuple[Tree, ...]:
    """Return what stands behind a group, first to last."""
    match tree:
        case Cat(items):
            for position, item in enumerate(items):
                if _holds(item, index):
                    return (*after_group(item, index), *items[position + 1 :])
            return ()
        case Group(body, number):
            return () if number == index else after_group(body, index)
        case Repeat(body):
            return after_group(body, index)
        case Alt(branches):
            return next((after_group(each, index) for each in branches if _holds(each, index)), ())
        case Chars() | Edge() | Look() | BackReference():
            return ()


def first_characters(tree: Tree) -> int:
    """Return the set of characters a match can begin with."""
    match tree:
        case Chars(bits):
            return bits
        case Cat(items):
            bits = 0
            for item in items:
                bits |= first_characters(item)
                if not can_be_empty(item):
                    break
            return bits
        case Alt(branches):
            bits = 0
            for branch in branches:
                bits |= first_characters(branch)
            return bits
        case Repeat(body) | Group(body):
            return first_characters(body)
        case Edge() | Look():
            return 0
        case BackReference():
            return ALL


def characters(tree: Tree) -> int:
    """Return the set of all characters a match can hold."""
    match tree:
        case Chars(bits):
            return bits
        case Cat(parts) | Alt(parts):
            bits = 0
            for part in parts:
                bits |= characters(part)
            return bits
        case Repeat(body) | Group(body):
            return characters(body)
        case Edge() | Look():
            return 0
        case BackReference():
            return ALL


def is_numeric(tree: Tree) -> bool:
    """Return whether whatever this matches reads as a Python float, as far as its letters show."""
    match tree:
        case Alt(branches):
            return all(is_numeric(branch) for branch in branches)
        case Group(body):
            return is_numeric(body)
        case _:
            word = literals(tree).strip(" ").lower()
            if word in {"nan", "inf", "infinity", "-inf", "+inf"}:
                return True
            bits = characters(tree) & ~mask(" \t")
            is_loose_dot = isinstance(tree, Cat) and _has_loose_dot(tree)
            return not can_be_empty(tree) and (is_loose_dot or not bits & ~_NUMBER)


def _has_loose_dot(tree: Cat) -> bool:
    """True for digits, one unescaped dot, digits: meant as a decimal point."""
    rest = [item for item in tree.items if item != Chars(DOT)]
    return len(rest) == len(tree.items) - 1 and all(
        not characters(item) & ~_NUMBER for item in rest
    )


def is_wildcard(tree: Tree) -> bool:
    """Return whether this is `.*`, `.+` or the like."""
    match tree:
        case Repeat(Chars(bits), _, None):
            return bits in {ALL, DOT}
        case _:
            return False


def runaway(tree: Tree) -> str | None:
    """Return the shape that can backtrack without bound, in words, or None."""
    if isinstance(tree, Cat) and any(
        is_wildcard(left) and is_wildcard(right) for left, right in pairwise(tree.items)
    ):
        return "two unbounded wildcards side by side"
    if isinstance(tree, Repeat) and tree.most is None and (shape := _ambiguous(tree.body)):
        return shape
    return next((shape for part in _parts(tree) if (shape := runaway(part))), None)


def _parts(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case Cat(parts) | Alt(parts):
            return parts
        case Repeat(body) | Group(body) | Look(body):
            return (body,)
        case Chars() | Edge() | BackReference():
            return ()


def _ambiguous(body: Tree) -> str | None:
    """Return why a repeated body can split one text in many ways, or None."""
    body = _bare(body)
    if isinstance(body, Alt):
        seen = 0
        for branch in body.branches:
            bits = first_characters(branch)
            if seen & bits and isinstance(_bare(branch), Chars | Repeat):
                return "a repeated choice whose branches overlap"
            seen |= bits
        return next((shape for each in body.branches if (shape := _ambiguous(each))), None)
    parts = body.items if isinstance(body, Cat) else (body,)
    for position, part in enumerate(parts):
        inner = _bare(part)
        if not (isinstance(inner, Repeat) and inner.most is None):
            continue
        rest = [each for number, each in enumerate(parts) if number != position]
        bits = characters(inner)
        if all(can_be_empty(each) or not characters(each) & ~bits for each in rest):
            return "a repeated group that itself ends in a repetition"
    return None


def _bare(tree: Tree) -> Tree:
    while isinstance(tree, Group):
        tree = tree.body
    return tree


def wants_newline(tree: Tree) -> bool:
    """Return whether the pattern speaks of a line break."""
    if isinstance(tree, Chars):
        return tree.bits == NEWLINE
    return any(wants_newline(part) for part in _parts(tree))

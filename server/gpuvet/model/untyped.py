"""Parsed JSON whose shape is not known yet: told apart without losing the type checker."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Say whether a parsed JSON value is an object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """Say whether a parsed JSON value is an array."""
    return isinstance(value, list | tuple)


def is_number(value: object) -> TypeGuard[int | float]:
    """Say whether a parsed JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def object_at(document: object, name: str) -> Mapping[str, Any]:
    """Return the object under a name, or an empty one where there is none."""
    found = document.get(name) if is_object(document) else None
    return found if is_object(found) else {}


def objects_at(document: object, name: str) -> list[Mapping[str, Any]]:
    """Return the objects of the array under a name; anything else in it is left out."""
    found = document.get(name) if is_object(document) else None
    return [item for item in found if is_object(item)] if is_array(found) else []


def text_at(document: object, name: str) -> str | None:
    """Return the text under a name, or None; an empty text is None."""
    found = document.get(name) if is_object(document) else None
    return found if isinstance(found, str) and found else None


def whole_at(document: object, name: str) -> int | None:
    """Return the whole number under a name, also where it is written as text; else None."""
    found = document.get(name) if is_object(document) else None
    if isinstance(found, bool):
        return None
    if isinstance(found, int):
        return found
    if isinstance(found, float) and found.is_integer():
        return int(found)
    is_digits = isinstance(found, str) and found.strip().isascii() and found.strip().isdigit()
    return int(found) if is_digits and isinstance(found, str) and len(found) < 19 else None

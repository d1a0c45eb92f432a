"""Replies as JSON and back without loss: times, bytes and numbers that JSON has none of. Pure."""

import base64
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gpuvet.model.untyped import is_array, is_object

_TIME, _BYTES, _FLOAT, _OBJECT = "$time", "$bytes", "$float", "$object"


def encoded(value: Any) -> Any:  # noqa: ANN401 (a reply is what it is)
    """Return a value of a reply as plain JSON values."""
    if isinstance(value, datetime):
        return {_TIME: value.isoformat()}
    if isinstance(value, bytes | bytearray):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if is_object(value):
        inner = {str(name): encoded(one) for name, one in value.items()}
        is_ours = len(inner) == 1 and next(iter(inner)).startswith("$")
        return {_OBJECT: inner} if is_ours else inner
    if is_array(value):
        return [encoded(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)


def decoded(value: Any) -> Any:  # noqa: ANN401 (a reply is what it is)
    """Return what `encoded` was given.

    Raises:
        ValueError: A marked value that is none.
    """
    if is_array(value):
        return [decoded(one) for one in value]
    if not is_object(value):
        return value
    if len(value) == 1:
        mark, held = next(iter(value.items()))
        if mark == _OBJECT and is_object(held):
            return {name: decoded(one) for name, one in held.items()}
        if mark in {_TIME, _BYTES, _FLOAT} and isinstance(held, str):
            return _marked(mark, held)
    return _members(value)


def _members(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: decoded(one) for name, one in value.items()}


def _marked(mark: str, held: str) -> Any:  # noqa: ANN401 (a time, bytes or a number)
    if mark == _TIME:
        return datetime.fromisoformat(held)
    return base64.b64decode(held, validate=True) if mark == _BYTES else float(held)

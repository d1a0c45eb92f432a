"""JSON as files hold it: stable bytes, readable, and written fast."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

_DECIMALS = 6
_OPEN_OBJECTS, _OPEN_LISTS = 2, 4  # levels that get a line an entry; the C encoder writes the rest
_encode = json.JSONEncoder().encode


def json_text(value: object) -> str:
    """Return JSON with two spaces a level; what lies deep stands on one line."""
    return f"{_shown(value, 0)}\n"


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, with its folders where they are missing; line ends are one byte.

    A file that holds the same already is left alone, so that nothing sees it change.
    """
    text = json_text(value).encode("utf-8")
    try:
        if path.read_bytes() == text:
            return
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that a reader, or a kill, never meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    beside.write_bytes(text.encode("utf-8"))
    beside.replace(path)


def rounded(value: object) -> object:
    """Return JSON values with their numbers cut to six decimals."""
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, Mapping):
        return {k: rounded(v) for k, v in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in cast("Sequence[object]", value)]
    return value


def _shown(value: object, level: int) -> str:
    if isinstance(value, dict):
        if value and (
            level < _OPEN_OBJECTS or (level < _OPEN_LISTS and _holds_rows(cast("object", value)))
        ):
            fields = cast("Mapping[str, object]", value)
            pad = "  " * (level + 1)
            lines = [f"{pad}{_key(key)}: {_shown(item, level + 1)}" for key, item in fields.items()]
            return "{\n" + ",\n".join(lines) + f"\n{pad[2:]}}}"
    elif level < _OPEN_LISTS and _is_rows(value):
        pad = "  " * (level + 1)
        lines = [f"{pad}{_shown(item, level + 1)}" for item in cast("Sequence[object]", value)]
        return "[\n" + ",\n".join(lines) + f"\n{pad[2:]}]"
    return _encode(value)


def _holds_rows(value: object) -> bool:
    """Whether an object has a list of objects, which get a line each."""
    fields = cast("Mapping[str, object]", value)
    return any(_is_rows(item) for item in fields.values())


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and isinstance(
        next(iter(cast("list[object]", value)), None), dict
    )


def _key(name: str) -> str:
    """Return a key in quotes; a plain name needs no encoder."""
    return f'"{name}"' if name.isidentifier() and name.isascii() else _encode(name)

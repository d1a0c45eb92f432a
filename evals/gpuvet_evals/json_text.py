"""JSON as files hold it: stable bytes, readable, and written fast. Pure."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

_DECIMALS = 6
_OPEN_LEVELS = 5  # deeper values stand on one line, which the C encoder writes


def json_text(value: object) -> str:
    """Return JSON with two spaces a level; what lies deeper than five levels is one line."""
    return f"{_shown(value, 0)}\n"


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, with its folders, in UTF-8 and with line ends of one byte."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json_text(value), encoding="utf-8", newline="\n")


def _shown(value: object, level: int) -> str:
    if level >= _OPEN_LEVELS or not value or not isinstance(value, dict | list | tuple):
        return json.dumps(round(value, _DECIMALS) if isinstance(value, float) else value)
    pad, end = "  " * (level + 1), "  " * level
    if isinstance(value, dict):
        fields = cast("Mapping[str, object]", value)
        lines = [f"{pad}{json.dumps(str(k))}: {_shown(v, level + 1)}" for k, v in fields.items()]
        return "{\n" + ",\n".join(lines) + f"\n{end}}}"
    items = cast("Sequence[object]", value)
    return "[\n" + ",\n".join(f"{pad}{_shown(v, level + 1)}" for v in items) + f"\n{end}]"

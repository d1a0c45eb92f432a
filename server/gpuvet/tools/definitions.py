"""What `tools/list` says of every tool, made from the tools themselves.

`gpuvet docs build` writes it beside this module, and a test holds it current: a server reads the
text and loads no model at its start.
"""

import inspect
import json
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel

from gpuvet.model.untyped import is_array, is_object
from gpuvet.tools.table import TOOLS, ToolRow
from gpuvet.tools.tool import loaded

Json = dict[str, Any]
# How deep an output schema is told: the answer, its rows, and what rows hold.
_LEVELS = 2
# Lengths are left out: they are far above what anybody means, and told where they are exceeded.
_KEPT = ("type", "description", "enum", "minimum", "maximum", "exclusiveMinimum")
# What every tool shares stands last; a reader looks for a tool's own arguments first.
_SHARED = (
    *("cluster", "instances", "tag", "since", "until"),
    *("detail", "cursor", "profile", "region", "role"),
)
_LONGEST_ENUM = 12
# What many answers have alike: told in references/schemas/, and here as an object.
_ALIKE = frozenset({"window", "sources", "not_seen", "groups", "gaps"})


def definitions_text() -> str:
    """Return the definitions as they stand in the package."""
    made = {row.name: definition(row.function) for row in TOOLS}
    return json.dumps(made, indent=1) + "\n"


def definition(function: str) -> Json:
    """Return description and schemas of one tool.

    Args:
        function: As the table of tools names it.
    """
    tool = loaded(function)
    answer: type[BaseModel] = get_args(get_type_hints(tool.run)["return"])[0]
    return {
        "description": inspect.getdoc(tool.run) or "",
        "inputSchema": input_schema(tool.arguments),
        "outputSchema": output_schema(answer),
    }


def input_schema(model: type[BaseModel]) -> Json:
    """Return the arguments of a tool; an optional one may be left out, so no null is told."""
    whole = model.model_json_schema()
    members: Json = whole.get("properties", {})
    own = [name for name in members if name not in _SHARED]
    ordered = [*own, *(name for name in _SHARED if name in members)]
    schema: Json = {
        "type": "object",
        "properties": {name: _argument(members[name]) for name in ordered},
        "additionalProperties": False,
    }
    if "required" in whole:
        schema["required"] = whole["required"]
    return schema


def _argument(member: Mapping[str, Any]) -> Json:
    real = next(
        (one for one in member.get("anyOf", ()) if one.get("type") != "null"), dict[str, Any]()
    )
    told = {**member, **real}
    kept = {name: told[name] for name in _KEPT if told.get(name) not in (None, [], "")}
    if told.get("type") == "array":
        kept["items"] = {"type": told["items"]["type"]}
    return kept


def output_schema(model: type[BaseModel]) -> Json:
    """Return the shape of an answer: its members and the members of its rows.

    What lies deeper is told as an object or an array; a nullable member is never required, since
    answers leave nulls out.
    """
    whole = model.model_json_schema(by_alias=True, mode="serialization")
    known: Json = whole.get("$defs", {})
    return _outline(whole, known, _LEVELS)


def _outline(schema: Mapping[str, Any], known: Json, levels: int) -> Json:
    real = _resolved(schema, known)
    kind = real.get("type")
    if "properties" in real:
        return _members(real, known, levels)
    if kind == "array":
        return _array(real, known, levels)
    if kind == "object":
        values = real.get("additionalProperties")
        told = _outline(values, known, 0) if is_object(values) and values else {}
        return {"type": "object", "additionalProperties": told} if told else {"type": "object"}
    if "enum" in real and len(real["enum"]) <= _LONGEST_ENUM and levels > 0:
        return {"type": "string", "enum": real["enum"]}
    if "const" in real:
        return {"const": real["const"]}
    return {"type": kind} if kind else {}


def _members(real: Mapping[str, Any], known: Json, levels: int) -> Json:
    if levels == 0:
        return {"type": "object"}
    members: Json = real["properties"]
    required = [n for n in real.get("required", ()) if not _is_nullable(members[n])]
    told: Json = {
        "type": "object",
        "properties": {
            n: _outline(one, known, 0 if n in _ALIKE else levels - 1) for n, one in members.items()
        },
        "additionalProperties": False,
    }
    if required and levels == _LEVELS:
        told["required"] = required
    return told


def _array(real: Mapping[str, Any], known: Json, levels: int) -> Json:
    items = real.get("items")
    inner = _outline(items, known, levels) if is_object(items) and items else {}
    return {"type": "array", "items": inner} if inner else {"type": "array"}


def _resolved(schema: Mapping[str, Any], known: Json) -> Mapping[str, Any]:
    """Return what a schema stands for: a reference followed, null among choices left out."""
    choices = schema.get("anyOf")
    if is_array(choices):
        real = [one for one in choices if is_object(one) and one.get("type") != "null"]
        return _resolved(real[0], known) if len(real) == 1 else {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _resolved(known[reference.rpartition("/")[2]], known)
    return schema


def _is_nullable(member: Mapping[str, Any]) -> bool:
    choices = member.get("anyOf")
    return is_array(choices) and any(is_object(c) and c.get("type") == "null" for c in choices)


_ABOUT = (
    "Generated by `gpuvet docs build`. All are read-only. `serve --tools core` leaves out those "
    "marked *source*; `check_access` is there only with a live account, and a server over a case "
    "takes none of `cluster`, `instances`, `tag`, `profile`, `region`, `role`."
)
_SIZES = (
    "Every answer comes as text and as JSON, and both say the same: at most 8,000 characters each, "
    "32,000 with `detail: full`. Longer lists end with a `cursor`: it carries the question and its "
    "clock, is signed, and may be handed to another process of the same `GPUVET_CURSOR_KEY`."
)
_TOOL_HEAD = ("| tool | answers | its own arguments |", "|---|---|---|")
_ARGUMENT_HEAD = ("| argument | meaning |", "|---|---|")


def tools_page() -> str:
    """Return the reference page of the tools: what each answers, and its arguments."""
    rows = (_tool_row(row) for row in TOOLS)
    shared = (f"| `{name}` | {_cell(words)} |" for name, words in _shared_arguments().items())
    lines = ["# Tools of the MCP server", "", _ABOUT, "", *_TOOL_HEAD, *rows, ""]
    lines += ["## Arguments that many tools share", "", *_ARGUMENT_HEAD, *shared, "", _SIZES]
    return "\n".join(lines) + "\n"


def _tool_row(row: ToolRow) -> str:
    made = definition(row.function)
    own = [name for name in made["inputSchema"]["properties"] if name not in _SHARED]
    first = str(made["description"]).split("\n\n", maxsplit=1)[0].replace("\n", " ")
    mark = "" if row.is_core else " *source*"
    return f"| `{row.name}`{mark} | {_cell(first)} | {', '.join(f'`{one}`' for one in own)} |"


def _shared_arguments() -> dict[str, str]:
    known = [definition(row.function)["inputSchema"]["properties"] for row in TOOLS]
    told = ((name, next(m[name] for m in known if name in m)) for name in _SHARED)
    return {name: str(one["description"]) for name, one in told}


def _cell(words: str) -> str:
    return words.replace("|", "\\|")

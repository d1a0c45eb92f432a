"""Secrets taken out of replies before anybody sees them; nothing brings them back. Pure."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from gpuvet.model.untyped import is_array, is_object
from gpuvet.parse.untrusted import MASK, mask
from gpuvet.record.members import ENVIRONMENTS, KEPT_VARIABLES, MASKED, MASKED_BELOW, TOKENS
from gpuvet.record.walk import Role, walked

_DEEPEST = 60
# Text that was packed for transport: a start-up script, a request, a page token.
_PACKED = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,}={0,2}(?![A-Za-z0-9+/_=-])")
# So many readable bytes in a row do not come about by chance.
_READABLE = re.compile(rb"[\x20-\x7e\t\r\n]{12}")
# A pointer to a record: account, group and stream in a packed form.
_POINTER = "@ptr"
_SHELL = re.compile(
    r"(?P<before>(?:\bexport\s+|(?:^|\s)(?:-e|--env)[ =]|\bEnvironment=[\"']?)"
    r"(?P<name>[A-Za-z_]\w*)=)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"';&|]+)"
)


def cleaned(value: Any) -> Any:  # noqa: ANN401 (a reply is what it is)
    """Return a reply or parameters without secrets.

    Masked are passwords and keys of known shapes wherever they stand, the members that hold
    nothing else, what environment variables are set to unless a verdict may rest on it, text
    packed in base64, and tokens that lead from page to page.
    """
    return walked(_prepared(value), _masked, prepare=_prepared)


def cleaned_text(text: str) -> str:
    """Return one text without secrets."""
    shown: str = walked(text, _masked, prepare=_prepared)
    return shown


def _masked(text: str, _role: Role) -> str:
    shown = mask(text)
    if "=" in shown:
        shown = _SHELL.sub(_without_value, shown)
    return _PACKED.sub(_unless_text, shown) if len(shown) >= 24 else shown


def _without_value(match: re.Match[str]) -> str:
    is_kept = KEPT_VARIABLES.fullmatch(match["name"]) is not None
    return match[0] if is_kept else f"{match['before']}{MASK}"


def _unless_text(match: re.Match[str]) -> str:
    packed = match[0].rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return match[0]
    return MASK if _READABLE.search(data) else match[0]


def _prepared(value: Any) -> Any:  # noqa: ANN401 (a reply is what it is)
    return _without_secret_members(value, 0)


def _without_secret_members(value: Any, depth: int) -> Any:  # noqa: ANN401 (a reply is what it is)
    if depth > _DEEPEST:
        return None
    if is_object(value):
        if value.get("field") == _POINTER:
            return {**value, "value": MASK}
        return {name: _member(name, inner, depth) for name, inner in value.items()}
    if is_array(value):
        return [_without_secret_members(one, depth + 1) for one in value]
    return value


def _member(name: str, value: Any, depth: int) -> Any:  # noqa: ANN401 (a reply is what it is)
    if name in MASKED or name in TOKENS:
        return _blank(value)
    if name in MASKED_BELOW and is_object(value):
        return {inner: _blank(one) for inner, one in value.items()}
    if name in ENVIRONMENTS:
        return _environment(value, depth)
    return _without_secret_members(value, depth + 1)


def _blank(value: Any) -> Any:  # noqa: ANN401 (a reply is what it is)
    if isinstance(value, str):
        return MASK if value else value
    if is_object(value):
        return {name: _blank(inner) for name, inner in value.items()}
    return [_blank(one) for one in value] if is_array(value) else value


def _environment(value: Any, depth: int) -> Any:  # noqa: ANN401 (a reply is what it is)
    if is_object(value):
        return {
            name: inner if _is_kept(name) or not isinstance(inner, str) else MASK
            for name, inner in value.items()
        }
    if is_array(value):
        return [_variable(one, depth) for one in value]
    return _without_secret_members(value, depth + 1)


def _variable(value: Any, depth: int) -> Any:  # noqa: ANN401 (a reply is what it is)
    if not is_object(value):
        return _without_secret_members(value, depth + 1)
    name: Mapping[str, Any] = value
    named = name.get("name") or name.get("Name")
    hidden = {"value", "Value"} if not (isinstance(named, str) and _is_kept(named)) else set[str]()
    return {
        member: _blank(inner) if member in hidden else _without_secret_members(inner, depth + 1)
        for member, inner in value.items()
    }


def _is_kept(name: str) -> bool:
    return KEPT_VARIABLES.fullmatch(name) is not None

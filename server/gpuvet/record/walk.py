"""Every string of a reply with the part it plays there. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from gpuvet.model.untyped import is_array, is_object
from gpuvet.record.members import (
    KEYS,
    LABEL_OBJECTS,
    NAMED_OBJECTS,
    NAMES,
    PAIRS,
    PATHS,
    TAG_FILTER,
    TAG_OBJECTS,
    is_system_key,
)

_DEEPEST = 60
# Members of which a value is taken for that of one, where only its role is known.
_ANY_NAME, _ANY_PATH = "ClusterName", "logGroupName"
_MAY_HOLD_JSON = re.compile(r"\{\s*\"|\[\s*[\[{\"]")
_ACCOUNTS = frozenset(
    {
        *("Account", "AccountId", "OwnerId", "accountId", "account", "recipientAccountId"),
        *("AWSAccountId", "awsAccountId", "IpOwnerId", "InstanceOwnerId", "VolumeOwnerId"),
        *("UnusedReservationBillingOwnerId", "OwningAccounts", "ownerId", "owner", "aws_account"),
        *("UserId", "account_id", "awsAccountNumber", "RequesterId", "requesterId"),
    }
)


class Role(StrEnum):
    """What a string is where it stands."""

    TEXT = "text"
    NAME = "name"
    PATH = "path"
    ACCOUNT = "account"
    KEY = "key"  # a service's word, or one that somebody put in its place


Visit = Callable[[str, Role], str]


def walked(
    value: Any,  # noqa: ANN401 (a reply is what it is)
    visit: Visit,
    member: str = "",
    *,
    prepare: Callable[[Any], Any] | None = None,
) -> Any:  # noqa: ANN401 (a reply is what it is)
    """Return a value with every string in it, keys too, as `visit` returns it.

    Args:
        value: Parsed JSON, or what boto3 makes of a reply.
        visit: Gets a string and its role.
        member: The name that the value stands under.
        prepare: Gets what JSON inside a string says, before that is walked.
    """
    return _Walk(visit, prepare).value(value, member, 0)


def role_of(member: str) -> Role:
    """Return what a string under a member is."""
    if member in NAMES:
        return Role.NAME
    if member in PATHS:
        return Role.PATH
    if member in KEYS:
        return Role.KEY
    return Role.ACCOUNT if member in _ACCOUNTS else Role.TEXT


class _Walk:
    def __init__(self, visit: Visit, prepare: Callable[[Any], Any] | None) -> None:
        self._visit = visit
        self._prepare = prepare

    def value(self, value: Any, member: str, depth: int) -> Any:  # noqa: ANN401 (a reply is what it is)
        if isinstance(value, str):
            return self._text(value, role_of(member), depth)
        if isinstance(value, bytes | bytearray):
            text = value.decode("utf-8", "surrogateescape")
            return self._text(text, role_of(member), depth).encode("utf-8", "surrogateescape")
        if depth > _DEEPEST:
            return None
        if is_object(value):
            return self._object(value, member, depth)
        if is_array(value):
            return [self.value(one, member, depth + 1) for one in value]
        return value

    def _object(self, value: Mapping[str, Any], member: str, depth: int) -> dict[str, Any]:
        paired = _pair(value, member)
        is_labels = paired is None and member in LABEL_OBJECTS
        changed: dict[str, Any] = {}
        for name, inner in value.items():
            under = name
            if paired is not None and name == paired.held:
                under = paired.member
            elif paired is not None and name == paired.key:
                changed[name] = self._visit(inner, Role.KEY if paired.is_own_key else Role.TEXT)
                continue
            elif is_labels:
                under = "" if is_system_key(name) else _ANY_NAME
            elif name in {"name", "Name"} and member in NAMED_OBJECTS:
                under = _ANY_PATH if member == "Rules" else _ANY_NAME
            is_own_key = is_labels and not is_system_key(name)
            shown = self._visit(name, Role.KEY if is_own_key else Role.TEXT)
            changed[shown] = self.value(inner, under, depth + 1)
        return changed

    def _text(self, text: str, role: Role, depth: int) -> str:
        """Return a string as visited; JSON in it also as what it says when it is read."""
        shown = self._visit(text, role)
        if depth > _DEEPEST or not _MAY_HOLD_JSON.search(text):
            return shown
        lines, visited = text.split("\n"), shown.split("\n")
        if len(lines) != len(visited):  # what was visited joins lines that were apart
            visited = [self._visit(line, role) for line in lines]
        pairs = zip(lines, visited, strict=True)
        return "\n".join(self._line(line, one, depth) for line, one in pairs)

    def _line(self, line: str, shown: str, depth: int) -> str:
        begin = _MAY_HOLD_JSON.search(line)
        inner = None if begin is None else _parsed(line[begin.start() :])
        if begin is None or inner is None:
            return shown
        prepared = inner if self._prepare is None else self._prepare(inner)
        meant = self.value(prepared, "", depth + 1)
        begun = _MAY_HOLD_JSON.search(shown)
        if begun is not None and _parsed(shown[begun.start() :]) == meant:
            return shown
        text = json.dumps(meant, ensure_ascii=False, separators=(",", ":"))
        return self._visit(line[: begin.start()], Role.TEXT) + text


_HELD = frozenset(held for _, held in PAIRS)


class _Pair(NamedTuple):
    key: str
    held: str  # the member that holds the value
    member: str  # what it is a value of
    is_own_key: bool = False


def _pair(value: Mapping[str, Any], member: str) -> _Pair | None:
    if _HELD.isdisjoint(value):
        return None
    for key, held in PAIRS:
        if key in value and held in value and isinstance(value[key], str):
            name: str = value[key]
            if member in TAG_OBJECTS or name.startswith(TAG_FILTER):
                is_system = is_system_key(name.removeprefix(TAG_FILTER))
                return _Pair(key, held, "" if is_system else _ANY_NAME, not is_system)
            return _Pair(key, held, name)
    return None


def _parsed(text: str) -> object:
    if text.rstrip()[-1:] not in {"}", "]"}:
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) or is_array(value) else None

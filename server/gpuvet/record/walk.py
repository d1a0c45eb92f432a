"""Every string of a reply with the part it plays there. Pure."""

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from gpuvet.model.untyped import is_array, is_object
from gpuvet.record.members import (
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
    KEY = "key"  # of a tag or a label that is no service's


Visit = Callable[[str, Role], str]


def walked(value: Any, visit: Visit, member: str = "", depth: int = 0) -> Any:  # noqa: ANN401 (a reply is what it is)
    """Return a value with every string in it, keys too, as `visit` returns it.

    Args:
        value: Parsed JSON, or what boto3 makes of a reply.
        visit: Gets a string and its role.
        member: The name that the value stands under.
        depth: How deep it stands; what lies too deep is left out.
    """
    if isinstance(value, str):
        return _text(value, visit, role_of(member), depth)
    if depth > _DEEPEST:
        return None
    if is_object(value):
        return _object(value, visit, member, depth)
    if is_array(value):
        return [walked(one, visit, member, depth + 1) for one in value]
    return value


def role_of(member: str) -> Role:
    """Return what a string under a member is."""
    if member in NAMES:
        return Role.NAME
    if member in PATHS:
        return Role.PATH
    return Role.ACCOUNT if member in _ACCOUNTS else Role.TEXT


def _object(value: Mapping[str, Any], visit: Visit, member: str, depth: int) -> dict[str, Any]:
    paired = _pair(value, member)
    is_labels = paired is None and member in LABEL_OBJECTS
    changed: dict[str, Any] = {}
    for name, inner in value.items():
        under = name
        if paired is not None and name == paired.held:
            under = paired.member
        elif paired is not None and name == paired.key:
            changed[name] = visit(inner, Role.KEY if paired.is_own_key else Role.TEXT)
            continue
        elif is_labels:
            under = "" if is_system_key(name) else "ClusterName"
        elif name in {"name", "Name"} and member in NAMED_OBJECTS:
            under = "logGroupName" if member == "Rules" else "ClusterName"
        is_own_key = is_labels and not is_system_key(name)
        shown = visit(name, Role.KEY if is_own_key else Role.TEXT)
        changed[shown] = walked(inner, visit, under, depth + 1)
    return changed


class _Pair(NamedTuple):
    key: str
    held: str  # the member that holds the value
    member: str  # what it is a value of
    is_own_key: bool = False


def _pair(value: Mapping[str, Any], member: str) -> _Pair | None:
    for key, held in PAIRS:
        if key in value and held in value and isinstance(value[key], str):
            name: str = value[key]
            if member in TAG_OBJECTS or name.startswith(TAG_FILTER):
                is_system = is_system_key(name.removeprefix(TAG_FILTER))
                return _Pair(key, held, "" if is_system else "ClusterName", not is_system)
            return _Pair(key, held, name)
    return None


def _text(text: str, visit: Visit, role: Role, depth: int) -> str:
    """Return a string as visited; one that is JSON itself also as what it says when it is read."""
    shown = visit(text, role)
    if text[:1] not in {"{", "["} or depth > _DEEPEST:
        return shown
    inner = _parsed(text)
    if inner is None:
        return shown
    meant = walked(inner, visit, "", depth + 1)
    if _parsed(shown) == meant:
        return shown
    return json.dumps(meant, ensure_ascii=False, separators=(",", ":"))


def _parsed(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) or is_array(value) else None

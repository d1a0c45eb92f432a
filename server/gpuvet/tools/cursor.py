"""Self-contained, authenticated cursors: any process with the key can go on."""

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from typing import Any

from gpuvet.errors import UsageError

# Several stateless processes share a key through this variable; alone, a process makes its own.
KEY_VARIABLE = "GPUVET_CURSOR_KEY"
_TAG_BYTES = 16
MOST_CHARACTERS = 12_000

_own_key = secrets.token_bytes(32)


def _key() -> bytes:
    shared = os.environ.get(KEY_VARIABLE)
    return hashlib.sha256(shared.encode()).digest() if shared else _own_key


def seal(state: Mapping[str, Any]) -> str:
    """Return a cursor that carries a question, its clock and an offset."""
    body = json.dumps(state, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    tag = hmac.new(_key(), body, hashlib.sha256).digest()[:_TAG_BYTES]
    return base64.urlsafe_b64encode(tag + body).decode().rstrip("=")


def unseal(cursor: str) -> dict[str, Any]:
    """Return what a cursor carries.

    Raises:
        UsageError: It is not ours, was altered, or comes from a process with another key.
    """
    refused = UsageError("the cursor is not one of this server; call the tool again without it")
    if len(cursor) > MOST_CHARACTERS:
        raise refused
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (binascii.Error, ValueError) as error:
        raise refused from error
    tag, body = raw[:_TAG_BYTES], raw[_TAG_BYTES:]
    expected = hmac.new(_key(), body, hashlib.sha256).digest()[:_TAG_BYTES]
    if not hmac.compare_digest(tag, expected):
        raise refused
    state: dict[str, Any] = json.loads(body)
    return state

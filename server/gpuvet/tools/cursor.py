"""Self-contained, authenticated cursors: any process with the key can go on."""

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuvet.errors import UsageError

# Several stateless processes share a key through one of these; alone, a process makes its own.
KEY_VARIABLE = "GPUVET_CURSOR_KEY"
KEY_FILE_VARIABLE = "GPUVET_CURSOR_KEY_FILE"
_LEAST_KEY, _MOST_KEY = 16, 4_096  # characters
_TAG_BYTES = 16
MOST_CHARACTERS = 12_000

_own_key = secrets.token_bytes(32)


def _key() -> bytes:
    shared = _shared_key()
    return hashlib.sha256(shared.encode()).digest() if shared else _own_key


def _shared_key() -> str:
    path = os.environ.get(KEY_FILE_VARIABLE)
    if not path:
        return os.environ.get(KEY_VARIABLE, "")
    try:
        with Path(path).open(encoding="utf-8") as file:
            key = file.read(_MOST_KEY).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{KEY_FILE_VARIABLE} names a file that cannot be read") from error
    if len(key) < _LEAST_KEY:
        raise UsageError(f"{KEY_FILE_VARIABLE} names a file with less than {_LEAST_KEY} characters")
    return key


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

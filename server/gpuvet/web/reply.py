"""One HTTP answer: what hosts need of it beyond the SDK's, and that it is given once.

A Lambda Function URL that streams drops answers without a body, and DevOps Agent expects a session
id on handshake answers although nothing is kept between requests.
"""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.types import Message, Send

from gpuvet.web.admission import Refusal

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_MOST_SESSION = 128  # characters of a session id that we repeat
_BLANK = b" "  # the body of an answer that would have none
_INVALID_REQUEST = -32600  # JSON-RPC 2.0


def session_of(headers: Mapping[str, str]) -> str | None:
    """Return the session id of an answer in the handshake eras, None in the later ones."""
    if headers.get(VERSION, HANDSHAKE_VERSIONS[-1]) not in HANDSHAKE_VERSIONS:
        return None
    given = headers.get(SESSION, "")
    is_plain = given.isascii() and given.isprintable() and " " not in given
    if given and is_plain and len(given) <= _MOST_SESSION:
        return given
    return secrets.token_hex(16)


class Reply:
    """The answer to one request; whoever writes first has the word until it ends."""

    def __init__(self, send: Send, *, is_head: bool = False) -> None:
        self._send = send
        self._is_head = is_head
        self.session: str | None = None
        self.status = 0
        self.bytes = 0
        self.is_over = False

    async def send(self, message: Message) -> None:
        """Pass on a message of the SDK's answer, unless the answer is over."""
        if self.is_over:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            await self._send({**message, "headers": self._headers(message.get("headers", []))})
            return
        body = message.get("body", b"")
        ends = not message.get("more_body", False)
        if ends and not body and not self.bytes and not self._is_head:
            body = _BLANK
        self.bytes += len(body)
        self.is_over = ends
        await self._send({"type": message["type"], "body": body, "more_body": not ends})

    def _headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        blank = str(len(_BLANK)).encode()
        kept = [
            (name, blank if name.lower() == b"content-length" and value == b"0" else value)
            for name, value in given
            if name.lower() != SESSION.encode()
        ]
        kept.append((b"x-content-type-options", b"nosniff"))
        if self.session is not None:
            kept.append((SESSION.encode(), self.session.encode()))
        return kept

    async def refuse(self, refusal: Refusal, *, close: bool = False) -> None:
        """Answer with an error, or end an answer that has begun."""
        if self.is_over:
            return
        if self.status:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        body = {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": _INVALID_REQUEST, "message": refusal.message},
        }
        await self.give(refusal.status, body, refusal.headers, close=close)

    async def give(
        self,
        status: int,
        body: Mapping[str, Any],
        headers: tuple[tuple[bytes, bytes], ...] = (),
        *,
        close: bool = False,
    ) -> None:
        """Answer with JSON."""
        text = json.dumps(body, separators=(",", ":")).encode()
        extra = ((b"connection", b"close"),) if close else ()
        await self.send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", str(len(text)).encode()),
                    (b"cache-control", b"no-store"),
                    *headers,
                    *extra,
                ],
            }
        )
        await self.send({"type": "http.response.body", "body": text, "more_body": False})

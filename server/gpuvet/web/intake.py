"""The body of a request, within its bytes and its time, and what is left of one that is refused."""

from collections.abc import Mapping

import anyio
from starlette.types import Message, Receive

from gpuvet.web.admission import Refusal
from gpuvet.web.settings import Limits

_DRAIN_SECONDS = 2.0  # ours: so that a client which is still sending hears why it is refused


class Room:
    """How many requests, and how many bytes of them, are being worked on."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.requests = 0
        self.bytes = 0

    def enter(self, size: int) -> bool:
        """Take a place, unless there is none."""
        is_full = self.requests >= self._limits.requests
        if is_full or self.bytes + size > self._limits.bodies_bytes:
            return False
        self.requests += 1
        self.bytes += size
        return True

    def leave(self, size: int) -> None:
        """Give the place back."""
        self.requests -= 1
        self.bytes -= size


def declared_size(headers: Mapping[str, str], limits: Limits) -> int | Refusal:
    """Return the bytes a body may take: as declared, else the most there may be."""
    text = headers.get("content-length")
    if text is None:
        return limits.request_bytes
    size = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
    if size is None or size > limits.request_bytes:
        return _too_large(limits)
    return size


def _too_large(limits: Limits) -> Refusal:
    return Refusal(
        413,
        f"the request has more than {limits.request_bytes} bytes; longer logs belong to the "
        "command line",
    )


async def read_body(receive: Receive, limits: Limits) -> bytes | Refusal | None:
    """Return the whole body, why it is refused, or None where the client has gone."""
    body = bytearray()
    with anyio.move_on_after(limits.body_seconds):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > limits.request_bytes:
                return _too_large(limits)
            if not message.get("more_body", False):
                return bytes(body)
    return Refusal(408, f"the request did not arrive within {limits.body_seconds:g} s")


async def drain(receive: Receive, most: int) -> bool:
    """Read and forget what a refused client still sends; return whether that was all."""
    seen = 0
    with anyio.move_on_after(_DRAIN_SECONDS):
        while seen <= most:
            message = await receive()
            if message["type"] != "http.request":
                return False
            seen += len(message.get("body", b""))
            if not message.get("more_body", False):
                return True
    return False


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once, then waits for the client to go."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again

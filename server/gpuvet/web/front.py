"""The ASGI application in front of the SDK's: paths, admission, limits, and a log line each."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from gpuvet.web.admission import Refusal, header_map, refused
from gpuvet.web.heap import Heap
from gpuvet.web.intake import Room, declared_size, drain, read_body, replayed
from gpuvet.web.logs import note, note_bug
from gpuvet.web.noting import SEEN
from gpuvet.web.reply import Reply, session_of
from gpuvet.web.settings import HEALTH, PATH, HttpSettings

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_LOOK_SECONDS = 0.5  # ours: between two looks for answers that take too long

_BUSY = Refusal(
    503, "as many requests as this server bears are being worked on", ((b"retry-after", b"1"),)
)
_AMBIGUOUS = Refusal(400, "a header that decides stands twice, or the body has two lengths")
_NOWHERE = Refusal(404, f"nothing is served here; the server answers at {PATH}")
_ONLY_POST = Refusal(405, "only POST is answered; there is no stream", ((b"allow", b"POST"),))
_BUG = Refusal(500, "a bug of ours; the log of the server names its place")


class Front:
    """Lets a request in, has it answered in time, and writes one log line about it."""

    def __init__(
        self,
        app: ASGIApp,
        settings: HttpSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._settings = settings
        self._limits = settings.limits
        self._monotonic = monotonic
        self.room = Room(settings.limits)
        self._late: dict[Reply, _Work] = {}
        self._heap = Heap()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] != "http":
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._watch)
                await self._app(scope, receive, send)  # for as long as the server lives
                beside.cancel_scope.cancel()
            return
        reply = Reply(send, is_head=scope["method"] == "HEAD")
        if scope["path"] == HEALTH:
            await self._health(scope, reply)
            return
        began = self._monotonic()
        seen: dict[str, str] = {}
        try:
            await self._serve({**scope, SEEN: seen}, receive, reply)
        finally:
            milliseconds = round(1000 * (self._monotonic() - began), 1)
            method = scope["method"] if scope["method"] in _METHODS else "other"
            sizes = {"status": reply.status, "ms": milliseconds, "bytes": reply.bytes}
            note("request", {"method": method, **sizes, **seen})

    async def _health(self, scope: Scope, reply: Reply) -> None:
        if scope["method"] in {"GET", "HEAD"}:
            await reply.give(200, {"status": "ok"})
        else:
            await reply.refuse(Refusal(405, "only GET is answered", ((b"allow", b"GET"),)))

    async def _serve(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        headers = header_map(scope["headers"])
        if headers is None:
            await reply.refuse(_AMBIGUOUS, close=True)
        elif (refusal := refused(headers, self._settings)) is not None:
            await self._refuse(refusal, headers, receive, reply)
        elif scope["path"] != PATH:
            await self._refuse(_NOWHERE, headers, receive, reply)
        elif scope["method"] == "DELETE":
            # There is no session to end; hosts that end one anyway expect to be told it is done.
            reply.session = session_of(headers)
            await drain(receive, self._limits.request_bytes)
            await reply.give(200, {})
        elif scope["method"] != "POST":
            await self._refuse(_ONLY_POST, headers, receive, reply)
        else:
            reply.session = session_of(headers)
            await self._within_room(scope, headers, receive, reply)

    async def _refuse(
        self, refusal: Refusal, headers: Mapping[str, str], receive: Receive, reply: Reply
    ) -> None:
        # A client that asks before it sends is answered before it sends.
        waits = "expect" in headers
        is_whole = not waits and await drain(receive, 2 * self._limits.request_bytes)
        await reply.refuse(refusal, close=not is_whole)

    async def _within_room(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, reply: Reply
    ) -> None:
        size = declared_size(headers, self._limits)
        if isinstance(size, Refusal):
            await self._refuse(size, headers, receive, reply)
            return
        if not self.room.enter(size):
            await self._refuse(_BUSY, headers, receive, reply)
            return
        try:
            body = await read_body(receive, self._limits)
            if isinstance(body, Refusal):
                await reply.refuse(body, close=True)
            elif body is not None:
                await self._answer_in_time(scope, replayed(body, receive), reply)
        finally:
            self.room.leave(size)

    async def _answer_in_time(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        with anyio.CancelScope() as work:
            self._late[reply] = _Work(self._monotonic() + self._limits.work_seconds, work)
            try:
                await self._app(scope, receive, reply.send)
            except Exception as error:  # noqa: BLE001 (a bug answers as one and is logged)
                note_bug(error)
                await reply.refuse(_BUG)
            finally:
                self._late.pop(reply, None)

    async def _watch(self) -> None:
        """End what takes too long; one look for all requests costs each of them nothing.

        A tool runs on a thread that nothing can end: the client is told at once, but the place in
        the room is given back only when the call has come to its end.
        """
        limit = self._limits.work_seconds
        async with anyio.create_task_group() as endings:
            while True:
                await anyio.sleep(min(_LOOK_SECONDS, limit / 4))
                self._heap.settle()
                now = self._monotonic()
                for reply in [r for r, work in self._late.items() if work.end <= now]:
                    endings.start_soon(self._end, reply, self._late.pop(reply))

    async def _end(self, reply: Reply, work: "_Work") -> None:
        try:
            with anyio.move_on_after(self._limits.stall_seconds):
                await reply.refuse(
                    Refusal(504, f"no answer within {self._limits.work_seconds:g} s")
                )
        finally:
            work.scope.cancel()


class _Work(NamedTuple):
    """An answer that is being made."""

    end: float  # on the monotonic clock
    scope: anyio.CancelScope

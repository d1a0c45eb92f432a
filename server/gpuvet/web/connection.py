"""One TCP connection that cannot be held open by saying nothing or reading nothing.

uvicorn bounds the time between requests only: a client that sends half a head, or does not read its
answer, would keep its connection for ever.
"""

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from gpuvet.web.settings import Limits


class BoundedConnection(H11Protocol):
    """See the module. `limits` is set on the subclass that a server makes for itself."""

    limits: Limits = Limits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (uvicorn's own)
        super().__init__(*args, **kwargs)
        self._head_timer: Any = None
        self._stall_timer: Any = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 (asyncio's transport)
        """Count the connection, and start waiting for the head of a request."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            transport.abort()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Hand on what came; a head that is begun has its time to end."""
        super().data_received(data)
        if self.cycle and not self.cycle.response_complete:
            self._head_timer = _stopped(self._head_timer)
        elif self._head_timer is None:
            self._await_head()

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self._let_go)

    def on_response_complete(self) -> None:
        """End or keep the connection; one that ends has its time to take the rest."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._await_reader()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; see `on_response_complete`."""
        super().timeout_keep_alive_handler()
        self._await_reader()

    def pause_writing(self) -> None:
        """Stop writing to a client that does not read, and start to wait for it."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._stall_timer = _stopped(self._stall_timer)

    def _await_reader(self) -> None:
        if self._stall_timer is None:
            self._stall_timer = self.loop.call_later(self.limits.stall_seconds, self._let_go)

    def _let_go(self) -> None:
        self._head_timer = self._stall_timer = None
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        self._head_timer = _stopped(self._head_timer)
        self._stall_timer = _stopped(self._stall_timer)
        super().connection_lost(exc)


def _stopped(timer: Any) -> Any:  # noqa: ANN401 (an asyncio handle or None)
    if timer is not None:
        timer.cancel()
    return None


def connection_class(limits: Limits) -> type[BoundedConnection]:
    """Return the class of connections of one server."""
    return type("Connection", (BoundedConnection,), {"limits": limits})

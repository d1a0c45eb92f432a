"""What a server bears: it answers or refuses within its limits, stays up, and leaks nothing."""

import json
import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.types import Receive, Scope, Send
from web_server import (
    DEMO,
    JSON_RPC,
    LIST,
    PATIENCE,
    Answered,
    ask,
    calling,
    command,
    connect,
    on_thread,
    until_closed,
)

from gpuvet.app import build_server
from gpuvet.tools.case_judge import CaseJudge
from gpuvet.web.front import Front
from gpuvet.web.logs import JsonLines
from gpuvet.web.settings import HttpSettings, Limits

# Patient in everything: a test makes the one limit tight that it is about.
FEW = Limits(
    request_bytes=20_000,
    head_seconds=PATIENCE,
    body_seconds=PATIENCE,
    work_seconds=PATIENCE,
    stall_seconds=PATIENCE,
    connections=20,
    requests=4,
    bodies_bytes=40_000,
)
SOON = 0.4  # seconds


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_progress_reaches_a_client_that_asks_for_it(era: str) -> None:
    server = MCPServer(name="steps", version="1")

    async def steps(ctx: Context) -> str:
        """Take three."""
        for step in range(3):
            await ctx.report_progress(step + 1, 3, "a step")
        return "done"

    server.add_tool(steps)
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (3, "a step")
        heard.append(progress)

    with on_thread(server) as port:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
            await client.call_tool("steps", {}, progress_callback=hear)
    assert heard == [1, 2, 3]


class Slow:
    """A tool that runs until it is let go, and counts who is inside."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)

    def wait(self) -> str:
        """Wait."""
        self.entered.release()
        self.gate.wait(PATIENCE)
        return "done"

    def server(self) -> MCPServer:
        """Return a server with this tool and one that answers at once."""
        server = MCPServer(name="slow", version="1")
        server.add_tool(self.wait)
        server.add_tool(_large)
        return server


def _large(size: int = 5_000_000) -> str:
    """Answer with many characters."""
    return "x" * size


@contextmanager
def slow_server(**tight: float) -> Generator[tuple[int, Slow]]:
    """Serve the slow tool with some limits made tight."""
    slow = Slow()
    with on_thread(slow.server(), FEW.model_copy(update=tight)) as port:
        try:
            yield port, slow
        finally:
            slow.gate.set()


def until(claim: Callable[[], bool]) -> bool:
    """Wait until a claim about the server comes true; say whether it did."""
    end = time.monotonic() + PATIENCE
    waiting = threading.Event()
    while not claim() and time.monotonic() < end:
        waiting.wait(0.02)
    return claim()


def is_alive(port: int) -> bool:
    """Whether the server answers again, on a busy machine after a while."""

    def answers() -> bool:
        try:
            return ask(port, LIST).status == 200
        except (ConnectionError, HTTPException):
            return False

    return until(answers)


def test_a_tool_that_takes_too_long_is_answered_in_time_and_the_server_goes_on() -> None:
    with slow_server(work_seconds=SOON) as (port, slow):
        late = ask(port, calling("wait"))
        assert late.status in {200, 504}  # a stream that had begun ends without an answer
        assert b"done" not in late.body
        assert is_alive(port)
        assert slow.entered.acquire(timeout=PATIENCE)


def test_a_modern_call_that_takes_too_long_is_a_gateway_timeout() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = calling("wait")
    message["params"] = {"name": "wait", "arguments": {}, "_meta": meta}
    headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "wait",
    }
    with slow_server(work_seconds=SOON) as (port, _):
        late = ask(port, message, headers)
    assert late.status == 504
    assert "no answer within 0.4 s" in late.message()["error"]["message"]


def test_beyond_what_it_bears_it_says_come_back_and_then_answers_again() -> None:
    with slow_server() as (port, slow), ThreadPoolExecutor(4) as clients:
        inside = [clients.submit(ask, port, calling("wait")) for _ in range(4)]
        for _ in inside:
            assert slow.entered.acquire(timeout=PATIENCE)
        refused = ask(port, LIST)
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert ask(port, method="GET", path="/health").status == 200
        slow.gate.set()
        assert [answer.result().status for answer in inside] == [200] * 4
        assert is_alive(port)


def test_bodies_of_all_requests_together_are_bounded() -> None:
    head = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with slow_server() as (port, _):
        sending = [connect(port) for _ in range(2)]
        for connection in sending:
            connection.sendall(head + b"content-length: 20000\r\n\r\n{")
        assert until(lambda: ask(port, LIST).status == 503)
        for connection in sending:
            connection.close()
        assert is_alive(port)


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"", id="nothing at all"),
        pytest.param(b"POST /mcp HTT", id="half a line"),
        pytest.param(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n", id="half a head"),
    ],
)
def test_a_client_that_begins_and_says_no_more_is_let_go(begun: bytes) -> None:
    with slow_server(head_seconds=SOON) as (port, _):
        connection = connect(port)
        connection.sendall(begun)
        until_closed(connection)
        connection.close()
        assert is_alive(port)


def test_a_client_that_begins_a_second_request_and_says_no_more_is_let_go() -> None:
    with slow_server(head_seconds=SOON) as (port, _):
        connection = connect(port)
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /health HTT")
        until_closed(connection)
        connection.close()


def test_a_body_that_does_not_come_is_told_so() -> None:
    with slow_server(body_seconds=SOON) as (port, _):
        connection = connect(port)
        connection.sendall(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{")
        assert until_closed(connection).startswith(b"HTTP/1.1 408")
        connection.close()


def test_a_chunked_body_without_end_is_cut_off_at_its_bytes() -> None:
    chunk = b"%x\r\n%s\r\n" % (4096, b"x" * 4096)
    with slow_server() as (port, _):
        connection = connect(port)
        connection.sendall(
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        connection.sendall(chunk * 6)
        assert until_closed(connection).startswith(b"HTTP/1.1 413")
        connection.close()


def test_a_client_that_does_not_read_its_answer_is_let_go() -> None:
    body = json.dumps(calling("_large")).encode()
    with slow_server(stall_seconds=SOON) as (port, _):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", port))
        connection.sendall(_head(body) + body)
        assert until(lambda: _is_gone(connection))
        connection.close()
        assert is_alive(port)


def _head(body: bytes) -> bytes:
    named = [f"{name}: {value}" for name, value in JSON_RPC.items()]
    lines = ["POST /mcp HTTP/1.1", "host: localhost", *named, f"content-length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _is_gone(connection: socket.socket) -> bool:
    """Whether the other side has given the connection up: writing to it fails."""
    try:
        connection.send(b" ")
    except ConnectionError:
        return True
    return False


def test_more_connections_than_it_bears_are_closed_and_those_there_are_answered() -> None:
    with slow_server() as (port, _):
        held = [connect(port) for _ in range(FEW.connections)]
        extra = connect(port)
        assert until_closed(extra) == b""
        held[0].sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert until_closed(held[0]).startswith(b"HTTP/1.1 200")
        for connection in (*held, extra):
            connection.close()


@pytest.mark.anyio
async def test_a_bug_answers_as_one_and_says_nothing_of_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ZeroDivisionError("evidence of the caller")

    front = Front(broken, HttpSettings(host="127.0.0.1", port=0))
    transport = httpx2.ASGITransport(app=front)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        found = await client.post("/mcp", json={})
    assert found.status_code == 500
    assert "evidence" not in found.text
    (bug,) = (record for record in caplog.records if record.exc_info)
    told = json.loads(JsonLines().format(bug))
    assert told["exception"] == "ZeroDivisionError"
    assert told["frames"][-1].endswith(" broken")
    assert "evidence" not in json.dumps(told)


def _load(port: int, number: int) -> Answered:
    kinds = (calling("explain_xid", code=79), calling("node_verdicts"), LIST)
    return ask(port, kinds[number % len(kinds)])


def test_a_hundred_clients_at_once_are_all_answered() -> None:
    with on_thread(build_server(CaseJudge(DEMO))) as port, ThreadPoolExecutor(100) as clients:
        answers = list(clients.map(partial(_load, port), range(300)))
    assert {answer.status for answer in answers} == {200}
    assert all("result" in answer.message() for answer in answers)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux counts them in /proc")
def test_neither_load_nor_rude_clients_leave_anything_behind() -> None:
    with command("--case", str(DEMO)) as running:
        process = Path(f"/proc/{running.process.pid}")

        def held() -> tuple[int, int]:
            files, threads = (process / "fd").iterdir(), (process / "task").iterdir()
            return len(list(files)), len(list(threads))

        with ThreadPoolExecutor(40) as clients:
            list(clients.map(partial(_load, running.port), range(200)))
            settled = held()[0]
            memory = _resident_mib(process)
            list(clients.map(_be_rude, [running.port] * 200))
            list(clients.map(partial(_load, running.port), range(400)))
        assert until(lambda: held()[0] <= settled)
        assert held()[1] <= 115  # AnyIO's 40 workers, those left alone, and a few of our own
        assert _resident_mib(process) <= memory + 40
        assert is_alive(running.port)


def _be_rude(port: int) -> None:
    """Ask, and leave before the answer."""
    body = json.dumps(calling("incident_report")).encode()
    connection = connect(port)
    connection.sendall(_head(body) + body)
    connection.close()


def _resident_mib(process: Path) -> float:
    rows = (process / "status").read_text(encoding="utf-8").splitlines()
    return next(int(row.split()[1]) / 1024 for row in rows if row.startswith("VmRSS:"))

"""Calls over loopback HTTP at 1, 10 and 100 clients, against a bare one-tool server of the SDK.

The bare server answers the same request in as many bytes and does nothing for it.
Each client keeps its connection and asks again as soon as it is answered; subjects take turns.
The aim is a p99 of 1.5 times the bare server's, and no error. incident_report stands beside it.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import say

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "server" / "gpuvet" / "demo_case"
CLIENTS = (1, 10, 100)
_EACH = 1_000  # calls of one turn, shared by its clients
_HEAVY = 200  # of incident_report
_START_SECONDS = 30.0

_BARE = """
import socket, sys
from mcp.server import MCPServer
server = MCPServer(name="bare", version="1")
TEXT = "x" * int(sys.argv[2])
@server.tool()
def explain_xid(code: int) -> str:
    "One tool."
    return TEXT
server.run("streamable-http", port=int(sys.argv[1]), stateless_http=True, json_response=False)
"""


class Era(NamedTuple):
    """One way of asking."""

    name: str
    headers: tuple[str, ...]
    meta: dict[str, object]


_META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN = Era("2026-07-28", ("mcp-protocol-version: 2026-07-28", "mcp-method: tools/call"), _META)
LEGACY = Era("2025-11-25", ("mcp-protocol-version: 2025-11-25",), {})


def request(era: Era, tool: str, arguments: dict[str, object]) -> bytes:
    """Return one call as bytes."""
    params: dict[str, object] = {"name": tool, "arguments": arguments}
    named = [f"mcp-name: {tool}"] if era.meta else []
    if era.meta:
        params["_meta"] = era.meta
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    lines = [
        *("POST /mcp HTTP/1.1", "host: 127.0.0.1:80", "content-type: application/json"),
        *("accept: application/json, text/event-stream", f"content-length: {len(body)}"),
        *(*era.headers, *named),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return status and body of one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = int(head.split(b" ", 2)[1])
    if b"transfer-encoding: chunked" not in head:
        (told,) = (line for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
        return status, await reader.readexactly(int(told.partition(b":")[2]))
    body = bytearray()
    while True:
        size = int(await reader.readline(), 16)
        body += (await reader.readexactly(size + 2))[:-2]
        if not size:
            return status, bytes(body)


class Turn(NamedTuple):
    """What one turn of calls came to."""

    seconds: list[float]
    errors: int
    bytes: int


async def turn(port: int, clients: int, calls: int, asked: bytes) -> Turn:
    """Return the time of every call of a turn."""
    seconds: list[float] = []
    sizes: list[int] = []
    errors = 0

    async def client(mine: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        for _ in range(mine):
            began = time.perf_counter()
            writer.write(asked)
            status, body = await answer(reader)
            seconds.append(time.perf_counter() - began)
            sizes.append(len(body))
            good = status == 200 and b'"result"' in body and b'"isError":true' not in body
            errors += not good
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(client(calls // clients) for _ in range(clients)))
    return Turn(seconds, errors, max(sizes))


@contextmanager
def serving(words: list[str], port: int) -> Generator[int]:
    """Start a server and wait until it listens."""
    with subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
    ) as process:
        try:
            asyncio.run(_listens(port))
            yield port
        finally:
            process.terminate()


async def _listens(port: int) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            await asyncio.sleep(0.05)
            continue
        writer.close()
        return
    raise RuntimeError("the server did not start")


def p99(seconds: list[float]) -> float:
    """Return the 99th percentile in milliseconds."""
    return 1000 * statistics.quantiles(seconds, n=100)[98]


def run(*, runs: int) -> None:
    """Measure and print."""
    ours = ["-m", "gpuvet", "serve", "--http", "--port", "18931", "--case", str(DEMO)]
    with serving(ours, 18931) as port:
        first = asyncio.run(turn(port, 1, 1, request(MODERN, "explain_xid", {"code": 79})))
        # The SDK sends a text twice, as text and as value.
        bare = ["-c", _BARE, "18932", str(first.bytes // 2)]
        with serving(bare, 18932) as other:
            for era in (MODERN, LEGACY):
                for clients in CLIENTS:
                    _compare(era, clients, {"bare": other, "gpuvet": port}, runs)
        asked = request(MODERN, "incident_report", {})
        for clients in CLIENTS:
            found = asyncio.run(turn(port, clients, _HEAVY, asked))
            say(
                f"incident_report  {clients:3d} clients  p50 "
                f"{1000 * statistics.median(found.seconds):7.1f} ms  p99 "
                f"{p99(found.seconds):7.1f} ms  errors {found.errors}"
            )


def _compare(era: Era, clients: int, ports: dict[str, int], runs: int) -> None:
    asked = request(era, "explain_xid", {"code": 79})
    found: dict[str, list[Turn]] = {name: [] for name in ports}
    for _ in range(runs + 1):
        for name, port in ports.items():
            found[name].append(asyncio.run(turn(port, clients, _EACH, asked)))
    medians = {
        name: statistics.median(p99(one.seconds) for one in turns[1:])
        for name, turns in found.items()
    }
    errors = {name: sum(one.errors for one in turns) for name, turns in found.items()}
    say(
        f"explain_xid {era.name}  {clients:3d} clients  p99 bare {medians['bare']:7.1f} ms, gpuvet "
        f"{medians['gpuvet']:7.1f} ms, ratio {medians['gpuvet'] / medians['bare']:.2f} "
        f"(aim 1.5), errors {errors['bare']} and {errors['gpuvet']}"
    )

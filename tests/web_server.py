"""A server over HTTP for tests: our command in a process, or any MCP server on a thread."""

import gc
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcp.server import MCPServer

from gpuvet.web.run import listening
from gpuvet.web.settings import HttpSettings, Limits

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "server" / "gpuvet" / "demo_case"
PATIENCE = 30.0  # seconds for anything on a busy machine
JSON_RPC = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
CLIENT = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {}}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", **CLIENT},
}
NOTIFIED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def calling(tool: str, **arguments: object) -> dict[str, object]:
    """Return a request that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}


class Answered(NamedTuple):
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def message(self) -> dict[str, Any]:
        """Return the JSON-RPC message, whichever way it came."""
        text = self.body.decode("utf-8")
        if "text/event-stream" in self.headers.get("content-type", ""):
            (text,) = (t.removeprefix("data: ") for t in text.splitlines() if t[:6] == "data: ")
        found: dict[str, Any] = json.loads(text)
        return found


def ask(
    port: int,
    message: object = None,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    path: str = "/mcp",
    raw: bytes | None = None,
) -> Answered:
    """Return the answer to one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        body = raw if raw is not None else (json.dumps(message).encode() if message else None)
        connection.request(method, path, body, {**JSON_RPC, **(headers or {})})
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answered(answer.status, found, answer.read())
    finally:
        connection.close()


def connect(port: int) -> socket.socket:
    """Return a connection that says what the test says, byte for byte."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def until_closed(connection: socket.socket) -> bytes:
    """Return all that comes until the other side ends it."""
    found = bytearray()
    while True:
        try:
            part = connection.recv(1 << 16)
        except ConnectionError:
            return bytes(found)
        if not part:
            return bytes(found)
        found += part


@contextmanager
def on_thread(server: MCPServer, limits: Limits | None = None, **settings: Any) -> Generator[int]:  # noqa: ANN401 (fields of the settings)
    """Serve on a thread of this process; yields the port."""
    chosen = HttpSettings(host="127.0.0.1", port=0, limits=limits or Limits(), **settings)
    uvicorn = listening(server, chosen)
    thread = threading.Thread(target=uvicorn.run, daemon=True)
    thread.start()
    end = time.monotonic() + PATIENCE
    while not uvicorn.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise RuntimeError("the server did not start")
        thread.join(0.01)
    try:
        yield uvicorn.servers[0].sockets[0].getsockname()[1]
    finally:
        uvicorn.should_exit = True
        thread.join(PATIENCE)
        gc.unfreeze()  # the server has put aside what is loaded; this process is not only its own
        if thread.is_alive():
            raise RuntimeError("the server did not stop")


class Command:
    """`gpuvet serve --http` in a process, with its log."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self.port = 0
        self._listens = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Keep the log flowing: a server whose log nobody reads stands still."""
        for line in self.process.stderr or ():
            self.lines.append(line)
            if '"listening"' in line:
                self.port = json.loads(line)["port"]
                self._listens.set()
        self._listens.set()

    def await_port(self) -> None:
        """Wait until the server listens."""
        if not self._listens.wait(PATIENCE) or not self.port:
            raise RuntimeError("".join(self.lines))

    def stop(self) -> int:
        """Tell the server to end as a container's host does; return its exit code."""
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def kill(self) -> None:
        """End the server at once."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        if self.process.stderr is not None:
            self.process.stderr.close()


@contextmanager
def command(*words: str, env: Mapping[str, str] | None = None) -> Generator[Command]:
    """Start our command over the demo case."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuvet", "serve", "--http", "--port", "0", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "server"), **(env or {})},
    )
    running = Command(process)
    try:
        running.await_port()
        yield running
    finally:
        running.kill()

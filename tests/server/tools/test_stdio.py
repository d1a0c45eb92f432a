"""The server over stdio as a rude host meets it: it answers or refuses, and stays up."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "server" / "gpuvet" / "demo_case"
PATIENCE = 30.0  # seconds for anything on a busy machine
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Spoken:
    """`gpuvet serve` in a process, spoken to in lines."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gpuvet", "serve", "--case", str(DEMO)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        )
        self.answers: dict[object, dict[str, Any]] = {}
        self.strays: list[bytes] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            with self._news:
                try:
                    message = json.loads(line)
                    self.answers[message.get("id")] = message
                except ValueError:
                    self.strays.append(line)
                self._news.notify_all()

    def say(self, message: object) -> None:
        """Send one message."""
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, text: bytes) -> None:
        """Send bytes as they are."""
        if self.process.stdin is None:
            raise RuntimeError("no stdin")
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request."""
        with self._news:
            if not self._news.wait_for(lambda: number in self.answers, PATIENCE):
                raise TimeoutError(f"no answer to {number}")
            return self.answers[number]

    def close(self) -> int:
        """Close its stdin as a host does, and return the exit code."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@pytest.fixture
def spoken() -> Generator[Spoken]:
    server = Spoken()
    server.say(INITIALIZE)
    server.answer(1)
    server.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait(PATIENCE)
        for stream in (server.process.stdin, server.process.stdout):
            if stream is not None:
                stream.close()


def calling(number: int, tool: str, **arguments: object) -> dict[str, object]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_what_is_no_message_is_passed_over_and_the_next_is_answered(spoken: Spoken) -> None:
    for text in (b"\n", b"{\n", b"[]\n", b'"text"\n', b"\xff\xfe\n", b"[" * 20_000 + b"\n"):
        spoken.write(text)
    spoken.say({"jsonrpc": "2.0", "id": 7, "method": "no/such"})
    spoken.say({"jsonrpc": "1.0", "id": 8, "method": "tools/list"})
    spoken.say(calling(9, "explain_xid", code=79))
    assert spoken.answer(7)["error"]["code"] == -32601
    assert spoken.answer(9)["result"]["isError"] is False
    assert spoken.close() == 0
    assert spoken.strays == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"code": "seventy"}, id="a number in words"),
        pytest.param({"code": 79, "line": "x"}, id="two that exclude each other"),
        pytest.param({"code": 79, "codes": 80}, id="an argument that is not there"),
        pytest.param({"line": "x" * 5_000_000}, id="five million characters"),
        pytest.param({"code": -1}, id="out of range"),
        pytest.param({}, id="none"),
    ],
)
def test_wrong_arguments_are_told_and_never_more_than_a_model_reads(
    spoken: Spoken, arguments: dict[str, object]
) -> None:
    spoken.say(calling(5, "explain_xid", **arguments))
    told = spoken.answer(5)["result"]
    assert told["isError"] is True
    assert 0 < len(told["content"][0]["text"]) <= 4_200
    spoken.say(calling(6, "explain_xid", code=79))
    assert spoken.answer(6)["result"]["isError"] is False


def test_a_cancelled_call_takes_nothing_else_with_it(spoken: Spoken) -> None:
    for number in range(20, 40):
        spoken.say(calling(number, "incident_report"))
        cancelled = {"requestId": number, "reason": "no longer needed"}
        spoken.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
    spoken.say(calling(50, "incident_report"))
    assert spoken.answer(50)["result"]["isError"] is False


def test_a_host_that_leaves_in_the_middle_of_calls_ends_the_server(spoken: Spoken) -> None:
    for number in range(20, 60):
        spoken.say(calling(number, "incident_report"))
    assert spoken.close() == 0
    assert spoken.strays == []

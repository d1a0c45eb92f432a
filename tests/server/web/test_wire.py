"""What travels: `gpuvet serve --http` as a process, spoken to in bytes and by the SDK's client."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from web_server import (
    DEMO,
    INITIALIZE,
    LIST,
    NOTIFIED,
    PATIENCE,
    ROOT,
    Command,
    ask,
    calling,
    command,
    connect,
    until_closed,
)

TOKEN = "a-token-for-this-test-only"
MODERN = {"mcp-protocol-version": "2026-07-28"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def open_server() -> Generator[Command]:
    with command("--case", str(DEMO)) as running:
        yield running


@pytest.fixture(scope="module")
def closed_server() -> Generator[Command]:
    environment = {"GPUVET_HTTP_TOKEN": TOKEN}
    words = ("--host", "0.0.0.0", "--allow-host", "*.lambda-url.us-west-2.on.aws")
    with command("--case", str(DEMO), *words, env=environment) as running:
        yield running


def modern(method: str, **params: object) -> tuple[dict[str, object], dict[str, str]]:
    """Return a request of the era without handshakes, and its headers."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = {**params, "_meta": meta}
    message: dict[str, object] = {"jsonrpc": "2.0", "id": 9, "method": method, "params": asked}
    named = {"mcp-name": str(params["name"])} if "name" in params else {}
    return message, {**MODERN, "mcp-method": method, **named}


def test_health_answers_anyone_and_says_nothing(closed_server: Command) -> None:
    found = ask(closed_server.port, method="GET", path="/health", headers={"host": "10.0.0.7"})
    assert (found.status, json.loads(found.body)) == (200, {"status": "ok"})
    assert ask(closed_server.port, {}, path="/health").status == 405


@pytest.mark.parametrize("era", ["auto", "legacy", "2026-07-28"])
@pytest.mark.anyio
async def test_the_sdks_client_is_answered_in_every_era(
    open_server: Command, era: Literal["auto", "legacy", "2026-07-28"]
) -> None:
    async with Client(f"http://127.0.0.1:{open_server.port}/mcp", mode=era) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        report = await client.call_tool("incident_report", {})
        prompts = await client.list_prompts()
        # A client that pins the later era asks for nothing but what it calls.
        assert bool(client.instructions) is (era != "2026-07-28")
    assert {"incident_report", "explain_xid"} <= tools
    assert report.structured_content is not None
    assert report.structured_content["schema"] == "gpuvet/incident-page/1"
    assert len(prompts.prompts) == 4


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.anyio
async def test_a_client_with_the_token_is_let_in_on_any_address(
    closed_server: Command, era: Literal["auto", "legacy"]
) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        url = f"http://127.0.0.1:{closed_server.port}/mcp"
        async with Client(streamable_http_client(url, http_client=http), mode=era) as client:
            answer = await client.call_tool("explain_xid", {"code": 79})
    assert not answer.is_error


def test_a_handshake_gets_a_session_id_though_nothing_is_kept(open_server: Command) -> None:
    first = ask(open_server.port, INITIALIZE)
    assert first.message()["result"]["protocolVersion"] == "2025-11-25"
    assert len(first.headers["mcp-session-id"]) == 32
    given = {"mcp-session-id": "a-host-s-own-id", "mcp-protocol-version": "2025-11-25"}
    assert ask(open_server.port, LIST, given).headers["mcp-session-id"] == "a-host-s-own-id"
    strange = {"mcp-session-id": "x" * 500}
    assert len(ask(open_server.port, LIST, strange).headers["mcp-session-id"]) == 32


def test_the_later_era_has_no_session(open_server: Command) -> None:
    message, headers = modern("tools/call", name="explain_xid", arguments={"code": 79})
    found = ask(open_server.port, message, headers)
    assert found.status == 200
    assert "mcp-session-id" not in found.headers
    assert found.message()["result"]["isError"] is False


def test_a_notification_is_taken_with_a_body_of_one_byte(open_server: Command) -> None:
    found = ask(open_server.port, NOTIFIED)
    assert (found.status, found.body) == (202, b" ")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mcp", 405),
        ("PUT", "/mcp", 405),
        ("OPTIONS", "/mcp", 405),
        ("DELETE", "/mcp", 200),
        ("POST", "/mcp/", 404),
        ("POST", "/", 404),
        ("POST", "/mcp/../health", 404),
        ("GET", "/.well-known/oauth-protected-resource", 404),
    ],
)
def test_only_posts_to_one_path_are_answered_and_ends_are_confirmed(
    open_server: Command, method: str, path: str, status: int
) -> None:
    found = ask(open_server.port, method=method, path=path)
    assert found.status == status
    assert found.body
    assert found.headers.get("allow") == ("POST" if status == 405 else None)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"host": "evil.example"}, 421, id="a foreign host"),
        pytest.param({"host": "127.0.0.1.evil.example"}, 421, id="a host that begins alike"),
        pytest.param({"origin": "https://evil.example"}, 403, id="a foreign page"),
        pytest.param({"origin": "null"}, 403, id="a page of nowhere"),
    ],
)
def test_on_the_loopback_too_hosts_and_pages_are_checked(
    open_server: Command, headers: dict[str, str], status: int
) -> None:
    found = ask(open_server.port, INITIALIZE, headers)
    assert found.status == status
    assert "error" in found.message()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="no token"),
        pytest.param({"authorization": f"Bearer {TOKEN}x"}, 401, id="a wrong token"),
        pytest.param({"authorization": f"Basic {TOKEN}"}, 401, id="another scheme"),
        pytest.param({"authorization": f"Bearer {TOKEN}"}, 200, id="the token"),
        pytest.param(
            {"authorization": f"Bearer {TOKEN}", "host": "x1.lambda-url.us-west-2.on.aws"},
            200,
            id="a host that was given",
        ),
        pytest.param({"authorization": f"Bearer {TOKEN}", "host": "x"}, 421, id="no such host"),
    ],
)
def test_beyond_the_loopback_the_token_decides(
    closed_server: Command, headers: dict[str, str], status: int
) -> None:
    found = ask(closed_server.port, LIST, headers)
    assert found.status == status
    assert ("www-authenticate" in found.headers) is (status == 401)


@pytest.mark.parametrize(
    ("raw", "headers", "status"),
    [
        pytest.param(b"{", {}, 400, id="no JSON"),
        pytest.param(b"", {}, 400, id="nothing"),
        pytest.param(b"[]", {}, 400, id="an empty batch"),
        pytest.param(b"[" * 20_000, {}, 400, id="JSON too deep"),
        pytest.param(b'{"a":' + b"9" * 50_000 + b"}", {}, 400, id="a number too long"),
        pytest.param(b'"text"', {}, 400, id="JSON that is no message"),
        pytest.param(b"\xff\xfe{}", {}, 400, id="no UTF-8"),
        pytest.param(b"{}", {"content-type": "text/plain"}, 400, id="another type"),
        pytest.param(b"{}", {"accept": "text/html"}, 406, id="an answer we do not give"),
        pytest.param(b"{}", {"content-length": "99999999999"}, 413, id="a size too large"),
        pytest.param(b"{", MODERN, 400, id="no JSON, later era"),
        pytest.param(b"[" * 20_000, MODERN, 400, id="JSON too deep, later era"),
    ],
)
def test_what_is_no_request_is_refused_and_the_server_stays(
    open_server: Command, raw: bytes, headers: dict[str, str], status: int
) -> None:
    assert ask(open_server.port, raw=raw, headers=headers).status == status
    assert ask(open_server.port, LIST).status == 200


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00", id="TLS"),
        pytest.param(b"GARBAGE\r\n\r\n", id="no HTTP"),
        pytest.param(b"POST /mcp HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param(
            b"POST /mcp HTTP/9.9\r\nhost: localhost\r\nconnection: close\r\n\r\n", id="no version"
        ),
        pytest.param(
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
            id="a negative size",
        ),
        pytest.param(
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n", id="two hosts"
        ),
        pytest.param(
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n"
            b"transfer-encoding: chunked\r\n\r\nzz",
            id="two lengths",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 200_000, id="a head without end"
        ),
    ],
)
def test_what_is_no_http_ends_the_connection_and_not_the_server(
    open_server: Command, text: bytes
) -> None:
    connection = connect(open_server.port)
    connection.sendall(text)
    assert until_closed(connection).startswith(b"HTTP/1.1 400")
    connection.close()
    assert ask(open_server.port, LIST).status == 200


def test_a_client_that_waits_for_leave_to_send_too_much_is_refused_at_once(
    open_server: Command,
) -> None:
    connection = connect(open_server.port)
    connection.sendall(
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000000\r\n"
        b"expect: 100-continue\r\n\r\n"
    )
    assert until_closed(connection).startswith(b"HTTP/1.1 413")
    connection.close()


def test_a_client_that_sends_too_much_hears_so(open_server: Command) -> None:
    found = ask(open_server.port, raw=b"x" * 6_000_000)
    assert found.status == 413
    assert "command line" in found.message()["error"]["message"]


def test_no_caller_chooses_an_identity() -> None:
    # Nothing is asked of the account: it is not reached before a call that may be.
    with command(env={"AWS_REGION": "us-west-2"}) as running:
        tools = ask(running.port, LIST).message()["result"]["tools"]
        asked = [
            ask(running.port, calling("incident_report", cluster="train-a", **{name: "other"}))
            for name in ("profile", "role")
        ]
    for tool in tools:
        assert {"profile", "role"}.isdisjoint(tool["inputSchema"]["properties"]), tool["name"]
    for refused in (answer.message()["result"] for answer in asked):
        assert refused["isError"] is True
        assert "identity" in refused["content"][0]["text"]
    report = next(t for t in tools if t["name"] == "incident_report")
    assert "region" in report["inputSchema"]["properties"]


def test_a_cursor_goes_on_at_another_worker_that_has_the_key(tmp_path: Path) -> None:
    source = next((ROOT / "tests" / "cases" / "verdicts").glob("v08*.json"))
    key = tmp_path / "key"
    key.write_text("a-key-that-two-workers-share\n", encoding="utf-8")
    shared = {"GPUVET_CURSOR_KEY_FILE": str(key)}
    words = ("--case", str(source))
    with command(*words, env=shared) as one, command(*words, env=shared) as other:
        first = ask(one.port, calling("node_verdicts")).message()["result"]["structuredContent"]
        asked = calling("node_verdicts", cursor=first["cursor"])
        second = ask(other.port, asked).message()["result"]
        assert second["isError"] is False
        shown = [row["node"] for row in first["nodes"] + second["structuredContent"]["nodes"]]
        assert len(shown) == len(set(shown))
        assert len(shown) > len(first["nodes"])
    with command(*words) as stranger:
        refused = ask(stranger.port, asked).message()["result"]
        assert refused["isError"] is True
        assert "not one of this server" in refused["content"][0]["text"]


def test_the_log_is_json_and_tells_neither_secrets_nor_evidence() -> None:
    with command("--case", str(DEMO), env={"GPUVET_HTTP_TOKEN": TOKEN}) as running:
        secret = {"authorization": f"Bearer {TOKEN}"}
        ask(running.port, calling("explain_xid", line="AKIAIOSFODNN7EXAMPLE evidence"), secret)
        ask(running.port, calling("no-such\ntool-evidence"), secret)
        ask(running.port, raw=b'{"evidence', headers=secret)
        ask(running.port, {"jsonrpc": "2.0", "id": 1, "method": "evidence/x"}, secret)
        ask(running.port, LIST, {"authorization": "Bearer guessed-evidence-token"})
        ask(running.port, LIST, {**secret, "host": "evidence.example"})
        assert running.stop() == 0
        log = "".join(running.lines)
    events = [json.loads(line) for line in running.lines]
    assert "evidence" not in log
    assert TOKEN not in log
    assert "AKIA" not in log
    asked = [e for e in events if e["event"] == "request"]
    # A line is written when its answer has gone: two requests may end in either order.
    assert sorted((e["status"], e.get("rpc", ""), e.get("tool", "")) for e in asked) == [
        (200, "other", ""),
        (200, "tools/call", "explain_xid"),
        (200, "tools/call", "unknown"),
        (400, "", ""),
        (401, "", ""),
        (421, "", ""),
    ]
    assert all(e["ms"] >= 0 and e["bytes"] > 0 for e in asked)
    assert (events[0]["event"], events[-1]["event"]) == ("listening", "stopped")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_closes_and_ends_well(number: signal.Signals) -> None:
    with command("--case", str(DEMO)) as running:
        idle = connect(running.port)
        running.process.send_signal(number)
        assert running.process.wait(PATIENCE) == 0
        assert until_closed(idle) == b""
        idle.close()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(("--http", "--host", "0.0.0.0"), "--token-file", id="open without a token"),
        pytest.param(("--port", "80"), "belong to --http", id="a port of stdio"),
        pytest.param(("--http", "--profile", "a", "--profile", "b"), "profile", id="two profiles"),
        pytest.param(("--http", "--port", "70000"), "no port", id="a port that is none"),
        pytest.param(("--http", "--token-file", "/no/such"), "cannot be read", id="no token file"),
    ],
)
def test_a_wrong_start_says_what_would_be_right(words: tuple[str, ...], says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpuvet", "serve", *words],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        check=False,
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_a_clear_end(open_server: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpuvet", "serve", "--http", "--port", str(open_server.port)],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        check=False,
    )
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{open_server.port}" in done.stderr
    assert "address already in use" in done.stderr

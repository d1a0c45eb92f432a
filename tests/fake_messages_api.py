"""A Messages API on the loopback that says what a test tells it to: streams, errors, refusals."""

import json
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """A whole message."""

    content: Sequence[Mapping[str, Any]]
    stop_reason: str = "end_turn"
    input_tokens: int = 100
    output_tokens: int = 20


@dataclass(frozen=True)
class Fail:
    """An error answer."""

    status: int
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class BreakOff:
    """A stream that starts and then fails: with an error event, or by just ending."""

    event: str | None = None  # type of the error; None: the connection ends
    tears_length: bool = False  # whether the transport notices


@dataclass(frozen=True)
class TornInput:
    """A tool use whose input is no JSON."""

    name: str = "use_aws"


Answer = Say | Fail | BreakOff | TornInput
Script = Callable[[Body], Answer]


def text(words: str) -> Mapping[str, Any]:
    return {"type": "text", "text": words}


def tool_use(name: str, given: object, identity: str = "toolu_1") -> Mapping[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def in_turn(*answers: Answer) -> Script:
    """Return a script that gives the answers in order; the last one repeats."""
    left = list(answers)
    lock = threading.Lock()

    def script(_: Body) -> Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return script


@dataclass
class FakeApi:
    """The running server: where it listens, and what it was asked."""

    url: str
    requests: list[Body] = field(default_factory=list[Body])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


class _Server(ThreadingHTTPServer):
    """Says nothing of a client that was killed or that hung up."""

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError | json.JSONDecodeError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # passed on


@contextmanager
def fake_api(script: Script) -> Generator[FakeApi]:
    """Serve a script on a free port of the loopback for as long as the block runs."""
    api = FakeApi(url="")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            api.requests.append(body)
            api.headers.append({k.lower(): v for k, v in self.headers.items()})
            _answer(self, script(body), str(body.get("model")))

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] # says nothing
            return

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(handler: BaseHTTPRequestHandler, answer: Answer, model: str) -> None:
    if isinstance(answer, Fail):
        error = {"type": "error", "error": {"type": answer.kind, "message": f"a {answer.kind}"}}
        raw = json.dumps(error).encode()
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        _send(handler, raw, "application/json")
        return
    handler.send_response(200)
    raw = "".join(_sse(event) for event in _events(answer, model)).encode()
    torn = isinstance(answer, BreakOff) and answer.tears_length
    _send(handler, raw, "text/event-stream", claimed=len(raw) + (500 if torn else 0))
    if torn:
        handler.close_connection = True


def _send(
    handler: BaseHTTPRequestHandler, raw: bytes, kind: str, *, claimed: int | None = None
) -> None:
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(raw) if claimed is None else claimed))
    handler.end_headers()
    handler.wfile.write(raw)


def _sse(event: Body) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _events(answer: Say | BreakOff | TornInput, model: str) -> Iterator[Body]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    if isinstance(answer, Say):
        usage["input_tokens"] = answer.input_tokens
    yield {
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        },
    }  # fmt: skip
    if isinstance(answer, BreakOff):
        yield from _block(0, text("The node"))
        if answer.event is not None:
            yield {"type": "error", "error": {"type": answer.event, "message": "in the stream"}}
        return
    if isinstance(answer, TornInput):
        start = tool_use(answer.name, {})
        yield {"type": "content_block_start", "index": 0, "content_block": start}
        delta = {"type": "input_json_delta", "partial_json": '{"service_name": sagemaker]'}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield from _end("tool_use", 20)
        return
    for index, block in enumerate(answer.content):
        yield from _block(index, block)
    yield from _end(answer.stop_reason, answer.output_tokens)


def _block(index: int, block: Mapping[str, Any]) -> Iterator[Body]:
    delta: Body
    if block["type"] == "text":
        start: Body = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _end(stop_reason: str, output_tokens: int) -> Iterator[Body]:
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": output_tokens},
    }
    yield {"type": "message_stop"}

"""Helpers of the tests of the live door: an HTTP session that records or answers, a still clock.

Nothing here opens a socket: botocore's own HTTP session is replaced where it would send.
"""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import botocore.httpsession
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

from gpuvet.aws.budget import Clock

Respond = Callable[[AWSPreparedRequest], AWSResponse]
Http = Callable[[Respond], list[AWSPreparedRequest]]


class Reached(BaseException):
    """A request got to the HTTP session; no `except Exception` on the way hides it."""


class RecordingSession:
    """Stands in for botocore's HTTP session: remembers that something was sent, sends nothing."""

    def __init__(self) -> None:
        self.sent: list[AWSPreparedRequest] = []

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Remember the request and go no further."""
        self.sent.append(request)
        raise Reached

    def close(self) -> None:
        """Nothing is open."""


def filled(shape: Any, *, depth: int = 0) -> dict[str, Any]:  # noqa: ANN401 (any shape)
    """Return the least parameters with which a request can be built at all."""
    if shape is None:
        return {}
    required = set(shape.required_members)
    required |= {
        name
        for name, member in shape.members.items()
        if member.serialization.get("location") == "uri"
    }
    return {name: _value(shape.members[name], depth) for name in sorted(required)}


def _value(shape: Any, depth: int) -> object:  # noqa: ANN401 (any of botocore's shapes)
    simple = {
        "string": "xxxxxxxx",
        "character": "x",
        "boolean": False,
        "integer": 1,
        "long": 1,
        "float": 1.0,
        "double": 1.0,
        "timestamp": 1_700_000_000,
        "blob": b"x",
    }
    if shape.type_name in simple:
        return simple[shape.type_name]
    if shape.type_name == "structure" and depth < 4:
        return filled(shape, depth=depth + 1)
    if shape.type_name == "list":
        return [_value(shape.member, depth + 1)] if shape.metadata.get("min") else []
    return {}


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch) -> Http:
    """Return a function that answers every HTTP request of botocore, and lists what was sent."""

    def answer_with(respond: Respond) -> list[AWSPreparedRequest]:
        sent: list[AWSPreparedRequest] = []

        def send(_self: object, request: AWSPreparedRequest) -> AWSResponse:
            sent.append(request)
            return respond(request)

        monkeypatch.setattr(botocore.httpsession.URLLib3Session, "send", send)
        return sent

    return answer_with


@pytest.fixture
def no_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep credentials and configuration of this machine out; return the home folder."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return tmp_path


@pytest.fixture
def keys(no_machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put made-up keys in force; return the home folder."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    return no_machine


class StillTime:
    """A clock that moves only when somebody waits, and remembers the waits."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.waits.append(seconds)
        self.seconds += seconds

    @property
    def clock(self) -> Clock:
        """The clock a door takes."""
        return Clock(now=lambda: NOW, monotonic=lambda: self.seconds, sleep=self.sleep)


NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)


def response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> AWSResponse:
    """Return an HTTP response as botocore parses it."""
    answer: Any = AWSResponse(
        "https://aws.test", status, HTTPHeaders.from_dict(dict(headers or {})), None
    )
    answer._content = body
    return answer  # type: ignore[no-any-return]  # made two lines above

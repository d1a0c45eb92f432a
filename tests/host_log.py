"""A case folder with the log of one healthy node, and the lines a test adds to it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gpuvet.case.load import load_case
from gpuvet.model.verdict import NodeVerdict
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

Shape = Callable[[str, str], str]  # time and text of a message to its line

START = datetime(2026, 3, 2, 6, tzinfo=UTC)
LATE = datetime(2027, 1, 1, tzinfo=UTC)
STAMP = "2026-03-02T10:04:11.000000+00:00"
HOST = "ip-10-0-2-11"
NODE = "i-0aa11bb22cc33dd44"


def syslog(at: str, text: str) -> str:
    return f"{at} {HOST} kernel: {text}"


def judged(folder: Path, *lines: str, shape: Shape = syslog) -> NodeVerdict:
    """Return the verdict of a node whose log, of one shape, is healthy but for these lines."""
    healthy = (
        shape(
            f"{START + timedelta(minutes=6 * n):%Y-%m-%dT%H:%M:%S}.000000+00:00",
            f"docker0: port {n}(veth{n:04x}) entered blocking state",
        )
        for n in range(64)
    )
    # The name gives the node to lines that do not name their host.
    text = "\n".join([*healthy, *lines, ""])
    (folder / f"{NODE}.log").write_text(text, encoding="utf-8")
    meta = {
        "format": "gpuvet-case/1",
        "now": "2026-03-02T12:20:00Z",
        "window": {"start": "2026-03-02T07:00:00Z", "end": "2026-03-02T12:00:00Z"},
        "failure_at": "2026-03-02T10:04:12Z",
    }
    (folder / "case.json").write_text(json.dumps(meta), encoding="utf-8")
    (node,) = verdict_report(load_case(folder), Asked(), clock=LATE).nodes
    return node


def program(tag: str, text: str) -> str:
    return f"{STAMP} {HOST} {tag}: {text}"

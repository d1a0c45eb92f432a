"""Logs as JSON lines: what happened, never what was said.

A line of another library is reduced to who wrote it, where, and the kind of exception: its text
may quote a request, an answer or a token.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from traceback import extract_tb
from types import MappingProxyType
from typing import TextIO

from gpuvet.parse.untrusted import clean

LOGGER = "gpuvet.web"
_QUOTABLE = ("uvicorn.error",)  # fixed sentences about listening and closing
_FRAMES = 5


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
        }
        if record.name == LOGGER:
            line["event"] = record.getMessage()
            fields: Mapping[str, object] = getattr(record, "fields", {})
            line.update(fields)
        else:
            line["where"] = f"{PurePath(record.pathname).name}:{record.lineno}"
            if record.name in _QUOTABLE:
                line["event"] = clean(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            line.update(_told(record.exc_info[1]))
        return json.dumps(line, separators=(",", ":"))


def _told(error: BaseException) -> dict[str, object]:
    """Return the kind of an exception and where it came from, without its message."""
    frames = extract_tb(error.__traceback__)[-_FRAMES:]
    return {
        "exception": type(error).__name__,
        "frames": [f"{PurePath(f.filename).name}:{f.lineno} {f.name}" for f in frames],
    }


def log_json(level: int | None, stream: TextIO | None = None) -> None:
    """Write all logs as JSON lines.

    Args:
        level: As asked for; None for requests at INFO and other libraries at WARNING.
        stream: Default stderr.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_is_no_normal_stop)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING if level is None else level)
    logging.getLogger(LOGGER).setLevel(logging.INFO if level is None else level)


def _is_no_normal_stop(record: logging.LogRecord) -> bool:
    """Leave out that the lifespan was cancelled: so ends every server that is told to stop."""
    raised = record.exc_info[1] if record.exc_info else None
    return not (record.name.startswith("uvicorn") and type(raised).__name__ == "CancelledError")


def note(event: str, fields: Mapping[str, object] = MappingProxyType({})) -> None:
    """Log one event of the server; fields hold numbers, names of ours and closed words only."""
    logging.getLogger(LOGGER).info(event, extra={"fields": fields})


def note_bug(error: Exception) -> None:
    """Log that a request ended in an exception, without what it says."""
    logging.getLogger(LOGGER).error("bug", exc_info=error)

"""Judgements kept in a file that travels with the results: asked once, read for ever.

The key holds everything a judgement depends on. The file is sorted, so that the same judgements
are the same bytes, and written whole before it takes the old one's place.
"""

import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuvet_evals.errors import UnreadableEvals
from gpuvet_evals.journal import mapping
from gpuvet_evals.json_text import write_whole

CACHE_NAME = "judgements.json"
FORMAT = "gpuvet-judgements/1"
MAX_CACHE_BYTES = 256 * 1024 * 1024


def key_of(request: Mapping[str, Any], **more: object) -> str:
    """Return the key of a request: model, prompt, answer, assertion, parameters and what is added.

    The request's own text holds all of them; `more` tells apart votes, and prompt versions.
    """
    text = json.dumps({"request": request, **more}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class JudgementCache:
    """Kept replies by key; safe to share between threads."""

    def __init__(self, path: Path | None = None) -> None:
        """Open a file, or none: then nothing outlives the process.

        Raises:
            UnreadableEvals: The file is no cache of this format.
        """
        self._path = path
        self._lock = threading.Lock()
        self.settings: dict[str, Any] = {}  # model and votes of the last live judging
        self._entries: dict[str, dict[str, Any]] = {}
        self._is_changed = False
        if path is not None and path.is_file():
            self._read(path)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return a kept entry."""
        return self._entries.get(key)

    def put(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry; it is on disk after the next `save`."""
        with self._lock:
            self._entries[key] = dict(entry)
            self._is_changed = True

    def save(self) -> None:
        """Write the file where something was added."""
        with self._lock:
            if self._path is None or not self._is_changed:
                return
            document = {
                "format": FORMAT,
                "settings": self.settings,
                "entries": dict(sorted(self._entries.items())),
            }
            write_whole(self._path, f"{json.dumps(document, indent=1)}\n")
            self._is_changed = False

    def _read(self, path: Path) -> None:
        if path.stat().st_size > MAX_CACHE_BYTES:
            raise UnreadableEvals(f"{str(path)!r} has more than {MAX_CACHE_BYTES} bytes")
        try:
            document = mapping(json.loads(path.read_bytes()))
        except (ValueError, RecursionError) as error:
            raise UnreadableEvals(f"{str(path)!r} is no JSON: {error}; move it away") from error
        if document.get("format") != FORMAT:
            raise UnreadableEvals(f"{str(path)!r} is not of the format {FORMAT!r}; move it away")
        self.settings = dict(mapping(document.get("settings")))
        entries = mapping(document.get("entries"))
        self._entries = {key: dict(mapping(entry)) for key, entry in entries.items()}

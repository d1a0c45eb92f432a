"""What has happened in a run so far, on disk turn by turn, so that a kill costs one turn at most.

A line is a reply or the results of its tools. A torn last line is dropped. The file lies beside
the journal that is made of it at the end, and is gone once that is written.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.asking import Reply, Usage, read_reply, usage_json
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.journal import mapping, mappings

TURNS_NAME = "unfinished.jsonl"
MAX_TURNS_BYTES = 256 * 1024 * 1024


class Result(Value):
    """What one tool said."""

    tool_use_id: str
    text: str
    is_error: bool = False


class Turn(Value):
    """A reply with its tools' results; they are None until all have answered."""

    reply: Reply
    replied_at: datetime
    results: tuple[Result, ...] | None = None
    answered_at: datetime | None = None


class TurnLog:
    """The turns of one run; each is on disk before the next is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started_at, turns = _read(path)
        self.turns: list[Turn] = list(turns)

    @property
    def usage(self) -> Usage:
        """The tokens of all turns."""
        total = Usage()
        for turn in self.turns:
            total = total.plus(turn.reply.usage)
        return total

    def start(self, clock: Callable[[], datetime]) -> datetime:
        """Return when the run began; the first call of a run says so, later ones repeat it."""
        if self._started_at is None:
            self._started_at = clock()
            self._append({"started": self._started_at.isoformat()})
        return self._started_at

    def replied(self, reply: Reply, at: datetime) -> None:
        """Keep a reply."""
        self._append({"reply": reply_json(reply), "at": at.isoformat()})
        self.turns.append(Turn(reply=reply, replied_at=at))

    def answered(self, results: tuple[Result, ...], at: datetime) -> None:
        """Keep what the last reply's tools said."""
        rows = [result.model_dump() for result in results]
        self._append({"results": rows, "at": at.isoformat()})
        self.turns[-1] = self.turns[-1].model_copy(update={"results": results, "answered_at": at})

    def remove(self) -> None:
        """Delete the file; the journal holds it all."""
        self._path.unlink(missing_ok=True)

    def _append(self, line: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(f"{json.dumps(line)}\n".encode())
            file.flush()
            os.fsync(file.fileno())


def reply_json(reply: Reply) -> dict[str, Any]:
    """Return a reply as the API words a message."""
    return {
        "content": [dict(block) for block in reply.content],
        "stop_reason": reply.stop_reason,
        "usage": usage_json(reply.usage),
    }


def _read(path: Path) -> tuple[datetime | None, Sequence[Turn]]:
    """Return when the run began and its turns, and cut off what a kill left behind them.

    Raises:
        UnreadableTree: The file is broken elsewhere than at its end.
    """
    if not path.is_file() or path.stat().st_size > MAX_TURNS_BYTES:
        return None, ()
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if len(whole) != len(raw):
        path.write_bytes(whole)
    try:
        lines = [mapping(json.loads(line)) for line in whole.splitlines()]
        if not lines:
            return None, ()
        return datetime.fromisoformat(str(lines[0]["started"])), tuple(_turns(lines[1:]))
    except (ValueError, KeyError) as error:
        raise UnreadableTree(
            f"{str(path)!r} is broken in its middle: {error}; delete it to begin the run anew"
        ) from error


def _turns(lines: Sequence[Mapping[str, Any]]) -> Iterator[Turn]:
    pending: Turn | None = None
    for fields in lines:
        at = datetime.fromisoformat(str(fields["at"]))
        if "reply" in fields:
            if pending is not None:
                yield pending
            pending = Turn(reply=read_reply(mapping(fields["reply"])), replied_at=at)
        elif pending is not None:
            results = tuple(Result.model_validate(dict(r)) for r in mappings(fields["results"]))
            yield pending.model_copy(update={"results": results, "answered_at": at})
            pending = None
    if pending is not None:
        yield pending

"""User patterns run only here: in a child process with a deadline, a byte cap and no mercy.

The parent never matches a user's pattern. A child that stays silent past its deadline is killed;
a second one finds the line and the rule it was stuck on.
"""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from gpuvet.errors import UsageError
from gpuvet.simulate.rule import RuleSpec

_CHILD = Path(__file__).with_name("child.py")
_MAX_MESSAGE = 1 << 22  # characters of one answer


class Limits(NamedTuple):
    """How long and how much a child may run."""

    silence_seconds: float = 10.0  # for one block of 1 MiB; an honest pattern needs milliseconds
    total_seconds: float = 1800.0
    max_bytes: int = 64 << 30
    search_seconds: float = 5.0  # to find the line a pattern is stuck on


class Stuck(NamedTuple):
    """A pattern that did not come back."""

    rule: str
    field: str  # logPattern or stopPattern
    line: int
    seconds: float


class Answer(NamedTuple):
    """What the child said: a result, a refusal of the rules, or where it was stuck."""

    result: dict[str, Any] | None = None
    refused: str | None = None
    stuck: Stuck | None = None
    is_cut: bool = False


def run_rules(
    rules: Sequence[RuleSpec],
    *,
    log: Path | None = None,
    text: str | None = None,
    console: bool | None = None,
    stage_start: str | None = None,
    end_seconds: float | None = None,
    limits: Limits | None = None,
) -> Answer:
    """Return what the rules come to over a log file, or over a text.

    Args:
        rules: As the agent would get them.
        log: A file; exactly one of it and `text` is given.
        text: The log itself.
        console: True for kubectl logs, False for stdout.log, None to look.
        stage_start: Second 0; None means the first stamp.
        end_seconds: How long the observation lasts; None means to the last stamp.
        limits: Deadlines and byte cap.

    Raises:
        UsageError: the log has no time stamps, is empty, or cannot be read.
    """
    limits = limits or Limits()
    request = {
        "rules": [rule._asdict() for rule in rules],
        "log": None if log is None else str(log.resolve()),
        "console": console,
        "stage_start": stage_start,
        "end_seconds": end_seconds,
        "max_bytes": limits.max_bytes,
        "announce_from": None,
    }
    return _answer(request, text, limits)


def _answer(request: dict[str, Any], text: str | None, limits: Limits) -> Answer:
    """Return what a child says to a request; one that fell silent is asked where it is stuck."""
    last = {"line": 1, "offset": 0}
    is_cut = False
    for message in _messages(request, text, limits.silence_seconds, limits.total_seconds):
        match message["kind"]:
            case "at":
                last = message
            case "cut":
                is_cut = True
            case "refused":
                return Answer(refused=message["why"])
            case "untimed":
                raise UsageError(_advice(message["why"]))
            case "died":
                _explain(message["why"])
            case "result":
                return Answer(result=message, is_cut=is_cut)
            case _:
                pass
    return Answer(stuck=_find(request, text, last, limits))


def _find(request: dict[str, Any], text: str | None, last: dict[str, Any], limits: Limits) -> Stuck:
    """Return the line and rule a child was stuck on: announce each match from that block on."""
    tried: dict[str, Any] = {"rule": "?", "field": "logPattern", "line": last["line"]}
    careful = {**request, "announce_from": last["offset"]}
    for message in _messages(careful, text, limits.search_seconds, limits.total_seconds):
        if message["kind"] == "try":
            tried = message
    return Stuck(tried["rule"], tried["field"], tried["line"], limits.silence_seconds)


def _messages(
    request: dict[str, Any], text: str | None, silence: float, total: float
) -> Iterator[dict[str, Any]]:
    """Yield the child's messages; ends early, with the child killed, when a deadline passes."""
    with subprocess.Popen(  # noqa: S603  (fixed arguments: our interpreter, our file)
        [sys.executable, "-I", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        if child.stdin is None or child.stdout is None or child.stderr is None:
            return
        answers: queue.Queue[str | None] = queue.Queue()
        errors: list[bytes] = []
        threads = (
            threading.Thread(target=_write, args=(child.stdin, request, text), daemon=True),
            threading.Thread(target=_read, args=(child.stdout, answers), daemon=True),
            threading.Thread(target=_drain, args=(child.stderr, errors), daemon=True),
        )
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + total
        try:
            while (line := answers.get(timeout=_wait(silence, deadline))) is not None:
                yield json.loads(line)
            threads[2].join()
            yield {"kind": "died", "why": b"".join(errors).decode("utf-8", "replace")}
        except queue.Empty:
            return  # silent past a deadline
        finally:
            child.kill()
            for thread in threads:
                thread.join()


def _wait(silence: float, deadline: float) -> float:
    return max(min(silence, deadline - time.monotonic()), 0.01)


def _explain(error: str) -> None:
    """Raise what the child died of, as something the user can act on where there is such.

    Raises:
        UsageError: the log cannot be read, or memory ran out.
        RuntimeError: anything else, which is a bug.
    """
    last = error.strip().rsplit("\n", 1)[-1][:300]
    if last.startswith(("FileNotFoundError", "PermissionError", "IsADirectoryError", "OSError")):
        raise UsageError(f"the log cannot be read: {last}")
    if last.startswith("MemoryError"):
        raise UsageError("the log or a pattern needs more memory than there is")
    raise RuntimeError(f"the child that runs patterns died: {last}")


def _write(pipe: IO[bytes], request: dict[str, Any], text: str | None) -> None:
    try:
        with pipe:
            pipe.write(json.dumps(request).encode() + b"\n")
            if text is not None:
                pipe.write(text.encode("utf-8", "surrogateescape"))
    except OSError:
        return  # the child ended first; its answer says why


def _read(pipe: IO[bytes], answers: "queue.Queue[str | None]") -> None:
    while line := pipe.readline(_MAX_MESSAGE):
        answers.put(line.decode("utf-8", "replace"))
    answers.put(None)


def _drain(pipe: IO[bytes], errors: list[bytes]) -> None:
    errors.append(pipe.read(1 << 16))
    while pipe.read(1 << 16):
        pass


def _advice(why: str) -> str:
    if why.startswith("stage start"):
        return f"{why}; write it as 2026-03-02T08:00:00Z or as the log writes its stamps"
    return (
        f"the log cannot be timed: {why}; log with a stamp in front of each line "
        "(logging format %(asctime)s), or fetch it with kubectl logs --timestamps"
    )

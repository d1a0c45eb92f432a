"""Runs the patterns of evals in one child process with a deadline; the evals' only process.

A child that does not answer in time is killed; its patterns are then asked one by one, so that the
one that hangs is named and the others are scored.
"""

from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Self

from gpuvet.errors import UsageError
from gpuvet_evals.assertions.patterns import Findings, Request
from gpuvet_evals.pattern_child import Found, serve

DEADLINE_SECONDS = 5.0  # for one batch of answers; an honest pattern needs milliseconds
START_SECONDS = 60.0  # for the child to come up on a busy machine


class PatternGuard:
    """A matcher whose patterns cannot hold the caller up; use it as a context manager."""

    def __init__(self, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._deadline = deadline_seconds
        self._child: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._stuck: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, requests: Sequence[Request]) -> Callable[[], list[Findings]]:
        """Start on requests and return what waits for the findings; one at a time."""
        asked = [Request(self._sane(r.patterns), r.text) for r in requests]
        if not any(r.patterns for r in asked):
            return lambda: [self._merged(r, (), ()) for r in requests]
        pipe = self._sent([(r.patterns, r.text) for r in asked])
        return lambda: self._received(pipe, requests, asked)

    def _sane(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Leave out patterns that hung before."""
        return tuple(p for p in patterns if p not in self._stuck)

    def close(self) -> None:
        """End the child."""
        if self._pipe is not None:
            self._pipe.close()
        if self._child is not None:
            self._child.kill()
            self._child.join()
        self._child = self._pipe = None

    def _received(
        self, pipe: Connection, requests: Sequence[Request], asked: Sequence[Request]
    ) -> list[Findings]:
        answers = _answer(pipe, self._deadline)
        if answers is None:
            self.close()
            answers = [[self._alone(p, r.text) for p in r.patterns] for r in asked]
        pairs = zip(requests, asked, answers, strict=True)
        return [self._merged(request, sent.patterns, found) for request, sent, found in pairs]

    def _alone(self, pattern: str, text: str) -> Found:
        """Ask a single pattern, and remember it where it hangs."""
        if pattern in self._stuck:
            return self._hangs(pattern)
        pipe = self._sent([((pattern,), text)])
        answers = _answer(pipe, self._deadline)
        if answers is not None:
            return answers[0][0]
        self.close()
        self._stuck.add(pattern)
        return self._hangs(pattern)

    def _merged(self, request: Request, sent: Sequence[str], found: Sequence[Found]) -> Findings:
        known = dict(zip(sent, found, strict=True))
        return tuple(known.get(pattern) or self._hangs(pattern) for pattern in request.patterns)

    def _hangs(self, pattern: str) -> Found:
        limit = f"{self._deadline:g} s"
        return Found(0, error=f"pattern {pattern!r} took longer than {limit}; it repeats itself")

    def _sent(self, message: Sequence[tuple[tuple[str, ...], str]]) -> Connection:
        """Send to the child; to a new one where the old one is gone."""
        pipe = self._ready()
        try:
            pipe.send(message)
        except OSError:
            self.close()
            pipe = self._ready()
            pipe.send(message)
        return pipe

    def _ready(self) -> Connection:
        """Return the pipe to a running child that has answered once."""
        if self._pipe is None:
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._child = context.Process(target=serve, args=(theirs,), daemon=True)
            self._child.start()
            theirs.close()
            self._pipe.send([])
            if _answer(self._pipe, START_SECONDS) is None:
                self.close()
                raise UsageError(
                    "the child process for patterns did not start; a script that calls this needs "
                    "the usual `if __name__ == '__main__'`"
                )
        return self._pipe


def _answer(pipe: Connection, seconds: float) -> list[list[Found]] | None:
    """Return what the child says, or None where it is late or gone."""
    try:
        return pipe.recv() if pipe.poll(seconds) else None
    except (EOFError, OSError):
        return None

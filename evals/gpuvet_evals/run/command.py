"""`gpuvet-evals run`: evals played over their worlds, and what came of it."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gpuvet_evals.asking import Asks
from gpuvet_evals.errors import UnreadableEvals
from gpuvet_evals.evals_json import read_evals
from gpuvet_evals.inspection import WITH_SKILL, WITHOUT_SKILL
from gpuvet_evals.json_text import write_whole
from gpuvet_evals.locate import ALLOWED_NAME
from gpuvet_evals.run.agent import Clock, Limits
from gpuvet_evals.run.sides import skill_files
from gpuvet_evals.run.suite import Played, Progress, SuitePlan, play_suite
from gpuvet_evals.run.worlds import WORLDS_NAME, read_worlds
from gpuvet_evals.untrusted import clean


class RunOptions(NamedTuple):
    """What the command was given."""

    evals: Path
    to: Path
    version: str = "v1"
    worlds: Path | None = None  # worlds.json beside the evals by default
    skill: Path | None = None
    sides: tuple[str, ...] = (WITH_SKILL, WITHOUT_SKILL)
    only: tuple[str, ...] = ()
    iterations: int = 1
    limits: Limits = Limits()
    context_window: int | None = None


def present() -> datetime:
    """Return the time of now."""
    return datetime.now(UTC)  # noqa: TID251 (the edge that may read the clock)


def suite_plan(options: RunOptions) -> SuitePlan:
    """Return what is to be played.

    Raises:
        UnreadableEvals: Evals or worlds cannot be understood.
        UnreadableTree: The skill cannot be read.
    """
    try:
        text = options.evals.read_bytes()
    except OSError as error:
        raise UnreadableEvals(f"no evals at {str(options.evals)!r}: {error.strerror}") from error
    worlds = options.worlds or options.evals.parent / WORLDS_NAME
    return SuitePlan(
        evals=read_evals(text),
        evals_text=text,
        evals_folder=options.evals.parent,
        worlds=read_worlds(worlds) if options.worlds or worlds.is_file() else {},
        skill=skill_files(options.skill) if options.skill else None,
        version_folder=options.to / "functional" / options.version,
        sides=options.sides,
        only=options.only,
        iterations=options.iterations,
        limits=options.limits,
        context_window=options.context_window,
    )


def run_suite(
    options: RunOptions,
    *,
    model: str,
    asks: Asks,
    workers: int,
    progress: Progress | None = None,
    clock: Clock = present,
) -> Played:
    """Play what the options ask for; see `play_suite`."""
    allowed = options.evals.parent / ALLOWED_NAME
    if allowed.is_file() and not (options.to / ALLOWED_NAME).is_file():
        write_whole(options.to / ALLOWED_NAME, allowed.read_text(encoding="utf-8"))
    return play_suite(
        suite_plan(options),
        model=model,
        asks=asks,
        clock=clock,
        workers=workers,
        progress=progress,
    )


def played_text(result: Played, *, as_json: bool) -> str:
    """Return how the runs ended, for people or for programs."""
    if as_json:
        shown = {
            "played": [{"run": run, "stop": stop.value} for run, stop in result.played],
            "kept": list(result.kept),
            "failed": [{"run": run, "error": error} for run, error in result.failed],
            "left": list(result.left),
            "stopped": result.stopped,
        }
        return json.dumps(shown, indent=1)
    ends = Counter(stop.value for _, stop in result.played)
    counts = ", ".join(f"{count} {stop}" for stop, count in sorted(ends.items()))
    lines = [f"{len(result.played)} runs played{f': {counts}' if counts else ''}"]
    if result.kept:
        lines.append(f"{len(result.kept)} runs were there")
    lines += [f"failed: {clean(run)}: {clean(error)}" for run, error in result.failed]
    lines += [f"left: {clean(run)}" for run in result.left]
    return "\n".join(lines)

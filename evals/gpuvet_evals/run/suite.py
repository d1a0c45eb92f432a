"""A suite of runs: what is to be played, played a few at a time, and gone on with after a kill.

A run is done when its journal is there. What a killed run had got is beside it and is not paid
again. Settings are kept with the version: runs of different settings are never mixed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gpuvet import __version__
from gpuvet.case import Case, load_case
from gpuvet.model.base import Value
from gpuvet_evals.asking import Asks, Usage, read_usage, usage_json
from gpuvet_evals.errors import BudgetSpent, ModelFailed, UnreadableTree
from gpuvet_evals.evals_json import Eval, EvalSet
from gpuvet_evals.inspection import (
    ALL_SIDES,
    SKILL_SIDES,
    WITH_SERVER,
    WITH_SKILL,
    WITHOUT_SKILL,
    RunIdentity,
)
from gpuvet_evals.journal import mapping
from gpuvet_evals.json_text import write_whole
from gpuvet_evals.locate import JOURNAL_NAME, files_of
from gpuvet_evals.run.agent import Clock, Limits, Stop, Tools, play
from gpuvet_evals.run.plain_tools import DOCS_ACCOUNT, PlainTools, SkillFiles
from gpuvet_evals.run.plain_tools import tool_definitions as plain_definitions
from gpuvet_evals.run.record import journal_text, metadata_text
from gpuvet_evals.run.sides import MAX_OUTPUT, SYSTEM_VERSION, system_prompt
from gpuvet_evals.run.turns import TURNS_NAME, TurnLog
from gpuvet_evals.run.worlds import WorldPlan, write_world
from gpuvet_evals.suite import run_folder

SETTINGS_NAME = "run.json"
METADATA_NAME = "metadata.json"
_NO_WORLD = WorldPlan(case=None)
Progress = Callable[[str, str], None]  # case and how it ended


class Settings(Value):
    """Everything beside world and eval that a journal depends on."""

    model: str
    gpuvet_version: str
    system_version: str
    tools_sha256: str
    worlds_sha256: str
    skill_sha256: str | None
    max_turns: int
    max_run_tokens: int
    max_output: int
    context_window: int | None = None


class SuitePlan(NamedTuple):
    """What is to be played."""

    evals: EvalSet
    evals_text: bytes
    evals_folder: Path  # files of evals lie there
    worlds: dict[str, WorldPlan]
    skill: SkillFiles | None
    version_folder: Path
    sides: tuple[str, ...] = (WITH_SKILL, WITHOUT_SKILL)
    only: tuple[str, ...] = ()
    iterations: int = 1
    limits: Limits = Limits()
    context_window: int | None = None


class Played(NamedTuple):
    """How the runs of a suite ended."""

    played: tuple[tuple[str, Stop], ...]
    kept: tuple[str, ...]  # done before
    failed: tuple[tuple[str, str], ...]  # run and why; they can go on later
    left: tuple[str, ...]  # not begun or not ended: nothing left to spend
    stopped: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every run has its journal."""
        return not self.failed and not self.left


class _Run(NamedTuple):
    eval_: Eval
    identity: RunIdentity
    outputs: Path

    @property
    def journal(self) -> Path:
        return self.outputs / JOURNAL_NAME


def play_suite(
    plan: SuitePlan,
    *,
    model: str,
    asks: Asks,
    clock: Clock,
    workers: int = 1,
    progress: Progress | None = None,
) -> Played:
    """Play every run of a plan that has no journal yet.

    Args:
        plan: What is to be played, and where it is written.
        model: Which model.
        asks: Who answers.
        clock: The edge's clock; a run's times come from it.
        workers: Runs at a time.
        progress: Told as each run ends.

    Raises:
        ModelUnavailable: No model can be asked at all.
        UnreadableTree: The version was begun with other settings, or a side lacks its skill.
    """
    runs = list(_runs(plan))
    _keep_settings(plan, model)
    session = _Session(plan, model, asks, clock, progress)
    waiting = [run for run in runs if not run.journal.is_file()]
    for run in runs:
        if run.journal.is_file():
            (run.outputs / TURNS_NAME).unlink(missing_ok=True)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        ends = list(pool.map(session.end_of, waiting))
    ended = [(run.identity.case, end) for run, end in zip(waiting, ends, strict=True)]
    return Played(
        played=tuple((run, end) for run, end in ended if isinstance(end, Stop)),
        kept=tuple(run.identity.case for run in runs if run not in waiting),
        failed=tuple(sorted(session.failed)),
        left=tuple(run for run, end in ended if end == _Session.LEFT),
        stopped=session.stopped,
    )


def spent_before(version_folder: Path) -> Usage:
    """Return the tokens of all runs of a version so far, finished or not."""
    total = Usage()
    for path in version_folder.glob(f"iteration-*/*/*/outputs/{METADATA_NAME}"):
        total = total.plus(read_usage(mapping(mapping(json.loads(path.read_bytes())).get("usage"))))
    for path in version_folder.glob(f"iteration-*/*/*/outputs/{TURNS_NAME}"):
        if not (path.parent / JOURNAL_NAME).is_file():
            total = total.plus(TurnLog(path).usage)
    return total


class _Session:
    """One go at a suite."""

    LEFT = "left"

    def __init__(
        self, plan: SuitePlan, model: str, asks: Asks, clock: Clock, progress: Progress | None
    ) -> None:
        self._plan, self._model, self._asks = plan, model, asks
        self._clock, self._progress = clock, progress
        self.failed: list[tuple[str, str]] = []
        self.stopped: str | None = None

    def end_of(self, run: _Run) -> Stop | str:
        """Play one run to its end; what cannot go on now is said and left as it is."""
        if self.stopped is not None:
            return self.LEFT
        try:
            stop = self._played(run)
        except BudgetSpent as error:
            self.stopped = str(error)
            return self.LEFT
        except ModelFailed as error:
            self.failed.append((run.identity.case, str(error)))
            return "failed"
        if self._progress is not None:
            self._progress(run.identity.case, stop.value)
        return stop

    def _played(self, run: _Run) -> Stop:
        log = TurnLog(run.outputs / TURNS_NAME)
        started = log.start(self._clock)
        world = self._plan.worlds.get(run.eval_.id, _NO_WORLD)
        with TemporaryDirectory(prefix="gpuvet-world-") as scratch:
            path = write_world(world, Path(scratch) / "world")
            case = load_case(path, now=started) if world.case is not None else None
            files = _files(run.eval_, self._plan.evals_folder, path)
            skill = self._plan.skill if run.identity.run_type in SKILL_SIDES else None
            now = (case.meta.now if case else None) or started
            plain = PlainTools(case=case, files=files, skill=skill, now=now)
            with self._tools(run, plain, path) as tools:
                stop = play(
                    run.eval_,
                    self._model,
                    _system(case, plain, files),
                    asks=self._asks,
                    tools=tools,
                    log=log,
                    limits=self._plan.limits,
                    clock=self._clock,
                )
        self._write(run, log, stop)
        return stop

    def _tools(self, run: _Run, plain: PlainTools, path: Path) -> AbstractContextManager[Tools]:
        if run.identity.run_type != WITH_SERVER:
            return nullcontext(plain)
        from gpuvet_evals.run.server_tools import server_tools  # noqa: PLC0415 - mcp takes a second

        return server_tools(plain, path, plain.now)

    def _write(self, run: _Run, log: TurnLog, stop: Stop) -> None:
        """Write the journal; it comes last but for the log, since it says that the run is done."""
        fields = {
            "model": self._model,
            "run_type": run.identity.run_type,
            "stop": stop.value,
            "turns": len(log.turns),
            "usage": usage_json(log.usage),
        }
        write_whole(run.outputs / METADATA_NAME, metadata_text(fields))
        text = journal_text(
            run.identity.case,
            run.eval_,
            log.turns,
            log.start(self._clock),
            is_final=stop is Stop.ANSWERED,
            context_window=self._plan.context_window,
        )
        write_whole(run.journal, text)
        log.remove()


def _runs(plan: SuitePlan) -> Iterator[_Run]:
    """Yield all runs, one iteration after the other; a negative has the side with the skill only.

    Raises:
        UnreadableTree: An asked eval or side is not there, or a side lacks its skill.
    """
    known = [eval_.id for eval_ in plan.evals.evals]
    if unknown := [name for name in plan.only if name not in known]:
        raise UnreadableTree(f"no eval {unknown[0]!r}; there are {', '.join(known[:10])}")
    if plan.skill is None and SKILL_SIDES & set(plan.sides):
        raise UnreadableTree("a side with the skill needs --skill, the folder of its SKILL.md")
    for iteration in range(1, plan.iterations + 1):
        for eval_ in plan.evals.evals:
            if plan.only and eval_.id not in plan.only:
                continue
            for side in ALL_SIDES:
                if side in plan.sides and (eval_.should_trigger or side == WITH_SKILL):
                    yield _run(plan, eval_, iteration, side)


def _run(plan: SuitePlan, eval_: Eval, iteration: int, side: str) -> _Run:
    identity = RunIdentity(
        case=f"{eval_.id}/iteration-{iteration}/{side}",
        skill_name=plan.evals.skill_name,
        eval_id=eval_.id,
        iteration=iteration,
        run_type=side,
    )
    return _Run(eval_, identity, run_folder(plan.version_folder, identity) / "outputs")


def _keep_settings(plan: SuitePlan, model: str) -> None:
    """Keep settings and definitions with the version, or refuse to mix others in."""
    settings = Settings(
        model=model,
        gpuvet_version=__version__,
        system_version=SYSTEM_VERSION,
        tools_sha256=_sha256(json.dumps(plain_definitions())),
        worlds_sha256=_sha256(json.dumps([_named(*row) for row in sorted(plan.worlds.items())])),
        skill_sha256=_skill_sha256(plan.skill) if plan.skill else None,
        max_turns=plan.limits.turns,
        max_run_tokens=plan.limits.tokens,
        max_output=MAX_OUTPUT,
        context_window=plan.context_window,
    )
    folder = plan.version_folder
    wanted = {
        folder / SETTINGS_NAME: f"{settings.model_dump_json(indent=2)}\n",
        folder / "evals.json": plan.evals_text.decode("utf-8"),
    }
    for path, text in wanted.items():
        if path.is_file() and path.read_bytes() != text.encode("utf-8"):
            raise UnreadableTree(
                f"{folder.name} was begun with another {path.name}; "
                "its runs are not mixed with these: choose a new --version"
            )
    for path, text in wanted.items():
        if not path.is_file():
            write_whole(path, text)


def _named(eval_id: str, world: WorldPlan) -> list[str]:
    """Return what tells a world from others, wherever the checkout lies."""
    return [eval_id, world.case.name if world.case else "", world.without.model_dump_json()]


def _files(eval_: Eval, evals_folder: Path, world: Path) -> dict[str, str]:
    """Return the texts a run may read by name: the eval's own, and those of a folder's world."""
    files = files_of(eval_, evals_folder)
    if world.is_dir():
        for path in sorted(world.iterdir()):
            files.setdefault(path.name, path.read_text(encoding="utf-8", errors="replace"))
    return files


def _system(case: Case | None, plain: PlainTools, files: Sequence[str] | dict[str, str]) -> str:
    meta = case.meta if case else None
    return system_prompt(
        now=plain.now,
        account=(meta.account if meta else None) or DOCS_ACCOUNT,
        region=(meta.region if meta else None) or "us-east-1",
        skill=plain.skill,
        files=list(files),
    )


def _skill_sha256(skill: SkillFiles) -> str:
    return _sha256(json.dumps([skill.body, sorted(skill.resources.items())]))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

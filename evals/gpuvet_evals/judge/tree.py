"""Pairs of a graded tree judged in both orders, and the file that keeps who won."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.answer import AnswerStatus
from gpuvet_evals.errors import UnreadableJournal
from gpuvet_evals.evals_json import Eval, EvalSet
from gpuvet_evals.inspect_command import load_journal
from gpuvet_evals.inspection import WITH_SKILL, WITHOUT_SKILL, open_run
from gpuvet_evals.journal import mapping, mappings
from gpuvet_evals.json_text import write_json
from gpuvet_evals.judge.pairs import (
    TIE,
    CriterionResult,
    PairJudge,
    PairVerdict,
    flip_rate,
    settle,
)
from gpuvet_evals.judge.prompts import CRITERIA, INVESTIGATION_CRITERIA, PairQuestion
from gpuvet_evals.loads import TriggerVerdict
from gpuvet_evals.locate import RunPlace, places_under
from gpuvet_evals.runs import Run
from gpuvet_evals.suite import identify_in, read_results

PAIRS_NAME = "pairwise.json"
FORMAT = "gpuvet-pairwise/1"


class Pair(Value):
    """One iteration of one eval, both sides final."""

    eval_id: str
    iteration: int
    criteria: tuple[CriterionResult, ...]

    @property
    def winner(self) -> str | None:
        """Who wins more criteria; None where one of them was not judged."""
        winners = [result.verdict.winner for result in self.criteria]
        if None in winners:
            return None
        ahead = winners.count(WITH_SKILL) - winners.count(WITHOUT_SKILL)
        return TIE if not ahead else WITH_SKILL if ahead > 0 else WITHOUT_SKILL


def judge_pairs(folder: Path, evals: EvalSet, judge: PairJudge) -> tuple[Pair, ...]:
    """Judge every iteration of a graded version whose two sides have a final answer.

    A pair whose side without the skill loaded it is dropped, as comparisons drop it.
    """
    dropped = {
        (run.eval_id, run.iteration)
        for run in read_results(folder)
        if run.trigger is TriggerVerdict.CONTAMINATED
    }
    answers: dict[tuple[str, int], dict[str, str]] = {}
    for place in places_under(folder):
        if (place.eval_id, place.iteration) in dropped:
            continue
        if (text := _final_answer(place, evals)) is not None:
            key = (place.eval_id or "", place.iteration or 1)
            answers.setdefault(key, {})[place.run_type or WITH_SKILL] = text
    pairs: list[Pair] = []
    for (eval_id, iteration), sides in sorted(answers.items()):
        eval_ = evals.find(eval_id)
        if eval_ is None or not {WITH_SKILL, WITHOUT_SKILL} <= set(sides):
            continue
        results = tuple(
            CriterionResult(criterion=question.criterion, verdict=judge.verdict(question))
            for question in _questions(eval_, sides)
        )
        pairs.append(Pair(eval_id=eval_id, iteration=iteration, criteria=results))
    return tuple(pairs)


def write_pairs(folder: Path, pairs: Sequence[Pair]) -> Path:
    """Write the pairs of a version beside its benchmark."""
    path = folder / PAIRS_NAME
    write_json(path, {"format": FORMAT, **pairs_json(pairs)})
    return path


def read_pairs(folder: Path) -> tuple[Pair, ...]:
    """Return the pairs kept with a version; none where nothing was judged."""
    path = folder / PAIRS_NAME
    if not path.is_file():
        return ()
    rows = mappings(mapping(json.loads(path.read_bytes())).get("pairs"))
    return tuple(
        Pair(
            eval_id=str(row.get("eval_id")),
            iteration=int(row.get("iteration") or 1),
            criteria=tuple(_kept(entry) for entry in mappings(row.get("criteria"))),
        )
        for row in rows
    )


def pairs_json(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return counts, the share of flips, and each pair."""
    verdicts = [result.verdict for pair in pairs for result in pair.criteria]
    counts = Counter(pair.winner or "not judged" for pair in pairs)
    return {
        "wins": dict(sorted(counts.items())),
        "flip_rate": flip_rate(verdicts),
        "flips": sum(verdict.flipped is True for verdict in verdicts),
        "judged": sum(verdict.flipped is not None for verdict in verdicts),
        "pairs": [
            {
                "eval_id": pair.eval_id,
                "iteration": pair.iteration,
                "winner": pair.winner,
                "criteria": [
                    {"criterion": r.criterion, **r.verdict.model_dump()} for r in pair.criteria
                ],
            }
            for pair in pairs
        ],
    }


def pairs_text(pairs: Sequence[Pair]) -> str:
    """Return the pairs in one line."""
    shown = pairs_json(pairs)
    wins = ", ".join(f"{count} {who}" for who, count in shown["wins"].items()) or "none"
    rate = shown["flip_rate"]
    flips = "" if rate is None else f"; {shown['flips']} of {shown['judged']} judgements flipped"
    return f"pairs: {wins}{flips}"


def labelled_verdicts(runs: Sequence[Run]) -> dict[tuple[str, int, str, str], bool | None]:
    """Return what a judge said of each assertion of runs on disk, by their key of labels."""
    found: dict[tuple[str, int, str, str], bool | None] = {}
    for run in runs:
        key = (run.eval_id, run.iteration, run.side)
        for assertion in run.assertions or ():
            found[*key, assertion.text] = assertion.passed
        passed = {"passed": True, "failed": False}.get(run.expected_output or "")
        found[*key, "expected_output"] = passed
    return found


def _final_answer(place: RunPlace, evals: EvalSet) -> str | None:
    identity = identify_in(place, evals)
    eval_ = evals.find(identity.eval_id) if identity.eval_id else None
    if eval_ is None or not eval_.should_trigger:
        return None
    try:
        run = open_run(load_journal(place), identity, eval_)
    except UnreadableJournal:
        return None
    return run.answer.text if run.answer.status is AnswerStatus.FINAL else None


def _questions(eval_: Eval, sides: Mapping[str, str]) -> Iterator[PairQuestion]:
    criteria = INVESTIGATION_CRITERIA if eval_.task_type == "investigation" else CRITERIA
    for criterion, wording in criteria.items():
        yield PairQuestion(
            prompt=eval_.prompt,
            with_skill=sides[WITH_SKILL],
            without_skill=sides[WITHOUT_SKILL],
            reference=eval_.expected,
            criterion=criterion,
            wording=wording,
        )


def _kept(entry: Mapping[str, Any]) -> CriterionResult:
    slots = [entry.get(name) for name in ("order_ab", "order_ba")]
    first, second = (slot if isinstance(slot, str) else None for slot in slots)
    status = entry.get("status")
    verdict = settle(first, second)
    if status == "unjudged":
        verdict = PairVerdict(winner=None, flipped=None, status="unjudged")
    return CriterionResult(criterion=str(entry.get("criterion")), verdict=verdict)

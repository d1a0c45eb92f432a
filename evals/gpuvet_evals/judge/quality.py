"""Judged pairs as the quality comparison of the published benchmark. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuvet_evals.inspection import WITH_SKILL, WITHOUT_SKILL
from gpuvet_evals.judge.pairs import TIE
from gpuvet_evals.judge.tree import Pair

NOT_PAIRED = "no final answer on both sides, or not judged"


def judged_quality(iterations: Sequence[int], pairs: Mapping[int, Pair]) -> dict[str, Any]:
    """Return who wins, in the published form; each pair was judged in both orders."""
    judged = {i: pair for i, pair in pairs.items() if pair.winner is not None}
    criteria = dict.fromkeys(r.criterion for pair in judged.values() for r in pair.criteria)
    overall = _wins([pair.winner for pair in judged.values()])
    return {
        "pairs_evaluated": len(judged),
        "pairs_skipped": len(iterations) - len(judged),
        "skip_reasons": [NOT_PAIRED] if len(judged) < len(iterations) else [],
        "overall": {**overall, "winner": _leader(overall), "summary": _paired_in_words(overall)},
        "per_criterion": {
            name: _wins(
                r.verdict.winner
                for pair in judged.values()
                for r in pair.criteria
                if r.criterion == name
            )
            for name in criteria
        },
        "iterations": [
            _pair_json(judged[i])
            if i in judged
            else {"iteration": i, "skipped": True, "skip_reason": NOT_PAIRED}
            for i in iterations
        ],
    }


def _wins(winners: Iterable[str | None]) -> dict[str, int]:
    counts = Counter(winners)
    return {
        "with_skill_wins": counts[WITH_SKILL],
        "without_skill_wins": counts[WITHOUT_SKILL],
        "equivalent": counts[TIE],
    }


def _leader(wins: Mapping[str, int]) -> str:
    ahead = wins["with_skill_wins"] - wins["without_skill_wins"]
    return "equivalent" if not ahead else WITH_SKILL if ahead > 0 else WITHOUT_SKILL


def _paired_in_words(wins: Mapping[str, int]) -> str:
    return (
        f"with_skill wins {wins['with_skill_wins']}, without_skill {wins['without_skill_wins']}, "
        f"{wins['equivalent']} equivalent; each pair judged in both orders"
    )


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        "iteration": pair.iteration,
        "overall_winner": "equivalent" if pair.winner == TIE else pair.winner,
        "position_assignment": "both orders",
        "criteria": [
            {
                "criterion": r.criterion,
                "winner": "equivalent" if r.verdict.winner == TIE else r.verdict.winner,
                "flipped": r.verdict.flipped,
            }
            for r in pair.criteria
        ],
    }

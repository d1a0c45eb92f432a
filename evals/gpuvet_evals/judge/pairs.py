"""Two answers compared in both orders: a winner must win from either place.

A judge that prefers a place flips when the answers change places. A flip is a tie, and the share
of flips says how far the judge can be trusted with pairs at all.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.asking import Asks
from gpuvet_evals.errors import BudgetSpent, ModelFailed
from gpuvet_evals.inspection import WITH_SKILL, WITHOUT_SKILL
from gpuvet_evals.journal import mapping
from gpuvet_evals.judge.cache import JudgementCache, key_of
from gpuvet_evals.judge.prompts import PROMPT_VERSION, PairQuestion, pair_request

TIE = "tie"
SLOTS = ("A", "B", TIE)
JUDGE_ERROR = "judge_error"
UNJUDGED = "unjudged"
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class PairVerdict(Value):
    """Who wins a pair; winner and flipped are None where an order was not judged."""

    winner: str | None  # with_skill, without_skill or tie
    flipped: bool | None
    status: str = "judged"  # or judge_error, unjudged
    order_ab: str | None = None  # the slot chosen with with_skill in slot A
    order_ba: str | None = None  # and in slot B


class CriterionResult(Value):
    """One criterion of one pair."""

    criterion: str
    verdict: PairVerdict


def settle(order_ab: str | None, order_ba: str | None) -> PairVerdict:
    """Return who wins.

    Args:
        order_ab: The slot chosen (A, B or tie) while with_skill sat in A; None: no usable reply.
        order_ba: The same while with_skill sat in B.
    """
    if order_ab not in SLOTS or order_ba not in SLOTS:
        return PairVerdict(
            winner=None,
            flipped=None,
            status=JUDGE_ERROR,
            order_ab=order_ab,
            order_ba=order_ba,
        )
    first = {"A": WITH_SKILL, "B": WITHOUT_SKILL}.get(order_ab, TIE)
    second = {"A": WITHOUT_SKILL, "B": WITH_SKILL}.get(order_ba, TIE)
    return PairVerdict(
        winner=first if first == second else TIE,
        flipped={first, second} == {WITH_SKILL, WITHOUT_SKILL},
        order_ab=order_ab,
        order_ba=order_ba,
    )


def flip_rate(verdicts: Sequence[PairVerdict]) -> float | None:
    """Return the share of judged pairs that flipped; None where none was judged."""
    judged = [verdict.flipped for verdict in verdicts if verdict.flipped is not None]
    return sum(judged) / len(judged) if judged else None


def read_slot(raw: str) -> str | None:
    """Return the slot a raw reply chooses, or None where it chooses none."""
    match = _OBJECT.search(raw)
    try:
        winner = mapping(json.loads(match[0] if match else "")).get("winner")
    except (ValueError, RecursionError):
        return None
    word = winner.strip() if isinstance(winner, str) else ""
    named = {"a": "A", "b": "B", "tie": TIE, "equivalent": TIE}
    return named.get(word.lower())


class PairJudge:
    """Judges pairs, cached like everything a model says."""

    def __init__(
        self, cache: JudgementCache, *, model: str | None = None, asks: Asks | None = None
    ) -> None:
        kept = cache.settings.get("model")
        self._model = model or (kept if isinstance(kept, str) else None)
        self._cache, self._asks = cache, asks

    def verdict(self, question: PairQuestion) -> PairVerdict:
        """Return who wins by the question's criterion."""
        if self._model is None:
            return PairVerdict(winner=None, flipped=None, status=UNJUDGED)
        slots = [self._slot(question, self._model, first=first) for first in (True, False)]
        self._cache.save()
        if None in slots:
            return PairVerdict(winner=None, flipped=None, status=UNJUDGED)
        return settle(*(slot or None for slot in slots))

    def _slot(self, question: PairQuestion, model: str, *, first: bool) -> str | None:
        """Return the slot chosen in one order; empty for an unusable reply, None for none."""
        request = pair_request(question, model, with_skill_first=first)
        key = key_of(request, version=PROMPT_VERSION, kind="pair")
        if (kept := self._cache.get(key)) is not None:
            return str(kept.get("slot"))
        if self._asks is None:
            return None
        try:
            slot = read_slot(self._asks.ask(request).text) or ""
        except BudgetSpent:
            return None
        except ModelFailed:
            return ""
        self._cache.put(key, _entry(question, model, slot, first=first))
        return slot


def _entry(question: PairQuestion, model: str, slot: str, *, first: bool) -> Mapping[str, Any]:
    return {
        "kind": "pair",
        "model": model,
        "prompt_version": PROMPT_VERSION,
        "criterion": question.criterion,
        "order": "ab" if first else "ba",
        "slot": slot,
    }

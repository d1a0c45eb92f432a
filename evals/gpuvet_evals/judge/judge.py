"""Judged assertions: cached or live votes, asked again where unusable, and their majority.

Without a model only the cache answers, and what it lacks is `unjudged`. Nothing is guessed.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet_evals.asking import Asks
from gpuvet_evals.errors import BudgetSpent, ModelFailed
from gpuvet_evals.judge.cache import JudgementCache, key_of
from gpuvet_evals.judge.prompts import MAX_ANSWER, PROMPT_VERSION, Question, judge_request
from gpuvet_evals.judge.reply import CONFIDENCES, Judgement, Outcome, read_judgement

ATTEMPTS = 3  # at a usable reply, for each vote
WORKERS = 4


class Decision(StrEnum):
    """What the votes amount to."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    SPLIT = "split"  # no majority
    JUDGE_ERROR = "judge_error"  # no usable reply
    UNJUDGED = "unjudged"  # not asked: no model, or nothing left to spend


class Verdict(Value):
    """The decision on one question, with a vote that stands for it."""

    decision: Decision
    confidence: str | None = None
    evidence: str = ""
    reasoning: str = ""
    votes: tuple[tuple[str, int], ...] = ()  # outcome and how many
    flags: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """True or False where the votes decide, else None."""
        return {Decision.PASS: True, Decision.FAIL: False}.get(self.decision)


UNJUDGED = Verdict(decision=Decision.UNJUDGED)


class Judge:
    """Decides questions by votes; the same cache gives the same verdicts without a model."""

    def __init__(
        self,
        cache: JudgementCache,
        *,
        model: str | None = None,
        votes: int | None = None,
        asks: Asks | None = None,
        workers: int = WORKERS,
    ) -> None:
        """Set up.

        Args:
            cache: Kept judgements; also names model and votes where they are not given.
            model: Which model judges.
            votes: Replies a question; an odd number has a majority more often.
            asks: The live side; None: only what is kept.
            workers: Questions at a time.
        """
        settings = cache.settings
        kept_model, kept_votes = settings.get("model"), settings.get("votes")
        self.model = model or (kept_model if isinstance(kept_model, str) else None)
        self.votes = votes or (kept_votes if isinstance(kept_votes, int) else 1)
        self.stopped: str | None = None  # why nothing more was asked
        self.cache, self._asks, self._workers = cache, asks, workers
        if asks is not None:
            cache.settings = {
                "model": self.model,
                "votes": self.votes,
                "prompt_version": PROMPT_VERSION,
            }

    def verdicts(self, questions: Sequence[Question]) -> list[Verdict]:
        """Return a verdict each, in order; what was asked is on disk when this returns."""
        try:
            if self._asks is None or len(questions) < 2:
                return [self._verdict(question) for question in questions]
            with ThreadPoolExecutor(max_workers=self._workers) as pool:
                return list(pool.map(self._verdict, questions))
        finally:
            self.cache.save()

    def _verdict(self, question: Question) -> Verdict:
        if self.model is None or len(question.answer) > MAX_ANSWER:
            return UNJUDGED
        votes = [self._vote(question, self.model, vote) for vote in range(self.votes)]
        return decide(votes)

    def _vote(self, question: Question, model: str, vote: int) -> Judgement | None:
        """Return one vote; None where it is not kept and nothing can be asked."""
        judgement, again = None, ""
        for attempt in range(ATTEMPTS):
            judgement = self._reply(question, model, vote, attempt, again)
            if judgement is None or judgement.verdict.is_usable:
                return judgement
            again = ", ".join(judgement.flags).replace("_", " ") or "no verdict"
        return judgement

    def _reply(
        self, question: Question, model: str, vote: int, attempt: int, again: str
    ) -> Judgement | None:
        request = judge_request(question, model, again=again)
        key = key_of(request, version=PROMPT_VERSION, vote=vote, attempt=attempt)
        if (kept := self.cache.get(key)) is not None:
            return Judgement.model_validate_json(str(kept.get("judgement")))
        if self._asks is None or self.stopped is not None:
            return None
        try:
            reply = self._asks.ask(request)
        except BudgetSpent as spent:
            self.stopped = str(spent)
            return None
        except ModelFailed:
            return Judgement(verdict=Outcome.JUDGE_ERROR, flags=("request_failed",))
        judgement = read_judgement(reply.text, question.answer)
        self.cache.put(
            key,
            {
                "kind": "expected_output" if question.is_expected_output else "assertion",
                "model": model,
                "prompt_version": PROMPT_VERSION,
                "answer_sha256": hashlib.sha256(question.answer.encode()).hexdigest(),
                "assertion": question.assertion[:500],
                "vote": vote,
                "attempt": attempt,
                "judgement": judgement.model_dump_json(),
            },
        )
        return judgement


def decide(votes: Sequence[Judgement | None]) -> Verdict:
    """Return the majority of the votes; None is a vote nobody could give.

    A verdict needs more than half of all votes, so that missing ones cannot turn it.
    """
    given = [vote for vote in votes if vote is not None]
    usable = Counter(vote.verdict for vote in given if vote.verdict.is_usable)
    counts = tuple(sorted(Counter(vote.verdict.value for vote in given).items()))
    flags = tuple(sorted({flag for vote in given for flag in vote.flags}))
    best = max(usable, key=lambda outcome: usable[outcome], default=None)
    if best is None or 2 * usable[best] <= len(votes):
        return Verdict(decision=_undecided(votes, usable), votes=counts, flags=flags)
    winners = [vote for vote in given if vote.verdict is best]
    shown = max(winners, key=lambda vote: bool(vote.evidence))
    return Verdict(
        decision=Decision(best.value),
        confidence=_confidence(winners, unanimous=len(winners) == len(votes)),
        evidence=shown.evidence,
        reasoning=shown.reasoning,
        votes=counts,
        flags=flags,
    )


def _undecided(votes: Sequence[Judgement | None], usable: Counter[Outcome]) -> Decision:
    if None in votes:
        return Decision.UNJUDGED
    return Decision.SPLIT if usable else Decision.JUDGE_ERROR


def _confidence(winners: Sequence[Judgement], *, unanimous: bool) -> str | None:
    """Return the lowest confidence of the winning votes; low where others disagree."""
    if not unanimous:
        return "low"
    said = [vote.confidence for vote in winners if vote.confidence is not None]
    return max(said, key=CONFIDENCES.index, default=None)

"""How free text is judged: from what is kept beside the results, or by a model as well."""

from pathlib import Path
from typing import NamedTuple

from gpuvet_evals.asking import Asks
from gpuvet_evals.judge.cache import CACHE_NAME, JudgementCache
from gpuvet_evals.judge.judge import WORKERS, Judge


class Judging(NamedTuple):
    """What a command was told of judging; by default only what is kept counts."""

    model: str | None = None
    votes: int | None = None
    asks: Asks | None = None
    workers: int = WORKERS
    pairwise: bool = False
    labels: Path | None = None


FROM_CACHE = Judging()


def open_judge(folder: Path, judging: Judging) -> Judge:
    """Return a judge whose judgements are kept in a folder.

    Raises:
        UnreadableEvals: What is kept there is no cache.
    """
    return Judge(
        JudgementCache(folder / CACHE_NAME),
        model=judging.model,
        votes=judging.votes,
        asks=judging.asks,
        workers=judging.workers,
    )

"""Precision and recall of each rule of the answer lint, printed by `make answer-scores`."""

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from answer_cases import OwnReport, case_paths, own_reports
from answer_mutations import COLLATERAL, MUTATIONS, Mutation

from gpuvet.checks.answer import ANSWER_RULES
from gpuvet.modes.answer import Held, check_answer, hold

SEED = 20261130


class Outcome(NamedTuple):
    """One draft: what had to be found, what else may be, and what was."""

    draft: str
    wanted: frozenset[str]  # any one of them suffices
    allowed: frozenset[str]
    found: frozenset[str]

    @property
    def is_caught(self) -> bool:
        """Say whether a rule saw it."""
        return not self.wanted or bool(self.wanted & self.found)

    @property
    def extra(self) -> frozenset[str]:
        """Rules that spoke without cause."""
        return self.found - self.wanted - self.allowed


class Score(NamedTuple):
    """Counts of one rule."""

    right: int
    missed: int
    extra: int

    @property
    def precision(self) -> float:
        """Right, of all that it found."""
        return self.right / (self.right + self.extra) if self.right + self.extra else 1.0

    @property
    def recall(self) -> float:
        """Right, of all that it had to find."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


def score(outcomes: Sequence[Outcome]) -> dict[str, Score]:
    """Return the score of each rule that was wanted or spoke."""
    right, missed, extra = Counter[str](), Counter[str](), Counter[str]()
    for outcome in outcomes:
        extra.update(outcome.extra)
        for code in sorted(outcome.wanted):
            if code in outcome.found:
                right[code] += 1
            elif not outcome.is_caught and code == min(outcome.wanted):
                missed[code] += 1
    codes = sorted({*right, *missed, *extra})
    return {code: Score(right[code], missed[code], extra[code]) for code in codes}


def own_outcomes(paths: Sequence[Path]) -> Iterator[Outcome]:
    """Yield gpuvet's own reports, short and whole: nothing may be found."""
    for path in paths:
        for own in own_reports(path):
            held = hold(own.evidence)
            for size in ("short", "markdown"):
                yield _outcome(f"{own.id} {size}", own.report[size], held)


def mutated_outcomes(
    paths: Sequence[Path], mutations: Sequence[Mutation] = MUTATIONS
) -> Iterator[tuple[str, Outcome]]:
    """Yield the short reports, each spoiled in every way that it gives occasion for."""
    for path in paths:
        for own in own_reports(path):
            held = hold(own.evidence)
            for mutation in mutations:
                draft = spoiled(own, mutation)
                if draft is not None:
                    name = f"{own.id} {mutation.name}"
                    allowed = frozenset(COLLATERAL.get(mutation.name, ()))
                    yield mutation.name, _outcome(name, draft, held, mutation.rules, allowed)


def spoiled(own: OwnReport, mutation: Mutation) -> str | None:
    """Return a short report spoiled, or None where it gives no occasion."""
    rng = random.Random(  # noqa: S311 (the same draft every time, nothing secret)
        f"{SEED} {own.id} {mutation.name}"
    )
    text = str(own.report["short"])
    draft = mutation.spoil(text, own.report, rng)
    return None if draft == text else draft


def _outcome(
    name: str,
    draft: str,
    held: Held,
    wanted: frozenset[str] = frozenset(),
    allowed: frozenset[str] = frozenset(),
) -> Outcome:
    found = frozenset(f.code for f in check_answer(draft, held).findings)
    return Outcome(name, wanted, allowed, found)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return precision and recall per rule, and over all."""
    names = {rule.code: rule.name for rule in ANSWER_RULES}
    rows = [f"{'rule':36} {'right':>6} {'missed':>6} {'extra':>6} {'precision':>9} {'recall':>7}"]
    scores = score(outcomes)
    for code, each in scores.items():
        rows.append(
            f"{code} {names[code]:29} {each.right:6} {each.missed:6} {each.extra:6} "
            f"{each.precision:9.2f} {each.recall:7.2f}"
        )
    right, extra = sum(s.right for s in scores.values()), sum(s.extra for s in scores.values())
    missed = sum(s.missed for s in scores.values())
    whole = Score(right, missed, extra)
    rows.append(
        f"{'all':36} {right:6} {missed:6} {extra:6} {whole.precision:9.2f} {whole.recall:7.2f}"
    )
    return "\n".join(rows)


def report(*, verbose: bool) -> Iterator[str]:
    """Yield the tables line by line; verbose, also every draft that went wrong."""
    paths = case_paths()
    own = list(own_outcomes(paths))
    yield f"own reports: {len(own)} drafts, {sum(bool(o.found) for o in own)} with findings"
    yield from (f"  {o.draft} {sorted(o.found)}" for o in own if o.found)
    mutated = list(mutated_outcomes(paths))
    kinds = Counter(name for name, _ in mutated)
    yield f"mutations: {len(kinds)} kinds, {len(mutated)} drafts"
    yield table([outcome for _, outcome in mutated])
    for name, count in kinds.items():
        caught = sum(o.is_caught for n, o in mutated if n == name)
        yield f"  {name:24} caught {caught:4} of {count}"
    if verbose:
        for _, outcome in mutated:
            if not outcome.is_caught or outcome.extra:
                yield f"{outcome.draft}: wanted {sorted(outcome.wanted)}, {sorted(outcome.found)}"


if __name__ == "__main__":
    for line in report(verbose="-v" in sys.argv):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

"""How far a judge agrees with people: Cohen's kappa over labelled assertions. Pure.

Cohen 1960: agreement beyond the chance that the two raters' own rates give. Standard error after
Fleiss, Cohen and Everitt 1969, simple form: sqrt(po (1 - po) / (n (1 - pe)^2)).
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpuvet.model.base import Value
from gpuvet_evals.errors import UnreadableEvals
from gpuvet_evals.inspection import WITH_SKILL
from gpuvet_evals.journal import mapping, mappings

_Z_95 = 1.959964  # of the normal distribution
EXPECTED_OUTPUT = "expected_output"
LabelKey = tuple[str, int, str, str]  # eval, iteration, side, assertion's text


class Agreement(Value):
    """Judge against people over the same assertions."""

    pairs: int
    agree: int
    both_pass: int
    both_fail: int
    judge_only: int  # the judge passes what people fail
    people_only: int
    undecided: int  # labelled, and the judge gave no verdict
    kappa: float | None  # None where both say the same everywhere, or nothing is labelled
    low: float | None  # 95 %
    high: float | None


def agreement(
    labels: Mapping[LabelKey, bool], verdicts: Mapping[LabelKey, bool | None]
) -> Agreement:
    """Return how far verdicts agree with labels; what has no verdict is counted apart."""
    pairs = [(verdicts.get(key), label) for key, label in labels.items()]
    decided = [(judge, label) for judge, label in pairs if judge is not None]
    both_pass = sum(judge and label for judge, label in decided)
    both_fail = sum(not judge and not label for judge, label in decided)
    judge_only = sum(judge and not label for judge, label in decided)
    people_only = sum(not judge and label for judge, label in decided)
    kappa, low, high = _kappa(both_pass, both_fail, judge_only, people_only)
    return Agreement(
        pairs=len(decided),
        agree=both_pass + both_fail,
        both_pass=both_pass,
        both_fail=both_fail,
        judge_only=judge_only,
        people_only=people_only,
        undecided=len(pairs) - len(decided),
        kappa=kappa,
        low=low,
        high=high,
    )


def agreement_text(result: Agreement) -> str:
    """Return the agreement in one line."""
    if not result.pairs:
        return f"agreement: no labelled assertion was judged ({result.undecided} are undecided)"
    shown = "kappa is not defined: one of the two says the same everywhere"
    if result.kappa is not None and result.low is not None and result.high is not None:
        shown = f"kappa {result.kappa:.2f} (95 % {result.low:.2f} to {result.high:.2f})"
    return (
        f"agreement: {result.agree} of {result.pairs} labelled assertions, {shown}; "
        f"judge passes {result.judge_only} that people fail, fails {result.people_only} that "
        f"people pass; {result.undecided} undecided"
    )


def read_labels(path: Path) -> dict[LabelKey, bool]:
    """Read labels: a list of {eval_id, iteration, run_type, assertion, label}, or cases.

    A folder of cases is read for the `human_label`s of its expected.json files. The assertion
    `expected_output` stands for the eval's expected output.

    Raises:
        UnreadableEvals: There are none.
    """
    labels: dict[LabelKey, bool] = {}
    files = sorted(path.glob("*/expected.json")) if path.is_dir() else [path]
    for file in files:
        try:
            value: object = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableEvals(f"no labels at {str(file)!r}: {error}") from error
        labels.update(_labels(value))
    if not labels:
        raise UnreadableEvals(f"no labels at {str(path)!r}; give a list with true or false each")
    return labels


def _labels(value: object) -> Iterator[tuple[LabelKey, bool]]:
    rows: Sequence[Mapping[str, object]] = mappings(value)
    for row in rows:
        if isinstance(label := row.get("label"), bool):
            yield _key(row, str(row.get("assertion"))), label
    case = mapping(value)
    for row in mappings(case.get("assertions")):
        if isinstance(label := row.get("human_label"), bool):
            yield _key(case, str(row.get("text"))), label
    if isinstance(label := case.get("expected_output_human"), bool):
        yield _key(case, EXPECTED_OUTPUT), label


def _key(row: Mapping[str, object], assertion: str) -> LabelKey:
    iteration = row.get("iteration")
    return (
        str(row.get("eval_id")),
        iteration if isinstance(iteration, int) else 1,
        str(row.get("run_type") or WITH_SKILL),
        assertion,
    )


def _kappa(
    both_pass: int, both_fail: int, judge_only: int, people_only: int
) -> tuple[float | None, float | None, float | None]:
    count = both_pass + both_fail + judge_only + people_only
    if not count:
        return None, None, None
    judge, people = (both_pass + judge_only) / count, (both_pass + people_only) / count
    by_chance = judge * people + (1 - judge) * (1 - people)
    if by_chance >= 1:
        return None, None, None
    observed = (both_pass + both_fail) / count
    kappa = (observed - by_chance) / (1 - by_chance)
    error = math.sqrt(observed * (1 - observed) / (count * (1 - by_chance) ** 2))
    return kappa, max(kappa - _Z_95 * error, -1.0), min(kappa + _Z_95 * error, 1.0)

"""The blind drafts: written and labelled by somebody who had not read the rules, never tuned on.

`PYTHONPATH=server:evals:tests python -m answer_blind` prints what the lint makes of them.
"""

import json
import sys
from collections.abc import Iterator

from answer_cases import CASES, whole_evidence
from answer_scores import Outcome, Score

from gpuvet.checks.answer import ANSWER_RULES
from gpuvet.modes.answer import check_answer

BLIND = CASES / "answers" / "blind"
# Which rules a label's kind stands for; fixed before the first run.
KINDS = {
    "untraceable_id": {"ANS101", "ANS102"},
    "untraceable_number": {"ANS201", "ANS202", "ANS204", "ANS403"},
    "percent_rescaled": {"ANS203"},
    "wrong_source_name": {"ANS301", "ANS302", "ANS303"},
    "absence_without_hours": {"ANS401", "ANS402"},
    "headline_against_verdicts": {"ANS502", "ANS503", "ANS504", "ANS506", "ANS507"},
    "no_verdict": {"ANS501"},
    "label": {"ANS601", "ANS602", "ANS603", "ANS604"},
    "raw_account_id": {"ANS703"},
    "asked_back": {"ANS702"},
    "proposed_as_done": {"ANS701"},
}
OTHER = "other"  # rules that no kind stands for


def outcomes() -> Iterator[Outcome]:
    """Yield each draft with the kinds it is labelled with and those that were found."""
    for row in json.loads((BLIND / "labels.json").read_text(encoding="utf-8")):
        path = CASES / str(row["case"]).removesuffix("/inputs")
        draft = (BLIND / str(row["draft"])).read_text(encoding="utf-8")
        found = check_answer(draft, whole_evidence(path)).findings
        kinds = {kind_of(f.code) for f in found}
        yield Outcome(str(row["draft"]), frozenset(row["kinds"]), frozenset(), frozenset(kinds))


def kind_of(code: str) -> str:
    """Return the kind of label that a rule answers to."""
    return next((kind for kind, codes in KINDS.items() if code in codes), OTHER)


def scores() -> dict[str, Score]:
    """Return right, missed and extra per kind, each draft once a kind."""
    rows = list(outcomes())
    return {
        kind: Score(
            right=sum(kind in o.wanted and kind in o.found for o in rows),
            missed=sum(kind in o.wanted and kind not in o.found for o in rows),
            extra=sum(kind not in o.wanted and kind in o.found for o in rows),
        )
        for kind in (*KINDS, OTHER)
    }


def report() -> Iterator[str]:
    """Yield the table, and every draft that was read otherwise than labelled."""
    found = scores()
    yield f"{len(ANSWER_RULES)} rules, {len(list(BLIND.glob('*.md')))} drafts"
    total = Score(*(sum(column) for column in zip(*found.values(), strict=True)))
    for kind, each in (*found.items(), ("all", total)):
        yield (
            f"{kind:28} {each.right:4} {each.missed:4} {each.extra:4} "
            f"{each.precision:6.2f} {each.recall:6.2f}"
        )
    for one in outcomes():
        if one.found != one.wanted:
            yield f"{one.draft}: labelled {sorted(one.wanted)}, found {sorted(one.found)}"


if __name__ == "__main__":
    for line in report():
        sys.stdout.write(f"{line}\n")

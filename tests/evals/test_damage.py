"""Damaged journals: whatever is missing, swapped or of the wrong type, a run is still inspected."""

import contextlib
import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet_evals.errors import UnreadableJournal
from gpuvet_evals.evals_json import read_evals
from gpuvet_evals.grade import run_results
from gpuvet_evals.inspection import RunIdentity, inspect_journal, inspection_json
from gpuvet_evals.journal import read_journal
from gpuvet_evals.json_text import json_text

JOURNALS = Path(__file__).parent.parent / "cases" / "journals"
CASES = sorted(path.parent.name for path in JOURNALS.glob("*/journal_records.json"))
EVALS = read_evals((JOURNALS / "evals.json").read_bytes())
_ODD: list[object] = json.loads(
    '[null, true, 7, -1.5, "", "x", [], {}, [1], {"a": 1}, [[]], [{"text": 3}]]'
)
ODD = st.sampled_from(_ODD)


def damage(value: object, data: st.DataObject, depth: int = 0) -> object:
    """Return JSON with some part left out, doubled or put to something odd."""
    if depth > 6 or data.draw(st.integers(0, 9)) == 0:
        return data.draw(ODD)
    if isinstance(value, dict) and value:
        fields = dict(cast("dict[str, object]", value))
        key = data.draw(st.sampled_from(sorted(fields)))
        if data.draw(st.booleans()):
            del fields[key]
        else:
            fields[key] = damage(fields[key], data, depth + 1)
        return fields
    if isinstance(value, list) and value:
        items = list(cast("list[object]", value))
        at = data.draw(st.integers(0, len(items) - 1))
        items[at] = damage(items[at], data, depth + 1)
        return items
    return data.draw(ODD)


def inspected(text: str, side: str) -> None:
    identity = RunIdentity(
        case="c", skill_name=EVALS.skill_name, eval_id="e", iteration=1, run_type=side
    )
    for eval_ in (None, *EVALS.evals):
        run = inspect_journal(read_journal(text), identity, eval_)
        json.dumps(inspection_json(run))
        json_text(run_results(run, "v1"))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_damage_to_a_record_leaves_a_run(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    records: list[dict[str, Any]] = json.loads(
        (JOURNALS / case / "journal_records.json").read_text(encoding="utf-8")
    )
    at = data.draw(st.integers(0, len(records) - 1))
    try:
        body = damage(json.loads(records[at]["content"]), data)
    except ValueError:
        body = "raw"
    records[at]["content"] = data.draw(st.sampled_from([json.dumps(body), body]))
    damaged = [damage(records[at], data) if i == at else r for i, r in enumerate(records)]

    inspected(json.dumps(damaged), data.draw(st.sampled_from(["with_skill", "without_skill"])))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_a_journal_or_is_refused(text: str) -> None:
    with contextlib.suppress(UnreadableJournal):
        read_journal(text)


@pytest.mark.parametrize("case", CASES)
def test_a_record_written_twice_changes_no_verdict(case: str) -> None:
    text = (JOURNALS / case / "journal_records.json").read_text(encoding="utf-8")
    records = json.loads(text)
    doubled = json.dumps([record for record in records for _ in range(2)])
    identity = RunIdentity(
        case=case, skill_name=EVALS.skill_name, eval_id=None, iteration=1, run_type="with_skill"
    )

    once, twice = (
        inspect_journal(read_journal(t), identity, None, full=False) for t in (text, doubled)
    )

    assert (once.answer, once.trigger, once.read_only) == (
        twice.answer,
        twice.trigger,
        twice.read_only,
    )
    assert once.grounding == twice.grounding

"""The policy to ask for: exactly the reads, within IAM's size, for every mode."""

import json

import pytest

from gpuvet.aws.iam_policy import MOST_POLICY_CHARACTERS, PolicyMode, policy_text, reads_of
from gpuvet.aws.reads import OTHER_READS, READS
from gpuvet.aws.subjects import SUBJECTS

EACH = pytest.mark.parametrize("mode", [None, *PolicyMode])


def actions(mode: PolicyMode | None) -> list[str]:
    statements = json.loads(policy_text(mode))["Statement"]
    assert {s["Effect"] for s in statements} == {"Allow"}
    assert {s["Resource"] for s in statements} == {"*"}  # right in every partition
    return [action for s in statements for action in s["Action"]]


@EACH
def test_a_policy_allows_exactly_its_reads_each_once(mode: PolicyMode | None) -> None:
    allowed = actions(mode)
    assert sorted(allowed) == sorted({read.iam_action for read in reads_of(mode)})
    assert len(allowed) == len(set(allowed))
    assert not [action for action in allowed if "*" in action]


@EACH
def test_a_policy_fits_into_iam_even_with_its_blanks(mode: PolicyMode | None) -> None:
    assert len(policy_text(mode)) <= MOST_POLICY_CHARACTERS


def test_every_action_of_the_whole_policy_belongs_to_a_read_and_the_other_way_round() -> None:
    every = (*READS.values(), *OTHER_READS.values())
    minimal = {read.iam_action for read in every if read.is_minimal}
    assert set(actions(None)) == minimal
    assert set(actions(PolicyMode.INCIDENT)) < minimal
    assert set(actions(PolicyMode.AUDIT)) < minimal
    assert set(actions(PolicyMode.PREFLIGHT)) == minimal


def test_statement_ids_are_letters_and_digits_and_differ() -> None:
    ids = [s["Sid"] for s in json.loads(policy_text())["Statement"]]
    assert len(set(ids)) == len(ids)
    assert all(sid.isalnum() for sid in ids)


def test_every_read_has_words_for_what_it_is_about() -> None:
    assert SUBJECTS.keys() == READS.keys() | OTHER_READS.keys()

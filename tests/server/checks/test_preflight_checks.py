"""Every preflight check says what its table of outcomes asks for."""

from collections import Counter
from pathlib import Path

import pytest
from preflight_examples import EXAMPLES, Example
from preflight_world import ec2, hyperpod

from gpuvet.checks.preflight import CHECKS
from gpuvet.checks.preflight.outcome import evaluate
from gpuvet.model.check import CheckStatus

FOLDER = Path(__file__).parents[3] / "server" / "gpuvet" / "checks" / "preflight"
BY_ID = {check.id: check for check in CHECKS}
_TOLD_BY_WORD = {CheckStatus.FAIL, CheckStatus.RISK}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.id)
def test_a_check_says(example: Example) -> None:
    outcome = evaluate(BY_ID[example.check], example.view)

    assert outcome.status is example.status, [(p.status.value, p.why) for p in outcome.parts]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.id)
def test_a_finding_has_one_action_and_an_open_part_says_what_closes_it(example: Example) -> None:
    for part in evaluate(BY_ID[example.check], example.view).parts:
        if part.status in _TOLD_BY_WORD:
            assert part.action, part
        if part.status in {CheckStatus.UNVERIFIED, CheckStatus.NEEDS_INPUT}:
            assert part.closes_with, part
        assert part.subject
        assert part.why


def test_every_check_has_a_file_a_line_in_the_list_and_a_source() -> None:
    files = sorted(path.name[1:3] for path in FOLDER.glob("p[0-9][0-9]_*.py"))

    assert files == [f"{check.number:02}" for check in CHECKS]
    assert [check.id for check in CHECKS] == [f"P{number}" for number in range(1, 31)]
    assert all(c.source and c.reads and c.decides and c.name for c in CHECKS)


def test_every_check_has_an_example_of_passing_or_not_applying_and_of_not_knowing() -> None:
    told = Counter((e.check, e.status) for e in EXAMPLES)
    settled = {CheckStatus.PASS, CheckStatus.NOT_APPLICABLE}
    adverse = {CheckStatus.FAIL, CheckStatus.RISK}
    unknown = {CheckStatus.UNVERIFIED, CheckStatus.NEEDS_INPUT}
    for check in CHECKS:
        for kind in (settled, adverse, unknown):
            assert any(told[check.id, status] for status in kind), (check.id, kind)


@pytest.mark.parametrize("view", [hyperpod(), ec2()], ids=["HyperPod", "ParallelCluster"])
def test_a_sound_cluster_has_no_finding(view: object) -> None:
    assert isinstance(view, type(hyperpod()))
    bad = [
        check.id
        for check in CHECKS
        if evaluate(check, view).status in {CheckStatus.FAIL, CheckStatus.RISK}
    ]
    assert bad == []

"""Capacity and change over whole cases: what each answers, and what blinding takes away."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.calculators.ranking import Ranking, rank_branches
from gpuvet.case import Case, load_case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.cause import (
    Branch,
    BranchEvidence,
    BranchStatus,
    EventKind,
    Failure,
    Label,
    Symptom,
    TimelineEvent,
)
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.modes.control_plane import ControlPlane, read_control_plane
from gpuvet.modes.evidence import gather
from gpuvet.modes.gather_capacity import gather_capacity
from gpuvet.modes.gather_change import gather_change
from gpuvet.modes.scope import Scope
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked, resolve

CASES = Path(__file__).parents[2] / "cases"
LATE = datetime(2027, 1, 1, tzinfo=UTC)
STUCK = CASES / "field" / "02-stuck-dcgm-condition"
BLOCK = CASES / "field" / "03-capacity-block-end-with-xid45"
BOOTSTRAP = CASES / "field" / "04-protected-mode-eventual-consistency"
UPDATE = CASES / "field" / "08-fabric-manager-after-update"
SCENARIOS = sorted((CASES / "scenarios").glob("s*.json"))
WARNED = CASES / "scenarios" / "s03-capacity-block-mass-termination.json"
REPLACED = CASES / "scenarios" / "s06-replaced-node-explained-by-cloudtrail.json"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


FAILURES = {
    STUCK: Failure(symptom=Symptom.UNKNOWN, at=at("2026-03-10T02:14:31Z"), observed=True),
    BLOCK: Failure(symptom=Symptom.NODES_LOST, at=at("2026-03-04T11:00:10Z"), observed=True),
    BOOTSTRAP: Failure(symptom=Symptom.START_UP),
    UPDATE: Failure(symptom=Symptom.START_UP, at=at("2026-03-09T02:40:28Z"), observed=True),
    WARNED: Failure(symptom=Symptom.NODES_LOST, at=at("2026-05-09T11:00:14Z"), observed=True),
    REPLACED: Failure(symptom=Symptom.UNKNOWN),
}


@dataclass(frozen=True, slots=True)
class Blinded:
    """An AWS door that refuses some operations."""

    inner: AwsDoor
    refused: frozenset[str]

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return what the inner door returns, or a refusal."""
        found = self.inner.read(operation, params, region=region)
        if operation not in self.refused:
            return found
        update = {"status": Status.UNVERIFIED, "reason": Reason.DENIED, "value": None, "pages": 0}
        return found.model_copy(update={**update, "error_code": "AccessDeniedException"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What the two branches came to."""

    capacity: BranchEvidence
    change: BranchEvidence
    timeline: tuple[TimelineEvent, ...]
    plane: ControlPlane
    ranking: Ranking

    def status(self, branch: Branch) -> BranchStatus:
        """Return what became of a branch."""
        return next(b.status for b in self.ranking.branches if b.branch is branch)


def answered(case: Case, failure: Failure) -> Answer:
    resolved = resolve(case.meta, Asked(), case.meta.now or LATE)
    gathered = gather(case, resolved)
    scope = Scope(
        window=resolved.window,
        now=resolved.now,
        failure=failure,
        nodes=gathered.nodes,
        orchestrator=gathered.evidence.orchestrator,
        cluster=case.meta.cluster,
        account=case.meta.account,
        region=case.meta.region,
    )
    plane = read_control_plane(case, scope, gathered.evidence, gathered.services)
    capacity, ends = gather_capacity(case, scope, plane)
    change, calls = gather_change(case, scope, plane, gathered.evidence)
    ranking = rank_branches([capacity, change], failure)
    return Answer(capacity, change, (*ends, *calls), plane, ranking)


@cache
def whole(path: Path) -> Answer:
    return answered(load_case(path), FAILURES.get(path, Failure(symptom=Symptom.UNKNOWN)))


@pytest.mark.parametrize(
    ("path", "branch"),
    [
        pytest.param(STUCK, Branch.CHANGE, id="a monitor's rollout"),
        pytest.param(BLOCK, Branch.CAPACITY, id="a block's end by the instances' own records"),
        pytest.param(BOOTSTRAP, Branch.CAPACITY, id="the API's lag in a large launch"),
        pytest.param(UPDATE, Branch.CHANGE, id="a software update"),
        pytest.param(WARNED, Branch.CAPACITY, id="a block's end by warnings"),
        pytest.param(REPLACED, Branch.CHANGE, id="a replacement by an operator"),
    ],
)
def test_a_case_of_these_branches_is_proven(path: Path, branch: Branch) -> None:
    ranking = whole(path).ranking
    assert (ranking.leading, ranking.label) == (branch, Label.PROVEN)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda p: p.stem)
def test_the_rows_of_the_scenarios_are_as_expected(path: Path) -> None:
    expected = json.loads(path.read_text(encoding="utf-8"))["expected"]["branch_status"]
    for branch in (Branch.CAPACITY, Branch.CHANGE):
        if branch.value in expected:
            assert whole(path).status(branch).value in expected[branch.value]


def test_nodes_named_only_by_a_failed_bootstrap_get_their_verdict() -> None:
    report = verdict_report(load_case(BOOTSTRAP), Asked(), clock=LATE)
    assert {k: v.value for k, v in report.verdicts.items()} == {
        "i-04b2008d490839cb1": "LEAVE ALONE",
        "i-09aadaf7c3691565e": "LEAVE ALONE",
    }
    assert all(
        "GPU health not observed" in str(node.notes + node.grounds)
        or node.confidence == "provisional"
        for node in report.nodes
    )


def test_a_pending_replacement_is_left_alone() -> None:
    report = verdict_report(load_case(REPLACED), Asked(), clock=LATE)
    assert report.verdicts["i-0e57a1b2c3d4e5f73"].value == "LEAVE ALONE"


def test_the_labels_of_single_nodes_follow_the_strict_switch() -> None:
    expected = json.loads(WARNED.read_text(encoding="utf-8"))["expected"]["node_labels"]
    for node, labels in expected.items():
        assert any(f"{node} ended" in f and labels[0] in f for f in whole(WARNED).capacity.facts)


def test_a_replacement_is_paired_and_the_old_ids_own_lines_are_told() -> None:
    found = whole(REPLACED)
    (one,) = found.plane.replaced
    assert (one.old, [n.id for n in one.new], one.group, one.is_certain) == (
        ("i-0e55a1b2c3d4e5f51",),
        ["i-0e57a1b2c3d4e5f73"],
        "gpu-workers",
        True,
    )
    said = " ".join(found.change.facts)
    assert "Xid 13 on the old id" in said
    assert "Pending for 12.9 min" in said


def test_the_timeline_keeps_plans_attempts_and_gaps_apart() -> None:
    assert [e.at for e in whole(WARNED).timeline if e.kind is EventKind.PLANNED] == [
        at("2026-05-09T11:00:00Z"),
        at("2026-05-09T11:30:00Z"),
    ]
    attempts = [e for e in whole(REPLACED).timeline if e.kind is EventKind.ATTEMPT]
    assert [e.at for e in attempts] == [at("2026-07-21T12:50:03Z")]
    unread = [e.what for e in whole(UPDATE).timeline if e.kind is EventKind.UNREAD]
    assert any("HyperPod cluster events not read: not_recorded" in what for what in unread)


# Blinding.

OPERATIONS = (
    "ec2:DescribeInstances",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeSubnets",
    "cloudtrail:LookupEvents",
    "sagemaker:DescribeCluster",
    "sagemaker:ListClusterNodes",
    "sagemaker:ListClusterEvents",
    "events:ListRules",
    "logs:DescribeLogGroups",
    "logs:StartQuery",
)
_STRENGTH = {Label.NOT_OBSERVABLE: 0, Label.HYPOTHESIS: 1, Label.PROVEN: 2}
BRANCHES = (Branch.CAPACITY, Branch.CHANGE)


@cache
def blinded(path: Path, operation: str) -> Answer:
    case = load_case(path)
    dark = Blinded(case.aws, frozenset({operation}))
    return answered(replace(case, aws=dark), FAILURES.get(path, Failure(symptom=Symptom.UNKNOWN)))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "path", [*FAILURES, *SCENARIOS[1:2], *SCENARIOS[4:5]], ids=lambda p: p.stem
)
def test_refusing_a_source_never_rules_out_more_and_never_proves_more(
    path: Path, operation: str
) -> None:
    before, after = whole(path), blinded(path, operation)
    for branch in BRANCHES:
        if after.status(branch) is BranchStatus.RULED_OUT:
            assert before.status(branch) is BranchStatus.RULED_OUT
    assert _STRENGTH[after.ranking.label] <= _STRENGTH[before.ranking.label] or (
        before.ranking.leading is None
    )
    if after.ranking.label is Label.PROVEN:
        assert after.ranking.leading is before.ranking.leading


@pytest.mark.parametrize("operation", OPERATIONS[:7])
@pytest.mark.parametrize("path", [*FAILURES], ids=lambda p: p.stem)
def test_a_refused_source_that_changes_a_branch_is_named(path: Path, operation: str) -> None:
    before, after = whole(path), blinded(path, operation)
    for branch, evidence in zip(BRANCHES, (after.capacity, after.change), strict=True):
        if before.status(branch) is not after.status(branch) and evidence.assessed:
            assert Reason.DENIED in {one.reason for one in evidence.deciding_unseen}


def test_without_cloudtrail_a_change_is_never_ruled_out() -> None:
    for path in SCENARIOS:
        found = blinded(path, "cloudtrail:LookupEvents")
        assert found.status(Branch.CHANGE) is not BranchStatus.RULED_OUT


def test_the_nodes_of_a_case_are_the_same_with_and_without_service_lines() -> None:
    case = load_case(WARNED)
    assert {n.node for n in nodes_of(case)} == {
        n.node for n in nodes_of(case, named=[("i-0d31a0b1c2d3e4f51", "clustermgtd")])
    }

"""Branch C over whole cases: what each gives, through the doors."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpuvet.aws.door import Page
from gpuvet.calculators.gpu_activity import power_fall
from gpuvet.calculators.ranking import rank_branches
from gpuvet.calculators.slowdown import slowdown
from gpuvet.calculators.storage_inputs import PAD
from gpuvet.case import Case, load_case, nodes
from gpuvet.model.cause import (
    Branch,
    BranchAssessment,
    BranchEvidence,
    BranchStatus,
    Failure,
    Label,
    Symptom,
    TimelineEvent,
)
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.modes.gather_gpu import gather_gpu
from gpuvet.modes.gather_storage import asked_window, gather_storage
from gpuvet.modes.job_lines import job_lines
from gpuvet.modes.scope import Scope
from gpuvet.modes.window import Asked, resolve
from gpuvet.parse.job_steps import step_points

CASES = Path(__file__).parents[2] / "cases"
LATE = datetime(2027, 1, 1, tzinfo=UTC)


def case(name: str) -> Case:
    return load_case(next(CASES.glob(f"*/{name}*")))


def scope_of(found: Case) -> Scope:
    """The question as resolved, with the slowdown from step lines, else from GPU power."""
    asked = resolve(found.meta, Asked(), found.meta.now or LATE)
    known = nodes(found)
    stated = Failure(symptom=Symptom.SLOW, at=asked.failure_at, source="the user's words")
    scope = Scope(
        window=asked.window,
        now=asked.now,
        failure=stated,
        nodes=known,
        orchestrator=found.meta.orchestrator,
        cluster=found.meta.cluster,
    )
    reach = asked_window(found, scope).padded(PAD, PAD)
    job = job_lines(found, reach, found.meta.cluster)
    steps = slowdown(step_points(job.lines, reference=asked.now))
    power = gather_gpu(found, reach, asked.now, known)
    fall = power_fall(power.series, reach)
    if steps is not None:
        seen = {"at": steps.at, "slow_until": steps.slow_until, "source": "job log"}
    elif fall is not None:
        seen = {"at": fall.at, "slow_until": fall.until, "source": "GPU power"}
    else:
        return scope
    failure = stated.model_copy(update={"observed": True, **seen})
    return Scope(asked.window, asked.now, failure, known, found.meta.orchestrator, scope.cluster)


def gathered(found: Case) -> tuple[BranchEvidence, tuple[TimelineEvent, ...], BranchAssessment]:
    scope = scope_of(found)
    evidence, timeline = gather_storage(found, scope)
    rows = rank_branches([evidence], scope.failure).branches
    return evidence, timeline, next(r for r in rows if r.branch is Branch.STORAGE)


def said(evidence: BranchEvidence) -> str:
    return "\n".join([*(s.what for s in evidence.signals), *evidence.facts, *evidence.actions])


def test_a_saturated_metadata_server_before_the_slow_steps_is_proven() -> None:
    evidence, timeline, row = gathered(case("05-fsx-metadata-bound"))
    assert (row.status, row.label) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)
    text = said(evidence)
    for words in (
        "fs-0aaaabbbbccccdddd is metadata-bound: MDS0000 CPUUtilization 98.7 % from 13:00Z",
        "throughput is not the limit: utilisation at most 9.2 %",
        "metadata configuration AUTOMATIC with 12000 metadata IOPS",
        "41 million files",
        "pack small files into shards",
        "stat of /fsx/webimg/00/17/x.jpg took 0.412 s at 13:31Z, 206 times the 0.002 s of before",
    ):
        assert words in text
    assert timeline[0].at == datetime(2026, 3, 6, 13, tzinfo=UTC)


def test_a_metadata_rise_without_saturation_leads_as_a_hypothesis() -> None:
    evidence, timeline, row = gathered(case("s04"))
    assert (row.status, row.label) == (BranchStatus.LEADING_HYPOTHESIS, Label.HYPOTHESIS)
    assert row.confirming is not None
    assert row.confirming.startswith("client-side stat or small-file open latency on the mount")
    text = said(evidence)
    for words in (
        "fs-0d44c1b2a3948576e shows a metadata-heavy pattern",
        "rose at 09:42Z from 41752.5 to 410199.5 a period, 9.8 times",
        "no baseline of the previous 72 h is recorded",
        "CPUUtilization max 71.2 %",
        "NetworkThroughputUtilization max 37.8 %",
        "DiskIopsUtilization is not published for SCRATCH_2",
    ):
        assert words in text
    assert "raise the throughput" not in text
    assert [(e.at.hour, e.at.minute, e.code) for e in timeline] == [
        (9, 42, "fsx metadata rise"),
        (9, 44, "gpu power fall"),
    ]


def test_saturation_by_checkpoint_writes_is_proven() -> None:
    evidence, timeline, row = gathered(case("s05"))
    assert (row.status, row.label) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)
    text = said(evidence)
    for words in (
        "fs-0a55b1c2d3e4f5061 is throughput-bound by checkpoint writes",
        "OSS0000 NetworkThroughputUtilization 95.3 to 99.5 % from 02:05Z to 02:40Z (35 min)",
        "OSS0001 NetworkThroughputUtilization 95.2 to 99.6 % from 02:06Z to 02:39Z (33 min)",
        "starts 02:05Z before the slowdown at 02:09:28Z (job log)",
        "FileServerDiskThroughputUtilization max 84.0 %",
        "DiskIopsUtilization max 50.8 %",
        "CPUUtilization max 10.9 %",
        "DataWriteBytes: 1350000000 B/s",
        "the job uses /fsx/nova/ckpt on that mount; the nodes' VPC and subnet",
        "idle GPU hours: 0 of 16 (none below 5 % power)",
        "fell at 02:09Z",
        "stagger or shard checkpoint writes",
    ):
        assert words in text
    assert [(e.at.hour, e.at.minute) for e in timeline] == [(2, 5), (2, 6), (2, 9), (2, 41)]


def test_highest_values_as_noted_rule_storage_out() -> None:
    evidence, _, row = gathered(case("09-xid31"))
    assert row.status is BranchStatus.RULED_OUT
    assert evidence.ruled_out is not None
    assert evidence.ruled_out.startswith("FSx not saturated: NetworkThroughputUtilization max 31 %")


@pytest.mark.parametrize("name", ["s01", "s02", "s03", "s06", "s08"])
def test_without_a_file_system_storage_is_not_assessed(name: str) -> None:
    evidence, timeline, row = gathered(case(name))
    assert (row.status, row.why) == (
        BranchStatus.NOT_ASSESSED,
        "no FSx for Lustre file system in this account and region; other storage was not looked at",
    )
    assert (evidence.signals, evidence.deciding_unseen, timeline) == ((), (), ())


@pytest.mark.parametrize(
    "name", ["01-", "02-", "03-", "04-", "06-", "07-", "08-", "10-", "11-", "12-"]
)
def test_a_case_that_holds_nothing_of_storage_claims_nothing(name: str) -> None:
    evidence, _, row = gathered(case(name))
    assert (row.status, row.why) == (
        BranchStatus.NOT_ASSESSED,
        "nothing of it was looked at",
    )
    assert [(n.what, n.reason) for n in evidence.deciding_unseen] == [
        ("FSx for Lustre file systems of the account", Reason.NOT_RECORDED)
    ]


class Denied:
    """A door behind which some operations are denied."""

    def __init__(self, inner: Case, *operations: str) -> None:
        self._aws = inner.aws
        self._operations = operations

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Deny, or let the inner door answer."""
        answer = self._aws.read(operation, params, region=region)
        if operation not in self._operations:
            return answer
        update = {"status": Status.UNVERIFIED, "reason": Reason.DENIED, "value": None}
        return answer.model_copy(update=update)


def without(found: Case, *operations: str) -> Case:
    return replace(found, aws=Denied(found, *operations))


@pytest.mark.parametrize(
    ("operation", "status", "unseen"),
    [
        pytest.param(
            "cloudwatch:GetMetricData",
            BranchStatus.NOT_OBSERVABLE,
            "FSx utilisation metrics of fs-0a55b1c2d3e4f5061",
            id="values",
        ),
        pytest.param(
            "cloudwatch:ListMetrics",
            BranchStatus.NOT_OBSERVABLE,
            "FSx utilisation metrics of fs-0a55b1c2d3e4f5061",
            id="names",
        ),
        pytest.param(
            "fsx:DescribeFileSystems",
            BranchStatus.LEADING_HYPOTHESIS,
            "FSx for Lustre file systems of the account",
            id="file systems",
        ),
    ],
)
def test_a_denied_source_is_named_and_proves_nothing(
    operation: str, status: BranchStatus, unseen: str
) -> None:
    found = case("s05")
    scope = scope_of(found)
    evidence, _ = gather_storage(without(found, operation), scope)
    row = rank_branches([evidence], scope.failure).branches[2]
    assert row.status is status
    assert (unseen, Reason.DENIED) in [(n.what, n.reason) for n in evidence.deciding_unseen]


def test_a_window_with_its_pad_inside_is_asked_without_it() -> None:
    found = case("05-fsx-metadata-bound")
    scope = scope_of(found)
    hour = timedelta(hours=1)
    assert asked_window(found, scope) == scope.window.padded(-hour, -hour)
    assert asked_window(case("s05"), scope) == scope.window


def test_the_job_of_a_case_is_read_from_its_file_and_of_a_scenario_from_its_group() -> None:
    window = scope_of(case("s05")).window
    assert len(job_lines(case("05-fsx"), window, None).lines) == 3
    scenario = job_lines(case("s05"), window.padded(PAD, PAD), "nova-p4")
    assert {line.source for line in scenario.lines} == {"nova-0/rank0"}
    nothing = job_lines(case("s04"), window, "vision-g6")
    assert [n.what for n in nothing.not_seen] == ["output of the job"]

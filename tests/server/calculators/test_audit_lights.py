"""What would light a dark source: per orchestrator, cheapest first, nothing hostile in it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.audit_lights import Place, light_rows
from gpuvet.model.audit import (
    Hole,
    HoleCause,
    HoleKind,
    LightRow,
    NodeSight,
    Sight,
    Witness,
    WitnessRow,
)
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.coverage import CoverageStatus, Shipper
from gpuvet.report import lights

START = datetime(2026, 3, 14, tzinfo=UTC)
NODE = "i-0aa11bb22cc33dd44"
GREP = "grep -E 'NVRM|SXid|fallen off the bus'"


def sight(*dark: Witness) -> NodeSight:
    return NodeSight(
        node=NODE,
        status=CoverageStatus.PARTIAL,
        hours_measured=20,
        hours_asked=24,
        xid_events=0,
        claim="",
        witnesses=tuple(
            WitnessRow(what=w, state=Sight.NOT_OBSERVABLE, because="not published") for w in dark
        ),
    )


def hole(kind: HoleKind | None, group: str | None = "/fleet/kernel") -> Hole:
    causes = (HoleCause(kind=kind, words="w", measured=True),) if kind else ()
    return Hole(
        node=NODE,
        source=Shipper.HOST_SYSLOG,
        group=group,
        stream="messages/a",
        start=START,
        end=START + timedelta(hours=4),
        hours=4,
        state="EMPTY",
        causes=causes,
    )


def rows(kind: HoleKind | None, orchestrator: Orchestrator) -> tuple[LightRow, ...]:
    return light_rows([sight()], [hole(kind)], Place(orchestrator, group="/fleet/kernel"))


@pytest.mark.parametrize(
    ("kind", "orchestrator", "words"),
    [
        pytest.param(HoleKind.BUFFER, Orchestrator.EKS, "storage.type", id="buffer on disk"),
        pytest.param(HoleKind.ROTATION, Orchestrator.EC2, "postrotate", id="rotation"),
        pytest.param(HoleKind.PERMISSION, Orchestrator.EC2, "logs:PutLogEvents", id="permission"),
        pytest.param(HoleKind.RETENTION, Orchestrator.EC2, "put-retention-policy", id="retention"),
        pytest.param(
            HoleKind.NO_STREAM, Orchestrator.PARALLELCLUSTER, "CloudWatch:", id="parallelcluster"
        ),
        pytest.param(
            HoleKind.NO_STREAM, Orchestrator.EKS, "amazon-cloudwatch-observability", id="eks add-on"
        ),
        pytest.param(HoleKind.NO_STREAM, Orchestrator.EC2, "collect_list", id="cloudwatch agent"),
        pytest.param(None, Orchestrator.HYPERPOD_SLURM, "collect_list", id="no reason named"),
    ],
)
def test_a_hole_is_lit_by_what_made_it(
    kind: HoleKind | None, orchestrator: Orchestrator, words: str
) -> None:
    (row,) = rows(kind, orchestrator)
    assert row.what is Witness.KERNEL
    assert any(words in step.text for step in row.steps)


def test_the_cheapest_step_is_to_read_the_hours_on_the_node() -> None:
    (row,) = rows(HoleKind.BUFFER, Orchestrator.EKS)
    first = row.steps[0]
    assert first.cost == lights.NOW
    times = "--since '2026-03-14 00:00:00 UTC' --until '2026-03-14 04:00:00 UTC'"
    assert first.text.splitlines() == [
        f"# {NODE}",
        f"sudo journalctl -q --utc {times} | wc -l",
        f"sudo journalctl -q --utc _TRANSPORT=kernel {times} -o short-iso-precise | {GREP}",
    ]
    assert "counts 0 lines the journal does not reach back" in first.do
    assert [step.cost for step in row.steps] == sorted(step.cost for step in row.steps)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        pytest.param(HoleKind.LAG, "no evidence names a reason", id="the lag is no reason"),
        pytest.param(HoleKind.BUFFER, "buffer overflow", id="a measured reason"),
    ],
)
def test_hours_are_put_down_to_what_evidence_names(kind: HoleKind, why: str) -> None:
    (row,) = rows(kind, Orchestrator.EC2)
    assert row.why == f"4 h of kernel log not seen: {why}"


@pytest.mark.parametrize(
    ("witness", "orchestrator", "words"),
    [
        pytest.param(Witness.NCCL, Orchestrator.EC2, "NCCL_DEBUG=INFO", id="nccl"),
        pytest.param(Witness.EFA, Orchestrator.EC2, '"efa"', id="efa by the agent"),
        pytest.param(
            Witness.EFA,
            Orchestrator.HYPERPOD_EKS,
            "amazon-sagemaker-hyperpod-observability",
            id="efa by the add-on",
        ),
        pytest.param(Witness.GPU_ACTIVITY, Orchestrator.EC2, "nvidia_gpu", id="gpu activity"),
        pytest.param(
            Witness.AGENT, Orchestrator.HYPERPOD_EKS, "daemonset health-monitoring", id="agent"
        ),
        pytest.param(Witness.FABRIC_MANAGER, Orchestrator.EC2, "nvidia-fabricmanager", id="fm"),
    ],
)
def test_every_dark_source_has_a_text_that_lights_it(
    witness: Witness, orchestrator: Orchestrator, words: str
) -> None:
    lit = light_rows([sight(witness)], [], Place(orchestrator, group="/fleet/kernel"))
    row = next(one for one in lit if one.what is witness)
    assert any(words in step.text for step in row.steps)


def test_a_bright_fleet_has_nothing_to_light() -> None:
    bright = sight().model_copy(update={"hours_measured": 24})
    assert light_rows([bright], [], Place(Orchestrator.EC2)) == ()


HOSTILE = "x'; rm -rf ~ #"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lights.search_again(HOSTILE).do, id="group"),
        pytest.param(lights.retention(HOSTILE).text, id="group in a command"),
        pytest.param(lights.agent_permission(HOSTILE).text, id="group in a policy"),
        pytest.param(lights.fluent_bit(HOSTILE, HOSTILE).text, id="region in a configuration"),
        pytest.param(
            lights.eks_addon(HOSTILE, "amazon-cloudwatch-observability").text, id="cluster"
        ),
        pytest.param(lights.read_on_the_node([(HOSTILE, START, START)]).text, id="node"),
    ],
)
def test_a_hostile_name_never_stands_in_a_text_to_paste(text: str) -> None:
    assert "rm -rf" not in text


def test_configurations_are_valid_json() -> None:
    for step in (
        lights.cloudwatch_agent_logs("/fleet/kernel"),
        lights.cloudwatch_agent_metrics("efa"),
        lights.cloudwatch_agent_metrics("gpu"),
        lights.agent_permission("/fleet/kernel"),
    ):
        assert isinstance(json.loads(step.text), dict)

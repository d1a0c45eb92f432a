"""The doctor tries both other doors, and says what opens the one that is closed."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_world import ACCOUNT, NOW, REGION, WORKSPACE, Stored, World, every_minute, hyperpod

from gpuvet.aws.reads import OTHER_READS
from gpuvet.cli import main
from gpuvet.model.access import Access, AccessReport, SourceAccess
from gpuvet.modes.access import access_report
from gpuvet.report.access import access_text

ROOT = Path(__file__).parents[2]


def doctor(world: World) -> tuple[AccessReport, Mapping[str, SourceAccess]]:
    report = access_report(world, now=NOW, region=REGION, account=ACCOUNT)
    return report, {one.operation: one for one in report.sources}


def test_every_read_of_both_doors_is_tried_once() -> None:
    world = World(hyperpod())
    _, sources = doctor(world)
    assert OTHER_READS.keys() <= sources.keys()
    for operation in OTHER_READS:
        assert [asked for asked, _ in world.asked].count(operation) == 1


def test_a_workspace_with_series_is_readable_and_one_without_is_empty() -> None:
    series = [
        Stored("DCGM_FI_DEV_GPU_UTIL", {"Hostname": "a"}, every_minute(NOW, NOW, 1)),
    ]
    _, seen = doctor(World(hyperpod(), series))
    _, empty = doctor(World(hyperpod()))
    assert seen["prometheus:Labels"].access is Access.READABLE
    assert empty["prometheus:Labels"].access is Access.EMPTY


def test_what_is_denied_is_named_with_what_opens_it() -> None:
    errors = {
        "prometheus:Query": ("AccessDeniedException", 403),
        "kubernetes:ListNodes": ("Unauthorized", 401),
        "kubernetes:ListPods": ("Forbidden", 403),
        "kubernetes:ListEvents": ("ConnectTimeout", 0),
    }
    report, sources = doctor(World(hyperpod(), errors=errors))
    assert sources["prometheus:Query"].access is Access.DENIED
    assert "aps:QueryMetrics" in json.dumps(report.policy)
    assert "RBAC" not in json.dumps(report.policy)  # IAM is asked for what is IAM's
    assert sources["kubernetes:ListNodes"].iam_action == "RBAC: list nodes"
    text = access_text(report)
    assert "allow aps:QueryMetrics" in text
    assert "an EKS access entry" in text
    assert "the ClusterRole gpuvet-reader" in text
    assert "inside its VPC" in text


def test_without_an_eks_cluster_no_api_is_asked() -> None:
    world = World(hyperpod(), errors={"sagemaker:DescribeCluster": ("ResourceNotFound", 400)})
    _, sources = doctor(world)
    assert not [one for one in sources if one.startswith("kubernetes:")]


def test_without_a_workspace_the_permission_still_shows() -> None:
    denied = {"prometheus:Series": ("AccessDeniedException", 403)}
    missing = {"prometheus:Series": ("ResourceNotFoundException", 404)}
    world = World(hyperpod(), workspaces=(), errors=denied)
    world.workspaces = ("ws-00000000-0000-0000-0000-000000000000",)
    assert doctor(world)[1]["prometheus:Series"].access is Access.DENIED
    world.errors = missing
    assert doctor(world)[1]["prometheus:Series"].access is Access.READABLE
    assert WORKSPACE not in str(world.asked)


def test_the_kubernetes_role_is_printed_as_it_stands_in_the_references(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["iam-policy", "--kubernetes"]) == 0
    printed = capsys.readouterr().out
    assert "kind: ClusterRole\n" in printed
    assert "gpuvet-readers" in printed
    assert printed == (ROOT / "references" / "kubernetes-role.yaml").read_text(encoding="utf-8")

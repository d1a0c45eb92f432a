"""What a name, ids or a tag mean in an account, and how a door is narrowed to them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from gpuvet.aws.clusters import CLUSTER_TAG, Found, find_target
from gpuvet.aws.ledger import Ledger
from gpuvet.aws.narrowed import NarrowedAws
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.scan_budget import ScanBudget
from gpuvet.case.live_case import live_case
from gpuvet.errors import NotReadOnly, UsageError
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.target import Target, read_target

HYPERPOD_ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghij12"
EKS_ARN = "arn:aws:eks:us-west-2:111122223333:cluster/train"
NODE = "i-0123456789abcdef0"


def call(operation: str, answer: Mapping[str, Any], **params: object) -> Mapping[str, Any]:
    service, _, name = operation.partition(":")
    kind = "error" if "Code" in answer else "response"
    return {"service": service, "operation": name, "params": params, kind: answer}


def instance(node: str, **tags: str) -> Mapping[str, Any]:
    named = [{"Key": key, "Value": value} for key, value in tags.items()]
    return {"Reservations": [{"Instances": [{"InstanceId": node, "Tags": named}]}]}


def parallelcluster(name: str) -> Mapping[str, Any]:
    tagged = {"Reservations": [{"Instances": [_with_cluster_tag(NODE, name)]}]}
    filters = [{"Name": f"tag:{CLUSTER_TAG}", "Values": [name]}]
    return call("ec2:DescribeInstances", tagged, Filters=filters)


def _with_cluster_tag(node: str, name: str) -> Mapping[str, Any]:
    return {"InstanceId": node, "Tags": [{"Key": CLUSTER_TAG, "Value": name}]}


HYPERPOD = call(
    "sagemaker:DescribeCluster",
    {"ClusterName": "train", "ClusterArn": HYPERPOD_ARN},
    ClusterName="train",
)
HYPERPOD_ON_EKS = call(
    "sagemaker:DescribeCluster",
    {
        "ClusterName": "train",
        "ClusterArn": HYPERPOD_ARN,
        "Orchestrator": {"Eks": {"ClusterArn": EKS_ARN}},
    },
)
EKS = call("eks:DescribeCluster", {"cluster": {"name": "train", "arn": EKS_ARN}}, name="train")
NOTHING = (
    call("sagemaker:DescribeCluster", {"Code": "ResourceNotFound"}),
    call("sagemaker:ListClusters", {"ClusterSummaries": [{"ClusterName": "other"}]}),
    call("eks:DescribeCluster", {"Code": "ResourceNotFoundException"}),
    call("ec2:DescribeInstances", {"Reservations": []}),
)


def account(*calls: Mapping[str, Any]) -> RecordedAws:
    return RecordedAws(read_calls([*calls, *NOTHING]), region="us-west-2")


@pytest.mark.parametrize(
    ("calls", "wanted", "expected"),
    [
        pytest.param(
            [HYPERPOD],
            "train",
            Found("train", Orchestrator.HYPERPOD_SLURM, ("train",)),
            id="HyperPod",
        ),
        pytest.param(
            [HYPERPOD_ON_EKS, EKS],
            "train",
            Found("train", Orchestrator.HYPERPOD_EKS, ("train",)),
            id="HyperPod on an EKS cluster of the same name is one cluster",
        ),
        pytest.param(
            [EKS],
            "train",
            Found(
                "train",
                Orchestrator.EKS,
                ("train",),
                ({"Name": "tag-key", "Values": ["kubernetes.io/cluster/train"]},),
            ),
            id="EKS",
        ),
        pytest.param(
            [parallelcluster("train")],
            "train",
            Found("train", Orchestrator.PARALLELCLUSTER, ("train",)),
            id="ParallelCluster",
        ),
        pytest.param(
            [HYPERPOD_ON_EKS, EKS, parallelcluster("train")],
            HYPERPOD_ARN,
            Found("train", Orchestrator.HYPERPOD_EKS, ("train",)),
            id="an ARN means one, whatever else has its name",
        ),
    ],
)
def test_a_name_is_looked_up_as_hyperpod_then_eks_then_tag(
    calls: Sequence[Mapping[str, Any]], wanted: str, expected: Found
) -> None:
    assert find_target(account(*calls), Target(cluster=wanted)) == expected


def test_a_name_that_means_several_is_an_error_that_lists_them() -> None:
    door = account(HYPERPOD, EKS, parallelcluster("train"))
    with pytest.raises(UsageError, match="means more than one") as raised:
        find_target(door, Target(cluster="train"))
    assert f"HyperPod {HYPERPOD_ARN}; EKS {EKS_ARN}; ParallelCluster" in str(raised.value)


def test_a_name_nothing_has_is_an_error_that_says_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"no cluster 'train'.*HyperPod has other"):
        find_target(account(), Target(cluster="train"))


def test_a_name_that_could_not_be_looked_up_may_exist_and_the_gap_is_noted() -> None:
    denied = call("sagemaker:DescribeCluster", {"Code": "AccessDeniedException"})
    calls = [denied, *NOTHING[1:]]
    door = RecordedAws(read_calls(calls), region="us-west-2")
    assert find_target(door, Target(cluster="train")) == Found(
        "train", Orchestrator.UNKNOWN, ("train",)
    )


def test_an_arn_of_another_region_is_refused_before_it_is_looked_up() -> None:
    with pytest.raises(UsageError, match="lies in us-west-2, the question in eu-west-1"):
        find_target(account(), Target(cluster=HYPERPOD_ARN), "eu-west-1")


def test_instances_of_one_parallelcluster_bring_its_name_and_logs() -> None:
    filters = [{"Name": "instance-id", "Values": [NODE]}]
    rows = {"Reservations": [{"Instances": [_with_cluster_tag(NODE, "lab")]}]}
    door = account(call("ec2:DescribeInstances", rows, Filters=filters))
    found = find_target(door, Target(instances=(NODE,)))
    assert (found.name, found.orchestrator) == ("lab", Orchestrator.PARALLELCLUSTER)


def test_a_tag_nothing_carries_is_an_error_and_unknown_instances_are_kept() -> None:
    with pytest.raises(UsageError, match=r"no instance .* tag:team = llm"):
        find_target(account(), Target(tag=("team", "llm")))
    found = find_target(account(), Target(instances=(NODE,)))
    assert found.instances == (NODE,)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(("train", None, None), Target(cluster="train"), id="a cluster"),
        pytest.param((None, f"{NODE}, {NODE}", None), Target(instances=(NODE,)), id="instances"),
        pytest.param((None, None, "team=a=b"), Target(tag=("team", "a=b")), id="a tag"),
        pytest.param((None, None, None), Target(), id="nothing"),
    ],
)
def test_arguments_become_a_target(
    given: tuple[str | None, str | None, str | None], expected: Target
) -> None:
    assert read_target(*given) == expected


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(("a", NODE, None), id="two at once"),
        pytest.param((None, "node-1", None), id="no instance id"),
        pytest.param((None, ",", None), id="no ids at all"),
        pytest.param((None, ",".join(f"i-{n:017x}" for n in range(201)), None), id="too many"),
        pytest.param((None, None, "team"), id="a key alone"),
        pytest.param(("a\n", None, None), id="a line break"),
        pytest.param(("", None, None), id="an empty name"),
    ],
)
def test_arguments_that_name_nothing_are_refused(
    given: tuple[str | None, str | None, str | None],
) -> None:
    with pytest.raises(UsageError):
        read_target(*given)


class Echo:
    """A door that remembers what it was asked."""

    def __init__(self, behind: RecordedAws) -> None:
        self._behind = behind
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def read(self, operation: str, params: Mapping[str, Any], *, region: str | None = None) -> Any:  # noqa: ANN401 (passes through)
        """See `AwsDoor`."""
        self.asked.append((operation, params))
        return self._behind.read(operation, params, region=region)


def test_all_instances_means_those_of_the_question() -> None:
    mine = ({"Name": "instance-id", "Values": [NODE]},)
    echo = Echo(account())
    door = NarrowedAws(echo, Found(None, Orchestrator.UNKNOWN, (), mine))
    tag = [{"Name": f"tag:{CLUSTER_TAG}", "Values": ["x"]}]
    other = [{"Name": "instance-state-name", "Values": ["running"]}]
    door.read("ec2:DescribeInstances", {})
    door.read("ec2:DescribeInstances", {"Filters": tag})
    door.read("ec2:DescribeInstances", {"Filters": other})
    asked = [params["Filters"] for _, params in echo.asked]
    assert asked == [list(mine), list(mine), other]


def test_calls_about_a_hyperpod_cluster_are_not_made_for_other_nodes() -> None:
    echo = Echo(account())
    door = NarrowedAws(echo, Found("train", Orchestrator.PARALLELCLUSTER, ("train",)))
    answer = door.read("sagemaker:ListClusterNodes", {"ClusterName": "train"})
    assert (answer.status, echo.asked) == (Status.NOT_SUPPORTED, [])
    with pytest.raises(NotReadOnly):
        door.read("sagemaker:DeleteCluster", {})


def test_a_question_reads_each_thing_once_and_knows_what_failed() -> None:
    echo = Echo(account())
    ledger = Ledger(echo)
    for _ in range(3):
        ledger.read("ec2:DescribeInstances", {})
        ledger.read("eks:DescribeCluster", {"name": "train"})
    assert len(echo.asked) == 2
    assert [answer.operation for answer in ledger.incomplete()] == ["DescribeCluster"]


def test_an_instance_the_user_names_is_judged_even_where_ec2_does_not_show_it() -> None:
    now = datetime(2026, 5, 9, tzinfo=UTC)
    case = live_case(account(), Target(instances=(NODE,)), now=now)
    assert case.named == ((NODE, "the question"),)


# What log queries may scan

QUERY = {"logGroupNames": ["g"], "queryString": "q", "startTime": 0, "endTime": 86_400}


def logs_account(stored: int, taken_in: Sequence[float]) -> RecordedAws:
    group = {"logGroupName": "g", "storedBytes": stored}
    result = {"Id": "b0", "Values": list(taken_in), "StatusCode": "Complete"}
    return account(
        call("logs:DescribeLogGroups", {"logGroups": [group]}),
        call("cloudwatch:GetMetricData", {"MetricDataResults": [result]}),
        call("logs:StartQuery", {"queryId": "q"}),
        call(
            "logs:GetQueryResults",
            {"status": "Complete", "results": [], "statistics": {"bytesScanned": 6e9}},
        ),
    )


@pytest.mark.parametrize(
    ("stored", "taken_in", "runs"),
    [
        pytest.param(900_000_000, [], True, id="a group that is small whatever was asked"),
        pytest.param(90_000_000_000, [4e9, 5e9], True, id="a large group, little in the range"),
        pytest.param(90_000_000_000, [4e9, 7e9], False, id="too much in the range"),
        pytest.param(90_000_000_000, [], False, id="a large group and no metric: all it stores"),
    ],
)
def test_a_query_beyond_the_limit_is_not_run(
    stored: int, taken_in: Sequence[float], runs: bool
) -> None:
    ledger = Ledger(logs_account(stored, taken_in))
    answer = ScanBudget(ledger, 10).read("logs:StartQuery", QUERY)
    if runs:
        assert answer.status is Status.OK
    else:
        assert (answer.status, answer.reason) == (Status.NOT_CHECKED, Reason.BUDGET)
        assert "the limit is 10 GB" in answer.notes[0]
        assert answer in ledger.incomplete()


def test_what_earlier_queries_scanned_counts() -> None:
    door = ScanBudget(Ledger(logs_account(90_000_000_000, [5e9])), 10)
    assert door.read("logs:StartQuery", QUERY).status is Status.OK
    door.read("logs:GetQueryResults", {"queryId": "q"})
    assert door.scanned_gb == 6.0
    later = door.read("logs:StartQuery", {**QUERY, "queryString": "another"})
    assert later.reason is Reason.BUDGET

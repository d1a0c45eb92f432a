"""`gpuvet doctor`: tries every read once, side by side, and says which of them answer."""

import platform
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gpuvet import __version__
from gpuvet.aws.budget import Budget
from gpuvet.aws.closing import closes_with, reason_of
from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.iam_policy import minimal_policy
from gpuvet.aws.kubernetes_reads import KUBERNETES_READS
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.aws.prometheus_queries import GPU_ACTIVITY
from gpuvet.aws.reads import KUBERNETES, OTHER_READS, READS, read_of
from gpuvet.aws.subjects import SUBJECTS
from gpuvet.aws.watched import WatchedAws
from gpuvet.model.access import Access, AccessReport, SourceAccess
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.progress import Progress, silent
from gpuvet.model.untyped import object_at, objects_at, text_at
from gpuvet.report.access import access_markdown

Params = Mapping[str, Any]
Answers = Mapping[str, Envelope[tuple[Page, ...]]]

# An answer in under 20 s, so the reads end before that.
DOCTOR_SECONDS = 15.0
_AT_ONCE = 8
_MOST_GROUPS = 20
# Where the groups of clusters live (coverage.md).
GROUP_PREFIXES = (
    "/aws/sagemaker/Clusters/",
    "/aws/parallelcluster/",
    "/aws/containerinsights/",
    "/aws/eks/",
)
# A name that nothing has: "not found" proves the permission, "denied" the lack of it.
_NOBODY = "gpuvet-access-check"
_NO_ID = "0123456789abcdef0"
_NO_EVENT = "00000000-0000-0000-0000-000000000000"
# Ending a query needs one that runs: it is tried when one is ended.
_NOT_TRIED = frozenset({"logs:StopQuery", "kms:DescribeKey", "sts:GetCallerIdentity"})


def account_access(
    accounts: LiveAccounts,
    *,
    profile: str | None = None,
    region: str | None = None,
    role: str | None = None,
    progress: Progress = silent,
) -> AccessReport:
    """Return how every source of an account answers, within the doctor's seconds.

    Raises:
        UsageError: The identity was not given at start, or has no credentials.
    """
    budget = Budget(DOCTOR_SECONDS, monotonic=accounts.clock.monotonic)
    opened = accounts.enter(profile=profile, region=region, role=role, budget=budget, max_pages=1)
    return access_report(
        WatchedAws(opened.door, progress),
        now=accounts.clock.now(),
        region=opened.who.region,
        account=opened.who.account,
        arn=opened.who.arn,
        profile=opened.login.profile,
        role=opened.login.role,
    )


def access_report(
    door: AwsDoor,
    *,
    now: datetime,
    region: str,
    account: str | None = None,
    arn: str | None = None,
    profile: str | None = None,
    role: str | None = None,
) -> AccessReport:
    """Return how every source of an account answers.

    Args:
        door: The way to the account; one page of each read is enough.
        now: The clock.
        region: The door's region.
        account: Whose account it is, where known.
        arn: Who asks.
        profile: As chosen.
        role: As chosen.
    """
    first = _asked(door, dict(_lists(now)))
    answers = {**first, **_asked(door, {name: ask(first, now) for name, ask in _NAMED.items()})}
    answers |= _asked(door, dict(_of_other_doors(answers, now)))
    every = (*READS, *OTHER_READS)
    sources = tuple(_source(answers[name]) for name in every if name in answers)
    denied = [
        read
        for one in sources
        if one.access is Access.DENIED and (read := read_of(one.operation)).iam_action
    ]
    groups = _cluster_groups(door, first)
    report = AccessReport(
        account=account,
        arn=arn,
        profile=profile,
        role=role,
        region=region,
        sources=sources,
        clusters=tuple(_texts(first, "sagemaker:ListClusters")),
        groups=tuple(groups[:_MOST_GROUPS]),
        groups_found=len(groups),
        versions=_versions(),
        policy=dict(minimal_policy(denied)) if denied else None,
    )
    return report.model_copy(update={"markdown": access_markdown(report)})


def _asked(door: AwsDoor, probes: Mapping[str, Params]) -> dict[str, Envelope[tuple[Page, ...]]]:
    def ask(operation: str) -> Envelope[tuple[Page, ...]]:
        return door.read(operation, probes[operation])

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(probes, pool.map(ask, probes), strict=True))


def _lists(now: datetime) -> Iterator[tuple[str, Params]]:
    """Yield the reads that need no name."""
    hour_ago = now - timedelta(hours=1)
    metric = {"Namespace": "AWS/EC2", "MetricName": "StatusCheckFailed"}
    query = {"Id": "one", "MetricStat": {"Metric": metric, "Period": 300, "Stat": "Maximum"}}
    quota = {"ServiceCode": "vpc", "QuotaCode": "L-DF5E4CA3"}
    special: Mapping[str, Params] = {
        "cloudwatch:GetMetricData": {
            "MetricDataQueries": [query],
            "StartTime": hour_ago,
            "EndTime": now,
        },
        "service-quotas:GetServiceQuota": quota,
        "service-quotas:GetAWSDefaultServiceQuota": quota,
        "service-quotas:ListServiceQuotas": {"ServiceCode": "sagemaker"},
    }
    for operation in READS:
        if operation in special:
            yield operation, special[operation]
        elif operation not in _NOT_TRIED and operation not in _NAMED:
            yield operation, {}


def _cluster_of(first: Answers) -> str:
    return next(iter(_texts(first, "sagemaker:ListClusters")), _NOBODY)


def _group_of(first: Answers) -> str:
    return next(iter(_texts(first, "logs:DescribeLogGroups")), _NOBODY)


def _query(first: Answers, now: datetime) -> Params:
    """A query over one minute of one group: the smallest there is."""
    return {
        "logGroupNames": [_group_of(first)],
        "queryString": "fields @timestamp | limit 1",
        "startTime": int((now - timedelta(minutes=1)).timestamp()),
        "endTime": int(now.timestamp()),
        "limit": 1,
    }


def _events(first: Answers, now: datetime) -> Params:
    start = int((now - timedelta(minutes=1)).timestamp() * 1000)
    return {"logGroupName": _group_of(first), "startTime": start, "limit": 1}


def _of_eks(**rest: str) -> Callable[[Answers, datetime], Params]:
    return lambda _first, _now: {"clusterName": _NOBODY, **rest}


def _of_hyperpod(**rest: str) -> Callable[[Answers, datetime], Params]:
    return lambda first, _now: {"ClusterName": _cluster_of(first), **rest}


def _fixed(**params: Any) -> Callable[[Answers, datetime], Params]:  # noqa: ANN401 (parameters)
    return lambda _first, _now: params


_NO_ARN = f"arn:aws:health:us-east-1::event/EC2/{_NOBODY}/{_NOBODY}"
_NAMED: Mapping[str, Callable[[Answers, datetime], Params]] = {
    "sagemaker:DescribeCluster": _of_hyperpod(),
    "sagemaker:ListClusterNodes": _of_hyperpod(),
    "sagemaker:ListClusterEvents": _of_hyperpod(),
    "sagemaker:DescribeClusterNode": _of_hyperpod(NodeId=f"i-{_NO_ID}"),
    "sagemaker:DescribeClusterEvent": _of_hyperpod(EventId=_NO_EVENT),
    "sagemaker:DescribeTrainingPlan": _fixed(TrainingPlanName=_NOBODY),
    "ec2:DescribeCapacityBlockExtensionOfferings": _fixed(
        CapacityReservationId=f"cr-{_NO_ID}", CapacityBlockExtensionDurationHours=24
    ),
    "ec2:GetManagedPrefixListEntries": _fixed(PrefixListId=f"pl-{_NO_ID}"),
    "logs:DescribeLogStreams": lambda first, _: {"logGroupName": _group_of(first)},
    "logs:FilterLogEvents": _events,
    "logs:GetLogEvents": lambda first, now: {**_events(first, now), "logStreamName": _NOBODY},
    "logs:StartQuery": _query,
    "logs:GetQueryResults": _fixed(queryId=_NO_EVENT),
    "health:DescribeAffectedEntities": _fixed(filter={"eventArns": [_NO_ARN]}),
    "health:DescribeEventDetails": _fixed(eventArns=[_NO_ARN]),
    "events:ListTargetsByRule": _fixed(Rule=_NOBODY),
    "eks:DescribeCluster": _fixed(name=_NOBODY),
    "eks:ListNodegroups": _of_eks(),
    "eks:DescribeNodegroup": _of_eks(nodegroupName=_NOBODY),
    "eks:ListAddons": _of_eks(),
    "eks:DescribeAddon": _of_eks(addonName=_NOBODY),
    "amp:DescribeWorkspace": _fixed(workspaceId=f"ws-{_NO_EVENT}"),
}


def _of_other_doors(answers: Answers, now: datetime) -> Iterator[tuple[str, Params]]:
    """Yield one small read of each kind from a workspace, and each list of a cluster's API.

    A workspace that does not exist shows the permission as well as one that does.
    """
    known = list(_texts(answers, "amp:ListWorkspaces"))
    base = {
        "workspaceId": known[0] if known else f"ws-{_NO_EVENT}",
        "metric": GPU_ACTIVITY[1],
    }
    span = {"start": now - timedelta(minutes=5), "end": now}
    query: dict[str, object] = {**base, "by": [], "step": 60}
    yield "prometheus:Query", {**query, "template": "named", "span": 300, "time": now}
    yield "prometheus:QueryRange", {**query, "template": "highs", **span}
    yield "prometheus:Labels", {**base, **span}
    yield "prometheus:Series", {**base, **span}
    cluster = _eks_of(answers)
    if cluster is not None:
        for operation, read in OTHER_READS.items():
            if read.service == KUBERNETES:
                yield operation, {"cluster": cluster}


def _eks_of(answers: Answers) -> str | None:
    """Return the EKS cluster of the first HyperPod cluster, where it has one."""
    for page in answers["sagemaker:DescribeCluster"].value or ():
        arn = text_at(object_at(object_at(page, "Orchestrator"), "Eks"), "ClusterArn")
        if arn:
            return arn.rpartition("/")[2]
    return None


def _source(answer: Envelope[Any]) -> SourceAccess:
    read = read_of(f"{answer.service}:{answer.operation}")
    access = _access(answer)
    is_open = access in {Access.READABLE, Access.EMPTY}
    return SourceAccess(
        operation=read.operation,
        what=SUBJECTS[read.operation],
        iam_action=read.iam_action or f"RBAC: list {KUBERNETES_READS[read.name].resource}",
        access=access,
        reason=None if is_open else reason_of(answer),
        closes_with=None if is_open else closes_with(answer),
        is_minimal=read.is_minimal,
    )


def _access(answer: Envelope[Any]) -> Access:
    if answer.reason is Reason.DENIED:
        return Access.DENIED
    if answer.status is Status.OK_EMPTY:
        return Access.EMPTY
    if answer.status in {Status.OK, Status.NOT_FOUND} or answer.value is not None:
        return Access.READABLE
    is_refused_for_content = answer.reason in {None, Reason.NOT_SUPPORTED} and answer.error_code
    return Access.UNCLEAR if is_refused_for_content else Access.FAILED


_TEXTS = {
    "sagemaker:ListClusters": ("ClusterSummaries", "ClusterName"),
    "logs:DescribeLogGroups": ("logGroups", "logGroupName"),
    "amp:ListWorkspaces": ("workspaces", "workspaceId"),
}


def _texts(answers: Answers, operation: str) -> Iterator[str]:
    member, name = _TEXTS[operation]
    for page in answers[operation].value or ():
        for row in objects_at(page, member):
            text = text_at(row, name)
            if text is not None:
                yield text


def _cluster_groups(door: AwsDoor, first: Answers) -> list[str]:
    """Return log groups whose names are those of clusters; none where groups are denied."""
    if first["logs:DescribeLogGroups"].reason is Reason.DENIED:
        return []
    found: dict[str, None] = {}
    for prefix in GROUP_PREFIXES:
        answer = door.read("logs:DescribeLogGroups", {"logGroupNamePrefix": prefix})
        names = _texts({"logs:DescribeLogGroups": answer}, "logs:DescribeLogGroups")
        found.update((name, None) for name in names if name.startswith(prefix))
    return sorted(found)


def _versions() -> dict[str, str]:
    names = ("boto3", "botocore", "mcp", "pydantic")
    found = {"gpuvet": __version__, "python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found

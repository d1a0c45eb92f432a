"""A simulated AWS account: calls take time, come in pages, are throttled, and can be made to fail.

Only reads exist. What an operation without a handler answers is an empty reply of its shape, as
an account without such resources would.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError
from simulated import limits
from simulated.clock import SimulatedClock
from simulated.fleet import ACCOUNT, CLUSTER, CLUSTER_ID, HOUR, REGION, Fleet, Group
from simulated.queries import Query, answer, group_row, lines_between

from gpuvet.aws.insights_filter import MalformedQuery

Params = Mapping[str, Any]
Reply = dict[str, Any]


@dataclass(slots=True)
class Fault:
    """Calls that fail: of one operation, where a test of their parameters holds, so many times."""

    operation: str
    code: str
    when: Callable[[Params], bool] = lambda _: True
    times: int | None = None  # None: always


@dataclass(slots=True)
class Account:
    """See the module. `made` counts the calls that arrived, throttled ones included."""

    fleet: Fleet
    clock: SimulatedClock
    queries_at_once: int = limits.QUERIES_AT_ONCE
    busy_queries: int = 0  # dashboards and others share the quota
    faults: list[Fault] = field(default_factory=list[Fault])
    broken_queries: Callable[[Query], str | None] = lambda _: None  # a query's other end
    rows_a_query: int = limits.ROWS_A_QUERY
    made: Counter[str] = field(default_factory=Counter[str])
    throttled: Counter[str] = field(default_factory=Counter[str])
    queries: dict[str, Query] = field(default_factory=dict[str, Query])
    most_queries_at_once: int = 0
    scanned: float = 0.0
    tokens: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def call(self, operation: str, params: Params) -> Reply:
        """Answer one request; its round trip has passed when it returns.

        Raises:
            ClientError: Throttled, refused, or made to fail.
        """
        self.clock.pass_time(limits.CALL_SECONDS)
        self.made[operation] += 1
        if not self._has_token(operation):
            self.throttled[operation] += 1
            raise failure(operation, "ThrottlingException", "Rate exceeded")
        for fault in self.faults:
            if fault.operation == operation and fault.times != 0 and fault.when(params):
                if fault.times is not None:
                    fault.times -= 1
                raise failure(operation, fault.code, "made to fail")
        handler = _HANDLERS.get(operation)
        return {} if handler is None else handler(self, params)

    def _has_token(self, operation: str) -> bool:
        rate = limits.CALLS_A_SECOND.get(operation, limits.CALLS_A_SECOND_OTHERWISE)
        now = self.clock.seconds
        held, at = self.tokens.get(operation, (rate, now))
        held = min(rate, held + (now - at) * rate)
        is_there = held >= 1
        self.tokens[operation] = (held - 1 if is_there else held, now)
        return is_there

    @property
    def calls(self) -> int:
        """All calls that arrived."""
        return sum(self.made.values())

    def running(self, *, infrequent: bool | None = None) -> int:
        """Return how many queries run now."""
        return sum(
            1
            for query in self.queries.values()
            if not query.is_stopped
            and query.ends_at > self.clock.seconds
            and infrequent in {None, query.infrequent}
        )

    def stored_bytes(self, group: Group) -> int:
        """Return what a group holds within its retention."""
        now = self.fleet.now.timestamp()
        start = now - HOUR * 24 * (group.retention_days or 3650)
        lines = sum(lines_between(one, start, now, now) for one in group.streams.values())
        return lines * limits.BYTES_A_LINE


def failure(operation: str, code: str, message: str) -> ClientError:
    """Return an error response as botocore raises it."""
    name = operation.partition(":")[2]
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    return ClientError(response, name)


def _page(
    operation: str, member: str, rows: Sequence[Any], params: Params, *, size: int | None = None
) -> Reply:
    lower = operation.startswith(("logs:", "eks:"))
    token_name = "nextToken" if lower else "NextToken"
    most = limits.PAGE_ROWS.get(operation, 100)
    wanted = size or params.get("limit") or params.get("MaxResults") or most
    start = int(params.get(token_name) or 0)
    end = start + min(int(wanted), most)
    more = {token_name: str(end)} if end < len(rows) else {}
    return {member: list(rows[start:end]), **more}


def _log_groups(account: Account, params: Params) -> Reply:
    pattern, prefix = params.get("logGroupNamePattern"), params.get("logGroupNamePrefix")
    if pattern is not None and prefix is not None:
        raise failure("logs:DescribeLogGroups", "InvalidParameterException", "not both")
    wanted = params.get("logGroupIdentifiers")
    groups = [
        group
        for name, group in sorted(account.fleet.groups.items())
        if (pattern or "") in name
        and name.startswith(prefix or "")
        and (wanted is None or name in wanted)
    ]
    page = _page("logs:DescribeLogGroups", "logGroups", groups, params)
    stored = {g.name: account.stored_bytes(g) for g in page["logGroups"]} if not pattern else {}
    rows = [group_row(g, stored, by_pattern=pattern is not None) for g in page["logGroups"]]
    return {**page, "logGroups": rows}


def _group_of(account: Account, operation: str, name: str) -> Group:
    group = account.fleet.groups.get(name)
    if group is None:
        raise failure(operation, "ResourceNotFoundException", "no such log group")
    return group


def _log_streams(account: Account, params: Params) -> Reply:
    group = _group_of(account, "logs:DescribeLogStreams", params["logGroupName"])
    prefix = params.get("logStreamNamePrefix", "")
    names = sorted(name for name in group.streams if name.startswith(prefix))
    page = _page("logs:DescribeLogStreams", "logStreams", names, params)
    rows = [{"logStreamName": name, "storedBytes": 0} for name in page["logStreams"]]
    return {**page, "logStreams": rows}


def _start_query(account: Account, params: Params) -> Reply:
    names = params.get("logGroupNames") or params.get("logGroupIdentifiers") or ()
    too_long = len(params["queryString"]) > limits.CHARACTERS_A_QUERY
    if too_long or len(names) > limits.GROUPS_A_QUERY:
        raise failure("logs:StartQuery", "InvalidParameterException", "too long, or too many")
    groups = [_group_of(account, "logs:StartQuery", name) for name in names]
    infrequent = any(group.log_class != "STANDARD" for group in groups)
    running = account.running() + account.busy_queries
    few = limits.QUERIES_AT_ONCE_INFREQUENT
    if running >= account.queries_at_once or (
        infrequent and account.running(infrequent=True) >= few
    ):
        raise failure("logs:StartQuery", "LimitExceededException", "too many queries")
    start, end = params["startTime"], params["endTime"]
    limit = min(params.get("limit") or limits.ROWS_A_PAGE, account.rows_a_query)
    now = account.fleet.now.timestamp()
    try:
        rows, statistics = answer(params["queryString"], groups, start, end, now, limit)
    except MalformedQuery as error:
        raise failure("logs:StartQuery", "MalformedQueryException", str(error)) from error
    took = limits.QUERY_SECONDS + statistics["bytesScanned"] / limits.SCANNED_A_SECOND
    query = Query(
        id=f"query-{len(account.queries):06d}",
        ends_at=account.clock.seconds + took,
        infrequent=infrequent,
        rows=rows,
        statistics=statistics,
        text=params["queryString"],
        groups=tuple(names),
    )
    query.state = account.broken_queries(query) or "Complete"
    account.queries[query.id] = query
    account.scanned += statistics["bytesScanned"]
    account.most_queries_at_once = max(account.most_queries_at_once, account.running())
    return {"queryId": query.id}


def _query_results(account: Account, params: Params) -> Reply:
    query = account.queries.get(params["queryId"])
    if query is None:
        raise failure("logs:GetQueryResults", "ResourceNotFoundException", "no such query")
    if query.is_stopped:
        return {"status": "Cancelled", "results": [], "statistics": query.statistics}
    if account.clock.seconds < query.ends_at + limits.RESULTS_LAG_SECONDS:
        half = query.rows[: min(len(query.rows) // 2, 10)]  # partial rows, as a running query has
        return {"status": "Running", "results": half, "statistics": {}}
    page = _page(
        "logs:GetQueryResults",
        "results",
        query.rows if query.state == "Complete" else [],
        params,
        size=params.get("maxItems") or limits.ROWS_A_PAGE,
    )
    return {**page, "status": query.state, "statistics": query.statistics}


def _stop_query(account: Account, params: Params) -> Reply:
    query = account.queries[params["queryId"]]
    query.is_stopped = True
    return {"success": True}


def _metric_data(account: Account, params: Params) -> Reply:
    """Answer bytes taken in by log groups, and nothing of all other metrics."""
    results: list[Reply] = []
    for query in params["MetricDataQueries"]:
        metric = query.get("MetricStat", {}).get("Metric", {})
        values: list[float] = []
        if metric.get("MetricName") == "IncomingBytes":
            group = account.fleet.groups.get(metric["Dimensions"][0]["Value"])
            start, end = params["StartTime"].timestamp(), params["EndTime"].timestamp()
            now = account.fleet.now.timestamp()
            streams = group.streams.values() if group else ()
            lines = sum(lines_between(one, start, end, now) for one in streams)
            values = [float(lines * limits.BYTES_A_LINE)]
        stamps = [params["StartTime"]] * len(values)
        results.append(
            {"Id": query["Id"], "StatusCode": "Complete", "Values": values, "Timestamps": stamps}
        )
    return {"MetricDataResults": results}


def _identity(_account: Account, _params: Params) -> Reply:
    arn = f"arn:aws:iam::{ACCOUNT}:user/operator"
    return {"Account": ACCOUNT, "Arn": arn, "UserId": "AIDAEXAMPLE"}


def _describe_cluster(account: Account, params: Params) -> Reply:
    if account.fleet.kind != "hyperpod" or params["ClusterName"] != CLUSTER:
        raise failure("sagemaker:DescribeCluster", "ResourceNotFound", "no such cluster")
    groups = Counter(node.group for node in account.fleet.nodes)
    return {
        "ClusterArn": f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:cluster/{CLUSTER_ID}",
        "ClusterName": CLUSTER,
        "ClusterStatus": "InService",
        "NodeRecovery": "Automatic",
        "NodeProvisioningMode": "Continuous",
        "InstanceGroups": [
            {
                "InstanceGroupName": name,
                "InstanceType": "ml.p5.48xlarge",
                "CurrentCount": count,
                "TargetCount": count,
                "Status": "InService",
            }
            for name, count in sorted(groups.items())
        ],
    }


def _cluster_nodes(account: Account, params: Params) -> Reply:
    rows = [
        {
            "InstanceGroupName": node.group,
            "InstanceId": node.id,
            "InstanceType": "ml.p5.48xlarge",
            "LaunchTime": node.launched,
            "InstanceStatus": {"Status": "Running"},
            "PrivateDnsHostname": f"{node.host}.{REGION}.compute.internal",
        }
        for node in (account.fleet.nodes if account.fleet.kind == "hyperpod" else ())
    ]
    return _page("sagemaker:ListClusterNodes", "ClusterNodeSummaries", rows, params)


def _eks_cluster(account: Account, params: Params) -> Reply:
    if account.fleet.kind != "eks" or params["name"] != CLUSTER:
        raise failure("eks:DescribeCluster", "ResourceNotFoundException", "no such cluster")
    arn = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{CLUSTER}"
    return {"cluster": {"name": CLUSTER, "arn": arn, "status": "ACTIVE"}}


_TAGS = {
    "parallelcluster": {
        "Key": "parallelcluster:cluster-name",
        "Value": CLUSTER,
    },
    "eks": {"Key": f"kubernetes.io/cluster/{CLUSTER}", "Value": "owned"},
    "ec2": {"Key": "fleet", "Value": CLUSTER},
}


def _instances(account: Account, params: Params) -> Reply:
    tag = _TAGS.get(account.fleet.kind)
    nodes = account.fleet.nodes if tag is not None and _is_wanted(tag, params) else ()
    rows = [
        {
            "Instances": [
                {
                    "InstanceId": node.id,
                    "InstanceType": "p5.48xlarge",
                    "LaunchTime": node.launched,
                    "State": {"Name": "running"},
                    "PrivateDnsName": f"{node.host}.{REGION}.compute.internal",
                    "PrivateIpAddress": node.address,
                    "Tags": [tag],
                }
            ]
        }
        for node in nodes
    ]
    return _page("ec2:DescribeInstances", "Reservations", rows, params)


def _is_wanted(tag: Mapping[str, str], params: Params) -> bool:
    for one in params.get("Filters") or ():
        name, values = one["Name"], one["Values"]
        if name.startswith("tag:") and (name != f"tag:{tag['Key']}" or tag["Value"] not in values):
            return False
        if name == "tag-key" and tag["Key"] not in values:
            return False
    return True


_HANDLERS: Mapping[str, Callable[[Account, Params], Reply]] = {
    "sts:GetCallerIdentity": _identity,
    "logs:DescribeLogGroups": _log_groups,
    "logs:DescribeLogStreams": _log_streams,
    "logs:StartQuery": _start_query,
    "logs:GetQueryResults": _query_results,
    "logs:StopQuery": _stop_query,
    "cloudwatch:GetMetricData": _metric_data,
    "sagemaker:DescribeCluster": _describe_cluster,
    "sagemaker:ListClusterNodes": _cluster_nodes,
    "eks:DescribeCluster": _eks_cluster,
    "ec2:DescribeInstances": _instances,
}


def account_of(made: Fleet, **more: Any) -> Account:  # noqa: ANN401 (fields of Account)
    """Return an account with a fleet and a clock that stands at its present."""
    return Account(made, SimulatedClock(made.now + timedelta(0)), **more)

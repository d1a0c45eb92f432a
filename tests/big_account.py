"""A made-up HyperPod account of any size behind the AWS door, as far as the source tools ask it.

Whatever is asked is answered in full at once: it is about the size of answers, not about calls.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gpuvet.aws.door import Page
from gpuvet.aws.recorded import canonical
from gpuvet.model.evidence import Envelope, Status

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
ACCOUNT, REGION, CLUSTER = "111122223333", "us-west-2", "train-a"
ARN = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:cluster/0a1b2c3d4e5f"
GROUP = f"/aws/sagemaker/Clusters/{CLUSTER}/0a1b2c3d4e5f"
_SUBNETS = tuple(f"subnet-{place:017x}" for place in range(64))
_GROUPS = ("sg-0a1b2c3d4e5f60718",)
_GPUS = 8


def node_id(place: int) -> str:
    """Return the instance id of one node."""
    return f"i-{place:017x}"


class BigAccount:
    """See `AwsDoor`."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.asked: list[str] = []
        self._queries: dict[str, Mapping[str, Any]] = {}

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Answer one read: what is not told is an empty list."""
        self.asked.append(operation)
        make = _ANSWERS.get(operation)
        page = make(self, params) if make is not None else None
        service, _, name = operation.partition(":")
        return Envelope[tuple[Page, ...]](
            service=service,
            operation=name,
            account=ACCOUNT,
            region=region or REGION,
            params=canonical(params),
            called_at=NOW,
            status=Status.OK if page else Status.OK_EMPTY,
            value=(page,) if page else None,
            pages=1,
        )

    def cluster(self, _: Mapping[str, Any]) -> Page:
        """Answer DescribeCluster."""
        groups = [
            {
                "InstanceGroupName": f"workers-{place}",
                "InstanceType": "ml.p5.48xlarge",
                "CurrentCount": self.nodes // 16,
                "TargetCount": self.nodes // 16,
                "Status": "InService",
            }
            for place in range(16)
        ]
        return {
            "ClusterName": CLUSTER,
            "ClusterArn": ARN,
            "ClusterStatus": "InService",
            "NodeRecovery": "Automatic",
            "NodeProvisioningMode": "Continuous",
            "InstanceGroups": groups,
            "VpcConfig": {"SecurityGroupIds": list(_GROUPS), "Subnets": list(_SUBNETS)},
        }

    def clusters(self, _: Mapping[str, Any]) -> Page:
        """Answer ListClusters: hundreds of them."""
        names = [CLUSTER, *(f"other-{place:04d}" for place in range(self.nodes // 10))]
        rows = [{"ClusterName": n, "ClusterArn": ARN, "ClusterStatus": "InService"} for n in names]
        return {"ClusterSummaries": rows}

    def listed(self, _: Mapping[str, Any]) -> Page:
        """Answer ListClusterNodes: every hundredth node failed."""
        return {
            "ClusterNodeSummaries": [
                {
                    "InstanceId": node_id(place),
                    "InstanceGroupName": f"workers-{place % 16}",
                    "InstanceType": "ml.p5.48xlarge",
                    "LaunchTime": NOW - timedelta(days=10),
                    "InstanceStatus": {
                        "Status": "Running" if place % 100 else "Failure",
                        "Message": "" if place % 100 else "hardware failure " + "x" * 200,
                    },
                    "PrivateDnsHostname": f"ip-10-{place // 65536}-{place // 256 % 256}-{place}",
                }
                for place in range(self.nodes)
            ]
        }

    def events(self, _: Mapping[str, Any]) -> Page:
        """Answer ListClusterEvents: one a node."""
        rows = [
            {
                "EventId": f"00000000-0000-0000-0000-{place:012d}",
                "ClusterArn": ARN,
                "EventTime": NOW - timedelta(seconds=10 * place + 10),
                "EventLevel": "Info",
                "InstanceGroupName": f"workers-{place % 16}",
                "InstanceId": node_id(place),
                "Description": f"EC2 Instance {node_id(place)} successfully provisioned. " * 3,
            }
            for place in range(self.nodes)
        ]
        return {"Events": rows}

    def groups(self, params: Mapping[str, Any]) -> Page | None:
        """Answer DescribeLogGroups."""
        pattern = params.get("logGroupNamePattern") or params.get("logGroupNamePrefix") or ""
        rows = [{"logGroupName": GROUP, "logGroupClass": "STANDARD", "retentionInDays": 90}]
        return {"logGroups": rows} if pattern in GROUP else None

    def streams(self, _: Mapping[str, Any]) -> Page:
        """Answer DescribeLogStreams: an agent's and a script's of each node."""
        names = (
            f"{kind}/workers-{place % 16}/{node_id(place)}"
            for place in range(self.nodes)
            for kind in ("SagemakerHealthMonitoringAgent", "LifecycleConfig")
        )
        return {"logStreams": [{"logStreamName": name} for name in names]}

    def start(self, params: Mapping[str, Any]) -> Page:
        """Answer StartQuery."""
        name = f"q-{len(self._queries)}"
        self._queries[name] = params
        return {"queryId": name}

    def results(self, params: Mapping[str, Any]) -> Page:
        """Answer GetQueryResults: an agent's line of each node, or a count of it."""
        query = str(self._queries[params["queryId"]]["queryString"])
        streams = (
            f"SagemakerHealthMonitoringAgent/workers-{place % 16}/{node_id(place)}"
            for place in range(self.nodes)
        )
        asked = (one for one in streams if "@logStream in" not in query or one in query)
        last = (
            {"hour": "2026-03-10 11:00:00.000", "lines": "1"}
            if "stats" in query
            else {"@timestamp": "2026-03-10 11:00:00.000", "@message": _AGENT_LINE}
        )
        rows = [
            {"@log": f"{ACCOUNT}:{GROUP}", "@logStream": stream, **last}.items() for stream in asked
        ]
        cells = [[{"field": key, "value": value} for key, value in row] for row in rows]
        return {"status": "Complete", "results": cells, "statistics": {}}

    def changes(self, params: Mapping[str, Any]) -> Page | None:
        """Answer LookupEvents: thousands of calls of one name."""
        if params["LookupAttributes"][0]["AttributeValue"] != "BatchRebootClusterNodes":
            return None
        return {"Events": [self._change(place) for place in range(self.nodes)]}

    @staticmethod
    def _change(place: int) -> dict[str, Any]:
        record = {"requestParameters": {"clusterName": CLUSTER, "nodeIds": [node_id(place)]}}
        return {
            "EventId": f"e-{place}",
            "EventName": "BatchRebootClusterNodes",
            "EventTime": NOW - timedelta(seconds=10 * place + 10),
            "Username": "dana",
            "CloudTrailEvent": json.dumps(record),
        }

    def metrics(self, params: Mapping[str, Any]) -> Page | None:
        """Answer ListMetrics: one a GPU."""
        if params["Namespace"] != "CWAgent":
            return None
        return {"Metrics": list(self._metrics())}

    def _metrics(self) -> Iterator[Mapping[str, Any]]:
        for place in range(self.nodes):
            for gpu in range(_GPUS):
                dimensions = [
                    {"Name": "InstanceId", "Value": node_id(place)},
                    {"Name": "index", "Value": str(gpu)},
                ]
                yield {
                    "Namespace": "CWAgent",
                    "MetricName": "nvidia_smi_temperature_gpu",
                    "Dimensions": dimensions,
                }

    def data(self, params: Mapping[str, Any]) -> Page:
        """Answer GetMetricData: one point of each series."""
        results = [
            {"Id": query["Id"], "Timestamps": [params["StartTime"]], "Values": [61.5]}
            for query in params["MetricDataQueries"]
        ]
        return {"MetricDataResults": results}

    def file_systems(self, _: Mapping[str, Any]) -> Page:
        """Answer DescribeFileSystems."""
        rows = [
            {
                "FileSystemId": f"fs-{place:017x}",
                "FileSystemType": "LUSTRE",
                "Lifecycle": "AVAILABLE",
                "StorageCapacity": 4800,
                "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"},
            }
            for place in range(self.nodes // 16)
        ]
        return {"FileSystems": rows}

    def reservations(self, _: Mapping[str, Any]) -> Page:
        """Answer DescribeCapacityReservations."""
        rows = [
            {
                "CapacityReservationId": f"cr-{place:017x}",
                "ReservationType": "capacity-block",
                "State": "active",
                "InstanceType": "p5.48xlarge",
                "EndDate": NOW + timedelta(days=place + 1),
                "TotalInstanceCount": 16,
            }
            for place in range(self.nodes // 8)
        ]
        return {"CapacityReservations": rows}

    @staticmethod
    def subnets(_: Mapping[str, Any]) -> Page:
        """Answer DescribeSubnets: few addresses are left."""
        rows = [
            {"SubnetId": name, "AvailableIpAddressCount": 3, "AvailabilityZoneId": "usw2-az1"}
            for name in _SUBNETS
        ]
        return {"Subnets": rows}


_AGENT_LINE = json.dumps(
    {
        "level": "info",
        "msg": "NPD caught event",
        "HealthMonitoringAgentDetectionEvent": "HealthEvent",
        "details: ": {"reason": "XidHardwareFailure", "message": "NVRM: Xid " + "x" * 200},
    }
)
_ANSWERS: Mapping[str, Callable[[BigAccount, Mapping[str, Any]], Page | None]] = {
    "sagemaker:DescribeCluster": BigAccount.cluster,
    "sagemaker:ListClusters": BigAccount.clusters,
    "sagemaker:ListClusterNodes": BigAccount.listed,
    "sagemaker:ListClusterEvents": BigAccount.events,
    "logs:DescribeLogGroups": BigAccount.groups,
    "logs:DescribeLogStreams": BigAccount.streams,
    "logs:StartQuery": BigAccount.start,
    "logs:GetQueryResults": BigAccount.results,
    "cloudtrail:LookupEvents": BigAccount.changes,
    "cloudwatch:ListMetrics": BigAccount.metrics,
    "cloudwatch:GetMetricData": BigAccount.data,
    "fsx:DescribeFileSystems": BigAccount.file_systems,
    "ec2:DescribeCapacityReservations": BigAccount.reservations,
    "ec2:DescribeSubnets": lambda _, params: BigAccount.subnets(params),
}

"""The read operations that may pass the doors, each with its IAM action.

This list is the whole meaning of "read-only": what is not on it is refused before a client
exists. Names are boto3's: client name, a colon, the operation of the service model. The reads of
Managed Prometheus and Kubernetes have lists of their own (`prometheus_reads.py`,
`kubernetes_reads.py`) and pass the same door under `prometheus:` and `kubernetes:`.
"""

from types import MappingProxyType
from typing import NamedTuple

from gpuvet.aws.kubernetes_reads import KUBERNETES_READS
from gpuvet.aws.prometheus_reads import PROMETHEUS_READS
from gpuvet.errors import NotReadOnly


class Read(NamedTuple):
    """One operation that may pass."""

    operation: str  # service:Operation, with boto3's client name
    iam_action: str
    is_minimal: bool = True  # part of the minimal policy
    rows: tuple[str, ...] = ()  # members whose rows are the answer; (): a single object

    @property
    def service(self) -> str:
        """boto3's client name."""
        return self.operation.partition(":")[0]

    @property
    def name(self) -> str:
        """The operation of the service model."""
        return self.operation.partition(":")[2]


# IAM's prefix differs from the client's name for these services only.
_IAM_PREFIX = {"service-quotas": "servicequotas", "amp": "aps"}

_NAMES = {
    "sagemaker": (
        "ListClusters",
        "DescribeCluster",
        "ListClusterNodes",
        "DescribeClusterNode",
        "ListClusterEvents",
        "DescribeClusterEvent",
        "DescribeTrainingPlan",
        "ListTrainingPlans",
    ),
    "ec2": (
        "DescribeInstances",
        "DescribeInstanceTypes",
        "DescribeInstanceStatus",
        "DescribeCapacityReservations",
        "DescribeCapacityBlocks",
        "DescribeCapacityBlockStatus",
        "DescribeCapacityBlockExtensionOfferings",
        "DescribeCapacityBlockExtensionHistory",
        "DescribeSecurityGroups",
        "DescribeSubnets",
        "DescribeRouteTables",
        "DescribeNetworkInterfaces",
        "GetManagedPrefixListEntries",
    ),
    "logs": (
        "DescribeLogGroups",
        "ListLogGroups",
        "DescribeLogStreams",
        "FilterLogEvents",
        "GetLogEvents",
        "StartQuery",
        "GetQueryResults",
        "StopQuery",  # ends a query of our own; nothing of the customer's changes
    ),
    "cloudwatch": ("ListMetrics", "GetMetricData", "DescribeAlarms", "DescribeAlarmHistory"),
    "cloudtrail": ("LookupEvents",),
    "health": ("DescribeEvents", "DescribeAffectedEntities", "DescribeEventDetails"),
    "events": ("ListRules", "ListTargetsByRule"),
    "fsx": ("DescribeFileSystems",),
    "eks": (
        "DescribeCluster",
        "ListNodegroups",
        "DescribeNodegroup",
        "ListAddons",
        "DescribeAddon",
    ),
    "service-quotas": ("GetServiceQuota", "ListServiceQuotas", "GetAWSDefaultServiceQuota"),
    "amp": ("ListWorkspaces", "DescribeWorkspace"),
}

# Outside the minimal policy: a denial is expected and said so.
_EXTRAS = {"ec2": ("DescribeVpcEndpoints",), "kms": ("DescribeKey",)}

# Where an answer's rows stand (botocore 1.44.8 output shapes). All empty: zero rows.
_ROWS = {
    "sagemaker:ListClusters": ("ClusterSummaries",),
    "sagemaker:ListClusterNodes": ("ClusterNodeSummaries",),
    "sagemaker:ListClusterEvents": ("Events",),
    "sagemaker:ListTrainingPlans": ("TrainingPlanSummaries",),
    "ec2:DescribeInstances": ("Reservations",),
    "ec2:DescribeInstanceTypes": ("InstanceTypes",),
    "ec2:DescribeInstanceStatus": ("InstanceStatuses",),
    "ec2:DescribeCapacityReservations": ("CapacityReservations",),
    "ec2:DescribeCapacityBlocks": ("CapacityBlocks",),
    "ec2:DescribeCapacityBlockStatus": ("CapacityBlockStatuses",),
    "ec2:DescribeCapacityBlockExtensionOfferings": ("CapacityBlockExtensionOfferings",),
    "ec2:DescribeCapacityBlockExtensionHistory": ("CapacityBlockExtensions",),
    "ec2:DescribeSecurityGroups": ("SecurityGroups",),
    "ec2:DescribeSubnets": ("Subnets",),
    "ec2:DescribeRouteTables": ("RouteTables",),
    "ec2:DescribeNetworkInterfaces": ("NetworkInterfaces",),
    "ec2:DescribeVpcEndpoints": ("VpcEndpoints",),
    "ec2:GetManagedPrefixListEntries": ("Entries",),
    "logs:DescribeLogGroups": ("logGroups",),
    "logs:ListLogGroups": ("logGroups",),
    "logs:DescribeLogStreams": ("logStreams",),
    "logs:FilterLogEvents": ("events",),
    "logs:GetLogEvents": ("events",),
    "logs:GetQueryResults": ("results",),
    "cloudwatch:ListMetrics": ("Metrics",),
    "cloudwatch:GetMetricData": ("MetricDataResults",),
    "cloudwatch:DescribeAlarms": ("MetricAlarms", "CompositeAlarms", "LogAlarms"),
    "cloudwatch:DescribeAlarmHistory": ("AlarmHistoryItems",),
    "cloudtrail:LookupEvents": ("Events",),
    "health:DescribeEvents": ("events",),
    "health:DescribeAffectedEntities": ("entities",),
    "health:DescribeEventDetails": ("successfulSet", "failedSet"),
    "events:ListRules": ("Rules",),
    "events:ListTargetsByRule": ("Targets",),
    "fsx:DescribeFileSystems": ("FileSystems",),
    "eks:ListNodegroups": ("nodegroups",),
    "eks:ListAddons": ("addons",),
    "service-quotas:ListServiceQuotas": ("Quotas",),
    "amp:ListWorkspaces": ("workspaces",),
}


def _reads() -> dict[str, Read]:
    rows = [
        Read(
            f"{service}:{name}",
            f"{_IAM_PREFIX.get(service, service)}:{name}",
            minimal,
            _ROWS.get(f"{service}:{name}", ()),
        )
        for table, minimal in ((_NAMES, True), (_EXTRAS, False))
        for service, names in table.items()
        for name in names
    ]
    # Needs no permission and cannot be denied by an identity policy: the credential probe.
    rows.append(Read("sts:GetCallerIdentity", "sts:GetCallerIdentity", is_minimal=False))
    return {row.operation: row for row in rows}


READS = MappingProxyType(_reads())

PROMETHEUS, KUBERNETES = "prometheus", "kubernetes"


def _other_doors() -> dict[str, Read]:
    rows = [
        Read(f"{PROMETHEUS}:{name}", one.iam_action, rows=(one.rows,))
        for name, one in PROMETHEUS_READS.items()
    ]
    # The token is a signed GetCallerIdentity; what it may read, the cluster's own roles say.
    rows += [
        Read(f"{KUBERNETES}:{name}", "", is_minimal=False, rows=("items",))
        for name in KUBERNETES_READS
    ]
    return {row.operation: row for row in rows}


# What passes the same door and is no operation of an AWS API.
OTHER_READS = MappingProxyType(_other_doors())


def read_of(operation: str) -> Read:
    """Return the row of one operation.

    Raises:
        NotReadOnly: The operation is not on the list.
    """
    row = READS.get(operation) or OTHER_READS.get(operation)
    if row is None:
        msg = (
            f"wanted {operation!r}, which is not one of the {len(READS) + len(OTHER_READS)} read "
            "operations; gpuvet changes nothing and calls nothing else"
        )
        raise NotReadOnly(msg)
    return row


def services_of(name: str) -> tuple[str, ...]:
    """Return the services that have a read of this name, e.g. DescribeCluster: eks, sagemaker."""
    return tuple(sorted(row.service for row in READS.values() if row.name == name))

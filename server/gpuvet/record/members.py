"""Which members of a reply hold a name that somebody chose, and which secrets. Data.

Compared with the output shapes of every read (botocore 1.44.8) by a test; members of other names
are running text, in which names known from elsewhere and identifiers by their form are found.
"""

import re

# A name as a whole: of a cluster, a user, a role, a job, a rule.
NAMES = frozenset(
    {
        # AWS replies and the requests that CloudTrail keeps
        *("ActiveDirectoryId", "CapacityReservationFleetId", "ClientToken"),
        *("ClusterName", "Database", "DbUser", "DomainName", "EventBusName", "ExecutionRole"),
        *("FileSystemAdministratorsGroup", "GroupName", "InstanceGroupName", "JobDefinition"),
        *("JobName", "KeyName", "MountName", "NodeLogicalId", "OperationId", "PartitionNames"),
        *("PrivateDnsName", "PrivateDnsSpecifiedDomains", "PublicDnsName", "DNSName", "DnsName"),
        *("ResourceName", "RoleName", "RoleSessionName", "SnapshotPolicy", "SpreadDomain"),
        *("StackName", "StatementName", "TrainingJobName", "TrainingPlanName", "UserName"),
        *("Username", "InstanceProfileName", "BucketName", "WorkspaceAlias"),
        *("alias", "bucketName", "clusterName", "ec2SshKey", "endpoint", "entityValue", "issuer"),
        *("groupName", "instanceGroupName", "instanceProfileName", "jobName", "keyName"),
        *("nodePools", "nodegroupName", "nodegroups", "principalId", "resourceIds", "roleName"),
        *("roleSessionName", "sourceIdentity", "stackName", "trainingJobName", "userName"),
        *("clientRequestToken", "clientToken"),
        *("capacityProvider", "Endpoint", "Group", "HostedZoneId", "MessageGroupId"),
        *("OrganizationalUnitDistinguishedName", "PrivateDnsHostname", "PublicDualStackDnsName"),
        *("PublicIpv4DnsName", "PublicIpv6DnsName", "ReferenceId", "RemoteAdministrationEndpoint"),
        *("prometheusEndpoint", "retentionPolicyName"),
        # logs in JSON, Kubernetes and Prometheus
        *("Hostname", "hostname", "hostName", "host", "_HOSTNAME", "node", "nodeName", "nodename"),
        *("node_name", "pod", "pod_name", "podName", "namespace", "namespace_name", "container"),
        *("container_name", "exported_pod", "exported_namespace", "exported_container"),
        *("exported_job", "kubernetes_node", "generateName", "serviceAccountName", "secretName"),
        *("cluster", "cluster_name", "subdomain", "username", "user", "team", "owner_name"),
    }
)
# Several names with separators between them.
PATHS = frozenset(
    {
        *("logGroupName", "logStreamName", "logGroupIdentifier", "logGroupIdentifiers"),
        *("logGroupNames", "LogGroupIdentifiers", "logGroupNamePattern", "logGroupNamePrefix"),
        *("LogGroupName", "LogStreamName", "@logStream", "@log", "MountPath", "VolumePath"),
        *("JunctionPath", "SourceS3Uri", "S3OutputPath", "ExportPath", "ImportPath", "image"),
        *("imageID", "AlarmName", "Destination", "log_group", "log_stream", "requestedBy"),
    }
)
# A service's word, or one that somebody put in its place: a name where we do not know all of it.
KEYS = frozenset({"Namespace", "MetricNamespace", "ExcludedTagKeys", "IncludedTagKeys"})
# `Name` and `name` are a name where the object they stand in is one of these.
NAMED_OBJECTS = frozenset(
    {
        *("Rules", "cluster", "nodegroup", "metadata", "involvedObject", "ownerReferences"),
        *("requestParameters", "containers", "initContainers", "containerStatuses", "secretRef"),
        *("configMapRef", "volumes", "persistentVolumeClaim", "alerts", "regarding"),
    }
)
# Pairs of what is meant and what it is: a tag, a dimension, a filter, a field of a log query.
PAIRS = (
    ("Key", "Value"),
    ("key", "value"),
    ("Name", "Value"),
    ("Name", "Values"),
    ("AttributeKey", "AttributeValue"),
    ("field", "value"),
)
TAG_OBJECTS = frozenset({"Tags", "tags", "TagSet", "tagSet", "tagSpecificationSet"})
TAG_FILTER = "tag:"
LABEL_OBJECTS = frozenset(
    {
        *("tags", "labels", "annotations", "CurrentLabels", "DesiredLabels", "resourceTags"),
        *("accountTags", "entityMetadata", "nodeSelector", "matchLabels"),
    }
)
# Tags and labels whose values the services write; the rest are people's words.
_SYSTEM_KEYS = re.compile(
    r"aws:(?!eks:cluster-name|cloudformation|autoscaling:groupName)"
    r"|parallelcluster:(?:version|node-type|attributes|networking|filesystem)"
    r"|(?:[\w.-]+\.)?(?:kubernetes\.io|k8s\.io|nvidia\.com|k8s\.aws|karpenter\.sh|amazonaws\.com)/"
    r"|eks:(?!cluster-name|nodegroup-name)"
)

# Never kept, whatever they hold: passwords, tokens, certificates, data that starts a machine.
MASKED = frozenset(
    {
        *("activationCode", "FsxAdminPassword", "encryptionKey", "userData", "UserData"),
        *("HeaderParameters", "QueryStringParameters", "Sql", "Sqls", "AccessKeyId"),
        *("accessKeyId", "SecretAccessKey", "secretAccessKey", "SessionToken", "sessionToken"),
        *("DomainJoinServiceAccountSecret", "password", "Password"),
    }
)
MASKED_BELOW = frozenset({"certificateAuthority"})
# Opaque to everybody but the service; nobody asks with them again.
TOKENS = frozenset(
    {
        *("NextToken", "nextToken", "nextForwardToken", "nextBackwardToken"),
        *("uploadSequenceToken", "continue"),
    }
)
ENVIRONMENTS = frozenset(
    {"Environment", "environment", "env", "EnvironmentVariables", "environmentVariables"}
)
# Settings of libraries that verdicts rest on; what any other variable is set to is not kept.
KEPT_VARIABLES = re.compile(
    r"(?:NCCL|FI|TORCH|TORCHELASTIC|PYTORCH|CUDA|OMP|OFI|UCX|NVIDIA|RDMAV|PMI|SLURM|GLOO|HSA|XLA"
    r"|NEURON|MKL|TF|JAX|HYDRA)_\w+"
    r"|MASTER_(?:ADDR|PORT)|WORLD_SIZE|(?:LOCAL_|GROUP_|NODE_)?RANK|LOGLEVEL|PYTHONUNBUFFERED"
)


def is_system_key(key: str) -> bool:
    """Say whether a tag or label of this key carries a service's word, not a person's."""
    return _SYSTEM_KEYS.match(key) is not None

"""Every field of a HyperPodPyTorchJob: type, range, whether required, who says so.

The job's own part follows the HyperPod CLI's model of the CRD (the CRD itself is not published);
pods, containers and metadata follow Kubernetes core/v1.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

CLI = "HyperPod CLI model of the CRD, 3.9.0"
AWS = "AWS: using the HyperPod training operator"
ELASTIC = "AWS: elastic training in HyperPod"
K8S = "Kubernetes API reference, core/v1"


OPERATORS = ("gt", "gteq", "lt", "lteq", "eq")  # of log monitors; all that the agent knows


class FieldRow(NamedTuple):
    """One field of an object.

    `type` is string, int, bool, any, text_map, quantity_map, an object's name, or a list of one
    of these: `[Rule]`.
    """

    name: str
    type: str
    source: str = CLI
    required: bool = False
    minimum: int | None = None
    choices: tuple[str, ...] = ()
    about: str = ""


_JOB = (
    FieldRow("apiVersion", "string", AWS),  # HPJ010
    FieldRow("kind", "string", CLI),  # HPJ011
    FieldRow("metadata", "ObjectMeta", K8S),
    FieldRow("spec", "JobSpec"),
    FieldRow("status", "any", CLI, about="read-only"),  # HPJ007
)

_JOB_SPEC = (
    FieldRow(
        "nprocPerNode",
        "string",
        AWS,
        about='worker processes of a pod: auto, cpu, gpu or a number in quotes; default "auto"',
    ),
    FieldRow("replicaSpecs", "[ReplicaSpec]", AWS, about="pod groups of the job"),
    FieldRow("runPolicy", "RunPolicy", AWS),
    FieldRow("elasticPolicy", "ElasticPolicy", ELASTIC, about="needs operator 1.2"),
)

_REPLICA_SPEC = (
    FieldRow("name", "string", AWS, required=True),
    FieldRow("replicas", "int", AWS, minimum=0, about="pods wanted; missing means 0"),
    FieldRow("maxReplicas", "int", ELASTIC, minimum=0),
    FieldRow("spares", "int", AWS, minimum=0, about="needs Kueue"),
    FieldRow("template", "PodTemplate", AWS),
)

_RUN_POLICY = (
    FieldRow("jobMaxRetryCount", "int", AWS, minimum=0, about="most process-level restarts"),
    FieldRow("restartPolicy", "RestartPolicy", AWS),
    FieldRow("cleanPodPolicy", "string", AWS, choices=("All", "OnlyComplete", "None")),
    FieldRow("logMonitoringConfiguration", "[Rule]", AWS),
    FieldRow("activeDeadlineSeconds", "int", minimum=1),
    FieldRow("startupDeadlineSeconds", "int", minimum=0),
    FieldRow("faultDeadlineSeconds", "int", minimum=0),
    FieldRow("ttlSecondsAfterFinished", "int", minimum=-1, about="-1 keeps; default 0"),
    FieldRow("suspend", "bool"),
    FieldRow("workloadMode", "string"),
)

_RESTART_POLICY = (
    FieldRow(
        "evalPeriodSeconds",
        "int",
        AWS,
        required=True,
        minimum=1,
        about="window over which restarts are counted",
    ),
    FieldRow("numRestartBeforeFullJobRestart", "int", AWS, minimum=0),
    FieldRow("maxFullJobRestarts", "int", AWS, minimum=0),
    FieldRow("maxNumRepeatOffendersToAvoid", "int", minimum=0),
    FieldRow("scaleUpSnoozeTimeInSeconds", "int", minimum=0),
)

_ELASTIC_POLICY = (
    FieldRow("minReplicas", "int", ELASTIC, minimum=0),
    FieldRow("maxReplicas", "int", ELASTIC, minimum=0),
    FieldRow("replicaIncrementStep", "int", ELASTIC),  # HPJ102
    FieldRow("replicaDiscreteValues", "[int]", ELASTIC),  # HPJ102
    FieldRow("scalingTimeoutInSeconds", "int", ELASTIC, minimum=0),
    FieldRow("gracefulShutdownTimeoutInSeconds", "int", ELASTIC, minimum=0),
    FieldRow("faultyScaleDownTimeoutInSeconds", "int", ELASTIC, minimum=0),
)

_RULE = (
    FieldRow("name", "string", AWS, required=True),
    FieldRow("logPattern", "string", AWS, required=True, about="Python regular expression"),
    FieldRow("expectedStartCutOffInSeconds", "int", AWS, minimum=1),
    FieldRow("expectedRecurringFrequencyInSeconds", "int", AWS, minimum=1),
    FieldRow("stopPattern", "string", AWS, about="line that switches the rule off"),
    FieldRow("metricThreshold", "any", AWS, about="a whole number"),  # HPJ127
    FieldRow("operator", "any", AWS, about="gt, gteq, lt, lteq or eq"),  # HPJ129
    FieldRow("metricEvaluationDataPoints", "any", AWS, about="1 or more"),  # HPJ128
    FieldRow("faultOnMatch", "bool", AWS, about="needs agent 1.1.0"),
)

_META = (
    *(FieldRow(name, "string", K8S) for name in ("name", "generateName", "namespace")),
    FieldRow("labels", "text_map", K8S),
    FieldRow("annotations", "text_map", K8S),
    FieldRow("finalizers", "[string]", K8S),
    FieldRow("ownerReferences", "any", K8S),
    *(  # set by the API server: HPJ007
        FieldRow(name, "any", K8S)
        for name in (
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "managedFields",
            "selfLink",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        )
    ),
)

_POD_TEMPLATE = (FieldRow("metadata", "ObjectMeta", K8S), FieldRow("spec", "PodSpec", K8S))

_POD_SPEC = (
    FieldRow("containers", "[Container]", K8S),
    FieldRow("initContainers", "[Container]", K8S),
    FieldRow("volumes", "[Volume]", K8S),
    FieldRow("nodeSelector", "text_map", K8S),
    *(
        FieldRow(name, "string", K8S)
        for name in (
            "dnsPolicy",
            "hostname",
            "nodeName",
            "preemptionPolicy",
            "priorityClassName",
            "restartPolicy",
            "runtimeClassName",
            "schedulerName",
            "serviceAccount",
            "serviceAccountName",
            "subdomain",
            "hostnameOverride",
        )
    ),
    *(
        FieldRow(name, "bool", K8S)
        for name in (
            "automountServiceAccountToken",
            "enableServiceLinks",
            "hostIPC",
            "hostNetwork",
            "hostPID",
            "hostUsers",
            "setHostnameAsFQDN",
            "shareProcessNamespace",
        )
    ),
    *(
        FieldRow(name, "int", K8S)
        for name in ("activeDeadlineSeconds", "priority", "terminationGracePeriodSeconds")
    ),
    *(
        FieldRow(name, "any", K8S)
        for name in (
            "affinity",
            "dnsConfig",
            "ephemeralContainers",
            "hostAliases",
            "imagePullSecrets",
            "os",
            "overhead",
            "readinessGates",
            "resourceClaims",
            "resources",
            "schedulingGates",
            "securityContext",
            "tolerations",
            "topologySpreadConstraints",
            "workloadRef",
        )
    ),
)

_CONTAINER = (
    FieldRow("name", "string", K8S),
    FieldRow("image", "string", K8S),
    FieldRow("command", "[string]", K8S),
    FieldRow("args", "[string]", K8S),
    FieldRow("env", "[EnvVar]", K8S),
    FieldRow("ports", "[ContainerPort]", K8S),
    FieldRow("resources", "Resources", K8S),
    FieldRow("volumeMounts", "[VolumeMount]", K8S),
    FieldRow("imagePullPolicy", "string", K8S, choices=("Always", "IfNotPresent", "Never")),
    *(FieldRow(name, "string", K8S) for name in ("workingDir", "terminationMessagePath")),
    *(FieldRow(name, "string", K8S) for name in ("terminationMessagePolicy", "restartPolicy")),
    *(FieldRow(name, "bool", K8S) for name in ("stdin", "stdinOnce", "tty")),
    *(
        FieldRow(name, "any", K8S)
        for name in (
            "envFrom",
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "resizePolicy",
            "restartPolicyRules",
            "securityContext",
            "startupProbe",
            "volumeDevices",
        )
    ),
)

_ENV = (
    FieldRow("name", "string", K8S),
    FieldRow("value", "string", K8S),
    FieldRow("valueFrom", "any", K8S),
)

_PORT = (
    FieldRow("containerPort", "int", K8S, minimum=1),
    FieldRow("hostPort", "int", K8S, minimum=0),
    *(FieldRow(name, "string", K8S) for name in ("name", "protocol", "hostIP")),
)

_RESOURCES = (
    FieldRow("requests", "quantity_map", K8S),
    FieldRow("limits", "quantity_map", K8S),
    FieldRow("claims", "any", K8S),
)

_MOUNT = (
    *(
        FieldRow(name, "string", K8S)
        for name in ("name", "mountPath", "subPath", "subPathExpr", "mountPropagation")
    ),
    FieldRow("readOnly", "bool", K8S),
    FieldRow("recursiveReadOnly", "string", K8S),
)

_VOLUME = (
    FieldRow("name", "string", K8S),
    *(
        FieldRow(name, "any", K8S)
        for name in (
            "awsElasticBlockStore",
            "azureDisk",
            "azureFile",
            "cephfs",
            "cinder",
            "configMap",
            "csi",
            "downwardAPI",
            "emptyDir",
            "ephemeral",
            "fc",
            "flexVolume",
            "flocker",
            "gcePersistentDisk",
            "gitRepo",
            "glusterfs",
            "hostPath",
            "image",
            "iscsi",
            "nfs",
            "persistentVolumeClaim",
            "photonPersistentDisk",
            "portworxVolume",
            "projected",
            "quobyte",
            "rbd",
            "scaleIO",
            "secret",
            "storageos",
            "vsphereVolume",
        )
    ),
)

OBJECTS: Mapping[str, Mapping[str, FieldRow]] = MappingProxyType(
    {
        name: MappingProxyType({row.name: row for row in rows})
        for name, rows in {
            "Job": _JOB,
            "JobSpec": _JOB_SPEC,
            "ReplicaSpec": _REPLICA_SPEC,
            "RunPolicy": _RUN_POLICY,
            "RestartPolicy": _RESTART_POLICY,
            "ElasticPolicy": _ELASTIC_POLICY,
            "Rule": _RULE,
            "ObjectMeta": _META,
            "PodTemplate": _POD_TEMPLATE,
            "PodSpec": _POD_SPEC,
            "Container": _CONTAINER,
            "EnvVar": _ENV,
            "ContainerPort": _PORT,
            "Resources": _RESOURCES,
            "VolumeMount": _MOUNT,
            "Volume": _VOLUME,
        }.items()
    }
)

# Where the job's own objects live, for "move it to".
HOMES: Mapping[str, str] = MappingProxyType(
    {
        "ObjectMeta": "metadata",
        "JobSpec": "spec",
        "ReplicaSpec": "spec.replicaSpecs[]",
        "RunPolicy": "spec.runPolicy",
        "RestartPolicy": "spec.runPolicy.restartPolicy",
        "ElasticPolicy": "spec.elasticPolicy",
        "Rule": "spec.runPolicy.logMonitoringConfiguration[]",
        "PodTemplate": "spec.replicaSpecs[].template",
        "PodSpec": "spec.replicaSpecs[].template.spec",
        "Container": "spec.replicaSpecs[].template.spec.containers[]",
        "Resources": "spec.replicaSpecs[].template.spec.containers[].resources",
    }
)

# Names of other resources that people bring along, with what they are called here.
FOREIGN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "backoffLimit": "runPolicy.jobMaxRetryCount",
        "maxRestarts": "runPolicy.restartPolicy.numRestartBeforeFullJobRestart",
        "maxRetries": "runPolicy.jobMaxRetryCount",
        "maxRetry": "runPolicy.jobMaxRetryCount",
        "pytorchReplicaSpecs": "replicaSpecs",
        "schedulingPolicy": "metadata.labels kueue.x-k8s.io/queue-name",
        "logMonitoring": "logMonitoringConfiguration",
        "nnodes": "replicaSpecs[].replicas",
        "replicaCount": "replicas",
        "numReplicas": "replicas",
        "nodeCount": "replicas",
        "instanceType": "template.spec.nodeSelector node.kubernetes.io/instance-type",
        "pattern": "logPattern",
        "regex": "logPattern",
        "threshold": "metricThreshold",
        "dataPoints": "metricEvaluationDataPoints",
    }
)

"""Words of names that stay: the field's own, the services' and what every machine is called.

Names of log groups and streams say what they carry, and that must be read from a recording as
from the account. None of these words says whose it is.
"""

import re
from functools import cache
from importlib.resources import files

_WORDS = """
kernel kern messages message syslog system dmesg journal journald kmsg gpu log logs var tmp host
secure cloud init cfn chef client supervisord clustermgtd computemgtd clusterstatusmgtd slurm
slurmd slurmctld slurmdbd resume suspend compute console output bootstrap error msg dcv sssd pam
ssh key generator LifecycleConfig DeepHealthCheckResults ClusterMetrics
SagemakerHealthMonitoringAgent kube apiserver controller manager scheduler audit authenticator
application dataplane performance
containers container containerinsights rank stdout stderr aws eks ec2 fsx efa s3 sns sqs lambda
sagemaker Clusters cluster clusters parallelcluster training jobs job TrainingJobs vendedlogs
prometheus amazon AmazonCloudWatch cloudwatch agent hyperpod nvidia dcgm nccl xid sxid nvlink
neuron nodemanager health monitoring node nodes head login worker workers main default kubeflow
dy st role service assumed user policy instance profile group alarm rule arn root ubuntu admin
public private internal local svc http https com org net io gov mil edu cn us eu ap sa ca af me il
mx events rds batch ecs ssm vpc flowlogs codebuild bedrock apigateway stream streams log ip
north south east west central northeast southeast northwest southwest latest v1 v2 pytorch
"""
_VOCABULARY = frozenset(_WORDS.lower().split())
# Instance families, sizes and GPUs: p5en, trn2, 48xlarge, h200.
_HARDWARE = re.compile(
    r"(?:p|g|c|m|r|t|x|u|i|dl|trn|inf|hpc)\d{1,2}(?:[a-z]{1,3})?|\d{1,3}xlarge|(?:gb|[abhlv])\d{2,3}"
)

# Whole values that are no names: what services, systems and everybody write.
_GENERIC = re.compile(
    r"""(?ix)
      true | false | yes | no | none | null | all | any | self | owned | shared | enabled | disabled
    | default | root | ubuntu | ec2-user | nobody | admin | system | unknown | other | n/a | -
    | headnode | compute | loginnode | queue | running | stopped | pending | terminated
    | kube-(?:system|public|node-lease|proxy) | coredns | vpc-cni | amazon-cloudwatch
    | (?:ml\.|db\.)?[a-z]{1,4}\d{0,2}[a-z0-9-]{0,10}\.
        (?:\d{1,3}x?)?(?:large|medium|small|micro|nano|metal)(?:-\d{1,2}xl)?
    | (?:us|eu|ap|sa|ca|af|me|il|mx|cn)(?:-gov|-iso[a-f]?)?-
        (?:north|south|east|west|central|northeast|northwest|southeast|southwest)-\d[a-z]?
    | [a-z]{3,4}\d-az\d
    | [\d.,:%+-]{1,8} | v?\d+(?:\.\d+){0,4}
    | \*+ | AWSServiceRoleFor\w+ | [a-z0-9-]{2,30}\.amazonaws\.com(?:\.cn)?
    """
)
# Domains that everybody uses. The labels before one of these are somebody's; the rest stays.
_PUBLIC_DOMAIN = re.compile(
    r"""(?ix)
      (?:^|\.)(?:
        (?:(?:[a-z]{2}(?:-[a-z]+)+-\d[a-z]?|s3|eks|ec2|fsx|gr\d+|sk\d|yl4|elb|dkr|ecr|compute(?:-\d)?
          |vpce|logs|sagemaker|aps-workspaces|aps|monitoring|sts|iam|health|events|execute-api
          |oidc|api|dualstack)\.)*amazonaws\.com(?:\.cn)?
      | (?:[a-z0-9-]+\.)?amazon\.com | api\.aws | on\.aws
      | (?:[a-z]{2}(?:-[a-z]+)+-\d\.)?compute\.internal | ec2\.internal | k8s\.aws
      | (?:[\w-]+\.)*kubernetes\.io | (?:[\w-]+\.)*k8s\.io | svc\.cluster\.local | cluster\.local
      | nvidia\.com | kubeflow\.org | karpenter\.sh | eksctl\.io | pytorch\.org | github\.com
      | docker\.io | gcr\.io | quay\.io | ghcr\.io | public\.ecr\.aws | huggingface\.co
      | python\.org | pypi\.org | ubuntu\.com | kernel\.org | schedmd\.com | w3\.org
      | opentelemetry\.io
      )$
    """
)


def is_field_word(word: str) -> bool:
    """Say whether a word of a name stays in it."""
    lowered = word.lower()
    return lowered in _VOCABULARY or _HARDWARE.fullmatch(lowered) is not None


def is_generic(value: str) -> bool:
    """Say whether a whole value names nothing of anybody's."""
    return _GENERIC.fullmatch(value) is not None


def public_end(host: str) -> int:
    """Return where in a host name the domain begins that everybody uses; its length if none."""
    found = _PUBLIC_DOMAIN.search(host)
    return len(host) if found is None else found.start()


@cache
def own_words() -> frozenset[str]:
    """Return every word that stands in gpuvet's own source, in lower case.

    A name that is one of them cannot be told from running text, and a stand-in must be none: put
    back, it would change what a report says.
    """
    words: set[str] = set()
    folders = [files("gpuvet")]
    while folders:
        for entry in folders.pop().iterdir():
            if entry.is_dir():
                folders.append(entry)
            elif entry.name.endswith(".py"):
                text = entry.read_text(encoding="utf-8").lower()
                words.update(re.findall(r"[a-z0-9]+", text))
    return frozenset(words)

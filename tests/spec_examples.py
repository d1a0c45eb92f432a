"""For every check a spec that raises it and a near miss that does not."""

from collections.abc import Mapping
from typing import NamedTuple

from gpuvet.model.check import CheckOptions

BASE = """\
apiVersion: sagemaker.amazonaws.com/v1
kind: HyperPodPyTorchJob
metadata:
  name: heron-7b
  namespace: hyperpod-ns-heron
  labels:
    kueue.x-k8s.io/queue-name: hyperpod-ns-heron-localqueue
spec:
  nprocPerNode: "8"
  replicaSpecs:
    - name: pods
      replicas: 4
      template:
        metadata:
          labels:
            job-name: heron-7b
        spec:
          nodeSelector:
            node.kubernetes.io/instance-type: ml.p5.48xlarge
          containers:
            - name: trainer
              image: 111122223333.dkr.ecr.us-west-2.amazonaws.com/heron:1.4
              imagePullPolicy: IfNotPresent
              ports:
                - containerPort: 8080
              command:
                - hyperpodrun
                - --tee=3
                - --log_dir=/tmp/hyperpod
                - --nnodes=4
                - --nproc-per-node=8
                - /opt/heron/train.py
                - --checkpoint_dir=/fsx/heron/ckpt
              env:
                - name: FI_PROVIDER
                  value: efa
                - name: NCCL_DEBUG
                  value: WARN
              resources:
                requests:
                  cpu: "160"
                  memory: 1600Gi
                  nvidia.com/gpu: 8
                  vpc.amazonaws.com/efa: 32
                  hugepages-2Mi: 5120Mi
                limits:
                  nvidia.com/gpu: 8
                  vpc.amazonaws.com/efa: 32
                  hugepages-2Mi: 5120Mi
              volumeMounts:
                - name: shm
                  mountPath: /dev/shm
                - name: fsx
                  mountPath: /fsx
          volumes:
            - name: shm
              emptyDir:
                medium: Memory
                sizeLimit: 200Gi
            - name: fsx
              persistentVolumeClaim:
                claimName: fsx-heron
  runPolicy:
    jobMaxRetryCount: 7
    restartPolicy:
      numRestartBeforeFullJobRestart: 3
      evalPeriodSeconds: 21600
      maxFullJobRestarts: 1
    cleanPodPolicy: "None"
    ttlSecondsAfterFinished: 86400
    logMonitoringConfiguration:
      - name: StepHang
        logPattern: '.*global_step=\\d+ loss=.*'
        expectedStartCutOffInSeconds: 900
        expectedRecurringFrequencyInSeconds: 900
        stopPattern: '.*training loop finished.*'
      - name: SlowTokens
        logPattern: '.*tokens_per_sec=([0-9]+(?:\\.[0-9]+)?).*'
        metricThreshold: 9000
        operator: lt
        metricEvaluationDataPoints: 30
        stopPattern: '.*training loop finished.*'
"""
SERVICE_MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: operator
  namespace: aws-hyperpod
spec:
  selector: {}
  endpoints:
    - targetPort: 8081
      path: /metrics
"""
ELASTIC = """\
  elasticPolicy:
    minReplicas: 2
    maxReplicas: 8
    replicaIncrementStep: 2
    gracefulShutdownTimeoutInSeconds: 600
    scalingTimeoutInSeconds: 120
  replicaSpecs:
    - name: pods
      replicas: 4
      maxReplicas: 8
"""
SIGNAL = """\
                - name: HYPERPOD_SIGNAL_COORDINATION
                  value: distributed
"""
IMAGE = "image: 111122223333.dkr.ecr.us-west-2.amazonaws.com/heron:1.4"
EFA = "                  vpc.amazonaws.com/efa: 32\n"
LOG_DIR = "--log_dir=/tmp/hyperpod"
STEP_RULE = "'.*global_step=\\d+ loss=.*'"
TOKENS = "'.*tokens_per_sec=([0-9]+(?:\\.[0-9]+)?).*'"
STOP = "        stopPattern: '.*training loop finished.*'\n"
SLOW_RULE = BASE[BASE.index("      - name: SlowTokens") :]
STEP_LINES = BASE[BASE.index("      - name: StepHang") : BASE.index("      - name: SlowTokens")]
MONITORS = BASE[BASE.index("    logMonitoringConfiguration") :]
START_RULE = (
    "      - name: Start\n        logPattern: '.*global_step=.*'\n"
    "        expectedStartCutOffInSeconds: 900\n"
)
COMMAND = BASE[BASE.index("              command:\n") : BASE.index("              env:\n")]
PORTS = "              ports:\n                - containerPort: 8080\n"
SHM_MOUNT = "                - name: shm\n                  mountPath: /dev/shm\n"
FSX_MOUNT = "                - name: fsx\n                  mountPath: /fsx\n"


class Example(NamedTuple):
    """A spec that raises a check and one that almost does."""

    bad: str
    near: str
    bad_options: CheckOptions = CheckOptions()
    near_options: CheckOptions = CheckOptions()


def job(*changes: tuple[str, str]) -> str:
    """Return the clean job with pieces of its text exchanged; each piece must be there."""
    text = BASE
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def env(name: str, value: str) -> tuple[str, str]:
    """Add one environment variable."""
    line = f"                - name: {name}\n                  value: {value}\n"
    return "              resources:\n", f"{line}              resources:\n"


def arg(*words: str) -> tuple[str, str]:
    """Add arguments behind the script's name."""
    lines = "".join(f"                - {word}\n" for word in words)
    script = "                - /opt/heron/train.py\n"
    return script, script + lines


def before_script(*words: str) -> tuple[str, str]:
    """Add options of hyperpodrun."""
    lines = "".join(f"                - {word}\n" for word in words)
    script = "                - /opt/heron/train.py\n"
    return script, lines + script


def pod(line: str) -> tuple[str, str]:
    """Add a line to the pod's spec."""
    return "          nodeSelector:\n", f"          {line}\n          nodeSelector:\n"


def anti_affinity(label: str) -> str:
    """Return an affinity that keeps pods of a label apart."""
    term = f"{{labelSelector: {{matchLabels: {{{label}}}}}, topologyKey: kubernetes.io/hostname}}"
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return f"affinity: {{podAntiAffinity: {{{required}: [{term}]}}}}"


def node_label(key: str, value: str) -> tuple[str, str]:
    """Add a label to the nodeSelector."""
    return "          nodeSelector:\n", f"          nodeSelector:\n            {key}: {value}\n"


def annotation(key: str, value: str) -> tuple[str, str]:
    """Add an annotation to the job."""
    return "  labels:\n    kueue", f"  annotations:\n    {key}: {value}\n  labels:\n    kueue"


def policy(line: str) -> tuple[str, str]:
    """Add a line to the runPolicy."""
    return "    cleanPodPolicy", f"    {line}\n    cleanPodPolicy"


def command(text: str) -> tuple[str, str]:
    """Exchange the whole command."""
    return COMMAND, text


def shell(line: str) -> tuple[str, str]:
    """Run a line in a shell."""
    text = f'              command: ["bash", "-c"]\n              args:\n                - {line}\n'
    return COMMAND, text


def elastic(*changes: tuple[str, str]) -> str:
    """Return the clean job as an elastic one, with changes."""
    text = job(
        ("  replicaSpecs:\n    - name: pods\n      replicas: 4\n", ELASTIC),
        ("              resources:\n", f"{SIGNAL}              resources:\n"),
    )
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def rules(text: str) -> str:
    """Return the clean job with these monitors instead of its own."""
    return BASE[: BASE.index("      - name: StepHang")] + text


def metric(
    pattern: str, operator: str = "gt", threshold: str = "6", points: str | None = "8", **more: str
) -> str:
    """Return a metric rule, after the hang rule."""
    lines = [
        "      - name: Metric",
        f"        logPattern: {pattern}",
        f"        metricThreshold: {threshold}",
        f"        operator: {operator}",
    ]
    lines += [f"        metricEvaluationDataPoints: {points}"] if points is not None else []
    lines += [f"        {name}: {value}" for name, value in more.items()]
    return rules(STEP_LINES + "\n".join(lines) + "\n")


def rule(pattern: str, *lines: str) -> str:
    """Return one more rule, after the hang rule."""
    body = "".join(f"        {line}\n" for line in lines)
    return rules(f"{STEP_LINES}      - name: Extra\n        logPattern: {pattern}\n{body}")


LOSS = "'.*loss=([0-9]+(?:\\.[0-9]+)?(?:e[-+]?[0-9]+)?).*'"

DOCUMENT: Mapping[str, Example] = {
    "HPJ001": Example(
        job(("image: 111", "image: repo: 111")), job(("image: 111", 'image: "repo:x" # 111'))
    ),
    "HPJ002": Example(
        job(policy("jobMaxRetryCount: 3")), job(policy("startupDeadlineSeconds: 3600"))
    ),
    "HPJ003": Example(BASE + "---\nkind: ConfigMap\nmetadata: {name: a}\n", BASE),
    "HPJ004": Example(
        job(("name: heron-7b\n  namespace", "name: ${JOB_NAME}\n  namespace")),
        job(shell("exec hyperpodrun --tee=3 --log_dir=/tmp/hyperpod --x=$HOME /opt/train.py")),
    ),
    "HPJ005": Example(job(("name: heron-7b\n", "name: &job heron-7b\n")), BASE),
    "HPJ006": Example(job(env("USE_FLASH", "yes")), job(env("USE_FLASH", '"yes"'))),
    "HPJ007": Example(BASE + "status: {}\n", BASE),
    "HPJ012": Example("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n", "kind: ConfigMap\n"),
    "HPJ170": Example(
        SERVICE_MONITOR.replace("targetPort: 8081", "port: 8081"),
        SERVICE_MONITOR.replace("targetPort: 8081", "port: metrics"),
    ),
    "HPJ171": Example(SERVICE_MONITOR.replace("  selector: {}\n", ""), SERVICE_MONITOR),
    "HPJ172": Example(f"{BASE}---\n{SERVICE_MONITOR}", SERVICE_MONITOR),
}
IDENTITY: Mapping[str, Example] = {
    "HPJ010": Example(job(("amazonaws.com/v1", "amazonaws.com/v1beta1")), BASE),
    "HPJ011": Example(job(("HyperPodPyTorchJob", "HyperPodPytorchJob")), BASE),
    "HPJ013": Example(
        job(("jobMaxRetryCount", "jobMaxRetryCounts")), job(policy("startupDeadlineSeconds: 3600"))
    ),
    "HPJ014": Example(job(policy("evalPeriodSeconds: 60")), BASE),
    "HPJ015": Example(
        job(("      evalPeriodSeconds: 21600\n", "")),
        job(("  name: heron-7b\n", "  generateName: heron-\n")),
    ),
    "HPJ016": Example(job(('nprocPerNode: "8"', "nprocPerNode: 8")), BASE),
    "HPJ017": Example(job(('"None"', "Running")), job(('"None"', "None"))),
    "HPJ018": Example(
        job(("Finished: 86400", "Finished: -2")), job(("Finished: 86400", "Finished: -1"))
    ),
    "HPJ019": Example(
        rules("").rstrip() + "\n      rules:\n        - name: A\n          logPattern: '.*a'\n",
        BASE,
    ),
    "HPJ020": Example(job(("name: heron-7b\n", "name: Heron_7b\n")), BASE),
}
LAUNCH: Mapping[str, Example] = {
    "HPJ021": Example(job(("      replicas: 4\n", "")), job(("replicas: 4", "replicas: 1"))),
    "HPJ022": Example(
        job(("  runPolicy:", "    - name: pods\n      replicas: 1\n  runPolicy:")),
        job(("  runPolicy:", "    - name: more\n      replicas: 1\n  runPolicy:")),
    ),
    "HPJ023": Example(
        job(('nprocPerNode: "8"', 'nprocPerNode: "all"')),
        job(('nprocPerNode: "8"', "nprocPerNode: auto")),
    ),
    "HPJ024": Example(
        job(('nprocPerNode: "8"', 'nprocPerNode: "16"')),
        job(
            ('nprocPerNode: "8"', 'nprocPerNode: "32"'),
            ("ml.p5.48xlarge", "ml.trn1.32xlarge"),
            (
                "                  nvidia.com/gpu: 8\n",
                "                  aws.amazon.com/neurondevice: 16\n",
            ),
            (
                "                  nvidia.com/gpu: 8\n",
                "                  aws.amazon.com/neurondevice: 16\n",
            ),
        ),
    ),
    "HPJ025": Example(job(('nprocPerNode: "8"', 'nprocPerNode: "4"')), BASE),
    "HPJ026": Example(
        job(("nproc-per-node=8", "nproc-per-node=4")),
        job(("nproc-per-node=8", "nproc-per-node=gpu")),
    ),
    "HPJ027": Example(job(("nnodes=4", "nnodes=1:4")), job(("nnodes=4", "nnodes=4:4"))),
    "HPJ028": Example(job(("nnodes=4", "nnodes=2")), elastic(("nnodes=4", "nnodes=2"))),
    "HPJ029": Example(
        job(("- hyperpodrun", "- torchrun")), job(("- hyperpodrun", "- /opt/conda/bin/hyperpodrun"))
    ),
    "HPJ030": Example(job(command('              command: ["/opt/run.sh"]\n')), BASE),
    "HPJ031": Example(
        job(shell("cd /opt && hyperpodrun --tee=3 train.py")),
        job(shell("cd /opt && exec hyperpodrun --tee=3 train.py")),
    ),
    "HPJ032": Example(
        job(("                - --tee=3\n", "")),
        job(("                - --tee=3\n", "                - --redirects=0:1,1:0\n")),
    ),
    "HPJ033": Example(job((LOG_DIR, "--log_dir=/fsx/logs")), job((LOG_DIR, f"{LOG_DIR}/a"))),
    "HPJ034": Example(
        job(before_script("--no-python")),
        job(before_script("--no-python"), env("PYTHONUNBUFFERED", '"1"')),
    ),
    "HPJ035": Example(
        job((PORTS, "")),
        job(("containerPort: 8080", "containerPort: 9090"), before_script("--server-port=9090")),
    ),
    "HPJ036": Example(
        job(before_script("--server-port=9090")), job(before_script("--server-port=8080"))
    ),
    "HPJ037": Example(job(before_script("--max-restarts=3")), BASE),
    "HPJ038": Example(
        elastic(before_script("--inprocess-restart")), job(before_script("--inprocess-restart"))
    ),
    "HPJ039": Example(
        job(before_script("--shutdown-timeout=60")),
        job(before_script("--shutdown-timeout=60"), pod("terminationGracePeriodSeconds: 120")),
    ),
}
RESOURCES: Mapping[str, Example] = {
    "HPJ040": Example(
        job(
            (
                "limits:\n                  nvidia.com/gpu: 8",
                "limits:\n                  nvidia.com/gpu: 4",
            )
        ),
        job(("memory: 1600Gi\n                  nvidia.com/gpu: 8\n", "memory: 1600Gi\n")),
    ),
    "HPJ041": Example(job(("gpu: 8", "gpu: 16"), ("gpu: 8", "gpu: 16")), BASE),
    "HPJ042": Example(job(("ml.p5.48xlarge", "ml.trn1.32xlarge")), BASE),
    "HPJ043": Example(job(("gpu: 8", "gpu: 4"), ("gpu: 8", "gpu: 4")), BASE),
    "HPJ044": Example(job(("gpu: 8", "gpu: 0"), ("gpu: 8", "gpu: 0")), BASE),
    "HPJ045": Example(
        job(("efa: 32\n                  hugepages", "efa: 16\n                  hugepages")), BASE
    ),
    "HPJ046": Example(
        job(("ml.p5.48xlarge", "ml.p5en.48xlarge")),
        job(("ml.p5.48xlarge", "ml.p6e-gb200.36xlarge")),
    ),
    "HPJ047": Example(
        job(
            (EFA, ""),
            (EFA, ""),
        ),
        job(
            (EFA, ""),
            (EFA, ""),
            ("replicas: 4", "replicas: 1"),
        ),
    ),
    "HPJ048": Example(job(("efa: 32", "efa: 16"), ("efa: 32", "efa: 16")), BASE),
    "HPJ049": Example(
        job(("5120Mi", "2560Mi")), job(("hugepages-2Mi: 5120Mi", "hugepages-2Mi: 5Gi"))
    ),
    "HPJ050": Example(
        job(('                  cpu: "160"\n                  memory: 1600Gi\n', "")),
        job(('                  cpu: "160"\n', "")),
    ),
    "HPJ051": Example(
        job(
            ("                  hugepages-2Mi: 5120Mi\n", ""),
            ("                  hugepages-2Mi: 5120Mi\n", ""),
        ),
        BASE,
    ),
    "HPJ052": Example(job(("1600Gi", "2048Gi")), job(("1600Gi", "1880Gi"))),
    "HPJ053": Example(
        job(("limits:\n", "limits:\n                  memory: 200Gi\n")),
        job(("limits:\n", "limits:\n                  memory: 1600Gi\n")),
    ),
    "HPJ054": Example(
        job(
            ("nvidia.com/gpu: 8", "nvidia.com/mig-1g.5gb: 8"),
            ("nvidia.com/gpu: 8", "nvidia.com/mig-1g.5gb: 8"),
        ),
        job(
            ("nvidia.com/gpu: 8", "nvidia.com/mig-1g.10gb: 8"),
            ("nvidia.com/gpu: 8", "nvidia.com/mig-1g.10gb: 8"),
        ),
    ),
    "HPJ055": Example(
        job(("node.kubernetes.io/instance-type: ml.p5.48xlarge", "team: heron")),
        job(
            (
                "node.kubernetes.io/instance-type: ml.p5.48xlarge",
                "node.kubernetes.io/instance-type: $TYPE",
            )
        ),
    ),
    "HPJ056": Example(job(("node.kubernetes.io/inst", "beta.kubernetes.io/inst")), BASE),
    "HPJ057": Example(job(("ml.p5.48xlarge", "p5.48xlarge")), BASE),
    "HPJ058": Example(
        job(node_label("sagemaker.amazonaws.com/compute-type", "ml.p5.48xlarge")),
        job(node_label("sagemaker.amazonaws.com/compute-type", "hyperpod")),
    ),
    "HPJ059": Example(
        job(pod(anti_affinity("app: x"))), job(pod(anti_affinity("job-name: heron-7b")))
    ),
}
CONTAINER: Mapping[str, Example] = {
    "HPJ060": Example(job((IMAGE, 'image: ""')), BASE),
    "HPJ061": Example(
        job(("heron:1.4", "heron:latest")), job(("heron:1.4", "heron@sha256:" + "ab" * 32))
    ),
    "HPJ062": Example(job((SHM_MOUNT, "")), job((SHM_MOUNT, ""), pod("hostIPC: true"))),
    "HPJ063": Example(job(("                sizeLimit: 200Gi\n", "")), BASE),
    "HPJ064": Example(
        job(("                - name: fsx\n", "                - name: fsz\n")), BASE
    ),
    "HPJ065": Example(job((SHM_MOUNT, "")), BASE),
    "HPJ066": Example(
        job(
            (
                "persistentVolumeClaim:\n                claimName: fsx-heron",
                "hostPath:\n                path: /opt/nvme",
            )
        ),
        job((FSX_MOUNT, ""), ("=/fsx/heron/ckpt", "=s3://heron-ckpt/run")),
    ),
    "HPJ067": Example(
        job(("=/fsx/heron/ckpt", "=./ckpt")), job(("=/fsx/heron/ckpt", "=/fsx/other"))
    ),
    "HPJ068": Example(
        job(env("LD_LIBRARY_PATH", "/opt/lib:$LD_LIBRARY_PATH")),
        job(env("LD_LIBRARY_PATH", "/opt/lib:$(BASE_PATH)")),
    ),
    "HPJ069": Example(job(env("NCCL_DEBUG", "INFO")), BASE),
    "HPJ070": Example(job(env("HF_TOKEN", "abcdefgh-secret")), job(env("EOS_TOKEN", "</s>"))),
    "HPJ071": Example(
        job(
            (EFA, ""),
            (EFA, ""),
        ),
        BASE,
    ),
    "HPJ072": Example(job(("value: WARN", "value: DEBUG")), job(("value: WARN", "value: info"))),
    "HPJ073": Example(
        job(env("TORCH_NCCL_ASYNC_ERROR_HANDLING", '"0"')),
        job(env("TORCH_NCCL_ASYNC_ERROR_HANDLING", '"1"')),
    ),
    "HPJ074": Example(
        job(env("CUDA_LAUNCH_BLOCKING", '"1"')), job(env("CUDA_LAUNCH_BLOCKING", '"0"'))
    ),
    "HPJ075": Example(job(("value: WARN", "value: TRACE")), BASE),
    "HPJ076": Example(
        job(pod("hostNetwork: true")),
        job(pod("hostNetwork: true"), pod("dnsPolicy: ClusterFirstWithHostNet")),
    ),
    "HPJ077": Example(
        job((PORTS, PORTS + '              livenessProbe: {exec: {command: ["true"]}}\n')), BASE
    ),
    "HPJ078": Example(
        job((PORTS, PORTS + "              securityContext: {privileged: true}\n")),
        job((PORTS, PORTS + "              securityContext: {privileged: false}\n")),
    ),
    "HPJ079": Example(
        job(pod("hostNetwork: true"), env("NCCL_SOCKET_IFNAME", "eth0")),
        job(env("NCCL_SOCKET_IFNAME", "eth0")),
    ),
}
POLICY: Mapping[str, Example] = {
    "HPJ080": Example(job(("    jobMaxRetryCount: 7\n", "")), BASE),
    "HPJ081": Example(
        job(("jobMaxRetryCount: 7", "jobMaxRetryCount: 2")),
        job(("jobMaxRetryCount: 7", "jobMaxRetryCount: 3")),
    ),
    "HPJ082": Example(job(("maxFullJobRestarts: 1", "maxFullJobRestarts: 0")), BASE),
    "HPJ083": Example(
        job(("jobMaxRetryCount: 7", "jobMaxRetryCount: 0")),
        job(("jobMaxRetryCount: 7", "jobMaxRetryCount: 0"), (MONITORS, "")),
    ),
    "HPJ084": Example(job(("jobMaxRetryCount: 7", "jobMaxRetryCount: 50")), BASE),
    "HPJ085": Example(job(("21600", "4000")), job(("21600", "4080"))),
    "HPJ086": Example(job(('"None"', '"All"')), BASE),
    "HPJ087": Example(job(("86400", "0")), BASE),
    "HPJ088": Example(
        job(policy("startupDeadlineSeconds: 600")), job(policy("startupDeadlineSeconds: 900"))
    ),
    "HPJ089": Example(job(policy("suspend: true")), job(policy("suspend: false"))),
    "HPJ090": Example(
        job(
            ("      replicas: 4\n", "      replicas: 4\n      spares: 1\n"),
            ("  labels:\n    kueue.x-k8s.io/queue-name: hyperpod-ns-heron-localqueue\n", ""),
        ),
        job(("      replicas: 4\n", "      replicas: 4\n      spares: 1\n")),
    ),
    "HPJ091": Example(
        job(
            (
                "kueue.x-k8s.io/queue-name: hyperpod-ns-heron-localqueue",
                "kueue.x-k8s.io/priority-class: training-priority",
            )
        ),
        job(("    kueue.x", "    kueue.x-k8s.io/priority-class: training-priority\n    kueue.x")),
    ),
    "HPJ092": Example(job(("hyperpod-ns-heron-local", "hyperpod-ns-stork-local")), BASE),
    "HPJ093": Example(
        job(annotation("kueue.x-k8s.io/podset-required-topology", "rack")),
        job(
            annotation(
                "kueue.x-k8s.io/podset-required-topology", "topology.k8s.aws/network-node-layer-2"
            )
        ),
    ),
    "HPJ094": Example(
        job(("      replicas: 4\n", "      replicas: 4\n      spares: 4\n")),
        job(("      replicas: 4\n", "      replicas: 4\n      spares: 3\n")),
        near_options=CheckOptions(quota_pods=8),
    ),
}
ELASTICITY: Mapping[str, Example] = {
    "HPJ100": Example(
        elastic(
            (
                "    replicaIncrementStep: 2\n",
                "    replicaIncrementStep: 2\n    replicaDiscreteValues: [2, 4]\n",
            )
        ),
        elastic(("    replicaIncrementStep: 2\n", "    replicaDiscreteValues: [2, 4]\n")),
    ),
    "HPJ101": Example(
        elastic(("minReplicas: 2", "minReplicas: 6")), elastic(("minReplicas: 2", "minReplicas: 4"))
    ),
    "HPJ102": Example(
        elastic(("replicaIncrementStep: 2", "replicaDiscreteValues: [2, 16]")), elastic()
    ),
    "HPJ103": Example(elastic(("      maxReplicas: 8", "      maxReplicas: 6")), elastic()),
    "HPJ104": Example(
        elastic(("replicaIncrementStep: 2", "replicaIncrementStep: 4")),
        elastic(("replicaIncrementStep: 2", "replicaIncrementStep: 3")),
    ),
    "HPJ105": Example(
        elastic(("gracefulShutdownTimeoutInSeconds: 600", "gracefulShutdownTimeoutInSeconds: 30")),
        elastic(),
    ),
    "HPJ106": Example(elastic((SIGNAL, "")), elastic()),
    "HPJ107": Example(
        elastic(("CutOffInSeconds: 900", "CutOffInSeconds: 700")),
        elastic(("CutOffInSeconds: 900", "CutOffInSeconds: 720")),
    ),
}
PATTERNS: Mapping[str, Example] = {
    "HPJ120": Example(rule("'.*step=(\\d+'", "expectedStartCutOffInSeconds: 900"), BASE),
    "HPJ121": Example(
        job((STEP_RULE, "'.*global_step=\\\\d+ loss=.*'")),
        job((STEP_RULE, '".*global_step=\\\\d+ loss=.*"')),
    ),
    "HPJ122": Example(metric("'.*tokens_per_sec=(?:[0-9]+).*'", "lt"), BASE),
    "HPJ123": Example(
        metric("'.*step (\\d+) loss=([0-9.]+).*'"), metric("'.*step (?:\\d+) loss=([0-9.]+).*'")
    ),
    "HPJ124": Example(metric("'.*loss=(\\S+).*'"), metric("'.*loss=(nan|[0-9.]+).*'")),
    "HPJ131": Example(
        job((STEP_RULE, "'\\[default0\\]:.*global_step=\\d+ loss=.*'")),
        job((STEP_RULE, "'(?:\\[default0\\]:)?.*global_step=\\d+ loss=.*'")),
    ),
    "HPJ132": Example(
        job((STEP_RULE, "'global_step=\\d+ loss=.*'")),
        job((STEP_RULE, "'\\d{4}-\\d\\d.*global_step=\\d+ loss=.*'")),
    ),
    "HPJ133": Example(
        job((STEP_RULE, "'.*Epoch 0 global_step=\\d+ loss=.*'")),
        job((STEP_RULE, "'.*Epoch \\d+ global_step=\\d+ loss=.*'")),
    ),
    "HPJ140": Example(job(("'.*training loop finished.*'", "'.*global_step=.*'")), BASE),
    "HPJ142": Example(job((STEP_RULE, "'.*'")), job((STEP_RULE, "'.*x'"))),
    "HPJ143": Example(
        job((STEP_RULE, "'.*(\\w+\\s*)+loss=.*'")), job((STEP_RULE, "'.*(\\w+\\s)+loss=.*'"))
    ),
    "HPJ144": Example(
        job((STEP_RULE, "'.*global_step=\\d+\\n.*loss=.*'")),
        job((STEP_RULE, "'.*global_step=\\d+[^\\n]*loss=.*\\n'")),
    ),
    "HPJ147": Example(metric("'.*loss.*(\\d+) end'"), metric("'.*loss.*?(\\d+) end'")),
    "HPJ148": Example(metric("'.*loss=(\\d+\\.\\d+).*'"), metric(LOSS)),
}
METRICS: Mapping[str, Example] = {
    "HPJ125": Example(job(("        operator: lt\n", "")), BASE),
    "HPJ126": Example(
        rule("'.*saved.*'", "expectedStartCutOffInSeconds: 900", "metricEvaluationDataPoints: 5"),
        BASE,
    ),
    "HPJ127": Example(metric(LOSS, threshold="2.5"), metric(LOSS, threshold="2")),
    "HPJ128": Example(metric(LOSS, points="0"), metric(LOSS, points="5")),
    "HPJ129": Example(metric(LOSS, operator='">"'), BASE),
    "HPJ130": Example(job(("- name: SlowTokens", "- name: StepHang")), BASE),
    "HPJ149": Example(metric(LOSS), metric("'.*grad_norm=([0-9.e]+).*'")),
    "HPJ151": Example(metric(LOSS, operator="lteq"), metric(LOSS, operator="gteq")),
    "HPJ152": Example(
        metric("'.*accuracy=([0-9.]+).*'", "eq"), metric("'.*retries=([0-9]+).*'", "eq")
    ),
    "HPJ155": Example(metric(LOSS, points="1"), metric("'.*retries=([0-9]+).*'", points="1")),
    "HPJ156": Example(
        rules(
            "      - name: Loss\n        logPattern: '.*loss=(\\S+) .*'\n"
            "        metricThreshold: 6\n        operator: gt\n"
            "        metricEvaluationDataPoints: 8\n" + STEP_LINES
        ),
        metric("'.*loss=(\\S+) .*'"),
    ),
    "HPJ160": Example(
        metric(LOSS, points="25"),
        metric("'.*retries=([0-9]+).*'", points="1").replace("Metric", "M"),
    ),
}
_RANK_ZERO = "if dist.get_rank() == 0:\n    print(loss)\n"
TIMING: Mapping[str, Example] = {
    "HPJ134": Example(
        job(("CutOffInSeconds: 900", "CutOffInSeconds: 240")),
        job(("CutOffInSeconds: 900", "CutOffInSeconds: 300")),
    ),
    "HPJ135": Example(
        job(("FrequencyInSeconds: 900", "FrequencyInSeconds: 10")),
        job(("FrequencyInSeconds: 900", "FrequencyInSeconds: 30")),
    ),
    "HPJ136": Example(
        job(("        expectedStartCutOffInSeconds: 900\n", "")),
        job(
            ("        expectedStartCutOffInSeconds: 900\n", ""),
            ("      - name: SlowTokens", START_RULE + "      - name: SlowTokens"),
        ),
    ),
    "HPJ137": Example(job(("FrequencyInSeconds: 900", "FrequencyInSeconds: 1200")), BASE),
    "HPJ138": Example(
        job(
            arg("--validation_freq=500"),
            ("FrequencyInSeconds: 900\n" + STOP, "FrequencyInSeconds: 120\n"),
        ),
        job(arg("--validation_freq=500")),
    ),
    "HPJ139": Example(
        job(("'.*training loop finished.*'", "'.*checkpoint saved.*'")),
        job(("'.*training loop finished.*'", "'.*training complete, saving final checkpoint.*'")),
    ),
    "HPJ141": Example(
        rule("'.*dataset ready.*'"),
        rule("'.*dataset ready.*'", "expectedStartCutOffInSeconds: 900"),
    ),
    "HPJ145": Example(job((MONITORS, "")), job((MONITORS, ""), ("replicas: 4", "replicas: 1"))),
    "HPJ146": Example(
        job(("        expectedRecurringFrequencyInSeconds: 900\n", "")),
        job(
            ("        expectedRecurringFrequencyInSeconds: 900\n", ""),
            ("replicas: 4", "replicas: 1"),
        ),
    ),
    "HPJ150": Example(
        BASE,
        BASE,
        CheckOptions(script=_RANK_ZERO),
        CheckOptions(script="if local_rank == 0: print(1)"),
    ),
    "HPJ153": Example(
        rule("'.*[Ee]rror.*'", "faultOnMatch: true"), rule("'.*CUDA error.*'", "faultOnMatch: true")
    ),
    "HPJ154": Example(
        rule("'.*CUDA error.*'", "faultOnMatch: true"),
        rule("'.*CUDA error.*'", "faultOnMatch: true"),
        near_options=CheckOptions(agent_version="1.1.3"),
    ),
    "HPJ157": Example(
        BASE,
        BASE,
        CheckOptions(script="logging.basicConfig(level=logging.INFO)\n"),
        CheckOptions(script="logging.basicConfig(stream=sys.stdout)\n"),
    ),
    "HPJ158": Example(
        job(arg("--checkpoint_every_seconds=1800"), (STEP_RULE, "'.*checkpoint committed.*'")),
        job(arg("--checkpoint_every_seconds=600"), (STEP_RULE, "'.*checkpoint committed.*'")),
    ),
    "HPJ159": Example(job(before_script("--inprocess-restart")), BASE),
}
EXAMPLES: Mapping[str, Example] = {
    **DOCUMENT,
    **IDENTITY,
    **LAUNCH,
    **RESOURCES,
    **CONTAINER,
    **POLICY,
    **ELASTICITY,
    **PATTERNS,
    **METRICS,
    **TIMING,
}

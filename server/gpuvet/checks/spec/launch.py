"""HPJ021 to HPJ039: replicas, processes, and how the workers are started."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.pod_facts import gpus, resource_names
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import TEMPLATE, Argument, Field, JobSpec, Launch, Launcher
from gpuvet.model.yaml_tree import MappingNode

AGENT_PORT = 8080  # --server-port's default
_NO_EFFECT = ("rdzv_endpoint", "max_restarts", "master_addr")
_DEFAULT_GRACE = 30  # Kubernetes' terminationGracePeriodSeconds
_DEFAULT_SHUTDOWN = 15  # --shutdown-timeout of agent 1.1; 1.0 documents 30
_SAVES_ON_SIGTERM = re.compile(r"signal\s*\(\s*(?:signal\.)?SIGTERM")


def no_pods(job: JobSpec) -> Iterator[Hit]:
    """No replica spec, or none that asks for a pod."""
    specs = job.spec.at("replicaSpecs")
    if specs.is_token or isinstance(specs.node, MappingNode):
        return
    if not job.replica_sets:
        yield Hit(specs, "the job has no replicaSpecs")
    elif job.total_replicas is not None and job.total_replicas <= 0:
        field = job.replica_sets[0].field.at("replicas")
        how = "replicas is 0" if field.present else "replicas is missing, which means 0"
        yield Hit(field, how, fix="set replicas")


def repeated_replica_spec(job: JobSpec) -> Iterator[Hit]:
    """Two replica specs of one name."""
    seen: set[str] = set()
    for each in job.replica_sets:
        name = each.field.at("name").text
        if name in seen:
            yield Hit(each.field.at("name"), f"replicaSpec {name!r} stands twice")
        seen.add(name or "")


def bad_process_count(job: JobSpec) -> Iterator[Hit]:
    """Text that is neither a word torchrun knows nor a number."""
    field = job.spec.at("nprocPerNode")
    text = field.text
    if text is not None and not re.fullmatch(r"auto|cpu|gpu|0*[1-9][0-9]{0,3}", text):
        yield Hit(field, f"nprocPerNode is {text!r}")


def _processes(job: JobSpec) -> int | None:
    """Return nprocPerNode as a number, quoted or not."""
    field = job.spec.at("nprocPerNode")
    text = field.words or ""
    return int(text) if field.scalar is not None and re.fullmatch(r"[0-9]{1,4}", text) else None


def too_many_processes(job: JobSpec) -> Iterator[Hit]:
    """More processes than GPUs in the pod."""
    processes = _processes(job)
    for _, container in job.trainers():
        count = gpus(container)
        if (
            processes
            and count
            and processes > count
            and not resource_names(container, "nvidia.com/mig-")
        ):
            yield Hit(
                job.spec.at("nprocPerNode"),
                f"{processes} processes on {count} GPUs",
                fix=f'write "{count}", or ask for {processes} GPUs',
            )


def too_few_processes(job: JobSpec) -> Iterator[Hit]:
    """Fewer processes than GPUs in the pod."""
    processes = _processes(job)
    for _, container in job.trainers():
        count = gpus(container)
        if processes and processes < count:
            yield Hit(
                job.spec.at("nprocPerNode"),
                f"{processes} processes on {count} GPUs",
                fix=f'write "{count}", or ask for {processes} GPUs',
            )


def process_count_disagrees(job: JobSpec) -> Iterator[Hit]:
    """The command line says another number than the spec."""
    processes = _processes(job)
    for _, container in job.trainers():
        option = container.launch.option("nproc_per_node")
        given = _number(option)
        if option and processes and given and given != processes:
            yield Hit(
                option.where,
                f"--nproc-per-node={given}, but nprocPerNode is {processes}",
                fix="keep one number; in a shell write --nproc-per-node=${NPROC_PER_NODE}",
            )


def _number(option: Argument | None) -> int | None:
    value = option.value if option else None
    return int(value) if value and re.fullmatch(r"[0-9]{1,6}", value) else None


def node_range(job: JobSpec) -> Iterator[Hit]:
    """A range of nodes."""
    for _, container in job.trainers():
        option = container.launch.option("nnodes")
        match = re.fullmatch(r"([0-9]+):([0-9]+)", option.value or "") if option else None
        if option and match and int(match[1]) != int(match[2]):
            yield Hit(option.where, f"--nnodes={option.value} is a range")


def node_count_disagrees(job: JobSpec) -> Iterator[Hit]:
    """The command line says another number of nodes than the replicas."""
    total = job.total_replicas
    if not total or job.elastic.present:
        return
    for _, container in job.trainers():
        option = container.launch.option("nnodes")
        text = (option.value or "") if option else ""
        match = re.fullmatch(r"([0-9]+)(?::\1)?", text)
        if option and match and int(match[1]) != total:
            yield Hit(
                option.where,
                f"--nnodes={text}, but the job asks for {total} pods",
                fix=f"write {total}, or in a shell --nnodes=${{NNODES}}",
            )


def wrong_launcher(job: JobSpec) -> Iterator[Hit]:
    """Workers started without the agent."""
    for _, container in job.trainers():
        launch = container.launch
        if launch.launcher is Launcher.OTHER:
            yield Hit(launch.where, f"the workers are started by {launch.word}")


def hidden_launcher(job: JobSpec) -> Iterator[Hit]:
    """A launcher the manifest does not show."""
    for _, container in job.trainers():
        launch = container.launch
        if launch.launcher is Launcher.HIDDEN:
            what = f"the script {launch.word!r}" if launch.word else "the image's entry point"
            yield Hit(launch.where, f"{what} starts the workers; the manifest does not show how")


def shell_in_between(job: JobSpec) -> Iterator[Hit]:
    """A shell or a pipe between the pod and the agent."""
    for _, container in job.trainers():
        launch = container.launch
        if launch.launcher is not Launcher.HYPERPODRUN or launch.shell is None:
            continue
        if launch.is_piped:
            yield Hit(launch.shell, "hyperpodrun stands behind sh -c and its output goes to a pipe")
        elif not launch.has_exec:
            yield Hit(launch.shell, "hyperpodrun is started by sh -c without exec")


def no_stdout_log(job: JobSpec) -> Iterator[Hit]:
    """Monitors, but nothing that makes torch write stdout.log."""
    if not job.rules:
        return
    for _, container in job.trainers():
        launch = container.launch
        if launch.launcher is Launcher.HIDDEN or _writes_stdout_log(launch):
            continue
        if container.has_env("PET_TEE") or container.has_env("PET_REDIRECTS"):
            continue  # torchrun takes its options from PET_ variables too
        given = launch.option("tee", "redirects")
        what = (
            f"--{given.name}={given.value} leaves rank 0's stdout out"
            if given
            else ("neither --tee nor --redirects")
        )
        yield Hit(launch.where, f"{len(job.rules)} log monitors, but {what}")


def _writes_stdout_log(launch: Launch) -> bool:
    """Return whether --tee or --redirects covers stdout (1 or 3) of local rank 0."""
    for name in ("tee", "redirects"):
        option = launch.option(name)
        if option is None:
            continue
        value = option.value or ""
        if TEMPLATE.search(value) or "$(" in value:
            return True
        if value in {"1", "3"} or re.search(r"(?:^|,)\s*0:[13](?:,|$)", value):
            return True
    return False


def log_dir_elsewhere(job: JobSpec) -> Iterator[Hit]:
    """No log directory, or not the documented one."""
    for _, container in job.trainers():
        launch = container.launch
        if launch.launcher is not Launcher.HYPERPODRUN:
            continue
        option = launch.option("log_dir")
        value = (option.value or "") if option else ""
        if option is None:
            yield Hit(launch.where, "no --log_dir")
        elif not value.startswith("/tmp/hyperpod") and not TEMPLATE.search(value):  # noqa: S108  (AWS's path)
            yield Hit(option.where, f"--log_dir={value}")


def buffered_stdout(job: JobSpec) -> Iterator[Hit]:
    """A worker that is no .py file and whose stdout is not unbuffered."""
    if not job.rules:
        return
    for _, container in job.trainers():
        launch = container.launch
        if launch.option("no_python") is None or "-u" in launch.words:
            continue
        if container.has_env("PYTHONUNBUFFERED") or "PYTHONUNBUFFERED=" in launch.shell_text:
            continue
        option = launch.option("no_python")
        yield Hit(option.where if option else launch.where, "--no-python and buffered stdout")


def _declared_ports(pod_containers: Iterator[Field]) -> tuple[Field, ...]:
    return tuple(
        port.at("containerPort")
        for container in pod_containers
        for port in container.at("ports").items
    )


def no_agent_port(job: JobSpec) -> Iterator[Hit]:
    """Nothing declares the agent's port."""
    for replica_set, container in job.trainers():
        ports = _declared_ports(each.field for each in replica_set.containers)
        wanted = _number(container.launch.option("server_port")) or AGENT_PORT
        if any(port.integer == wanted or port.is_token for port in ports):
            continue
        if ports and wanted != AGENT_PORT:
            continue  # HPJ036
        yield Hit(container.field.at("ports"), f"no containerPort {wanted}")


def other_agent_port(job: JobSpec) -> Iterator[Hit]:
    """The agent listens elsewhere than the pod declares."""
    for replica_set, container in job.trainers():
        option = container.launch.option("server_port")
        port = _number(option)
        declared = {
            each.integer for each in _declared_ports(c.field for c in replica_set.containers)
        }
        if option and port and declared - {None} and port not in declared:
            numbers = ", ".join(str(each) for each in sorted(declared - {None}, key=str))
            yield Hit(option.where, f"--server-port={port}, but containerPort {numbers}")


def options_without_effect(job: JobSpec) -> Iterator[Hit]:
    """Options the agent overrides."""
    for _, container in job.trainers():
        launch = container.launch
        if launch.launcher is not Launcher.HYPERPODRUN:
            continue
        backend = launch.option("rdzv_backend")
        if backend and backend.value != "hyperpod":
            yield Hit(backend.where, f"--rdzv-backend={backend.value} is overridden")
        for name in _NO_EFFECT:
            option = launch.option(name)
            if option:
                yield Hit(option.where, f"--{name.replace('_', '-')} has no effect")


def checkpointless_and_elastic(job: JobSpec) -> Iterator[Hit]:
    """In-process restart together with elastic training."""
    for _, container in job.trainers():
        option = container.launch.option("inprocess_restart")
        if option and job.elastic.present:
            yield Hit(option.where, "--inprocess-restart together with elasticPolicy")


def no_time_to_save(job: JobSpec) -> Iterator[Hit]:
    """A shutdown that leaves no time for a checkpoint."""
    for replica_set, container in job.trainers():
        launch = container.launch
        if launch.launcher is not Launcher.HYPERPODRUN:
            continue
        signal, timeout = launch.option("shutdown_signal"), launch.option("shutdown_timeout")
        is_kill = signal is None or signal.value == "SIGKILL"
        script = (job.context.script or "") + launch.shell_text
        if is_kill and _SAVES_ON_SIGTERM.search(script):
            where = signal.where if signal else launch.where
            yield Hit(where, "the script saves on SIGTERM, but the agent sends SIGKILL")
        grace_field = replica_set.pod.at("terminationGracePeriodSeconds")
        grace = grace_field.integer if grace_field.present else _DEFAULT_GRACE
        seconds = _number(timeout) if timeout else (None if is_kill else _DEFAULT_SHUTDOWN)
        if seconds is not None and grace is not None and seconds >= grace:
            where = timeout.where if timeout else grace_field
            yield Hit(where, f"shutdown timeout {seconds} s, pod's grace period {grace} s")


CHECKS = (
    Check(
        code="HPJ021",
        name="no-pods",
        severity=Severity.ERROR,
        why="With kubectl a missing replicas is 0: the job starts no pods.",
        fix="set replicas of a replicaSpec to 1 or more",
        source="HyperPod CLI model of the CRD",
        run=no_pods,
    ),
    Check(
        code="HPJ022",
        name="replica-spec-repeated",
        severity=Severity.ERROR,
        why="Pods are named after it and would collide.",
        fix="rename one",
        source="inferred from pod names",
        run=repeated_replica_spec,
    ),
    Check(
        code="HPJ023",
        name="process-count-unreadable",
        severity=Severity.ERROR,
        why="The agent takes auto, cpu, gpu or a positive whole number.",
        fix='write "auto", "gpu", "cpu" or a number in quotes',
        source="HyperPod CLI model of the CRD",
        run=bad_process_count,
    ),
    Check(
        code="HPJ024",
        name="more-processes-than-gpus",
        severity=Severity.ERROR,
        why="Two ranks on one GPU: NCCL refuses to start.",
        fix="lower nprocPerNode or ask for more GPUs",
        source="inferred",
        run=too_many_processes,
    ),
    Check(
        code="HPJ025",
        name="fewer-processes-than-gpus",
        severity=Severity.WARNING,
        why="Paid GPUs stay idle.",
        fix="raise nprocPerNode",
        source="inferred",
        run=too_few_processes,
    ),
    Check(
        code="HPJ026",
        name="process-counts-disagree",
        severity=Severity.ERROR,
        why="The operator and the launcher compute the world size from different numbers.",
        fix="keep one number",
        source="elastic agent 1.1; inferred",
        run=process_count_disagrees,
    ),
    Check(
        code="HPJ027",
        name="node-range",
        severity=Severity.ERROR,
        why="The agent asserts that minimum and maximum are equal and exits, also in elastic jobs.",
        fix="write one number; the operator restarts elastic jobs at the new size",
        source="elastic agent 1.1",
        run=node_range,
    ),
    Check(
        code="HPJ028",
        name="node-counts-disagree",
        severity=Severity.WARNING,
        why="One of the two was edited and the other not; the start may fail.",
        fix="keep one number",
        source="elastic agent 1.1; inferred",
        run=node_count_disagrees,
    ),
    Check(
        code="HPJ029",
        name="not-hyperpodrun",
        severity=Severity.ERROR,
        why="Without the agent the operator cannot see or restart workers, and no monitor runs.",
        fix="start the workers with hyperpodrun; it takes torchrun's arguments",
        source="AWS: installing the HyperPod training operator",
        run=wrong_launcher,
    ),
    Check(
        code="HPJ030",
        name="launcher-hidden",
        severity=Severity.ADVICE,
        why="Whether hyperpodrun, --tee and --log_dir are there cannot be seen from here.",
        fix="the script must hold: exec hyperpodrun --tee=3 --log_dir=/tmp/hyperpod …",
        source="inferred",
        run=hidden_launcher,
    ),
    Check(
        code="HPJ031",
        name="shell-before-agent",
        severity=Severity.WARNING,
        why="SIGTERM stops at the shell and is not forwarded; a pipe hides the exit code.",
        fix="write the command as a list, or exec hyperpodrun …; use --tee instead of | tee",
        source="elastic agent README",
        run=shell_in_between,
    ),
    Check(
        code="HPJ032",
        name="no-stdout-log",
        severity=Severity.ERROR,
        why="No stdout.log is written: start cut-offs fire falsely, every other rule is blind.",
        fix="add --tee=3 and --log_dir=/tmp/hyperpod",
        source="elastic agent 1.1",
        run=no_stdout_log,
    ),
    Check(
        code="HPJ033",
        name="log-dir-elsewhere",
        severity=Severity.ADVICE,
        why="It works, but AWS's page and tools look under /tmp/hyperpod.",
        fix="add --log_dir=/tmp/hyperpod",
        source="AWS: using the HyperPod training operator",
        run=log_dir_elsewhere,
    ),
    Check(
        code="HPJ034",
        name="stdout-buffered",
        severity=Severity.WARNING,
        why="torch adds -u only for .py files; a buffered log arrives late and looks like a hang.",
        fix='set env PYTHONUNBUFFERED="1"',
        source="elastic agent 1.1; torch",
        run=buffered_stdout,
    ),
    Check(
        code="HPJ035",
        name="agent-port-not-declared",
        severity=Severity.WARNING,
        why="The operator reaches the agent there; every sample of AWS's page declares it.",
        fix="add ports: [{containerPort: 8080}]",
        source="AWS: using the HyperPod training operator",
        run=no_agent_port,
    ),
    Check(
        code="HPJ036",
        name="agent-port-differs",
        severity=Severity.WARNING,
        why="The operator may call a port where nothing listens.",
        fix="make --server-port and containerPort equal",
        source="AWS: using the HyperPod training operator; inferred",
        run=other_agent_port,
    ),
    Check(
        code="HPJ037",
        name="option-without-effect",
        severity=Severity.ADVICE,
        why="The agent forces its own rendezvous, and the operator decides about restarts.",
        fix="drop it",
        source="elastic agent 1.1",
        run=options_without_effect,
    ),
    Check(
        code="HPJ038",
        name="checkpointless-and-elastic",
        severity=Severity.ERROR,
        why="AWS documents the two as not supported together.",
        fix="choose one",
        source="AWS: elastic training in HyperPod",
        run=checkpointless_and_elastic,
    ),
    Check(
        code="HPJ039",
        name="no-time-to-save",
        severity=Severity.WARNING,
        why="The workers are killed before a checkpoint is written.",
        fix="--shutdown-signal=SIGTERM, and a terminationGracePeriodSeconds above the timeout",
        source="elastic agent 1.1",
        run=no_time_to_save,
    ),
)

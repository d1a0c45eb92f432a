"""HPJ029 to HPJ039: how the workers are started, and how they end."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.pod_facts import whole_number
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import TEMPLATE, Field, JobSpec, Launch, Launcher

AGENT_PORT = 8080  # --server-port's default


_NO_EFFECT = ("rdzv_endpoint", "max_restarts", "master_addr")


_DEFAULT_GRACE = 30  # Kubernetes' terminationGracePeriodSeconds


_DEFAULT_SHUTDOWN = 15  # --shutdown-timeout of agent 1.1; 1.0 documents 30


_SAVES_ON_SIGTERM = re.compile(r"signal\s*\(\s*(?:signal\.)?SIGTERM")


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
        wanted = whole_number(container.launch.option("server_port")) or AGENT_PORT
        if any(port.integer == wanted or port.is_token for port in ports):
            continue
        if ports and wanted != AGENT_PORT:
            continue  # HPJ036
        yield Hit(container.field.at("ports"), f"no containerPort {wanted}")


def other_agent_port(job: JobSpec) -> Iterator[Hit]:
    """The agent listens elsewhere than the pod declares."""
    for replica_set, container in job.trainers():
        option = container.launch.option("server_port")
        port = whole_number(option)
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
        seconds = whole_number(timeout) if timeout else (None if is_kill else _DEFAULT_SHUTDOWN)
        if seconds is not None and grace is not None and seconds >= grace:
            where = timeout.where if timeout else grace_field
            yield Hit(where, f"shutdown timeout {seconds} s, pod's grace period {grace} s")


CHECKS = (
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

"""HPJ060 to HPJ067, HPJ076 to HPJ078: image, volumes, network and probes of the training pod."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.launch import AGENT_PORT
from gpuvet.checks.spec.pod_facts import (
    MIG,
    gpus,
    mounts,
    persistent_paths,
    resource_names,
    volumes,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import TEMPLATE, Argument, Container, JobSpec

_PATH_OPTION = re.compile(
    r"(?:^|[._])(?:ckpt|checkpoint(?:s|er)?|output|save|resume|snapshot)s?"
    r"(?:_(?:from|to|in))?(?:_(?:checkpoint|ckpt|model))?"
    r"(?:_?(dir|path|folder|location|root|directory))?\Z"
)


_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://")


def no_image(job: JobSpec) -> Iterator[Hit]:
    """No image, or an empty one."""
    for each in job.replica_sets:
        for container in each.containers:
            image = container.field.at("image")
            if not image.present or (image.words is not None and not image.words.strip()):
                yield Hit(image, "image is empty" if image.present else "no image")


def moving_tag(job: JobSpec) -> Iterator[Hit]:
    """An image that can change between two pulls."""
    retries = job.run_policy.at("jobMaxRetryCount").integer or 0
    for each in job.replica_sets:
        for container in each.containers:
            image = container.field.at("image")
            name = image.text
            if not name or not name.strip() or "@" in name:
                continue
            tag = name.rsplit("/", 1)[-1].partition(":")[2]
            policy = container.field.at("imagePullPolicy").words
            if tag in {"", "latest"} and (policy in {"IfNotPresent", "Never"} or retries > 0):
                how = ":latest" if tag else "no tag and no digest"
                after = f"imagePullPolicy {policy}" if policy else f"{retries} retries"
                yield Hit(image, f"{how} with {after}")


def no_shared_memory(job: JobSpec) -> Iterator[Hit]:
    """A GPU job with the runtime's 64 MiB of /dev/shm."""
    for each, container in job.trainers():
        paths = {mount.at("mountPath").words for mount in mounts(container)}
        has_gpu = gpus(container) > 0 or bool(resource_names(container, MIG))
        if has_gpu and not paths & {"/dev/shm", "/dev/shm/"}:  # noqa: S108  (the pod's, not ours)
            if each.pod.at("hostIPC").boolean is True:
                continue
            yield Hit(container.field.at("volumeMounts"), "nothing is mounted at /dev/shm")


def unlimited_shared_memory(job: JobSpec) -> Iterator[Hit]:
    """A memory volume without a size."""
    for each in job.replica_sets:
        for name, volume in volumes(each).items():
            memory = volume.at("emptyDir", "medium")
            if memory.words == "Memory" and not volume.at("emptyDir", "sizeLimit").present:
                yield Hit(memory, f"memory volume {name!r} without sizeLimit")


def broken_mounts(job: JobSpec) -> Iterator[Hit]:
    """A mount of a volume nobody defines, or two at one path."""
    for each in job.replica_sets:
        known = volumes(each)
        has_token = any(item.at("name").is_token for item in each.pod.at("volumes").items)
        for container in each.containers:
            seen: set[str] = set()
            for mount in mounts(container):
                name, path = mount.at("name").text, mount.at("mountPath").text
                if name and name not in known and not has_token:
                    yield Hit(mount.at("name"), f"no volume {name!r} in the pod")
                if path and path.rstrip("/") in seen:
                    yield Hit(mount.at("mountPath"), f"two mounts at {path}")
                seen.add((path or "").rstrip("/"))


def unused_volumes(job: JobSpec) -> Iterator[Hit]:
    """A volume that no container mounts."""
    for each in job.replica_sets:
        containers = [*each.pod.at("containers").items, *each.pod.at("initContainers").items]
        used = {mount.at("name").words for c in containers for mount in c.at("volumeMounts").items}
        for name, volume in volumes(each).items():
            if name not in used:
                yield Hit(volume.at("name"), f"volume {name!r} is not mounted")


def nothing_persistent(job: JobSpec) -> Iterator[Hit]:
    """Retries, but nothing mounted that outlives the node."""
    retries = job.run_policy.at("jobMaxRetryCount").integer or 0
    if retries <= 0:
        return
    for each, container in job.trainers():
        if persistent_paths(each, container) or _saves_remotely(container):
            continue
        yield Hit(
            container.field.at("volumeMounts"),
            f"{retries} retries, but no volume that outlives the node is mounted",
        )


def _saves_remotely(container: Container) -> bool:
    values = [argument.value for argument in _path_arguments(container)]
    return any(_REMOTE.match(value or "") for value in values)


def _path_arguments(container: Container) -> Iterator[Argument]:
    """Yield the options that name where checkpoints or output go."""
    for argument in container.launch.arguments:
        match = _PATH_OPTION.search(argument.name.lower())
        value = argument.value or ""
        if match and (match[1] or "/" in value) and not re.fullmatch(r"[0-9.]*|true|false", value):
            yield argument


def lost_checkpoints(job: JobSpec) -> Iterator[Hit]:
    """A checkpoint path on the node."""
    for each, container in job.trainers():
        kept = [path.rstrip("/") + "/" for path in persistent_paths(each, container)]
        for argument in _path_arguments(container):
            value = argument.value or ""
            if TEMPLATE.search(value) or "<" in value or "$(" in value or _REMOTE.match(value):
                continue
            if not value.startswith("/"):
                yield Hit(argument.where, f"--{argument.name}={value} is relative")
            elif not any((value.rstrip("/") + "/").startswith(path) for path in kept):
                yield Hit(
                    argument.where, f"--{argument.name}={value} lies on no volume that is kept"
                )


def host_network_port(job: JobSpec) -> Iterator[Hit]:
    """The agent's port on the host's network."""
    for each, container in job.trainers():
        if each.pod.at("hostNetwork").boolean is not True or each.pod.at("dnsPolicy").present:
            continue
        option = container.launch.option("server_port")
        if option is None or option.value == str(AGENT_PORT):
            yield Hit(each.pod.at("hostNetwork"), f"hostNetwork with port {AGENT_PORT}")


def harmful_probe(job: JobSpec) -> Iterator[Hit]:
    """A liveness probe that proves nothing, or kills long starts."""
    for _, container in job.trainers():
        probe = container.field.at("livenessProbe")
        if not probe.present:
            continue
        command = [item.words for item in probe.at("exec", "command").items]
        is_idle = command in (["true"], ["/bin/true"], ["echo", "ok"]) or "exit 0" in command
        what = "always succeeds" if is_idle else "can kill a long start or a long checkpoint"
        yield Hit(probe, f"the livenessProbe {what}")


def privileged(job: JobSpec) -> Iterator[Hit]:
    """A privileged container."""
    for each in job.replica_sets:
        for container in each.containers:
            field = container.field.at("securityContext", "privileged")
            if field.boolean is True:
                yield Hit(field, "privileged: true")


CHECKS = (
    Check(
        "HPJ060",
        "no-image",
        Severity.ERROR,
        "The pod is refused: InvalidImageName.",
        "write the image with its tag or digest",
        "Kubernetes; public manifests",
        no_image,
    ),
    Check(
        "HPJ061",
        "moving-tag",
        Severity.WARNING,
        "Nodes may run different code after a replacement.",
        "pin a tag or a digest",
        "Kubernetes: images",
        moving_tag,
    ),
    Check(
        "HPJ062",
        "no-shared-memory",
        Severity.WARNING,
        "The default of 64 MiB breaks NCCL and DataLoader workers.",
        "mount an emptyDir with medium Memory at /dev/shm",
        "AWS samples",
        no_shared_memory,
    ),
    Check(
        "HPJ063",
        "unlimited-shared-memory",
        Severity.ADVICE,
        "What is written there counts against the container's memory without a limit of its own.",
        "add sizeLimit",
        "Kubernetes: emptyDir",
        unlimited_shared_memory,
    ),
    Check(
        "HPJ064",
        "broken-mount",
        Severity.ERROR,
        "The API server refuses the pod.",
        "define the volume, or mount each path once",
        "Kubernetes: volumes",
        broken_mounts,
    ),
    Check(
        "HPJ065",
        "unused-volume",
        Severity.ADVICE,
        "Dead configuration, or a forgotten mount.",
        "mount it or remove it",
        "Kubernetes: volumes",
        unused_volumes,
    ),
    Check(
        "HPJ066",
        "nothing-persistent",
        Severity.WARNING,
        "A replaced pod or node loses every checkpoint.",
        "mount a claim (FSx, EFS, S3) and save there",
        "AWS: using the HyperPod training operator",
        nothing_persistent,
    ),
    Check(
        "HPJ067",
        "checkpoints-on-node",
        Severity.WARNING,
        "On another node the job resumes from zero.",
        "use an absolute path below a persistent mount",
        "AWS FSDP sample",
        lost_checkpoints,
    ),
    Check(
        "HPJ076",
        "host-network-port",
        Severity.WARNING,
        "Two pods on a node collide, and cluster names no longer resolve.",
        "drop hostNetwork, or set dnsPolicy: ClusterFirstWithHostNet",
        "Kubernetes: pod networking",
        host_network_port,
    ),
    Check(
        "HPJ077",
        "harmful-probe",
        Severity.ADVICE,
        "It proves nothing, or kills healthy starts.",
        "remove it; the agent watches the workers",
        "public manifests",
        harmful_probe,
    ),
    Check(
        "HPJ078",
        "privileged",
        Severity.ADVICE,
        "EFA needs IPC_LOCK, not all privileges.",
        "drop privileged, add capability IPC_LOCK",
        "public manifests",
        privileged,
    ),
)

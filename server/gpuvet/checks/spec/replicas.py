"""HPJ021 to HPJ028: replicas and processes, in the spec and on the command line."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.pod_facts import gpus, resource_names, whole_number
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import JobSpec
from gpuvet.model.yaml_tree import MappingNode


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
        given = whole_number(option)
        if option and processes and given and given != processes:
            yield Hit(
                option.where,
                f"--nproc-per-node={given}, but nprocPerNode is {processes}",
                fix="keep one number; in a shell write --nproc-per-node=${NPROC_PER_NODE}",
            )


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
)

"""P27: the job as written fits the cluster, the run's length and the storage."""

from collections.abc import Iterator
from datetime import timedelta

from gpuvet.calculators.poisson import Interval
from gpuvet.catalog.instance_types import instance_type
from gpuvet.checks.preflight.outcome import Number, Part, PreflightCheck, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import JobFile, View, plain
from gpuvet.model.check import CheckStatus, Finding, Severity
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.job_spec import JobSpec
from gpuvet.parse.sbatch import BatchScript, read_sbatch

_GOVERNANCE = "amazon-sagemaker-hyperpod-taskgovernance"
# A rule that never fires does no harm to the run itself; it only does not help.
_HARMLESS = frozenset({"HPJ141"})
# These fault a healthy run for certain, whatever their level in a check of the file alone.
_FATAL = frozenset({"HPJ133", "HPJ151"})
_TELLING_ADVICE = frozenset({"HPJ145", "HPJ146", "HPJ149"})


def job_spec(view: View) -> Iterator[Part]:
    """Judge the file by itself, then against the cluster."""
    scripts = [(name, found) for name, text in view.scripts if (found := read_sbatch(text))]
    if view.job is None and not scripts:
        yield Part(
            CheckStatus.NEEDS_INPUT,
            "the job",
            "no job spec and no batch script was given",
            closes_with="give the job (--spec job.yaml), or put it into the case",
        )
    if view.job is not None:
        yield from _findings(view.job)
        if view.job.spec is not None and not view.job.spec.is_fragment:
            yield from _against_cluster(view, view.job.spec)
    for name, script in scripts:
        yield from _script(view, name, script)


def severity_of(finding: Finding) -> CheckStatus | None:
    """Return what a finding of the file means for the run; None: advice only."""
    if finding.code in _FATAL:
        return CheckStatus.FAIL
    if finding.code in _HARMLESS or finding.code in _TELLING_ADVICE:
        return CheckStatus.RISK
    return {Severity.ERROR: CheckStatus.FAIL, Severity.WARNING: CheckStatus.RISK}.get(
        finding.severity
    )


def _findings(job: JobFile) -> Iterator[Part]:
    told = [(severity_of(one), one) for one in job.findings]
    for finding_status, one in told:
        if finding_status is not None:
            yield Part(
                finding_status,
                f"{one.file}:{one.line}",
                f"{one.code} {one.path}: {one.message}. {one.why}",
                action=one.fix,
            )
    if not any(finding_status for finding_status, _ in told):
        why = f"{job.file}: no error and no warning"
        yield Part(CheckStatus.PASS, job.file, why)


def _against_cluster(view: View, spec: JobSpec) -> Iterator[Part]:
    if not view.listed.is_complete:
        yield unread(view.listed, "the nodes", "the job was not held against them")
    yield from _nodes(view, spec)
    yield from _types(view, spec)
    yield from _gpus(view, spec)
    yield from _spares(view, spec)
    yield from _deadline(view, spec)
    yield from _budget(view, spec)


def _nodes(view: View, spec: JobSpec) -> Iterator[Part]:
    pods = spec.total_replicas
    if pods is None or not view.listed.is_complete:
        return
    spare = sum(each.field.at("spares").integer or 0 for each in spec.replica_sets)
    have = len(view.nodes)
    counts: dict[str, Number] = {"pods": pods, "spares": spare, "nodes": have}
    told = f"{pods} pods and {spare} spares on {have} accelerated nodes"
    if pods > have:
        act = "lower replicas, or bring more nodes up"
        yield Part(CheckStatus.FAIL, "spec.replicaSpecs", told, counts, action=act)
    elif pods + spare > have:
        act = "lower spares: Kueue would never admit the job"
        yield Part(CheckStatus.RISK, "spec.replicaSpecs", told, counts, action=act)
    else:
        yield Part(CheckStatus.PASS, "spec.replicaSpecs", told, counts)
    asked = view.run.nodes_needed
    if asked is not None and pods and asked != pods:
        why = f"the run was said to take {asked} nodes, the job asks for {pods} pods"
        act = "say which one holds"
        yield Part(CheckStatus.RISK, "spec.replicaSpecs", why, action=act)


def _types(view: View, spec: JobSpec) -> Iterator[Part]:
    wanted, have = view.wanted_types, {plain(n.instance_type) for n in view.nodes}
    if wanted and have - {""} and not wanted & have:
        yield Part(
            CheckStatus.FAIL,
            "nodeSelector",
            f"the job wants {', '.join(sorted(wanted))}, the nodes are {', '.join(sorted(have))}",
            action="name the instance type of the nodes",
        )
    for _, container in spec.trainers():
        asked = container.amount("limits", "vpc.amazonaws.com/efa").integer
        most = max((view.most_efa(kind) or 0 for kind in wanted or have), default=0)
        if asked is not None and most and spec.is_multi_node:
            counts: dict[str, Number] = {"efa": asked, "efa_most": most}
            told = f"{asked} of {most} EFA interfaces asked for"
            status = CheckStatus.PASS if asked == most else CheckStatus.RISK
            act = None if asked == most else f"ask for {most}"
            yield Part(status, "resources", told, counts, action=act)


def _gpus(view: View, spec: JobSpec) -> Iterator[Part]:
    """Hold the GPUs a pod asks for against those of the nodes' type."""
    kinds = view.wanted_types or {plain(n.instance_type) for n in view.nodes}
    sizes = [row for kind in kinds if (row := instance_type(kind)) is not None]
    if not sizes:
        return
    most = max(row.gpus for row in sizes)
    for _, container in spec.trainers():
        asked = container.amount("limits", "nvidia.com/gpu").integer
        if asked is None or not most:
            continue
        counts: dict[str, Number] = {"gpus_asked": asked, "gpus_of_node": most}
        told = f"a pod asks for {asked} GPUs, a node has {most}"
        if asked > most:
            act = f"ask for at most {most} GPUs a pod: no node can hold it"
            yield Part(CheckStatus.FAIL, "resources", told, counts, action=act)
        elif asked < most and spec.is_multi_node:
            act = (
                f"ask for {most}: the other GPUs of each node stand idle, or another pod shares it"
            )
            yield Part(CheckStatus.RISK, "resources", told, counts, action=act)
        else:
            yield Part(CheckStatus.PASS, "resources", told, counts)


def _spares(view: View, spec: JobSpec) -> Iterator[Part]:
    queue = spec.metadata.at("labels", "kueue.x-k8s.io/queue-name").text
    wants = any((each.field.at("spares").integer or 0) > 0 for each in spec.replica_sets)
    names = {one.name for one in rows(view.addons)}
    if (queue or wants) and view.addons.was_refused:
        yield unread(view.addons, queue or "spares", "whether Kueue is installed")
    elif (queue or wants) and view.addons.is_complete and _GOVERNANCE not in names:
        yield Part(
            CheckStatus.RISK,
            queue or "spares",
            f"the job names a queue or spares, and {_GOVERNANCE} is not installed: Kueue must be "
            "there from elsewhere",
            action="see that Kueue runs and the queue exists",
            evidence=view.addons.refs,
        )


def _deadline(view: View, spec: JobSpec) -> Iterator[Part]:
    limit = spec.run_policy.at("activeDeadlineSeconds").integer
    if limit is None:
        return
    yield _limit("spec.runPolicy.activeDeadlineSeconds", timedelta(seconds=limit), view)


def _limit(subject: str, limit: timedelta, view: View) -> Part:
    length = timedelta(hours=view.run.hours)
    given = round(limit / timedelta(hours=1), 2)
    counts: dict[str, Number] = {"limit_h": given, "run_h": view.run.hours}
    told = f"{subject} ends the job after {given:g} h; the run takes {view.run.hours:g} h"
    if limit < length:
        return Part(CheckStatus.FAIL, subject, told, counts, action="raise the limit above the run")
    return Part(CheckStatus.PASS, subject, told, counts)


def _budget(view: View, spec: JobSpec) -> Iterator[Part]:
    """Tell the restart budget beside the interruptions to expect; history changes no status."""
    retries = spec.run_policy.at("jobMaxRetryCount").integer
    expected = expected_interruptions(view)
    if retries is None:
        return
    told = f"jobMaxRetryCount {retries} over {view.run.hours:g} h; " + (
        "too little history to hold it against"
        if expected is None
        else f"by the account's own history {expected.low:.1f} to {expected.high:.1f} "
        "interruptions in this run"
    )
    yield Part(CheckStatus.PASS, "spec.runPolicy.jobMaxRetryCount", told, notes=(told,))


def expected_interruptions(view: View) -> Interval | None:
    """Return the range of interruptions to expect; None for too little history."""
    nodes = view.run.nodes_needed or len(view.nodes)
    if view.history is None:
        return None
    return view.history.interruptions(nodes * view.run.hours)


def _script_size(view: View, name: str, script: BatchScript) -> Iterator[Part]:
    """Hold the nodes and GPUs a script asks for against the cluster."""
    if script.nodes is not None and view.listed.is_complete:
        have = len(view.nodes)
        counts: dict[str, Number] = {"nodes_asked": script.nodes, "nodes": have}
        told = f"{name}: {script.nodes} nodes asked for, {have} accelerated nodes"
        status = CheckStatus.FAIL if script.nodes > have else CheckStatus.PASS
        act = "ask for fewer nodes, or bring more up" if script.nodes > have else None
        yield Part(status, name, told, counts, action=act)
    elif script.nodes is not None:
        yield unread(view.listed, name, "the nodes were not held against the script")
    sizes = [row.gpus for kind in view.types if (row := instance_type(kind)) is not None]
    most = max(sizes, default=0)
    if script.gpus is not None and most and script.gpus > most:
        told = f"{name}: {script.gpus} GPUs a node asked for, a node has {most}"
        act = f"ask for at most {most} GPUs a node"
        yield Part(CheckStatus.FAIL, name, told, action=act)


def _script(view: View, name: str, script: BatchScript) -> Iterator[Part]:
    if script.limit is not None:
        yield _limit(f"{name} --time", script.limit, view)
    if view.orchestrator is Orchestrator.HYPERPOD_SLURM and script.has_srun and not script.resumes:
        yield Part(
            CheckStatus.RISK,
            name,
            f"{name}: srun without --auto-resume=1 (on sbatch it does nothing): the job does not "
            "resume after a node is replaced",
            action="add --auto-resume=1 to srun",
        )
    yield from _script_size(view, name, script)
    for path in script.local_checkpoints:
        yield Part(
            CheckStatus.RISK,
            name,
            f"{name}: checkpoints go to {path}, which only the node has: they are lost with it",
            action="write checkpoints to the shared file system",
        )
    if not script.appends:
        yield Part(
            CheckStatus.RISK,
            name,
            f"{name}: no --open-mode=append: a restart overwrites the output that explains it",
            action="add #SBATCH --open-mode=append",
        )


P27 = PreflightCheck(
    "P27",
    "the job as written fits the cluster and the run",
    "the job spec or batch script; nodes, types, add-ons, history",
    "FAIL: what the operator, the agent or the scheduler refuses, a monitor that faults a healthy "
    "run, more pods than nodes, more GPUs than a node has, a deadline before the run's end. RISK: "
    "a likely mistake, no auto-resume, checkpoints on the node. Checks of the file: "
    "references/spec-checks.md",
    "checks of job specs",
    job_spec,
)

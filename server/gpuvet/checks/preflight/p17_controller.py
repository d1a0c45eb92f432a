"""P17: the job's controller is there and healthy."""

from collections.abc import Iterator

from gpuvet.catalog.software_minimums import is_at_least
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unknown_platform, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.readiness import Addon

OPERATOR = "amazon-sagemaker-hyperpod-training-operator"
_GOVERNANCE = "amazon-sagemaker-hyperpod-taskgovernance"
# the operator's CRD: the least task governance that works with the training operator.
_LEAST_GOVERNANCE = "1.3.0"


def controller(view: View) -> Iterator[Part]:
    """Look for the training operator's add-on on EKS."""
    name = view.cluster_name or "the cluster"
    if view.orchestrator is Orchestrator.UNKNOWN:
        yield unknown_platform()
        return
    if view.orchestrator not in {Orchestrator.HYPERPOD_EKS, Orchestrator.EKS}:
        why = "no Kubernetes: the scheduler starts the job"
        yield Part(CheckStatus.NOT_APPLICABLE, name, why)
        return
    if not view.addons.is_complete:
        yield unread(view.addons, name)
    found = {one.name: one for one in rows(view.addons)}
    operator = found.get(OPERATOR)
    if operator is not None:
        yield _addon(view, operator)
    elif view.addons.is_complete:
        yield _without(view, name)
    governance = found.get(_GOVERNANCE)
    if governance is not None and operator is not None:
        yield from _old(governance)


def _addon(view: View, one: Addon) -> Part:
    told = f"{one.name} {one.version or ''} is {one.status or 'in an unknown state'}"
    if one.status == "ACTIVE" and not one.issues:
        return Part(CheckStatus.PASS, one.name, told, evidence=view.addons.refs)
    return Part(
        CheckStatus.RISK,
        one.name,
        f"{told}: {'; '.join(one.issues[:2]) or 'not ACTIVE'}",
        action=f"bring {one.name} to ACTIVE before the run",
        evidence=view.addons.refs,
    )


def _without(view: View, name: str) -> Part:
    if view.job is not None and view.job.spec is not None and not view.job.spec.is_fragment:
        return Part(
            CheckStatus.FAIL,
            name,
            f"the job is a HyperPodPyTorchJob and {OPERATOR} is not installed",
            action=f"install the add-on {OPERATOR}",
            evidence=view.addons.refs,
        )
    return Part(
        CheckStatus.NEEDS_INPUT,
        name,
        f"{OPERATOR} is not installed",
        closes_with="ask what restarts the job's pods: Kubeflow, a Job, or the training operator?",
        evidence=view.addons.refs,
    )


def _old(one: Addon) -> Iterator[Part]:
    version = (one.version or "").removeprefix("v")
    if version and not is_at_least(version, _LEAST_GOVERNANCE):
        yield Part(
            CheckStatus.RISK,
            one.name,
            f"{one.name} {one.version} is older than v{_LEAST_GOVERNANCE}, which the training "
            "operator needs",
            action=f"update {one.name}",
        )


P17 = PreflightCheck(
    "P17",
    "the job's controller is there and healthy",
    "eks ListAddons, DescribeAddon",
    "FAIL: a HyperPodPyTorchJob without its operator. RISK: the operator not ACTIVE, or task "
    "governance too old for it. NOT_APPLICABLE without Kubernetes",
    "SageMaker HyperPod user guide, training operator",
    controller,
)

"""P18: GPU metrics exist, so that a stall shows."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

_OBSERVABILITY = "amazon-sagemaker-hyperpod-observability"


def gpu_metrics(view: View) -> Iterator[Part]:
    """Look for GPU metrics in CloudWatch, the observability add-on, or a Prometheus workspace."""
    listed = view.storage.gpu_listed if view.storage is not None else None
    if listed is not None and listed.value:
        why = f"GPUPowerUtilization of {len(listed.value)} GPUs is in CloudWatch"
        yield Part(CheckStatus.PASS, "metrics", why, evidence=(listed.evidence,))
        return
    addon = next((one for one in rows(view.addons) if one.name == _OBSERVABILITY), None)
    if addon is not None and addon.status == "ACTIVE":
        why = f"{addon.name} {addon.version or ''} is ACTIVE"
        yield Part(CheckStatus.PASS, "metrics", why, evidence=view.addons.refs)
        return
    if rows(view.workspaces):
        yield Part(
            CheckStatus.UNVERIFIED,
            "metrics",
            f"workspace {view.workspaces.value[0].id if view.workspaces.value else ''} exists; "
            "whether DCGM series arrive in it was not read",
            closes_with="a query of DCGM_FI_DEV_GPU_UTIL in the workspace",
            evidence=view.workspaces.refs,
        )
        return
    if view.workspaces.was_refused or view.addons.was_refused:
        yield unread(view.workspaces if view.workspaces.was_refused else view.addons, "metrics")
    elif listed is None or not listed.status.is_complete:
        closes = "cloudwatch:ListMetrics of AWS/EC2 GPUPowerUtilization"
        why = "GPU metrics of CloudWatch not read"
        yield Part(CheckStatus.UNVERIFIED, "metrics", why, closes_with=closes, unread=True)
    else:
        yield Part(
            CheckStatus.RISK,
            "metrics",
            "no GPU metric exists in CloudWatch and no Prometheus workspace: a stall would show "
            "only in the job's own output",
            action="install the observability add-on, or DCGM's exporter with a workspace",
            evidence=view.workspaces.refs,
        )


P18 = PreflightCheck(
    "P18",
    "GPU metrics exist, so that a stall shows",
    "ListMetrics (GPUPowerUtilization), ListAddons, Managed Prometheus ListWorkspaces",
    "RISK: none of them. A workspace whose series were not read is UNVERIFIED",
    "HyperPod observability guide",
    gpu_metrics,
)

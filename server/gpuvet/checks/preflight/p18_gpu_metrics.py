"""P18: GPU metrics exist, so that a stall shows."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

_OBSERVABILITY = "amazon-sagemaker-hyperpod-observability"
_SUBJECT = "metrics"


def gpu_metrics(view: View) -> Iterator[Part]:
    """Look for GPU metrics in CloudWatch, or arriving in a Prometheus workspace, node by node."""
    listed = view.storage.gpu_listed if view.storage is not None else None
    if listed is not None and listed.value:
        why = f"GPUPowerUtilization of {len(listed.value)} GPUs is in CloudWatch"
        yield Part(CheckStatus.PASS, _SUBJECT, why, evidence=(listed.evidence,))
    elif view.arriving.value is not None:
        yield _arriving(view, view.arriving.value)
    elif view.arriving.is_complete and view.nodes:
        yield _not_arriving(view)
    elif _has_addon(view):
        yield from _of_addon(view)
    elif rows(view.workspaces):
        yield _unread_workspace(view)
    elif view.workspaces.was_refused or view.addons.was_refused:
        yield unread(view.workspaces if view.workspaces.was_refused else view.addons, _SUBJECT)
    elif listed is None or not listed.status.is_complete:
        closes = "cloudwatch:ListMetrics of AWS/EC2 GPUPowerUtilization"
        why = "GPU metrics of CloudWatch not read"
        yield Part(CheckStatus.UNVERIFIED, _SUBJECT, why, closes_with=closes, unread=True)
    else:
        yield Part(
            CheckStatus.RISK,
            _SUBJECT,
            "no GPU metric exists in CloudWatch and no Prometheus workspace: a stall would show "
            "only in the job's own output",
            action="install the observability add-on, or DCGM's exporter with a workspace",
            evidence=view.workspaces.refs,
        )


def _arriving(view: View, seen: tuple[str, ...]) -> Part:
    """Say of how many nodes GPU series arrive; of one without, a stall would not show."""
    dark = sorted({node.node for node in view.nodes} - set(seen))
    numbers = {"nodes_with_series": len(view.nodes) - len(dark), "nodes": len(view.nodes)}
    told = f"GPU series of {numbers['nodes_with_series']} of {len(view.nodes)} nodes arrive"
    if not view.arriving.is_complete and dark:
        return unread(view.arriving, _SUBJECT)
    if dark:
        shown = ", ".join(dark[:5]) + (f" and {len(dark) - 5} more" if len(dark) > 5 else "")
        return Part(
            CheckStatus.RISK,
            _SUBJECT,
            f"{told} in Managed Prometheus; none of {shown}: a stall there would not show",
            numbers=numbers,
            action=f"find out why the exporter of {dark[0]} does not arrive",
            evidence=view.arriving.refs,
        )
    why = f"{told} in Managed Prometheus"
    return Part(CheckStatus.PASS, _SUBJECT, why, numbers=numbers, evidence=view.arriving.refs)


def _not_arriving(view: View) -> Part:
    return Part(
        CheckStatus.RISK,
        _SUBJECT,
        f"GPU series of 0 of {len(view.nodes)} nodes arrive in Managed Prometheus: a stall would "
        "show only in the job's own output",
        numbers={"nodes_with_series": 0, "nodes": len(view.nodes)},
        action="see why the DCGM exporter's series do not arrive: add-on, scrape, remote write",
        evidence=view.arriving.refs,
    )


def _has_addon(view: View) -> bool:
    return any(one.name == _OBSERVABILITY and one.status == "ACTIVE" for one in rows(view.addons))


def _of_addon(view: View) -> Iterator[Part]:
    """An add-on that runs is no series that arrives: without a look into it, it is all there is."""
    addon = next(one for one in rows(view.addons) if one.name == _OBSERVABILITY)
    why = f"{addon.name} {addon.version or ''} is ACTIVE"
    if view.arriving.was_refused and view.arriving.reason != _NOT_ASKED:
        yield unread(view.arriving, _SUBJECT)
    else:
        yield Part(CheckStatus.PASS, _SUBJECT, why, evidence=view.addons.refs)


_NOT_ASKED = "not asked"


def _unread_workspace(view: View) -> Part:
    name = view.workspaces.value[0].id if view.workspaces.value else ""
    return Part(
        CheckStatus.UNVERIFIED,
        _SUBJECT,
        f"workspace {name} exists; whether DCGM series arrive in it was not read",
        closes_with=view.arriving.closes_with or "a query of DCGM_FI_DEV_GPU_UTIL in the workspace",
        evidence=view.workspaces.refs,
    )


P18 = PreflightCheck(
    "P18",
    "GPU metrics exist, so that a stall shows",
    "ListMetrics (GPUPowerUtilization), ListAddons, Managed Prometheus ListWorkspaces and, inside "
    "the workspace, whose GPU series arrive",
    "RISK: none of them, or a node whose series do not arrive. A workspace whose series were not "
    "read is UNVERIFIED",
    "HyperPod observability guide",
    gpu_metrics,
)

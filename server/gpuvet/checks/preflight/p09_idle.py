"""P9: reserved GPUs are used."""

from collections.abc import Iterator
from datetime import timedelta

from gpuvet.calculators.gpu_activity import NO_HOURS, GpuHours, idle_hours
from gpuvet.checks.preflight.holdings import Kind, holdings
from gpuvet.checks.preflight.outcome import Part, PreflightCheck
from gpuvet.checks.preflight.view import RunNode, View
from gpuvet.model.check import CheckStatus
from gpuvet.model.evidence import Window

LOOK_BACK = timedelta(hours=24)
# preflight P9.
_IDLE_SHARE = 0.5


def idle(view: View) -> Iterator[Part]:
    """Count the idle GPU hours of the last day on reserved nodes."""
    subject = view.cluster_name or "the cluster"
    has_activity = view.storage is not None and view.storage.has_gpu
    if view.is_hyperpod and not has_activity:
        yield Part(
            CheckStatus.UNVERIFIED,
            subject,
            "GPU use is not in CloudWatch on HyperPod",
            closes_with="the HyperPod observability add-on: DCGM_FI_DEV_GPU_UTIL in Managed "
            "Prometheus",
        )
        return
    kinds = {one.kind for one in holdings(view)}
    if kinds <= {Kind.ON_DEMAND, Kind.SPOT}:
        why = "no capacity is reserved: nothing is paid for while idle but running nodes"
        yield Part(CheckStatus.NOT_APPLICABLE, subject, why)
        return
    total = sum((_hours(view, node) for node in view.nodes), NO_HOURS)
    yield _judged(total, subject)


def _hours(view: View, node: RunNode) -> GpuHours:
    if view.storage is None:
        return NO_HOURS
    gpus = dict(view.storage.gpus).get(node.node, 0)
    series = [one for one in view.storage.gpu if one.name.of("InstanceId") == node.node]
    start = max(view.now - LOOK_BACK, node.launched_at or view.now - LOOK_BACK)
    if start >= view.now or not gpus:
        return NO_HOURS
    return idle_hours(series, gpus, Window(start=start, end=view.now))


def _judged(total: GpuHours, subject: str) -> Part:
    counts = {
        "idle_gpu_h": round(total.idle, 1),
        "busy_gpu_h": round(total.busy, 1),
        "unknown_gpu_h": round(total.unknown, 1),
    }
    told = f"{total.idle:.0f} idle, {total.busy:.0f} busy, {total.unknown:.0f} unknown GPU hours"
    if total.total and total.idle > _IDLE_SHARE * total.total:
        return Part(
            CheckStatus.RISK,
            subject,
            f"{told} in the last 24 h: more than half of what is reserved stood idle",
            numbers=counts,
            action="find out why the reserved nodes stood idle before adding a run",
        )
    if not total.total or total.unknown > (1 - _IDLE_SHARE) * total.total - total.idle:
        return Part(
            CheckStatus.UNVERIFIED,
            subject,
            f"{told} in the last 24 h",
            numbers=counts,
            closes_with="GPUPowerUtilization per instance and GPU (CloudWatch agent, AWS/EC2), or "
            "DCGM_FI_DEV_GPU_UTIL in Managed Prometheus",
        )
    return Part(CheckStatus.PASS, subject, f"{told} in the last 24 h", numbers=counts)


P9 = PreflightCheck(
    "P9",
    "reserved GPUs are used",
    "GPUPowerUtilization of the last 24 h; on HyperPod GPU activity in Managed Prometheus",
    "RISK: more than half of the reserved GPU hours idle. UNVERIFIED on HyperPod without a "
    "workspace, and where so much is unknown that half could have been idle",
    "root cause rules of gpuvet, idle reserved hours",
    idle,
)

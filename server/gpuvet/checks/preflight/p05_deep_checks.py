"""P5: new nodes are tested before they take work."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unknown_platform, unread
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus


def deep_checks(view: View) -> Iterator[Part]:
    """Look at the deep health checks of every accelerated group."""
    subject = view.cluster_name or "the cluster"
    if not view.is_known:
        yield unknown_platform()
        return
    if not view.is_hyperpod:
        yield Part(
            CheckStatus.NOT_APPLICABLE,
            subject,
            "deep health checks are HyperPod's; run an NCCL test on new nodes instead",
        )
        return
    found = view.cluster.value
    if found is None:
        yield unread(view.cluster, subject)
        return
    for group in view.accelerated:
        if not group.deep_checks:
            yield Part(
                CheckStatus.RISK,
                group.name,
                f"{group.name} ({group.instance_type}) has no OnStartDeepHealthChecks: a "
                "replacement takes work untested",
                action=f"set OnStartDeepHealthChecks of {group.name} to InstanceStress and "
                "InstanceConnectivity",
                evidence=view.cluster.refs,
            )
        else:
            notes = (
                ()
                if "InstanceConnectivity" in group.deep_checks or view.is_single_node
                else (f"{group.name} does not test InstanceConnectivity: EFA stays untested",)
            )
            yield Part(
                CheckStatus.PASS,
                group.name,
                f"{group.name} tests new nodes: {', '.join(group.deep_checks)}",
                evidence=view.cluster.refs,
                notes=notes,
            )


P5 = PreflightCheck(
    "P5",
    "new nodes are tested before they take work",
    "DescribeCluster (OnStartDeepHealthChecks)",
    "RISK: an accelerated group without deep health checks; an absent key is an empty one. "
    "NOT_APPLICABLE outside HyperPod",
    "SageMaker HyperPod user guide",
    deep_checks,
)

"""P22: credentials outlive the run."""

import re
from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

_STATIC = re.compile(r"AWS_(?:SESSION_TOKEN|SECRET_ACCESS_KEY|ACCESS_KEY_ID)")


def credentials(view: View) -> Iterator[Part]:
    """Look for static keys in the job, and for roles on the nodes."""
    name = view.cluster_name or "the cluster"
    trainers = view.job.spec.trainers() if view.job and view.job.spec else ()
    for _, container in trainers:
        for env in container.env:
            if _STATIC.fullmatch(env.name) and env.value.present:
                yield Part(
                    CheckStatus.RISK,
                    env.name,
                    f"the job carries {env.name}: a static credential can expire inside the run",
                    action="let the pods take the node's role or a pod identity instead",
                )
    if view.job is None:
        yield Part(
            CheckStatus.NEEDS_INPUT,
            "the job",
            "the job's environment was not given: keys in it would show there",
            closes_with="give the job (--spec job.yaml)",
        )
    if view.is_hyperpod:
        if view.cluster.value is None:
            yield unread(view.cluster, name)
            return
        without = [g.name for g in view.accelerated if g.role is None]
        if without or not view.accelerated:
            why = f"the execution role of {', '.join(without) or 'the groups'} was not returned"
            closes = f"sagemaker:DescribeCluster of {name}: ExecutionRole"
            yield Part(CheckStatus.UNVERIFIED, name, why, closes_with=closes)
        else:
            why = "every accelerated group has an execution role, whose credentials renew"
            yield Part(CheckStatus.PASS, name, why, evidence=view.cluster.refs)
    else:
        yield Part(
            CheckStatus.NEEDS_INPUT,
            name,
            "whether the job uses roles or keys was not told",
            closes_with="ask: does the job read data with a role, or with keys that expire?",
        )


P22 = PreflightCheck(
    "P22",
    "credentials outlive the run",
    "DescribeCluster (ExecutionRole), the job's environment",
    "RISK: static AWS credentials in the job. PASS: HyperPod groups with execution roles",
    "IAM user guide",
    credentials,
)

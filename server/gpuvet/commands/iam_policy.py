"""`gpuvet iam-policy`: the permissions that reading takes, and no more."""

import argparse
import sys

from gpuvet.commands.common import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "iam-policy",
        help="print the IAM policy that reading takes",
        description="The minimal policy, ready to attach; every action of it reads. A mode asks "
        "for less than all of them.",
    )
    parser.add_argument("--mode", choices=("incident", "audit", "preflight"), help="default: all")
    parser.add_argument(
        "--kubernetes",
        action="store_true",
        help="print the Kubernetes ClusterRole to ask for instead, and its binding",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the policy, or the Kubernetes role."""
    from gpuvet.aws.iam_policy import PolicyMode, policy_text
    from gpuvet.aws.kubernetes_reads import cluster_role_text

    if args.kubernetes:
        sys.stdout.write(cluster_role_text())
        return 0
    sys.stdout.write(policy_text(PolicyMode(args.mode) if args.mode else None))
    return 0

"""The IAM policies that follow from the list of reads: what to ask for, and what a role keeps."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import groupby
from typing import Any

from gpuvet.aws.reads import OTHER_READS, READS, Read

# IAM: characters of a managed policy, and of an inline session policy as plain text.
MOST_POLICY_CHARACTERS = 6_144
MOST_SESSION_CHARACTERS = 2_048


class PolicyMode(StrEnum):
    """A mode as the command line spells it."""

    INCIDENT = "incident"
    AUDIT = "audit"
    PREFLIGHT = "preflight"


# Questions about a run to come: whether a block can be prolonged, what the quotas leave.
_FOR_A_RUN_TO_COME = frozenset(
    {
        "ec2:DescribeCapacityBlockExtensionOfferings",
        "service-quotas:GetServiceQuota",
        "service-quotas:ListServiceQuotas",
        "service-quotas:GetAWSDefaultServiceQuota",
    }
)
_LEFT_OUT: Mapping[PolicyMode, frozenset[str]] = {
    PolicyMode.INCIDENT: _FOR_A_RUN_TO_COME,
    PolicyMode.AUDIT: _FOR_A_RUN_TO_COME | {"ec2:GetManagedPrefixListEntries"},
    PolicyMode.PREFLIGHT: frozenset(),
}
_SIDS = {
    "sagemaker": "HyperPod",
    "ec2": "Ec2",
    "logs": "Logs",
    "cloudwatch": "Metrics",
    "cloudtrail": "Trail",
    "health": "Health",
    "events": "EventRules",
    "fsx": "FileSystems",
    "eks": "Eks",
    "service-quotas": "Quotas",
    "amp": "Prometheus",
    "prometheus": "PrometheusQueries",
}


def reads_of(mode: PolicyMode | None = None) -> tuple[Read, ...]:
    """Return the reads of the minimal policy, of one mode or of all."""
    left_out = _LEFT_OUT[mode] if mode else frozenset[str]()
    every = (*READS.values(), *OTHER_READS.values())
    return tuple(read for read in every if read.is_minimal and read.operation not in left_out)


def minimal_policy(reads: Iterable[Read]) -> Mapping[str, Any]:
    """Return a policy that allows exactly these reads, one statement a service.

    The resource is always `*`: most of these actions know no other, and a policy without ARNs is
    right in every partition. What is not allowed is denied, so it carries no Deny.
    """
    by_service = groupby(sorted(reads, key=lambda read: read.service), lambda read: read.service)
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": f"GpuvetReads{_SIDS.get(service, service.title().replace('-', ''))}",
                "Effect": "Allow",
                "Action": sorted({read.iam_action for read in members}),
                "Resource": "*",
            }
            for service, members in by_service
        ],
    }


def policy_text(mode: PolicyMode | None = None) -> str:
    """Return the minimal policy as JSON for a person to read and to paste."""
    return json.dumps(minimal_policy(reads_of(mode)), indent=2) + "\n"


def session_policy() -> str:
    """Return the policy an assumed role is cut down to: the whole list of reads, nothing more."""
    every = (*READS.values(), *OTHER_READS.values())
    statement = {
        "Effect": "Allow",
        "Action": sorted({read.iam_action for read in every if read.iam_action}),
        "Resource": "*",
    }
    document = {"Version": "2012-10-17", "Statement": [statement]}
    return json.dumps(document, separators=(",", ":"))

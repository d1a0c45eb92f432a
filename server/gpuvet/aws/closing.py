"""What would close a reading that is not complete: the permission, the call, the wait (§0.2)."""

from collections.abc import Callable, Mapping
from typing import Any

from gpuvet.aws.kubernetes_reads import GROUP_NAME, ROLE_NAME
from gpuvet.aws.reads import KUBERNETES, OTHER_READS, READS, read_of
from gpuvet.aws.subjects import SUBJECTS
from gpuvet.model.evidence import Envelope, Reason, Status

# AWS's API reference: plans whose accounts may call AWS Health.
HEALTH_PLANS = (
    "Business Support+, Enterprise or Unified Operations (older: Business, Enterprise On-Ramp)"
)
_CONTINUOUS = "NodeProvisioningMode Continuous"


def operation_of(answer: Envelope[Any]) -> str:
    """Return `service:Operation` of a reading."""
    return f"{answer.service}:{answer.operation}"


def subject_of(answer: Envelope[Any]) -> str:
    """Return what a reading was about, with its operation."""
    operation = operation_of(answer)
    return f"{SUBJECTS.get(operation, 'a reading')} ({operation})"


def reason_of(answer: Envelope[Any]) -> str:
    """Return why a reading is not complete: its reason, else the service's code, else its state."""
    if answer.reason is not None:
        return answer.reason.value
    return answer.error_code or answer.status.value.lower()


def closes_with(answer: Envelope[Any]) -> str:
    """Return what somebody would do to get this reading; it always names the call."""
    operation = operation_of(answer)
    if answer.reason in _CLOSING:
        return _CLOSING[answer.reason](answer, operation)
    if answer.status is Status.NOT_FOUND:
        return f"the right name or id for {operation}; what was named does not exist"
    said = f" ({answer.notes[0]})" if answer.notes else ""
    return f"{operation} again; it answered {answer.error_code or answer.status}{said}"


def _denied(answer: Envelope[Any], operation: str) -> str:
    if answer.service == KUBERNETES and _is_of_the_cluster(answer):
        return _not_let_in(answer, operation)
    action = read_of(operation).iam_action if _is_listed(operation) else operation
    if answer.error_code in {"AuthFailure", "OptInRequired"}:
        return f"{operation} with credentials and a region that are enabled for this account"
    return f"allow {action}; `gpuvet iam-policy` prints the policy to ask for"


def _is_listed(operation: str) -> bool:
    return operation in READS or operation in OTHER_READS


def _is_of_the_cluster(answer: Envelope[Any]) -> bool:
    """Say whether the cluster itself refused; EKS refuses the call that describes it."""
    return answer.error_code in {"Unauthorized", "Forbidden"}


def _not_let_in(answer: Envelope[Any], operation: str) -> str:
    if answer.error_code == "Forbidden":
        return (
            f"the ClusterRole {ROLE_NAME}, bound to the group of these credentials "
            f"(`gpuvet iam-policy --kubernetes` prints it), then {operation}"
        )
    entry = f"an EKS access entry for these credentials with the group {GROUP_NAME}"
    if any("CONFIG_MAP" in note and "API_AND" not in note for note in answer.notes):
        entry = (
            f"a mapRoles line in aws-auth with the group {GROUP_NAME}, or authenticationMode "
            "API_AND_CONFIG_MAP and an access entry"
        )
    return f"{entry}, then {operation}"


def _timed_out(answer: Envelope[Any], operation: str) -> str:
    if answer.error_code == "ConnectTimeout":
        return f"{operation} from where the cluster's endpoint answers: inside its VPC"
    return f"{operation} again, over a narrower window if it is a query"


def _refused(answer: Envelope[Any], operation: str) -> str:
    said = f" ({answer.notes[0]})" if answer.notes else ""
    return f"{operation} of an endpoint that is AWS's own{said}"


def _not_supported(answer: Envelope[Any], operation: str) -> str:
    if answer.operation in {"ListClusterEvents", "DescribeClusterEvent"}:
        return f"{operation} on a cluster with {_CONTINUOUS}; CloudTrail and the logs stand in"
    return f"{operation} does not apply to this resource"


def _unreachable(answer: Envelope[Any], operation: str) -> str:
    code = answer.error_code
    if code is None or (code.endswith("Error") and not code.startswith("Internal")):
        return f"a network path to the endpoint of {answer.service}, then {operation}"
    return f"{operation} again; the service failed by itself ({answer.error_code})"


_CLOSING: Mapping[Reason | None, Callable[[Envelope[Any], str], str]] = {
    Reason.DENIED: _denied,
    Reason.EXPIRED: lambda _, op: f"new credentials (sign in again), then {op}",
    Reason.THROTTLED: lambda _, op: f"{op} again in a few minutes; the service was throttling",
    Reason.TIMED_OUT: _timed_out,
    Reason.REFUSED: _refused,
    Reason.NOT_SUBSCRIBED: lambda _, op: f"{op} under a support plan that has it: {HEALTH_PLANS}",
    Reason.NOT_SUPPORTED: _not_supported,
    Reason.UNREACHABLE: _unreachable,
    Reason.ROW_CAP: lambda _, op: f"{op} over a narrower window: it returned as many as it may",
    Reason.PAGE_CAP: lambda _, op: f"{op} with a narrower filter: there are more pages",
    Reason.BUDGET: lambda answer, op: (
        f"{op} with a larger --deadline or --max-scan-gb"
        + (f" ({answer.notes[0]})" if answer.notes else "")
    ),
    Reason.NOT_RECORDED: lambda _, op: f"{op} against the account, or recorded in the case",
}

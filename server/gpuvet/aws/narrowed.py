"""An AWS door narrowed to the nodes of one question.

The readers ask for "the instances of the cluster" by ParallelCluster's tag, or for all there are.
Here that becomes what finds them in this account, and calls that cannot apply are not made.
"""

from collections.abc import Mapping
from typing import Any

from gpuvet.aws.clusters import CLUSTER_TAG, Found
from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.reads import read_of
from gpuvet.aws.recorded import canonical
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Envelope, Reason, Status

# How the note of a call begins that does not apply to these nodes.
NOT_ASKED = "not asked:"
_OF_A_HYPERPOD_CLUSTER = frozenset(
    {
        "sagemaker:DescribeCluster",
        "sagemaker:ListClusterNodes",
        "sagemaker:DescribeClusterNode",
        "sagemaker:ListClusterEvents",
        "sagemaker:DescribeClusterEvent",
    }
)


class NarrowedAws:
    """See `AwsDoor`."""

    def __init__(self, door: AwsDoor, found: Found) -> None:
        self._door = door
        self._found = found

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return one read of these nodes; see `AwsDoor.read`."""
        read_of(operation)
        if operation in _OF_A_HYPERPOD_CLUSTER and not self._may_be_hyperpod():
            return self._not_applicable(operation, params, region)
        if operation == "ec2:DescribeInstances" and self._found.filters and _asks_for_all(params):
            params = {**params, "Filters": [dict(one) for one in self._found.filters]}
        return self._door.read(operation, params, region=region)

    def _may_be_hyperpod(self) -> bool:
        kind = self._found.orchestrator
        is_unknown = kind is Orchestrator.UNKNOWN and self._found.name is not None
        return kind.is_hyperpod or is_unknown

    def _not_applicable(
        self, operation: str, params: Mapping[str, Any], region: str | None
    ) -> Envelope[tuple[Page, ...]]:
        service, _, name = operation.partition(":")
        return Envelope[tuple[Page, ...]](
            service=service,
            operation=name,
            region=region,
            params=canonical(params),
            status=Status.NOT_SUPPORTED,
            reason=Reason.NOT_SUPPORTED,
            notes=(f"{NOT_ASKED} these nodes are no HyperPod cluster",),
        )


def _asks_for_all(params: Mapping[str, Any]) -> bool:
    """Say whether a call means all instances of the cluster, or of the account."""
    filters = params.get("Filters") or ()
    names = {one.get("Name") for one in filters}
    return not (params.keys() - {"Filters"}) and names <= {f"tag:{CLUSTER_TAG}"}

"""An AWS door narrowed to the nodes of one question.

The readers ask for "the instances of the cluster" by ParallelCluster's tag, or for all there are.
Here that becomes what finds them in this account, and calls that cannot apply are not made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuvet.aws.clusters import CLUSTER_TAG, Found
from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.reads import read_of
from gpuvet.aws.recorded import canonical
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.untyped import objects_at, text_at

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
        if operation == "ec2:DescribeInstances" and region is None:
            known = self._among_known(params)
            if known is not None:
                return known
        return self._door.read(operation, params, region=region)

    def _among_known(self, params: Mapping[str, Any]) -> Envelope[tuple[Page, ...]] | None:
        """Answer for instances by id from the listing of them all, where it holds each of them.

        A fleet's ids would take a call for every 200 of them, and the same rows come back.
        """
        wanted = _ids_asked(params)
        listed = self._own_listing()
        if wanted is None or listed is None:
            return None
        rows = [row for page in listed.value or () for row in objects_at(page, "Reservations")]
        kept: list[Page] = []
        for row in rows:
            mine = [one for one in objects_at(row, "Instances") if one.get("InstanceId") in wanted]
            if mine:
                kept.append({**row, "Instances": mine})
        found = {text_at(one, "InstanceId") for row in kept for one in objects_at(row, "Instances")}
        if wanted - found:
            return None
        update = {"params": canonical(params), "value": ({"Reservations": kept},), "pages": 1}
        return listed.model_copy(update=update)

    def _own_listing(self) -> Envelope[tuple[Page, ...]] | None:
        """Return the complete listing of the question's instances; None where there is none."""
        filters: Sequence[Mapping[str, Any]] = [dict(one) for one in self._found.filters]
        if not filters and self._found.orchestrator is Orchestrator.PARALLELCLUSTER:
            filters = [{"Name": f"tag:{CLUSTER_TAG}", "Values": [self._found.name]}]
        if not filters or any(one["Name"] == "instance-id" for one in filters):
            return None
        listed = self._door.read("ec2:DescribeInstances", {"Filters": filters})
        return listed if listed.status.is_complete else None

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


def _ids_asked(params: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the ids of a call that asks for instances by id and by nothing else."""
    filters: list[Mapping[str, Any]] = list(params.get("Filters") or ())
    if set(params) != {"Filters"} or [one.get("Name") for one in filters] != ["instance-id"]:
        return None
    return frozenset(filters[0].get("Values") or ())

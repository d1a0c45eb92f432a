"""How many IPv4 addresses a node needs, and whether a subnet has room for more nodes."""

from collections.abc import Sequence

from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.capacity import Subnet
from gpuvet.model.cluster import Orchestrator


def addresses_of_node(
    kind: str | None, orchestrator: Orchestrator, interface: str | None = None
) -> int | None:
    """Return the addresses one node of a type takes (preflight P14); None for an unlisted type.

    Args:
        kind: EC2 or SageMaker type.
        orchestrator: With EKS the first interface holds a full set for pods.
        interface: `efa-only` where the further cards take no address.
    """
    row = instance_type(kind) if kind else None
    if row is None or row.network_cards is None:
        return None
    is_eks = orchestrator in {Orchestrator.HYPERPOD_EKS, Orchestrator.EKS}
    others = 0 if interface == "efa-only" else row.network_cards - 1
    if not is_eks:
        return 1 + others
    return None if row.ipv4_per_interface is None else row.ipv4_per_interface + others


def nodes_that_fit(subnets: Sequence[Subnet], need: int) -> int | None:
    """Return how many more nodes find addresses; None where a subnet's count was not read.

    A node's addresses lie in one subnet. A subnet without IPv4 says nothing of it.
    """
    if not subnets or any(one.free is None or one.is_ipv6_only for one in subnets):
        return None
    return sum((one.free or 0) // need for one in subnets)

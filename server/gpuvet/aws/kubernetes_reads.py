"""The list of what may be asked of a Kubernetes API: GET of four kinds, whole lists only.

Never Secrets, never ConfigMaps, never a verb but list. Another path, another method or another
host is refused before a socket exists (`door_guard.py`).
"""

from types import MappingProxyType
from typing import NamedTuple


class Listing(NamedTuple):
    """One list of the API."""

    path: str
    kind: str
    group: str  # API group; "" is the core group
    resource: str


# Kubernetes API reference v1; the job kind is that of the HyperPod training operator.
KUBERNETES_READS = MappingProxyType(
    {
        "ListNodes": Listing("/api/v1/nodes", "Node", "", "nodes"),
        "ListPods": Listing("/api/v1/pods", "Pod", "", "pods"),
        "ListEvents": Listing("/api/v1/events", "Event", "", "events"),
        "ListHyperPodPyTorchJobs": Listing(
            "/apis/sagemaker.amazonaws.com/v1/hyperpodpytorchjobs",
            "HyperPodPyTorchJob",
            "sagemaker.amazonaws.com",
            "hyperpodpytorchjobs",
        ),
    }
)
# The parameters a list may carry; none of them narrows or follows anything.
LIST_PARAMETERS = frozenset({"limit", "continue"})

ROLE_NAME = "gpuvet-reader"
GROUP_NAME = "gpuvet-readers"


def cluster_role_text() -> str:
    """Return the RBAC to ask for: a role that may list these kinds, bound to a group."""
    groups: dict[str, list[str]] = {}
    for one in KUBERNETES_READS.values():
        groups.setdefault(one.group, []).append(one.resource)
    rules = "".join(
        f'  - apiGroups: ["{group}"]\n'
        f"    resources: [{', '.join(resources)}]\n"
        "    verbs: [get, list]\n"
        for group, resources in groups.items()
    )
    return (
        "apiVersion: rbac.authorization.k8s.io/v1\n"
        "kind: ClusterRole\n"
        f"metadata:\n  name: {ROLE_NAME}\n"
        f"rules:\n{rules}"
        "---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\n"
        "kind: ClusterRoleBinding\n"
        f"metadata:\n  name: {ROLE_NAME}\n"
        "roleRef:\n"
        "  apiGroup: rbac.authorization.k8s.io\n"
        "  kind: ClusterRole\n"
        f"  name: {ROLE_NAME}\n"
        "subjects:\n"
        "  - apiGroup: rbac.authorization.k8s.io\n"
        "    kind: Group\n"
        f"    name: {GROUP_NAME}\n"
    )

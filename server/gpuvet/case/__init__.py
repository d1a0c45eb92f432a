"""Cases on disk to evidence: `load_case` takes any path, `nodes` lists who is in it."""

from gpuvet.case.case import Case, KubeObject, Reply
from gpuvet.case.inventory import listings, node_names, nodes
from gpuvet.case.load import load_case
from gpuvet.case.xid_sight import XidSight, xid_sight

__all__ = [
    "Case",
    "KubeObject",
    "Reply",
    "XidSight",
    "listings",
    "load_case",
    "node_names",
    "nodes",
    "xid_sight",
]

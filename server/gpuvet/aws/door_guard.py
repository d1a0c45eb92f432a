"""The guard at the wire of the two doors that are no AWS API: what may leave, and to where.

It looks at the request as it would be sent. Pure: it opens nothing.
"""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from gpuvet.aws.endpoints import WORKSPACE, is_cluster_host, workspace_of
from gpuvet.aws.kubernetes_reads import KUBERNETES_READS, LIST_PARAMETERS
from gpuvet.aws.prometheus_reads import PROMETHEUS_READS
from gpuvet.errors import NotReadOnly

_PROMETHEUS = frozenset((one.method, one.path) for one in PROMETHEUS_READS.values())
_KUBERNETES = frozenset(one.path for one in KUBERNETES_READS.values())
_WORKSPACE_PATH = re.compile(rf"/workspaces/{WORKSPACE.pattern}/(?P<rest>.+)")
_UNSAFE = re.compile(r"[\s\\\x00-\x1f\x7f]")


class Outgoing(NamedTuple):
    """One request as it would leave."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


def refuse_unlisted(request: Outgoing) -> None:
    """Raise for a request that is not one of the reads of either door.

    Raises:
        NotReadOnly: It must not leave: another method, path, parameter, host or scheme.
    """
    parts = urlsplit(request.url)
    base = f"{parts.scheme}://{parts.netloc}{parts.path}"
    if _UNSAFE.search(request.url) or "%" in parts.path or ".." in parts.path or parts.fragment:
        _refuse(request, "its URL holds what no listed read needs")
    if workspace_of(base) is not None:
        found = _WORKSPACE_PATH.fullmatch(parts.path)
        if found is None or (request.method, found["rest"]) not in _PROMETHEUS:
            _refuse(request, "Managed Prometheus is only asked query, query_range, labels, series")
        return
    is_cluster = (
        parts.scheme == "https"
        and parts.netloc == (parts.hostname or "")
        and is_cluster_host(parts.netloc)
    )
    if not is_cluster:
        _refuse(request, "its host is neither a workspace's nor that of an EKS cluster")
    if request.method != "GET" or parts.path not in _KUBERNETES or request.body:
        _refuse(request, "Kubernetes is only asked for lists of nodes, pods, events and jobs")
    if not {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)} <= LIST_PARAMETERS:
        _refuse(request, "a list is asked whole, page by page")


def _refuse(request: Outgoing, why: str) -> None:
    where = request.url.partition("?")[0][:200]
    msg = f"{request.method} {where!r} was stopped at the wire: {why}; nothing was sent"
    raise NotReadOnly(msg)

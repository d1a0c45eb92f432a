"""Where a Managed Prometheus workspace and an EKS cluster's API answer, by region. Pure.

A host that AWS would not give for the region is refused: our signature and our token go nowhere
else, whatever a reply or an add-on's configuration says.
"""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from gpuvet.aws.login import REGION

WORKSPACE = re.compile(r"ws-[0-9a-f-]{32,40}")
# Partitions by the start of a region (botocore 1.44.8, partitions.json); else amazonaws.com.
_SUFFIXES = {
    "cn-": ("amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    "eusc-": ("amazonaws.eu", "api.amazonwebservices.eu"),
    "us-iso-": ("c2s.ic.gov", "api.aws.ic.gov"),
    "us-isob-": ("sc2s.sgov.gov", "api.aws.scloud"),
    "eu-isoe-": ("cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    "us-isof-": ("csp.hci.ic.gov", "api.aws.hci.ic.gov"),
}
_USUAL = ("amazonaws.com", "api.aws")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})"
# A cluster's own part is two labels (id and cell), of old clusters also one.
_OWN_PART = rf"{_LABEL}(?:\.{_LABEL}){{0,1}}"

_EVERY = {_USUAL, *_SUFFIXES.values()}
_CLUSTER = re.compile(
    rf"{_OWN_PART}\.(?P<region>[a-z0-9-]+)\.eks"
    rf"\.(?P<suffix>{'|'.join(sorted(re.escape(one) for one, _ in _EVERY))})"
)
_DUAL_STACK = re.compile(
    rf"{_OWN_PART}\.eks-cluster\.(?P<region>[a-z0-9-]+)"
    rf"\.(?P<suffix>{'|'.join(sorted(re.escape(one) for _, one in _EVERY))})"
)


class Place(NamedTuple):
    """One workspace and its region."""

    region: str
    workspace: str


def dns_suffixes(region: str) -> tuple[str, str]:
    """Return the DNS suffix of a region's partition, and that of its dual-stack names."""
    found = (pair for start, pair in _SUFFIXES.items() if region.startswith(start))
    return next(found, _USUAL)


def prometheus_host(region: str) -> str:
    """Return the one host that serves the workspaces of a region."""
    return f"aps-workspaces.{region}.{dns_suffixes(region)[0]}"


def workspace_of(endpoint: str) -> Place | None:
    """Return the workspace a `prometheusEndpoint` or a remote-write URL leads to.

    None where it is not `https://aps-workspaces.<region>.<suffix>/workspaces/<id>/…`, without
    user, port, query or fragment.
    """
    parts = _plain(endpoint)
    if parts is None:
        return None
    host, path = parts
    name, _, rest = host.partition(".")
    region = rest.partition(".")[0]
    pieces = path.split("/")
    is_ours = (
        name == "aps-workspaces"
        and REGION.fullmatch(region) is not None
        and host == prometheus_host(region)
        and len(pieces) >= 3
        and pieces[:2] == ["", "workspaces"]
        and WORKSPACE.fullmatch(pieces[2]) is not None
    )
    return Place(region, pieces[2]) if is_ours else None


def cluster_host(endpoint: str, region: str) -> str | None:
    """Return the host of an EKS API endpoint, or None where EKS would not name it so."""
    parts = _plain(endpoint)
    if parts is None or parts[1] not in {"", "/"} or REGION.fullmatch(region) is None:
        return None
    host = parts[0]
    return host if is_cluster_host(host) and f".{region}." in host else None


def is_cluster_host(host: str) -> bool:
    """Say whether a host is one that EKS gives to a cluster's API, in any region."""
    for form in (_CLUSTER, _DUAL_STACK):
        found = form.fullmatch(host)
        if found and REGION.fullmatch(found["region"]):
            return found["suffix"] in dns_suffixes(found["region"])
    return False


def _plain(url: str) -> tuple[str, str] | None:
    """Return host and path of an https URL that carries nothing else."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    is_plain = (
        parts.scheme == "https"
        and parts.hostname is not None
        and "@" not in parts.netloc
        and port in {None, 443}
        and not parts.query
        and not parts.fragment
        and not re.search(r"[\s\\\x00-\x1f%]", url)
    )
    return ((parts.hostname or "").lower(), parts.path) if is_plain else None

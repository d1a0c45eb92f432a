"""P11: driver, CUDA, kernel, EFA installer and plugin reach the least versions of the family.

What a job or a node prints counts: boot lines, NCCL's own version line, nvidia-smi, nvcc, the EFA
installer's name. The CUDA that nvidia-smi prints is the newest that the driver runs: too old a
one fails, a newer one does not tell what the job was built with.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from gpuvet.catalog.software_minimums import (
    SoftwareMinimum,
    is_at_least,
    minimums_of,
    version_numbers,
)
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, no_node, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import RunNode, View, plain
from gpuvet.model.check import CheckStatus
from gpuvet.model.coverage import VISIBLE, Shipper
from gpuvet.model.events import Boundary
from gpuvet.model.software import Component
from gpuvet.report.words import some

_DRIVER, _KERNEL, _PLUGIN = "NVIDIA driver", "kernel", "aws-ofi-nccl"
_PLUGIN_VERSION = re.compile(r"aws-ofi-nccl (\d+(?:\.\d+)+)")
_CUDA, _CUDA_DRIVER = "CUDA", Component.CUDA_DRIVER.value
_OLD_IMAGE = frozenset({"SecurityUpdateRequired", "EndOfLife"})
_KERNEL_LOGS = frozenset({Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY})


def versions(view: View) -> Iterator[Part]:
    """Compare what boot and NCCL lines name with the table, and the nodes with each other."""
    yield from _images(view)
    seen = {node.node: _seen(view, node) for node in view.nodes}
    releases = {one.id: one.release for one in rows(view.hyperpod_nodes)}
    if not view.listed.is_complete:
        yield unread(view.listed, "the nodes")
    elif not view.nodes:
        yield no_node()
    for node in view.nodes:
        yield from _against_table(node, seen[node.node], releases.get(node.node))
    yield from _mixed(view, seen)


def _images(view: View) -> Iterator[Part]:
    """Yield HyperPod's own word on images: kernel logs are not shipped there."""
    if not view.is_hyperpod:
        return
    if view.cluster.value is None:
        yield unread(view.cluster, view.cluster_name or "the cluster")
    for group in view.accelerated:
        if group.image_status in _OLD_IMAGE:
            yield Part(
                CheckStatus.RISK,
                group.name,
                f"the image of {group.name} is {group.image_status}",
                action=f"update the software of {group.name} before the run",
                evidence=view.cluster.refs,
            )


def _seen(view: View, node: RunNode) -> Mapping[str, str]:
    """Return the versions that lines of a node name, by component."""
    boots = sorted((b for b in node.records.boundaries if b.at is not None), key=_when)
    found: dict[str, str] = {}
    for boot in boots:
        if boot.driver_version:
            found[_DRIVER] = boot.driver_version
        if boot.kernel_version:
            found[_KERNEL] = boot.kernel_version
    if node.driver and _DRIVER not in found:
        found[_DRIVER] = node.driver
    own = {node.node, *node.aliases}
    for line in view.nccl.lines:
        match = _PLUGIN_VERSION.search(line.raw)
        if match and (line.node == node.node or line.host in own):
            found[_PLUGIN] = match[1]
    for said in view.versions:
        is_own = said.node == node.node or said.host in own
        is_jobs = not said.node and said.host is None and said.component is Component.CUDA
        if is_own or is_jobs:
            name = said.component.value
            # Of several that are told the oldest counts: it may be the one that runs.
            found[name] = min(found.get(name, said.version), said.version, key=version_numbers)
    return found


def _when(boot: Boundary) -> str:
    return boot.at.isoformat() if boot.at else ""


def _against_table(node: RunNode, seen: Mapping[str, str], release: str | None) -> Iterator[Part]:
    for row in minimums_of(plain(node.instance_type)):
        have = seen.get(row.component)
        if have is None and row.component == _CUDA and _CUDA_DRIVER in seen:
            yield _by_driver(node, row, seen[_CUDA_DRIVER])
        elif have is None:
            yield Part(
                CheckStatus.UNVERIFIED,
                node.node,
                f"{row.component} of {node.node} not readable from its logs; at least "
                f"{row.minimum} for {row.family}",
                closes_with=_closes(row, release),
            )
        elif is_at_least(have, row.minimum):
            told = f"{node.node}: {row.component} {have}, at least {row.minimum}"
            yield Part(CheckStatus.PASS, node.node, told)
        else:
            yield Part(
                CheckStatus.FAIL,
                node.node,
                f"{node.node}: {row.component} {have} is below {row.minimum} for {row.family}",
                numbers={"have": have, "least": row.minimum},
                action=f"update {row.component} on {node.node} to {row.minimum} or later",
            )


def _by_driver(node: RunNode, row: SoftwareMinimum, newest: str) -> Part:
    """Return what the driver's own limit on CUDA says: too old fails, new enough proves little."""
    if not is_at_least(newest, row.minimum):
        return Part(
            CheckStatus.FAIL,
            node.node,
            f"{node.node}: its driver runs CUDA up to {newest}, below {row.minimum} for "
            f"{row.family}",
            numbers={"have": newest, "least": row.minimum},
            action=f"update the NVIDIA driver of {node.node}",
        )
    return Part(
        CheckStatus.UNVERIFIED,
        node.node,
        f"{node.node}: its driver runs CUDA up to {newest}; what the job was built with is not "
        f"readable, at least {row.minimum} for {row.family}",
        closes_with=_ASK[_CUDA],
    )


_ASK = MappingProxyType(
    {
        _DRIVER: "nvidia-smi on the node",
        _KERNEL: "uname -a on the node",
        _PLUGIN: "a job line with NCCL_DEBUG=INFO",
        _CUDA: "a job line with NCCL_DEBUG=VERSION, or nvcc --version in the job's image",
        "EFA installer": "head -1 /opt/amazon/efa_installed_packages on the node",
    }
)


def _closes(row: SoftwareMinimum, release: str | None) -> str:
    ask = _ASK.get(row.component, f"{row.component} on the node")
    notes = f", or the release notes of HyperPod image {release}" if release else ""
    return f"{ask}{notes}"


def _mixed(view: View, seen: Mapping[str, Mapping[str, str]]) -> Iterator[Part]:
    """Yield the comparison of drivers between nodes; families without a table have only that."""
    drivers = {node: found[_DRIVER] for node, found in seen.items() if _DRIVER in found}
    if len(set(drivers.values())) > 1:
        told = "; ".join(f"{name} {drivers[name]}" for name in sorted(drivers))
        yield Part(
            CheckStatus.RISK,
            "driver",
            f"mixed fleet: {told}",
            action="bring every node to one driver version",
        )
        return
    if any(minimums_of(plain(node.instance_type)) for node in view.nodes) or not view.nodes:
        return
    blind = [n for n in view.nodes if n.node not in drivers and _should_show(view, n, drivers)]
    kinds = ", ".join(view.types) or "these types"
    if blind:
        yield Part(
            CheckStatus.UNVERIFIED,
            blind[0].node,
            f"driver of {len(blind)} of {len(view.nodes)} nodes not readable: a mixed fleet is not "
            "excluded",
            closes_with="nvidia-smi on every node, or their boot lines",
        )
    else:
        one = f"; every node that shows it runs {next(iter(drivers.values()))}" if drivers else ""
        named = sorted({f"{name} {each[name]}" for each in seen.values() for name in each})
        also = f"; told: {some(named, 6)}" if named else ""
        why = f"no minimum is published for {kinds}{one}{also}"
        yield Part(CheckStatus.NOT_APPLICABLE, "versions", why)


def _should_show(view: View, node: RunNode, drivers: Mapping[str, str]) -> bool:
    """Say whether a node's silence leaves its driver open.

    On HyperPod no kernel log is shipped: where the agent's group is live and no stream carries
    kernel lines, there is nothing to read.
    """
    ships = any(s.source in _KERNEL_LOGS for s in node.coverage.sources)
    return bool(drivers) or ships or not view.is_hyperpod or node.coverage.status not in VISIBLE


P11 = PreflightCheck(
    "P11",
    "software reaches the family's least versions",
    "boot lines, NCCL lines, output of nvidia-smi, nvcc and the EFA installer; on HyperPod the "
    "image's status and release",
    "FAIL: a readable version below the table (P6 families). RISK: nodes with different drivers, "
    "or a HyperPod image that must be updated. What is not readable is UNVERIFIED, part by part",
    "DLAMI pages of the instance families",
    versions,
)

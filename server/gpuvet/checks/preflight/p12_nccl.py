"""P12: the last run's NCCL used the network it should."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.nccl_transport import HostTransport, Run, read_runs
from gpuvet.catalog.instance_types import instance_type
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, no_node, stamp, unread
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.model.coverage import VISIBLE
from gpuvet.model.events import FabricState
from gpuvet.model.network import Transport
from gpuvet.report.words import counted

_COLLECT = (
    "the first minutes of a run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET, in a log stream"
)


def last_nccl(view: View) -> Iterator[Part]:
    """Read the latest start of a job that the lines show."""
    if not view.listed.is_complete:
        yield unread(view.listed, "the nodes")
    elif not view.nodes:
        yield no_node()
    yield from _fabric(view)
    names = {name: node.node for node in view.nodes for name in (node.node, *node.aliases)}
    runs = read_runs(view.nccl.lines, names)
    telling = [run for run in runs if run.telling or any(h.inside for h in run.hosts)]
    if not telling:
        lost = f"; {view.nccl_unread[0]} not read" if view.nccl_unread else ""
        yield Part(
            CheckStatus.UNVERIFIED,
            "NCCL",
            f"no transport line of any run was found{lost}",
            closes_with=_COLLECT,
            unread=bool(view.nccl_unread),
        )
        return
    yield from _run(view, telling[-1])


def _run(view: View, run: Run) -> Iterator[Part]:
    when = f" at {stamp(run.began)}" if run.began else ""
    changed = _changed_after(view, run)
    if changed is not None:
        yield changed
    for host in run.hosts:
        yield from _host(view, host, when)
    hosts = {one.node or one.host for one in run.telling}
    missing = [n.node for n in view.nodes if n.node not in hosts]
    if view.is_single_node:
        why = "the run takes one node: no transport between nodes"
        yield Part(CheckStatus.NOT_APPLICABLE, "between nodes", why)
    elif missing and not any(one.transport is Transport.SOCKET for one in run.hosts):
        yield Part(
            CheckStatus.UNVERIFIED,
            missing[0],
            f"no transport line of {len(missing)} of {len(view.nodes)} nodes in the last run{when}",
            closes_with=_COLLECT,
        )


def _changed_after(view: View, run: Run) -> Part | None:
    """Return the open part where a node was booted after the run: the lines tell of before."""
    if run.began is None:
        return None
    later = [
        node.node
        for node in view.nodes
        if (node.launched_at and node.launched_at > run.began)
        or any(b.driver_version and b.at and b.at > run.began for b in node.records.boundaries)
    ]
    if not later:
        return None
    return Part(
        CheckStatus.UNVERIFIED,
        later[0],
        f"{counted(len(later), 'node')} started after the last run at {stamp(run.began)}: its "
        "lines say nothing of them",
        closes_with=_COLLECT,
    )


_BAD = {
    Transport.SOCKET: "data between nodes went over sockets",
    Transport.OFI_NOT_EFA: "data between nodes went over another provider than EFA",
}


def _host(view: View, host: HostTransport, when: str) -> Iterator[Part]:
    name = host.node or host.host
    refs = host.evidence[:2]
    bad = _BAD.get(host.transport) if host.transport is not None else None
    if bad is not None and not view.is_single_node and not _has_no_efa(view):
        yield Part(
            CheckStatus.FAIL,
            name,
            f"{name}{when}: {bad} ({host.said})",
            action="mend EFA (P7), then read the transport lines of a short run again",
            evidence=refs,
        )
    elif host.transport is not None:
        why = f"{name}{when}: {host.transport.value} between nodes ({host.said})"
        yield Part(CheckStatus.PASS, name, why, evidence=refs)
    shm = host.inside.get("SHM", 0)
    if shm and _has_switch(view, host):
        yield Part(
            CheckStatus.RISK,
            name,
            f"{name}{when}: {shm} channels inside the node go through shared memory although its "
            "type has NVSwitch",
            action=f"check Fabric Manager and NVLink of {name}",
            evidence=refs,
        )
    elif host.inside:
        told = ", ".join(f"{count} via {path}" for path, count in sorted(host.inside.items()))
        yield Part(CheckStatus.PASS, name, f"{name}{when}: {told} inside the node")


def _has_no_efa(view: View) -> bool:
    return bool(view.types) and all(view.most_efa(kind) == 0 for kind in view.types)


def _has_switch(view: View, host: HostTransport) -> bool:
    kinds: Sequence[str | None] = [n.instance_type for n in view.nodes if n.node == host.node]
    rows = [instance_type(kind) for kind in kinds or view.types if kind]
    return any(row is not None and row.nvswitch for row in rows)


def _fabric(view: View) -> Iterator[Part]:
    for node in view.nodes:
        row = instance_type(node.instance_type) if node.instance_type else None
        if (row is None or row.nvswitch) and node.coverage.status not in VISIBLE:
            yield Part(
                CheckStatus.UNVERIFIED,
                node.node,
                f"{node.node}: its log is {node.coverage.status.value}, so Fabric Manager may have "
                "failed unseen",
                closes_with="what makes its log visible (P6)",
            )
        lines = node.records.fabric_manager
        last = next(
            (one for one in reversed(lines) if one.state is not FabricState.NO_SWITCH), None
        )
        if last is not None and last.state is not FabricState.STARTED:
            yield Part(
                CheckStatus.FAIL,
                node.node,
                f"{node.node}: Fabric Manager {last.state.value.replace('_', ' ')}",
                action=f"bring driver and Fabric Manager of {node.node} to one version",
                evidence=(last.evidence,),
            )


P12 = PreflightCheck(
    "P12",
    "the last run's NCCL used EFA and NVLink",
    "NCCL lines of job and node logs, Fabric Manager's lines",
    "FAIL: sockets between nodes where EFA exists, or Fabric Manager down. RISK: shared memory "
    "inside a node with NVSwitch. No lines, or nodes newer than the lines: UNVERIFIED",
    "NCCL documentation; root cause rules of gpuvet, branch D",
    last_nccl,
)

"""Layer 1 of branch D: the transport between nodes, as NCCL printed it. Pure.

Without a line of NCCL nothing is said of the transport: neither the instance type nor a security
group tells it.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from gpuvet.calculators.nccl_transport import HostTransport, Run
from gpuvet.calculators.network_view import Layer, NetworkView, count_of, listed, stamp
from gpuvet.model.cause import Branch, Signal, Symptom
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason
from gpuvet.model.network import NcclError, Transport

# Ours: sockets slow a run from its first step on; a run that was fast for this long and then
# slowed has another trigger.
_FROM_THE_START = timedelta(minutes=30)
_COLLECT = (
    "start the job once with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET and ship its stdout; "
    "the lines `Using network …` and `Channel … via NET/…` tell the transport"
)
CANDIDATES = {
    NcclError.SET_UP: (
        "a security group without the self-referencing rule in one direction, "
        "nodes in different subnets or zones"
    ),
    NcclError.NO_PROVIDER: (
        "no EFA device in the container (vpc.amazonaws.com/efa not requested), libfabric or "
        "aws-ofi-nccl missing, FI_PROVIDER naming a provider that is not there"
    ),
    NcclError.MEMORY: "locked memory limit (ulimit -l), missing hugepages, GPUDirect not loaded",
    NcclError.REMOTE: "the peer's process ended first, or its host or network failed",
    NcclError.OTHER: "NCCL_DEBUG=INFO lines before it say more",
}


def transport_layer(view: NetworkView, run: Run | None, earlier: Sequence[Run]) -> Layer:
    """Return what NCCL's lines of the affected run say.

    Args:
        view: The job.
        run: The run that was hit; None: no lines of it.
        earlier: Runs before it, for comparison.
    """
    if run is None or not run.telling:
        return _untold(view, run)
    facts = (
        *_streams(view, run),
        *_inside(run),
        *_bootstrap(run),
        *_errors(run),
        *_earlier(earlier),
    )
    signals = tuple(_signals(view, run))
    return Layer(
        signals=signals,
        facts=(*facts, *_not_applicable(view, run)),
        clean=_clean(view, run),
        unseen=_partly(view, run),
        actions=tuple(_actions(view, signals)),
    )


def _untold(view: NetworkView, run: Run | None) -> Layer:
    said = next((one.nccl_transport for one in view.clean if one.nccl_transport), None)
    facts = tuple(_errors(run)) if run else ()
    if said is not None:
        words = said.lower()
        is_efa = "libfabric" in words or "efa" in words or "ofi" in words
        clean = f"NCCL's transport as read: {said}" if is_efa and "socket" not in words else None
        return Layer(facts=(f"NCCL transport as read with status OK: {said}", *facts), clean=clean)
    if not view.is_multi_node and view.nodes:
        clean = "one node: no connection between nodes is needed"
        return Layer(facts=facts, clean=clean)
    reason = view.log_unseen[0].reason if view.log_unseen else Reason.NOT_RECORDED
    missing = NotSeen(
        what="NCCL lines of the job: the transport between nodes",
        reason=reason,
        closes_with=_COLLECT,
        nodes=tuple(one.node for one in view.nodes),
    )
    return Layer(facts=facts, unseen=(missing, *view.log_unseen))


def _signals(view: NetworkView, run: Run) -> Iterator[Signal]:
    if view.is_efa_capable is False or not view.is_multi_node:
        return
    sockets = run.of(Transport.SOCKET)
    if sockets:
        yield _slow_path(view, run, sockets, "nccl_sockets", "sockets (TCP), not EFA")
    other = run.of(Transport.OFI_NOT_EFA)
    if other:
        yield _slow_path(view, run, other, "nccl_not_efa", "libfabric without the EFA provider")


def _slow_path(
    view: NetworkView, run: Run, hosts: Sequence[HostTransport], kind: str, path: str
) -> Signal:
    times = [one.at for one in hosts if one.at is not None]
    at = min(times, default=None)
    failure = view.failure
    is_slow = failure.symptom is Symptom.SLOW
    fast_before = (
        failure.observed
        and failure.at is not None
        and at is not None
        and failure.at - at > _FROM_THE_START
    )
    knows_type = view.is_efa_capable is True
    proven = is_slow and knows_type and not fast_before and not view.is_without_efa
    when = f", from {stamp(at)}" if at else ""
    if at is not None and run.began is not None:
        when += f", {(at - run.began).total_seconds():.0f} s after the run's first NCCL line"
    channels = listed([_channels(one) for one in hosts])
    what = (
        f"NCCL ran between nodes over {path}: {hosts[0].said} on "
        f"{count_of(len(hosts), len(run.hosts), 'host')} ({channels}){when}"
    )
    return Signal(
        branch=Branch.COMMUNICATION,
        kind=kind,
        what=what,
        resource=_only_node(hosts),
        at=at,
        standing=at is None,
        mechanism=(
            "data between nodes goes through the kernel's TCP stack and one ENA interface instead "
            "of the EFA devices: every step that communicates is slower from the first one on"
        )
        if is_slow
        else None,
        proven_by_rule=proven,
        hypothesis_only=not proven,
        confirming=_confirming(proven=proven, fast_before=fast_before, knows_type=knows_type),
        raw=hosts[0].raw,
        stream=hosts[0].streams[0] if hosts[0].streams else None,
        evidence=tuple(dict.fromkeys(ref for one in hosts for ref in one.evidence))[:16],
    )


def _confirming(*, proven: bool, fast_before: bool, knows_type: bool) -> str:
    if proven:
        return "one run with EFA: `Selected provider is efa` and `via NET/Libfabric` in its lines"
    if fast_before:
        return "step times of the same run before it slowed: over sockets they were slow already"
    if not knows_type:
        return "the instance type's EFA support (ec2:DescribeInstanceTypes)"
    return "the same job over EFA: sockets alone explain slowness, not this symptom"


def _channels(one: HostTransport) -> str:
    name = f"{one.host} on {one.node}" if one.node and one.node != one.host else one.host
    count = sum(one.between.values())
    if not count:
        return name
    return f"{name}: {count} channel{'' if count == 1 else 's'} to other nodes"


def _only_node(hosts: Sequence[HostTransport]) -> str | None:
    nodes = {one.node for one in hosts}
    return nodes.pop() if len(nodes) == 1 else None


def _streams(view: NetworkView, run: Run) -> Iterator[str]:
    streams = [stream for one in run.hosts for stream in one.streams]
    hosts = count_of(len(run.telling), max(len(view.nodes), len(run.hosts)), "host")
    yield f"NCCL lines that tell the transport: {hosts}, read from {listed(streams)}"
    for one in run.hosts:
        if one.transport is not None:
            node = f" ({one.node})" if one.node and one.node != one.host else ""
            yield (
                f"{one.host}{node}: {one.transport.value}, by `{one.said}`, {stamp(one.at)}"
                if one.at
                else f"{one.host}{node}: {one.transport.value}, by `{one.said}`"
            )


def _inside(run: Run) -> Iterator[str]:
    paths: dict[str, int] = {}
    for one in run.hosts:
        for path, count in one.inside.items():
            paths[path] = paths.get(path, 0) + count
    for path, count in sorted(paths.items()):
        word = "good: direct between the GPUs of a node" if path.startswith("P2P") else "seen"
        word = "through host memory, not NVLink" if path.startswith("SHM") else word
        yield f"within nodes: {count} channel{'' if count == 1 else 's'} via {path}, {word}"


def _bootstrap(run: Run) -> Iterator[str]:
    count = sum(one.bootstrap for one in run.hosts)
    if count:
        yield (
            f"{count} Bootstrap line{'' if count == 1 else 's'} (out-of-band set-up over an "
            "Ethernet interface) left out: not a transport line"
        )


def _errors(run: Run | None) -> Iterator[str]:
    kinds: dict[NcclError, list[str]] = {}
    for line in run.errors if run else ():
        if line.error is not None:
            kinds.setdefault(line.error, []).append(line.said)
    for kind in sorted(kinds):
        said = kinds[kind]
        yield (
            f"{len(said)} NCCL error line{'' if len(said) == 1 else 's'} ({kind.value}), first: "
            f"`{said[0][:160]}`; candidates, not concluded: {CANDIDATES[kind]}"
        )


def _earlier(runs: Sequence[Run]) -> Iterator[str]:
    for one in runs[-3:]:
        kinds = sorted({host.transport.value for host in one.telling if host.transport})
        if kinds:
            yield f"an earlier run, from {stamp(one.began)}, used {listed(kinds)}"


def _not_applicable(view: NetworkView, run: Run) -> Iterator[str]:
    if run.of(Transport.SOCKET) and view.is_efa_capable is False:
        yield "sockets are expected: the instance type has no EFA"
    elif run.of(Transport.SOCKET) and not view.is_multi_node:
        yield "one node: a socket path between its ranks says nothing of EFA"
    if run.of(Transport.IB_UNEXPECTED):
        yield "NCCL chose NET/IB, which is unexpected on EC2: the OFI plugin was not used"


def _clean(view: NetworkView, run: Run) -> str | None:
    """Return the phrase that rules this layer out: EFA on every host, read whole, of all nodes."""
    if not view.is_multi_node:
        return "one node: no connection between nodes is needed"
    if view.is_efa_capable is False and view.nodes:
        return "the instance type has no EFA: sockets are its transport"
    told = run.of(Transport.OFI_EFA)
    nodes = {one.node for one in told if one.node}
    all_nodes = {one.node for one in view.nodes} <= nodes
    if len(told) != len(run.hosts) or not all_nodes or view.log_unseen:
        return None
    if any(line.error in {NcclError.SET_UP, NcclError.NO_PROVIDER} for line in run.errors):
        return None
    return f"NCCL selected EFA on {count_of(len(nodes), len(view.nodes), 'node')}"


def _partly(view: NetworkView, run: Run) -> tuple[NotSeen, ...]:
    told = {one.node for one in run.telling if one.node}
    silent = tuple(one.node for one in view.nodes if one.node not in told)
    unnamed = sum(1 for one in run.telling if one.node is None)
    if not silent or unnamed >= len(silent):
        return view.log_unseen
    missing = NotSeen(
        what=f"NCCL lines of {listed(silent)}",
        reason=Reason.NOT_RECORDED,
        closes_with=_COLLECT,
        nodes=silent,
    )
    return (missing, *view.log_unseen)


def _actions(view: NetworkView, signals: Sequence[Signal]) -> Iterator[str]:
    if not signals:
        return
    if view.pods:
        yield (
            "request vpc.amazonaws.com/efa in the job's containers, requests and limits equal, as "
            "many as the nodes offer, then restart the job"
        )
    else:
        yield (
            "make EFA usable for the job (aws-ofi-nccl and libfabric present, EFA devices visible "
            "to its processes, security group open to itself), then restart the job"
        )
    yield "a restart ends the run: let it write a checkpoint first"
    yield "no node needs to be replaced for this"

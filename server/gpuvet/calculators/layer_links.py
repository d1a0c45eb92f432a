"""Layer 2 of branch D: NVLink and NVSwitch, as the driver and Fabric Manager report. Pure.

Link Xids are judged as verdict-rules does; where they make a node faulty they belong to branch A.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.calculators.network_view import JobNode, Layer, NetworkView, count_of, listed, stamp
from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.cause import Branch, Signal
from gpuvet.model.cluster import NotSeen
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.events import FabricManagerLine, FabricState
from gpuvet.model.evidence import Reason

# incident-branches §D, layer 2. 71 is a copy engine's and 156 a staged repair: neither is here.
LINK_XIDS = frozenset({74, *range(144, 151), 155})
_SEEN = frozenset(
    {
        CoverageStatus.MEASURED,
        CoverageStatus.DETECTIONS,
        CoverageStatus.NO_HMA_DETECTIONS,
    }
)
_CX_BRIDGE_TYPES = ("p6-b200", "p6-b300")
_NETWORK_CHECK = ("EFA", "NCCL", "InstanceConnectivity", "all_reduce", "bandwidth")


def link_layer(view: NetworkView) -> Layer:
    """Return link Xids, Fabric Manager's state, deep checks and the driver's other link lines."""
    signals = (*_links(view), *_fabric(view), *_deep_checks(view))
    return Layer(
        signals=signals,
        facts=(*_fabric_facts(view), *_driver_lines(view), *_benign(view), *_fabric_states(view)),
        clean=_clean(view, signals),
        unseen=tuple(_unseen(view)),
        actions=tuple(_actions(view)),
    )


def has_nvswitch(kind: str | None) -> bool | None:
    """Say whether an instance type has NVSwitch, or None where it is not listed."""
    found = instance_type(kind) if kind else None
    return found.nvswitch if found else None


def last_state(node: JobNode, until: datetime | None) -> FabricManagerLine | None:
    """Return Fabric Manager's last state before a time; a failure counts until the next start."""
    kept = [
        line
        for line in node.records.fabric_manager
        if line.state is not FabricState.NO_SWITCH
        and (until is None or line.at is None or line.at <= until)
    ]
    # The reason of a failure stands in the line before systemd's own.
    kept.sort(key=lambda one: (one.at is not None, one.at.isoformat() if one.at else "", one.line))
    if not kept:
        return None
    last = kept[-1]
    boot = _since_start(kept)
    reasons = [line for line in boot if line.state is FabricState.VERSION_MISMATCH]
    return reasons[-1] if last.state is FabricState.FAILED and reasons else last


def _since_start(lines: Sequence[FabricManagerLine]) -> list[FabricManagerLine]:
    starts = [place for place, line in enumerate(lines) if line.state is FabricState.STARTED]
    return list(lines[starts[-1] if starts else 0 :])


def _links(view: NetworkView) -> Iterator[Signal]:
    for node in view.nodes:
        events = [one for one in node.records.xids if one.code in LINK_XIDS]
        if not events:
            continue
        first = min(events, key=lambda one: (one.at is None, one.at or view.since))
        codes = sorted({one.code for one in events})
        whose = "; the node's verdict has a hardware ground: see branch A" if node.is_faulty else ""
        yield Signal(
            branch=Branch.COMMUNICATION,
            kind="nvlink_xid",
            what=(
                f"NVLink Xid {', '.join(map(str, codes))} on {node.node}, "
                f"{len(events)} line{'' if len(events) == 1 else 's'}, first "
                f"{first.pci or 'GPU not named'} at {stamp(first.at)}{whose}"
            ),
            resource=node.node,
            node=node.node,
            at=first.at,
            mechanism="a GPU whose link failed cannot take part in a collective",
            hypothesis_only=node.is_faulty,
            confirming=f"nvidia-smi nvlink -s and -e on {node.node}",
            raw=first.raw,
            stream=first.stream,
            evidence=tuple(one.evidence for one in events[:8]),
        )


def _fabric(view: NetworkView) -> Iterator[Signal]:
    for node in view.nodes:
        line = last_state(node, view.failure.at)
        if line is None or line.state is FabricState.STARTED:
            continue
        if has_nvswitch(node.instance_type) is False:
            continue
        versions = (
            f": it is {line.manager_version}, the driver is {line.driver_version}"
            if line.state is FabricState.VERSION_MISMATCH
            else ""
        )
        yield Signal(
            branch=Branch.COMMUNICATION,
            kind="fabric_manager",
            what=(f"Fabric Manager did not start on {node.node} at {stamp(line.at)}{versions}"),
            resource=node.node,
            node=node.node,
            at=line.at,
            mechanism=(
                "without Fabric Manager the NVSwitch fabric is not set up and CUDA does not "
                "initialise (error 802)"
            ),
            confirming=f"systemctl status nvidia-fabricmanager on {node.node}",
            raw=line.raw,
            stream=line.stream,
            evidence=(line.evidence,),
        )


def _deep_checks(view: NetworkView) -> Iterator[Signal]:
    for node in view.nodes:
        for check in node.records.deep_checks:
            if check.passed or not any(word in check.message for word in _NETWORK_CHECK):
                continue
            yield Signal(
                branch=Branch.COMMUNICATION,
                kind="deep_health_check",
                what=(
                    f"deep health check of communication failed on {node.node} at "
                    f"{stamp(check.at)}: {check.message[:160]}"
                ),
                resource=node.node,
                node=node.node,
                at=check.at,
                mechanism="the node's links or EFA devices failed a test of their own",
                hypothesis_only=check.faulty_instance or node.is_faulty,
                confirming=f"the check's full result on {node.node}",
                raw=check.raw,
                stream=check.stream,
                evidence=(check.evidence,),
            )


def _fabric_facts(view: NetworkView) -> Iterator[str]:
    nodes = [one for one in view.nodes if has_nvswitch(one.instance_type) is not False]
    states = {one.node: last_state(one, view.failure.at) for one in nodes}
    down = [n for n, line in states.items() if line and line.state is not FabricState.STARTED]
    mismatch = [
        line for line in states.values() if line and line.state is FabricState.VERSION_MISMATCH
    ]
    started = [n for n, line in states.items() if line and line.state is FabricState.STARTED]
    if started:
        yield f"Fabric Manager started on {count_of(len(started), len(nodes), 'node')}"
    if down:
        every = " (every node)" if len(down) == len(nodes) else ""
        count = f"all {len(nodes)} nodes" if len(down) == len(nodes) > 1 else listed(down)
        yield f"Fabric Manager is down on {count}{every}: {listed(down)}"
    if mismatch:
        versions = sorted(
            {f"{one.manager_version} against {one.driver_version}" for one in mismatch}
        )
        yield (
            f"Fabric Manager and driver versions differ ({listed(versions)}): a reboot starts the "
            "same packages again"
        )
    kinds = {one.instance_type for one in nodes if has_nvswitch(one.instance_type)}
    if nodes and kinds and not any(states.values()):
        count = count_of(0, len(nodes), "node")
        yield f"Fabric Manager's start line was found on {count}: its state is not confirmed"


def _driver_lines(view: NetworkView) -> Iterator[str]:
    kinds = [one.instance_type or "" for one in view.nodes]
    has_bridge = any(kind.removeprefix("ml.").startswith(_CX_BRIDGE_TYPES) for kind in kinds)
    lines = [one for one in view.log.driver_links if has_bridge or "Bridge" not in one]
    if lines:
        yield (
            f"{len(lines)} NVLink line{'' if len(lines) == 1 else 's'} of the driver without an "
            f"Xid, listed and not classified, first: `{lines[0][:160]}`"
        )


def _benign(view: NetworkView) -> Iterator[str]:
    for name in view.log.benign:
        yield f"{name}: benign, left out"


def _fabric_states(view: NetworkView) -> Iterator[str]:
    for node in view.nodes:
        odd = sorted({g.fabric_state for g in node.gpus if g.fabric_state} - {"Completed", "N/A"})
        if odd:
            yield f"GPU fabric state on {node.node}: {listed(odd)} (bar: Completed)"


def _clean(view: NetworkView, signals: Sequence[Signal]) -> str | None:
    unseen = [one for one in view.nodes if one.coverage not in _SEEN]
    if signals or unseen or not view.nodes:
        return None
    return f"no NVLink Xid and no Fabric Manager failure on {count_of(*_all(view), 'node')}"


def _all(view: NetworkView) -> tuple[int, int]:
    return len(view.nodes), len(view.nodes)


def _unseen(view: NetworkView) -> Iterator[NotSeen]:
    unseen = tuple(one.node for one in view.nodes if one.coverage not in _SEEN)
    if unseen:
        yield NotSeen(
            what=f"driver lines of {listed(unseen)}: NVLink Xids and Fabric Manager",
            reason=Reason.NOT_RECORDED,
            closes_with="journalctl _TRANSPORT=kernel (all boots, unlike dmesg) and journalctl -u "
            "nvidia-fabricmanager of these nodes",
            nodes=unseen,
        )


def _actions(view: NetworkView) -> Iterator[str]:
    lines = [last_state(one, view.failure.at) for one in view.nodes]
    mismatch = next(
        (one for one in lines if one and one.state is FabricState.VERSION_MISMATCH), None
    )
    if mismatch is not None:
        yield (
            "install the Fabric Manager package of the same version as the driver "
            f"({mismatch.driver_version}), or pin (hold) both packages together, then start "
            "nvidia-fabricmanager; a reboot cannot cure a package mismatch"
        )
    elif any(one and one.state is FabricState.FAILED for one in lines):
        yield "read journalctl -u nvidia-fabricmanager on the nodes where it failed to start"

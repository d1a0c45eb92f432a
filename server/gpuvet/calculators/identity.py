"""Which node followed which (incident-branches).

Pure: calls, listings and events in, fates out. A hardware verdict for an old id never transfers
to its successor: the two share a slot, not a board.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from gpuvet.calculators.arrivals import (
    JOINS_WITHIN,
    REPLACEMENT,
    IdentityEvidence,
    groups_of_streams,
    unasked_arrivals,
)
from gpuvet.model.identity import (
    CurrentNode,
    Fate,
    FormerNode,
    Identities,
    Initiator,
    LinkBasis,
    NodeFate,
    NodeRequest,
    RequestKind,
)

_HEAD_NODE_ROLE = "RoleHeadNode"  # in the ARN of a ParallelCluster head node's role
_SAME_SLOT = "a verdict on the old id says nothing of the new one"


class _Gone(NamedTuple):
    """An id that a call named and no listing has any more."""

    node: str
    request: NodeRequest
    known: FormerNode
    group: str | None
    group_basis: LinkBasis


def identify(evidence: IdentityEvidence) -> Identities:
    """Return what became of every node a call named, and what came without a call."""
    requests = sorted(
        (r for r in evidence.requests if _is_of(r, evidence.cluster_names)),
        key=lambda r: (r.at, r.kind, r.nodes, r.logical_ids),
    )
    done = [r for r in requests if r.error_code is None]
    named = _last_call_per_node(done, evidence)
    listed = {n.node: n for n in evidence.current}
    gone = [
        _gone(node, request, evidence)
        for node, request in named.items()
        if node not in listed and request.kind is not RequestKind.DELETE
    ]
    fates = [
        *_paired(gone, evidence),
        *(_removed(n, r) for n, r in named.items() if n not in listed and _is_delete(r)),
        *(_present(listed[n], r) for n, r in named.items() if n in listed),
    ]
    taken = {s for fate in fates for s in fate.successors}
    return Identities(
        fates=tuple(sorted(fates, key=lambda f: (f.at, f.node))),
        arrivals=tuple(unasked_arrivals(evidence, taken)),
        attempts=tuple(
            f"{r.kind} of {', '.join((*r.nodes, *r.logical_ids))} at {r.at:%Y-%m-%dT%H:%M:%SZ} "
            f"failed: {r.error_code}"
            for r in requests
            if r.error_code is not None
        ),
    )


def _is_of(request: NodeRequest, names: frozenset[str]) -> bool:
    return not names or request.cluster is None or request.cluster in names


def _is_delete(request: NodeRequest) -> bool:
    return request.kind is RequestKind.DELETE


def _last_call_per_node(
    requests: Iterable[NodeRequest], evidence: IdentityEvidence
) -> dict[str, NodeRequest]:
    """Return the last call that took effect per node; logical ids are read as instance ids."""
    by_logical: dict[str, list[str]] = defaultdict(list)
    for former in evidence.former:
        if former.logical_id is not None:
            by_logical[former.logical_id].append(former.node)
    for node in evidence.current:
        if node.logical_id is not None:
            by_logical[node.logical_id].append(node.node)
    launched = {n.node: n.launched_at for n in evidence.current}
    found: dict[str, NodeRequest] = {}
    for request in requests:
        nodes = list(request.nodes)
        for logical in request.logical_ids:
            nodes += [
                n for n in by_logical.get(logical, ()) if _existed(launched.get(n), request.at)
            ] or [logical]
        for name in nodes:
            if request.successful is None or name in request.successful:
                found[name] = request
    return found


def _existed(launched: datetime | None, at: datetime) -> bool:
    return launched is None or launched <= at


def _gone(node: str, request: NodeRequest, evidence: IdentityEvidence) -> _Gone:
    """Return an old id with the strongest thing that tells its group."""
    known = next((f for f in evidence.former if f.node == node), FormerNode(node=node))
    by_stream = groups_of_streams(evidence.streams)
    by_event = {e.node: e.group for e in evidence.events if e.group is not None}
    if node in by_stream:
        return _Gone(node, request, known, by_stream[node], LinkBasis.STREAM_GROUP)
    if by_event.get(node) is not None:
        return _Gone(node, request, known, by_event[node], LinkBasis.CLUSTER_EVENT)
    return _Gone(node, request, known, known.group, LinkBasis.LAUNCH_TIME)


def _paired(gone: Sequence[_Gone], evidence: IdentityEvidence) -> list[NodeFate]:
    """Join old ids to successors: by slot where one is named, else by group as a set."""
    fates: list[NodeFate] = []
    taken: set[str] = set()
    left: list[_Gone] = []
    for old in sorted(gone, key=lambda g: (g.request.at, g.node)):
        slot = _same_slot(old, evidence.current, taken)
        if slot is None:
            left.append(old)
        else:
            successor, basis = slot
            taken.add(successor.node)
            fates.append(_replaced(old, (successor.node,), basis))
    groups: dict[tuple[str | None, str | None], list[_Gone]] = defaultdict(list)
    for old in left:
        groups[old.group, old.known.instance_type].append(old)
    for together in groups.values():
        fates += _as_set(together, evidence, taken)
    return fates


def _candidates(old: _Gone, current: Sequence[CurrentNode], taken: set[str]) -> list[CurrentNode]:
    """Return the nodes that may stand in an old id's place, by launch."""
    request, kind = old.request, old.known.instance_type
    return sorted(
        (
            n
            for n in current
            if n.node not in taken
            and n.launched_at is not None
            and request.at < n.launched_at <= request.at + JOINS_WITHIN
            and (kind is None or n.instance_type is None or n.instance_type == kind)
            and (old.group is None or n.group is None or n.group == old.group)
        ),
        key=lambda n: (n.launched_at, n.node),
    )


def _same_slot(
    old: _Gone, current: Sequence[CurrentNode], taken: set[str]
) -> tuple[CurrentNode, LinkBasis] | None:
    """Return the one node that shares the old id's logical id, or its host name or address."""
    candidates = _candidates(old, current, taken)
    known = old.known
    same_id = [n for n in candidates if known.logical_id and n.logical_id == known.logical_id]
    if not same_id and old.node in old.request.logical_ids:
        same_id = [n for n in candidates if n.logical_id == old.node]
    if len(same_id) == 1:
        return same_id[0], LinkBasis.LOGICAL_ID
    same_host = [
        n
        for n in candidates
        if (known.host and n.host == known.host) or (known.ip and n.ip == known.ip)
    ]
    if len(same_host) == 1:
        # The slot's name alone may be reused; a group that is proven otherwise makes it sure.
        proven = old.group is not None and old.group_basis.is_proof
        return same_host[0], old.group_basis if proven else LinkBasis.HOST
    return None


def _as_set(
    together: Sequence[_Gone], evidence: IdentityEvidence, taken: set[str]
) -> list[NodeFate]:
    """Match old ids of one group with the nodes that came; more than one is matched as a set."""
    came: dict[str, CurrentNode] = {}
    for old in together:
        for node in _candidates(old, evidence.current, taken):
            came[node.node] = node
    taken |= set(came)
    if not came:
        pending = [n.node for n in evidence.current if n.pending and _may_be_of(n, together[0])]
        return [_not_joined(old, pending) for old in together]
    basis = together[0].group_basis
    told = {e.node for e in evidence.events if REPLACEMENT.search(e.description)}
    if basis is LinkBasis.LAUNCH_TIME and told and set(came) <= told:
        basis = LinkBasis.CLUSTER_EVENT
    nodes = tuple(sorted(came))
    notes: list[str] = []
    if len(together) > 1 or len(nodes) > 1:
        notes.append(
            f"{len(together)} old and {len(nodes)} new nodes matched as a set: "
            "individual pairing unknown"
        )
    if len(nodes) < len(together):
        notes.append(
            f"{len(together) - len(nodes)} of {len(together)} replacements have not joined"
        )
    return [_replaced(old, nodes, basis, *notes) for old in together]


def _may_be_of(node: CurrentNode, old: _Gone) -> bool:
    return old.group is None or node.group is None or node.group == old.group


def _replaced(old: _Gone, successors: tuple[str, ...], basis: LinkBasis, *notes: str) -> NodeFate:
    return NodeFate(
        node=old.node,
        fate=Fate.REPLACED,
        at=old.request.at,
        initiator=initiator_of(old.request),
        caller=old.request.caller,
        group=old.group,
        successors=successors,
        basis=basis,
        label="Proven" if basis.is_proof else "Hypothesis",
        notes=(*notes, f"joined by {basis}", _SAME_SLOT),
        evidence=old.request.evidence,
    )


def _not_joined(old: _Gone, pending: Sequence[str]) -> NodeFate:
    by_slurm = initiator_of(old.request) is Initiator.SLURM
    note = (
        f"Pending in its group: {', '.join(sorted(pending))}"
        if pending
        else "scaled down by Slurm, or its replacement has not joined"
        if by_slurm
        else "no node of its group and type was launched in the 2 h after the call"
    )
    return NodeFate(
        node=old.node,
        fate=Fate.NOT_JOINED,
        at=old.request.at,
        initiator=initiator_of(old.request),
        caller=old.request.caller,
        group=old.group,
        notes=(note,),
        evidence=old.request.evidence,
    )


def _removed(node: str, request: NodeRequest) -> NodeFate:
    return NodeFate(
        node=node,
        fate=Fate.REMOVED,
        at=request.at,
        initiator=initiator_of(request),
        caller=request.caller,
        notes=("removed without a successor: the group's target count falls",),
        evidence=request.evidence,
    )


def _present(node: CurrentNode, request: NodeRequest) -> NodeFate:
    """A node that is still listed: a reboot keeps the id and the launch time."""
    rebooted = request.kind is RequestKind.REBOOT
    notes: tuple[str, ...] = ()
    if node.launched_at is not None and node.launched_at > request.at:
        notes = ("launched again after the call under the same id",)
    elif not rebooted:
        notes = ("not executed yet, rejected, or it was a reboot",)
    return NodeFate(
        node=node.node,
        fate=Fate.REBOOTED if rebooted else Fate.STILL_PRESENT,
        at=request.at,
        initiator=initiator_of(request),
        caller=request.caller,
        group=node.group,
        notes=notes,
        evidence=request.evidence,
    )


def initiator_of(request: NodeRequest) -> Initiator:
    """Return who made a call, by the identity CloudTrail gives."""
    if request.invoked_by is not None:
        return Initiator.SERVICE
    if request.caller is None:
        return Initiator.UNKNOWN
    return Initiator.SLURM if is_slurms(request.caller) else Initiator.CUSTOMER


def is_slurms(arn: str | None) -> bool:
    """Say whether a caller is ParallelCluster's head node: its role, or an instance's session."""
    return arn is not None and (_HEAD_NODE_ROLE in arn or arn.rpartition("/")[2].startswith("i-"))

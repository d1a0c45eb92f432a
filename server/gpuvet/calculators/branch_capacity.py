"""Branch B: capacity that ended, never began, or could not be had (incident-branches §B)."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.calculators.block_end import BlockEnd, block_ends
from gpuvet.calculators.bootstrap import Bootstrap, BootstrapCause, CauseRow, read_bootstrap
from gpuvet.calculators.bootstrap import script_said_ok as cleared_script
from gpuvet.calculators.capacity_evidence import CapacityEvidence, not_read, values
from gpuvet.calculators.capacity_words import block_actions, block_facts, bootstrap_actions
from gpuvet.calculators.shortfall import (
    attempt_signals,
    calendar_signals,
    free_addresses,
    launch_signals,
    shortfall_signals,
)
from gpuvet.model.bootstrap import LaunchFault, ServiceEvent
from gpuvet.model.cause import Branch, BranchEvidence, Failure, Signal, Symptom
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason
from gpuvet.report.words import counted, some, utc

_EVERY_OTHER = tuple(branch for branch in Branch if branch is not Branch.CAPACITY)


def judge_capacity(
    evidence: CapacityEvidence, failure: Failure, *, cb_requires_instance_event: bool = True
) -> BranchEvidence:
    """Return what speaks for capacity, what rules it out, and what was not seen.

    Args:
        evidence: Readings with their statuses.
        failure: When and how the failure began.
        cb_requires_instance_event: At a block's end only an instance's own warning or its own
            record proves; schedule and membership alone stay a hypothesis.
    """
    ends = list(block_ends(evidence, strict=cb_requires_instance_event))
    ended_at = min((end.endings[0].at for end in ends), default=None)
    bootstrap = read_bootstrap(evidence)
    signals = (
        *(signal for end in ends for signal in _block_signals(end, evidence)),
        *_bootstrap_signals(bootstrap, failure),
        *_other_signals(evidence, failure, ended_at, bootstrap),
    )
    unseen = tuple(_unseen(evidence, signals, ends, bootstrap))
    return BranchEvidence(
        branch=Branch.CAPACITY,
        signals=signals,
        ruled_out=_ruled_out(evidence, signals, bootstrap),
        deciding_unseen=unseen,
        assessed=_is_assessed(evidence),
        confirming=None if signals else _confirming(evidence),
        facts=tuple(_facts(evidence, ends, bootstrap)),
        actions=tuple(_actions(evidence, ends, bootstrap, signals)),
    )


def _other_signals(
    evidence: CapacityEvidence,
    failure: Failure,
    ended_at: datetime | None,
    bootstrap: Bootstrap | None,
) -> Iterator[Signal]:
    """Yield lacks; addresses are measured and come before a text about capacity."""
    lacks = [*shortfall_signals(evidence, failure), *attempt_signals(evidence, failure)]
    has_addresses = any(one.kind == "addresses" for one in lacks)
    for signal in lacks:
        if has_addresses and signal.kind == f"attempt_{LaunchFault.CAPACITY.value}":
            competing = f"competing: {signal.what}"
            yield signal.model_copy(
                update={"what": competing, "proven_by_rule": False, "hypothesis_only": True}
            )
        else:
            yield signal
    # Launch failures before a recorded bootstrap failure are a row of that table already.
    told = {r.evidence for c in (bootstrap.causes if bootstrap else ()) for r in c.records}
    for signal in launch_signals(evidence, failure, ended_at):
        if signal.effect or not told & set(signal.evidence):
            yield signal
    if ended_at is None:
        yield from calendar_signals(evidence, failure)


def _block_signals(end: BlockEnd, evidence: CapacityEvidence) -> Iterator[Signal]:
    one = end.reservation
    for nodes, is_proven in ((end.proven, True), (end.supposed, False)):
        if not nodes:
            continue
        wanted = set(nodes)
        mine = [e for e in end.endings if e.node in wanted]
        how = (
            some(sorted({end.proofs[n].value for n in nodes}))
            if is_proven
            else "by schedule and membership only: neither named by a warning nor by its own record"
        )
        yield Signal(
            branch=Branch.CAPACITY,
            kind="block_end",
            what=f"{counted(len(nodes), 'node')} of {len(evidence.nodes)} ended with Capacity "
            f"Block {one.id}, expected lifecycle and not a fault: EndDate {utc(one.end)}, "
            f"terminations begin {end.lead_minutes} minutes before it, at "
            f"{utc(end.usable_until)}; {some(list(nodes), 8)} ended "
            f"{_span(mine[0].at, mine[-1].at)} ({how})",
            resource=one.id,
            node=nodes[0],
            at=min(end.usable_until, mine[0].at),
            until=one.end,
            mechanism="the service ends the instances of a Capacity Block before its end",
            proven_by_rule=is_proven,
            hypothesis_only=not is_proven,
            explains=_EVERY_OTHER,
            confirming=None
            if is_proven
            else f"the EventBridge interruption warning or the EC2 record of {some(list(nodes))}",
            raw=mine[0].raw,
            stream=mine[0].stream,
            evidence=tuple(
                ref for ref in (one.evidence, *(e.evidence for e in mine)) if ref is not None
            )[:12],
        )


def _span(first: datetime, last: datetime) -> str:
    if first == last:
        return f"at {utc(first)}"
    return f"from {utc(first)} to {utc(last)}"


def _bootstrap_signals(found: Bootstrap | None, failure: Failure) -> Iterator[Signal]:
    if found is None:
        return
    only = found.proven
    for cause in found.causes:
        is_proven = only is cause and bool(found.failures or failure.symptom is Symptom.START_UP)
        yield Signal(
            branch=Branch.CAPACITY,
            kind=f"bootstrap_{cause.row.name.lower()}",
            what=cause.what,
            node=cause.instances[0] if cause.instances else None,
            at=cause.at,
            affected=cause.names_the_failed,
            mechanism=_MECHANISMS[cause.row] if cause.names_the_failed else None,
            proven_by_rule=is_proven,
            hypothesis_only=not is_proven,
            confirming=None if is_proven else _confirms(cause, found),
            raw=cause.records[0].raw,
            stream=cause.records[0].stream,
            evidence=tuple(r.evidence for r in cause.records[:8]),
        )


_MECHANISMS = {
    CauseRow.READ_LAG: "a node whose instance is not seen is counted as a failed bootstrap",
    CauseRow.NO_ENDPOINT: "a node that cannot reach the service's API never finishes its bootstrap",
    CauseRow.SCRIPT: "a custom action that fails ends the bootstrap",
    CauseRow.LAUNCH: "a node whose instance was never launched cannot come up",
}


def _confirms(cause: BootstrapCause, found: Bootstrap) -> str:
    if len(found.causes) > 1:
        return "the bootstrap log of one failed instance: which of these it met first"
    if not cause.is_whole:
        return "the subnet's route table and the VPC's endpoints (ec2:DescribeVpcEndpoints)"
    return "the instance id behind each failed node name (slurm_resume or clustermgtd)"


def _is_assessed(evidence: CapacityEvidence) -> bool:
    """Say whether anything of this branch was read at all."""
    readings = (
        evidence.instances,
        evidence.reservations,
        evidence.plans,
        evidence.cluster,
        evidence.events,
        evidence.hyperpod_nodes,
        evidence.warnings,
    )
    return bool(evidence.services) or any(
        one is not None and one.status.is_complete and one.service != "file" for one in readings
    )


def _ruled_out(
    evidence: CapacityEvidence, signals: Sequence[Signal], bootstrap: Bootstrap | None
) -> str | None:
    """Return the sentence that rules capacity out: every node there, nothing ending, nothing short.

    It needs the node list and the reservations read in full; on HyperPod the cluster's counts and
    the plans its groups name, as EC2 does not show HyperPod's capacity.
    """
    if bootstrap is not None or any(not s.effect for s in signals) or not evidence.nodes:
        return None
    if not evidence.services_read.status.is_complete or evidence.groups_short:
        return None
    is_hyperpod = evidence.orchestrator.is_hyperpod
    if _hyperpod_is_there(evidence) if is_hyperpod else _instances_are_there(evidence):
        return _absence_sentence(evidence)
    told = evidence.told_until
    is_unasked = evidence.reservations.reason is Reason.NOT_RECORDED
    if told is not None and is_unasked and told[2] > evidence.now and not _any_left(evidence):
        return f"{told[0]}, as read in {told[1]}"
    return None


def _any_left(evidence: CapacityEvidence) -> bool:
    return any(one.left_at is not None for one in evidence.nodes) or any(
        one.is_gone for one in values(evidence.instances)
    )


def _hyperpod_is_there(evidence: CapacityEvidence) -> bool:
    if evidence.cluster is None or evidence.cluster.value is None:
        return False
    if evidence.plan_names and not evidence.plans.status.is_complete:
        return False
    listed = {one.id for one in values(evidence.hyperpod_nodes)}
    nodes = {one.node for one in evidence.nodes if one.left_at is None}
    # Who left and was replaced by request is another branch's subject; somebody must be there.
    return not listed or bool(nodes & listed)


def _instances_are_there(evidence: CapacityEvidence) -> bool:
    if not evidence.instances.status.is_complete or not evidence.reservations.status.is_complete:
        return False
    gone = {one.id for one in values(evidence.instances) if one.is_gone}
    there = {one.id for one in values(evidence.instances)} - gone
    nodes = {one.node for one in evidence.nodes if one.left_at is None}
    return bool(nodes & there) and not nodes & gone


def _absence_sentence(evidence: CapacityEvidence) -> str:
    there = len([one for one in evidence.nodes if one.left_at is None])
    parts = [f"{there} of {there} nodes are in the account's list"]
    found = evidence.cluster.value if evidence.cluster is not None else None
    if found is not None:
        counts = [f"{g.name} {g.current} of {g.target}" for g in found.groups]
        parts = [f"nodes current of target: {some(counts)}"]
    if evidence.reservations.status.is_complete:
        reservations = values(evidence.reservations)
        ends = [f"{one.id} ends {utc(one.end)}" for one in reservations if one.end is not None]
        parts.append(f"reservations: {some(ends)}" if ends else "no reservation or block that ends")
    parts += [f"{words}, as read in {file}" for words, file in evidence.told]
    plans = [p for p in values(evidence.plans) if p.name in evidence.plan_names]
    if plans:
        parts.append(some([f"plan {p.name} {p.status} until {utc(p.end)}" for p in plans]))
    parts.append("no failed launch or bootstrap in the cluster's logs in hand")
    addresses = free_addresses(evidence)
    return "; ".join([*parts, *([addresses] if addresses else [])])


def _confirming(evidence: CapacityEvidence) -> str:
    if evidence.orchestrator.is_hyperpod:
        return "sagemaker:DescribeCluster: current of target, group by group, and its plan's status"
    return "ec2:DescribeInstances and ec2:DescribeCapacityReservations for the nodes"


def _unseen(
    evidence: CapacityEvidence,
    signals: Sequence[Signal],
    ends: Sequence[BlockEnd],
    bootstrap: Bootstrap | None,
) -> Iterator[NotSeen]:
    is_hyperpod = evidence.orchestrator.is_hyperpod
    if is_hyperpod:
        yield from not_read(evidence.cluster, "the cluster's counts and groups", "describe it")
        if not evidence.nodes:
            yield from not_read(evidence.hyperpod_nodes, "the cluster's nodes", "list them")
        if evidence.plan_names:
            yield from not_read(evidence.plans, "training plans", "describe the group's plan")
        yield from not_read(evidence.events, "HyperPod cluster events", "list them")
    else:
        yield from not_read(
            evidence.reservations, "capacity reservations and blocks", "describe them"
        )
        yield from not_read(evidence.instances, "the cluster's instances", "describe them")
    yield from not_read(evidence.services_read, "logs of the cluster's services", "search them")
    if any(end.supposed for end in ends):
        yield from not_read(
            evidence.warnings,
            "interruption warnings",
            "search the log groups that EventBridge rules deliver to",
        )
    if bootstrap is not None and any(not c.is_whole for c in bootstrap.causes):
        yield from not_read(evidence.subnets, "the nodes' subnets", "describe them")
        yield from not_read(evidence.endpoints, "VPC endpoints", "describe them")
    if any(s.kind.startswith("attempt_") for s in signals) or evidence.groups_short:
        yield from not_read(evidence.subnets, "free addresses of the subnets", "describe them")


def _facts(
    evidence: CapacityEvidence, ends: Sequence[BlockEnd], bootstrap: Bootstrap | None
) -> Iterator[str]:
    for end in ends:
        yield from block_facts(end, evidence)
    if bootstrap is not None:
        yield from _bootstrap_facts(bootstrap, evidence)
    for name, short in evidence.groups_short:
        yield f"{name} is short of {counted(short, 'node')}"
    addresses = free_addresses(evidence)
    if addresses and (evidence.orchestrator.is_hyperpod or bootstrap is not None):
        yield addresses
    yield from _source_facts(evidence)


def _bootstrap_facts(found: Bootstrap, evidence: CapacityEvidence) -> Iterator[str]:
    failed = [r for r in found.failures if r.event is ServiceEvent.BOOTSTRAP_FAILED]
    names = [name for record in failed for name in record.names]
    if failed:
        yield (
            f"bootstrap failure recorded for {some(list(dict.fromkeys(names)))} at "
            f"{utc(failed[0].at)} in {failed[0].stream}"
        )
    count = next((r for r in found.failures if r.event is ServiceEvent.FAILURE_COUNT), None)
    if count is not None:
        yield (
            f"queue {some(list(count.queues)) or '(not named)'}: {count.count} consecutive "
            f"bootstrap failures, threshold of protected mode {count.threshold or 10}"
        )
    if found.protected is not None:
        queues = some(list(found.queues)) or "(not named)"
        yield f"protected mode since {utc(found.protected.at)}: queue {queues} is INACTIVE"
    cleared = cleared_script(found)
    if cleared is not None:
        yield cleared
    lagging = next((c for c in found.causes if c.row is CauseRow.READ_LAG), None)
    if lagging is not None:
        yield (
            f"ignored instances: {some(list(lagging.instances), 8)}; they had not joined, "
            "so that no job ran on them"
        )
    del evidence


def _source_facts(evidence: CapacityEvidence) -> Iterator[str]:
    if evidence.orchestrator.is_hyperpod and evidence.reservations.status.is_complete:
        yield "EC2 reservations do not show HyperPod's own capacity: an empty list says nothing"
    if evidence.events is not None and evidence.events.error_code == "ValidationException":
        yield (
            "cluster events are not supported here (NodeProvisioningMode is not Continuous): "
            "what HyperPod did by itself leaves no record"
        )


def _actions(
    evidence: CapacityEvidence,
    ends: Sequence[BlockEnd],
    bootstrap: Bootstrap | None,
    signals: Sequence[Signal],
) -> Iterator[str]:
    for end in ends:
        yield from block_actions(end, evidence)
    if bootstrap is not None:
        yield from bootstrap_actions(bootstrap)
    kinds = {signal.kind for signal in signals if not signal.effect}
    if kinds & {"addresses", "attempt_addresses", "launch_addresses"}:
        yield "free addresses, or give the group a larger subnet in the same zone, then scale again"
    if kinds & {"attempt_capacity", "launch_capacity", "no_room"}:
        yield "check that subnet and reservation or plan lie in one zone before asking for capacity"
    if kinds & {"plan_gap", "plan_ended", "expired", "not_active_yet"}:
        yield "extend or buy capacity that covers the run in one stretch; checkpoint before its end"

"""Facts and actions of the capacity branch, as a person on call reads them."""

from collections.abc import Iterator

from gpuvet.calculators.block_end import BlockEnd, Proof
from gpuvet.calculators.bootstrap import Bootstrap, CauseRow
from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.model.bootstrap import LaunchFault, ServiceEvent
from gpuvet.model.capacity import WarningKind
from gpuvet.report.words import counted, some, utc

# What a process's end leaves in the log (verdict-rules §4).
_TEARDOWN = frozenset({43, 45})
_MOST_NODES = 16  # ours: how many nodes are told one by one


def block_facts(end: BlockEnd, evidence: CapacityEvidence) -> Iterator[str]:
    """Yield what is known around a block's end."""
    one = end.reservation
    seconds = int((end.endings[-1].at - end.endings[0].at).total_seconds())
    yield (
        f"{one.id} ({one.state}, {one.instance_type}, {one.total} instances): EndDate "
        f"{utc(one.end)}, usable until {utc(end.usable_until)}, lead {end.lead_minutes} minutes; "
        f"{counted(len(end.endings), 'node')} ended within {seconds} s, "
        f"first signal {utc(end.endings[0].at)}, last signal {utc(end.endings[-1].at)}"
    )
    proven = set(end.proven)
    for ending in end.endings[:_MOST_NODES]:
        label = "Proven" if ending.node in proven else "Hypothesis"
        yield (
            f"{ending.node} ended {utc(ending.at)} ({ending.source}): {label}, "
            f"{end.proofs[ending.node].value}"
        )
    if len(end.endings) > _MOST_NODES:
        yield f"and {len(end.endings) - _MOST_NODES} more nodes: {len(proven)} Proven in all"
    if any(end.proofs[node] is Proof.SCHEDULE for node in end.supposed):
        yield (
            f"of {some(list(end.supposed), 8)} its own interruption warning was not seen; schedule "
            "and membership alone do not prove it"
        )
    yield from _extension_fact(end, evidence)
    yield from _alert_fact(evidence)
    yield from _trail_fact(end, evidence)
    yield from _teardown_facts(end, evidence)
    yield from _later_launches(end, evidence)


def _extension_fact(end: BlockEnd, evidence: CapacityEvidence) -> Iterator[str]:
    if not evidence.extensions.status.is_complete:
        return
    mine = [e for e in values(evidence.extensions) if e.reservation == end.reservation.id]
    if not mine:
        yield f"no extension in the history of {end.reservation.id}"
    for extension in mine:
        yield f"extension of {end.reservation.id} to {utc(extension.end)}: {extension.status}"


def _alert_fact(evidence: CapacityEvidence) -> Iterator[str]:
    if not evidence.rules.status.is_complete:
        return
    heard = {
        kind: [
            r.name for r in values(evidence.rules) if kind in r.hears and r.is_enabled and r.targets
        ]
        for kind in WarningKind
    }
    expiring, interrupting = heard[WarningKind.EXPIRATION], heard[WarningKind.INTERRUPTION]
    if expiring:
        yield f"a rule hears the Capacity Block Expiration Warning: {some(expiring)}"
    elif interrupting:
        yield (
            "no rule hears the Capacity Block Expiration Warning; only the instance "
            f"Interruption Warning is heard: {some(interrupting)}"
        )
    else:
        yield "no EventBridge rule with a target hears of capacity ending"


def _trail_fact(end: BlockEnd, evidence: CapacityEvidence) -> Iterator[str]:
    names = ("TerminateInstances", "StopInstances")
    if evidence.trail.has_read(names):
        window = evidence.trail.window
        source = evidence.trail.told_by or "CloudTrail"
        yield (
            f"no TerminateInstances or StopInstances on these {len(end.endings)} nodes in "
            f"{source} from {utc(window.start)} to {utc(window.end)}"
        )
    else:
        yield "CloudTrail was not read for TerminateInstances: who else ended them is unverified"


def _teardown_facts(end: BlockEnd, evidence: CapacityEvidence) -> Iterator[str]:
    for ending in end.endings:
        records = evidence.records.get(ending.node)
        xids = records.xids if records is not None else ()
        mine = [x for x in xids if x.code in _TEARDOWN and x.at is not None]
        late = [
            x for x in mine if x.at is not None and abs((x.at - ending.at).total_seconds()) < 300
        ]
        if late:
            codes = "/".join(dict.fromkeys(str(x.code) for x in late))
            yield (
                f"Xid {codes} on {ending.node} at {utc(late[0].at)} is a consequence of its own "
                f"shutdown ({_shutdown_at(evidence, ending.node) or utc(ending.at)}), not a cause"
            )


def _shutdown_at(evidence: CapacityEvidence, node: str) -> str | None:
    lines = evidence.records[node].shutdowns if node in evidence.records else ()
    times = [line.at for line in lines if line.at is not None]
    return utc(min(times)) if times else None


def _later_launches(end: BlockEnd, evidence: CapacityEvidence) -> Iterator[str]:
    for record in evidence.services:
        is_launch = record.event is ServiceEvent.LAUNCH_FAILED
        if is_launch and record.at is not None and record.at >= end.endings[0].at:
            yield (
                f"{record.code} at {utc(record.at)} is a consequence: the block no longer gives "
                "instances"
            )
            return


def block_actions(end: BlockEnd, evidence: CapacityEvidence) -> Iterator[str]:
    """Yield what an operator does about a block that ended, and before the next one does."""
    one = end.reservation
    yield (
        "nothing on the nodes: this is the expected end of a Capacity Block, not a fault; no GPU "
        "is to blame"
    )
    yield (
        "get the next block, or next time an extension (asked for at least 1 h before the end); "
        f"{one.id} itself cannot be extended any more"
        if one.end is not None and one.end <= evidence.now
        else f"extend {one.id} (asked for at least 1 h before its end) or get the next block"
    )
    yield (
        f"let the last checkpoint end before {end.usable_until:%H:%M}Z of the last day, "
        f"{end.lead_minutes} minutes before the end"
    )
    yield (
        "alert: an EventBridge rule with a target for the Capacity Block Expiration Warning, which "
        "comes 40 minutes before the end, 10 minutes before terminations begin"
    )


def bootstrap_actions(found: Bootstrap) -> Iterator[str]:
    """Yield what an operator does about nodes that did not come up."""
    rows = {cause.row for cause in found.causes}
    faults = {cause.fault for cause in found.causes}
    if CauseRow.READ_LAG in rows:
        yield (
            "launch in smaller batches (raise the static MinCount step by step), or upgrade "
            "ParallelCluster to a release whose notes name a retry of this read; leave the "
            "post-install script as it is"
        )
    if CauseRow.SCRIPT in rows:
        yield "correct the custom action whose exit status is not 0, and test it on one node"
    if CauseRow.NO_ENDPOINT in rows:
        yield "add the VPC endpoint of the service, or a NAT route for the nodes' subnet"
    if LaunchFault.QUOTA in faults:
        yield "raise the quota the launch met, then launch again"
    if LaunchFault.PERMISSION in faults:
        yield "give the head node's role the permission the launch lacked"
    if found.protected is not None:
        yield (
            "leave protected mode when the cause is gone: pcluster update-compute-fleet "
            "--status START_REQUESTED (compute fleet status START_REQUESTED); running jobs stay"
        )

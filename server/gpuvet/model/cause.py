"""Branches A to F: what speaks for each, what rules it out, and what may be said of the cause."""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.cluster import NotSeen


class Branch(StrEnum):
    """Where a cause can lie."""

    HARDWARE = "A"
    CAPACITY = "B"
    STORAGE = "C"
    COMMUNICATION = "D"
    CHANGE = "E"
    APPLICATION = "F"


class BranchStatus(StrEnum):
    """What became of a branch; every branch has one (incident-branches)."""

    ROOT_CAUSE = "ROOT_CAUSE"
    LEADING_HYPOTHESIS = "LEADING_HYPOTHESIS"
    CONTRIBUTING = "CONTRIBUTING"
    RULED_OUT = "RULED_OUT"
    NOT_ASSESSED = "NOT_ASSESSED"
    UNVERIFIED = "UNVERIFIED"
    NOT_OBSERVABLE = "NOT_OBSERVABLE"


class Label(StrEnum):
    """How sure a cause is; only Proven may be called root cause."""

    PROVEN = "Proven"
    HYPOTHESIS = "Hypothesis"
    NOT_OBSERVABLE = "Not observable"


class Symptom(StrEnum):
    """What the question, else the job log, complains of."""

    START_UP = "start-up failure"
    SLOW = "slow"
    HANG = "hang"
    CRASH = "crash"
    NODES_LOST = "nodes lost"
    MOUNT = "mount failure"
    UNKNOWN = "unknown"


class Failure(Value):
    """When and how the failure began; `at` is t0 of incident-branches."""

    symptom: Symptom
    at: AwareDatetime | None = None
    precision_seconds: float = 1.0  # a "before" needs event + its precision <= at
    source: str = "not found"  # job log, watchdog, node state, metric edge, user's word
    observed: bool = False  # False: only the user's word
    slow_until: AwareDatetime | None = None  # end of a slow period, where it is over
    nodes: tuple[str, ...] = ()  # the job's nodes
    stream: str | None = None
    raw: str | None = None
    evidence: str | None = None


class Signal(Value):
    """One measured thing that speaks for a branch, with what the six conditions ask of it.

    Conditions of `Proven` (incident-branches): measured (1), on something of the job (2),
    before the failure (3), by a known mechanism (4), without a competitor (5), for a failure whose
    start was itself observed (6). 5 and 6 are not the signal's; the ranking decides them.
    """

    branch: Branch
    kind: str  # short, stable: xid, hma, block_end, fsx_saturated, self_rule_missing, …
    what: str  # one sentence for a reader, value and resource id in it
    resource: str | None = None  # i-…, fs-…, cr-…, sg-…, subnet-…, cluster name
    node: str | None = None
    at: AwareDatetime | None = None
    precision_seconds: float = 1.0
    until: AwareDatetime | None = None
    measured: bool = True  # (1) status OK and a value quoted; an inferred event is not
    affected: bool = True  # (2)
    standing: bool = False  # (3) a state read now that governs the failing step: see §2
    mechanism: str | None = None  # (4) how this leads to the symptom; None: not known
    proven_by_rule: bool = False  # the branch's own section calls this Proven for this symptom
    hypothesis_only: bool = False  # the branch's own section allows no more than a hypothesis
    effect: bool = False  # can only be a consequence (§2: effects that never compete)
    explains: tuple[Branch, ...] = ()  # chain: those branches' signals follow from this one
    confirming: str | None = None  # the one measurement that would settle it
    raw: str | None = None
    stream: str | None = None
    evidence: tuple[str, ...] = ()


class BranchEvidence(Value):
    """Everything gathered for one branch, before the branches are weighed against each other."""

    branch: Branch
    signals: tuple[Signal, ...] = ()
    ruled_out: str | None = None  # positive evidence of absence with its coverage, as a sentence
    unverified: str | None = None  # read, and neither lets it lead nor rules it out: why
    deciding_unseen: tuple[NotSeen, ...] = ()  # sources that would decide and were not seen
    assessed: bool = True  # False: nothing of this branch was looked at, or what was is empty
    read_empty: str | None = None  # not assessed, though this was read: what it held, what is left
    confirming: str | None = None  # the one measurement that would decide the branch
    facts: tuple[str, ...] = ()  # context a reader wants: sentences with ids, values, denominators
    actions: tuple[str, ...] = ()  # what an operator would do if this branch holds, as text


class BranchAssessment(Value):
    """One row of the branch table."""

    branch: Branch
    status: BranchStatus
    label: Label | None = None  # of a leading branch
    why: str
    confirming: str | None = None
    signals: tuple[Signal, ...] = ()
    facts: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


class EventKind(StrEnum):
    """What a timeline entry is."""

    SEEN = "seen"
    PLANNED = "planned"  # shown, but no evidence that something happened
    ATTEMPT = "attempt"  # a call that failed
    UNREAD = "unread"  # a source that was not read


class TimelineEvent(Value):
    """One entry of the timeline, with its precision and source."""

    at: AwareDatetime
    precision_seconds: float = 1.0
    until: AwareDatetime | None = None
    source: str  # kernel, hma, job log, cluster events, cloudtrail, health, ec2, capacity, fsx, …
    kind: EventKind = EventKind.SEEN
    what: str
    node: str | None = None
    resource: str | None = None
    code: str | None = None  # what makes two sources' entries the same: xid 79, …
    agreeing: tuple[str, ...] = ()  # other sources that say the same
    stream: str | None = None
    evidence: tuple[str, ...] = ()

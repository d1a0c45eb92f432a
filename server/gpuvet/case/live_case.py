"""A live account as a case: the same doors that a recorded one has, narrowed to one question."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from gpuvet.aws.budget import SCAN_GB
from gpuvet.aws.cloudwatch_logs import CloudWatchLogs
from gpuvet.aws.clusters import Found, find_target
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.ledger import Ledger
from gpuvet.aws.narrowed import NarrowedAws
from gpuvet.aws.query_runs import QueryRuns
from gpuvet.aws.reads import KUBERNETES, PROMETHEUS
from gpuvet.aws.scan_budget import ScanBudget
from gpuvet.aws.watched import LOGS, WatchedAws
from gpuvet.case.case import Case
from gpuvet.case.cluster_objects import with_cluster_objects
from gpuvet.model.case import CaseForm, CaseMeta
from gpuvet.model.evidence import Status
from gpuvet.model.progress import Progress, silent
from gpuvet.model.target import Target


def live_case(
    door: AwsDoor,
    target: Target,
    *,
    now: datetime,
    region: str | None = None,
    account: str | None = None,
    question: str | None = None,
    max_scan_gb: float = SCAN_GB,
    tell: Callable[[str], None] | None = None,
    progress: Progress = silent,
) -> Case:
    """Return the nodes of a target as a case; each read of the account is made once.

    Args:
        door: The way to the account.
        target: Which nodes.
        now: The clock of the whole question.
        region: The door's region.
        account: Whose account it is, where known.
        question: The user's words.
        max_scan_gb: What its log queries may scan.
        tell: Told what they will scan and cost, before they do.
        progress: Who wants to know how far it has got.

    Raises:
        UsageError: The target names nothing, nobody, or several clusters.
    """
    watched = WatchedAws(door, progress)
    found = _found(Ledger(watched), ledger := Ledger(watched), target, region)
    aws = NarrowedAws(ScanBudget(ledger, max_scan_gb, tell=tell), found)
    meta = CaseMeta(
        id=found.name or "live",
        form=CaseForm.LIVE,
        question=question,
        now=now,
        now_source="the clock",
        account=account,
        region=region,
        cluster=found.name,
        orchestrator=found.orchestrator,
    )
    runs = QueryRuns(aws, planned=partial(watched.stages.plan, LOGS))
    return with_cluster_objects(_case(meta, aws, found, ledger, runs))


def _case(meta: CaseMeta, aws: AwsDoor, found: Found, ledger: Ledger, runs: QueryRuns) -> Case:
    now, account = meta.now, meta.account
    return Case(
        meta=meta,
        files=(),
        aws=aws,
        logs=CloudWatchLogs(aws, clusters=found.names, account=account, now=now, runs=runs),
        named=tuple((instance, "the question") for instance in found.instances),
        doors=frozenset({PROMETHEUS, KUBERNETES}),
        ledger=ledger,
        runs=runs,
    )


def _found(lookup: Ledger, ledger: Ledger, target: Target, region: str | None) -> Found:
    """Return what a target is; what could not be asked about it is noted in the case's ledger."""
    found = find_target(lookup, target, region)
    for answer in lookup.incomplete():
        # That no other kind of cluster has this name is an answer; that it could not be asked is
        # a gap: the name might mean two.
        if answer.status is not Status.NOT_FOUND:
            ledger.note(answer)
    return found

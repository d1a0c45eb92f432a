"""A case in hand: what was asked, what was read, and the two doors to the rest."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuvet.aws.door import AwsDoor, LogDoor
from gpuvet.aws.ledger import Ledger
from gpuvet.aws.prometheus_held import HeldAnswer
from gpuvet.aws.query_runs import QueryRuns
from gpuvet.model.case import (
    CaseMeta,
    FileReport,
    LogSearch,
    MetricSeries,
    Note,
    OperatorFacts,
    TextFile,
)
from gpuvet.model.network import FlightDump


@dataclass(frozen=True, slots=True)
class Reply:
    """One AWS reply that lay in the case as a file, in boto3's shape."""

    operation: str
    file: str
    reply: Mapping[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KubeObject:
    """One Kubernetes object as read."""

    kind: str
    file: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """Everything a mode may use. The clock is `meta.now`; nothing reads another."""

    meta: CaseMeta
    files: tuple[FileReport, ...]
    aws: AwsDoor
    logs: LogDoor
    facts: OperatorFacts = field(default_factory=OperatorFacts)
    notes: tuple[Note, ...] = ()
    searches: tuple[LogSearch, ...] = ()
    job_logs: tuple[TextFile, ...] = ()
    service_logs: tuple[TextFile, ...] = ()  # log agents, Slurm, clustermgtd, cloud-init
    manifests: tuple[TextFile, ...] = ()  # job specs, kube manifests, scripts
    transcripts: tuple[TextFile, ...] = ()  # commands run on a node, nvidia-smi output
    metrics: tuple[MetricSeries, ...] = ()
    replies: tuple[Reply, ...] = ()
    kube: tuple[KubeObject, ...] = ()
    prometheus: tuple[HeldAnswer, ...] = ()  # answers of its query API that lay in the case
    flight_dumps: tuple[FlightDump, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()  # reads of logs that failed: operation and code
    # Logs that may be a node's and name none, and whether driver lines stand in them.
    unowned: tuple[tuple[str, bool], ...] = ()
    named: tuple[tuple[str, str], ...] = ()  # nodes that tables and logs name, each with its file
    # Doors beside that of AWS that may answer: prometheus, kubernetes.
    doors: frozenset[str] = frozenset()
    ledger: Ledger | None = None  # of an account: all that was asked of it, and what failed
    runs: QueryRuns | None = None  # of an account: its log queries, several at once

"""What every gatherer of a question shares."""

from dataclasses import dataclass
from datetime import datetime

from gpuvet.model.case import CaseNode
from gpuvet.model.cause import Failure
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Window


@dataclass(frozen=True, slots=True)
class Scope:
    """The question as resolved.

    Attributes:
        window: The window asked about, without pad.
        now: The clock.
        failure: Symptom and start of the failure; `at` is None where neither log nor user says.
        nodes: Every node of the cluster.
        cluster: Its name, where known.
    """

    window: Window
    now: datetime
    failure: Failure
    nodes: tuple[CaseNode, ...]
    orchestrator: Orchestrator
    cluster: str | None = None
    account: str | None = None
    region: str | None = None

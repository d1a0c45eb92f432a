"""What a cluster's Kubernetes API says of pods, jobs, taints and events."""

from pydantic import AwareDatetime

from gpuvet.model.base import Value


class ContainerEnd(Value):
    """How one container ended, now or the time before."""

    container: str
    reason: str | None = None  # OOMKilled, Error, Completed, …
    exit_code: int | None = None
    at: AwareDatetime | None = None
    was_restarted: bool = False  # the end before the present run


class PodState(Value):
    """One pod as read."""

    name: str
    namespace: str | None = None
    node: str | None = None  # as Kubernetes names it
    phase: str | None = None
    reason: str | None = None  # Evicted, NodeLost, …
    message: str = ""
    gpus: int = 0
    job: str | None = None  # kind/name of its owner
    waits_because: str | None = None  # the scheduler's words, where it found no place
    since: AwareDatetime | None = None  # of that, or of its creation
    ends: tuple[ContainerEnd, ...] = ()
    file: str = ""

    @property
    def waits(self) -> bool:
        """True for a pod that has no place."""
        return self.phase == "Pending" and self.node is None


class JobState(Value):
    """One HyperPodPyTorchJob as its status says."""

    name: str
    namespace: str | None = None
    state: str | None = None  # the type of its latest true condition
    reason: str | None = None
    message: str = ""
    at: AwareDatetime | None = None
    file: str = ""


class Taint(Value):
    """One taint of a node."""

    node: str
    key: str
    effect: str
    value: str | None = None


class KubeEvent(Value):
    """One event about a pod, a node or a job."""

    reason: str
    about: str  # kind/name
    message: str = ""
    kind: str = "Normal"  # Normal, Warning
    at: AwareDatetime | None = None
    count: int = 1
    file: str = ""
    line: int = 0


class KubeView(Value):
    """Everything of it that a question uses."""

    pods: tuple[PodState, ...] = ()
    jobs: tuple[JobState, ...] = ()
    taints: tuple[Taint, ...] = ()
    events: tuple[KubeEvent, ...] = ()

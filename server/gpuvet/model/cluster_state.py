"""The cluster as read now: recovery, counts, images, checks, and what a job needs to resume."""

from pydantic import AwareDatetime

from gpuvet.model.base import Value


class GroupState(Value):
    """One instance group."""

    name: str
    instance_type: str | None = None
    current: int | None = None
    target: int | None = None
    status: str | None = None
    deep_checks: tuple[str, ...] = ()
    plan: str | None = None
    plan_status: str | None = None
    image: str | None = None
    wanted_image: str | None = None
    software: str | None = None  # SoftwareUpdateStatus
    subnets: tuple[str, ...] = ()  # of its own; (): the cluster's
    interface: str | None = None  # efa, efa-only
    is_controller: bool = False
    security_groups: tuple[str, ...] = ()  # of its own; (): the cluster's
    image_status: str | None = None  # ImageVersionStatus
    patch_at: AwareDatetime | None = None  # NextPatchDate of the schedule in force
    patch_strategy: str | None = None  # WhenIdle, WhenAllIdle, DrainFirst
    update_schedule: str | None = None  # ScheduleExpression
    is_spot: bool = False
    role: str | None = None  # ExecutionRole
    volume_gb: tuple[int, ...] = ()  # EBS volumes that each node gets beside its root
    volume_keys: tuple[str, ...] = ()  # KMS keys of its EBS volumes, the root's among them

    @property
    def short(self) -> int:
        """Return how many nodes are missing."""
        if self.current is None or self.target is None:
            return 0
        return max(0, self.target - self.current)


class HyperPodCluster(Value):
    """DescribeCluster of a HyperPod cluster, as far as rules use it."""

    name: str
    arn: str | None = None
    status: str | None = None
    recovery: str | None = None  # Automatic, None; absent: not told
    provisioning: str | None = None  # Continuous, or absent
    eks: str | None = None  # ARN of the EKS cluster; None: Slurm
    groups: tuple[GroupState, ...] = ()
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    failure: str | None = None
    evidence: str | None = None


class HyperPodNode(Value):
    """One row of ListClusterNodes."""

    id: str
    group: str | None = None
    logical: str | None = None
    instance_type: str | None = None
    status: str | None = None
    message: str | None = None  # sticky: it can be an older failure's
    launched_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None  # LastSoftwareUpdateTime
    host: str | None = None
    release: str | None = None  # CurrentImageReleaseVersion
    evidence: str | None = None


class ClusterState(Value):
    """What an operator needs to know of the cluster beside the cause.

    Sentences stand ready for a reader; a None or an empty tuple means not read.
    """

    cluster: str | None = None
    orchestrator: str
    recovery: str | None = None  # Automatic, None, or another manager's word
    recovery_does: str  # what it does, or why it is not known
    resume_needs: str  # what the job needs to go on by itself
    counts: tuple[str, ...] = ()  # current of target, group by group
    deep_checks: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()  # nodes not yet running, and since when
    notes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

"""Every check of a job spec, in order; adding one means adding it to its family's tuple."""

from gpuvet.checks.registry import Check
from gpuvet.checks.spec import (
    accelerators,
    container,
    document,
    elastic,
    environment,
    fields,
    identity,
    launch,
    monitor_groups,
    monitor_metrics,
    monitor_patterns,
    monitor_sight,
    monitor_timing,
    observability,
    placement,
    replicas,
    resources,
    run_policy,
)
from gpuvet.model.job_spec import JobSpec, Manifest

DOCUMENT_CHECKS: tuple[Check[Manifest], ...] = (
    *document.CHECKS,
    *identity.DOCUMENT_CHECKS,
    *observability.CHECKS,
)
FIELD_CHECKS: tuple[Check[JobSpec], ...] = fields.CHECKS  # also of monitors without their job
JOB_CHECKS: tuple[Check[JobSpec], ...] = (
    *identity.JOB_CHECKS,
    *replicas.CHECKS,
    *launch.CHECKS,
    *accelerators.CHECKS,
    *resources.CHECKS,
    *placement.CHECKS,
    *container.CHECKS,
    *environment.CHECKS,
    *run_policy.CHECKS,
    *elastic.CHECKS,
)
MONITOR_CHECKS: tuple[Check[JobSpec], ...] = (
    *monitor_patterns.CHECKS,
    *monitor_groups.CHECKS,
    *monitor_metrics.CHECKS,
    *monitor_timing.CHECKS,
    *monitor_sight.CHECKS,
)
CODES: tuple[str, ...] = tuple(
    sorted(
        (
            *(check.code for check in DOCUMENT_CHECKS),
            *(check.code for check in (*FIELD_CHECKS, *JOB_CHECKS, *MONITOR_CHECKS)),
        )
    )
)

"""Which lines may speak of the cluster's services, of packages, rollouts or capacity. Pure.

The same words twice: as a pattern for Logs Insights and as needles for a scan of bytes.
"""

import re

# Each is a literal text; one of them stands in every line that the readers understand.
WORDS = (
    # clustermgtd, slurm_resume, slurmctld
    "Ignoring instance",
    "bootstrap failure",
    "Bootstrap failure",
    "bootstrap error",
    "protected mode",
    "protected-mode",
    "PROTECTED",
    "to INACTIVE",
    "not resumed by",
    "ResumeTimeout",
    "no corresponding instance",
    "no backing instance",
    "EC2Instance(id",
    "Terminating instances",
    "Terminating orphaned",
    "not responding",
    # launches, in whatever log they are told
    "Insufficient",
    "LimitExceeded",
    "ReservationCapacityExceeded",
    "sufficient capacity",
    "UnfulfillableCapacity",
    "UnauthorizedOperation",
    "in CreateFleet",
    "in RunInstances",
    "Failed to launch",
    "launch-failure",
    "event-type",
    # bootstrap on a node
    "endpoint URL",
    "exit status",
    "exit code",
    "return code",
    "exit_code",
    "lifecycle scripts",
    "loud-init v",
    "custom-action",
    "not found in directory",
    # packages and rollouts
    " upgrade ",
    " install ",
    "Upgrade:",
    "Upgraded:",
    "Updated:",
    "Installed:",
    "Start-Date:",
    "Unpacking ",
    "will be upgraded",
    "rollout",
    "rolled out",
    # EventBridge
    "Interruption Warning",
    "Expiration Warning",
)
PATTERN = "|".join(re.escape(word).replace(r"\ ", " ").replace(r"\-", "-") for word in WORDS)
NEEDLES = tuple(word.encode("ascii") for word in WORDS)

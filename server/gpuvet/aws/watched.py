"""An AWS door that tells how far a question has got."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.model.evidence import Envelope
from gpuvet.model.progress import Progress, Stages

# What a reader calls the sources behind each service.
_STAGES = MappingProxyType(
    {
        "sagemaker": "cluster",
        "ec2": "instances and capacity",
        "logs": "logs",
        "cloudwatch": "metrics",
        "amp": "metrics",
        "prometheus": "metrics",
        "kubernetes": "Kubernetes",
        "cloudtrail": "changes",
        "health": "AWS Health",
        "fsx": "storage",
        "eks": "EKS",
        "events": "rules",
        "service-quotas": "quotas",
    }
)
LOGS = "logs"
# One query is one thing to wait for; starting it is none.
_QUERY_ENDED, _QUERY_STARTED = "logs:GetQueryResults", "logs:StartQuery"


class WatchedAws:
    """See `AwsDoor`."""

    def __init__(self, door: AwsDoor, progress: Progress) -> None:
        self._door = door
        self.stages = Stages(progress)

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return one read, counted once it has ended; see `AwsDoor.read`."""
        if operation == _QUERY_STARTED:
            self.stages.begin(LOGS)
        answer = self._door.read(operation, params, region=region)
        service = operation.partition(":")[0]
        if operation == _QUERY_ENDED:
            self.stages.advance(LOGS, "queries")
        elif service != LOGS:
            self.stages.advance(_STAGES.get(service, service))
        elif operation != _QUERY_STARTED:
            self.stages.advance("log groups and streams")
        return answer

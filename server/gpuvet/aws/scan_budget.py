"""What log queries cost before they run: bytes estimated, and refused beyond a limit.

Logs Insights bills what it scans. The estimate is the upper bound of coverage.md: the bytes a
group took in over the range, without what an index of stream names may skip.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from gpuvet.aws.budget import SCAN_GB
from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.ledger import Ledger
from gpuvet.aws.recorded import canonical
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.untyped import is_number, object_at, objects_at, whole_at

GIGABYTE = 1_000_000_000
# Stored bytes are compressed. A group whose stored bytes, so many times over, still fit needs no
# closer look.
_COMPRESSION = 10
_HOUR_SECONDS = 3_600


class ScanBudget:
    """An AWS door that starts no query beyond its limit; see `AwsDoor`."""

    def __init__(self, door: Ledger, most_gb: float = SCAN_GB) -> None:
        self._ledger = door
        self._door: AwsDoor = door
        self._most_gb = most_gb
        self._scanned = 0.0
        self._lock = Lock()

    @property
    def scanned_gb(self) -> float:
        """What the queries so far have scanned."""
        return self._scanned / GIGABYTE

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return one read, or a refusal of a query that would scan too much; see `AwsDoor`."""
        if operation == "logs:StartQuery":
            estimate = self._estimate(params, region)
            if self._scanned + estimate > self._most_gb * GIGABYTE:
                return self._refused(params, region, estimate)
        answer = self._door.read(operation, params, region=region)
        if operation == "logs:GetQueryResults":
            self._count(answer)
        return answer

    def _count(self, answer: Envelope[tuple[Page, ...]]) -> None:
        pages = answer.value or ()
        scanned = [object_at(page, "statistics").get("bytesScanned") for page in pages]
        with self._lock:
            self._scanned += max((one for one in scanned if is_number(one)), default=0.0)

    def _estimate(self, params: Mapping[str, Any], region: str | None) -> float:
        """Return an upper bound in bytes; what nothing is known of counts as nothing."""
        names = params.get("logGroupNames") or ()
        stored = {name: self._stored(name, region) for name in names}
        room = self._most_gb * GIGABYTE - self._scanned
        if sum(stored.values()) * _COMPRESSION <= room:
            return 0.0
        start, end = params["startTime"], params["endTime"]
        return sum(self._taken_in(name, start, end, region, stored[name]) for name in names)

    def _stored(self, group: str, region: str | None) -> float:
        answer = self._door.read(
            "logs:DescribeLogGroups", {"logGroupNamePrefix": group}, region=region
        )
        rows = [row for page in answer.value or () for row in objects_at(page, "logGroups")]
        exact = (row for row in rows if row.get("logGroupName") == group)
        return float(next((whole_at(row, "storedBytes") or 0 for row in exact), 0))

    def _taken_in(
        self, group: str, start: int, end: int, region: str | None, stored: float
    ) -> float:
        """Return the bytes a group took in over a range, else all it stores."""
        period = max(_HOUR_SECONDS, _HOUR_SECONDS * ((end - start) // (_HOUR_SECONDS * 1_000) + 1))
        metric = {
            "Namespace": "AWS/Logs",
            "MetricName": "IncomingBytes",
            "Dimensions": [{"Name": "LogGroupName", "Value": group}],
        }
        query = {"Metric": metric, "Period": period, "Stat": "Sum"}
        params = {
            "MetricDataQueries": [{"Id": "bytes", "MetricStat": query}],
            "StartTime": datetime.fromtimestamp(start, UTC),
            "EndTime": datetime.fromtimestamp(end, UTC),
        }
        answer = self._door.read("cloudwatch:GetMetricData", params, region=region)
        results = [r for page in answer.value or () for r in objects_at(page, "MetricDataResults")]
        values = [value for one in results for value in one.get("Values") or ()]
        return float(sum(values)) if values and answer.status.is_complete else stored

    def _refused(
        self, params: Mapping[str, Any], region: str | None, estimate: float
    ) -> Envelope[tuple[Page, ...]]:
        note = (
            f"not run: it would scan up to {estimate / GIGABYTE:.1f} GB beside the "
            f"{self.scanned_gb:.1f} GB scanned so far; the limit is {self._most_gb:g} GB"
        )
        refusal = Envelope[tuple[Page, ...]](
            service="logs",
            operation="StartQuery",
            region=region,
            params=canonical(params),
            status=Status.NOT_CHECKED,
            reason=Reason.BUDGET,
            notes=(note,),
        )
        self._ledger.note(refusal)
        return refusal

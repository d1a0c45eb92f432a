"""What log queries cost before they run: bytes estimated, told, and refused beyond a limit.

Logs Insights bills what it scans. A group's share is what it took in over the range, else what it
stores, by the range's part of the time it keeps it. Queries that name streams of one group over
one range scan each stream once between them where the group has an index of names; as soon as
they have scanned more than that, each is reckoned as a scan of its own.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Any, NamedTuple

from gpuvet.aws.budget import SCAN_GB
from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.ledger import Ledger
from gpuvet.aws.log_store import group_name
from gpuvet.aws.query_runs import SCAN_LIMIT
from gpuvet.aws.recorded import canonical
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.untyped import is_number, object_at, objects_at, text_at, whole_at

GIGABYTE = 1_000_000_000
# us-east-1's price of a gigabyte scanned, in dollars; other regions' are near it.
DOLLARS_A_GB = 0.005
# Stored bytes are compressed. A group whose stored bytes, so many times over, still fit needs no
# closer look.
_COMPRESSION = 10
_HOUR_SECONDS = 3_600
_DAY_SECONDS = 86_400
_NAMES = re.compile(r"@logStream in \[[^\]]*\]")
# Ours: less than this is not worth a word before it runs.
_WORTH_TELLING = GIGABYTE


class _Stored(NamedTuple):
    """What a listing says of a group."""

    stored: int = 0
    created: float | None = None  # epoch seconds
    days: int | None = None


@dataclass(slots=True)
class _Family:
    """Queries that differ in the streams they name alone."""

    estimate: float
    is_named: bool
    scanned: float = 0.0
    flying: int = 0

    @property
    def committed(self) -> float:
        """What has been scanned, and what those that run may still scan."""
        return max(self.scanned, self.estimate) if self.flying else self.scanned

    @property
    def next(self) -> float:
        """What one more query may add."""
        is_shared = self.is_named and self.scanned <= self.estimate
        return max(0.0, self.estimate - self.committed) if is_shared else self.estimate


class ScanBudget:
    """An AWS door that starts no query beyond its limit; see `AwsDoor`."""

    def __init__(
        self,
        door: Ledger,
        most_gb: float = SCAN_GB,
        *,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Watch the queries of one question.

        Args:
            door: The way to the account.
            most_gb: What its queries may scan.
            tell: Told what they will scan and cost, before they do.
        """
        self._ledger = door
        self._door: AwsDoor = door
        self._most_gb = most_gb
        self._tell = tell
        self._told = 0.0
        self._stored: dict[str, _Stored] = {}
        self._families: dict[str, _Family] = {}
        self._of_query: dict[str, _Family] = {}
        self._lock = Lock()

    @property
    def scanned_gb(self) -> float:
        """What the queries so far have scanned."""
        return sum(one.scanned for one in self._families.values()) / GIGABYTE

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return one read, or a refusal of a query that would scan too much; see `AwsDoor`."""
        if operation == "logs:StartQuery":
            return self._start(params, region)
        answer = self._door.read(operation, params, region=region)
        if operation == "logs:GetQueryResults":
            self._count(str(params.get("queryId")), answer)
        if operation == "logs:DescribeLogGroups":
            self._learn(answer)
        return answer

    def _start(self, params: Mapping[str, Any], region: str | None) -> Envelope[tuple[Page, ...]]:
        family = self._family(params, region)
        with self._lock:
            used = sum(one.committed for one in self._families.values())
            more = family.next
            fits = used + more <= self._most_gb * GIGABYTE
            family.flying += fits
        if not fits:
            return self._refused(params, region, more)
        self._announce(used + more)
        answer = self._door.read("logs:StartQuery", params, region=region)
        query = next((i for p in answer.value or () if (i := text_at(p, "queryId"))), None)
        with self._lock:
            if query is None or query in self._of_query:
                family.flying -= 1
            else:
                self._of_query[query] = family
        return answer

    def _count(self, query: str, answer: Envelope[tuple[Page, ...]]) -> None:
        pages = answer.value or ()
        scanned = [object_at(page, "statistics").get("bytesScanned") for page in pages]
        with self._lock:
            family = self._of_query.get(query)
            if family is None:
                family = self._families.setdefault(query, _Family(0.0, is_named=False, flying=1))
                self._of_query[query] = family
            if family.flying > 0:
                family.flying -= 1
                family.scanned += max((one for one in scanned if is_number(one)), default=0.0)

    def _announce(self, total: float) -> None:
        """Say what will have been scanned, once for each doubling."""
        if self._tell is None or total < max(_WORTH_TELLING, 2 * self._told):
            return
        self._told = total
        self._tell(
            f"log queries may scan up to {total / GIGABYTE:.1f} GB, about "
            f"${total / GIGABYTE * DOLLARS_A_GB:.2f}; the limit is {self._most_gb:g} GB"
        )

    def _family(self, params: Mapping[str, Any], region: str | None) -> _Family:
        names = [group_name(one) for one in params.get("logGroupNames") or ()]
        start, end = params["startTime"], params["endTime"]
        query = str(params.get("queryString"))
        is_named = _NAMES.search(query) is not None
        key = canonical([names, start, end, _NAMES.sub("", query)])
        if key not in self._families:
            estimate = self._estimate(names, start, end, region)
            with self._lock:
                self._families.setdefault(key, _Family(estimate, is_named))
        return self._families[key]

    def _estimate(self, names: Sequence[str], start: int, end: int, region: str | None) -> float:
        """Return an upper bound in bytes; what nothing is known of counts as nothing."""
        missing = [name for name in names if name not in self._stored]
        if missing:
            listed = {"logGroupIdentifiers": missing}
            self._learn(self._door.read("logs:DescribeLogGroups", listed, region=region))
        shares = {name: self._share(name, start, end) for name in names}
        room = self._most_gb * GIGABYTE
        used = sum(one.committed for one in self._families.values())
        if sum(shares.values()) * _COMPRESSION <= room - used:
            return sum(shares.values())
        taken_in = self._taken_in(names, start, end, region)
        return sum(taken_in.get(name, shares[name] * _COMPRESSION) for name in names)

    def _share(self, group: str, start: int, end: int) -> float:
        """Return the bytes a group stores of a range, as if it filled evenly."""
        known = self._stored.get(group, _Stored())
        if known.created is None:
            return float(known.stored)
        since = known.created
        if known.days is not None:
            since = max(since, end - known.days * _DAY_SECONDS)
        kept = max(end - since, 1.0)
        return known.stored * min(1.0, max(end - max(start, since), 0.0) / kept)

    def _learn(self, answer: Envelope[tuple[Page, ...]]) -> None:
        for row in (row for p in answer.value or () for row in objects_at(p, "logGroups")):
            stored, created = whole_at(row, "storedBytes"), whole_at(row, "creationTime")
            if stored is not None:  # an answer by pattern has none
                self._stored[group_name(text_at(row, "logGroupName") or "")] = _Stored(
                    stored,
                    None if created is None else created / 1_000,
                    whole_at(row, "retentionInDays"),
                )

    def _taken_in(
        self, groups: Sequence[str], start: int, end: int, region: str | None
    ) -> dict[str, float]:
        """Return the bytes that groups took in over a range, as far as they are metered."""
        period = _HOUR_SECONDS * max(1, -(-(end - start) // (_HOUR_SECONDS * 100)))
        queries = [
            {"Id": f"b{place}", "MetricStat": _incoming(group, period)}
            for place, group in enumerate(groups)
        ]
        params = {
            "MetricDataQueries": queries,
            "StartTime": datetime.fromtimestamp(start, UTC),
            "EndTime": datetime.fromtimestamp(end, UTC),
        }
        answer = self._door.read("cloudwatch:GetMetricData", params, region=region)
        if not answer.status.is_complete:
            return {}
        found: dict[str, float] = {}
        for one in (r for p in answer.value or () for r in objects_at(p, "MetricDataResults")):
            values = one.get("Values") or ()
            place = str(one.get("Id", ""))[1:]
            if values and place.isdigit() and int(place) < len(groups):
                name = groups[int(place)]
                found[name] = found.get(name, 0.0) + float(sum(values))
        return found

    def _refused(
        self, params: Mapping[str, Any], region: str | None, estimate: float
    ) -> Envelope[tuple[Page, ...]]:
        note = (
            f"not run: it would scan up to {estimate / GIGABYTE:.1f} GB, about "
            f"${estimate / GIGABYTE * DOLLARS_A_GB:.2f}, beside the {self.scanned_gb:.1f} GB "
            f"scanned so far; the limit is {self._most_gb:g} GB"
        )
        refusal = Envelope[tuple[Page, ...]](
            service="logs",
            operation="StartQuery",
            region=region,
            params=canonical(params),
            status=Status.NOT_CHECKED,
            reason=Reason.BUDGET,
            error_code=SCAN_LIMIT,
            notes=(note,),
        )
        self._ledger.note(refusal)
        return refusal


def _incoming(group: str, period: int) -> Mapping[str, Any]:
    metric = {
        "Namespace": "AWS/Logs",
        "MetricName": "IncomingBytes",
        "Dimensions": [{"Name": "LogGroupName", "Value": group}],
    }
    return {"Metric": metric, "Period": period, "Stat": "Sum"}

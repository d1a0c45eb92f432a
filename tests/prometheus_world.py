"""A workspace and a cluster's API behind a door: samples in memory, our templates worked out.

What the templates mean is written here once more, from Prometheus' documentation of its
functions, so that a mistake in a template or in its reader shows.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.prometheus_queries import COUNTED, match_text, query_text, selector_text
from gpuvet.aws.reads import read_of
from gpuvet.aws.recorded import RecordedAws, canonical
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.statuses import meaning_of
from gpuvet.case import Case
from gpuvet.case.live_case import live_case
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.target import Target

WORKSPACE = "ws-0a1b2c3d-1111-2222-3333-444455556666"
REGION, ACCOUNT, EKS = "us-west-2", "111122223333", "train-eks"
NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)
LOOK_BACK = timedelta(minutes=5)  # Prometheus' own
Labels = Mapping[str, str]
Points = Sequence[tuple[datetime, float]]


@dataclass
class Stored:
    """One series of a workspace."""

    metric: str
    labels: Labels
    points: Points

    def __post_init__(self) -> None:
        self.times = [at for at, _ in self.points]

    def within(self, start: datetime, end: datetime) -> list[float]:
        """Return the samples in (start, end], as a range selector takes them."""
        first, last = bisect_right(self.times, start), bisect_right(self.times, end)
        return [value for _, value in self.points[first:last]]


def every_minute(
    start: datetime, end: datetime, value: float | Callable[[datetime], float]
) -> list[tuple[datetime, float]]:
    """Return a sample a minute, start and end included."""
    count = int((end - start).total_seconds() // 60) + 1
    times = [start + timedelta(minutes=n) for n in range(count)]
    return [(at, value(at) if callable(value) else value) for at in times]


@dataclass
class World:
    """An account with a workspace and a cluster's API; see `AwsDoor`."""

    behind: AwsDoor
    series: list[Stored] = field(default_factory=list[Stored])
    objects: dict[str, list[Mapping[str, Any]]] = field(
        default_factory=dict[str, list[Mapping[str, Any]]]
    )
    errors: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    workspaces: tuple[str, ...] = (WORKSPACE,)
    addon: str | None = None  # the add-on's configurationValues
    answers: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    asked: list[tuple[str, Mapping[str, Any]]] = field(
        default_factory=list[tuple[str, Mapping[str, Any]]]
    )

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """See `AwsDoor.read`."""
        row = read_of(operation)
        self.asked.append((operation, params))
        if operation in self.errors:
            code, http = self.errors[operation]
            meaning = meaning_of(code, "", http)
            return self._answer(operation, params, region, None, meaning.status).model_copy(
                update={"reason": meaning.reason, "error_code": code}
            )
        if row.service == "prometheus":
            page = self.answers.setdefault(f"{operation}{canonical(params)}", {})
            page.update(page or self._prometheus(row.name, params))
        elif row.service == "kubernetes":
            page = {"items": self.objects.get(row.name, [])}
        elif operation == "amp:ListWorkspaces":
            rows = [{"workspaceId": w, "status": {"statusCode": "ACTIVE"}} for w in self.workspaces]
            page = {"workspaces": rows}
        elif operation == "eks:DescribeAddon" and self.addon is not None:
            page = {"addon": {"addonName": params["addonName"], "status": "ACTIVE"}}
            page["addon"]["configurationValues"] = self.addon
        else:
            return self.behind.read(operation, params, region=region)
        has_rows = any(page.get(name) for name in row.rows) if row.rows else True
        status = Status.OK if has_rows else Status.OK_EMPTY
        return self._answer(operation, params, region, page, status)

    def count(self, prefix: str) -> int:
        """Return how many reads began so."""
        return sum(operation.startswith(prefix) for operation, _ in self.asked)

    def _answer(
        self,
        operation: str,
        params: Mapping[str, Any],
        region: str | None,
        page: Page | None,
        status: Status,
    ) -> Envelope[tuple[Page, ...]]:
        service, _, name = operation.partition(":")
        return Envelope[tuple[Page, ...]](
            service=service,
            operation=name,
            account=ACCOUNT,
            region=region or REGION,
            params=canonical(params),
            status=status,
            value=None if page is None else (page,),
            pages=0 if page is None else 1,
        )

    def _prometheus(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if params["workspaceId"] != self.workspaces[0]:
            return {"result": [], "labels": [], "series": []}
        if name in {"Labels", "Series"}:
            chosen = list(self._chosen(params))
            assert selector_text(params).startswith(params["metric"])
            live = [s for s in chosen if _overlaps(s, params["start"], params["end"])]
            labels = sorted({"__name__", *(n for s in live for n in s.labels)}) if live else []
            return {"labels": labels, "series": [dict(s.labels) for s in live]}
        assert query_text(name, params)
        metrics = params.get("metrics") or [params["metric"]]
        rows: list[dict[str, Any]] = []
        for metric in metrics:
            extra = {COUNTED: metric} if "metrics" in params else {}
            rows += self._rows({**params, "metric": metric}, extra)
        return {"result": rows}

    def _rows(self, params: Mapping[str, Any], extra: Labels) -> Iterator[dict[str, Any]]:
        by = params.get("by", ())
        groups: dict[tuple[str, ...], list[Stored]] = {}
        for one in self._chosen(params):
            key = tuple(one.labels.get(label, "") for label in by)
            groups.setdefault(key, []).append(one)
        for key, own in sorted(groups.items()):
            labels = {**dict(zip(by, key, strict=True)), **extra}
            row = _row(labels, own, params)
            if row is not None:
                yield row

    def _chosen(self, params: Mapping[str, Any]) -> Iterator[Stored]:
        assert match_text(params) is not None
        nodes = params.get("nodes")
        for one in self.series:
            fits = nodes is None or one.labels.get(params["label"]) in nodes
            if one.metric == params["metric"] and fits:
                yield one


def _overlaps(one: Stored, start: datetime, end: datetime) -> bool:
    return any(start <= at <= end for at, _ in one.points)


def _row(labels: Labels, own: Sequence[Stored], params: Mapping[str, Any]) -> dict[str, Any] | None:
    template = params["template"]
    metric = {name: value for name, value in labels.items() if value}
    if template in _STEPWISE:
        step = timedelta(seconds=params["step"])
        values: list[list[object]] = []
        at = params["start"]
        while at <= params["end"]:
            value = _STEPWISE[template](own, at - step, at)
            if value is not None:
                values.append([at.timestamp(), f"{value:g}"])
            at += step
        return {"metric": metric, "values": values} if values else None
    end = params["time"]
    value = _AT_ONCE[template](own, end - timedelta(seconds=params["span"]), end, params)
    return None if value is None else {"metric": metric, "value": [end.timestamp(), f"{value:g}"]}


def _folded(
    own: Iterable[Stored],
    start: datetime,
    end: datetime,
    fold: Callable[[list[float]], float],
    over: Callable[[list[float]], float],
) -> float | None:
    each = [fold(samples) for one in own if (samples := one.within(start, end))]
    return over(each) if each else None


def _last(samples: list[float]) -> float:
    return samples[-1]


def _rise(samples: list[float]) -> float:
    return sum(b if b < a else b - a for a, b in pairwise(samples))


_STEPWISE: Mapping[str, Callable[[Sequence[Stored], datetime, datetime], float | None]] = {
    "highs": lambda own, start, end: _folded(own, start, end, max, max),
    "lows": lambda own, start, end: _folded(own, start, end, min, min),
    "lasts": lambda own, start, end: _folded(own, start, end, _last, max),
}


def _looks(own: Sequence[Stored], start: datetime, end: datetime, step: int) -> list[float | None]:
    """Return the value at each look of a subquery: the latest sample, five minutes back at most."""
    found: list[float | None] = []
    at = datetime.fromtimestamp(start.timestamp() // step * step + step, UTC)
    while at <= end:
        found.append(_folded(own, at - LOOK_BACK, at, _last, max))
        at += timedelta(seconds=step)
    return found


def _changes(own: Sequence[Stored], start: datetime, end: datetime, step: int) -> float | None:
    seen = [value for value in _looks(own, start, end, step) if value is not None]
    count = sum(a != b for a, b in pairwise(seen))
    return float(count) if count else None


def _slots(own: Sequence[Stored], start: datetime, end: datetime, step: int) -> float | None:
    return float(sum(value is not None for value in _looks(own, start, end, step))) or None


AtOnce = Callable[[Sequence[Stored], datetime, datetime, Mapping[str, Any]], float | None]
_AT_ONCE: Mapping[str, AtOnce] = {
    "named": lambda own, start, end, _: _folded(own, start, end, lambda _s: 1.0, sum),
    "highest": lambda own, start, end, _: _folded(own, start, end, max, max),
    "lowest": lambda own, start, end, _: _folded(own, start, end, min, min),
    "latest": lambda own, start, end, _: _folded(own, start, end, _last, max),
    "grown": lambda own, start, end, _: _folded(own, start, end, _rise, sum),
    "grown in all": lambda own, start, end, _: _folded(own, start, end, _rise, sum),
    "changed": lambda own, start, end, params: _changes(own, start, end, params["step"]),
    "slots": lambda own, start, end, params: _slots(own, start, end, params["step"]),
}

NODES = tuple(f"i-0{n}aa11bb22cc33dd4" for n in range(1, 5))


def host_of(node: str) -> str:
    """Return the private DNS name of one of our nodes."""
    return f"ip-10-0-0-{NODES.index(node) + 1}.us-west-2.compute.internal"


def hyperpod(*, nodes: Sequence[str] = NODES, now: datetime = NOW) -> RecordedAws:
    """Return the account of a HyperPod cluster on EKS: p5 nodes, nothing in CloudWatch."""
    launched = (now - timedelta(days=3)).isoformat()
    rows = [
        {
            "InstanceGroupName": "workers",
            "InstanceId": node,
            "InstanceType": "ml.p5.48xlarge",
            "LaunchTime": launched,
            "InstanceStatus": {"Status": "Running"},
            "PrivateDnsHostname": host_of(node),
        }
        for node in nodes
    ]
    arn = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{EKS}"
    cluster = {
        "ClusterName": "train-a",
        "ClusterArn": f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:cluster/abc123def456",
        "ClusterStatus": "InService",
        "NodeRecovery": "Automatic",
        "Orchestrator": {"Eks": {"ClusterArn": arn}},
        "InstanceGroups": [
            {
                "InstanceGroupName": "workers",
                "InstanceType": "ml.p5.48xlarge",
                "CurrentCount": len(nodes),
                "TargetCount": len(nodes),
                "Status": "InService",
            }
        ],
    }
    calls = [
        _call("sagemaker", "DescribeCluster", cluster),
        _call("sagemaker", "ListClusterNodes", {"ClusterNodeSummaries": rows}),
        _call("sagemaker", "ListClusters", {"ClusterSummaries": [{"ClusterName": "train-a"}]}),
        _call("cloudwatch", "ListMetrics", {"Metrics": []}),
        _call("ec2", "DescribeInstances", {"Reservations": []}),
        _call("eks", "ListAddons", {"addons": []}),
        {
            "service": "eks",
            "operation": "DescribeAddon",
            "params": {},
            "error": {"Code": "ResourceNotFoundException", "HTTPStatusCode": 404},
        },
    ]
    return RecordedAws(read_calls(calls), account=ACCOUNT, region=REGION, now=now)


def _call(service: str, operation: str, response: Mapping[str, Any]) -> dict[str, Any]:
    return {"service": service, "operation": operation, "params": {}, "response": response}


def gpus_of(
    node: str,
    metric: str,
    value: float | Callable[[datetime], float],
    *,
    start: datetime,
    end: datetime,
    gpus: Sequence[int] = range(8),
    **labels: str,
) -> list[Stored]:
    """Return a series a GPU, labelled as the DCGM exporter does."""
    return [
        Stored(
            metric,
            {
                "Hostname": host_of(node),
                "gpu": str(gpu),
                "UUID": f"GPU-5f1c2a3{NODES.index(node)}-9b8d-4c6e-a1f2-00c0ffee000{gpu}",
                "pci_bus_id": f"00000000:{gpu + 16:02x}:00.0",
                "device": f"nvidia{gpu}",
                **labels,
            },
            every_minute(start, end, value),
        )
        for gpu in gpus
    ]


def case_of(world: AwsDoor, question: str | None = None, *, now: datetime = NOW) -> Case:
    """Return the cluster as a live case over a world."""
    return live_case(
        world,
        Target(cluster="train-a"),
        now=now,
        region=REGION,
        account=ACCOUNT,
        question=question,
    )

"""Service quotas and their use. A quota is a limit on asking, never capacity."""

from datetime import datetime, timedelta

from gpuvet.aws.answers import Row, read_rows, unread, with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.metrics import Wanted, read_series
from gpuvet.model.evidence import Envelope, Status, Window
from gpuvet.model.metrics import MetricName
from gpuvet.model.readiness import Quota
from gpuvet.model.untyped import is_number, is_object, object_at, text_at

# AWS's API reference: "Network interfaces per Region".
INTERFACES = ("vpc", "L-DF5E4CA3")
# From memory: "Storage for General Purpose SSD (gp3) volumes, in TiB".
GP3_STORAGE = ("ebs", "L-7A658B76")
_PERIOD = 300
# Ours: use is published every few minutes; the last hour holds a point or there is none.
_RECENT = timedelta(hours=1)


def read_quota(door: AwsDoor, service: str, code: str) -> Envelope[Quota]:
    """Return a quota by its code; where none is applied in the region, AWS's default."""
    params = {"ServiceCode": service, "QuotaCode": code}
    answer = door.read("service-quotas:GetServiceQuota", params)
    is_default = answer.status is Status.NOT_FOUND
    if is_default:
        answer = door.read("service-quotas:GetAWSDefaultServiceQuota", params)
    for page in answer.value or ():
        row = object_at(page, "Quota")
        value = row.get("Value")
        if is_number(value):
            found = Quota(
                name=text_at(row, "QuotaName") or code,
                value=float(value),
                is_default=is_default,
                usage=_metric(object_at(row, "UsageMetric")),
                usage_stat=text_at(object_at(row, "UsageMetric"), _STATISTIC) or "Maximum",
                evidence=answer.evidence,
            )
            return with_value(answer, found)
    return with_value(answer, None)


_STATISTIC = "MetricStatisticRecommendation"


def _metric(row: Row) -> MetricName | None:
    namespace, name = text_at(row, "MetricNamespace"), text_at(row, "MetricName")
    if namespace is None or name is None:
        return None
    dimensions = row.get("MetricDimensions")
    pairs = dimensions.items() if is_object(dimensions) else ()
    named = tuple(sorted((str(key), str(value)) for key, value in pairs))
    return MetricName(namespace=namespace, metric=name, dimensions=named)


def read_usage(door: AwsDoor, quota: Quota, now: datetime) -> Envelope[float]:
    """Return how much of a quota the region uses now, by its own usage metric.

    No datapoint in the last hour is no use of zero: the value is None.
    """
    if quota.usage is None:
        return unread("cloudwatch", "GetMetricData", f"{quota.name} has no usage metric")
    window = Window(start=now - _RECENT, end=now)
    series = read_series(door, [Wanted(quota.usage, quota.usage_stat)], window, _PERIOD)[0]
    values = [value for value in series.values if value is not None]
    status = series.status
    if status.is_complete:
        status = Status.OK if values else Status.OK_EMPTY
    return Envelope[float](
        service="cloudwatch",
        operation="GetMetricData",
        window=window,
        status=status,
        reason=series.reason,
        value=values[-1] if values else None,
    )


def read_quotas(door: AwsDoor, service: str) -> Envelope[tuple[Quota, ...]]:
    """Return every quota of a service, for those that are known by name only."""
    return read_rows(
        door,
        "service-quotas:ListServiceQuotas",
        {"ServiceCode": service},
        "Quotas",
        lambda row, evidence: (
            Quota(name=name, value=float(value), evidence=evidence)
            if (name := text_at(row, "QuotaName")) and is_number(value := row.get("Value"))
            else None
        ),
    )

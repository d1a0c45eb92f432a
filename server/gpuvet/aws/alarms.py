"""CloudWatch alarms, and EventBridge rules that run by the clock."""

from collections.abc import Iterator

from gpuvet.aws.answers import Row, rows_of, with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope
from gpuvet.model.readiness import Alarm, Schedule
from gpuvet.model.untyped import object_at, objects_at, text_at
from gpuvet.parse.untrusted import clean


def read_alarms(door: AwsDoor) -> Envelope[tuple[Alarm, ...]]:
    """Return every alarm of the account and region, composites marked."""
    answer = door.read("cloudwatch:DescribeAlarms", {})
    if answer.value is None and not answer.status.is_complete:
        return with_value(answer, None)
    plain = (_alarm(row, answer.evidence) for row in rows_of(answer, "MetricAlarms"))
    joined = (
        _alarm(row, answer.evidence, is_composite=True)
        for row in rows_of(answer, "CompositeAlarms")
    )
    return with_value(answer, tuple(one for one in (*plain, *joined) if one is not None))


def _alarm(row: Row, evidence: str, *, is_composite: bool = False) -> Alarm | None:
    name = text_at(row, "AlarmName")
    if name is None:
        return None
    own = objects_at(row, "Dimensions")
    below = [
        one
        for metric in objects_at(row, "Metrics")
        for one in objects_at(object_at(object_at(metric, "MetricStat"), "Metric"), "Dimensions")
    ]
    pairs = ((text_at(d, "Name"), text_at(d, "Value")) for d in (*own, *below))
    return Alarm(
        name=name,
        state=text_at(row, "StateValue"),
        since=as_datetime(row.get("StateTransitionedTimestamp"))
        or as_datetime(row.get("StateUpdatedTimestamp")),
        dimensions=tuple((key, value) for key, value in pairs if key and value),
        is_composite=is_composite,
        rule=text_at(row, "AlarmRule") or "",
        evidence=evidence,
    )


def read_schedules(door: AwsDoor) -> Envelope[tuple[Schedule, ...]]:
    """Return the rules of the default bus that run by the clock, with what they tell whom."""
    answer = door.read("events:ListRules", {})
    if answer.value is None and not answer.status.is_complete:
        return with_value(answer, None)
    return with_value(answer, tuple(_schedules(door, answer)))


def _schedules(door: AwsDoor, answer: Envelope[tuple[Row, ...]]) -> Iterator[Schedule]:
    for row in rows_of(answer, "Rules"):
        name, expression = text_at(row, "Name"), text_at(row, "ScheduleExpression")
        if name is None or expression is None:
            continue
        targets = door.read("events:ListTargetsByRule", {"Rule": name})
        rows = list(rows_of(targets, "Targets"))
        inputs = (text_at(one, "Input") or "" for one in rows)
        yield Schedule(
            name=name,
            expression=expression,
            is_enabled=(text_at(row, "State") or "").startswith("ENABLED"),
            words=clean(" ".join([text_at(row, "Description") or "", *inputs]).strip()),
            targets=len(rows) if targets.status.is_complete else None,
        )

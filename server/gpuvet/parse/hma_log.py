"""Records of the HyperPod health monitoring agent, deep health checks and node health events.

Pure. The instance id comes from the stream's name, never from the message (coverage.md).
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from gpuvet.model.events import AnyRecord, DeepCheck, HmaRecord, Source, TimeQuality, XidEvent
from gpuvet.parse.json_layer import JsonFields, is_fields
from gpuvet.parse.place import Place, timed, written_by
from gpuvet.parse.times import parse_time
from gpuvet.parse.untrusted import clean
from gpuvet.parse.xid_line import find_xid

# The agent's stamps have their year, so that this is never looked at.
_NO_REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)
TRUSTED_DISTANCE = timedelta(minutes=5)  # between the agent's two stamps (coverage.md)

_CONDITION = re.compile(
    r"(?i:node condition|condition:?) (?P<name>Nvidia\w+)(?: is now: (?P<state>True|False))?"
)
_BARE_CONDITION = re.compile(r"\b(NvidiaError\w+)\b")
_REASON = re.compile(r"\breason[\"': ]+(?P<reason>[A-Z]\w+)")
_XID_REASON = re.compile(r"\b(Xid[A-Z]\w+)\b")
_ERR_NUM = re.compile(r"\bErrNum[\"': =]+(?P<code>\d{1,5})\b")
_RECOMMENDATION = re.compile(r"\bRecommendation[\"': ]+(?P<text>[^\"]+)")
_AFTER_CORE = re.compile(r'\\*"|[,.;]? *\b(?:Recommendation|RepairAction|ErrNum)\b')
_REPAIR = re.compile(r"\bRepairAction[\"': ]+(?P<text>\w+)")
_PASSED = re.compile(r"\b(?:pass(?:ed)?|succeeded|success(?:ful(?:ly)?)?)\b", re.IGNORECASE)
_FAILED = re.compile(r"\bfail(?:ed|ure)?\b|FaultyInstance", re.IGNORECASE)
_DEEP_CHECK = re.compile(r"FaultyInstance|deep.?health.?check", re.IGNORECASE)
_AGENT_MARKS = ("HealthMonitoringAgentDetectionEvent", "NPD caught event", "DCGM policy violation")


def is_agent_text(text: str) -> bool:
    """Say whether a text is a detection of the agent, in JSON or not."""
    for mark in _AGENT_MARKS:  # noqa: SIM110 - twice as fast as any() with a generator
        if mark in text:
            return True
    return False


def structured_records(
    fields: JsonFields, place: Place, *, whole: str, shipped_at: datetime | None = None
) -> tuple[AnyRecord, ...]:
    """Return what an agent's JSON record or an EventBridge node health event says.

    Args:
        fields: The decoded record.
        place: Where it stands; its time is the shipper's, or the record's where there is none.
        whole: The record as shipped, which tells agents apart.
        shipped_at: When CloudWatch took it, where that is known.
    """
    detail_type = fields.get("detail-type")
    if isinstance(detail_type, str):
        return tuple(_node_health_event(fields, place)) if "Health Event" in detail_type else ()
    message = fields.get("msg")
    if is_agent_text(whole):
        return tuple(_detection(fields, place, shipped_at))
    if isinstance(message, str) and _is_deep_check(place["stream"], message):
        return tuple(_deep_check(fields, message, place))
    return ()


def text_records(text: str, place: Place) -> tuple[AnyRecord, ...]:
    """Return what a detection says that is not JSON, or is JSON cut short."""
    condition = _CONDITION.search(text) or _BARE_CONDITION.search(text)
    named = condition.groupdict() if condition else {}
    reason = _REASON.search(text) or _XID_REASON.search(text)
    recommendation = _RECOMMENDATION.search(text)
    repair = _REPAIR.search(text)
    return tuple(
        _records(
            text,
            place,
            number=_ERR_NUM.search(text),
            reason=reason[1] if reason else None,
            condition=condition[1] if condition else None,
            condition_true=named.get("state") != "False",
            recommendation=clean(recommendation["text"].strip()) if recommendation else None,
            repair_action=repair["text"] if repair else None,
        )
    )


def _detection(
    fields: JsonFields, place: Place, shipped_at: datetime | None
) -> Iterator[AnyRecord]:
    details = _under(fields, "details") or {}
    message = _word(details, "message") or _word(fields, "msg") or ""
    # The same keys with a colon and a blank inside are published too: `condition: `, `ErrNum: `.
    flat = " ".join(f"{key}: {value}" for key, value in details.items() if key != "message")
    event_at, agent_at = _stamp(details, "timestamp"), _stamp(fields, "ts")
    condition = _CONDITION.search(message)
    yield from _records(
        message,
        _placed(place, event_at, agent_at, shipped_at),
        number=_ERR_NUM.search(flat) or _ERR_NUM.search(message),
        agent_at=agent_at,
        reason=_word(details, "reason"),
        condition=condition["name"] if condition else None,
        condition_true=condition is None or condition["state"] != "False",
        recommendation=_word(details, "recommendation"),
    )


def _records(
    message: str,
    place: Place,
    *,
    number: re.Match[str] | None,
    agent_at: datetime | None = None,
    reason: str | None = None,
    condition: str | None = None,
    condition_true: bool = True,
    recommendation: str | None = None,
    repair_action: str | None = None,
) -> Iterator[AnyRecord]:
    core = find_xid(_inner(message))
    code = core.code if core else int(number["code"]) if number else None
    place = written_by(place, Source.HMA)
    yield HmaRecord(
        **place,
        agent_at=agent_at,
        reason=reason,
        condition=condition,
        condition_true=condition_true,
        code=code,
        recommendation=recommendation,
        repair_action=repair_action,
        message=clean(message),
    )
    if core is not None:
        yield XidEvent(
            **place,
            code=core.code,
            pci=core.pci,
            gpu_instance=core.gpu_instance,
            compute_instance=core.compute_instance,
            pid=core.pid,
            process=None if core.process is None else clean(core.process),
            text=clean(core.text),
            root=core.root,
            cut=core.cut,
        )
    elif code is not None:
        yield XidEvent(**written_by(place, Source.DCGM), code=code)


def _inner(message: str) -> str:
    """Return the driver's line inside a message: up to its closing quote or the advice after it."""
    start = message.find("NVRM: Xid")
    return message if start < 0 else _AFTER_CORE.split(message[start:], maxsplit=1)[0]


def _placed(
    place: Place, event_at: datetime | None, agent_at: datetime | None, shipped_at: datetime | None
) -> Place:
    """Put a detection at its event time, unless the agent's own stamp contradicts that widely."""
    disagree = event_at and agent_at and abs(event_at - agent_at) > TRUSTED_DISTANCE
    if disagree and shipped_at is not None:
        place = timed(place, shipped_at)
        place["time_quality"] = TimeQuality.INGEST_ONLY
        return place
    return timed(place, event_at or agent_at)


def _node_health_event(fields: JsonFields, place: Place) -> Iterator[AnyRecord]:
    detail = _under(fields, "detail") or {}
    summary = _under(detail, "HealthSummary") or {}
    node = _word(detail, "InstanceId")
    reason = _word(summary, "HealthStatusReason") or ""
    at = _stamp(fields, "time")
    place = timed(written_by(place, Source.HMA), at)
    place["node"] = node or place["node"]
    condition, cause = _BARE_CONDITION.search(reason), _XID_REASON.search(reason)
    yield HmaRecord(
        **place,
        agent_at=at,
        reason=cause[1] if cause else None,
        condition=condition[1] if condition else None,
        condition_true=_word(summary, "HealthStatus") not in {"Healthy", "Schedulable"},
        recommendation=_word(summary, "Recommendation"),
        repair_action=_word(summary, "RepairAction"),
        message=clean(reason),
    )


def _is_deep_check(stream: str, message: str) -> bool:
    return "DeepHealthCheck" in stream or _DEEP_CHECK.search(message) is not None


def _deep_check(fields: JsonFields, message: str, place: Place) -> Iterator[AnyRecord]:
    level = _word(fields, "level") or ""
    failed = _FAILED.search(message) or level in {"error", "fatal", "critical"}
    if not failed and not _PASSED.search(message):
        return  # progress, not an outcome
    at = _stamp(fields, "ts")
    yield DeepCheck(
        **timed(written_by(place, Source.HMA), at),
        passed=not failed,
        faulty_instance="FaultyInstance" in message,
        message=clean(message),
    )


def _under(fields: JsonFields, name: str) -> JsonFields | None:
    """Return the object under a key; some publish the key with a colon and a blank inside it."""
    for key, value in fields.items():
        if key.strip(": ") == name:
            return value if is_fields(value) else _decoded(value)
    return None


def _decoded(value: object) -> JsonFields | None:
    try:
        inner = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None
    return inner if is_fields(inner) else None


def _word(fields: JsonFields, name: str) -> str | None:
    value = next((v for key, v in fields.items() if key.strip(": ") == name), None)
    return value if isinstance(value, str) and value else None


def _stamp(fields: JsonFields, name: str) -> datetime | None:
    text = _word(fields, name)
    stamp = parse_time(text, _NO_REFERENCE) if text else None
    return stamp.at if stamp else None

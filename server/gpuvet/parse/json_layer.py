"""One JSON wrapper of a log line: journald, Fluent Bit, Docker, a CloudWatch event, an agent.

Pure. A record that was cut off is opened as far as it goes.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, TypeGuard

from gpuvet.model.events import TimeQuality
from gpuvet.parse.times import Stamp, epoch, parse_time

JsonFields = Mapping[str, object]

DOCKER_PART = 16_384  # bytes after which Docker splits a line; the parts end without a newline
# A JSON stamp has its year, so that this is never looked at.
_NO_REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)
_MESSAGE_KEYS = ("MESSAGE", "log", "message", "@message", "Message", "msg")
_HOST_KEYS = ("_HOSTNAME", "hostname", "host", "Hostname")
_INSTANCE_KEYS = ("ec2_instance_id", "instance_id", "InstanceId", "instanceId")
# journald's own, Fluent Bit's syslog parsers', and the unit that container insights adds.
_PROGRAM_KEYS = ("SYSLOG_IDENTIFIER", "ident", "appname", "_SYSTEMD_UNIT", "systemd_unit")
_STREAM_KEYS = ("logStreamName", "@logStream", "logStream")
_TIME_KEYS = ("@timestamp", "timestamp", "time", "date", "ts")
# In a record that lost its end, the last message to begin is the one that was cut.
_BROKEN = re.compile(r'"(?:MESSAGE|log|message|@message|msg)"\s*:\s*"')
_BROKEN_FIELD = re.compile(
    r'"(?P<key>__REALTIME_TIMESTAMP|_SOURCE_MONOTONIC_TIMESTAMP|__MONOTONIC_TIMESTAMP|_BOOT_ID'
    r'|_TRANSPORT|_HOSTNAME|SYSLOG_IDENTIFIER|ec2_instance_id)"\s*:\s*"(?P<value>[^"]{1,64})"'
)


class JsonLayer(NamedTuple):
    """What one JSON wrapper holds."""

    message: str | None
    fields: JsonFields
    structured: bool = False  # an agent's own record: its fields say more than its message
    at: Stamp | None = None
    by_runtime: bool = False
    uptime_us: int | None = None
    boot: str | None = None
    host: str | None = None
    identifier: str | None = None
    instance: str | None = None
    origin: str = ""  # the name of the stream the record came from
    channel: str = ""
    kernel: bool | None = None
    partial: bool = False
    relayed: bool = False
    cut: bool = False


def open_json(text: str) -> JsonLayer | None:
    """Return the layer a text is, whole or cut off; None where it is no JSON object."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return _broken(text)
    return layer_of(fields) if is_fields(fields) else None


def is_fields(value: object) -> TypeGuard[JsonFields]:
    """Say whether a decoded JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Say whether a decoded JSON value is an array."""
    return isinstance(value, list)


def layer_of(fields: JsonFields) -> JsonLayer:
    """Return what a decoded record tells."""
    message, key = _message(fields)
    if _is_structured(fields):
        return JsonLayer(
            message=message, fields=fields, structured=True, at=_time(fields), relayed=True
        )
    journal = "_TRANSPORT" in fields or "__REALTIME_TIMESTAMP" in fields
    docker = key == "log" and "stream" in fields
    pod = fields.get("kubernetes")
    pod_name = _text(pod, "pod_name") if is_fields(pod) else None
    host = next((h for k in _HOST_KEYS if (h := _text(fields, k))), None)
    return JsonLayer(
        message=message,
        fields=fields,
        at=_time(fields),
        by_runtime=docker,
        uptime_us=_uptime(fields),
        boot=_text(fields, "_BOOT_ID"),
        host=host or (_text(pod, "host") if is_fields(pod) else None),
        identifier=_identifier(fields),
        instance=next((i for k in _INSTANCE_KEYS if (i := _text(fields, k))), None),
        origin=next((s for k in _STREAM_KEYS if (s := _text(fields, k))), ""),
        channel=f"{pod_name or ''}/{_text(fields, 'stream') or ''}" if docker or pod_name else "",
        kernel=_is_kernel(fields),
        partial=docker and message is not None and _is_part(message),
        relayed=key == "msg" and not journal,
    )


def _is_structured(fields: JsonFields) -> bool:
    if "HealthMonitoringAgentDetectionEvent" in fields or "detail-type" in fields:
        return True
    return "msg" in fields and "level" in fields and "ts" in fields


def _message(fields: JsonFields) -> tuple[str | None, str]:
    for key in _MESSAGE_KEYS:
        value = fields.get(key)
        if isinstance(value, str):
            return value.rstrip("\n") if not _is_part(value) else value, key
        if is_list(value) and key == "MESSAGE":
            return text_of_array(value), key
    return None, ""


def text_of_array(values: list[object]) -> str:
    """Return a journal's message that is an array: the bytes of text, or of several texts.

    journalctl writes bytes where a text is not printable UTF-8, and all values of a field that
    a record carries more than once (systemd, JOURNAL_EXPORT_FORMATS, "Journal JSON Format").
    """
    octets = bytes(n for n in values if isinstance(n, int) and 0 <= n < 256)
    texts = [v if isinstance(v, str) else text_of_array(v) for v in values if _is_text(v)]
    return "\n".join([*texts, *([octets.decode("utf-8", errors="replace")] if octets else [])])


def _is_text(value: object) -> TypeGuard[str | list[object]]:
    return isinstance(value, str) or is_list(value)


def _is_part(text: str) -> bool:
    return len(text) >= DOCKER_PART and not text.endswith("\n")


def _is_kernel(fields: JsonFields) -> bool | None:
    transport = _text(fields, "_TRANSPORT") or _text(fields, "transport")
    if transport is not None:
        return transport == "kernel"
    name = _identifier(fields)
    return None if name is None else name == "kernel"


def _identifier(fields: JsonFields) -> str | None:
    return next((name for key in _PROGRAM_KEYS if (name := _text(fields, key))), None)


def _uptime(fields: JsonFields) -> int | None:
    for key in ("_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP"):
        digits = _text(fields, key) or ""
        if digits.isascii() and digits.isdecimal() and len(digits) < 19:
            return int(digits)
    return None


def _time(fields: JsonFields) -> Stamp | None:
    for key in ("__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP"):
        if stamp := _stamp(fields.get(key)):
            return stamp
    stamp = next((s for key in _TIME_KEYS if (s := _stamp(fields.get(key)))), None)
    by_service = "ingestionTime" in fields or "@message" in fields
    if stamp is not None and (by_service or isinstance(fields.get("timestamp"), int)):
        # CloudWatch's own: equal to the arrival where the agent could not read the date.
        return Stamp(stamp.at, TimeQuality.INGEST_ONLY)
    return stamp


def _stamp(value: object) -> Stamp | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return epoch(value)
    return parse_time(value, _NO_REFERENCE) if isinstance(value, str) else None


def _text(fields: object, key: str) -> str | None:
    value = fields.get(key) if is_fields(fields) else None
    return value if isinstance(value, str) and value else None


def _broken(text: str) -> JsonLayer | None:
    start = max((match.end() for match in _BROKEN.finditer(text)), default=None)
    if start is None:
        return None
    fields: dict[str, object] = {m["key"]: m["value"] for m in _BROKEN_FIELD.finditer(text)}
    return layer_of({**fields, "MESSAGE": _unescaped(text[start:])})._replace(cut=True)


def _unescaped(text: str) -> str:
    """Undo JSON escapes in a string that has lost its end."""
    body = re.split(r'(?<!\\)"', text, maxsplit=1)[0]
    for drop in range(min(6, len(body) + 1)):  # the cut may stand inside an escape
        try:
            found = json.loads(f'"{body[: len(body) - drop]}"')
        except ValueError:
            continue
        return found if isinstance(found, str) else body
    return body

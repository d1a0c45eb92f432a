"""Lines of a cluster's own services to records: launches, bootstraps, protected mode, scripts.

Pure. AWS ParallelCluster writes text and, beside it, JSON events; HyperPod writes lifecycle
markers; cloud-init and custom actions say how they ended (coverage.md). A line that fits
nothing gives nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from gpuvet.model.bootstrap import ServiceEvent, ServiceRecord
from gpuvet.model.events import Source
from gpuvet.parse.cluster_events import read_event
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.launch_faults import fault_of, launch_code
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import peel

Told = dict[str, Any]
MOST_NAMES = 2_000

_INSTANCE = r"i-(?:[0-9a-f]{17}|[0-9a-f]{8})"
_INSTANCES = re.compile(rf"(?<![\w-]){_INSTANCE}(?![0-9a-f])")
_NODE_NAME = re.compile(r"(?<![\w.-])([A-Za-z][\w-]*-(?:st|dy)-[\w-]*-\d+)(?![\w-])")
_LISTED = re.compile(r"\[(?P<body>[^\]]{0,60000})\]")
_QUOTED = re.compile(r"'([\w.-]{1,128})'")
_PAIR = re.compile(rf"\('(?P<name>[\w-]+)', EC2Instance\(id='(?P<id>{_INSTANCE})'")


class _Line(NamedTuple):
    """A message with the sentence that decides already found in it."""

    body: str
    found: re.Match[str]


class _Rule(NamedTuple):
    """One kind of line: how it is told, and what it says."""

    pattern: re.Pattern[str]
    event: ServiceEvent
    told: Callable[[_Line], Told]


def read_service_lines(
    lines: Iterable[RawLine],
    *,
    node: str,
    stream: str,
    reference_time: datetime,
    group: str | None = None,
) -> tuple[ServiceRecord, ...]:
    """Return what the lines of one stream say of the cluster's services, in line order.

    Args:
        lines: Lines as shipped, whole stream or candidates.
        node: The node that wrote them, or empty.
        stream: Exact stream or file name.
        reference_time: Latest plausible time; gives stamps without a year theirs.
        group: Log group, where the stream has one.
    """
    found: list[ServiceRecord] = []
    for place, line in enumerate(lines, start=1):
        peeled = peel(line.text, reference=reference_time, shipped_at=line.shipped_at)
        fields = peeled.fields or {}
        told = (
            read_event(line.text, fields)
            if '"event-type"' in line.text
            else _told(line.text, peeled.identifier, peeled.body)
        )
        if told is None:
            continue
        event, values = told
        time: Told = {"at": peeled.at, "time_quality": peeled.quality}
        found.append(
            ServiceRecord(
                node=peeled.instance or node,
                stream=stream,
                group=group,
                line=place if line.line is None else line.line,
                raw=clean(line.text),
                source=Source.SERVICE,
                event=event,
                **(time | values),
            )
        )
    return tuple(found)


def _told(text: str, identifier: str | None, body: str) -> tuple[ServiceEvent, Told] | None:
    # The first word of a message can look like a syslog identifier (post_install.sh: …).
    whole = f"{identifier}: {body}" if identifier else body
    subject = whole if "slurm_plugin" not in text else body
    for rule in _RULES:
        found = rule.pattern.search(subject)
        if found is not None:
            return rule.event, rule.told(_Line(subject, found))
    code = launch_code(subject)
    if code is None:
        return None
    fault = fault_of(code)
    names = _names(subject)
    told: Told = {"code": code, "fault": fault, "names": names, "queues": _queues(names)}
    return ServiceEvent.LAUNCH_FAILED, told


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_NODE_NAME.findall(text)))[:MOST_NAMES]


def _queues(names: Iterable[str]) -> tuple[str, ...]:
    """Return the queues of Slurm node names: what stands before -st- or -dy-."""
    parts = (re.split(r"-(?:st|dy)-", name, maxsplit=1)[0] for name in names)
    return tuple(dict.fromkeys(parts))


def _listed(text: str) -> tuple[str, ...]:
    match = _LISTED.search(text)
    return tuple(_QUOTED.findall(match["body"]))[:MOST_NAMES] if match else ()


def _instances(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_INSTANCES.findall(text)))[:MOST_NAMES]


def _ignored(line: _Line) -> Told:
    return {"instances": (line.found["id"],), "code": line.found["key"]}


def _failed_nodes(line: _Line) -> Told:
    rest = line.body[line.found.end() :]
    names = _listed(rest) or _names(rest)
    count = re.match(r"\s*:?\s*\(x(\d+)\)", rest)
    return {
        "names": names,
        "queues": _queues(names),
        "instances": _instances(rest),
        "count": int(count[1]) if count else len(names) or None,
    }


def _counted(line: _Line) -> Told:
    counts = re.findall(r"'([\w.-]+)': \{([^}]*)\}", line.body)
    numbers = [int(n) for _, body in counts for n in re.findall(r":\s*(\d+)", body)]
    threshold = re.search(r"threshold (\d+)", line.body)
    return {
        "queues": tuple(name for name, _ in counts),
        "count": max(numbers, default=None),
        "threshold": int(threshold[1]) if threshold else None,
    }


def _protected(line: _Line) -> Told:
    return {"queues": _listed(line.body[line.found.start() :])}


def _named(line: _Line) -> Told:
    names = _names(line.body) or tuple(n for n in (line.found.groupdict().get("name"),) if n)
    return {"names": names, "queues": _queues(names), "instances": _instances(line.body)}


def _assigned(line: _Line) -> Told:
    pairs = tuple((m["name"], m["id"]) for m in _PAIR.finditer(line.body))[:MOST_NAMES]
    return {
        "pairs": pairs,
        "names": tuple(name for name, _ in pairs),
        "instances": tuple(one for _, one in pairs),
    }


def _timed_out(line: _Line) -> Told:
    endpoint = line.found["host"].lower()
    return {"endpoint": endpoint, "service": service_of(endpoint)}


def service_of(host: str) -> str | None:
    """Return the AWS service an endpoint's host belongs to, e.g. dynamodb; None for another's."""
    if ".amazonaws.com" not in host and ".api.aws" not in host:
        return None
    labels = host.split(".")
    # s3 puts the bucket first; api.ecr and dkr.ecr put a word first.
    known = ("s3", "ecr", "dynamodb", "ec2", "sts", "logs", "monitoring", "cloudformation", "fsx")
    return next((label for label in labels if label in known), labels[0])


def _ended(line: _Line) -> Told:
    groups = line.found.groupdict()
    return {"action": clean(groups["action"]), "exit_status": int(groups["status"])}


def _module(line: _Line) -> Told:
    return {"action": line.found["action"], "code": clean(line.found["code"])}


def _nothing(line: _Line) -> Told:
    del line
    return {}


def _scripts_failed(line: _Line) -> Told:
    status = re.search(r"(?:exit|return) (?:code|status):? (\d{1,3})", line.body)
    return {"exit_status": int(status[1]) if status else None, "action": "lifecycle scripts"}


_SCRIPT = (
    r"(?P<action>[\w./:-]{0,200}?(?:\.(?:sh|py|bash)|OnNode\w+|(?:post|pre)_?install\w*"
    r"|on_?create\w*|custom.action)[\w./-]{0,60})"
)
_STATUS = (
    r"(?:exit(?:ed)?(?: with)?(?: exit)? ?(?:status|code)|return(?:ed)? (?:code|status)"
    r"|exited with|returned)"
)
_RULES = (
    _Rule(
        re.compile(
            rf"Ignoring instance (?P<id>{_INSTANCE}) because not all EC2 info are available"
            r".{0,80}?(?:message: '?(?P<key>\w+)|$)"
        ),
        ServiceEvent.INSTANCE_IGNORED,
        _ignored,
    ),
    _Rule(
        re.compile(r"Found the following bootstrap failure nodes"),
        ServiceEvent.BOOTSTRAP_FAILED,
        _failed_nodes,
    ),
    _Rule(
        re.compile(r"not resumed by ResumeTimeout|[Rr]esume timeout expires"),
        ServiceEvent.RESUME_TIMEOUT,
        _named,
    ),
    _Rule(re.compile(r"Node bootstrap error"), ServiceEvent.BOOTSTRAP_FAILED, _named),
    _Rule(
        re.compile(r"[Bb]ootstrap failure count:"),
        ServiceEvent.FAILURE_COUNT,
        _counted,
    ),
    _Rule(
        re.compile(
            r"Placing bootstrap failure partitions to INACTIVE|[Ss]etting cluster (?:status )?"
            r"(?:in)?to protected|[Ee]nter(?:ing|ed) protected mode|status to PROTECTED"
            r"|[Cc]luster is in (?:protected mode|PROTECTED)"
        ),
        ServiceEvent.PROTECTED_MODE,
        _protected,
    ),
    _Rule(
        re.compile(
            r"no corresponding instance in EC2 for node (?P<name>[\w-]+)|with no backing instance"
        ),
        ServiceEvent.NO_BACKING_INSTANCE,
        _named,
    ),
    _Rule(re.compile(r"EC2Instance\(id="), ServiceEvent.ASSIGNED, _assigned),
    _Rule(re.compile(r"Terminating (?:orphaned )?instances"), ServiceEvent.TERMINATING, _named),
    _Rule(
        re.compile(
            r"(?:Connect timeout on|Could not connect to the|Read timeout on) endpoint URL: "
            r"\W{0,2}https?:..(?P<host>[\w.-]+)"
        ),
        ServiceEvent.CONNECT_TIMEOUT,
        _timed_out,
    ),
    _Rule(
        re.compile(rf"{_SCRIPT}.{{0,120}}?{_STATUS}:? (?P<status>\d{{1,3}})\b"),
        ServiceEvent.ACTION_EXIT,
        _ended,
    ),
    _Rule(
        re.compile(r"Downloading lifecycle scripts"),
        ServiceEvent.SCRIPTS_STARTED,
        _nothing,
    ),
    _Rule(
        re.compile(r"lifecycle scripts (?:have )?succeeded"),
        ServiceEvent.SCRIPTS_SUCCEEDED,
        _nothing,
    ),
    _Rule(
        re.compile(r"lifecycle scripts? (?:execution )?(?:have |has )?failed", re.IGNORECASE),
        ServiceEvent.SCRIPTS_FAILED,
        _scripts_failed,
    ),
    _Rule(re.compile(r"[Cc]loud-init v\. \S+ finished"), ServiceEvent.BOOT_FINISHED, _nothing),
    _Rule(
        re.compile(
            r"Module (?P<action>lustre|lnet) not found in directory .{0,5}lib.modules.(?P<code>\S+)"
        ),
        ServiceEvent.MODULE_MISSING,
        _module,
    ),
    _Rule(
        re.compile(r"[Nn]odes? (?P<name>[\w,\[\]-]+) not responding"),
        ServiceEvent.NOT_RESPONDING,
        _named,
    ),
)


def bootstrap_names(records: Iterable[ServiceRecord]) -> Iterator[str]:
    """Yield the instance ids that a bootstrap failure or an ignored instance names, once each."""
    telling = {ServiceEvent.INSTANCE_IGNORED, ServiceEvent.BOOTSTRAP_FAILED}
    seen: set[str] = set()
    for record in records:
        for instance in record.instances if record.event in telling else ():
            if instance not in seen:
                seen.add(instance)
                yield instance

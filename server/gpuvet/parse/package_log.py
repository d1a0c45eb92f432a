"""Package managers' logs, rollouts and upgrade commands to records. Pure.

Only packages of the GPU stack, the kernel, and what mounts or carries a job are kept: they can
break a node; an editor's update cannot.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from gpuvet.model.changes import PackageChange, Rollout, ScriptUpgrade
from gpuvet.model.events import Source, TimeQuality
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import Peeled, peel

_RELEVANT = re.compile(
    r"nvidia|cuda|fabric-?manager|dcgm|nvlsm|^kernel|^linux-(?:image|aws|modules|generic|headers)"
    r"|lustre|^efa|libfabric|nccl|ofi|containerd|docker|kubelet|slurm|gdrcopy",
    re.IGNORECASE,
)
_DPKG = re.compile(
    r"(?P<action>upgrade|install) (?P<package>[\w.+-]+)(?::\w+)? (?P<old>\S+) (?P<new>\S+)$"
)
_UNPACKING = re.compile(
    r"Unpacking (?P<package>[\w.+-]+)(?::\w+)? \((?P<new>[^)]+)\)(?: over \((?P<old>[^)]+)\))?"
)
_APT_START = re.compile(r"Start-Date: (?P<at>\d{4}-\d\d-\d\d  ?\d\d:\d\d:\d\d)")
_APT_LIST = re.compile(r"(?:Upgrade|Install): (?P<list>.+)")
_APT_ITEM = re.compile(
    r"(?P<package>[\w.+-]+)(?::\w+)? \((?P<first>[^,)]+)(?:, (?P<second>[^)]+))?\)"
)
_RPM = re.compile(r"(?:Upgraded|Updated|Upgrade|Installed): (?P<name>[\w.+:~-]+)\s*$")
_RPM_NAME = re.compile(r"(?P<package>[\w.+-]+?)-(?:\d+:)?(?P<new>\d[\w.~+]*-[\w.~+]+)$")
_UNATTENDED = re.compile(r"Packages that will be upgraded: (?P<list>.+)")
_ROLLOUT = re.compile(
    r"(?P<workload>daemonset(?:\.apps)?/[\w.-]+)\"? (?:.{0,40}?)"
    r"(?:rollout (?P<step>started|finished|complete\w*|restarted)|image updated|restarted)"
    r"(?: \((?:image )?(?P<old>[^\s)]+) -> (?P<new>[^\s)]+)\))?"
)
_ROLLED_OUT = re.compile(r"daemon ?set \"(?P<name>[\w.-]+)\" successfully rolled out")
_POD_READY = re.compile(r"pod (?P<pod>[a-z][\w.-]*) on (?P<host>[\w.-]+) Ready")
_POD_OF = re.compile(r"(?P<name>[a-z][\w.-]*?)-[a-z0-9]{5}$")
_UPGRADE = re.compile(
    r"(?P<tool>apt-get|apt|yum|dnf|zypper|unattended-upgrade)s?(?: -\S+)*"
    r" (?:dist-upgrade|full-upgrade|upgrade|update(?= -y| *$| --security)|up)\b"
    r"|(?P<whole>unattended-upgrade)\b"
)
# `apt update` only refreshes lists; `yum update` and `dnf update` change packages.
_SEPARATOR = re.compile(r"&&|\|\||;")
_LISTS_ONLY = re.compile(r"\bapt(?:-get)?(?: -\S+)* update\b")


def read_package_lines(
    lines: Iterable[RawLine],
    *,
    node: str,
    stream: str,
    reference_time: datetime,
    group: str | None = None,
) -> tuple[PackageChange, ...]:
    """Return the changes of relevant packages that the lines of one stream tell, in line order."""
    found: list[PackageChange] = []
    started: datetime | None = None
    for place, line in enumerate(lines, start=1):
        start = _APT_START.search(line.text)
        if start is not None:
            started = _apt_time(start["at"], reference_time)
            continue
        peeled = peel(line.text, reference=reference_time, shipped_at=line.shipped_at)
        subject = f"{peeled.identifier}: {peeled.body}" if peeled.identifier else peeled.body
        for package, old, new, tool in _packages(subject):
            if _RELEVANT.search(package) is None:
                continue
            at, quality = _time(peeled, started)
            found.append(
                PackageChange(
                    node=peeled.instance or node,
                    stream=stream,
                    group=group,
                    line=place if line.line is None else line.line,
                    raw=clean(line.text),
                    at=at,
                    time_quality=quality,
                    source=Source.SERVICE,
                    package=package,
                    old=old,
                    new=new,
                    tool=tool,
                )
            )
    return tuple(found)


def _apt_time(text: str, reference: datetime) -> datetime | None:
    return peel(" ".join(text.split()), reference=reference).at


def _time(peeled: Peeled, started: datetime | None) -> tuple[datetime | None, TimeQuality]:
    if peeled.at is not None and peeled.quality is not TimeQuality.INGEST_ONLY:
        return peeled.at, peeled.quality
    if started is not None:
        return started, TimeQuality.ASSUMED
    return peeled.at, peeled.quality


def _packages(text: str) -> Iterator[tuple[str, str | None, str | None, str]]:
    """Yield package, old version, new version and tool of every change a line tells."""
    if match := _DPKG.search(text):
        yield match["package"], _version(match["old"]), _version(match["new"]), "dpkg"
    elif match := _UNPACKING.search(text):
        yield match["package"], match["old"], match["new"], "dpkg"
    elif match := _UNATTENDED.search(text):
        for package in match["list"].split():
            yield package, None, None, "unattended-upgrades"
    elif match := _APT_LIST.match(text):
        for item in _APT_ITEM.finditer(match["list"]):
            old, new = (item["first"], item["second"]) if item["second"] else (None, item["first"])
            yield item["package"], old, new if new != "automatic" else item["first"], "apt"
    elif match := _RPM.search(text):
        name = _RPM_NAME.match(match["name"])
        if name is not None:
            yield name["package"], None, name["new"], "rpm"


def _version(text: str) -> str | None:
    return None if text == "<none>" else text


def read_rollout_lines(
    lines: Iterable[RawLine],
    *,
    node: str,
    stream: str,
    reference_time: datetime,
    group: str | None = None,
) -> tuple[Rollout, ...]:
    """Return the steps of DaemonSet rollouts that the lines tell; only stamped lines count.

    A rollout record is written by a program: it starts with its time. A sentence that mentions a
    rollout is somebody's word and gives nothing.
    """
    found: list[Rollout] = []
    for place, line in enumerate(lines, start=1):
        peeled = peel(line.text, reference=reference_time, shipped_at=line.shipped_at)
        told = _rollout(peeled.body) if peeled.at is not None else None
        if told is None:
            continue
        workload, step, old, new, host = told
        found.append(
            Rollout(
                node=node,
                stream=stream,
                group=group,
                line=place if line.line is None else line.line,
                raw=clean(line.text),
                at=peeled.at,
                time_quality=peeled.quality,
                source=Source.SERVICE,
                workload=workload,
                step=step,
                old=old,
                new=new,
                on=host,
            )
        )
    return tuple(found)


def _rollout(body: str) -> tuple[str, str, str | None, str | None, str | None] | None:
    if match := _ROLLOUT.match(body):
        step = match["step"] or "started"
        kept = "started" if step in {"started", "restarted"} else "finished"
        return match["workload"].replace(".apps", ""), kept, match["old"], match["new"], None
    if match := _ROLLED_OUT.match(body):
        return f"daemonset/{match['name']}", "finished", None, None, None
    if match := _POD_READY.match(body):
        owner = _POD_OF.match(match["pod"])
        name = owner["name"] if owner else match["pod"]
        return f"daemonset/{name}", "pod ready", None, None, match["host"]
    return None


def upgrade_commands(text: str, file: str) -> tuple[ScriptUpgrade, ...]:
    """Return the lines of a script that upgrade packages to whatever is newest."""
    found: list[ScriptUpgrade] = []
    for place, line in enumerate(text.splitlines(), start=1):
        for command in _SEPARATOR.split(line.partition("#")[0]):
            match = _UPGRADE.search(command)
            if match is None or _LISTS_ONLY.search(command):
                continue
            tool = match["tool"] or match["whole"]
            found.append(ScriptUpgrade(file=file, line=place, text=clean(line.strip()), tool=tool))
            break
    return tuple(found)

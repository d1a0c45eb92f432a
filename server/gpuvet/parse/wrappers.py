"""Peel whatever wraps a log line off it: syslog, journald, dmesg, kmsg, CRI, Docker, CloudWatch.

Pure. Wrappers nest (a CloudWatch event with a Fluent Bit record with a syslog line), so peeling
goes on until the message is bare.
"""

import re
from datetime import datetime
from typing import NamedTuple

from gpuvet.model.events import TimeQuality
from gpuvet.parse.json_layer import JsonFields, JsonLayer, open_json
from gpuvet.parse.times import Stamp, leading_stamp

MOST_LAYERS = 8  # CloudWatch, Fluent Bit, CRI, syslog, uptime and thread tag are six

# Syslog identifiers of what only passes the kernel's own buffer on.
KERNEL_TAGS = frozenset({"kernel", "kmsg", "dmesg", "klogd"})

_UPTIME = re.compile(r"\[ *(\d{1,9})\.(\d{6})(?: <[^>]{0,20}>)?\] ?(?:\[ *[TC]\d+\] ?)?")
_LEVEL = re.compile(
    r"(?P<facility>kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) *:"
    r"(?P<level>emerg|alert|crit|err|warn|notice|info|debug) *: *"
)
_KMSG = re.compile(r"(?P<priority>\d{1,4}),\d+,(?P<uptime>\d{1,18}),(?P<flags>[^;]{0,64});")
_PRIORITY = re.compile(r"<(?P<priority>\d{1,3})>(?P<version>1 )?")
_RFC5424 = re.compile(
    r"(?P<host>\S+) (?P<name>\S+) (?P<pid>\S+) \S+ (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) ?\ufeff?"
)
_CRI = re.compile(r"(?P<stream>stdout|stderr) (?P<flag>[FP]) ?")
_HEADER = re.compile(
    r"(?P<host>[^\s:\[\]{}\"]+) (?P<name>[\w./@()-]+)(?:\[(?P<pid>\d+)\])?:(?: |$)"
)
_NO_HOST = re.compile(r"(?P<name>[A-Za-z][\w./@-]*)(?:\[(?P<pid>\d+)\])?:(?: |$)")
# These start a kernel message; without a host before them they are no syslog identifier.
_KERNEL_PREFIX = re.compile(r"NVRM$|nvidia|nvswitch|audit$|EXT4|XFS|pci|mce$|EDAC")
# A kernel's own message whose first words look like a host and a program.
_KERNEL_OWN = re.compile(r"nvme nvme\d+: |EDAC MC\d+: |(?:NMI )?watchdog: BUG: |BUG: soft lockup")
_INSTANCE = re.compile(r"(?<![0-9A-Za-z])i-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9A-Za-z])")


class Peeled(NamedTuple):
    """A message without its wrappers, and what they said about it."""

    body: str
    at: datetime | None = None
    quality: TimeQuality = TimeQuality.NONE
    uptime_us: int | None = None
    boot: str | None = None  # journald _BOOT_ID
    host: str | None = None
    identifier: str | None = None  # syslog identifier
    pid: int | None = None  # of the program that logged
    instance: str | None = None  # EC2 instance id, where the line itself carries one
    channel: str = ""  # tells the parts of one partial line from another's
    kernel: bool | None = None  # True: kernel transport; False: a program; None: not told
    partial: bool = False  # CRI "P": the next line of the channel goes on
    continued: bool = False  # kmsg "c": goes on from the line before
    relayed: bool = False  # a program copied the message into a record of its own
    cut: bool = False  # the record itself ends early
    shipped_at: datetime | None = None  # the shipper's time, beside the line's own
    fields: JsonFields | None = None  # the record, where its other fields matter (agents, events)


def peel(text: str, *, reference: datetime, shipped_at: datetime | None = None) -> Peeled:
    """Return the message of a line and everything its wrappers tell.

    Args:
        text: One line or record as shipped; it may hold newlines of its own.
        reference: Latest plausible time for stamps without a year, give or take a day.
        shipped_at: The shipper's time (a CloudWatch timestamp): stands in, as `INGEST_ONLY`,
            where the line has no time of its own.
    """
    layers = _Layers(reference=shipped_at or reference)
    if shipped_at is not None:
        layers.took(Stamp(shipped_at, TimeQuality.INGEST_ONLY))
    body = text.rstrip("\r\n")
    for _ in range(MOST_LAYERS):
        rest = layers.json(body) if body.lstrip()[:1] == "{" else layers.text(body)
        if rest is None:
            break
        body = rest
        if layers.bare or body.startswith("NVRM:"):
            break
    return layers.peeled(body)


def instance_id(text: str) -> str | None:
    """Return the EC2 instance id a text holds as a whole word, or None."""
    match = _INSTANCE.search(text) if "i-" in text else None
    return match[0] if match else None


class _Layers:
    """What the wrappers peeled so far have told."""

    def __init__(self, reference: datetime) -> None:
        self.reference = reference
        self.at: datetime | None = None
        self.quality = TimeQuality.NONE
        self.uptime_us: int | None = None
        self.boot: str | None = None
        self.host: str | None = None
        self.identifier: str | None = None
        self.pid: int | None = None
        self.instance: str | None = None
        self.channel = ""
        self.kernel: bool | None = None
        self.partial = self.continued = self.relayed = self.cut = False
        self.bare = False  # nothing may be peeled any more: the rest is the program's own text
        self.by_runtime = False  # the time is when a container runtime read the line
        self.shipped_at: datetime | None = None
        self.fields: JsonFields | None = None

    def peeled(self, body: str) -> Peeled:
        quality = self.quality
        copied = self.uptime_us is not None or body.startswith("NVRM:")
        if self.by_runtime and copied and self.kernel is None:
            # A pod that prints the kernel buffer prints old lines too: its time is not theirs.
            quality = TimeQuality.INGEST_ONLY
        return Peeled(
            body=body,
            at=self.at,
            quality=quality,
            uptime_us=self.uptime_us,
            boot=self.boot,
            host=self.host,
            identifier=self.identifier,
            pid=self.pid,
            instance=self.instance or instance_id(self.host or ""),
            channel=self.channel,
            kernel=self.kernel,
            partial=self.partial,
            continued=self.continued,
            relayed=self.relayed,
            cut=self.cut,
            shipped_at=self.shipped_at,
            fields=self.fields,
        )

    def took(self, stamp: Stamp | None, *, by_runtime: bool = False) -> None:
        """Keep a time; an inner one is nearer to the event than an outer one."""
        if stamp is not None:
            if stamp.quality is TimeQuality.INGEST_ONLY:
                self.shipped_at = stamp.at
            self.at, self.quality = stamp
            self.reference = stamp.at
            self.by_runtime = by_runtime

    def json(self, text: str) -> str | None:
        layer = open_json(text)
        if layer is None:
            return None
        self._told(layer)
        self.fields = layer.fields if layer.structured else self.fields
        self.bare = layer.structured
        return layer.message

    def _told(self, layer: JsonLayer) -> None:
        if layer.at is not None:
            self.took(layer.at, by_runtime=layer.by_runtime)
        if layer.uptime_us is not None:
            self.uptime_us = layer.uptime_us
        self.boot = layer.boot or self.boot
        self.host = layer.host or self.host
        self.identifier = layer.identifier or self.identifier
        self.instance = layer.instance or instance_id(layer.origin) or self.instance
        self.channel += layer.channel
        self.partial |= layer.partial
        self.relayed |= layer.relayed
        self.cut |= layer.cut
        self._transport(layer.kernel)

    def _transport(self, kernel: bool | None) -> None:
        """A message that a program logged stays a program's, whatever it looks like inside."""
        if self.kernel is not False:
            self.kernel = kernel if kernel is not None else self.kernel

    def text(self, text: str) -> str | None:
        """Peel one layer of plain text; None where there is none."""
        text = text.lstrip("\ufeff")
        stripped = text.lstrip()
        first = stripped[:1]
        if first == "[" and (match := _UPTIME.match(stripped)):
            return self._uptime(match, stripped)
        if first == "<" and (match := _PRIORITY.match(stripped)):
            self._facility(int(match["priority"]) >> 3)
            rest = stripped[match.end() :]
            return self._rfc5424(rest) if match["version"] else rest
        if first.isdecimal() and (match := _KMSG.match(stripped)):
            return self._kmsg(match, stripped)
        if match := _LEVEL.match(stripped):
            self._transport(match["facility"] == "kern")
            return stripped[match.end() :]
        stamp, end = leading_stamp(stripped, self.reference)
        return None if stamp is None else self._after_stamp(stamp, stripped[end:])

    def _uptime(self, match: re.Match[str], text: str) -> str:
        self.uptime_us = int(match[1]) * 1_000_000 + int(match[2])
        self.bare = True
        return text[match.end() :]

    def _kmsg(self, match: re.Match[str], text: str) -> str:
        self._facility(int(match["priority"]) >> 3)
        self.uptime_us = int(match["uptime"])
        self.continued = "c" in match["flags"].split(",")
        self.bare = True
        return text[match.end() :]

    def _facility(self, facility: int) -> None:
        # 0 is the kernel. A program that writes to /dev/kmsg gets facility 1 (user) or higher.
        self._transport(facility == 0)

    def _rfc5424(self, text: str) -> str | None:
        stamp, end = leading_stamp(text, self.reference)
        self.took(stamp)
        match = _RFC5424.match(text, end)
        if match is None:
            return text[end:]
        self._from(match["host"], match["name"], match["pid"])
        return text[match.end() :]

    def _after_stamp(self, stamp: Stamp, rest: str) -> str:
        if match := _CRI.match(rest):
            self.took(stamp, by_runtime=True)
            self.partial |= match["flag"] == "P"
            self.channel += match["stream"]
            return rest[match.end() :]
        self.took(stamp)
        if _KERNEL_OWN.match(rest):
            return rest
        if match := _HEADER.match(rest):
            self._from(match["host"], match["name"], match["pid"])
            return rest[match.end() :]
        if (match := _NO_HOST.match(rest)) and not _KERNEL_PREFIX.match(match["name"]):
            self._from(None, match["name"], match["pid"])
            return rest[match.end() :]
        if (found := instance_id(rest[:24])) and rest.startswith(found):
            self.host, rest = found, rest[len(found) :].lstrip()
        return rest

    def _from(self, host: str | None, name: str, pid: str | None) -> None:
        self.host = host or self.host
        self.identifier = name
        self.pid = int(pid) if pid and pid.isdecimal() and len(pid) < 10 else None
        self._transport(name in KERNEL_TAGS)
        self.bare = name not in KERNEL_TAGS

"""Lines of log agents and log rotation: why a stream may have stopped. Pure.

CloudWatch agent, Fluent Bit, rsyslog, journald and logrotate, in their own files or inside a
host's syslog.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from gpuvet.model.audit import AgentLine, AgentWord
from gpuvet.model.events import Source, TimeQuality
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.untrusted import clean_around
from gpuvet.parse.wrappers import Peeled, peel

# Ours: a program that reloads in a loop must not fill an answer.
MOST_LINES = 20_000

# First match wins. Messages as the agents print them: fluent-bit plugins/in_tail and
# flb_input_chunk, amazon-cloudwatch-agent logs, rsyslog and systemd-journald.
_WORDS: tuple[tuple[AgentWord, re.Pattern[str]], ...] = (
    (AgentWord.PAUSED, re.compile(r"paused \((?:mem|storage) buf over ?limit", re.IGNORECASE)),
    (AgentWord.RESUMED, re.compile(r"resumed? \((?:mem|storage) buf over ?limit", re.IGNORECASE)),
    (
        AgentWord.REFUSED,
        re.compile(
            r"AccessDenied|not authorized to perform: logs:|UnrecognizedClientException"
            r"|ExpiredToken|NoCredentialProviders|InvalidSignatureException"
        ),
    ),
    (AgentWord.THROTTLED, re.compile(r"ThrottlingException|Rate exceeded|RequestLimitExceeded")),
    (AgentWord.DISK_FULL, re.compile(r"[Nn]o space left on device")),
    (
        AgentWord.DROPPED,
        re.compile(
            r"messages lost due to rate-limiting|Suppressed \d+ messages|Dropping \d+ events"
            r"|failed to flush chunk .* giv(?:e|ing) up|discard(?:ed|ing)? (?:\d+ )?(?:events|logs)"
            r"|no more retries|drop(?:ped|ping) .*(?:chunk|record)s?"
        ),
    ),
    (
        AgentWord.UNREACHABLE,
        re.compile(
            r"(?:no upstream connections available|RequestError: send request failed"
            r"|dial tcp .*(?:timeout|refused)|could not connect to logs[.])"
        ),
    ),
    (
        AgentWord.ROTATED,
        re.compile(
            r"rsyslogd was HUPed|logrotate(?:\.service|\[| ran|: rotat)|Rotate log files"
            r"|inode=\d+ .*rotat|file (?:was|has been) (?:rotated|truncated|deleted|moved)"
            r"|Tailed file (?:was )?(?:truncated|moved|deleted)|Stopping tail as file no longer",
            re.IGNORECASE,
        ),
    ),
    (AgentWord.RELOADED, re.compile(r"SIGHUP|reloading config|[Rr]eload(?:ed|ing) configuration")),
    (
        AgentWord.STARTED,
        re.compile(
            r"Starting AmazonCloudWatchAgent|Started Amazon CloudWatch Agent"
            r"|\[engine\] started|\[fluent bit\] version=|Fluent Bit v\d|\] start \(?rsyslog"
            r"|Started (?:fluent-bit|Fluent Bit|System Logging Service)",
        ),
    ),
    (
        AgentWord.STOPPED,
        re.compile(
            r"Stopp(?:ed|ing) (?:Amazon CloudWatch Agent|fluent-bit|Fluent Bit"
            r"|System Logging Service)|service will (?:stop|shutdown)"
            r"|\[engine\] service has stopped|Agent is (?:stopping|shutting down)"
            r"|rsyslogd.*exiting on signal"
            r"|\[engine\] caught signal"
        ),
    ),
)

# What a log door is asked for, and what a scan of bytes keeps: literal words, one of which stands
# in every line of a host's log that the readers understand.
WORDS = (
    "buf overlimit",
    "SIGHUP",
    "HUPed",
    "ogrotate",
    "Rotate log files",
    "mazonCloudWatchAgent",
    "Amazon CloudWatch Agent",
    "luent-bit",
    "luent Bit",
    "rate-limiting",
    "No space left",
    "AccessDenied",
    "perform: logs:",
    "ThrottlingException",
    "System Logging Service",
)
CANDIDATES = "|".join(WORDS)
NEEDLES = tuple(word.encode("ascii") for word in WORDS)
_ANY = re.compile(CANDIDATES + r"|config|engine|tail|flush|inode|agent|send request|dial tcp|start")


def word_of(text: str) -> AgentWord | None:
    """Return what a line says, or None."""
    found = _match(text)
    return found[0] if found else None


def _match(text: str) -> tuple[AgentWord, int] | None:
    if _ANY.search(text) is None and "Denied" not in text:
        return None
    for word, pattern in _WORDS:
        match = pattern.search(text)
        if match is not None:
            return word, match.start()
    return None


def read_agent_lines(
    lines: Iterable[RawLine],
    *,
    node: str,
    stream: str,
    reference_time: datetime,
    group: str | None = None,
) -> tuple[AgentLine, ...]:
    """Return the lines that say why logs stopped or went on, in the order of the stream.

    Args:
        lines: Lines of one stream or file.
        node: Whose they are; empty where not known.
        stream: Exact stream or file name.
        reference_time: Gives the year to stamps without one.
        group: Log group.
    """
    return tuple(_read(lines, node, stream, reference_time, group))


def _read(
    lines: Iterable[RawLine], node: str, stream: str, reference: datetime, group: str | None
) -> Iterator[AgentLine]:
    kept = 0
    for line in lines:
        text = line.text[:4096]
        found = _match(text)
        if found is None:
            continue
        kept += 1
        if kept > MOST_LINES:
            return
        peeled = peel(text, reference=reference, shipped_at=line.shipped_at)
        at, quality = _when(peeled, line.shipped_at)
        yield AgentLine(
            node=node or peeled.instance or "",
            stream=stream,
            group=group,
            line=line.line or 0,
            raw=clean_around(text, max(0, found[1] - 120)),
            at=at,
            time_quality=quality,
            source=Source.SERVICE,
            word=found[0],
        )


def _when(peeled: Peeled, shipped: datetime | None) -> tuple[datetime | None, TimeQuality]:
    if peeled.at is not None:
        return peeled.at, peeled.quality
    return shipped, TimeQuality.INGEST_ONLY if shipped else TimeQuality.NONE

"""Parsing candidate lines of several wrappers into records."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from benchmarks.measure import interleaved, report, say
from gpuvet.parse.kernel_log import parse_lines

REFERENCE = datetime(2026, 5, 1, tzinfo=UTC)
_CORE = (
    "NVRM: Xid (PCI:0000:53:00): 31, pid=9000, name=python3, Ch 00000007, intr 00000000. MMU "
    "Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ 0x7f1c_90743000."
)
_WRAPPERS = {
    "syslog, RFC 3164": "Feb 23 {h:02}:{m:02}:18 ip-10-1-2-3 kernel: " + _CORE,
    "syslog, ISO": "2026-02-23T{h:02}:{m:02}:18.104201+00:00 ip-10-1-2-3 kernel: " + _CORE,
    "Fluent Bit": '{{"log":"Feb 23 {h:02}:{m:02}:18 ip-10-1-2-3 kernel: ' + _CORE + '"}}',
    "other programs": "Feb 23 {h:02}:{m:02}:18 ip-10-1-2-3 sshd[7]: session opened for root",
}


def run(*, count: int, runs: int) -> None:
    """Print the medians per wrapper, against lines that need no parsing."""
    say(f"lines: {count:,} lines per wrapper, {runs} runs each")
    subjects: dict[str, Callable[[], object]] = {}
    for name, shape in _WRAPPERS.items():
        lines = [shape.format(h=number % 24, m=number % 60) for number in range(count)]
        subjects[name] = partial(
            parse_lines, lines, node="node", stream="messages", reference_time=REFERENCE
        )
    report(interleaved(subjects, runs), "other programs")

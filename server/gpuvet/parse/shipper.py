"""What a log stream carries, from its name and then from a few of its lines (coverage.md).

Pure.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice

from gpuvet.model.coverage import Shipper
from gpuvet.parse.wrappers import Peeled, peel

MOST_SAMPLES = 50
LEAST_TO_NARROW = 10  # fewer lines that are all the kernel's say nothing against other programs

_REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)  # samples are sorted by who wrote them, not by time
_SERVICES = (
    *("cloud-init", "cfn-init", "chef-client", "supervisord", "clustermgtd", "computemgtd"),
    *("slurm", "clusterstatusmgtd", "compute_console_output", "bootstrap_error_msg", "dcv-"),
    *("sssd", "pam_ssh_key_generator", "LifecycleConfig/", "DeepHealthCheckResults/"),
    *("ClusterMetrics/", "host.secure", "kube-apiserver", "kube-controller", "authenticator"),
)
_HOST = re.compile(r"(?:^|[./_-])(?:system-messages|messages|syslog|host\.messages)(?:$|[./_-])")
_KERNEL = re.compile(r"(?:^|[./_-])(?:dmesg|kern(?:el)?(?:\.log)?|kmsg)(?:$|[./_-])")
_JOURNAL = re.compile(r"(?:^|[./_-])(?:journal|journald|systemd-journal)(?:$|[./_-])")
_SYSTEM_LOGS = (
    (_HOST, Shipper.HOST_SYSLOG),
    (_JOURNAL, Shipper.JOURNAL_ALL),
    (_KERNEL, Shipper.KERNEL_ONLY),
)
_APP = re.compile(r"-application\.|var\.log\.containers|/rank\d+$|(?:^|/)(?:stdout|stderr)$")
_DATAPLANE = re.compile(r"-dataplane\.")
_AGENT = "SagemakerHealthMonitoringAgent/"
# Names that `shipper_of_name` gives to services and applications, as one pattern for a query.
NO_SYSTEM_LOG = "|".join(
    (*(re.sub(r"([.])", r"[.]", name) for name in _SERVICES), _APP.pattern, _DATAPLANE.pattern)
)


def shipper_of_name(stream: str, group: str | None = None) -> Shipper:
    """Return what a stream's name promises; UNKNOWN where it promises nothing.

    Args:
        stream: The exact stream or file name.
        group: Its log group: `…/kernel` is the weaker hint, used where the stream has none.
    """
    if _AGENT in stream:
        return Shipper.HMA
    if any(service in stream for service in _SERVICES) or _DATAPLANE.search(stream):
        return Shipper.SERVICE
    if _APP.search(stream):
        return Shipper.APP
    for name in (stream, group or ""):
        for pattern, shipper in _SYSTEM_LOGS:
            if pattern.search(name):
                return shipper
    return Shipper.UNKNOWN


def shipper_of(stream: str, samples: Iterable[str], group: str | None = None) -> Shipper:
    """Return what a stream carries: its name's promise, confirmed or corrected by sampled lines.

    Two or more programs with the kernel among them make a full log; the kernel alone makes
    `KERNEL_ONLY`. Agents, services and applications keep the class of their name.

    Args:
        stream: The exact stream or file name.
        samples: Lines of it; at most 50 are looked at.
        group: Its log group.
    """
    promised = shipper_of_name(stream, group)
    if promised in {Shipper.HMA, Shipper.SERVICE, Shipper.APP}:
        return promised
    lines = [line for line in islice(samples, MOST_SAMPLES) if line.strip()]
    peeled = [peel(line, reference=_REFERENCE) for line in lines]
    if any("HealthMonitoringAgentDetectionEvent" in line for line in lines):
        return Shipper.HMA
    writers = {_writer(one) for one in peeled} - {None}
    is_journal = sum(line.lstrip().startswith("{") and "_TRANSPORT" in line for line in lines)
    if "kernel" in writers and len(writers) > 1:
        return Shipper.JOURNAL_ALL if is_journal * 2 > len(lines) else Shipper.HOST_SYSLOG
    if writers == {"kernel"}:
        narrow = promised in {Shipper.UNKNOWN, Shipper.KERNEL_ONLY}
        return Shipper.KERNEL_ONLY if narrow or len(lines) >= LEAST_TO_NARROW else promised
    return promised


def _writer(peeled: Peeled) -> str | None:
    if peeled.kernel or peeled.body.startswith("NVRM:") or peeled.uptime_us is not None:
        return "kernel"
    return peeled.identifier

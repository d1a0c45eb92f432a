"""Who wrote a line: the kernel, a known health agent, or some other program. Pure.

Whatever a program quotes is its own text: a grep of the log for an Xid is no Xid. Only lines of
the kernel and of the agents that read its log or the GPUs themselves may become hardware events.
"""

import re

from gpuvet.model.events import Source
from gpuvet.parse.wrappers import Peeled

# Fabric Manager, DCGM, the HyperPod agent, node-problem-detector, the EKS agents
# .
_AGENT_TAGS = re.compile(
    r"(?:nvidia-|nv-|nv)?fabric-?manager|nv-hostengine|(?:nvidia-)?dcgm[\w-]*"
    r"|node-problem-detector|npd|[\w-]*health-?monitoring-?agent\w*"
    r"|(?:eks-)?node-monitoring-agent|nvidia-device-plugin[\w-]*",
    re.IGNORECASE,
)


def is_agent(identifier: str | None) -> bool:
    """Say whether a syslog identifier is that of a known health agent."""
    name = (identifier or "").rpartition("/")[2].removesuffix(".service")
    return _AGENT_TAGS.fullmatch(name) is not None


def is_other_program(peeled: Peeled) -> bool:
    """Say whether a line is known to come from a program that is no health agent."""
    return peeled.kernel is False and not is_agent(peeled.identifier)


def writer_of(peeled: Peeled, lead: str) -> Source:
    """Return who wrote a driver-shaped text, from its transport and what stands before it.

    Args:
        peeled: The line without its wrappers.
        lead: What stands before the driver's own words.
    """
    if peeled.kernel is True:
        return Source.KERNEL
    if is_other_program(peeled):
        return Source.USER_SPACE
    if lead.strip() or peeled.relayed:
        return Source.AGENT
    return Source.AGENT if peeled.kernel is False else Source.KERNEL

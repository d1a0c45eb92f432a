"""Rank, local rank, world size, pod and node in the many shapes that logs write them. Pure."""

import re
from typing import NamedTuple

from gpuvet.parse.wrappers import instance_id

_MOST = 10_000_000  # beyond this a number is no rank

# The most telling shape first: a process group's own prefix, then a bracket, then any word.
_RANKS = (
    re.compile(r"\[PG [^\]]{0,120}?\bRank (\d{1,7})\]"),
    re.compile(r"\[Rank (\d{1,7})\]"),
    re.compile(r"\[rank ?(\d{1,7})\]"),
    re.compile(r"^\s*\[\d+,(\d{1,7})\]<std(?:out|err)>"),
    re.compile(r"(?<![A-Za-z_])(?:global[_ ])?rank\s*[=:]?\s*(\d{1,7})\b", re.IGNORECASE),
)
_LOCAL = (
    re.compile(r"\blocal[_ ]?rank\s*[=:]?\s*(\d{1,4})\b", re.IGNORECASE),
    re.compile(r"\[default(\d{1,4})\]"),
)
_NOT_GLOBAL = re.compile(r"(?:local|node|group|role)[_ ]?rank\s*[=:]?\s*\d+", re.IGNORECASE)
_WORLD = (
    re.compile(r"\bworld[_ ]?size\s*[=:]?\s*(\d{1,7})\b", re.IGNORECASE),
    re.compile(r"\bnranks[ =:]+(\d{1,7})\b"),
)
_FILE_RANK = re.compile(r"(?<![A-Za-z])rank[_-]?(\d{1,7})(?!\d)", re.IGNORECASE)
_TORCHRUN = re.compile(r"attempt_\d+/(\d{1,4})/std(?:out|err)")
_CONTAINER_LOG = re.compile(r"containers[./](?P<pod>[\w.-]+?)_[\w-]+_[\w.-]+-[0-9a-f]+")
_HOST = re.compile(r"(?<![\w.-])(?:hyperpod-i-[0-9a-f]{8,17}|ip(?:-\d{1,3}){4})(?![\w-])")


class Tokens(NamedTuple):
    """Who a line is about; None where it does not say."""

    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    node: str | None = None
    host: str | None = None


class FileTokens(NamedTuple):
    """Who a stream or a file belongs to, by its name."""

    rank: int | None = None
    local_rank: int | None = None
    pod: str | None = None
    node: str | None = None


def rank_tokens(text: str) -> Tokens:
    """Return what a line says of ranks and nodes; a local or node rank is never the rank."""
    plain = _NOT_GLOBAL.sub("", text)
    host = _HOST.search(text)
    return Tokens(
        rank=_first(_RANKS, plain),
        local_rank=_first(_LOCAL, text),
        world_size=_first(_WORLD, text),
        node=instance_id(text),
        host=host[0] if host else None,
    )


def file_tokens(name: str) -> FileTokens:
    """Return what the name of a stream or a file says of ranks, pods and nodes."""
    pod = _CONTAINER_LOG.search(name)
    return FileTokens(
        rank=_first((_FILE_RANK,), name),
        local_rank=_first((_TORCHRUN,), name),
        pod=pod["pod"] if pod else None,
        node=instance_id(name),
    )


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(text)
        if found is not None and int(found[1]) < _MOST:
            return int(found[1])
    return None

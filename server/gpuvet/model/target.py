"""Which nodes a question is about: a cluster, instances or a tag."""

import re

from gpuvet.errors import UsageError
from gpuvet.model.base import Value

# EC2 takes at most this many values in one filter.
MOST_INSTANCES = 200
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
_MOST_CHARACTERS = 2_048  # an ARN of IAM's longest


class Target(Value):
    """What the caller named; at most one of the three."""

    cluster: str | None = None  # name or ARN
    instances: tuple[str, ...] = ()
    tag: tuple[str, str] | None = None

    @property
    def is_empty(self) -> bool:
        """True when nothing is named."""
        return self == Target()


def read_target(cluster: str | None, instances: str | None, tag: str | None) -> Target:
    """Return which nodes three arguments name; the empty target where none is given.

    Args:
        cluster: A name or an ARN.
        instances: Instance ids with commas between them.
        tag: `KEY=VALUE`.

    Raises:
        UsageError: More than one is given, or one cannot be what it is given as.
    """
    if sum(value is not None for value in (cluster, instances, tag)) > 1:
        raise UsageError("give one of cluster, instances and tag: each says which nodes")
    if instances is not None:
        return Target(instances=_instances(instances))
    if tag is not None:
        key, equals, value = tag.partition("=")
        if not (key and equals and value):
            raise UsageError(f"{tag[:80]!r} is no tag; write KEY=VALUE")
        return Target(tag=(key, value))
    if cluster is not None and not (0 < len(cluster) <= _MOST_CHARACTERS and cluster.isprintable()):
        raise UsageError(f"{cluster[:80]!r} is no cluster; write its name or its ARN")
    return Target(cluster=cluster)


def _instances(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    odd = [name for name in names if _INSTANCE.fullmatch(name) is None]
    if odd or not names:
        wrong = odd[0][:40] if odd else text[:40]
        raise UsageError(f"{wrong!r} is no instance id; write i-0123456789abcdef0")
    if len(names) > MOST_INSTANCES:
        raise UsageError(f"{len(names)} instances; name at most {MOST_INSTANCES}, or use a tag")
    return names

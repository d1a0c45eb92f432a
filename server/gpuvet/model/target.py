"""Which nodes a question is about: a cluster, instances or a tag."""

from gpuvet.model.base import Value


class Target(Value):
    """What the caller named; at most one of the three."""

    cluster: str | None = None  # name or ARN
    instances: tuple[str, ...] = ()
    tag: tuple[str, str] | None = None

    @property
    def is_empty(self) -> bool:
        """True when nothing is named."""
        return self == Target()

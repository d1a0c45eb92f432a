"""The EC2 quotas that running accelerated instances count against, in vCPUs."""

import re
from dataclasses import dataclass
from functools import cache

from gpuvet.catalog.table import Row, read_table

_LETTERS = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class VcpuQuota:
    """One quota and the instance families it covers."""

    families: tuple[str, ...]  # letters before the generation: p, g, trn, …
    service: str
    code: str
    name: str
    source: str


def _read(row: Row) -> VcpuQuota:
    return VcpuQuota(
        families=row.words("families"),
        service=row.text("service"),
        code=row.text("code"),
        name=row.text("name"),
        source=row.text("source"),
    )


@cache
def vcpu_quotas() -> tuple[VcpuQuota, ...]:
    """Return every quota of the table."""
    return tuple(map(_read, read_table("vcpu_quotas.csv")))


def vcpu_quota_of(kind: str) -> VcpuQuota | None:
    """Return the quota that an instance type counts against, or None where it is not listed."""
    match = _LETTERS.match(kind.removeprefix("ml."))
    letters = match[0] if match else ""
    return next((row for row in vcpu_quotas() if letters in row.families), None)

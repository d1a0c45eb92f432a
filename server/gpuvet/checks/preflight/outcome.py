"""What a preflight check says, part by part, and how parts become one status.

A check yields one part for each thing it looks at: a node, a group, a direction of traffic. The
worst part is its status, so evidence that is missing shows unless a worse thing is in hand.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from gpuvet.checks.preflight.reading import Reading
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

Number = str | int | float
_NONE: Mapping[str, Number] = MappingProxyType({})
# preflight_checks, rules common to all, 5.
WORST_FIRST = (
    CheckStatus.FAIL,
    CheckStatus.RISK,
    CheckStatus.UNVERIFIED,
    CheckStatus.NEEDS_INPUT,
    CheckStatus.NOT_CHECKED,
    CheckStatus.PASS,
    CheckStatus.NOT_APPLICABLE,
)
_OPEN = frozenset({CheckStatus.UNVERIFIED, CheckStatus.NOT_CHECKED})


@dataclass(frozen=True, slots=True)
class Part:
    """One thing a check looked at.

    Attributes:
        status: What it came to.
        subject: A resource id, or a word for the thing.
        why: One sentence with values and ids.
        numbers: The arithmetic, times in full UTC.
        action: What an operator would do, as text.
        closes_with: The call or the question that settles an open part.
        evidence: Ids of the readings.
        notes: Further sentences a reader wants.
        unread: A source that could have been read was not; else the answer does not exist.
    """

    status: CheckStatus
    subject: str
    why: str
    numbers: Mapping[str, Number] = field(default_factory=lambda: _NONE)
    action: str | None = None
    closes_with: str | None = None
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unread: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check's parts, worst first."""

    parts: tuple[Part, ...]

    @property
    def status(self) -> CheckStatus:
        """The status of the worst part."""
        return self.parts[0].status

    @property
    def is_complete(self) -> bool:
        """False while a required part is open, whatever else was found."""
        return not any(part.status in _OPEN for part in self.parts)

    @property
    def unread(self) -> bool:
        """True where a part is open because a source was not read."""
        return any(part.unread and part.status in _OPEN for part in self.parts)


@dataclass(frozen=True, slots=True)
class PreflightCheck:
    """One question about a run.

    Attributes:
        id: P1 to P30; never used again for something else.
        name: States what must hold.
        reads: The sources it needs, for the reference page.
        decides: Its statuses in a sentence, for the reference page.
        source: Who says so.
        run: Yields the parts.
    """

    id: str
    name: str
    reads: str
    decides: str
    source: str
    run: Callable[[View], Iterator[Part]]

    @property
    def number(self) -> int:
        """The number in its id."""
        return int(self.id[1:])

    @property
    def is_core(self) -> bool:
        """True for the checks without which no run is called ready."""
        return self.number <= 6


def evaluate(check: PreflightCheck, view: View) -> Outcome:
    """Return what a check says of a run; one that yields nothing has seen nothing."""
    return combine(check.run(view))


def combine(parts: Iterable[Part]) -> Outcome:
    """Return parts as one outcome, worst first, otherwise in their order."""
    found = list(parts) or [
        Part(
            CheckStatus.UNVERIFIED,
            "the cluster",
            "nothing that this check reads was found",
            closes_with="name the cluster, or list its accelerated nodes",
        )
    ]
    return Outcome(tuple(sorted(found, key=lambda part: WORST_FIRST.index(part.status))))


def unread(reading: Reading[Any], subject: str, why: str | None = None) -> Part:
    """Return the open part that an incomplete reading leaves."""
    said = f": {why}" if why else ""
    return Part(
        CheckStatus.UNVERIFIED,
        subject,
        f"{reading.what} not read ({reading.reason}){said}",
        closes_with=reading.closes_with or reading.what,
        evidence=reading.refs,
        unread=reading.was_refused,
    )


def unknown_platform() -> Part:
    """Return the open part where what runs the nodes is not known."""
    return Part(
        CheckStatus.UNVERIFIED,
        "the cluster",
        "what runs the nodes is not known",
        closes_with="name the cluster",
    )


def no_node() -> Part:
    """Return the open part where no accelerated node is listed."""
    return Part(
        CheckStatus.UNVERIFIED,
        "the nodes",
        "no accelerated node is listed",
        closes_with="list the nodes once they run",
    )


def stamp(at: datetime) -> str:
    """Return a time as `2026-08-22T11:00:00Z`."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"

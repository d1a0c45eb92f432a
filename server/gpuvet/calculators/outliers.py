"""Which of several peers stands out: median and MAD of the same job. A heuristic, said so. Pure."""

from collections.abc import Mapping
from statistics import median
from typing import NamedTuple

# Iglewicz and Hoaglin's modified z-score and its usual bar; 0.6745 is the normal's third quartile.
BAR = 3.5
_SCALE = 0.6745
# Ours: below this many peers a median says nothing of what is usual.
LEAST_PEERS = 4
LABEL = "heuristic: modified z-score over median and MAD"


class Standing(NamedTuple):
    """How one peer's count compares with all of the job.

    Attributes:
        peer: Its name.
        value: Its count.
        median: Of all peers.
        mad: Median absolute deviation of all peers.
        score: Modified z-score; None where all others are equal, so that no scale exists.
        stands_out: Whether it lies beyond the bar.
        peers: How many were compared.
    """

    peer: str
    value: float
    median: float
    mad: float
    score: float | None
    stands_out: bool
    peers: int

    @property
    def sentence(self) -> str:
        """The comparison as one phrase, with the bar and that it is a heuristic."""
        score = "no scale" if self.score is None else f"score {self.score:.1f}"
        word = "stands out" if self.stands_out else "is usual"
        return (
            f"{self.value:,.0f} on {self.peer} {word} among {self.peers} peers: median "
            f"{self.median:,.0f}, MAD {self.mad:,.0f}, {score}, bar {BAR} ({LABEL})"
        )


def standings(values: Mapping[str, float]) -> tuple[Standing, ...]:
    """Return every peer's standing, by name; nothing below four peers.

    Where more than half of the peers agree exactly there is no MAD; a peer then stands out when
    it is at least twice the median, and at least 10 above it (ours).
    """
    if len(values) < LEAST_PEERS:
        return ()
    middle = median(values.values())
    mad = median(abs(value - middle) for value in values.values())
    return tuple(_standing(peer, values[peer], middle, mad, len(values)) for peer in sorted(values))


def outliers(values: Mapping[str, float]) -> tuple[Standing, ...]:
    """Return the peers that stand out above the others, by name."""
    return tuple(one for one in standings(values) if one.stands_out)


def _standing(peer: str, value: float, middle: float, mad: float, peers: int) -> Standing:
    if mad > 0:
        score = _SCALE * (value - middle) / mad
        return Standing(peer, value, middle, mad, score, score > BAR, peers)
    is_far = value >= 2 * middle and value - middle >= 10
    return Standing(peer, value, middle, mad, None, is_far, peers)

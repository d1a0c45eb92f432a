"""Judging a fleet, as a multiple of making the events that are judged.

Most events are separate occurrences on separate GPUs, which is the hard mix: floods fold and cost
less.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from benchmarks.measure import interleaved, report, say
from gpuvet.calculators.verdict import judge_cluster
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence, NodeRecords, Orchestrator
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.events import TimeQuality, XidEvent
from gpuvet.model.evidence import Window

NODES, EVENTS_PER_NODE = 4096, 50
START = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
CODES = (31, 43, 45, 79, 48, 63, 94, 13, 154, 119, 74, 149)
TEXTS = {
    48: "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer "
    "at physAddr 0x1 partition 1, subpartition 2.",
    74: "NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
    94: "Contained: SM (0x1). RST: No, D-RST: No",
    149: "NETIR_LINK_DOWN Fatal XC0 i0 Link 08 (0x00440411 0x00000000 0x00000000 0x00000000 "
    "0x00000000 0x00000000)",
    154: "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
}


def make_events(seconds: list[int]) -> list[tuple[XidEvent, ...]]:
    """Return the events of every node."""
    return [
        tuple(
            XidEvent(
                node=f"i-{node:017x}",
                stream="s",
                line=place + 1,
                raw="x",
                group="g",
                at=START + timedelta(seconds=seconds[node * EVENTS_PER_NODE + place]),
                time_quality=TimeQuality.EXACT,
                code=(code := CODES[(node + place) % len(CODES)]),
                pci=f"0000:{16 * (place % 8):02x}:00",
                pid=1000 + place,
                process="python3",
                text=TEXTS.get(code, "Ch 00000001"),
            )
            for place in range(EVENTS_PER_NODE)
        )
        for node in range(NODES)
    ]


def as_cluster(events: list[tuple[XidEvent, ...]]) -> ClusterEvidence:
    """Return a measured cluster that saw these events in one day."""
    return ClusterEvidence(
        orchestrator=Orchestrator.EC2,
        now=START + DAY,
        window=Window(start=START, end=START + DAY),
        nodes=tuple(
            NodeEvidence(
                node=own[0].node,
                instance_type="p5.48xlarge",
                records=NodeRecords(xids=own),
                coverage=NodeCoverage(
                    node=own[0].node, status=CoverageStatus.MEASURED, gate=Gate.MEASURED
                ),
            )
            for own in events
        ),
    )


def run(*, runs: int) -> None:
    """Print the medians of making the events and of judging them, and their ratio."""
    chance = random.Random(1)  # noqa: S311 - a fixed mix, no secret
    seconds = [chance.randrange(86_400) for _ in range(NODES * EVENTS_PER_NODE)]
    cluster = as_cluster(make_events(seconds))
    say(f"verdicts: {NODES * EVENTS_PER_NODE:,} events on {NODES:,} nodes, {runs} runs each")
    subjects: dict[str, Callable[[], object]] = {
        "making the events": partial(make_events, seconds),
        "judging them": partial(judge_cluster, cluster),
    }
    report(interleaved(subjects, runs), "making the events")

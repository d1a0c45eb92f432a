"""A made-up fleet of any size as a case in memory: streams counted by hour, some faults."""

import random
from datetime import UTC, datetime, timedelta

from gpuvet.aws.door import LogLine
from gpuvet.aws.recorded import RecordedAws
from gpuvet.case.case import Case
from gpuvet.case.held_logs import HeldLogs, HeldStream
from gpuvet.model.case import CaseForm, CaseMeta
from gpuvet.model.coverage import HourCount, Shipper, StreamCounts
from gpuvet.model.evidence import Window

START = datetime(2026, 3, 9, tzinfo=UTC)
GROUP = "/fleet/train-a/kernel"


def node_id(number: int) -> str:
    """Return the id of a node by its number."""
    return f"i-0{number:016x}"


def dark_hours(number: int, hours: int) -> frozenset[int]:
    """Return the hours in which a node's stream was silent: of every seventh node, by its kind."""
    pick = random.Random(number)  # noqa: S311 (the same fleet every time)
    first = pick.randrange(hours)
    match number % 7:
        case 0:
            return frozenset(range(first, min(hours, first + pick.randrange(2, 30))))
        case 3:
            return frozenset(pick.randrange(hours) for _ in range(3))
        case _:
            return frozenset()


def bins(number: int, hours: int) -> dict[datetime, int]:
    """Return a node's lines by hour; silent hours are left out."""
    dark = dark_hours(number, hours)
    return {
        START + timedelta(hours=h): 30 + (h * 7 + number) % 40
        for h in range(hours)
        if h not in dark
    }


def fleet(nodes: int, hours: int) -> Case:
    """Return a case of some nodes over some hours, with a fault on every fiftieth."""
    return Case(
        meta=CaseMeta(
            id="fleet",
            form=CaseForm.SCENARIO,
            question="Were there GPU errors last week?",
            now=START + timedelta(hours=hours),
            now_source="made up",
            cluster="train-a",
            window=Window(start=START, end=START + timedelta(hours=hours)),
            window_source="made up",
            window_padded=True,
        ),
        files=(),
        aws=RecordedAws(),
        logs=HeldLogs([_stream(number, hours) for number in range(nodes)]),
        named=tuple((node_id(number), "nodes.json") for number in range(nodes)),
    )


def _stream(number: int, hours: int) -> HeldStream:
    node, name = node_id(number), f"messages/{node_id(number)}"
    counts = StreamCounts(
        node=node,
        group=GROUP,
        stream=name,
        shipper=Shipper.HOST_SYSLOG,
        bins=tuple(HourCount(hour=at, lines=n) for at, n in bins(number, hours).items()),
        kernel_lines_ever=900,
    )
    lines = tuple(_faults(number, hours, name)) if number % 50 == 1 else ()
    return HeldStream(node=node, group=GROUP, stream=name, lines=lines, counts=counts)


def _faults(number: int, hours: int, stream: str) -> list[LogLine]:
    at = START + timedelta(hours=number % hours, minutes=7)
    texts = (
        (0, "NVRM: Xid (PCI:0000:53:00): 79, pid=77, name=python3, GPU has fallen off the bus."),
        (1, "NVRM: Xid (PCI:0000:64:00): 45, pid=78, name=python3, Ch 00000002"),
        (900, "Linux version 6.1.0 (gcc)"),
    )
    return [
        LogLine(
            node=node_id(number),
            group=GROUP,
            stream=stream,
            line=place,
            text=f"{at + timedelta(seconds=late):%Y-%m-%dT%H:%M:%S}.000000+00:00 ip-10-0-0-9 "
            f"kernel: {text}",
        )
        for place, (late, text) in enumerate(texts, start=1)
    ]

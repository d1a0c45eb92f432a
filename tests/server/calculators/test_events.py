"""Copies and bursts folded, order kept, lost events inferred (verdict-rules §3)."""

from datetime import timedelta
from typing import Any

import pytest
from node_world import GPU, GPU2, at, days, judged, node_of, reboot, xid

from gpuvet.calculators.events import NodeEvents, prepare_events
from gpuvet.model.events import AnyRecord, GpuIdentity, Source, TimeQuality, XidEvent

HMA: dict[str, Any] = {"source": Source.HMA, "stream": "agent"}
DCGM: dict[str, Any] = {"source": Source.DCGM, "stream": "dcgm", "pci": None}
SYSLOG: dict[str, Any] = {"stream": "syslog"}
UP = 400_000_000_000  # microseconds of uptime


def up(seconds: float) -> dict[str, Any]:
    return {"uptime_us": UP + int(seconds * 1_000_000)}


def prepared(*records: AnyRecord) -> NodeEvents:
    return prepare_events(node_of(*records))


def codes(*records: AnyRecord) -> list[int]:
    return [o.code for o in prepared(*records).occurrences]


@pytest.mark.parametrize(
    ("records", "number"),
    [
        pytest.param([xid(79, "x"), xid(79, "x", 2, **SYSLOG)], 1, id="two streams, 2 s apart"),
        pytest.param([xid(79, "x"), xid(79, "x", 119, **HMA)], 1, id="the agent, 119 s apart"),
        pytest.param([xid(79, "x"), xid(79, "", 100, **DCGM)], 1, id="DCGM names no GPU"),
        pytest.param([xid(79, "x"), xid(79, "", 121, **DCGM)], 2, id="DCGM over 120 s apart"),
        pytest.param([xid(31, "x"), xid(31, "y", 180)], 1, id="one burst"),
        pytest.param([xid(31, "x"), xid(31, "y", 181)], 2, id="a pause of over 180 s"),
        pytest.param([xid(31, "x"), xid(31, "x", 1, pci=GPU2)], 2, id="two GPUs"),
        pytest.param([xid(31, "x"), xid(13, "x", 1)], 2, id="two codes"),
        pytest.param([xid(31, "x"), reboot(30), xid(31, "y", 60)], 2, id="two boots"),
        pytest.param(
            [xid(79, "x"), reboot(30), xid(79, "x", 100, **HMA)],
            1,
            id="the agent's copy after the boot is still a copy",
        ),
        pytest.param(
            [xid(79, "x", pid=7, **up(0)), reboot(30), xid(79, "x", 100, pid=7, **SYSLOG)],
            1,
            id="a skewed copy without uptime on the other side of a boot",
        ),
        pytest.param(
            [xid(79, "x", pid=7, **up(0)), reboot(30), xid(79, "x", 100, pid=8, **SYSLOG)],
            2,
            id="another process on the other side of a boot is no copy",
        ),
    ],
)
def test_copies_and_bursts_are_one_event(records: list[AnyRecord], number: int) -> None:
    assert len(prepared(*records).occurrences) == number


def test_three_sources_are_one_occurrence_with_three_sources() -> None:
    records = [xid(79, "x"), xid(79, "x", 1, **HMA), xid(79, "", 2, **DCGM)]
    (only,) = prepared(*records).occurrences
    assert (only.sources, only.messages) == (("dcgm", "hma", "kernel"), 3)


def test_a_copied_line_is_not_counted_twice() -> None:
    line = xid(31, "x")
    copied = line.model_copy(update={"stream": "copy"})
    (only,) = prepared(line, copied).occurrences
    assert only.messages == 1


def test_a_device_plugin_line_joins_the_gpu_of_its_uuid() -> None:
    identity = GpuIdentity(
        node="n",
        stream="messages",
        line=1,
        raw="",
        at=at(-9),
        time_quality=TimeQuality.EXACT,
        pci=GPU2,
        uuid="GPU-1b2c",
    )
    told = xid(48, "", 60, pci=None, uuid="GPU-1b2c", source=Source.DEVICE_PLUGIN, stream="plugin")
    found = prepared(identity, xid(48, "x"), xid(48, "y", pci=GPU2), told).occurrences
    assert {(o.pci, o.sources) for o in found} == {
        (GPU, ("kernel",)),
        (GPU2, ("device_plugin", "kernel")),
    }


def test_the_place_of_the_copy_with_uptime_is_kept_and_the_skew_told() -> None:
    found = prepared(xid(79, "x", 90, pid=7, **SYSLOG), xid(79, "x", pid=7, **up(0)))
    (only,) = found.occurrences
    assert only.at == at(0)
    told = (
        f"Xid 79 on {GPU}: two sources give times 90 s apart; the kernel's own order is kept "
        "(clock skew)"
    )
    assert found.contradictions == (told,)


def test_order_inside_a_boot_is_by_uptime_not_by_arrival() -> None:
    # The journal arrived with a clock 30 s off; uptime says that 31 came first.
    assert codes(xid(79, "x", 0, **up(10)), xid(31, "y", 30, **up(5))) == [31, 79]


def test_equal_times_of_one_stream_keep_its_order() -> None:
    assert codes(xid(79, "x"), xid(31, "y")) == [79, 31]
    assert codes(xid(31, "y"), xid(79, "x")) == [31, 79]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([xid(45, "Ch 1", root=149)], [(45, False), (149, True)], id="named by a 45"),
        pytest.param(
            [xid(149, "NETIR"), xid(45, "Ch 1", 1, root=149)],
            [(149, False), (45, False)],
            id="named by a 45 and seen",
        ),
        pytest.param(
            [xid(149, "NETIR", pci=GPU2), xid(45, "Ch 1", 1, root=149)],
            [(149, False), (45, False), (149, True)],
            id="seen on another GPU only",
        ),
        pytest.param([xid(171, "DRAM")], [(48, True), (171, False)], id="a 171 without its 48"),
        pytest.param(
            [xid(172, "SRAM"), xid(48, "x", 60)],
            [(172, False), (48, False)],
            id="a 172 with its 48",
        ),
        pytest.param(
            [xid(172, "SRAM"), xid(48, "x", 61)],
            [(48, True), (172, False), (48, False)],
            id="a 48 too far from the 172",
        ),
        pytest.param(
            [xid(79, "fallen off", source=Source.GPU_LOST)], [(79, False)], id="lost without an Xid"
        ),
        pytest.param(
            [xid(79, "x"), xid(79, "fallen off", 299, source=Source.GPU_LOST)],
            [(79, False)],
            id="lost within 5 minutes of its 79",
        ),
        pytest.param(
            [xid(79, "x"), xid(79, "fallen off", 301, source=Source.GPU_LOST)],
            [(79, False), (79, False)],
            id="lost more than 5 minutes after a 79",
        ),
    ],
)
def test_what_another_line_names_is_inferred(
    records: list[AnyRecord], expected: list[tuple[int, bool]]
) -> None:
    assert [(o.code, o.inferred) for o in prepared(*records).occurrences] == expected


@pytest.mark.parametrize(
    "record",
    [
        xid(79, "GPU has fallen off the bus", source=Source.GPU_LOST),
        xid(45, "Ch 1", root=79),
        xid(45, "Ch 1", root=31),
    ],
    ids=["lost without an Xid", "a 79 that a 45 names", "a 31 that a 45 names"],
)
def test_what_is_inferred_is_always_provisional(record: XidEvent) -> None:
    assert judged(record).confidence == "provisional"


def test_a_gpu_still_gone_when_the_driver_loads_again_is_a_recurrence() -> None:
    lost = xid(79, "fallen off the bus and is not responding", source=Source.GPU_LOST)
    found = judged(xid(79, "x", -days(1)), reboot(-60), lost)
    assert (found.verdict, found.confidence) == ("REPLACE", "provisional")


def test_an_ingest_time_decides_no_order() -> None:
    late = xid(31, "x", -500, pid=1, time_quality=TimeQuality.INGEST_ONLY)
    found = judged(
        late, xid(13, "y", -100, pid=1), xid(154, "changed from 0x0 (None) to 0x1 (GPU Reset)")
    )
    assert found.cause is not None
    assert found.cause.what == "Xid 13"


def test_duplicated_records_change_nothing() -> None:
    records = [xid(79, "x"), xid(31, "y", -60, pid=1), xid(45, "Ch 1", 5)]
    assert judged(*records, *records) == judged(*records)


def test_a_boot_is_not_made_of_a_skewed_clock() -> None:
    # Both streams carry uptime, so both tell the same boot, one with a clock an hour ahead.
    hour = timedelta(hours=1).total_seconds()
    journal = [xid(79, "x", 0, **up(0)), xid(31, "y", 7200, **up(7200))]
    syslog = [xid(79, "x", hour, stream="syslog", **up(0))]
    found = prepared(*journal, *syslog)
    assert len({o.boot for o in found.occurrences}) == 1

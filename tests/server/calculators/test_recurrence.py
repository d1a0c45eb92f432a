"""Whether a thing came back, and what has been done since (verdict-rules §3.6, §5)."""

from datetime import timedelta
from typing import Any

import pytest
from node_world import (
    FAILURE,
    GPU,
    GPU2,
    NOW,
    START,
    at,
    boundary,
    covered,
    days,
    deep_check,
    gpu,
    judged,
    reboot,
    sxid,
    xid,
)

from gpuvet.model.cluster import Flag, NodeFacts
from gpuvet.model.coverage import Gate, NodeCoverage
from gpuvet.model.events import (
    AnyRecord,
    BoundaryKind,
    GpuIdentity,
    TimeQuality,
    XidEvent,
)
from gpuvet.model.evidence import Window

HOUR = timedelta(hours=1)
LOST = "GPU has fallen off the bus."
STOP_START, RELOAD, RESET = (
    BoundaryKind.STOP_START,
    BoundaryKind.DRIVER_RELOAD,
    BoundaryKind.GPU_RESET,
)


def lost(seconds: float = 0, **more: object) -> XidEvent:
    return xid(79, LOST, seconds).model_copy(update=more)


def identity(seconds: float, uuid: str | None = None, serial: str | None = None) -> GpuIdentity:
    return GpuIdentity(
        node="n",
        stream="messages",
        line=1,
        raw="",
        at=at(seconds),
        time_quality=TimeQuality.EXACT,
        pci=GPU,
        uuid=uuid,
        serial=serial,
    )


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        pytest.param([lost()], "REBOOT", id="once"),
        pytest.param([lost(-900), lost()], "REBOOT", id="twice in one boot"),
        pytest.param([lost(-days(1)), reboot(-3600), lost()], "REPLACE", id="over a reboot"),
        pytest.param(
            [lost(-days(1)), boundary(RELOAD, -3600), lost()], "REBOOT", id="over a reload"
        ),
        pytest.param([lost(-days(1)), boundary(RESET, -3600), lost()], "REBOOT", id="over a reset"),
        pytest.param(
            [lost(-days(1)), boundary(STOP_START, -3600), lost()], "REBOOT", id="over new hardware"
        ),
        pytest.param([lost(-days(13.9)), reboot(-3600), lost()], "REPLACE", id="within 14 days"),
        pytest.param([lost(-days(14.1)), reboot(-3600), lost()], "REBOOT", id="over 14 days ago"),
        pytest.param([lost(-days(1), pci=GPU2), reboot(-3600), lost()], "REBOOT", id="another GPU"),
        pytest.param([xid(62, "x", -days(1)), reboot(-3600), lost()], "REBOOT", id="another code"),
        pytest.param(
            [
                lost(-days(1)),
                identity(-days(1), "GPU-a"),
                reboot(-3600),
                identity(5, "GPU-b"),
                lost(),
            ],
            "REBOOT",
            id="another UUID on that PCI id, named after the event",
        ),
        pytest.param(
            [
                lost(-days(1)),
                identity(-days(1), "GPU-a"),
                reboot(-3600),
                identity(5, "GPU-a"),
                lost(),
            ],
            "REPLACE",
            id="the same UUID",
        ),
        pytest.param(
            [
                lost(-days(1)),
                identity(-days(1), None, "16500"),
                reboot(-3600),
                identity(0, None, "16501"),
                lost(),
            ],
            "REBOOT",
            id="another board serial",
        ),
        pytest.param(
            [xid(79, "x", -days(1) - 100), xid(119, "x", -days(1)), reboot(-3600), xid(119, "x")],
            "REBOOT",
            id="a consequence before the reboot is no first occurrence",
        ),
    ],
)
def test_it_recurs_only_on_the_same_hardware_over_a_reboot(
    records: list[AnyRecord], verdict: str
) -> None:
    assert judged(*records).verdict.value == verdict


@pytest.mark.parametrize(
    ("kind", "told"),
    [(RELOAD, "a driver reload at"), (RESET, "a GPU reset at")],
    ids=["reload", "reset"],
)
def test_a_weaker_rung_that_was_tried_is_named(kind: BoundaryKind, told: str) -> None:
    found = judged(lost(-days(1)), boundary(kind, -3600), lost())
    assert any(told in note and "did not cure it" in note for note in found.notes)


def test_a_reset_of_another_gpu_was_not_tried_on_this_one() -> None:
    facts = NodeFacts(gpus=(gpu(GPU2, uuid="GPU-b"),))
    found = judged(lost(-7200), boundary(RESET, -3600, uuid="GPU-b"), lost(), facts=facts)
    assert not any("did not cure it" in note for note in found.notes)


def test_another_gpu_on_the_pci_id_is_a_contradiction() -> None:
    found = judged(
        lost(-days(1)), identity(-days(1), "GPU-a"), reboot(-3600), identity(0, "GPU-b"), lost()
    )
    assert any("another GPU (UUID or board serial) since" in c for c in found.contradictions)


OPEN = "same code on this PCI id before the last reboot?"


@pytest.mark.parametrize(
    ("node", "window", "confidence"),
    [
        pytest.param({}, None, "provisional", id="earlier boots outside the logs"),
        pytest.param({"launched_at": START}, None, "proven", id="launched inside the window"),
        pytest.param(
            {}, Window(start=START - timedelta(days=20), end=NOW), "proven", id="14 days measured"
        ),
        pytest.param(
            {"facts": NodeFacts(earlier_same_gpu_events=0)}, None, "proven", id="told there is none"
        ),
        pytest.param(
            {"coverage": covered(Gate.PARTIAL, empty=[START]), "launched_at": START},
            *(None, "provisional"),
            id="a hole in the life of the node",
        ),
    ],
)
def test_an_unknown_past_makes_a_first_occurrence_provisional(
    node: dict[str, object], window: Window | None, confidence: str
) -> None:
    asked: dict[str, Any] = {"window": window} if window else {}
    found = judged(lost(), node=node, **asked)
    assert (found.verdict, found.confidence) == ("REBOOT", confidence)
    assert (found.open_check == OPEN) == (confidence == "provisional")


@pytest.mark.parametrize(
    ("earlier", "reboots", "verdict"),
    [(0, 0, "REBOOT"), (1, 0, "REBOOT"), (1, 1, "REPLACE"), (1, None, "REBOOT")],
    ids=["none", "in this boot", "before a reboot", "nobody says"],
)
def test_an_operators_word_stands_for_logs(earlier: int, reboots: int | None, verdict: str) -> None:
    facts = NodeFacts(earlier_same_gpu_events=earlier, reboots_since_event=reboots)
    assert judged(lost(), facts=facts).verdict.value == verdict


DONE = "rebooted at 2026-03-02T13:59:30Z, clean since"


@pytest.mark.parametrize(
    ("records", "facts", "coverage", "verdict"),
    [
        pytest.param([lost(), reboot(7200)], (), None, "MONITOR", id="rebooted, clean since"),
        pytest.param(
            [lost(), reboot(7200)],
            *((), covered(Gate.PARTIAL, empty=[FAILURE + 5 * HOUR], live=[FAILURE]), "REBOOT"),
            id="rebooted, not seen since",
        ),
        pytest.param(
            [lost(), reboot(7200)],
            (),
            covered(
                Gate.PARTIAL,
                empty=[FAILURE - 9 * HOUR],
                live=[FAILURE + n * HOUR for n in range(1, 12)],
            ),
            "MONITOR",
            id="rebooted, seen since although not before",
        ),
        pytest.param(
            [lost(), reboot(7200)], (), covered(Gate.HMA_ONLY), "REBOOT", id="only the agent since"
        ),
        pytest.param(
            [lost(), reboot(days(1))], (), None, "REBOOT", id="rebooted after what was seen"
        ),
        pytest.param(
            [lost(), reboot(7200), lost(9000)], (), None, "REPLACE", id="rebooted, and again"
        ),
        pytest.param(
            [lost(), reboot(7200)],
            *((gpu(remap_pending=Flag.YES),), None, "REBOOT"),
            id="rebooted, with a bad fact since",
        ),
        pytest.param(
            [lost(), reboot(7200)],
            *((gpu(remap_pending=Flag.YES, read_at=at(60)),), None, "MONITOR"),
            id="a pending remap that was read before the reboot",
        ),
        pytest.param(
            [lost(), reboot(7200)],
            *((gpu(remap_failed=Flag.YES, read_at=at(60)),), None, "REPLACE"),
            id="a failed remap survives a reboot",
        ),
        pytest.param(
            [xid(110, "SEC"), reboot(7200)], (), None, "REPLACE", id="a reboot cures no 110"
        ),
        pytest.param(
            [xid(110, "SEC"), boundary(STOP_START, 7200)],
            (),
            None,
            "LEAVE ALONE",
            id="new hardware",
        ),
        pytest.param(
            [sxid(20034, fatal=True, link=3), boundary(STOP_START, 7200)],
            *((), None, "LEAVE ALONE"),
            id="new hardware after an NVSwitch error",
        ),
        pytest.param(
            [deep_check(0, passed=False, faulty=True), boundary(STOP_START, 7200)],
            *((), None, "LEAVE ALONE"),
            id="new hardware after a faulty instance",
        ),
        pytest.param(
            [lost(), reboot(7200), deep_check(9000, passed=True)],
            *((), covered(Gate.HMA_ONLY), "MONITOR"),
            id="a deep check passed after the reboot",
        ),
        pytest.param(
            [lost(), deep_check(3600, passed=True), reboot(7200)],
            *((), covered(Gate.HMA_ONLY), "REBOOT"),
            id="a deep check passed before the reboot",
        ),
        pytest.param(
            [xid(110, "SEC"), reboot(7200), deep_check(9000, passed=True)],
            *((), covered(Gate.HMA_ONLY), "REPLACE"),
            id="a passed check takes no replacement back",
        ),
    ],
)
def test_nobody_is_told_to_do_again_what_was_done(
    records: list[AnyRecord], facts: tuple[object, ...], coverage: NodeCoverage | None, verdict: str
) -> None:
    found = judged(*records, facts=NodeFacts.model_validate({"gpus": facts}), coverage=coverage)
    assert found.verdict.value == verdict


def test_a_reboot_that_helped_is_told() -> None:
    assert DONE in judged(lost(), reboot(7200)).notes


def test_new_hardware_is_told() -> None:
    found = judged(xid(110, "SEC"), boundary(STOP_START, 7200))
    assert "the hardware has changed since: nothing against the present one" in found.notes


def test_a_launch_time_after_the_nodes_own_lines_is_new_hardware() -> None:
    found = judged(lost(-days(1)), lost(), node={"launched_at": at(-3600)})
    assert found.verdict == "REBOOT"


def test_an_open_question_about_memory_survives_the_reboot_it_asked_for() -> None:
    sram = "DBE has been detected on GPU in L2 cache."
    found = judged(xid(48, sram), reboot(7200))
    assert (found.verdict, found.minimum_action) == ("UNVERIFIED", "MONITOR")


def journal(seconds: float, boot: str, **more: object) -> XidEvent:
    return lost(seconds, boot=boot).model_copy(update=more)


def test_boots_are_told_by_journald_ids() -> None:
    assert judged(journal(-900, "a"), journal(0, "b")).verdict == "REPLACE"
    assert judged(journal(-900, "a"), journal(0, "a")).verdict == "REBOOT"


def test_boots_are_told_by_falling_uptime() -> None:
    before = lost(-days(1), uptime_us=400_000_000_000)
    assert judged(before, lost(0, uptime_us=3_600_000_000)).verdict == "REPLACE"
    assert judged(before, lost(0, uptime_us=486_400_000_000)).verdict == "REBOOT"


def test_uptime_alone_tells_boots_of_a_stream_without_wall_times() -> None:
    bare: dict[str, Any] = {"at": None, "time_quality": TimeQuality.NONE}
    again = [lost(uptime_us=400_000_000_000, **bare), lost(uptime_us=90_000_000, **bare)]
    assert judged(*again).verdict == "REPLACE"
    assert judged(*again[:1]).verdict == "REBOOT"

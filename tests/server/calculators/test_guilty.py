"""Who holds the others up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.calculators.guilty import Names, find_guilty, suspect_name
from gpuvet.model.network import (
    FlightDump,
    FlightGroup,
    GuiltyFinding,
    NcclLog,
    PeerComplaint,
    PeerCount,
    RankPlace,
    WatchdogKind,
    WatchdogLine,
)

A, B, C = "i-0aaaaaaaaaaaaaaaa", "i-0bbbbbbbbbbbbbbbb", "i-0cccccccccccccccc"


def state(rank: int, enqueued: int | None, completed: int | None, **more: object) -> WatchdogLine:
    fields: dict[str, object] = {
        "node": "",
        "stream": "job.log",
        "line": rank + 1,
        "raw": "",
        "kind": WatchdogKind.STATE,
        "rank": rank,
        "group_name": "default_pg",
        "last_enqueued": enqueued,
        "last_completed": completed,
    }
    return WatchdogLine.model_validate({**fields, **more})


def complaint(
    reporter: str, peer: str | None, line: int = 1, *, own: str | None = None, at: str | None = None
) -> PeerComplaint:
    """Return a complaint; `own` and `at` are the EFA addresses of the two sides."""
    return PeerComplaint(
        node="",
        stream="job.log",
        line=line,
        raw="",
        reporter=reporter,
        peer=peer,
        own_address=own,
        peer_address=at,
    )


def place(rank: int, node: str | None = None, *, world: int = 4, bus: str = "") -> RankPlace:
    return RankPlace(rank=rank, node=node, world_size=world, bus=bus or None)


def found(log: NcclLog, *dumps: FlightDump, names: Names | None = None) -> GuiltyFinding:
    finding = find_guilty(log, dumps, names)
    assert finding is not None
    return finding


def test_silence_of_every_rank_accuses_nobody() -> None:
    assert find_guilty(NcclLog(places=(place(0), place(1)))) is None


def test_the_few_with_less_work_enqueued_are_behind() -> None:
    finding = found(NcclLog(watchdog=(state(0, 11, 10), state(1, 11, 10), state(2, 10, 10))))
    assert finding.behind == (2,)
    assert [one.rank for one in finding.suspects] == [2]
    assert "last enqueued work 10 on rank 2, 11 on rank 0, 1" in finding.facts[1]


def test_where_all_enqueued_the_same_the_completed_work_decides() -> None:
    finding = found(NcclLog(watchdog=(state(0, 11, 10), state(1, 11, 10), state(2, 11, 9))))
    assert finding.behind == (2,)


def test_a_rank_that_times_out_in_an_earlier_collective_is_behind() -> None:
    lines = [
        state(rank, None, None, kind=WatchdogKind.TIMEOUT, sequence=sequence)
        for rank, sequence in enumerate((100, 100, 100, 99))
    ]
    assert found(NcclLog(watchdog=tuple(lines))).behind == (3,)


def test_one_rank_ahead_of_many_runs_a_collective_of_its_own() -> None:
    finding = found(NcclLog(watchdog=(state(0, 11, 10), state(1, 10, 10), state(2, 10, 10))))
    assert (finding.behind, finding.ahead, finding.suspects) == ((), (0,), ())
    assert any("extra or mismatched collective" in fact for fact in finding.facts)


def test_work_of_two_process_groups_is_not_compared() -> None:
    lines = (state(0, 500, 499), state(1, 20, 19, group_name="tp"))
    assert found(NcclLog(watchdog=lines)).behind == ()


def test_equal_work_accuses_nobody() -> None:
    finding = found(NcclLog(watchdog=(state(0, 7, 6), state(1, 7, 6))))
    assert (finding.behind, finding.suspects) == ((), ())


def test_the_rank_that_never_reported_is_the_one_to_look_at() -> None:
    log = NcclLog(
        watchdog=(state(0, 11, 10), state(1, 11, 10), state(2, 11, 10)),
        places=(place(0, A), place(3, B, bus="0000:53:00")),
    )
    finding = found(log)
    assert (finding.never_reported, finding.world_size) == ((3,), 4)
    assert suspect_name(finding.suspects[0]) == f"rank 3 → {B} → GPU 0000:53:00"


def test_with_most_ranks_silent_nobody_is_singled_out() -> None:
    log = NcclLog(watchdog=(state(0, 11, 10),), places=(place(0, A, world=64),))
    assert found(log).never_reported == ()


def test_a_rank_that_answers_a_dump_signal_is_not_silent() -> None:
    lines = (state(0, 7, 6), state(1, 7, 6, kind=WatchdogKind.DUMP_SIGNAL))
    log = NcclLog(watchdog=lines, places=(place(0, A, world=2),))
    assert found(log).never_reported == ()


def test_a_barrier_names_the_silent_ranks_itself() -> None:
    line = state(0, None, None, kind=WatchdogKind.BARRIER, missing_ranks=(5, 9))
    assert found(NcclLog(watchdog=(line,))).never_reported == (5, 9)


def test_peers_are_counted_and_examined_not_their_reporters() -> None:
    log = NcclLog(complaints=(complaint(A, C, 1), complaint(B, C, 2), complaint(B, C, 3)))
    finding = found(log)
    assert finding.peers == (PeerCount(peer=C, lines=3, reporters=(A, B)),)
    assert [one.node for one in finding.suspects] == [C]


def test_the_peer_that_most_others_name_is_the_suspect() -> None:
    log = NcclLog(complaints=(complaint(A, C, 1), complaint(B, C, 2), complaint(C, A, 3)))
    assert [one.node for one in found(log).suspects] == [C]


def test_two_that_name_each_other_accuse_nobody() -> None:
    log = NcclLog(complaints=(complaint(A, B, 1), complaint(B, A, 2)))
    assert found(log).suspects == ()


def test_a_side_that_names_itself_does_not_count() -> None:
    assert find_guilty(NcclLog(complaints=(complaint(A, A),))) is None


def test_an_address_leads_to_the_side_that_calls_it_its_own() -> None:
    log = NcclLog(
        complaints=(
            complaint(A, None, 1, own="fe80::1", at="fe80::2"),
            complaint(B, None, 2, own="fe80::2"),
        )
    )
    assert [one.peer for one in found(log).peers] == [B]


def test_an_address_leads_to_the_interface_whose_mac_it_holds() -> None:
    log = NcclLog(complaints=(complaint(A, None, at="fe80::8ff:f7ff:fefc:bc43"),))
    names = Names(macs={"0a:ff:f7:fc:bc:43": C})
    assert [one.node for one in found(log, names=names).suspects] == [C]


@pytest.mark.parametrize("peer", ["ip-10-0-1-7", "10.0.1.7", "w-3", f"hyperpod-{C}"])
def test_a_name_leads_to_its_instance(peer: str) -> None:
    names = Names(nodes={"ip-10-0-1-7": C, f"hyperpod-{C}": C, C: C}, pods={"w-3": C})
    assert found(NcclLog(complaints=(complaint(A, peer),)), names=names).suspects[0].node == C


def test_a_rank_leads_over_its_pod_to_node_and_gpu() -> None:
    lines = (state(0, 7, 6), state(1, 7, 6), state(9, 6, 6, pod="w-1", local_rank=1))
    names = Names(pods={"w-1": B}, gpus={(B, 1): "0000:64:00"})
    suspect = found(NcclLog(watchdog=lines), names=names).suspects[0]
    assert suspect_name(suspect) == f"rank 9 → pod w-1 → {B} → GPU 0000:64:00"


def test_flight_recorders_speak_like_watchdogs() -> None:
    dumps = [
        FlightDump(
            file=f"rank_{rank}",
            rank=rank,
            groups=(FlightGroup(group="0", name="default_pg", last_enqueued=enqueued),),
        )
        for rank, enqueued in enumerate((8, 8, 7))
    ]
    assert found(NcclLog(), *dumps).behind == (2,)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(4)))
def test_the_order_of_lines_changes_nothing(order: list[int]) -> None:
    lines = [state(0, 11, 10), state(1, 11, 10), state(2, 10, 10), state(3, 11, 10)]
    mixed = found(NcclLog(watchdog=tuple(lines[n] for n in order)))
    whole = found(NcclLog(watchdog=tuple(lines)))
    drop = {"evidence": ()}
    assert mixed.model_copy(update=drop) == whole.model_copy(update=drop)

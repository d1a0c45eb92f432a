"""Flight recorder dumps: JSON, and pickles that are walked and never unpickled."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.model.network import FlightDump, FlightGroup
from gpuvet.parse import flight_recorder
from gpuvet.parse.flight_recorder import (
    NotPlain,
    parse_flight_dump,
    read_flight_dump,
    read_plain_pickle,
)

DUMP: dict[str, Any] = {
    "version": "2.5",
    "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
    "pg_status": {
        "0": {
            "last_enqueued_collective": 8,
            "last_started_collective": "-1",
            "last_completed_collective": 6,
        }
    },
    "entries": [
        {
            "pg_id": 0,
            "collective_seq_id": 6,
            "profiling_name": "nccl:all_reduce",
            "state": "completed",
            "is_p2p": False,
        },
        {
            "pg_id": 0,
            "collective_seq_id": 8,
            "profiling_name": "nccl:broadcast",
            "state": "scheduled",
            "is_p2p": False,
        },
        {
            "pg_id": 0,
            "collective_seq_id": 7,
            "profiling_name": "nccl:all_reduce",
            "state": "started",
            "is_p2p": False,
        },
    ],
}
READ = FlightDump(
    file="nccl_trace_rank_2",
    rank=2,
    groups=(
        FlightGroup(
            group="0",
            name="default_pg",
            ranks=(0, 1, 2),
            last_enqueued=8,
            last_started=-1,
            last_completed=6,
            open_sequence=7,
            open_operation="nccl:all_reduce",
            open_state="started",
        ),
    ),
    entries=3,
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


class _Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


def test_a_dump_in_json_is_read() -> None:
    assert parse_flight_dump(json.dumps(DUMP), "nccl_trace_rank_2") == READ


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_dump_in_a_pickle_reads_the_same(protocol: int) -> None:
    document = read_plain_pickle(pickle.dumps(DUMP, protocol=protocol))
    assert read_flight_dump(document, "nccl_trace_rank_2") == READ


@settings(max_examples=40, deadline=None)
@given(PLAIN, st.sampled_from(range(6)))
def test_plain_values_come_back_as_they_are(value: object, protocol: int) -> None:
    assert read_plain_pickle(pickle.dumps(value, protocol=protocol)) == value


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_would_call_something_is_refused(
    protocol: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotPlain, match="refused"):
        read_plain_pickle(pickle.dumps({"entries": [_Harmful()]}, protocol=protocol))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "value",
    [pytest.param({1, 2}, id="a set"), pytest.param(NotPlain, id="a class")],
)
def test_anything_but_plain_containers_is_refused(value: object) -> None:
    with pytest.raises(NotPlain):
        read_plain_pickle(pickle.dumps(value))


@pytest.mark.parametrize("cut", [1, 5, -1, -10])
def test_a_pickle_that_is_cut_is_refused(cut: int) -> None:
    with pytest.raises(NotPlain):
        read_plain_pickle(pickle.dumps(DUMP)[:cut])


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NotPlain, match="deeper"):
        read_plain_pickle(pickle.dumps(loop))


def test_a_value_that_multiplies_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "MAX_VALUES", 10_000)
    bomb: list[Any] = ["x"]
    for _ in range(20):
        bomb = [bomb, bomb]
    with pytest.raises(NotPlain):
        read_plain_pickle(pickle.dumps(bomb))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_plain_pickle(data)
    except NotPlain:
        return


def test_another_document_is_no_dump() -> None:
    assert parse_flight_dump('{"entries": [], "version": "1"}', "x.json") is None
    assert parse_flight_dump("no json", "x.json") is None


@pytest.mark.parametrize(
    ("file", "rank"), [("nccl_trace_rank_12", 12), ("fr/dump_3.json", 3), ("trace7", None)]
)
def test_the_rank_stands_in_the_files_name(file: str, rank: int | None) -> None:
    dump = read_flight_dump(DUMP, file)
    assert dump is not None
    assert dump.rank == rank

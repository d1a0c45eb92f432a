"""Whose a stream is: whole names only, as quickly for a fleet as for a node."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.aws.door import NodeName
from gpuvet.aws.log_asks import pattern_of
from gpuvet.aws.stream_names import Owners, holds_name


def nodes(*names: tuple[str, ...]) -> list[NodeName]:
    return [NodeName(node=one[0], aliases=one[1:]) for one in names]


@pytest.mark.parametrize(
    ("stream", "owners"),
    [
        pytest.param("ip-10-0-1-2.i-0abc.syslog", ["i-0abc"], id="id and host are one owner"),
        pytest.param(
            "ip-10-0-1-23.syslog", ["i-0abcd"], id="an address is no part of a longer one"
        ),
        pytest.param("i-0abcde/messages", [], id="an id is no part of a longer one"),
        pytest.param("LifecycleConfig/w/i-0abcd", ["i-0abcd"], id="at the end"),
        pytest.param("i-0abcd-i-0abc", ["i-0abc", "i-0abcd"], id="of two, in their own order"),
        pytest.param("hyperpod-i-0abc.log", ["i-0abc"], id="inside another word's dashes"),
        pytest.param("(rack:7)/messages", ["i-0odd"], id="a name that begins in a bracket"),
        pytest.param("rack:7/messages", [], id="and is not there without it"),
    ],
)
def test_a_stream_belongs_to_whom_it_names_whole(stream: str, owners: list[str]) -> None:
    owned = Owners(
        nodes(("i-0abc", "ip-10-0-1-2"), ("i-0abcd", "ip-10-0-1-23"), ("i-0odd", "(rack:7)"))
    )
    assert owned.of(stream) == owners


_NAMES = st.text("ab1-./ (", min_size=1, max_size=6)


@given(st.lists(_NAMES, max_size=5, unique=True), st.text("ab1-./ (", max_size=16))
@settings(max_examples=150, deadline=None)
def test_looking_up_finds_what_searching_for_each_name_would(names: list[str], stream: str) -> None:
    owned = Owners([NodeName(node=name) for name in names])
    assert owned.of(stream) == [
        name for name in names if any(map(str.isalnum, name)) and holds_name(stream, name)
    ]


def test_a_pattern_finds_every_name_once_and_is_none_where_it_would_be_too_long() -> None:
    found = pattern_of(nodes(("i-0abc", "ip-10-0-1-2", "ip-10-0-1-2.us-west-2.internal")))
    assert found == "i-0abc|ip-10-0-1-2"
    assert pattern_of(nodes(*((f"i-0{n:016x}",) for n in range(1_000)))) is None

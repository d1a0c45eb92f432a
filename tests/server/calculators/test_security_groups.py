"""Do security groups let EFA traffic pass: the rules of preflight check P7."""

import pytest

from gpuvet.calculators.security_groups import (
    Direction,
    RuleReading,
    prefix_lists_of,
    read_direction,
    read_reach,
)
from gpuvet.model.network import GroupPair, Permission, PrefixList, SecurityGroup

SG, OTHER = "sg-0aaaabbbbccccdddd", "sg-0bbbbccccddddeeee"
OWNER = "111122223333"


def all_traffic(*groups: str, **more: str) -> Permission:
    return Permission(protocol="-1", pairs=tuple(GroupPair(group_id=g, **more) for g in groups))


def group(name: str = SG, *rules: Permission) -> SecurityGroup:
    return SecurityGroup(group_id=name, owner=OWNER, inbound=rules, outbound=rules)


def read(*groups: SecurityGroup, carried: tuple[str, ...] = (SG,)) -> RuleReading:
    return read_direction(groups, [frozenset(carried)], Direction.INBOUND)


@pytest.mark.parametrize(
    ("rule", "is_open"),
    [
        pytest.param(all_traffic(SG), True, id="all traffic from itself opens"),
        pytest.param(all_traffic(SG, user_id=OWNER), True, id="the own account named"),
        pytest.param(
            Permission(protocol="-1", from_port=-1, to_port=-1, pairs=(GroupPair(group_id=SG),)),
            True,
            id="ports of -1 mean all",
        ),
        pytest.param(
            Permission(protocol="tcp", from_port=0, to_port=65535, pairs=(GroupPair(group_id=SG),)),
            False,
            id="all TCP ports are not enough",
        ),
        pytest.param(
            Permission(protocol="-1", cidrs=("0.0.0.0/0",)), False, id="a range is not the group"
        ),
        pytest.param(
            Permission(protocol="-1", prefix_lists=("pl-0aaaabbbbccccdddd",)),
            False,
            id="a prefix list is not the group",
        ),
        pytest.param(all_traffic(OTHER), False, id="a group that the nodes do not carry"),
        pytest.param(
            all_traffic(SG, user_id="123456789012"), False, id="the same id of another account"
        ),
        pytest.param(
            all_traffic(SG, peering_status="pending"), False, id="over a peering that is not active"
        ),
    ],
)
def test_only_all_traffic_from_the_group_itself_opens_a_direction(
    rule: Permission, *, is_open: bool
) -> None:
    assert read(group(SG, rule)).is_open is is_open


def test_no_rule_at_all_is_closed_and_says_so() -> None:
    found = read(group(SG))
    assert found.is_open is False
    assert found.near == (f"{SG} has no inbound rule at all",)


def test_what_looks_like_the_rule_is_named_with_why_it_is_none() -> None:
    tcp = Permission(protocol="tcp", from_port=0, to_port=65535, cidrs=("10.8.0.0/16",))
    wide = Permission(protocol="-1", cidrs=("0.0.0.0/0",))
    assert read(group(SG, tcp, wide)).near == (
        (
            f"{SG} inbound tcp 0-65535 for 10.8.0.0/16 is not enough: "
            "EFA traffic is neither TCP nor UDP"
        ),
        (
            f"{SG} inbound all traffic from 0.0.0.0/0 does not replace the self-reference: EFA "
            "traffic is matched by group"
        ),
    )


def test_a_cross_pair_inside_the_carried_groups_opens_with_a_note() -> None:
    found = read(group(SG, all_traffic(OTHER)), group(OTHER), carried=(SG, OTHER))
    assert found.is_open is True
    assert found.is_cross


def test_both_nodes_must_carry_the_groups_of_a_cross_pair() -> None:
    groups = (group(SG, all_traffic(OTHER)), group(OTHER))
    found = read_direction(groups, [frozenset({SG}), frozenset({SG, OTHER})], Direction.INBOUND)
    assert found.is_open is False


def test_a_group_that_was_not_read_decides_nothing() -> None:
    assert read(carried=(SG,)).is_open is None
    assert read(group(SG), carried=(SG, OTHER)).is_open is None


def test_a_direction_that_the_reply_lacks_is_unknown() -> None:
    trimmed = SecurityGroup(group_id=SG, inbound=(all_traffic(SG),))
    assert read_direction([trimmed], [frozenset({SG})], Direction.OUTBOUND).is_open is None


def test_the_two_directions_are_read_apart() -> None:
    one = SecurityGroup(group_id=SG, inbound=(all_traffic(SG),), outbound=())
    found = [read_direction([one], [frozenset({SG})], way).is_open for way in Direction]
    assert found == [True, False]


def test_the_order_of_groups_changes_nothing() -> None:
    groups = [group(SG, all_traffic(OTHER)), group(OTHER, all_traffic(SG))]
    carried = [frozenset({SG, OTHER}), frozenset({OTHER})]
    one = read_direction(groups, carried, Direction.INBOUND)
    other = read_direction(groups[::-1], carried[::-1], Direction.INBOUND)
    assert one.is_open == other.is_open
    assert one.rules == other.rules


LIST = "pl-0aaaabbbbccccdddd"


def ranges(*cidrs: str, lists: tuple[str, ...] = (), protocol: str = "-1") -> Permission:
    return Permission(protocol=protocol, cidrs=cidrs, prefix_lists=lists)


@pytest.mark.parametrize(
    ("rules", "anywhere"),
    [
        pytest.param((ranges("0.0.0.0/0"),), ("0.0.0.0/0",), id="IPv4"),
        pytest.param((ranges("::/0"),), ("::/0",), id="IPv6"),
        pytest.param((ranges("0.0.0.0/0", "::/0"),), ("0.0.0.0/0", "::/0"), id="both families"),
        pytest.param((ranges("0.0.0.0/1"), ranges("128.0.0.0/1")), ("0.0.0.0/0",), id="two halves"),
        pytest.param((ranges("0.0.0.0/1"),), (), id="one half"),
        pytest.param((ranges("0.0.0.0/0", protocol="tcp"),), (), id="TCP is not all traffic"),
        pytest.param((ranges("somewhere"),), (), id="what is no range"),
        pytest.param((all_traffic(SG),), (), id="a group is no address"),
    ],
)
def test_all_ranges_of_an_interface_add_up(
    rules: tuple[Permission, ...], anywhere: tuple[str, ...]
) -> None:
    found = read_reach([group(SG, *rules)], frozenset({SG}), Direction.OUTBOUND)
    assert (found.anywhere, found.unread) == (anywhere, ())


def test_the_groups_of_one_interface_add_up() -> None:
    own = [group(SG, ranges("0.0.0.0/1")), group(OTHER, ranges("128.0.0.0/1"))]
    found = read_reach(own, frozenset({SG, OTHER}), Direction.OUTBOUND)
    assert (found.anywhere, found.owners) == (("0.0.0.0/0",), (SG, OTHER))
    assert read_reach(own, frozenset({SG}), Direction.OUTBOUND).anywhere == ()


def test_a_prefix_list_stands_for_its_entries_and_one_not_read_is_named() -> None:
    own = [group(SG, ranges(lists=(LIST,)))]
    entries = (PrefixList(list_id=LIST, cidrs=("0.0.0.0/0",)),)

    whole = read_reach(own, frozenset({SG}), Direction.OUTBOUND, entries)
    blind = read_reach(own, frozenset({SG}), Direction.OUTBOUND)

    assert (whole.anywhere, whole.lists, whole.unread) == (("0.0.0.0/0",), (LIST,), ())
    assert (blind.anywhere, blind.lists, blind.unread) == ((), (), (LIST,))
    assert prefix_lists_of(own) == (LIST,)


def test_a_prefix_list_does_not_replace_the_group_and_its_ranges_are_told() -> None:
    entries = (PrefixList(list_id=LIST, cidrs=("10.0.0.0/8",)),)

    found = read_direction(
        [group(SG, ranges(lists=(LIST,)))], [frozenset({SG})], Direction.INBOUND, entries
    )

    assert found.is_open is False
    assert f"{LIST} (10.0.0.0/8) does not replace the self-reference" in found.near[0]


def test_a_group_that_was_not_read_leaves_the_reach_open() -> None:
    found = read_reach([group(SG)], frozenset({SG, OTHER}), Direction.OUTBOUND)
    assert found.unread == (OTHER,)

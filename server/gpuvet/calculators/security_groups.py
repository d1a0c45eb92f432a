"""Do security groups let EFA traffic pass between nodes (preflight_checks P7). Pure.

EFA's own protocol is neither TCP nor UDP, and its traffic is matched by group: only a rule for
all traffic (IpProtocol -1) from or to a group that the nodes carry lets it pass. Ranges and
prefix lists do not replace it. Network ACLs are not evaluated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from itertools import product

from gpuvet.model.network import GroupPair, Permission, PrefixList, SecurityGroup
from gpuvet.report.words import some


class Direction(StrEnum):
    """Which list of rules."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"


@dataclass(frozen=True, slots=True)
class RuleReading:
    """Whether one direction is open between all nodes.

    Attributes:
        direction: Inbound or outbound.
        is_open: None where a group that could hold the rule was not read.
        rules: The pairs (owner, named group) that open it, e.g. a group and itself.
        near: What is there instead, and why it is not enough; one sentence each.
        groups: The groups that the nodes carry.
    """

    direction: Direction
    is_open: bool | None
    rules: tuple[tuple[str, str], ...] = ()
    near: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def is_cross(self) -> bool:
        """Say whether only rules between different groups open it, none of a group to itself."""
        return bool(self.rules) and all(owner != named for owner, named in self.rules)


def read_direction(
    groups: Sequence[SecurityGroup],
    carried: Iterable[frozenset[str]],
    direction: Direction,
    lists: Sequence[PrefixList] = (),
) -> RuleReading:
    """Return whether every interface may talk to every other one, itself included.

    Args:
        groups: As read; one that is carried and not among them is unknown.
        carried: The set of groups of each EFA interface; equal sets may be given once.
        direction: Which list of rules to look at.
        lists: Prefix lists as read, to say what a rule that names one covers.
    """
    sets = sorted({one for one in carried if one}, key=sorted)
    names = tuple(sorted(frozenset[str]().union(*sets)))
    known = {one.group_id: one for one in groups}
    pairs = {
        (owner, pair.group_id)
        for owner, one in known.items()
        if owner in names
        for rule in _rules(one, direction) or ()
        if _is_all_traffic(rule)
        for pair in rule.pairs
        if pair.group_id in names and _is_own(pair, one)
    }
    closed = [
        (one, other)
        for one, other in product(sets, repeat=2)
        if not any(owner in one and named in other for owner, named in pairs)
    ]
    if not sets:
        return RuleReading(direction, None, groups=names)
    if not closed:
        return RuleReading(direction, True, tuple(sorted(pairs)), groups=names)
    unread = any(
        (found := known.get(name)) is None or _rules(found, direction) is None
        for one, _ in closed
        for name in one
    )
    entries = {one.list_id: one.cidrs for one in lists}
    near = tuple(dict.fromkeys(_near(known, names, direction, entries)))
    return RuleReading(direction, None if unread else False, tuple(sorted(pairs)), near, names)


@dataclass(frozen=True, slots=True)
class Reach:
    """Where all traffic of an interface may go, by address.

    Attributes:
        anywhere: 0.0.0.0/0, ::/0 or both, where the ranges of all rules together cover them.
        owners: The groups whose rules name ranges for all traffic.
        lists: Prefix lists among them that were read.
        unread: Groups and prefix lists that were not.
    """

    anywhere: tuple[str, ...]
    owners: tuple[str, ...]
    lists: tuple[str, ...]
    unread: tuple[str, ...]


def read_reach(
    groups: Sequence[SecurityGroup],
    carried: frozenset[str],
    direction: Direction,
    lists: Sequence[PrefixList] = (),
) -> Reach:
    """Return how far all traffic reaches by address: rules of all groups of an interface add up.

    Args:
        groups: As read; one that is carried and not among them is unknown.
        carried: The groups of one interface.
        direction: Which list of rules to look at.
        lists: Prefix lists as read.
    """
    known = {one.group_id: one for one in groups}
    entries = {one.list_id: one.cidrs for one in lists}
    cidrs: list[str] = []
    owners: list[str] = []
    named: list[str] = []
    unread: list[str] = []
    for name in sorted(carried):
        group = known.get(name)
        rules = _rules(group, direction) if group is not None else None
        if rules is None:
            unread.append(name)
        for rule in rules or ():
            if not _is_all_traffic(rule) or not (rule.cidrs or rule.prefix_lists):
                continue
            owners.append(name)
            cidrs += rule.cidrs
            named += rule.prefix_lists
    for one in named:
        if one in entries:
            cidrs += entries[one]
        else:
            unread.append(one)
    told = tuple(dict.fromkeys(one for one in named if one in entries))
    once = (tuple(dict.fromkeys(owners)), told, tuple(dict.fromkeys(unread)))
    return Reach(_anywhere(cidrs), *once)


def _anywhere(cidrs: Iterable[str]) -> tuple[str, ...]:
    """Return which of the two address families the ranges cover whole, also in halves."""
    v4: list[IPv4Network] = []
    v6: list[IPv6Network] = []
    for text in cidrs:
        try:
            network = ip_network(text, strict=False)
        except ValueError:
            continue
        if isinstance(network, IPv4Network):
            v4.append(network)
        else:
            v6.append(network)
    whole4 = (str(one) for one in collapse_addresses(v4) if one.prefixlen == 0)
    whole6 = (str(one) for one in collapse_addresses(v6) if one.prefixlen == 0)
    return (*whole4, *whole6)


def prefix_lists_of(groups: Iterable[SecurityGroup]) -> tuple[str, ...]:
    """Return every prefix list that a rule of these groups names."""
    rules = (rule for one in groups for way in (one.inbound, one.outbound) for rule in way or ())
    return tuple(sorted({name for rule in rules for name in rule.prefix_lists}))


def _rules(group: SecurityGroup, direction: Direction) -> tuple[Permission, ...] | None:
    return group.inbound if direction is Direction.INBOUND else group.outbound


def _is_all_traffic(rule: Permission) -> bool:
    return rule.protocol == "-1" and rule.from_port in {None, -1} and rule.to_port in {None, -1}


def _is_own(pair: GroupPair, group: SecurityGroup) -> bool:
    """Say whether a pair names a group of the same account over no peering that is down."""
    same = pair.user_id is None or group.owner is None or pair.user_id == group.owner
    return same and pair.peering_status in {None, "active"}


def _near(
    known: dict[str, SecurityGroup],
    names: Sequence[str],
    direction: Direction,
    entries: Mapping[str, tuple[str, ...]],
) -> Iterator[str]:
    """Yield what a reader might take for the rule, and why it is none."""
    for name in names:
        group = known.get(name)
        rules = _rules(group, direction) if group else None
        if rules is None:
            yield f"{name}: its {direction} rules were not read"
        elif not rules:
            yield f"{name} has no {direction} rule at all"
        for rule in rules or ():
            yield from _not_enough(name, names, direction, rule, entries)


def _not_enough(
    name: str,
    names: Sequence[str],
    direction: Direction,
    rule: Permission,
    entries: Mapping[str, tuple[str, ...]],
) -> Iterator[str]:
    ports = _ports(rule)
    inside = [pair.group_id for pair in rule.pairs if pair.group_id in names]
    ranges = (*rule.cidrs, *(_list_words(one, entries.get(one)) for one in rule.prefix_lists))
    if not _is_all_traffic(rule) and (inside or _is_wide(rule)):
        where = ", ".join((*inside, *ranges))
        yield (
            f"{name} {direction} {rule.protocol} {ports} for {where} is not enough: "
            "EFA traffic is neither TCP nor UDP"
        )
    elif _is_all_traffic(rule) and ranges:
        way = "from" if direction is Direction.INBOUND else "to"
        yield (
            f"{name} {direction} all traffic {way} {', '.join(ranges)} does not replace the "
            "self-reference: EFA traffic is matched by group"
        )
    for pair in rule.pairs:
        if pair.group_id not in names and _is_all_traffic(rule):
            yield (
                f"{name} {direction} all traffic names {pair.group_id}, "
                "which the nodes do not carry"
            )


def _list_words(name: str, cidrs: Sequence[str] | None) -> str:
    if cidrs is None:
        return name
    return f"{name} ({some(cidrs, 3) or 'empty'})"


def _is_wide(rule: Permission) -> bool:
    """Say whether a TCP or UDP rule opens so many ports that it looks like all traffic."""
    low, high = rule.from_port, rule.to_port
    return low is not None and high is not None and low <= 1 and high >= 65535


def _ports(rule: Permission) -> str:
    if rule.from_port is None:
        return "(all ports)"
    return f"{rule.from_port}-{rule.to_port}"

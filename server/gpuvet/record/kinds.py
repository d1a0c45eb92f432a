"""Identifiers that show by their form: how each is found, and what may stand in its place. Pure."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from types import MappingProxyType
from typing import NamedTuple

from gpuvet.record.ordered import DIGITS, HEX, UPPER, UPPER_HEX, Place, Word, fixed, of_kind


class Kind(StrEnum):
    """What an identifier is."""

    RESOURCE = "resource"  # i-…, subnet-…, fs-…, and whatever AWS names so
    UUID = "uuid"  # GPUs, events, queries, workspaces
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    MAC = "mac"
    PRINCIPAL = "principal"  # AROA…, AIDA…
    DIGEST = "digest"  # 32 and more hexadecimal digits
    NUMBER = "number"  # accounts and serial numbers, known from where they stood


# Ids of eight digits are older than those of seventeen; a date looks like one, so only known kinds.
_SHORT = (
    "i|eni|subnet|vpc|sg|sgr|fs|cr|crf|cb|cbe|vol|ami|rtb|igw|nat|acl|snap|eipalloc|eipassoc|r|vpce"
    "|lt|tgw|pcx|dopt|eigw|vgw|lgw|eni-attach|rtbassoc|fsmt|svm|fsvol|plcr|h|aki|ari|sir|sfr|fleet"
)
# What may stand right before an identifier though it ends in a letter or a digit: percent and
# backslash escapes, colours of a terminal, control characters as rsyslog writes them.
_ESCAPED = (
    r"(?<=\\[nrtbf])|(?<=[%$][23][0-9A-Fa-f])|(?<=[%$]25[23][0-9A-Fa-f])|(?<=\[0m)|(?<=\[[0-9]{2}m)"
    r"|(?<=\[[0-9];[0-9]{2}m)|(?<=\[[0-9]{2};[0-9]{2}m)|(?<=\#0[0-9]{2})"
)


def _after(characters: str) -> str:
    return rf"(?:(?<![{characters}])|{_ESCAPED})"


_PATTERN = re.compile(
    rf"""
      (?P<uuid>{_after("0-9A-Fa-f")}[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}
        -[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{12}}(?![0-9A-Fa-f]))
    | (?P<resource>{_after("0-9A-Za-z")}(?:(?:{_SHORT})-[0-9a-f]{{4,17}}(?![0-9A-Za-z])
        | (?<!\\)[a-z][a-z0-9]{{0,30}}-[0-9a-f]{{17}}(?![0-9A-Za-z])))
    | (?P<mac>{_after("0-9A-Za-z:")}(?:[0-9a-f]{{2}}:){{5}}[0-9a-f]{{2}}(?![0-9A-Za-z:]))
    | (?P<ipv6>{_after("0-9A-Za-z:.")}(?=[0-9A-Fa-f]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{{9,39}}
        (?![0-9A-Za-z:_]))
    | (?P<dashed>(?:(?<![0-9])(?<![0-9]-)|(?<=ec2-))[0-9]{{1,3}}(?:-[0-9]{{1,3}}){{3}}(?![0-9]))
    | (?P<ipv4>(?:(?<![0-9.])(?<![0-9]\.)|{_ESCAPED})[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}
        (?![0-9])(?!\.[0-9]))
    | (?P<principal>{_after("0-9A-Z")}(?:AIDA|AROA|AGPA|ANPA|ANVA|AIPA|ASCA|APKA|ABIA|ACCA)
        [A-Z0-9]{{12,28}}(?![0-9A-Z]))
    | (?P<digest>{_after("0-9A-Za-z")}(?:[0-9a-f]{{32,128}}|[0-9A-F]{{32,64}})(?![0-9A-Za-z]))
    | (?P<number>{_after("0-9")}[0-9]{{8,20}}(?![0-9]))
    """,
    re.VERBOSE,
)
_RESOURCE_DIGITS = (8, 17)  # fewer are a shortened one
# An address that no machine of the customer's has, or that is the same everywhere.
_EVERYBODYS = frozenset(
    {".".join("0000"), "255.255.255.255", "127.0.0.1", "169.254.169.254", "127.0.0.53"}
)
_VERSION_BEFORE = re.compile(
    r"(?i)(?:version|driver|release|firmware|vbios|nccl|cuda|cudnn|tensorrt|nvlsm)[ :=v_-]{0,3}$"
)


# The private ranges as a whole are nobody's.
_RANGES = frozenset({"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"})
_MASK = re.compile(r"/(3[0-2]|[12]?[0-9])(?![0-9.])")


class Seen(NamedTuple):
    """One identifier in a text."""

    kind: Kind
    value: str  # in the spelling that its kind is known by
    start: int
    end: int
    is_dashed: bool = False  # an address written ip-10-0-3-17


def seen_in(text: str) -> list[Seen]:
    """Return everything in a text that has the form of an identifier, from left to right."""
    found: list[Seen] = []
    for match in _PATTERN.finditer(text):
        group = match.lastgroup or ""
        is_dashed = group == "dashed"
        kind = Kind.IPV4 if is_dashed else Kind(group)
        value = match[0].replace("-", ".") if is_dashed else match[0]
        if _IS_ONE.get(kind, _always)(value) and not _is_range(value, text, match.end()):
            found.append(Seen(kind, value, match.start(), match.end(), is_dashed))
    return found


def _is_range(value: str, text: str, end: int) -> bool:
    mask = _MASK.match(text, end)
    return mask is not None and value + mask[0] in _RANGES


def block_of(seen: Seen, text: str) -> int | None:
    """Return how many bits of an address name a block, where it is written as one; else None."""
    mask = _MASK.match(text, seen.end)
    if seen.kind is not Kind.IPV4 or mask is None or mask[1] == "32":
        return None
    bits = int(mask[1])
    is_block = int(IPv4Address(seen.value)) & ((1 << 32 - bits) - 1) == 0
    return bits if is_block else None


def is_proven(seen: Seen, text: str) -> bool:
    """Say whether a form alone makes an identifier: a number never does, an address mostly.

    Four numbers with dots may also be a version, and four with dashes anything; where one stands
    after a word for versions it is none.
    """
    if seen.kind is Kind.NUMBER:
        return False
    if seen.kind is Kind.RESOURCE:
        return len(seen.value.rpartition("-")[2]) in _RESOURCE_DIGITS
    if seen.kind is not Kind.IPV4:
        return True
    before = text[max(0, seen.start - 16) : seen.start]
    if seen.is_dashed:
        return before.endswith(("ip-", "ec2-"))
    return not seen.value.startswith("0.") and _VERSION_BEFORE.search(before) is None


def _always(_value: str) -> bool:
    return True


def _is_ipv4(value: str) -> bool:
    try:
        IPv4Address(value)  # refuses leading zeros
    except AddressValueError:
        return False
    return value not in _EVERYBODYS


def _is_ipv6(value: str) -> bool:
    try:
        IPv6Address(value)
    except AddressValueError:
        return False
    return sum(bool(group) for group in value.split(":")) > 2


_IS_ONE: Mapping[Kind, Callable[[str], bool]] = MappingProxyType(
    {Kind.IPV4: _is_ipv4, Kind.IPV6: _is_ipv6}
)


def word_of(kind: Kind, value: str, block: int | None = None) -> Word:
    """Return an identifier as a word: what may stand at each place of it.

    Args:
        kind: Its kind.
        value: The identifier.
        block: Of an address that names a block, how many bits do: numbers that they do not fill
            stay, so that it remains a block.
    """
    if block is None:
        return _WORDS[kind](value)
    kept = len(".".join(value.split(".")[: block // 8]))
    return (*_WORDS[kind](value)[:kept], *fixed(value[kept:]))


def _resource(value: str) -> Word:
    prefix, dash, digits = value.rpartition("-")
    head = fixed(digits[0]) if len(digits) == 17 and digits[0] == "0" else of_kind(digits[0], HEX)
    return (*fixed(prefix + dash), *head, *of_kind(digits[1:], HEX))


_VERSION, _VARIANT = 14, 19  # places of a UUID that say how it was made


def _uuid(value: str) -> Word:
    whole = _hexadecimal(value)
    return tuple(
        Place(place.character, place.character) if at in {_VERSION, _VARIANT} else place
        for at, place in enumerate(whole)
    )


def _hexadecimal(value: str) -> Word:
    return of_kind(value, UPPER_HEX if value.upper() == value else HEX)


def _principal(value: str) -> Word:
    return (*fixed(value[:4]), *(Place(c, DIGITS if c in DIGITS else UPPER) for c in value[4:]))


def _number(value: str) -> Word:
    return of_kind(value, DIGITS)


def _mac(value: str) -> Word:
    return (*fixed(value[:2]), *of_kind(value[2:], HEX))


def _ipv6(value: str) -> Word:
    """Keep the first group, which says how far the address reaches, and every group's length."""
    first, colon, rest = value.partition(":")
    return (*fixed(first + colon), *(part for group in _groups(rest) for part in group))


def _groups(text: str) -> list[Word]:
    groups = re.findall(r":|[^:]+", text)
    return [
        (
            Place(one[0], one[0] if one[0] in ":0" else _nonzero(one)),
            *of_kind(one[1:], _hex_of(one)),
        )
        for one in groups
    ]


def _hex_of(group: str) -> str:
    return UPPER_HEX if group.upper() == group and not group.isdigit() else HEX


def _nonzero(group: str) -> str:
    return _hex_of(group)[1:]


def _ipv4(value: str) -> Word:
    """Keep private ranges private, every number's length, and every number below 256."""
    numbers = value.split(".")
    kept = {"10": 1, "192": 2, "172": 2, "169": 2, "100": 2, "127": 4}.get(numbers[0], 0)
    if not IPv4Address(value).is_private and numbers[0] != "100":
        kept = 0
    word: list[Place] = []
    for at, number in enumerate(numbers):
        word += fixed(number) if at < kept else _octet(number)
        word += fixed(".") if at < 3 else ()
    return tuple(word)


def _octet(number: str) -> Word:
    if len(number) == 1:
        return (Place(number, DIGITS if number == "0" else DIGITS[1:]),)
    if len(number) == 2:
        return (Place(number[0], DIGITS[1:]), Place(number[1], DIGITS))
    if number[0] == "1":
        return (*fixed("1"), Place(number[1], DIGITS), Place(number[2], DIGITS))
    return (*fixed(number[:2]), Place(number[2], DIGITS[:6] if number[1] == "5" else DIGITS))


_WORDS: Mapping[Kind, Callable[[str], Word]] = MappingProxyType(
    {
        Kind.RESOURCE: _resource,
        Kind.UUID: _uuid,
        Kind.IPV4: _ipv4,
        Kind.IPV6: _ipv6,
        Kind.MAC: _mac,
        Kind.PRINCIPAL: _principal,
        Kind.DIGEST: _hexadecimal,
        Kind.NUMBER: _number,
    }
)

"""ANS1: ids, hosts, regions and names of a draft that no evidence holds."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from gpuvet.checks.answer.rule import Hit, Reading

_HEX = r"[0-9a-fA-F]"
_PREFIXES = (
    r"i|mi|fs|cr|cb|cbr|crf|vol|snap|eni|subnet|sg|sgr|vpc|rtb|ami|lt|eipalloc|igw|nat|vpce|acl"
    r"|pg|r|ev|h|fleet|sir|asg|lb|ng"
)
# Anything that is an id in form, right length or not; a stream that holds one is a name of its own.
_ID = re.compile(
    rf"(?<![\w./-])(?:(?:{_PREFIXES})-[0-9a-f]{{6,20}}|[a-z]{{1,14}}-(?:[0-9a-f]{{17}}|[0-9a-f]{{8}}))"
    r"(?![\w/]|[.-]\w|…|\.\.\.|\*)"
)
_CUT = re.compile(
    rf"(?<![\w./-])(?P<head>(?:{_PREFIXES})-[0-9a-f]{{2,16}})(?:…|\.{{2,3}}|\*{{1,3}})"
    r"(?P<tail>[0-9a-f]{0,12})(?![\w/])"
)
_PCI = rf"(?<![\w:]){_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}}"
_TYPE = r"(?<![\w.-])(?:ml\.)?[a-z]\w{0,9}(?:-[a-z0-9]+)?\.\d{0,3}x?large(?!\w)"
_REGION = re.compile(
    r"(?<![\w-])(?:us|eu|ap|sa|ca|me|af|il|mx)-(?:gov-)?[a-z]{4,9}-\d[a-z]?(?![\w.-]*\w)"
)
_OTHERS = (
    ("PCI address", re.compile(rf"{_PCI}\.[0-7](?![\w:])|{_PCI}(?![\w:.])|{_PCI}(?=\.(?:\s|$))")),
    ("UUID", re.compile(rf"\b(?:GPU-)?{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}\b")),
    ("host", re.compile(r"(?<![\w.-])ip(?:-\d{1,3}){4}(?![\w-]|\.[\w-]*i-)")),
    (
        "host",
        re.compile(r"(?<![\w.-])[a-z][a-z0-9]*-(?:st|dy)-[a-z0-9-]*[a-z0-9]-\d+(?![\w-]|\.i-)"),
    ),
    ("address", re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?(?![\w.]*\d)")),
    ("instance type", re.compile(_TYPE)),
    ("region", _REGION),
)
_NAMED = re.compile(
    r"\b(?:cluster|reservation|block|plan|node|host|instance group|queue|partition|file system|pod"
    r"|job|workspace|nodegroup|node group)\s+(?:named |called )?\Z",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z0-9][\w./:-]{1,100}")
# Networks that mean everywhere or nowhere, and the metadata service.
_EVERYWHERE = re.compile(r"0\.0\.0\.0(?:/0)?|127\.0\.0\.1|169\.254\.169\.254|10\.0\.0\.0/8")


class _Name(NamedTuple):
    shown: str
    start: int
    kind: str


def id_not_in_evidence(reading: Reading) -> Iterator[Hit]:
    """An id, host, PCI address, instance type or region that stands in no evidence."""
    told: set[str] = set()
    for name in _names(reading):
        if name.shown in told or _is_there(reading, name):
            continue
        told.add(name.shown)
        near = _nearest(reading, name.shown)
        tail = f"; the nearest there is {near}" if near else ""
        yield Hit(name.start, name.shown, f"{name.kind} {name.shown} is in no evidence{tail}")


def id_cut_short(reading: Reading) -> Iterator[Hit]:
    """An id that is only ever shown in part."""
    words = reading.draft.words
    told: set[str] = set()
    for match in _CUT.finditer(words):
        head, tail = match["head"], match["tail"]
        whole = [i for i in reading.backing.ids if i.startswith(head) and i.endswith(tail)]
        if not whole:
            yield Hit(match.start(), match[0], f"no id of the evidence is cut to {match[0]}")
        elif match[0] not in told and (len(whole) > 1 or whole[0] not in words):
            told.add(match[0])
            meant = whole[0] if len(whole) == 1 else f"one of {len(whole)} ids"
            yield Hit(match.start(), match[0], f"{match[0]} is {meant}, never written out here")


def _names(reading: Reading) -> Iterator[_Name]:
    words = reading.draft.words
    for match in _ID.finditer(words):
        yield _Name(match[0], match.start(), "id")
    for kind, pattern in _OTHERS:
        for match in pattern.finditer(words):
            yield _Name(match[0], match.start(), kind)
    for span in reading.draft.code_spans:
        token = words[span.start : span.end]
        before = words[max(0, span.start - 30) : span.start]
        if _TOKEN.fullmatch(token) and (noun := _NAMED.search(before)):
            yield _Name(token, span.start, noun[0].strip().lower())


def _is_there(reading: Reading, name: _Name) -> bool:
    backing, shown = reading.backing, name.shown
    if backing.has_name(shown) or _EVERYWHERE.fullmatch(shown):
        return True
    if name.kind == "PCI address":
        return backing.has(shown.lower()) or backing.has(shown.lower().rpartition(".")[0] or shown)
    if name.kind in {"host", "UUID"}:
        return backing.has(shown.lower())
    if name.kind == "instance type":
        return backing.has(shown.removeprefix("ml.")) or not backing.has("large")
    if name.kind == "region":
        return backing.has(shown) or not _names_a_region(reading)
    return name.kind not in {"id", "address"} and backing.has(shown)


def _names_a_region(reading: Reading) -> bool:
    return any(_REGION.search(text) for text in reading.backing.texts)


def _nearest(reading: Reading, shown: str) -> str | None:
    kin = [i for i in reading.backing.ids if i.partition("-")[0] == shown.partition("-")[0]]
    return next(iter(get_close_matches(shown, kin, n=1, cutoff=0.75)), None)

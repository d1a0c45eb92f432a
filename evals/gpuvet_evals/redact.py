"""Identifiers replaced by stable stand-ins, and put back from a map that stays at home. Pure.

One original always becomes the same stand-in, over files and over runs that share the map.
Stand-ins are documentation ids where any are left, so that patterns still match and the
publisher's scan passes. Secrets are masked for good: the map never holds one.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpuvet.model.base import Value
from gpuvet.parse.accounts import proved_accounts
from gpuvet_evals.audit.leaks import ALLOWED_ACCOUNTS, ALLOWED_INSTANCES
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.journal import mapping
from gpuvet_evals.untrusted import mask

MAP_FORM = "gpuvet-evals/redaction/1"
_AWS_OWNED = frozenset({"753240598075", "602401143452"})  # allowed, and real accounts of AWS
_ACCOUNTS = tuple(sorted(ALLOWED_ACCOUNTS - _AWS_OWNED))
_INSTANCES = tuple(sorted(ALLOWED_INSTANCES))


@dataclass(slots=True)
class Stand:
    """One kind of identifier: how to find it, and the stand-ins in the order they are used up."""

    kind: str
    find: Callable[[str], Iterable[str]]
    stand_ins: Callable[[], Iterator[str]]
    keep: frozenset[str] = frozenset()  # documentation values that give nothing away


@dataclass
class Redactor:
    """Replaces identifiers; remembers what became what."""

    known: dict[str, str] = field(default_factory=dict[str, str])  # original to stand-in
    reserved: set[str] = field(default_factory=set[str])  # stand-ins that texts hold themselves

    def reserve(self, text: str) -> list[str]:
        """Keep stand-ins that stand in a text from being handed out; call for all texts first.

        Returns:
            Stand-ins of an earlier run that stand in this text itself: putting the originals back
            would change them too.
        """
        handed_out = set(self.known.values())
        there = {found for stand in _STANDS for found in _PLACES[stand.kind].findall(text)}
        self.reserved |= there
        return sorted(there & handed_out)

    def accounts(self, text: str) -> tuple[str, ...]:
        """Return the runs of 12 digits that a text proves to be accounts."""
        return tuple(proved_accounts(text))

    def redact(self, text: str, *, proved: Iterable[str] = ()) -> str:
        """Return the text with every identifier replaced and every secret masked.

        Args:
            text: Any text of a suite: a journal, its results, its evals.
            proved: Accounts that another file of the suite proves.
        """
        for original in (*proved_accounts(text), *proved):
            self._learn("account", original, text)
        for stand in _STANDS:
            for original in dict.fromkeys(stand.find(text)):
                self._learn(stand.kind, original, text)
        return _replaced(mask(text), self.known)

    def restore(self, text: str) -> str:
        """Return the text with the originals put back; secrets stay masked."""
        return _replaced(text, {stand_in: original for original, stand_in in self.known.items()})

    def to_json(self) -> dict[str, object]:
        """Return the map to keep at home."""
        return {"form": MAP_FORM, "originals": dict(sorted(self.known.items()))}

    def _learn(self, kind: str, original: str, text: str) -> None:
        stand = _BY_KIND[kind]
        if original in self.known or original in stand.keep:
            return
        taken = set(self.known.values())
        for stand_in in stand.stand_ins():
            if stand_in not in taken | self.reserved and stand_in not in text:
                self.known[original] = stand_in
                return


class RedactedFile(Value):
    """How many identifiers of a file were replaced."""

    name: str
    replaced: int


def read_map(text: str) -> Redactor:
    """Return the redactor of a stored map.

    Raises:
        UnreadableTree: It is no map of ours.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableTree(f"the map is no JSON: {error}") from error
    fields = mapping(value)
    if fields.get("form") != MAP_FORM:
        raise UnreadableTree(f"the map has form {fields.get('form')!r}; {MAP_FORM!r} is known")
    originals: Mapping[str, object] = mapping(fields.get("originals"))
    return Redactor({original: str(stand_in) for original, stand_in in originals.items()})


def _replaced(text: str, changes: Mapping[str, str]) -> str:
    """Replace whole names in one pass, so that a stand-in is never replaced again."""
    present = [name for name in changes if name in text]
    if not present:
        return text
    names = "|".join(re.escape(name) for name in sorted(present, key=len, reverse=True))
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])")
    return pattern.sub(lambda match: changes[match[0]], text)


def _numbered(template: str, first: int = 1, last: int = 9999) -> Callable[[], Iterator[str]]:
    return lambda: (template.format(number) for number in range(first, last + 1))


def _listed(values: tuple[str, ...], template: str) -> Callable[[], Iterator[str]]:
    """Documentation ids first; then numbered ones, as the published tool writes them."""

    def stand_ins() -> Iterator[str]:
        yield from values
        yield from (template.format(number) for number in range(1, 10_000))

    return stand_ins


def _addresses() -> Iterator[str]:
    """Yield the addresses of RFC 5737, which are nobody's."""
    for network in ("192.0.2", "198.51.100", "203.0.113"):
        yield from (f"{network}.{host}" for host in range(1, 255))


def _hosts() -> Iterator[str]:
    for address in _addresses():
        yield f"ip-{address.replace('.', '-')}"


def _found(pattern: str) -> Callable[[str], Iterable[str]]:
    compiled = re.compile(pattern)
    return compiled.findall


def _real_addresses(text: str) -> Iterator[str]:
    for shown in _ADDRESS.findall(text):
        parts = [int(part) for part in shown.split(".")]
        if max(parts) <= 255 and parts[0] not in {0, 127} and not shown.startswith(_NOBODYS):
            yield shown


# Names that are words of every text about a cluster.
_COMMON_WORDS = frozenset(
    {"admin", "administrator", "ec2-user", "root", "service", "slurm", "system", "ubuntu", "user"}
)
_NOBODYS = ("192.0.2.", "198.51.100.", "203.0.113.", "169.254.169.254")
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_QUOTED = r'\\*"\s*:\s*\\*"'  # between key and value, in JSON text of any depth
_STANDS = (
    Stand("account", lambda _: (), _listed(_ACCOUNTS, "012345678901_{}"), ALLOWED_ACCOUNTS),
    Stand(
        "instance",
        _found(r"(?<![0-9A-Za-z])i-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9a-zA-Z-])"),
        _listed(_INSTANCES, "i-1234567890abcdef0_{}"),
        ALLOWED_INSTANCES,
    ),
    Stand(
        "key id", _found(r"\b(?:AROA|AIDA|ANPA)[A-Z0-9]{16,17}\b"), _numbered("AROA_REDACTED_{:02}")
    ),
    Stand("user", _found(r":user/([A-Za-z0-9+=,.@_-]{2,64})"), _numbered("user-{}"), _COMMON_WORDS),
    Stand(
        "session",
        _found(r":assumed-role/[\w+=,.@-]+/([A-Za-z0-9+=,.@_-]{2,64})"),
        _numbered("session-{}"),
        _COMMON_WORDS,
    ),
    Stand(
        "user name",
        _found(rf'(?i:user_?name){_QUOTED}([^"\\]{{2,64}})'),
        _numbered("user-{}"),
        _COMMON_WORDS,
    ),
    Stand("key pair", _found(rf'Key(?:Pair)?Name{_QUOTED}([^"\\]{{2,128}})'), _numbered("key-{}")),
    Stand("address", _real_addresses, _addresses),
    Stand("host", _found(r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b"), _hosts),
    Stand(
        "public name",
        _found(r"\bec2-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b"),
        lambda: (host.replace("ip-", "ec2-") for host in _hosts()),
    ),
    Stand(
        "MAC",
        _found(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])"),
        _numbered("00:00:5e:00:53:{:02x}", 1, 255),
    ),
)
# What a kind's stand-ins look like.
_PLACES = {
    "account": re.compile(r"(?<!\d)(?:\d{12}(?!\d)|012345678901_\d+)"),
    "instance": re.compile(r"i-[0-9a-f]{17}(?:_\d+)?"),
    "key id": re.compile(r"AROA_REDACTED_\d+"),
    "user": re.compile(r"\buser-\d+\b"),
    "session": re.compile(r"\bsession-\d+\b"),
    "user name": re.compile(r"\buser-\d+\b"),
    "key pair": re.compile(r"\bkey-\d+\b"),
    "address": _ADDRESS,
    "host": re.compile(r"\bip-\d+-\d+-\d+-\d+\b"),
    "public name": re.compile(r"\bec2-\d+-\d+-\d+-\d+\b"),
    "MAC": re.compile(r"00:00:5e:00:53:[0-9a-f]{2}"),
}
_BY_KIND = {stand.kind: stand for stand in _STANDS}

"""What of a recording names somebody or something: collected before anything is replaced. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpuvet.record.kinds import Kind, Seen, block_of, is_proven, seen_in
from gpuvet.record.names import words_of
from gpuvet.record.vocabulary import is_field_word, is_generic, own_words, public_end
from gpuvet.record.walk import Role

_ARN = re.compile(
    r"arn:aws[a-z-]*:(?P<service>[a-z0-9-]+):[a-z0-9-]*:(?P<account>\d{12})?:(?P<rest>[^\s\"'<>|,;)\]}]+)"
)
# Resources of an account's service that are the service's own words.
_PUBLIC_RESOURCES = frozenset({"servicequotas", "automate"})
_ACCOUNT_BEFORE = re.compile(
    r"(?i)(?:account|owner|principal|aws)[\w ]{0,12}[\"']?\s{0,3}[:=#(]?\s{0,3}[\"']?$"
)
_REGISTRY = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr[\w.-]*\.amazonaws\.com(?:\.cn)?/(?P<name>[\w./-]+)"
    r"(?::(?P<tag>[\w.-]{1,128}))?"
)
_S3 = re.compile(r"s3[an]?://(?P<path>[^\s\"'<>|,;)\]}]+)")
_EMAIL = re.compile(
    r"(?<![\w.+-])(?P<user>[\w.+-]{1,64})@(?P<host>(?:[\w-]+\.)+[A-Za-z]{2,24})(?![\w-])"
)
_HOST = re.compile(
    r"(?<![\w.@/-])(?P<host>(?:[A-Za-z0-9_](?:[\w-]*[A-Za-z0-9])?\.)+"
    r"(?:internal|local|com|net|org|io|ai|dev|cloud|corp|lan|edu|gov|mil|int|localdomain"
    r"))(?![\w-])"
)
_URL = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,15}://(?:[^\s/@]*@)?(?P<host>[\w.-]+)")
_HOME = re.compile(r"(?:/home|/Users|/fsx/home|/fsx/users)/(?P<user>[\w.-]{2,64})")
_SERIAL = re.compile(
    r"(?i)serial(?:[ _-]?(?:number|no))?[\"'\\]{0,3}\s*[:=]\s*[\"'\\]{0,3}(\d{8,20})\b"
)
_HEADER = re.compile(
    r"^(?:<\d{1,3}>\d?\s*)?(?:[A-Z][a-z]{2}\s{1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d:.,+Z-]*)\s(?P<host>[A-Za-z][\w.-]{2,63})"
    r"\s[\w./()-]+(?:\[\d+\])?:?\s",
    re.MULTILINE,
)
# A Lustre file system by its mount name: 10.0.3.4@tcp:/abcdefgh.
_MOUNT = re.compile(r"@(?:tcp|efa|o2ib)\d{0,2}:/(?P<user>[a-z0-9]{8})(?![A-Za-z0-9])")
_ACCOUNT_DIGITS = 12
_SHORTEST = 3
_LONGEST_KNOWN = 160
_QUESTION_WORD = re.compile(r"[^\W_](?:[\w./-]*[^\W_])?")


@dataclass
class Sightings:
    """Identifiers by kind, and names."""

    values: dict[Kind, set[str]] = field(default_factory=dict[Kind, set[str]])
    blocks: dict[str, int] = field(default_factory=dict[str, int])  # by address: bits of the block
    names: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])
    words: set[str] = field(default_factory=set[str])
    _learned: set[tuple[str, Role]] = field(default_factory=set[tuple[str, Role]])

    def learn(self, text: str, role: Role) -> None:
        """Collect what one string holds.

        Args:
            text: Any string of a reply or a question.
            role: Whether it stands where a name does.
        """
        if (text, role) in self._learned:
            return
        if len(text) <= _LONGEST_KNOWN:
            self._learned.add((text, role))
        for seen in seen_in(text):
            if is_proven(seen, text) or _is_account(seen, text, role):
                self._add(seen.kind, seen.value)
                self._learn_block(seen, text)
        self.words.update(word.lower() for word in words_of(text))
        self._learn_structures(text)
        if role is Role.NAME:
            self._learn_name(text)
        elif role is Role.PATH or (role is Role.KEY and not _is_own(text)):
            self._learn_path(text)

    def learn_question(self, text: str) -> None:
        """Collect from somebody's words whatever holds a word that we do not know."""
        self.learn(text, Role.TEXT)
        for found in _QUESTION_WORD.finditer(text):
            if any(_is_foreign(word) for word in words_of(found[0])):
                self._learn_name(found[0])

    def learn_account(self, account: str | None) -> None:
        """Add an account that is known as one."""
        if account:
            self._add(Kind.NUMBER, account)

    def _add(self, kind: Kind, value: str) -> None:
        self.values.setdefault(kind, set()).add(value)

    def _learn_block(self, seen: Seen, text: str) -> None:
        bits = block_of(seen, text)
        if bits is not None:
            self.blocks[seen.value] = min(bits, self.blocks.get(seen.value, bits))

    def _learn_structures(self, text: str) -> None:
        """Collect names from the forms that hold some: ARNs, images, buckets, mail, hosts."""
        if "arn:aws" in text:
            for arn in _ARN.finditer(text):
                self._learn_arn(arn)
        if ".dkr.ecr" in text:
            for image in _REGISTRY.finditer(text):
                self._learn_image(image)
        for bucket in _S3.finditer(text) if "://" in text else ():
            self._learn_path(bucket["path"])
        for pattern in (_URL, _EMAIL, _HOST, _HEADER):
            for found in pattern.finditer(text):
                self._learn_host(found["host"])
        for pattern in (_EMAIL, _HOME, _MOUNT):
            for found in pattern.finditer(text):
                self._learn_name(found["user"])
        for serial in _SERIAL.finditer(text):
            self._add(Kind.NUMBER, serial[1])

    def _learn_image(self, image: re.Match[str]) -> None:
        self.learn_account(image["account"])
        self._learn_path(image["name"])
        if image["tag"]:
            self._learn_name(image["tag"])

    def _learn_arn(self, arn: re.Match[str]) -> None:
        self.learn_account(arn["account"])
        if arn["service"] in _PUBLIC_RESOURCES:
            return
        if arn["account"] is None and arn["service"] not in {"s3", "health"}:
            return
        rest = arn["rest"].rstrip(":.*")
        kind, _, path = rest.partition("/") if arn["service"] != "logs" else rest.partition(":")
        if not path:
            kind, _, path = rest.partition(":")
        parts = [part for part in re.split(r"[/:]", path or kind) if part]
        if arn["service"] == "s3":
            parts = [part for part in re.split(r"[/:]", rest) if part]
        elif arn["service"] == "health":
            parts = parts[-1:]
        elif kind == "addon":  # the service's name for it stands between the cluster and an id
            parts = parts[:1]
        if arn["service"] != "logs":
            for part in parts:
                self._learn_name(part)
        if arn["service"] in {"logs", "s3", "iam", "sts"}:
            self._learn_path(path)

    def _learn_host(self, host: str) -> None:
        own = host[: public_end(host)].strip(".")
        if own and not is_field_word(own):
            self._learn_name(own)
            self._learn_name(own.partition(".")[0])

    def _learn_name(self, text: str) -> None:
        if is_generic(text) or "arn:aws" in text:
            return
        own = text[: public_end(text)] if "." in text else text
        for part in _outside(own):
            words = words_of(part)
            # What is left of a name around an identifier may be a word that means nothing more.
            is_left_over = part != text and len(words) == 1 and words[0].lower() in own_words()
            if words and not is_left_over and not is_generic(part):
                self.names.add(part)

    def _learn_path(self, text: str) -> None:
        if "arn:aws" in text or "://" in text:
            return
        for part in _outside(text):
            steps = [at for at, c in enumerate(part) if c in "/:" and at]
            self.paths.update(part[:at] for at in (*steps, len(part)))


def _is_foreign(word: str) -> bool:
    """Say whether we know neither a word nor one that it begins with, as slower with slow."""
    lowered, own = word.lower(), own_words()
    starts = (lowered[:end] for end in range(_SHORTEST, len(lowered) + 1))
    return len(lowered) >= _SHORTEST and not lowered.isdigit() and own.isdisjoint(starts)


def _is_own(text: str) -> bool:
    """Say whether all words of a key are our own: one that we may look for."""
    return own_words().issuperset(word.lower() for word in words_of(text))


def _is_account(seen: Seen, text: str, role: Role) -> bool:
    if seen.kind is not Kind.NUMBER or len(seen.value) != _ACCOUNT_DIGITS:
        return False
    if role is Role.ACCOUNT:
        return True
    return _ACCOUNT_BEFORE.search(text[max(0, seen.start - 24) : seen.start]) is not None


def _outside(text: str) -> Iterator[str]:
    """Yield the parts of a name that are no identifiers by their form, where they are words."""
    done = 0
    for seen in seen_in(text):
        if seen.kind is not Kind.NUMBER or len(seen.value) == _ACCOUNT_DIGITS:
            yield from _worded(text[done : seen.start])
            done = seen.end
    yield from _worded(text[done:])


def _worded(text: str) -> Iterator[str]:
    # Quotes, escapes and control characters stand differently in JSON than in plain text.
    for part in re.split(r"[\x00-\x1f\x7f\"\\]+", text):
        if any(c.isalpha() for c in part):
            yield part

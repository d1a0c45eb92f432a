"""Ids of accounts, machines and people in text that will be published.

Nothing real may leave: whatever looks like an id must be on a list that names each invented one.
Pure, but for reading the files it is given.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gpuvet.errors import UsageError
from gpuvet.model.untyped import is_object

# Accounts that AWS's documentation and DevOps Agent's skill catalogue use for examples.
EXAMPLE_ACCOUNTS = ("111122223333", "123456789012", "012345678901")
_RESOURCE = (
    "i|fs|fsmt|cr|cb|sg|subnet|vpc|vpce|eni|ami|vol|snap|lt|rtb|acl|igw|nat|eipalloc|tgw|pcx|"
    "dopt|r|mi|pl|spot|fleet|asg"
)
_KINDS = {
    "account": re.compile(
        r"(?:arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:"
        r"|(?i:account(?:[_ -]?id)?|OwnerId)\W{1,6})(\d{12})\b"
    ),
    "resource": re.compile(rf"(?<![\w-])((?:{_RESOURCE})-[0-9a-f]{{8,17}})\b"),
    "access key": re.compile(r"\b((?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,})\b"),
    "host": re.compile(r"(?<![\w-])(ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})\b"),
    "address": re.compile(
        r"(?<![\d.])((?!(?:0|10|127|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.168|192\.0\.2"
        r"|198\.51\.100|203\.0\.113|2(?:5[5]|4\d)))(?:\d{1,3}\.){3}\d{1,3})(?![\d.]|/\d)"
    ),
    "mail": re.compile(r"\b([\w.+-]+@(?!example\.|[\w.-]*\.example\b)[\w-]+\.[a-z]{2,})\b"),
}
_SUFFIXES = frozenset({".md", ".json", ".jsonl", ".yaml", ".yml", ".py", ".txt", ".csv", ".j2"})


class Found(NamedTuple):
    """One id in a file."""

    kind: str
    identifier: str
    place: str  # path:line


def identifiers(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, id and line of everything in a text that looks like an id."""
    for number, line in enumerate(text.splitlines(), start=1):
        for kind, pattern in _KINDS.items():
            for match in pattern.finditer(line):
                if match.group(1) not in EXAMPLE_ACCOUNTS:
                    yield kind, match.group(1), number


def scan(roots: Iterable[Path], allowed: Mapping[str, str]) -> tuple[Found, ...]:
    """Return the ids below some folders that are not on the list of invented ones.

    Raises:
        UsageError: A folder is not there: what was not read is not clean.
    """
    found: list[Found] = []
    for root in roots:
        if not root.exists():
            raise UsageError(f"{root} is not there to be scanned")
        files = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
        for path in files:
            if path.suffix in _SUFFIXES:
                text = path.read_text(encoding="utf-8", errors="replace")
                found += [
                    Found(kind, one, f"{path.as_posix()}:{line}")
                    for kind, one, line in identifiers(text)
                    if one not in allowed
                ]
    return tuple(found)


def read_allowed(path: Path) -> dict[str, str]:
    """Return the invented ids of a list, each with what it is invented for.

    A JSON object by id, or text: one id a line, then a blank and the reason; lines that begin
    with # say something else.

    Raises:
        UsageError: An id has no reason, or the list cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
        rows = _json_rows(text) if path.suffix == ".json" else _text_rows(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a list of invented ids") from error
    for one, reason in rows:
        if not reason:
            raise UsageError(f"{path}: {one} is listed without what it is invented for")
    return dict(rows)


def _json_rows(text: str) -> list[tuple[str, str]]:
    body: object = json.loads(text)
    if not is_object(body):
        raise ValueError("no object")
    return [(one, str(reason or "").strip()) for one, reason in body.items()]


def _text_rows(text: str) -> list[tuple[str, str]]:
    lines = [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]
    return [(one, reason.strip()) for one, _, reason in (line.partition(" ") for line in lines)]

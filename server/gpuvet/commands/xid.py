"""`gpuvet xid`: explains a code or a raw line; a look-up, so it ends with 0 or 2."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from gpuvet.catalog.kinds import CodeKind
from gpuvet.errors import UnknownCode, UsageError
from gpuvet.explain.text import as_markdown, as_text
from gpuvet.explain.xid import XidExplanation, explain_code

SCHEMA = "gpuvet/xid/1"
MAX_INPUT = 1 << 20  # characters of lines read

_CODE = re.compile(r"(?P<kind>s?xid)? *(?P<code>[0-9]{1,5})", re.IGNORECASE)


class Subparsers(Protocol):
    """The part of argparse's subparsers that a command needs."""

    def add_parser(
        self,
        name: str,
        *,
        help: str,  # noqa: A002 argparse's own word
        description: str,
    ) -> argparse.ArgumentParser:
        """Add a command."""
        ...


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "xid",
        help="explain an Xid or SXid, or a raw driver line",
        description="What a code or a line means, its verdict, and what would change that.",
    )
    parser.add_argument("code", nargs="*", metavar="CODE", help="a number, e.g. 79")
    parser.add_argument("--line", metavar="TEXT", help="one or more raw log lines; - reads stdin")
    parser.add_argument("--sxid", action="store_true", help="CODE is an NVSwitch error (SXid)")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Explain what was asked; return 0, or 2 with a message where it is no code and no line."""
    try:
        explained = _explained(args)
    except UsageError as error:
        sys.stderr.write(f"gpuvet xid: {error}\n")
        return 2
    sys.stdout.write(_FORMATS[args.format](explained))
    return 0


def _explained(args: argparse.Namespace) -> Sequence[XidExplanation]:
    if args.line is not None:
        if args.code:
            raise UnknownCode("give a code or --line, not both")
        from gpuvet.explain.line import explain_lines

        return explain_lines(_stdin() if args.line == "-" else args.line)
    return (explain_code(*_code(" ".join(args.code), sxid=args.sxid)),)


def _stdin() -> str:
    text = sys.stdin.read(MAX_INPUT + 1)
    if len(text) > MAX_INPUT:
        raise UnknownCode(
            f"more than {MAX_INPUT} characters on stdin; for a whole log ask 'gpuvet verdict'"
        )
    return text


def _code(text: str, *, sxid: bool) -> tuple[int, CodeKind]:
    if not text:
        raise UnknownCode("no code given; try 'gpuvet xid 79', or --line with a raw line")
    match = _CODE.fullmatch(text.strip())
    if match is None:
        raise UnknownCode(
            f"{text[:80]!r} is no Xid number; give one such as 79, or --line with a raw line"
        )
    named = (match["kind"] or "").lower() == CodeKind.SXID
    return int(match["code"]), CodeKind.SXID if sxid or named else CodeKind.XID


def _as_json(explained: Sequence[XidExplanation]) -> str:
    values = [each.as_data() for each in explained]
    return json.dumps({"schema": SCHEMA, "explanations": values}, indent=2) + "\n"


def _joined(render: Callable[[XidExplanation], str]) -> Callable[[Sequence[XidExplanation]], str]:
    return lambda explained: "\n".join(map(render, explained))


_FORMATS: dict[str, Callable[[Sequence[XidExplanation]], str]] = {
    "text": _joined(as_text),
    "json": _as_json,
    "markdown": _joined(as_markdown),
}

"""A log file as the agent sees it: whole lines, local rank 0's alone, in bounded memory.

Standard library only: the child process that runs patterns loads this.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 22  # a longer line is cut into pieces of this size
SAMPLE_LINES = 2000
_CONSOLE = re.compile(r"(?:(\d{4}-\d\d-\d\dT\S{8,30}) )?\[([A-Za-z_]+)(\d+)\]:")
_CONSOLE_SHARE = 0.5  # of the sampled lines: then the log came from kubectl logs


class Block(NamedTuple):
    """Some whole lines of the log."""

    lines: list[str]
    text: str  # the same, in one piece
    first_line: int  # from 1
    offset: int  # bytes before it
    is_broken: bool = False  # the bytes behind it are not text


def looks_like_console(lines: list[str]) -> bool:
    """Return whether most lines carry the `[role rank]:` that torch's tee puts in front."""
    sample = lines[:SAMPLE_LINES]
    marked = sum(1 for line in sample if _CONSOLE.match(line))
    return marked > _CONSOLE_SHARE * len(sample)


def own_line(line: str) -> str | None:
    """Return a console line as stdout.log holds it; None for other ranks and the launcher."""
    match = _CONSOLE.match(line)
    return line[match.end() :] if match is not None and match[3] == "0" else None


def blocks(log: BinaryIO, *, offset: int = 0, first_line: int = 1) -> Iterator[Block]:
    r"""Yield the log's lines; a line ends at \n, \r or \r\n and keeps one \n, as the agent reads.

    Bytes that are not UTF-8 end the log: the agent's reader dies there.
    """
    rest = b""
    while True:
        data = log.read(BLOCK_BYTES)
        whole = rest + data
        end = len(whole) if not data else max(whole.rfind(b"\n"), whole.rfind(b"\r", 0, -1)) + 1
        if data and not end and len(whole) < MAX_LINE_BYTES:
            rest = whole
            continue
        end = end or len(whole)
        text, is_broken = _decoded(whole[:end])
        text = _one_line_end(text)
        lines = _split(text)
        if lines or is_broken:
            yield Block(lines, text, first_line, offset, is_broken)
        first_line += len(lines)
        offset += end
        rest = whole[end:]
        if not data or is_broken:
            return


def _decoded(data: bytes) -> tuple[str, bool]:
    """Return the text up to the last line before bytes that are not UTF-8."""
    try:
        return data.decode("utf-8"), False
    except UnicodeDecodeError as error:
        good = data[: error.start]
        return good[: good.rfind(b"\n") + 1].decode("utf-8", "replace"), True


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _split(text: str) -> list[str]:
    """Cut at line ends only; `splitlines` would also cut at form feeds and the like."""
    if text.isascii() and not any(char in text for char in "\x0b\x0c\x1c\x1d\x1e"):
        return text.splitlines(keepends=True)
    lines = text.split("\n")
    last = lines.pop()
    result = [line + "\n" for line in lines]
    return [*result, last] if last else result

"""Free text of a case: an operator's words, line by line, with the time they mention."""

import re
from collections.abc import Iterator

from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.case import Note
from gpuvet.parse.untrusted import clean

MOST_LINES = 2_000
_FULL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_CLOCK = re.compile(r"(?<![\d:])\d\d:\d\d(?::\d\d)?\s?(?:Z|UTC)")


def read_notes(text: str, file: str) -> Iterator[Note]:
    """Yield one note a line: context for a reader, never evidence."""
    for place, line in enumerate(text.splitlines()[:MOST_LINES], start=1):
        if not line.strip():
            continue
        full = _FULL.search(line)
        found = full or _CLOCK.search(line)
        yield Note(
            file=file,
            line=place,
            text=clean(line.strip()),
            at=as_datetime(full[0].replace(" ", "T")) if full else None,
            at_words=found[0] if found else None,
        )

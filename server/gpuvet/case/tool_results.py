"""A case made of what the tools of a recorded session answered."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuvet.case.case import Case
from gpuvet.case.load import load_case
from gpuvet.errors import UnreadableCase
from gpuvet.model.untyped import is_object

MOST_RESULTS = 2000


def case_of_results(results: Sequence[str], *, now: datetime) -> Case | None:
    """Return the results as a case, or None where they hold nothing a case could be made of.

    Args:
        results: Text of each result; JSON is taken, also below the account it came from.
        now: When the session began.
    """
    replies = [text for result in results[:MOST_RESULTS] if (text := _reply(result)) is not None]
    if not replies:
        return None
    with TemporaryDirectory(prefix="gpuvet-") as folder:
        for number, text in enumerate(dict.fromkeys(replies), start=1):
            path = Path(folder) / f"result-{number:04d}.json"
            path.write_text(text, encoding="utf-8")
        try:
            return load_case(Path(folder), now=now)
        except UnreadableCase:
            return None


def _reply(result: str) -> str | None:
    """Return the reply in a result: the tool of the recorded hosts puts the account around it."""
    try:
        document: object = json.loads(result)
    except (ValueError, RecursionError):
        return None
    while is_object(document) and len(document) == 1:
        name, inner = next(iter(document.items()))
        if not (name.isdigit() and is_object(inner)):
            break
        document = inner
    return json.dumps(document, indent=1) if is_object(document) else None

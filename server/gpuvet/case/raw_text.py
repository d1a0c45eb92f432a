"""The text of a case as it lies there, to trace figures to; never what a test case expects."""

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuvet.case.container import Container
from gpuvet.case.content import LIMITS, Limits
from gpuvet.case.documents import decode
from gpuvet.case.scenario import is_scenario
from gpuvet.case.verdict_case import is_verdict_case
from gpuvet.model.untyped import is_object

MOST_CHARACTERS = 16_000_000
_ANSWERS = frozenset({"expected", "title", "why"})  # of a test case, about itself


def raw_texts(path: Path, limits: Limits = LIMITS) -> tuple[str, ...]:
    """Return the text of every file of a case, together at most 16 million characters.

    Raises:
        UnreadableCase: There is no case at the path.
    """
    return tuple(_bounded(Container(path, limits)))


def _bounded(container: Container) -> Iterator[str]:
    left = MOST_CHARACTERS
    for file in container.files():
        if file.content is None or left <= 0:
            continue
        text = _own(decode(io.BufferedReader(file.content).read(left)))
        left -= len(text)
        yield text


def _own(text: str) -> str:
    """Return a test case without the answer it expects; any other text as it is."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if is_object(document) and (is_scenario(document) or is_verdict_case(document)):
        return json.dumps(_asked(document), indent=1, ensure_ascii=False)
    return text


def _asked(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in _ANSWERS}

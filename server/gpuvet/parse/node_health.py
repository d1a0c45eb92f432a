"""What tools run on a node said of its GPUs' health as a whole. Pure."""

import re
from collections.abc import Iterator

_OVERALL = re.compile(r"^\W*Overall Health\W+(?P<word>Healthy|Warning|Failure)\b", re.MULTILINE)


def health_words(text: str, file: str) -> Iterator[str]:
    """Yield the overall health that dcgmi printed, word for word, with the file it stands in."""
    for found in _OVERALL.finditer(text):
        yield f"DCGM on the node, asked by hand: Overall Health: {found['word']} ({file})"

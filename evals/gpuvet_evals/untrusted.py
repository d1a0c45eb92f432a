"""Text of journals made safe to show, on top of gpuvet's own masking and escaping. Pure."""

import re

from gpuvet.parse.untrusted import LIMIT, clean, mask

__all__ = ["clean", "code_span", "has_secret", "mask"]


def has_secret(text: str) -> bool:
    """Whether some known form of a secret stands in a text."""
    return mask(text) != text


def code_span(text: str, *, limit: int = LIMIT) -> str:
    """Return untrusted text as a Markdown code span longer than any backtick run in it."""
    shown = clean(text, limit=limit)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"

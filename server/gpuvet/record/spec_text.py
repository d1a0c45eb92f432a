"""A job spec as text for a recording: environment values that no verdict rests on are masked."""

import re
from collections.abc import Iterator

from gpuvet.errors import SpecSyntaxError, UsageError
from gpuvet.model.untyped import is_array, is_object
from gpuvet.parse.untrusted import MASK
from gpuvet.parse.yaml_text import load_documents
from gpuvet.record.masking import cleaned, cleaned_text


def documents_of(text: str) -> list[object]:
    """Return what a manifest says; nothing where it cannot be read."""
    try:
        return list(load_documents(text))
    except (SpecSyntaxError, UsageError, ValueError):
        return []


def without_secrets(text: str) -> str:
    """Return a manifest with the secrets of its text and of its variables masked."""
    shown = cleaned_text(text)
    for document in documents_of(text):
        for secret in sorted(set(_masked(document, cleaned(document))), key=len, reverse=True):
            shown = re.sub(
                rf"(?P<mark>[:=]\s*)(?P<q>[\"']?){re.escape(secret)}(?P=q)(?=\s*(?:$|[,}}#]))",
                rf"\g<mark>'{MASK}'",
                shown,
                flags=re.MULTILINE,
            )
    return shown


def _masked(before: object, after: object) -> Iterator[str]:
    """Yield each string that masking took away as a whole."""
    if isinstance(before, str):
        if after == MASK and before != MASK:
            yield before
    elif is_object(before) and is_object(after):
        for name, inner in before.items():
            yield from _masked(inner, after.get(name))
    elif is_array(before) and is_array(after):
        for one, other in zip(before, after, strict=False):
            yield from _masked(one, other)

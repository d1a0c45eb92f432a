"""Template tokens (Helm, Jinja, envsubst): hidden from the YAML reader, shown again afterwards.

Every character of a `{{ }}` token is moved into the private use area, one for one, so that the
text stays YAML and every line and column stays true.
"""

import re

_PRIVATE = 0xE000  # first code point of the private use area; YAML allows it in plain text
_ROOM = 0x1800  # what is moved stays inside that area
_TOKEN = re.compile(r"\{\{[^\n]{0,2000}?\}\}")
_CONTROL_LINE = re.compile(
    r"^[ \t]*(?:\{%[^\n]*?%\}|\{\{[^\n]*?\}\}|\{#[^\n]*?#\})[ \t]*\r?$", re.MULTILINE
)
_BLOCK = re.compile(r"\{%[^\n]{0,2000}?%\}")
_HIDDEN = re.compile(f"[{chr(_PRIVATE)}-{chr(_PRIVATE + _ROOM)}]+")


def hide(text: str) -> str:
    """Return text of equal length in which no template token disturbs YAML.

    Lines that hold nothing but a token (`{% if %}`, `{{- toYaml . }}`) become blanks.
    """
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    text = _CONTROL_LINE.sub(_blank, text)
    return _TOKEN.sub(_move, _BLOCK.sub(_move, text))


def lines(text: str) -> tuple[tuple[int, str], ...]:
    """Return the lines that hold nothing but a token, with their numbers from 1."""
    return tuple(
        (text.count("\n", 0, match.start()) + 1, match[0].strip())
        for match in _CONTROL_LINE.finditer(text)
    )


def show(text: str) -> str:
    """Return text with its hidden tokens as they were written."""
    return _HIDDEN.sub(lambda match: "".join(chr(ord(c) - _PRIVATE) for c in match[0]), text)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\r\n]", " ", match[0])


def _move(match: re.Match[str]) -> str:
    return "".join(chr(_PRIVATE + ord(c)) if ord(c) < _ROOM else c for c in match[0])

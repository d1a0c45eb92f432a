"""Messages of a JSON journal that are no string: arrays become text, left-out ones are counted."""

import json
import re

from gpuvet.parse.json_layer import is_list, text_of_array

_KEY = b'"MESSAGE"'
# Numbers, or strings: neither holds a bracket that could end the array too early but in a string.
_ARRAY = re.compile(
    rb'"MESSAGE"\s{0,4}:\s{0,4}(\[(?:[\d\s,\[\]]|null|"(?:[^"\\\n]|\\.)*")*\])(?=\s*[,}])'
)
# Null, or an array that has no end.
_LEFT_OUT = re.compile(rb'"MESSAGE"\s{0,4}:\s{0,4}(?:null\b|\[)')


def with_text(block: bytes) -> tuple[bytes, int]:
    """Return lines with messages as strings, and how many messages the export left out.

    journalctl writes null for a field of more than 4096 bytes unless it is told `--all`.
    """
    if _KEY not in block:
        return block, 0
    block = _ARRAY.sub(_as_string, block)
    return block, len(_LEFT_OUT.findall(block))


def _as_string(found: re.Match[bytes]) -> bytes:
    try:
        values: object = json.loads(found[1])
    except (ValueError, RecursionError):
        return found[0]
    text = text_of_array(values) if is_list(values) else ""
    return b'"MESSAGE":' + json.dumps(text, ensure_ascii=False).encode("utf-8", errors="replace")

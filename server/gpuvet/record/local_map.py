"""The local map of a recording: originals for what a replay answers."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from gpuvet.errors import UsageError
from gpuvet.model.untyped import is_object
from gpuvet.record.archive import MAP_FORM
from gpuvet.record.pseudonyms import Pseudonyms

_EVIDENCE = re.compile(r"\bev-[0-9a-f]{10}\b")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
MOST_BYTES = 256 * 2**20


class LocalMap(NamedTuple):
    """What turns the answer of a replay back into that of the account."""

    name: str
    pseudonyms: Pseudonyms
    evidence: dict[str, str]

    def restored(self, text: str) -> str:
        """Return an answer, in any format, with originals for stand-ins and for evidence ids."""
        if text[:1] in {"{", "["}:
            return _STRING.sub(self._literal, text)
        return self._plain(text)

    def _plain(self, text: str) -> str:
        named = _EVIDENCE.sub(lambda m: self.evidence.get(m[0], m[0]), text)
        return self.pseudonyms.restored(named)

    def _literal(self, match: re.Match[str]) -> str:
        """Restore one string of a JSON document, whose escapes are no part of it."""
        text: str = json.loads(match[0])
        restored = self._plain(text)
        return match[0] if restored == text else json.dumps(restored, ensure_ascii=False)


def read_map(path: Path) -> LocalMap:
    """Return a local map.

    Raises:
        UsageError: It cannot be read, or is no map.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"map {path.name!r} is larger than 256 MiB; give a recording's map")
        document: object = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except OSError as error:
        raise UsageError(f"map {path.name!r} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError):
        document = None
    if not is_object(document) or document.get("format") != MAP_FORM:
        raise UsageError(f"map {path.name!r} is no map of a recording; it lies beside the zip")
    kinds = {name: _pairs(one) for name, one in _members(document, "stand_ins").items()}
    evidence = _pairs(document.get("evidence"))
    return LocalMap(str(document.get("map")), Pseudonyms.from_pairs(kinds), evidence)


def _members(document: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 (parsed JSON)
    held = document.get(name)
    return dict(held) if is_object(held) else {}


def _pairs(held: object) -> dict[str, str]:
    if not is_object(held):
        return {}
    return {k: v for k, v in held.items() if isinstance(v, str)}

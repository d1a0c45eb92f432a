"""Finds the skill and the references: inside an installed wheel, else at the root of a checkout."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from gpuvet.errors import UsageError

_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_assets"
_CHECKOUT = _PACKAGE.parents[1]
SKILL_FILE = "SKILL.md"


@cache
def assets_root() -> Path:
    """Return the folder that holds `skill/` and `references/`.

    Raises:
        UsageError: Neither a wheel's copy nor a checkout is there.
    """
    for root in (_INSTALLED, _CHECKOUT):
        if (root / "skill" / SKILL_FILE).is_file() and (root / "references").is_dir():
            return root
    raise UsageError("the skill and its references are missing from this installation")


def skill_text() -> str:
    """Return SKILL.md."""
    return (assets_root() / "skill" / SKILL_FILE).read_text(encoding="utf-8")


def references() -> Mapping[str, Path]:
    """Return every file of references/ by its path below it, with slashes, in order of names."""
    root = assets_root() / "references"
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return MappingProxyType({path.relative_to(root).as_posix(): path for path in found})


def title_of(path: Path) -> str:
    """Return the heading of a Markdown page, else the file's name."""
    if path.suffix == ".md":
        with path.open(encoding="utf-8") as file:
            first = file.readline().strip()
        if first.startswith("# "):
            return first.removeprefix("# ")
    return path.name

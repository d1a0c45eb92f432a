"""The generated part of references/: which pages there are, written or compared."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from gpuvet.explain.pages import nvlink5_page, sxids_page, xids_page

FOLDER = "references"


class PageMaker(NamedTuple):
    """One generated file."""

    path: str  # under references/
    make: Callable[[], str]


PAGE_MAKERS: tuple[PageMaker, ...] = (
    PageMaker("xids.md", xids_page),
    PageMaker("sxids.md", sxids_page),
    PageMaker("nvlink5.md", nvlink5_page),
)


def pages(makers: tuple[PageMaker, ...] = PAGE_MAKERS) -> Mapping[str, str]:
    """Return the text of every generated page by its path under references/."""
    return MappingProxyType({maker.path: maker.make() for maker in makers})


def build(root: Path, makers: tuple[PageMaker, ...] = PAGE_MAKERS) -> tuple[str, ...]:
    """Write the pages that are not current under `root`/references; return their paths."""
    stale = check(root, makers)
    for path in stale:
        target = root / FOLDER / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(pages(makers)[path], encoding="utf-8", newline="\n")
    return stale


def check(root: Path, makers: tuple[PageMaker, ...] = PAGE_MAKERS) -> tuple[str, ...]:
    """Return the paths of pages that are missing or not current."""
    return tuple(
        path for path, text in pages(makers).items() if _text_of(root / FOLDER / path) != text
    )


def _text_of(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None

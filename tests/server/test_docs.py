"""Generated pages: current in references/, rewritten only where stale, easy to extend."""

from pathlib import Path

import pytest

from gpuvet.catalog.sxids import sxids
from gpuvet.catalog.xids import xids
from gpuvet.docs import PAGE_MAKERS, PageMaker, build, check, pages

ROOT = Path(__file__).parents[2]


def test_the_committed_pages_are_current() -> None:
    assert check(ROOT) == ()


def test_a_missing_and_a_stale_page_are_told_and_written(tmp_path: Path) -> None:
    assert build(tmp_path)[:3] == ("xids.md", "sxids.md", "nvlink5.md")
    page = tmp_path / "references" / "sxids.md"
    page.write_text("old", encoding="utf-8")
    assert check(tmp_path) == ("sxids.md",)
    assert build(tmp_path) == ("sxids.md",)
    assert check(tmp_path) == ()


def test_a_page_is_added_by_one_more_maker(tmp_path: Path) -> None:
    makers = (*PAGE_MAKERS, PageMaker("schemas/other.json", lambda: "{}\n"))
    assert list(pages(makers))[-1] == "schemas/other.json"
    assert "schemas/other.json" in build(tmp_path, makers)
    assert (tmp_path / "references/schemas/other.json").read_bytes() == b"{}\n"


def test_every_code_stands_on_its_page() -> None:
    listed = pages()
    assert all(f"{code} " in listed["xids.md"] for code in xids())
    assert all(f"{code} " in listed["sxids.md"] for code in sxids())


@pytest.mark.parametrize("path", [maker.path for maker in PAGE_MAKERS])
def test_every_table_has_as_many_cells_in_each_row_as_in_its_header(path: str) -> None:
    width = 0
    for line in pages()[path].splitlines():
        cells = line.replace("\\|", "").count("|")
        width = (width or cells) if line.startswith("| ") else 0
        assert cells == width or not line.startswith("| ")

"""Reading a table: what is wrong is named with its table, row and column."""

from pathlib import Path

import pytest

from gpuvet.catalog.table import Row, by_key, hexadecimal, read_table, yes_no
from gpuvet.errors import CatalogError
from gpuvet.model.verdict import Verdict


def row_of(folder: Path, text: str) -> Row:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return next(read_table("t.csv", folder))


def test_cells_become_the_kinds_asked_for(tmp_path: Path) -> None:
    row = row_of(tmp_path, "n,x,v,l,e,y\n7,0x1f,LEAVE_ALONE,1;2,,yes\n")
    assert row.read("n", int) == 7
    assert row.read("x", hexadecimal) == 31
    assert row.read("v", Verdict) is Verdict.LEAVE_ALONE
    assert row.read_each("l", int) == (1, 2)
    assert row.optional("e") is None
    assert row.read_optional("e", int) is None
    assert row.words("e") == ()
    assert row.read("y", yes_no) is True


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        pytest.param("n", int, "t.csv, line 2, column 'n': 'seven' is no int", id="no number"),
        pytest.param(
            "v", Verdict, "t.csv, line 2, column 'v': 'PANIC' is no Verdict", id="no word"
        ),
        pytest.param("x", hexadecimal, "column 'x': '12' is no hexadecimal", id="no hexadecimal"),
        pytest.param("y", yes_no, "column 'y': 'maybe' is no yes_no", id="neither yes nor no"),
        pytest.param("e", int, "t.csv, line 2, column 'e' is empty", id="empty"),
        pytest.param("z", int, "t.csv, line 2 has no column 'z'", id="column missing"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, column: str, kind: type[int], message: str) -> None:
    row = row_of(tmp_path, "n,v,x,y,e\nseven,PANIC,12,maybe,\n")
    with pytest.raises(CatalogError) as caught:
        row.read(column, kind)
    assert message in str(caught.value)


def test_a_wrong_part_of_a_list_is_named(tmp_path: Path) -> None:
    row = row_of(tmp_path, "l\n1;two\n")
    with pytest.raises(CatalogError, match="column 'l': '1;two' is no int"):
        row.read_each("l", int)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a,b\n1\n", "t.csv, line 2 has 1 cells, the header has 2", id="short row"),
        pytest.param("", "table t.csv is empty", id="empty file"),
    ],
)
def test_a_misshapen_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError, match=message):
        list(read_table("t.csv", tmp_path))


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"table none\.csv cannot be read"):
        list(read_table("none.csv", tmp_path))


def test_a_key_listed_twice_is_refused() -> None:
    with pytest.raises(CatalogError, match=r"t\.csv lists 3 twice"):
        by_key("t.csv", (3, 4, 3), lambda value: value)

"""Reads a CSV beside this module; a wrong cell names its table, row and column."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from gpuvet.errors import CatalogError

K = TypeVar("K")
V = TypeVar("V")

_FOLDER = Path(__file__).parent


class Row:
    """One row as text. Each accessor says what a cell must be, and where it is when it is not."""

    __slots__ = ("_cells", "_where")

    def __init__(self, cells: Mapping[str, str], where: str) -> None:
        self._cells = cells
        self._where = where

    def optional(self, column: str) -> str | None:
        """Return a cell's text, or None where it is empty."""
        try:
            return self._cells[column].strip() or None
        except (KeyError, AttributeError):
            raise CatalogError(f"{self._where} has no column {column!r}") from None

    def text(self, column: str) -> str:
        """Return a cell's text, which must not be empty."""
        cell = self.optional(column)
        if cell is None:
            raise CatalogError(f"{self._where}, column {column!r} is empty")
        return cell

    def words(self, column: str, separator: str = ";") -> tuple[str, ...]:
        """Return the parts of a list cell; none where it is empty."""
        return (
            tuple((self.optional(column) or "").split(separator)) if self.optional(column) else ()
        )

    def read(self, column: str, kind: Callable[[str], V]) -> V:
        """Return a cell as `kind` makes it of its text, e.g. `int`, `hexadecimal`, `Verdict`."""
        cell = self.text(column)
        try:
            return kind(cell)
        except ValueError:
            name = getattr(kind, "__name__", "value")
            raise CatalogError(f"{self._where}, column {column!r}: {cell!r} is no {name}") from None

    def read_optional(self, column: str, kind: Callable[[str], V]) -> V | None:
        """Return a cell as `kind`, or None where it is empty."""
        return None if self.optional(column) is None else self.read(column, kind)

    def read_each(self, column: str, kind: Callable[[str], V]) -> tuple[V, ...]:
        """Return every part of a list cell as `kind`."""
        try:
            return tuple(kind(part) for part in self.words(column))
        except ValueError:
            cell = self.text(column)
            name = getattr(kind, "__name__", "value")
            raise CatalogError(f"{self._where}, column {column!r}: {cell!r} is no {name}") from None


def hexadecimal(text: str) -> int:
    """Return the number of a text like `0x03f003ff`."""
    if not text.startswith("0x"):
        raise ValueError(text)
    return int(text, 16)


def yes_no(text: str) -> bool:
    """Return the truth of `yes` or `no`."""
    if text not in {"yes", "no"}:
        raise ValueError(text)
    return text == "yes"


def read_table(name: str, folder: Path = _FOLDER) -> Iterator[Row]:
    """Yield the rows of a table of this package, in file order.

    Raises:
        CatalogError: The file is missing or empty, or a row is longer or shorter than the header.
    """
    try:
        text = (folder / name).read_text(encoding="utf-8")
    except OSError as error:
        raise CatalogError(f"table {name} cannot be read: {error}") from error
    lines = csv.reader(text.splitlines(), strict=True)
    header = next(lines, None)
    if header is None:
        raise CatalogError(f"table {name} is empty")
    for cells in lines:
        where = f"{name}, line {lines.line_num}"
        if len(cells) != len(header):
            raise CatalogError(f"{where} has {len(cells)} cells, the header has {len(header)}")
        yield Row(dict(zip(header, cells, strict=True)), where)


def by_key(name: str, values: Iterable[V], key: Callable[[V], K]) -> Mapping[K, V]:
    """Return values as an unchangeable mapping.

    Raises:
        CatalogError: Two values share a key.
    """
    found: dict[K, V] = {}
    for value in values:
        if key(value) in found:
            raise CatalogError(f"{name} lists {key(value)!r} twice")
        found[key(value)] = value
    return MappingProxyType(found)

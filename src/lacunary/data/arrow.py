"""Parquet, Feather and Arrow files: polars reads them, some columns at a time, and pyarrow dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lacunary.budget import reserve
from lacunary.data.apart import reading
from lacunary.data.batches import check_batches
from lacunary.data.column import Column, Source
from lacunary.data.pages import check_pages
from lacunary.data.typed import of_dictionary, of_series
from lacunary.errors import FileError, SchemaError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["arrow_file"]

T = TypeVar("T")

MAGIC = {".parquet": b"PAR1", ".pq": b"PAR1", ".feather": b"ARROW1", ".arrow": b"ARROW1", ".ipc": b"ARROW1"}
"""How a file of each suffix begins."""

TOGETHER = 2**22
"""Bytes of columns that are read together: each time the file's own table of contents is gone through."""

DEEP = 2**13
"""Bytes for each column of a file that are read together, at least: wide files are read a few times."""


def arrow_file(path: Path) -> Source:
    """Return the columns of a Parquet, Feather or Arrow file."""
    magic = MAGIC[path.suffix.lower()]
    try:
        with open(path, "rb") as file:
            start = file.read(len(magic))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    if start != magic:
        raise FileError(f"{path} is not what its suffix says: it does not begin with {magic.decode()}")
    import polars as pl

    (check_pages if magic == b"PAR1" else check_batches)(path)
    scan = pl.scan_parquet if magic == b"PAR1" else pl.scan_ipc
    lazy = _read(path, lambda: scan(path))
    kinds = _read(path, lambda: dict(lazy.collect_schema()))
    if len(set(kinds)) < len(kinds):
        raise SchemaError("names of columns must be distinct")
    rows = _read(path, lambda: int(lazy.select(pl.len()).collect().item()))
    # A column of one value is nothing in a file, and a number in every row of a table.
    size = max(3.0 * path.stat().st_size, 8.0 * rows * len(kinds))
    reserve(size, f"{path}: its table", "read fewer rows or columns")
    many = max(TOGETHER, DEEP * len(kinds)) // max(8 * rows, 1) + 1

    def columns(wanted: Sequence[str], marks: Collection[str]) -> Iterator[Column]:
        return map(_Columns(path, magic, lazy, kinds, wanted, many).column, wanted)

    return Source(tuple(kinds), columns, path=str(path))


class _Columns:
    """The wanted columns of a file, read so many at a time as they are asked for, in their order."""

    def __init__(
        self,
        path: Path,
        magic: bytes,
        lazy: pl.LazyFrame,
        kinds: dict[str, Any],
        wanted: Sequence[str],
        many: int,
    ) -> None:
        import polars as pl

        self.path, self.magic, self.lazy, self.many = path, magic, lazy, many
        # Of Arrow's dictionaries polars forgets the order, and what no row has.
        known = bool(find_spec("pyarrow"))
        self.kept = {name for name in wanted if known and kinds[name] == pl.Categorical}
        self.wanted, self.place = list(wanted), 0
        self.file: Any = None
        self.ahead: dict[str, Callable[[], Column]] = {}

    def column(self, name: str) -> Column:
        """Return the column that comes next, and read others ahead; a damaged one does not hide others."""
        place, self.place = self.place, self.place + 1
        if name not in self.ahead:
            try:
                self._read(self.wanted[place : place + self.many])
            except FileError:
                if self.many == 1:
                    raise
                self.many = 1
                self._read([name])
        # A damaged text can break polars down as late as here.
        return _read(self.path, self.ahead.pop(name))

    def _read(self, names: list[str]) -> None:
        self.ahead = {}
        kept = [name for name in names if name in self.kept]
        others = [name for name in names if name not in self.kept]
        if kept:
            table = _read(self.path, lambda: self._dictionaries(kept))
            self.ahead.update({name: _later(of_dictionary, name, table.column(name)) for name in kept})
        if others:  # polars up to 1 cannot read none of them
            frame = _read(self.path, lambda: self._series(others))
            self.ahead.update({name: _later(of_series, name, frame.get_column(name)) for name in others})

    def _series(self, names: list[str]) -> pl.DataFrame:
        patterns = any(name == "*" or (name[:1], name[-1:]) == ("^", "$") for name in names)  # to polars
        return (self.lazy if patterns else self.lazy.select(names)).collect()

    def _dictionaries(self, names: list[str]) -> Any:
        """Return columns as pyarrow reads one file: its reader of folders takes three times the memory."""
        if self.magic == b"PAR1":
            if self.file is None:
                reader = import_module("pyarrow.parquet").ParquetFile
                self.file = reader(self.path, memory_map=True, pre_buffer=False)
            return self.file.read(columns=names, use_threads=False)
        reader = import_module("pyarrow.feather").read_table
        return reader(self.path, columns=names, memory_map=True, use_threads=False)


def _later(make: Callable[[str, Any], Column], name: str, given: Any) -> Callable[[], Column]:
    return lambda: make(name, given)


def _read(path: Path, ask: Callable[[], T]) -> T:
    """Return what a file says, or raise an error that says it is damaged."""
    from polars.exceptions import DuplicateError

    with reading(path, path.suffix[1:]):
        try:
            return ask()
        except DuplicateError as error:
            raise SchemaError(f"names of columns must be distinct: {error}") from None

"""Data frames of any library, in and out. No other module knows them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve
from lacunary.data.apart import reading
from lacunary.data.batches import check_batches
from lacunary.data.column import Column, Labels, Moments, Source, at_midnight, of_array, of_values
from lacunary.data.large import coded
from lacunary.data.pages import check_pages
from lacunary.data.schema import Label, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import FileError, ParameterError, SchemaError, TableError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Frame: TypeAlias = pd.DataFrame | pl.DataFrame | pa.Table | dict[str, list[Label | None]]

__all__ = ["arrow_file", "column_of", "frame_of", "from_frame", "to_frame"]

T = TypeVar("T")

LIBRARIES = ("pandas", "polars", "pyarrow", "dict")

MAGIC = {".parquet": b"PAR1", ".pq": b"PAR1", ".feather": b"ARROW1", ".arrow": b"ARROW1", ".ipc": b"ARROW1"}
"""How an Arrow file of each suffix begins."""


def from_frame(native: object) -> Source:
    """Return the columns of a pandas, polars or pyarrow frame, or of another that narwhals knows."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame: Any = nw.from_native(native)
    except TypeError:
        raise TableError(
            f"a {type(native).__name__} cannot be read as a table; give a path, a data frame, an array with "
            "two dimensions, a mapping from names to columns, or a list of rows, each a mapping"
        ) from None
    except DuplicateError as error:
        raise SchemaError(f"names of columns must be distinct: {error}") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    names = {str(name): name for name in frame.columns}

    def columns(wanted: Sequence[str], marks: Collection[str]) -> Iterator[Column]:
        return (_column(name, frame.get_column(names[name])) for name in wanted)

    library = frame.implementation.name.lower()  # its str was another in older releases
    return Source(tuple(map(str, frame.columns)), columns, library if library in LIBRARIES else None)


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
    ask, reader = (
        (pl.read_parquet_schema, pl.read_parquet) if magic == b"PAR1" else (pl.read_ipc_schema, pl.read_ipc)
    )
    kinds = _read(path, lambda: dict(ask(path)))
    if len(set(kinds)) < len(kinds):
        raise SchemaError("names of columns must be distinct")
    _check_size(path, magic, len(kinds))

    def columns(wanted: Sequence[str], marks: Collection[str]) -> Iterator[Column]:
        # Of Arrow's dictionaries polars forgets the order, and what no row has.
        kept = [name for name in wanted if kinds[name] == pl.Categorical and find_spec("pyarrow")]
        found = _dictionaries(path, magic, kept) if kept else {}
        others = [name for name in wanted if name not in found]  # polars up to 1 cannot read none of them
        patterns = any(name == "*" or (name[:1], name[-1:]) == ("^", "$") for name in others)  # to polars
        asked = None if patterns else others
        frame: Any = _read(path, lambda: reader(path, columns=asked)) if others else None

        def column(name: str) -> Column:  # a damaged text can break polars down as late as here
            return _read(path, lambda: _column(name, _narwhal(frame.get_column(name))))

        return (found.get(name) or column(name) for name in wanted)

    return Source(tuple(kinds), columns, path=str(path))


def _read(path: Path, ask: Callable[[], T]) -> T:
    """Return what a file says, or raise an error that says it is damaged."""
    from polars.exceptions import DuplicateError

    with reading(path, path.suffix[1:]):
        try:
            return ask()
        except DuplicateError as error:
            raise SchemaError(f"names of columns must be distinct: {error}") from None


def _dictionaries(path: Path, magic: bytes, names: Sequence[str]) -> dict[str, Column]:
    """Return columns that are Arrow dictionaries, whose categories pyarrow keeps as they are."""
    reader = import_module("pyarrow.parquet" if magic == b"PAR1" else "pyarrow.feather")
    table = _read(path, lambda: reader.read_table(path, columns=list(names)))
    return {name: _column(name, _narwhal(table.column(name))) for name in names}


def _narwhal(series: Any) -> Any:
    import narwhals as nw

    return nw.from_native(series, series_only=True)


def _check_size(path: Path, magic: bytes, columns: int) -> None:
    """Refuse a file that is larger than memory once it is unpacked, as far as it says so itself."""
    import polars as pl

    scan = pl.scan_parquet if magic == b"PAR1" else pl.scan_ipc
    rows = _read(path, lambda: scan(path).select(pl.len()).collect().item())
    # A column of one value is nothing in a file, and a number in every row of a table.
    size = max(3.0 * path.stat().st_size, 8.0 * rows * columns)
    reserve(size, f"{path}: its table", "read fewer rows or columns")


def column_of(name: str, series: Any) -> Column:
    """Return one column of a frame."""
    import narwhals as nw

    return _column(name, nw.from_native(series, series_only=True))


def _column(name: str, series: Any) -> Column:
    import narwhals as nw

    if series.implementation.is_polars():  # which takes names such as * and ^a$ for patterns
        series = series.alias("")
    if series.dtype in (nw.Categorical, nw.Enum):
        return _categories(name, series)
    if series.dtype.is_decimal():
        series = series.cast(nw.Float64)
    if series.dtype.is_numeric():
        return of_array(name, series.to_numpy())
    if series.dtype in (nw.Datetime, nw.Date, nw.Duration):
        return _moments(name, series)
    if series.dtype == nw.Boolean and series.implementation.is_polars() and series.count():
        codes = series.to_native().cast(int).fill_null(HOLE).to_numpy()
        return Labels(name, (False, True), codes, "booleans", declared=True)
    if series.dtype == nw.String and series.implementation.is_polars():
        levels, codes = coded(series.to_native())
        return Labels(name, tuple(levels), codes)
    return of_values(name, series.to_list())


def _moments(name: str, series: Any) -> Column:
    """Return dates, times or durations; times with a zone are those of UTC."""
    import narwhals as nw

    empty = series.is_null().to_numpy().astype(bool)

    def seconds(ticks: Any) -> NDArray[np.float64]:
        return np.where(empty, np.nan, ticks.cast(nw.Float64).to_numpy().astype(np.float64) / 1e6)

    if series.dtype == nw.Duration:
        return Moments(name, seconds(series.dt.total_microseconds()), "durations")
    since = seconds(series.dt.timestamp("us"))
    if series.dtype == nw.Date or not getattr(series.dtype, "time_zone", None):
        return Moments(name, since, "dates" if series.dtype == nw.Date or at_midnight(since) else "times")
    wall = seconds(_local(series).dt.replace_time_zone(None).dt.timestamp("us"))
    return Moments(name, since, "times", "UTC", wall)


def _local(series: Any) -> Any:
    """Return times with a zone in pandas' own type: of Arrow's some releases make those of UTC."""
    native = series.to_native()
    if series.implementation.is_pandas() and str(native.dtype).endswith("[pyarrow]"):
        return _narwhal(native.astype(f"datetime64[us, {series.dtype.time_zone}]"))
    return series


def _categories(name: str, series: Any) -> Column:
    """Return categories in the order the library keeps them; polars' plain Categorical keeps none."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        levels, codes, ordered = (
            native.cat.categories.tolist(),
            native.cat.codes.to_numpy(),
            native.cat.ordered,
        )
    elif series.implementation.is_pyarrow() and len(native):
        array = native.combine_chunks()
        levels, ordered = array.dictionary.to_pylist(), array.type.ordered
        codes = array.indices.cast("int64").fill_null(HOLE).to_numpy(zero_copy_only=False)
    elif hasattr(native.dtype, "categories") and type(native.dtype).__name__ == "Enum":
        levels, ordered = native.dtype.categories.to_list(), True
        codes = native.to_physical().cast(int).fill_null(HOLE).to_numpy()
    else:
        return of_values(name, series.to_list())
    if None in levels:
        return of_values(name, series.to_list())
    labels = tuple(level if isinstance(level, Label) else str(level) for level in levels)
    return Labels(name, labels, codes, "categories", declared=True, ordered=bool(ordered))


def to_frame(table: Table, library: str | None = None, *, weights: str | None = None) -> Frame:
    """Return a table as a data frame, with states as their labels and holes as nulls.

    Text states become categories that keep all declared states in order (in polars an ``Enum``);
    integer, boolean and real columns keep their type and allow nulls.

    Parameters
    ----------
    library
        "pandas", "polars", "pyarrow" or "dict" (lists by name). By default the library the table was
        read from, else pandas if it is installed, else "dict".
    weights
        Name of a column to add that holds the weights of the rows.
    """
    chosen = _library(library or table.library)
    if weights is not None and weights in table.schema:
        raise SchemaError(f"there is a variable {weights!r} already; give the weights another name")
    columns = [(variable, _values(table, variable)) for variable in table.schema]
    if weights is not None:
        columns.append((Variable(weights, kind="continuous"), table.weights))
    make: Callable[[Variable, NDArray[Any]], Any] = {
        "pandas": _pandas,
        "polars": _polars,
        "pyarrow": _arrow,
    }.get(chosen, _cells)
    filled = {variable.name: make(variable, values) for variable, values in columns}
    return frame_of(filled, chosen)


def frame_of(columns: Mapping[str, Any], library: str | None = None) -> Frame:
    """Return columns by name as a frame of the library named; by default pandas if it is installed."""
    chosen = _library(library)
    if chosen == "dict":
        return dict(columns)
    make = getattr(import_module(chosen), "table" if chosen == "pyarrow" else "DataFrame")
    found: Frame = make(dict(columns))
    return found


def _library(library: str | None) -> str:
    chosen = library or ("pandas" if find_spec("pandas") else "dict")
    if chosen not in LIBRARIES:
        raise ParameterError(f"library must be one of {', '.join(LIBRARIES)}, not {chosen!r}")
    if chosen != "dict" and find_spec(chosen) is None:
        raise ParameterError(f"{chosen} is not installed: pip install {chosen}")
    return chosen


def _values(table: Table, variable: Variable) -> NDArray[Any]:
    column = table.schema.index(variable.name)
    return (table.codes if variable.discrete else table.reals)[:, column]


def _cells(variable: Variable, values: NDArray[Any]) -> list[Label | None]:
    """Return a column as Python values."""
    if variable.discrete:
        labels = [*variable.states, None]  # the last, which HOLE points to
        return [labels[code] for code in values.tolist()]
    return [None if value != value else value for value in values.tolist()]


def _type(variable: Variable) -> str:
    """Return what the column of a variable holds: "real", "integer", "boolean" or "text"."""
    types = set(map(type, variable.states))
    if types == {int} and all(abs(state) < 2**63 for state in variable.states if isinstance(state, int)):
        return "integer"
    return "boolean" if types == {bool} else "real" if types <= {int, float} else "text"


def _pandas(variable: Variable, values: NDArray[Any]) -> Any:
    pd: Any = import_module("pandas")

    kind = _type(variable)
    if kind == "text":
        return pd.Categorical.from_codes(values, categories=list(variable.states), ordered=variable.ordered)
    if kind == "real":
        return np.array(_cells(variable, values), dtype=np.float64) if variable.discrete else values.copy()
    return pd.array(_cells(variable, values), dtype="Int64" if kind == "integer" else "boolean")


def _polars(variable: Variable, values: NDArray[Any]) -> Any:
    pl: Any = import_module("polars")

    cells, kind = _cells(variable, values), _type(variable)
    if kind == "text":
        texts = [cell if cell is None else str(cell) for cell in cells]
        return pl.Series(variable.name, texts, dtype=pl.Enum(list(map(str, variable.states))))
    dtype = {"integer": pl.Int64, "boolean": pl.Boolean, "real": pl.Float64}[kind]
    return pl.Series(variable.name, cells, dtype=dtype)


def _arrow(variable: Variable, values: NDArray[Any]) -> Any:
    pa: Any = import_module("pyarrow")

    kind = _type(variable)
    if kind == "text":
        codes = pa.array(np.where(values == HOLE, 0, values), mask=values == HOLE)
        return pa.DictionaryArray.from_arrays(
            codes, list(map(str, variable.states)), ordered=variable.ordered
        )
    type_ = {"integer": pa.int64(), "boolean": pa.bool_(), "real": pa.float64()}[kind]
    return pa.array(_cells(variable, values), type=type_)

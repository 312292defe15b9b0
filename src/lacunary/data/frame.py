"""Data frames of any library, in and out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import Column, Labels, Moments, Source, at_midnight, of_array, of_values
from lacunary.data.schema import Label, Variable
from lacunary.data.table import HOLE, Table
from lacunary.data.typed import of_dictionary, of_series
from lacunary.errors import ParameterError, SchemaError, TableError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Frame: TypeAlias = pd.DataFrame | pl.DataFrame | pa.Table | dict[str, list[Label | None]]

__all__ = ["frame_of", "from_frame", "to_frame"]

LIBRARIES = ("pandas", "polars", "pyarrow", "dict")


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

    def column(name: str) -> Column:
        return _column(name, frame.get_column(names[name]))

    def columns(wanted: Sequence[str], marks: Collection[str]) -> Iterator[Column]:
        return map(column, wanted)

    library = frame.implementation.name.lower()  # its str was another in older releases
    return Source(tuple(map(str, frame.columns)), columns, library if library in LIBRARIES else None)


def _column(name: str, series: Any) -> Column:
    import narwhals as nw

    if series.implementation.is_polars():
        return of_series(name, series.to_native())
    if series.implementation.is_pyarrow() and series.dtype == nw.Categorical:
        return of_dictionary(name, series.to_native())
    if series.dtype in (nw.Categorical, nw.Enum):
        return _categories(name, series)
    if series.dtype.is_decimal():
        series = series.cast(nw.Float64)
    if series.dtype.is_numeric():
        return of_array(name, series.to_numpy())
    if series.dtype in (nw.Datetime, nw.Date, nw.Duration):
        return _moments(name, series)
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
    import narwhals as nw

    native = series.to_native()
    if series.implementation.is_pandas() and str(native.dtype).endswith("[pyarrow]"):
        return nw.from_native(native.astype(f"datetime64[us, {series.dtype.time_zone}]"), series_only=True)
    return series


def _categories(name: str, series: Any) -> Column:
    """Return categories in the order the library keeps them."""
    native = series.to_native()
    if not series.implementation.is_pandas_like():
        return of_values(name, series.to_list())
    levels, codes = native.cat.categories.tolist(), native.cat.codes.to_numpy()
    if None in levels:
        return of_values(name, series.to_list())
    labels = tuple(level if isinstance(level, Label) else str(level) for level in levels)
    return Labels(name, labels, codes, "categories", declared=True, ordered=bool(native.cat.ordered))


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

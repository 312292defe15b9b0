"""Columns of polars that have a type, as a frame or an Arrow file holds them; and Arrow's dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.coded import coded
from lacunary.data.column import EXACT, Column, Labels, Moments, Numbers, at_midnight, of_array, of_values
from lacunary.data.large import distinct_integers
from lacunary.data.schema import Label
from lacunary.data.table import HOLE, code_dtype

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["of_dictionary", "of_series"]

DAY = 86400


def of_series(name: str, series: pl.Series) -> Column:
    """Return the column that a column of polars is."""
    import polars as pl

    kind = series.dtype
    if kind == pl.String or (kind == pl.Categorical and series.count()):  # which keeps no order
        levels, codes = coded(series.alias(""))  # polars takes names such as * and ^a$ for patterns
        return Labels(name, tuple(levels), codes)
    if isinstance(kind, pl.Enum):
        levels = kind.categories.to_list()
        codes = _codes(series.to_physical(), len(levels))
        return Labels(name, tuple(levels), codes, "categories", declared=True, ordered=True)
    if kind == pl.Boolean and series.count():
        return Labels(name, (False, True), _codes(series, 2), "booleans", declared=True)
    if kind.is_integer():
        return _integers(name, series)
    if kind.is_decimal():
        series = series.cast(pl.Float64)
    if series.dtype.is_float():
        return Numbers(name, series.to_numpy().astype(np.float64, copy=False))
    if kind.is_numeric():
        return of_array(name, series.to_numpy())
    if kind in (pl.Datetime, pl.Date, pl.Duration):
        return _moments(name, series)
    return of_values(name, series.to_list())


def of_dictionary(name: str, column: pa.ChunkedArray) -> Column:
    """Return a dictionary of Arrow, with all its categories in their order."""
    import polars as pl

    if not len(column):
        return of_values(name, [])
    array: Any = column.combine_chunks()
    levels = array.dictionary.to_pylist()
    if None in levels:
        return of_values(name, array.to_pylist())
    codes = _codes(pl.Series(pl.from_arrow(array.indices)), len(levels))  # pyarrow's own take much memory
    labels = tuple(level if isinstance(level, Label) else str(level) for level in levels)
    return Labels(name, labels, codes, "categories", declared=True, ordered=bool(array.type.ordered))


def _codes(positions: pl.Series, states: int) -> NDArray[np.signedinteger]:
    """Return positions of so many states as codes, holes where there is none."""
    import polars as pl

    size = {1: pl.Int8, 2: pl.Int16, 4: pl.Int32}[np.dtype(code_dtype([states])).itemsize]
    own = positions.cast(size)
    codes: NDArray[np.signedinteger] = (own.fill_null(HOLE) if own.null_count() else own).to_numpy()
    return codes


def _integers(name: str, series: pl.Series) -> Column:
    """Return whole numbers; those that are too long for numbers as what they are."""
    import polars as pl

    low, high = series.min(), series.max()
    if low is None:
        return Numbers(name, np.full(len(series), np.nan))
    low, high = int(low), int(high)  # type: ignore[arg-type]
    if max(-low, high) > EXACT:
        return of_values(name, series.to_list())
    numbers = Numbers(name, series.cast(pl.Float64).to_numpy())
    seen = series.drop_nulls() if series.null_count() else series
    counts = distinct_integers(seen.to_numpy(), low, high), len(seen)
    return numbers.knowing(bounds=(float(low), float(high)), counts=counts, whole=True)


def _moments(name: str, series: pl.Series) -> Moments:
    """Return dates, times or durations; times with a zone are those of UTC."""
    import polars as pl

    if series.dtype == pl.Date:
        return Moments(name, _floats(series.to_physical()) * DAY, "dates")
    if series.dtype == pl.Duration:
        return Moments(name, _floats(series.dt.total_microseconds()) / 1e6, "durations")
    since = _floats(series.dt.timestamp("us")) / 1e6
    if getattr(series.dtype, "time_zone", None) is None:
        return Moments(name, since, "dates" if at_midnight(since) else "times")
    wall = _floats(series.dt.replace_time_zone(None).dt.timestamp("us")) / 1e6
    return Moments(name, since, "times", "UTC", wall)


def _floats(ticks: pl.Series) -> NDArray[np.float64]:
    """Return whole numbers as floats, NaN where there is none."""
    import polars as pl

    values: NDArray[np.float64] = ticks.cast(pl.Float64).to_numpy()
    return values

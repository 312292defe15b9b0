"""Rows with their holes filled and nothing else changed: columns keep their types."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from lacunary.data.moments import seconds_of
from lacunary.data.schema import Variable
from lacunary.data.table import Table

__all__ = ["patched_array", "patched_frame"]


def patched_array(cells: NDArray[Any], rows: Table, filled: Table) -> NDArray[Any]:
    """Return the array that some rows were read from with their holes filled; (rows, columns)."""
    out = cells.astype(object) if cells.dtype.kind in "US" else cells.copy()  # texts may be longer
    for place, variable in enumerate(rows.schema):
        where = np.flatnonzero(rows.holes[:, place])
        out[where, place] = _values(filled, variable.name, where)
    return out


def patched_frame(frame: Any, rows: Table, filled: Table) -> Any:
    """Return the frame that some rows were read from with their holes filled, as narwhals has it."""
    native = nw.from_native(frame, eager_only=True)
    patched = []
    for place, (column, variable) in enumerate(zip(native.iter_columns(), rows.schema, strict=True)):
        where = np.flatnonzero(rows.holes[:, place])
        if len(where):
            patched.append(_patched(column, where, _values(filled, variable.name, where), variable))
    return native.with_columns(*patched)


def _values(filled: Table, name: str, where: NDArray[np.intp]) -> NDArray[Any]:
    """Return what stands in some rows of a column: its states, or its numbers."""
    place, variable = filled.schema.index(name), filled.schema[name]
    if not variable.discrete:
        return np.asarray(filled.reals[where, place])
    states = np.empty(variable.size, dtype=object)
    states[:] = variable.states
    return np.asarray(states[filled.codes[where, place]])


def _patched(column: nw.Series[Any], where: NDArray[np.intp], values: Any, variable: Variable) -> Any:
    """Return a column with values put in; one of whole numbers becomes one of reals if it must."""
    if column.implementation.is_pandas_like() and _named(column.dtype):
        return _categories(column, where, values)
    if not variable.discrete:
        values = _moments(column.dtype, values, variable.unit)
        if column.dtype.is_integer() and not np.all(values == np.round(values)):
            column = column.cast(nw.Float64)
        elif column.dtype == nw.String:
            values = values.astype(str)
    new = nw.new_series(column.name, values.tolist() if values.dtype == object else values,
                        backend=column.implementation)  # fmt: skip
    return column.scatter(where, new if column.dtype == nw.Object else _cast(new, column))


def _categories(column: nw.Series[Any], where: NDArray[np.intp], values: Any) -> Any:
    """Return a column of pandas' categories with values put in, by their codes: pandas would look each up."""
    native = column.to_native()
    codes, kept = native.array.codes.copy(), native.array.dtype
    codes[where] = kept.categories.get_indexer(values)
    filled = type(native.array).from_codes(codes, dtype=kept)
    return nw.from_native(native._constructor(filled, index=native.index, name=native.name), series_only=True)


def _named(dtype: Any) -> bool:
    return dtype in (nw.Categorical, nw.Enum)


def _cast(new: nw.Series[Any], column: nw.Series[Any]) -> nw.Series[Any]:
    """Return values as a column's type has them; times stand in its zone."""
    if column.dtype == nw.Enum:  # polars' own: older narwhals know no types of named states
        return nw.from_native(new.to_native().cast(column.to_native().dtype), series_only=True)
    zone = getattr(column.dtype, "time_zone", None)
    return (new.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else new).cast(column.dtype)


def _moments(dtype: Any, values: NDArray[np.float64], unit: str) -> NDArray[Any]:
    """Return numbers as the moments they count to, if the column holds moments."""
    seconds = seconds_of(values, unit)
    if seconds is None or not (dtype.is_temporal() or dtype == nw.String):
        return values
    if unit.startswith("days since "):  # dates, which have no hours
        seconds = 86400.0 * np.round(seconds / 86400.0)
    spans = np.round(seconds * 1e6).astype("timedelta64[us]")
    return spans if dtype == nw.Duration else np.datetime64(0, "us") + spans

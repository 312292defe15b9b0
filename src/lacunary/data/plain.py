"""Tables that come as arrays, or as plain Python mappings and lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import Column, Source, of_array, of_values
from lacunary.data.schema import Schema
from lacunary.errors import SchemaError, TableError

__all__ = ["from_array", "from_mapping", "from_rows"]


def from_array(array: NDArray[Any], schema: Schema | None) -> Source:
    """Return the columns of a two-dimensional or structured array, named as in the schema, else x1, x2, …."""
    if array.dtype.names:
        return from_mapping({name: array[name] for name in array.dtype.names})
    if array.ndim != 2:
        raise TableError(f"an array needs two dimensions, rows and variables; this one has {array.ndim}")
    width = array.shape[1]
    names = tuple(f"x{place + 1}" for place in range(width))
    if schema is not None:
        seen = tuple(v.name for v in schema if not v.hidden)
        names = next((given for given in (schema.names, seen) if len(given) == width), ())
        if not names:
            raise SchemaError(f"the array has {width} columns, but the schema {len(seen)} observed variables")
    return from_mapping({name: array[:, place] for place, name in enumerate(names)})


def from_rows(rows: Sequence[Any]) -> Source:
    """Return the columns of rows that are mappings from names to cells; a name a row lacks is a hole."""
    if not all(isinstance(row, Mapping) for row in rows):
        raise TableError(
            "a list must hold rows that are mappings from names to cells; give lists as np.array(…)"
        )
    return from_mapping(
        {key: [row.get(key) for row in rows] for key in dict.fromkeys(k for row in rows for k in row)}
    )


def from_mapping(given: Mapping[Any, Any]) -> Source:
    """Return the columns of a mapping from names to sequences."""

    def columns(wanted: Sequence[str], marks: Collection[str]) -> Iterator[Column]:
        by_name = {str(name): values for name, values in given.items()}
        return map(_column, wanted, [by_name[name] for name in wanted])

    return Source(tuple(map(str, given)), columns)


def _column(name: str, values: Any) -> Column:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TableError(f"{name}: a column is a sequence with a cell a row, not {values!r:.80}")
    if not hasattr(values, "__array__"):
        return of_values(name, values)
    array = np.asanyarray(values)
    if array.ndim != 1:
        raise TableError(f"{name}: a column has one dimension, not {array.ndim}")
    return of_array(name, array)

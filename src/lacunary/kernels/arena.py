"""Arenas: many integer arrays end to end in one buffer, so that a kernel gets dozens of them in one argument.

Handing an array to a kernel costs about a microsecond, which is more than some cells do. What never changes
from sweep to sweep therefore lies in one buffer of 64-bit words that begins with a directory: for each array
where it starts and stops, counted in its own items from the beginning of the buffer. An arena holds positions
and no addresses, so it may be copied, pickled and sent elsewhere. The named tuples are views of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.np import numpy_support
from numpy.typing import NDArray

from lacunary.kernels.aligned import CACHE_LINE, aligned
from lacunary.kernels.cell import Kinds, Spots
from lacunary.kernels.compile import COMPILES, inlined
from lacunary.kernels.lanes import start_of
from lacunary.kernels.pack import Slab

__all__ = [
    "Arena",
    "arena_from",
    "arena_of_cells",
    "arena_of_kinds",
    "blank",
    "cells_in",
    "cells_of",
    "count_in",
    "kinds_in",
    "kinds_of",
    "parts_of",
    "pointed",
    "tuple_in",
]

T = TypeVar("T")

Arena = NDArray[np.int64]

LONG, SHORT, TRUTH = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)

KINDS = (*(LONG,) * 9, SHORT, LONG, LONG, SHORT)
SLAB = (SHORT,) * 10  # all but the weights
SPOTS = (SHORT, SHORT, SHORT, TRUTH)

intrinsic: Any = extending.intrinsic
LONGS: Any = types.Array(types.int64, 1, "C")


def arena_of_kinds(kinds: Kinds, size: int, fill: Callable[[NDArray[np.int32]], None]) -> Arena:
    """Return an arena with copies of these arrays, but with offsets, so many, that are written there."""
    arena = arena_from(kinds, KINDS, size)
    fill(kinds_of(arena).offsets)
    return arena


def arena_of_cells(slab: Slab, spots: Spots) -> Arena:
    """Return an arena with copies of these arrays but the weights; `cells_of` finds them there."""
    fixed = [one for name, one in slab._asdict().items() if name != "weight"]
    return arena_from([*fixed, *spots], SLAB + SPOTS)


def kinds_of(arena: Arena) -> Kinds:
    """Return the kinds that lie in an arena, as views of it."""
    return Kinds._make(parts_of(arena, KINDS))


def cells_of(arena: Arena, weight: NDArray[np.float64]) -> tuple[Slab, Spots]:
    """Return the cells that lie in an arena, as views of it, with their weights; and their spots."""
    parts = parts_of(arena, SLAB + SPOTS)
    before = Slab._fields.index("weight")
    slab = Slab._make([*parts[:before], weight, *parts[before : len(SLAB)]])
    return slab, Spots._make(parts[len(SLAB) :])


def parts_of(arena: Arena, dtypes: Sequence[np.dtype[Any]]) -> list[NDArray[Any]]:
    """Return the arrays that lie in an arena, as views of it."""
    ends = arena[: 2 * len(dtypes)].reshape(-1, 2)
    return [arena.view(dtype)[first:last] for dtype, (first, last) in zip(dtypes, ends, strict=True)]


def arena_from(arrays: Sequence[NDArray[Any]], dtypes: Sequence[np.dtype[Any]], last: int = 0) -> Arena:
    """Copy the arrays into one buffer behind a directory; an array that is given twice is kept once.

    The last array has room for so many numbers more.
    """
    at: dict[int, int] = {}
    end = _rounded(2 * len(arrays) * LONG.itemsize)
    for one, dtype in zip(arrays, dtypes, strict=True):
        if one.dtype != dtype:
            raise TypeError(f"a kernel would read {dtype} where there is {one.dtype}")
        if id(one) not in at:
            at[id(one)] = end
            end = _rounded(end + one.nbytes)
    arena = np.zeros(_rounded(end + last * dtypes[-1].itemsize) // LONG.itemsize, dtype=np.int64)
    for k, one in enumerate(arrays):
        first = at[id(one)] // one.itemsize
        arena[2 * k], arena[2 * k + 1] = first, first + one.size
        arena.view(one.dtype)[first : first + one.size] = one
    arena[2 * len(arrays) - 1] += last
    return arena


def blank(sizes: Sequence[int], dtypes: Sequence[np.dtype[Any]]) -> Arena:
    """Return an arena of arrays of zeros."""
    end, directory = _rounded(2 * len(sizes) * LONG.itemsize), []
    for size, dtype in zip(sizes, dtypes, strict=True):
        first = end // dtype.itemsize
        directory += [first, first + size]
        end = _rounded(end + size * dtype.itemsize)
    arena = aligned(end // LONG.itemsize, LONG)
    arena[:] = 0
    arena[: len(directory)] = directory
    return arena


def _rounded(size: int) -> int:
    """Return so many bytes, filled up to whole cache lines: arrays begin on their borders."""
    return -(-size // CACHE_LINE) * CACHE_LINE


def _pointers_to(dtypes: Sequence[np.dtype[Any]]) -> list[Any]:
    """Return the types of pointers to these; truths are bytes."""
    return [types.CPointer(types.uint8 if one == TRUTH else numpy_support.from_dtype(one)) for one in dtypes]


def _pointers(context: Any, builder: Any, arena: Any, items: Sequence[Any]) -> list[Any]:
    """Return where the arrays of an arena begin, given the types of pointers to them."""
    buffer, found = context.make_array(LONGS)(context, builder, arena).data, []
    for k, item in enumerate(items):
        start = builder.load(builder.gep(buffer, [ir.IntType(64)(2 * k)]))
        found.append(builder.gep(builder.bitcast(buffer, context.get_value_type(item)), [start]))
    return found


def tuple_in(cls: Any, dtypes: Sequence[np.dtype[Any]]) -> Any:
    """Return op(arena), for kernels: the arrays that lie in an arena, as a tuple of that class.

    They are pointers there, which a kernel indexes as it does arrays; they have no length, and so there is
    little to compile.
    """
    if not COMPILES:
        return lambda arena: cls._make(parts_of(arena, dtypes))
    items = _pointers_to(dtypes)
    result = types.NamedTuple(items, cls)

    def operation(typing: Any, arena: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.make_tuple(builder, result, _pointers(context, builder, arguments[0], items))

        return result(LONGS), generate

    return intrinsic(operation)


def _cells_in(typing: Any, arena: Any, weight: Any) -> Any:
    many, before, pointers = len(SLAB), Slab._fields.index("weight"), _pointers_to(SLAB + SPOTS)
    held = pointers[:many]
    slab = types.NamedTuple([*held[:before], weight, *held[before:]], Slab)
    spots = types.NamedTuple(pointers[many:], Spots)
    result = types.Tuple([slab, spots])

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = _pointers(context, builder, arguments[0], pointers)
        cells = [*found[:before], arguments[1], *found[before:many]]
        both = (slab, cells), (spots, found[many:])
        return context.make_tuple(builder, result, [context.make_tuple(builder, *one) for one in both])

    return result(LONGS, weight), generate


kinds_in: Callable[[Any], Kinds] = tuple_in(Kinds, KINDS)
"""Does as `kinds_of` inside a kernel."""


def _pointed(typing: Any, arrays: Any) -> Any:
    items = [
        _pointers_to([numpy_support.as_dtype(one.dtype)])[0] if isinstance(one, types.Array) else one
        for one in arrays.types
    ]
    if any(isinstance(one, types.Array) and one.layout != "C" for one in arrays.types):
        raise TypeError("what a kernel has pointers to must lie in one piece")
    result = types.NamedTuple(items, arrays.instance_class)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = [builder.extract_value(arguments[0], k) for k in range(len(items))]
        found = [start_of(context, builder, kind, one) for kind, one in zip(arrays.types, held, strict=True)]
        return context.make_tuple(builder, result, found)

    return result(arrays), generate


def _plainly_pointed(arrays: Any) -> Any:
    return arrays._make(one.reshape(-1) if isinstance(one, np.ndarray) else one for one in arrays)


pointed: Callable[[T], T] = intrinsic(_pointed) if COMPILES else _plainly_pointed
"""Returns, inside a kernel, a tuple of arrays as one of pointers; arrays of several axes are flat there."""

cells_in: Callable[[Any, Any], tuple[Slab, Spots]] = intrinsic(_cells_in) if COMPILES else cells_of
"""Does as `cells_of` inside a kernel, with pointers for arrays."""


@inlined
def count_in(arena: Any) -> Any:
    """Return how many cells lie in an arena."""
    return arena[1] - arena[0]

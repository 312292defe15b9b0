"""Arenas: many integer arrays end to end in one buffer, so that a kernel gets dozens of them in one argument.

Handing an array to a kernel costs about a microsecond, which is more than some cells do. What never changes
from sweep to sweep therefore lies in one buffer of 64-bit words that begins with a directory: for each array
where it starts and stops, counted in its own items from the beginning of the buffer. An arena holds positions
and no addresses, so it may be copied, pickled and sent elsewhere. The named tuples are views of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.cell import Kinds, Spots
from lacunary.kernels.compile import unfolded
from lacunary.kernels.pack import Slab

__all__ = ["Arena", "arena_of_cells", "arena_of_kinds", "cells_in", "cells_of", "kinds_in", "kinds_of"]

Arena = NDArray[np.int64]

ALIGNMENT = 64
"""Bytes from one beginning of an array to the next are a multiple of this: a cache line."""

LONG, SHORT, TRUTH = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)

KINDS = (LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, SHORT, SHORT)
SLAB = (SHORT,) * 10  # all but the weights
SPOTS = (SHORT, SHORT, SHORT, TRUTH)


def arena_of_kinds(kinds: Kinds) -> Arena:
    """Return an arena with copies of these arrays; `kinds_of` finds them there."""
    return _arena(kinds, KINDS)


def arena_of_cells(slab: Slab, spots: Spots) -> Arena:
    """Return an arena with copies of these arrays but the weights; `cells_of` finds them there."""
    fixed = [one for name, one in slab._asdict().items() if name != "weight"]
    return _arena([*fixed, *spots], SLAB + SPOTS)


def kinds_of(arena: Arena) -> Kinds:
    """Return the kinds that lie in an arena, as views of it."""
    return Kinds._make(_parts(arena, KINDS))


def cells_of(arena: Arena, weight: NDArray[np.float64]) -> tuple[Slab, Spots]:
    """Return the cells that lie in an arena, as views of it, with their weights; and their spots."""
    parts = _parts(arena, SLAB + SPOTS)
    before = Slab._fields.index("weight")
    slab = Slab._make([*parts[:before], weight, *parts[before : len(SLAB)]])
    return slab, Spots._make(parts[len(SLAB) :])


def _parts(arena: Arena, dtypes: Sequence[np.dtype[Any]]) -> list[NDArray[Any]]:
    ends = arena[: 2 * len(dtypes)].reshape(-1, 2)
    return [arena.view(dtype)[first:last] for dtype, (first, last) in zip(dtypes, ends, strict=True)]


def _arena(arrays: Sequence[NDArray[Any]], dtypes: Sequence[np.dtype[Any]]) -> Arena:
    """Copy the arrays into one buffer behind a directory; an array that is given twice is kept once."""
    at: dict[int, int] = {}
    end = _rounded(2 * len(arrays) * LONG.itemsize)
    for one, dtype in zip(arrays, dtypes, strict=True):
        if one.dtype != dtype:
            raise TypeError(f"a kernel would read {dtype} where there is {one.dtype}")
        if id(one) not in at:
            at[id(one)] = end
            end = _rounded(end + one.nbytes)
    arena = np.zeros(end // LONG.itemsize, dtype=np.int64)
    for k, one in enumerate(arrays):
        first = at[id(one)] // one.itemsize
        arena[2 * k], arena[2 * k + 1] = first, first + one.size
        arena.view(one.dtype)[first : first + one.size] = one
    return arena


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@unfolded
def _part(arena: Any, items: Any, k: int) -> Any:
    """Return the k-th array of the arena; ``items`` is the arena in the array's own type."""
    return items[arena[2 * k] : arena[2 * k + 1]]


@unfolded
def kinds_in(arena: Any) -> Kinds:
    """Do as `kinds_of` inside a kernel."""
    short = arena.view(np.int32)
    return Kinds(
        _part(arena, arena, 0),
        _part(arena, arena, 1),
        _part(arena, arena, 2),
        _part(arena, arena, 3),
        _part(arena, arena, 4),
        _part(arena, arena, 5),
        _part(arena, arena, 6),
        _part(arena, arena, 7),
        _part(arena, arena, 8),
        _part(arena, short, 9),
        _part(arena, short, 10),
    )


@unfolded
def cells_in(arena: Any, weight: Any) -> tuple[Slab, Spots]:
    """Do as `cells_of` inside a kernel."""
    short, truth = arena.view(np.int32), arena.view(np.bool_)
    slab = Slab(
        _part(arena, short, 0),
        _part(arena, short, 1),
        _part(arena, short, 2),
        _part(arena, short, 3),
        _part(arena, short, 4),
        _part(arena, short, 5),
        _part(arena, short, 6),
        _part(arena, short, 7),
        weight,
        _part(arena, short, 8),
        _part(arena, short, 9),
    )
    spots = Spots(
        _part(arena, short, 10),
        _part(arena, short, 11),
        _part(arena, short, 12),
        _part(arena, truth, 13),
    )
    return slab, spots

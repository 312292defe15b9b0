"""Cells in few bytes, for large tables: what follows from their kinds is left out, and all else is short.

They are laid out in full for a sweep and forgotten after it, which takes a hundredth of its time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import Arena, arena_from, cells_in, kinds_in, parts_of, tuple_in
from lacunary.kernels.cell import Kinds, Spots
from lacunary.kernels.compile import bare
from lacunary.kernels.pack import Slab

__all__ = ["Folded", "fold", "unfold"]

MOST = 2**16
"""Cells, kinds, places and tables must be fewer, and children and roots of one fewer than `FEW`."""

FEW = 2**8


class Folded(NamedTuple):
    """Cells of a chunk as they are kept; see `lacunary.kernels.pack.Slab`.

    ``told`` begins with how many words the cells take in full, how many cells there are and how many rows,
    and where the values of roots lie: behind how many others, in how many places that they take by turns, and
    how large these are; then comes the directory of the full arena. Each cell has ``below`` children, which
    are cells ``back`` before it, each with one of the ``tables``, and each row ``roots``.
    """

    told: NDArray[np.int64]
    kind: NDArray[np.uint16]
    base: NDArray[np.uint16]
    below: NDArray[np.uint8]
    back: NDArray[np.uint16]
    above: NDArray[np.uint16]
    tables: NDArray[np.int32]
    plain: NDArray[np.uint8]
    root: NDArray[np.uint16]
    roots: NDArray[np.uint8]


LONG, INDEX, WORD, BYTE = (np.dtype(kind) for kind in (np.int64, np.int32, np.uint16, np.uint8))

FOLDED: tuple[np.dtype[Any], ...] = (LONG, WORD, WORD, BYTE, WORD, WORD, INDEX, BYTE, WORD, BYTE)

TOLD = 6
"""Numbers before the directory."""

folded_in: Any = tuple_in(Folded, FOLDED)


def fold(kinds: Kinds, slab: Slab, spots: Spots, arena: Arena, turns: tuple[int, int, int]) -> Arena | None:
    """Return cells in few bytes, or nothing if they are too many; readouts must be those of links.

    ``arena`` has them in full; ``turns`` says where the values of roots lie, as in `Folded`.
    """
    below, roots = np.diff(slab.child_start), np.diff(slab.root_start)
    tables, above = np.unique(slab.above, return_inverse=True)
    back = np.repeat(np.arange(len(below)), below) - slab.child
    most = max(int(one.max(initial=0)) for one in (slab.kind, slab.base, above, back, slab.root))
    if most >= MOST or max(int(below.max(initial=0)), int(roots.max(initial=0))) >= FEW:
        return None
    directory = arena[: 2 * (len(Slab._fields) - 1 + len(Spots._fields))]
    told = np.array([len(arena), len(slab.kind), len(roots), *turns, *directory], dtype=np.int64)
    plain = spots.plain.astype(np.uint8)
    few: list[NDArray[Any]] = [told, slab.kind, slab.base, below, back, above, tables, plain]
    few += [slab.root, roots]
    return arena_from([one.astype(kind) for one, kind in zip(few, FOLDED, strict=True)], FOLDED)


def unfold(kinds_arena: Arena, folded: Arena, weight: NDArray[np.float64]) -> Arena:
    """Return the cells in full."""
    told = parts_of(folded, FOLDED)[0]
    out = np.empty(told[0], dtype=np.int64)
    out[: len(told) - TOLD] = told[TOLD:]
    _unfold(kinds_arena, folded, out, weight)
    return out


@bare
def _unfold(kinds_arena: Any, folded_arena: Any, out: Any, weight: Any) -> None:
    """Write the cells that are folded in one arena into the other, whose directory is there."""
    kinds, few = kinds_in(kinds_arena), folded_in(folded_arena)
    slab, spots = cells_in(out, weight)
    cells, rows, first, turns, largest = few.told[1], few.told[2], few.told[3], few.told[4], few.told[5]
    links, children, value, shared, turn = 0, 0, 0, 0, 0
    slab.base_start[0] = slab.child_start[0] = slab.root_start[0] = 0
    # Cells before c are written; they have so many links and children, values of cells that are no roots,
    # numbers shared with parents, and roots.
    for c in range(cells):
        kind = np.int64(few.kind[c])
        slab.kind[c], spots.shared[c], spots.plain[c] = kind, shared, few.plain[c]
        if kinds.own[kind] < 0:
            turn += 1
            spots.value[c] = first + turn % turns * largest
        else:
            spots.value[c] = value
            value += kinds.size[kind]
        shared += kinds.shared[kind]
        for k in range(children, children + few.below[c]):
            slab.child[k], slab.above[k] = c - np.int64(few.back[k]), few.tables[few.above[k]]
            spots.child_message[k] = spots.shared[slab.child[k]]
        links += kinds.link_start[kind + 1] - kinds.link_start[kind]
        children += few.below[c]
        slab.base_start[c + 1], slab.child_start[c + 1] = links, children
    for k in range(links):
        slab.base[k] = few.base[k]
    roots = 0
    for r in range(rows):  # rows before r have so many
        for k in range(roots, roots + few.roots[r]):
            slab.root[k] = few.root[k]
        roots += few.roots[r]
        slab.root_start[r + 1] = roots

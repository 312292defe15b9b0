"""Rows side by side: `PANEL` of them, column after column, so that one instruction takes `LANES` rows.

Rows z = (1, x) in panels are (panels, n + 1, `PANEL`), the last one filled up with zeros. The root A of a
density stands in tiles of `TILE` rows, (tiles, n + 1, `TILE`), filled up with zeros too: so many residuals of
so many rows are in registers together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.aligned import aligned
from lacunary.kernels.compile import inlined
from lacunary.kernels.lanes import LANES, U
from lacunary.kernels.writer import SIDE, TILE, Writer, made

__all__ = ["LARGE", "PANEL", "VECTORS", "family_norms", "panelled", "squared_norms"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

PANEL = 4 * LANES
"""Rows of a panel: with four rows of A they have sixteen sums."""

LARGE = 1e300
"""Where squared residuals end, so that an outlier has a log-density however far it lies."""

VECTORS = range(PANEL // LANES)


def panelled(z: Array) -> Array:
    """Return rows in panels; flat."""
    rows, width = z.shape
    many = -(-rows // PANEL)
    out = aligned(many * width * PANEL, np.dtype(np.float64)).reshape(many, width, PANEL)
    whole = rows // PANEL
    out[:whole] = z[: whole * PANEL].reshape(whole, PANEL, width).swapaxes(1, 2)
    if whole < many:
        out[whole] = 0.0
        out[whole, :, : rows - whole * PANEL] = z[whole * PANEL :].T
    return out.ravel()


def _write_residuals(w: Writer) -> None:
    out, at, rows, begin, root, start, n = w.arguments

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        cells, tile = w.moved(begin, turn, begin.type(PANEL)), w.moved(start, turn, start.type(TILE))
        z = [w.load(rows, cells, v) for v in VECTORS]
        a = [
            w.everywhere(w.builder.load(w.builder.gep(root, [w.builder.add(tile, tile.type(i))])))
            for i in SIDE
        ]
        return [w.plus(s, z[e % len(VECTORS)], a[e // len(VECTORS)]) for e, s in enumerate(sums)]

    # ``sums[4 i + v]`` is the residual of row i of A for the v-th vector of rows.
    sums = w.loop(n, [w.constant(0.0)] * (TILE * len(VECTORS)), step)
    for v in VECTORS:
        total = w.load(out, at, v)
        for i in SIDE:
            one = sums[i * len(VECTORS) + v]
            total = w.plus(total, one, one)
        w.store(total, out, at, v)


def _plain_residuals(out: Any, at: int, rows: Any, begin: int, root: Any, start: int, n: int) -> None:
    z, a = rows[begin : begin + n * PANEL].reshape(n, PANEL), root[start : start + n * TILE].reshape(n, TILE)
    out[at : at + PANEL] += ((a.T @ z) ** 2).sum(axis=0)


add_residuals = made(_write_residuals, 7, _plain_residuals)
"""op(out, at, rows, begin, root, start, n): add to each of `PANEL` sums the squares of `TILE` residuals.

n columns of the panel are taken from ``begin`` on, and those of the tile from ``start`` on.
"""


def _write_families(w: Writer) -> None:
    out, at, rows, begin, places, shares, first, n = w.arguments
    b = w.builder

    def value(array: Any, where: Any) -> Any:
        return b.load(b.gep(array, [where]))

    def step(turn: Any, squares: list[Any]) -> list[Any]:
        start, end = value(first, turn), value(first, b.add(turn, turn.type(1)))

        def member(k: Any, sums: list[Any]) -> list[Any]:
            one = b.add(b.add(start, start.type(1)), k)
            cells = w.moved(begin, value(places, one), begin.type(PANEL))
            share = w.everywhere(value(shares, one))
            return [w.plus(s, w.load(rows, cells, v), share) for v, s in zip(VECTORS, sums, strict=True)]

        own = w.everywhere(value(shares, start))
        sums = w.loop(b.sub(b.sub(end, start), start.type(1)), [own] * len(VECTORS), member)
        return [w.plus(square, one, one) for square, one in zip(squares, sums, strict=True)]

    # ``squares`` are those of the residuals of all families before.
    for v, value_ in enumerate(w.loop(n, [w.constant(0.0)] * len(VECTORS), step)):
        w.store(value_, out, at, v)


def _plain_families(
    out: Any, at: int, rows: Any, begin: int, places: Any, shares: Any, first: Any, n: int
) -> None:
    out[at : at + PANEL] = 0.0
    for f in range(n):
        own = range(first[f], first[f + 1])
        cells = [rows[begin + places[k] * PANEL : begin + (places[k] + 1) * PANEL] for k in own]
        cells[0] = np.ones(PANEL)
        out[at : at + PANEL] += sum(shares[k] * cell for k, cell in zip(own, cells, strict=True)) ** 2


family_norms = made(_write_families, 8, _plain_families)
"""op(out, at, rows, begin, places, shares, first, n): put the sum of n squared residuals of a panel's rows.

That of family f are ``shares[first[f]:first[f + 1]]`` of the columns ``places``, the first of them the ones.
"""


@inlined
def squared_norms(
    root: Array, reach: Index, c: int, tiles: int, width: int, rows: Array, panel: int, out: Array
) -> None:
    """Put ‖Az‖² of a panel's rows, which begin at ``panel``, under density c.

    ``root`` are the A of all densities in tiles, and ``reach`` the first column of each tile that is not
    zero, and one past the last; flat.
    """
    for i in range(PANEL):
        out[U(i)] = 0.0
    for k in range(c * tiles, (c + 1) * tiles):
        low, top = reach[2 * k], reach[2 * k + 1]
        add_residuals(out, 0, rows, panel + low * PANEL, root, (k * width + low) * TILE, top - low)

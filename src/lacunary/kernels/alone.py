"""Components whose columns are independent: a step of EM in one pass over rows without holes.

Rows z = (1, x) stand side by side (`lacunary.kernels.panels`). While those of a few panels are in the nearest
cache they get their log-densities, are shared out, and add to Σ share · x and Σ share · x².
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.aligned import aligned
from lacunary.kernels.compile import bare
from lacunary.kernels.lanes import LANES, U
from lacunary.kernels.panels import LARGE, PANEL, VECTORS
from lacunary.kernels.shares import ROWS, share_out
from lacunary.kernels.writer import Writer, made

__all__ = ["expect_alone", "put_sums", "room_for"]

Array = NDArray[np.float64]

PANELS = ROWS // PANEL
"""Panels that are worked on together."""


def room_for(components: int) -> Array:
    """Return room for one thread."""
    return aligned((components + 4) * ROWS, np.dtype(np.float64))


def _write_norms(w: Writer) -> None:
    out, at, rows, begin, shares, start, n = w.arguments
    b = w.builder

    def step(turn: Any, squares: list[Any]) -> list[Any]:
        cells, pair = w.moved(begin, turn, begin.type(PANEL)), w.moved(start, turn, start.type(2))
        level = w.everywhere(b.load(b.gep(shares, [pair])))
        slope = w.everywhere(b.load(b.gep(shares, [b.add(pair, pair.type(1))])))
        left = [w.plus(level, w.load(rows, cells, v), slope) for v in VECTORS]
        return [w.plus(square, one, one) for square, one in zip(squares, left, strict=True)]

    # ``squares`` are those of the residuals of all columns before.
    for v, value in enumerate(w.loop(n, [w.constant(0.0)] * len(VECTORS), step)):
        w.store(value, out, at, v)


def _plain_norms(out: Any, at: int, rows: Any, begin: int, shares: Any, start: int, n: int) -> None:
    x, pairs = rows[begin : begin + n * PANEL].reshape(n, PANEL), shares[start : start + 2 * n].reshape(n, 2)
    out[at : at + PANEL] = ((pairs[:, :1] + pairs[:, 1:] * x) ** 2).sum(axis=0)


lone_norms = made(_write_norms, 7, _plain_norms)
"""op(out, at, rows, begin, shares, start, n): put Σ (a + b x)² over n columns of a panel's rows.

Columns stand from ``begin`` on, and (a, b) of one after the other from ``start`` on.
"""


def _write_sums(w: Writer) -> None:
    out, at, rows, begin, shares, start, n = w.arguments
    own = [w.load(shares, start, v) for v in VECTORS]

    def step(turn: Any, nothing: list[Any]) -> list[Any]:
        cells, here = w.moved(begin, turn, begin.type(PANEL)), w.moved(at, turn, at.type(2 * LANES))
        first, second = w.load(out, here, 0), w.load(out, here, 1)
        for v in VECTORS:
            x = w.load(rows, cells, v)
            part = w.times(own[v], x)
            first, second = w.builder.fadd(first, part), w.plus(second, part, x)
        w.store(first, out, here, 0)
        w.store(second, out, here, 1)
        return nothing

    w.loop(n, [], step)


def _plain_sums(out: Any, at: int, rows: Any, begin: int, shares: Any, start: int, n: int) -> None:
    x, own = rows[begin : begin + n * PANEL].reshape(n, -1, LANES), shares[start : start + PANEL]
    sums = out[at : at + 2 * n * LANES].reshape(n, 2, LANES)
    sums[:, 0] += (own.reshape(-1, LANES) * x).sum(axis=1)
    sums[:, 1] += (own.reshape(-1, LANES) * x**2).sum(axis=1)


lone_sums = made(_write_sums, 7, _plain_sums)
"""op(out, at, rows, begin, shares, start, n): add Σ share · x and Σ share · x² of a panel's rows, by column.

Columns stand from ``begin`` on, shares from ``start`` on; from ``at`` on ``out`` is (columns, 2, `LANES`).
"""


@bare
def expect_alone(
    rows: Array,
    width: int,
    weights: Array,
    pairs: Array,
    added: Array,
    begin: int,
    end: int,
    room: Array,
    shares: Array,
    told: Array,
    out: Array,
) -> None:
    """Share rows from ``begin``, the first of a panel, to ``end`` out, and add up what components expect.

    Parameters
    ----------
    rows, width
        In panels, ``width`` numbers each.
    weights
        How often each row counts; (rows,).
    pairs, added
        (a, b) of every column, (components, n, 2), flat; and what is added to −½ Σ (a + b x)², (components,).
    room
        That of `room_for`: log-densities, then shares, component by component; log-densities of rows; the
        room of `share_out`.
    shares, told
        As for `share_out`.
    out
        Σ share, Σ share · x and Σ share · x², in parts that add up; (components, n + 1, 2, `LANES`), flat.
    """
    many, n = len(added), width - 1
    logs, here = room[: many * ROWS].reshape(many, ROWS), room[many * ROWS : (many + 1) * ROWS]
    rest = room[(many + 1) * ROWS :]
    for at in range(begin, end, ROWS):  # all rows before are shared out, and in ``out``
        some = min(ROWS, end - at)
        for c in range(many):
            for p in range(PANELS if some > PANEL else 1):
                first = (at // PANEL + p) * width * PANEL + PANEL
                lone_norms(room, c * ROWS + p * PANEL, rows, first, pairs, 2 * c * n, n)
            own = logs[c]
            for i in range(some):
                own[U(i)] = -0.5 * min(own[U(i)], LARGE)
        share_out(logs, added, 0, some, rest, logs, here)
        for i in range(some):
            told[U(at + i)] = here[U(i)]
        for c in range(many):
            own, share = logs[c], shares[c]
            for i in range(some):
                share[U(at + i)] = own[U(i)]
                own[U(i)] *= weights[U(at + i)]
            for i in range(some, ROWS):
                own[U(i)] = 0.0
            for p in range(PANELS if some > PANEL else 1):
                first, start = (at // PANEL + p) * width * PANEL, c * ROWS + p * PANEL
                lone_sums(out, c * width * 2 * LANES, rows, first, room, start, width)


@bare
def put_sums(parts: Array, out: Array) -> None:
    """Put what parts add up to where moments have it; ``out``, (components, n + 1, n + 1), holds zeros.

    Each part is as `expect_alone` has it.
    """
    width = out.shape[1]
    for c in range(len(out)):
        for j in range(width):
            at, first, second = (c * width + j) * 2 * LANES, 0.0, 0.0
            for part in range(len(parts)):  # the sums have the parts before
                own = parts[part]
                for lane in range(LANES):
                    first += own[U(at + lane)]
                    second += own[U(at + LANES + lane)]
            out[c, 0, j], out[c, j, 0] = first, first
            out[c, j, j] = second

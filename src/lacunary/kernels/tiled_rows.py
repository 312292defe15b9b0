"""Rows of matrices in tiles: multiplied by a vector, fetched from their places, and added to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from lacunary.kernels.compile import inlined
from lacunary.kernels.lanes import LANES
from lacunary.kernels.writer import AREA, SIDE, TILE, Writer, made

__all__ = ["add_row", "copy_row", "dots", "folded"]


def _write_dots(w: Writer) -> None:
    out, at, square, base, places, values, n = w.arguments
    rows = [w.builder.load(w.builder.gep(base, [at.type(r)])) for r in SIDE]

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        offset = w.builder.load(w.builder.gep(places, [turn]))
        value = w.everywhere(w.builder.load(w.builder.gep(values, [turn])))
        both = zip(sums, rows, strict=True)
        return [w.minus(s, w.load(square, w.builder.add(r, offset)), value) for s, r in both]

    for r, value in enumerate(w.loop(n, [w.constant(0.0)] * TILE, step)):
        w.store(value, out, at, r)


def _plain_dots(out: Any, at: int, square: Any, base: Any, places: Any, values: Any, n: int) -> None:
    for r in SIDE:
        where = base[r] + places[:n, None] + np.arange(LANES)
        out[at + r * LANES : at + (r + 1) * LANES] = -values[:n] @ square[where]


dots = made(_write_dots, 7, _plain_dots)
"""op(out, at, square, base, places, values, n): minus, for each of four r, the sum of values times what
stands in ``square`` at base[r] + places."""


def _make_folded(many: int) -> Any:
    """Return op(out, at, square, base, values, n): `dots` of ``many`` lanes, LANES / many places at a time.

    Values are repeated for every lane, and ``n`` vectors of them are taken from ``base[r]`` on.
    """

    def write(w: Writer) -> None:
        out, at, square, base, values, n = w.arguments
        rows = [w.builder.load(w.builder.gep(base, [at.type(r)])) for r in SIDE]

        def step(turn: Any, sums: list[Any]) -> list[Any]:
            moved = w.builder.mul(turn, turn.type(LANES))
            value, both = w.load(values, moved), zip(sums, rows, strict=True)
            return [w.minus(s, w.load(square, w.builder.add(r, moved)), value) for s, r in both]

        for r, total in enumerate(w.loop(n, [w.constant(0.0)] * TILE, step)):
            held, wide = total, LANES
            while wide > many:  # ``held``, ``wide`` long, sums to what ``total`` does, place by place
                wide //= 2
                low, high = (
                    w.builder.shuffle_vector(
                        held, held, ir.Constant(ir.VectorType(ir.IntType(32), wide), part)
                    )
                    for part in ([*range(wide)], [*range(wide, 2 * wide)])
                )
                held = w.builder.fadd(low, high)
            where = w.builder.gep(out, [w.builder.add(at, at.type(r * LANES))])
            w.builder.store(held, w.builder.bitcast(where, held.type.as_pointer()), align=8)

    def plain(out: Any, at: int, square: Any, base: Any, values: Any, n: int) -> None:
        for r in SIDE:
            products = square[base[r] : base[r] + n * LANES] * values[: n * LANES]
            out[at + r * LANES : at + r * LANES + many] = -products.reshape(-1, many).sum(axis=0)

    return made(write, 6, plain)


def _make_copy(many: int) -> Any:
    """Return op(out, at, source, row, places, tiles): a row of tiles, entries from places in ``source``."""

    def write(w: Writer) -> None:
        out, at, source, row, places, tiles = w.arguments

        def step(turn: Any, sums: list[Any]) -> list[Any]:
            first, tile = w.builder.mul(turn, turn.type(TILE)), w.moved(at, turn, at.type(AREA))
            for j in SIDE:
                place = w.builder.load(w.builder.gep(places, [w.builder.add(first, first.type(j))]))
                w.store(w.load(source, w.builder.add(row, place)), out, tile, j)
            return sums

        w.loop(tiles, [], step)

    def plain(out: Any, at: int, source: Any, row: int, places: Any, tiles: int) -> None:
        for k, place in enumerate(places[: tiles * TILE]):
            here = at + k // TILE * AREA + k % TILE * LANES
            out[here : here + many] = source[row + place : row + place + many]

    return made(write, 6, plain, many)


def _make_add(many: int) -> Any:
    """Return op(out, row, places, source, at, weight, tiles): a row of tiles, weighted, to its places."""

    def write(w: Writer) -> None:
        out, row, places, source, at, weight, tiles = w.arguments
        own = w.load(weight, at.type(0))

        def step(turn: Any, sums: list[Any]) -> list[Any]:
            first, tile = w.builder.mul(turn, turn.type(TILE)), w.moved(at, turn, at.type(AREA))
            for j in SIDE:
                place = w.builder.load(w.builder.gep(places, [w.builder.add(first, first.type(j))]))
                there = w.builder.add(row, place)
                w.store(w.plus(w.load(out, there), w.load(source, tile, j), own), out, there)
            return sums

        w.loop(tiles, [], step)

    def plain(out: Any, row: int, places: Any, source: Any, at: int, weight: Any, tiles: int) -> None:
        for k, place in enumerate(places[: tiles * TILE]):
            here, there = at + k // TILE * AREA + k % TILE * LANES, row + place
            out[there : there + many] += source[here : here + many] * weight[:many]

    return made(write, 7, plain, many)


folded_1, folded_2, folded_4 = map(_make_folded, (1, 2, 4))
copy_1, copy_2, copy_4, copy_8 = map(_make_copy, (1, 2, 4, 8))
add_1, add_2, add_4, add_8 = map(_make_add, (1, 2, 4, 8))


@inlined
def folded(out: Any, at: int, square: Any, base: Any, values: Any, n: int, many: int) -> None:
    """Do as `dots` for 1, 2 or 4 lanes, with values repeated."""
    if many == 4:
        folded_4(out, at, square, base, values, n)
    elif many == 2:
        folded_2(out, at, square, base, values, n)
    else:
        folded_1(out, at, square, base, values, n)


@inlined
def copy_row(out: Any, at: int, source: Any, row: int, places: Any, tiles: int, many: int) -> None:
    """Fetch a row of tiles, 1, 2, 4 or 8 lanes of each entry, from its places in a row of ``source``."""
    if many == 8:
        copy_8(out, at, source, row, places, tiles)
    elif many == 4:
        copy_4(out, at, source, row, places, tiles)
    elif many == 2:
        copy_2(out, at, source, row, places, tiles)
    else:
        copy_1(out, at, source, row, places, tiles)


@inlined
def add_row(
    out: Any, row: int, places: Any, source: Any, at: int, weight: Any, tiles: int, many: int
) -> None:
    """Add a row of tiles, 1, 2, 4 or 8 lanes of each entry times their weights, to its places in a row."""
    if many == 8:
        add_8(out, row, places, source, at, weight, tiles)
    elif many == 4:
        add_4(out, row, places, source, at, weight, tiles)
    elif many == 2:
        add_2(out, row, places, source, at, weight, tiles)
    else:
        add_1(out, row, places, source, at, weight, tiles)

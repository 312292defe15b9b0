"""Cholesky factors of eight matrices side by side, one a lane, in tiles that stay in registers.

Tiles lie as `lacunary.kernels.writer` has them. Below the diagonal a factor has the tiles
of L, on it the inverses N of L's own tiles, with zeros above; they are what all solving needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from lacunary.kernels.lanes import LANES
from lacunary.kernels.writer import AREA, SIDE, TILE, Writer, fetch, led_to, made, tile_of, tiles_of

__all__ = [
    "SOUND",
    "add_product",
    "add_square",
    "below",
    "below_led",
    "diagonal",
    "diagonal_led",
    "inverse",
    "product",
    "solve_down",
    "solve_up",
]

SOUND = 1e-5
"""What a pivot must keep of its diagonal entry for a Cholesky factor to be trusted with eleven digits."""

tools: Any = cgutils


def _write_diagonal(w: Writer) -> None:
    """Write what `diagonal` does, and `diagonal_led`."""
    lower, out, row, n, state, *led = w.arguments
    b = w.builder
    places = [(i, j) for i in SIDE for j in range(i + 1)]
    if led:
        source, base, columns, at = led
        where = led_to(w, source, base, at, columns, at)
        begin = [b.load(where(i, j), align=8) for i, j in places]
    else:
        begin = [w.load(lower, out, i * TILE + j) for i, j in places]
    bound = [w.times(begin[places.index((i, i))], w.constant(SOUND)) for i in SIDE]

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        at = w.moved(row, turn, row.type(AREA))
        for k in SIDE:
            column = [w.load(lower, at, i * TILE + k) for i in SIDE]
            sums = [w.minus(s, column[i], column[j]) for s, (i, j) in zip(sums, places, strict=True)]
        return sums

    left = dict(zip(places, w.loop(n, begin, step), strict=True))
    kind = ir.FunctionType(w.vector, [w.vector])
    root = tools.get_or_insert_function(b.module, kind, f"llvm.sqrt.v{LANES}f64")
    zero, one = w.constant(0.0), w.constant(1.0)
    start = out.type(0)
    bad, over = w.load(state, start), []
    for j in SIDE:  # ``left`` is what the columns before j leave of the tile; no root is waited for
        sound = b.fcmp_ordered(">", left[j, j], bound[j])
        bad = b.select(sound, bad, one)
        over.append(b.fdiv(one, b.select(sound, left[j, j], one)))
        for i in range(j + 1, TILE):
            ratio = w.times(left[i, j], over[j])
            for k in range(j + 1, i + 1):
                left[i, k] = w.minus(left[i, k], ratio, left[k, j])
    pivots = [b.call(root, [one_over]) for one_over in over]
    inner = {(i, j): w.times(left[i, j], pivots[j]) for i in SIDE for j in range(i)}
    w.store(bad, state, start)
    _write_logs(w, state, start, pivots)
    found: dict[tuple[int, int], Any] = {}
    for i in SIDE:  # ``found`` has the rows before i of the inverse of that factor
        for j in range(i):
            total = w.times(inner[i, j], found[j, j])
            for k in range(j + 1, i):
                total = w.plus(total, inner[i, k], found[k, j])
            found[i, j] = b.fsub(zero, w.times(pivots[i], total))
        found[i, i] = pivots[i]
    for i in SIDE:
        for j in SIDE:
            w.store(found.get((i, j), zero), lower, out, i * TILE + j)


def _write_logs(w: Writer, state: Any, start: Any, pivots: list[Any]) -> None:
    """Multiply the determinant's mantissa by the pivots, and add its exponent to the others."""
    b = w.builder
    total = w.load(state, start, 1)
    for pivot in pivots:
        total = w.times(total, pivot)
    whole = ir.VectorType(ir.IntType(64), LANES)
    bits = b.bitcast(total, whole)
    exponent = b.sub(b.lshr(bits, whole([52] * LANES)), whole([1023] * LANES))
    mantissa = b.or_(b.and_(bits, whole([2**52 - 1] * LANES)), whole([1023 << 52] * LANES))
    w.store(b.bitcast(mantissa, w.vector), state, start, 1)
    w.store(b.fadd(w.load(state, start, 2), b.sitofp(exponent, w.vector)), state, start, 2)


def _plain_diagonal(lower: Any, out: int, row: int, n: int, state: Any) -> None:
    own, before = tile_of(lower, out), tiles_of(lower, row, AREA, n)
    left = own - np.einsum("tikl,tjkl->ijl", before, before)
    for lane in range(LANES):
        factor, bound = np.eye(TILE), SOUND * np.diagonal(own[:, :, lane])
        for j in SIDE:
            pivot = left[j, j, lane] - factor[j, :j] @ factor[j, :j]
            if not pivot > bound[j]:
                state[lane], pivot = 1.0, 1.0
            factor[j, j] = np.sqrt(pivot)
            mantissa, exponent = np.frexp(state[LANES + lane] / factor[j, j])
            state[LANES + lane] = 2 * mantissa
            state[2 * LANES + lane] += exponent - 1
            for i in range(j + 1, TILE):
                factor[i, j] = (left[i, j, lane] - factor[i, :j] @ factor[j, :j]) / factor[j, j]
        own[:, :, lane] = np.tril(np.linalg.inv(factor))


diagonal = made(_write_diagonal, 5, _plain_diagonal)
"""op(lower, out, row, n, state): tile ``out`` of the diagonal, less n tiles of its row squared, becomes N.

``state`` has three entries: one in each lane where a pivot kept too little (it is one from there on), and the
mantissa and the exponent of 1 / det L so far.
"""


def _plain_diagonal_led(
    lower: Any, out: int, row: int, n: int, state: Any, source: Any, base: Any, places: Any, at: int
) -> None:
    fetch(lower, out, source, base, at, places, at)
    _plain_diagonal(lower, out, row, n, state)


diagonal_led = made(_write_diagonal, 9, _plain_diagonal_led)
"""op(lower, out, row, n, state, source, base, places, at): `diagonal` of a tile that is fetched first: its
entry (i, j) stands in ``source`` at base[at + i] + places[at + j].
"""


def _write_below(w: Writer) -> None:
    """Write what `below` does, and `below_led`."""
    lower, out, row, other, n, inner, *led = w.arguments
    entries = range(TILE * TILE)
    if led:
        where = led_to(w, *led)
        begin = [w.builder.load(where(e // TILE, e % TILE), align=8) for e in entries]
    else:
        begin = [w.load(lower, out, e) for e in entries]

    # ``sums`` is the tile less the products of the tiles before this turn.
    def step(turn: Any, sums: list[Any]) -> list[Any]:
        moved = w.builder.mul(turn, turn.type(AREA))
        left, right = w.builder.add(row, moved), w.builder.add(other, moved)
        for k in SIDE:
            one = [w.load(lower, left, i * TILE + k) for i in SIDE]
            two = [w.load(lower, right, j * TILE + k) for j in SIDE]
            sums = [w.minus(s, one[e // TILE], two[e % TILE]) for e, s in enumerate(sums)]
        return sums

    sums = w.loop(n, begin, step)
    for j in SIDE:
        own = [w.load(lower, inner, j * TILE + k) for k in range(j + 1)]
        for i in SIDE:
            total = w.times(sums[i * TILE], own[0])
            for k in range(1, j + 1):
                total = w.plus(total, sums[i * TILE + k], own[k])
            w.store(total, lower, out, i * TILE + j)


def _plain_below(lower: Any, out: int, row: int, other: int, n: int, inner: int) -> None:
    own, left, right = tile_of(lower, out), tiles_of(lower, row, AREA, n), tiles_of(lower, other, AREA, n)
    total = own - np.einsum("tikl,tjkl->ijl", left, right)
    own[...] = np.einsum("ikl,jkl->ijl", total, tile_of(lower, inner))


below = made(_write_below, 6, _plain_below)
"""op(lower, out, row, other, n, inner): tile ``out``, less the product of n tiles of two rows, times Nᵀ."""


def _plain_below_led(
    lower: Any,
    out: int,
    row: int,
    other: int,
    n: int,
    inner: int,
    source: Any,
    base: Any,
    i_at: int,
    places: Any,
    j_at: int,
) -> None:
    fetch(lower, out, source, base, i_at, places, j_at)
    _plain_below(lower, out, row, other, n, inner)


below_led = made(_write_below, 11, _plain_below_led)
"""op(lower, out, row, other, n, inner, source, base, i_at, places, j_at): `below` of a tile that is fetched
first, from base[i_at + i] + places[j_at + j].
"""


def _write_inverse(w: Writer) -> None:
    """Write what `inverse` does."""
    lower, out, row, column, pitch, n, inner = w.arguments

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        left, right = w.moved(row, turn, row.type(AREA)), w.moved(column, turn, pitch)
        for k in SIDE:
            one = [w.load(lower, left, i * TILE + k) for i in SIDE]
            two = [w.load(lower, right, k * TILE + j) for j in SIDE]
            sums = [w.minus(s, one[e // TILE], two[e % TILE]) for e, s in enumerate(sums)]
        return sums

    # The first tile of the column is one of the diagonal, with zeros above that.
    begin = [w.constant(0.0)] * (TILE * TILE)
    for k in SIDE:
        one = [w.load(lower, row, i * TILE + k) for i in SIDE]
        two = [w.load(lower, column, k * TILE + j) for j in range(k + 1)]
        for e in [e for e in range(TILE * TILE) if e % TILE <= k]:
            begin[e] = w.minus(begin[e], one[e // TILE], two[e % TILE])
    row = w.builder.add(row, row.type(AREA))
    column, n = w.builder.add(column, pitch), w.builder.sub(n, n.type(1))
    sums = w.loop(n, begin, step)
    for i in SIDE:
        own = [w.load(lower, inner, i * TILE + k) for k in range(i + 1)]
        for j in SIDE:
            total = w.times(sums[j], own[0])
            for k in range(1, i + 1):
                total = w.plus(total, sums[k * TILE + j], own[k])
            w.store(total, lower, out, i * TILE + j)


def _plain_inverse(lower: Any, out: int, row: int, column: int, pitch: int, n: int, inner: int) -> None:
    left, right = tiles_of(lower, row, AREA, n), tiles_of(lower, column, pitch, n)
    total = -np.einsum("tikl,tkjl->ijl", left, right)
    tile_of(lower, out)[...] = np.einsum("ikl,kjl->ijl", tile_of(lower, inner), total)


inverse = made(_write_inverse, 7, _plain_inverse)
"""op(lower, out, row, column, pitch, n, inner): tile ``out`` of L⁻¹, from n > 0 tiles of L and of L⁻¹.

The first tile of the column is the one on the diagonal.
"""


def _write_product(w: Writer) -> None:
    """Write what `product` does, and `add_product`."""
    lower, out, left, right, pitch, n, *led = w.arguments

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        moved = w.builder.mul(turn, pitch)
        one_at, two_at = w.builder.add(left, moved), w.builder.add(right, moved)
        for k in SIDE:
            one = [w.load(lower, one_at, k * TILE + i) for i in SIDE]
            two = [w.load(lower, two_at, k * TILE + j) for j in SIDE]
            sums = [w.plus(s, one[e // TILE], two[e % TILE]) for e, s in enumerate(sums)]
        return sums

    # The first tile of the left column is one of the diagonal, with zeros above that.
    begin = [w.constant(0.0)] * (TILE * TILE)
    for k in SIDE:
        one = [w.load(lower, left, k * TILE + i) for i in range(k + 1)]
        two = [w.load(lower, right, k * TILE + j) for j in SIDE]
        for e in range((k + 1) * TILE):
            begin[e] = w.plus(begin[e], one[e // TILE], two[e % TILE])
    left, right = w.builder.add(left, pitch), w.builder.add(right, pitch)
    sums = w.loop(w.builder.sub(n, n.type(1)), begin, step)
    if not led:
        for e, value in enumerate(sums):
            w.store(value, lower, out, e)
        return
    weight, *where = led
    place, own = led_to(w, out, *where), w.load(weight, n.type(0))
    for e, value in enumerate(sums):
        there = place(e // TILE, e % TILE)
        w.builder.store(w.plus(w.builder.load(there, align=8), value, own), there, align=8)


def _plain_product(lower: Any, out: int, left: int, right: int, pitch: int, n: int) -> None:
    one, two = tiles_of(lower, left, pitch, n), tiles_of(lower, right, pitch, n)
    tile_of(lower, out)[...] = np.einsum("tkil,tkjl->ijl", one, two)


product = made(_write_product, 6, _plain_product)
"""op(lower, out, left, right, pitch, n): ``out`` is n > 0 tiles of a column, transposed, times another's.

The first tile of the left column is one of the diagonal.
"""


def _plain_add_product(
    lower: Any,
    out: Any,
    left: int,
    right: int,
    pitch: int,
    n: int,
    weight: Any,
    base: Any,
    i_at: int,
    places: Any,
    j_at: int,
) -> None:
    one, two = tiles_of(lower, left, pitch, n), tiles_of(lower, right, pitch, n)
    total = np.einsum("tkil,tkjl->ijl", one, two) * weight[:LANES]
    for i in SIDE:
        for j in SIDE:
            at = base[i_at + i] + places[j_at + j]
            out[at : at + LANES] += total[i, j]


add_product = made(_write_product, 11, _plain_add_product)
"""op(lower, out, left, right, pitch, n, weight, base, i_at, places, j_at): add what `product` finds, times
the lanes' weights, to the array ``out``, entry (i, j) at base[i_at + i] + places[j_at + j].
"""


def _write_add_square(w: Writer) -> None:
    lower, out, column, pitch, n, weight, base, places, at = w.arguments
    entries = [(i, j) for i in SIDE for j in range(i + 1)]

    def add(sums: list[Any], where: Any, first: bool) -> list[Any]:
        """Add the square of a tile, which has zeros above the diagonal if it is the first."""
        for k in SIDE:
            row = [w.load(lower, where, k * TILE + i) for i in range(k + 1 if first else TILE)]
            sums = [
                w.plus(s, row[i], row[j]) if i < len(row) else s
                for s, (i, j) in zip(sums, entries, strict=True)
            ]
        return sums

    begin = add([w.constant(0.0)] * len(entries), column, True)
    after = w.builder.add(column, pitch)
    sums = w.loop(
        w.builder.sub(n, n.type(1)), begin, lambda turn, sums: add(sums, w.moved(after, turn, pitch), False)
    )
    place, own = led_to(w, out, base, at, places, at), w.load(weight, n.type(0))
    for (i, j), value in zip(entries, sums, strict=True):
        w.builder.store(w.plus(w.builder.load(place(i, j), align=8), value, own), place(i, j), align=8)


def _plain_add_square(
    lower: Any, out: Any, column: int, pitch: int, n: int, weight: Any, base: Any, places: Any, at: int
) -> None:
    one = tiles_of(lower, column, pitch, n)
    total = np.einsum("tkil,tkjl->ijl", one, one) * weight[:LANES]
    for i in SIDE:
        for j in range(i + 1):
            there = base[at + i] + places[at + j]
            out[there : there + LANES] += total[i, j]


add_square = made(_write_add_square, 9, _plain_add_square)
"""op(lower, out, column, pitch, n, weight, base, places, at): `add_product` of a column with itself, of which
the half below the diagonal is added.
"""


def _write_down(w: Writer) -> None:
    right, at, lower, row, n, inner = w.arguments
    begin = [w.load(right, at, i) for i in SIDE]

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        tile, known = w.moved(row, turn, row.type(AREA)), w.builder.mul(turn, turn.type(TILE * LANES))
        for k in SIDE:
            one = w.load(right, known, k)
            sums = [w.minus(s, w.load(lower, tile, i * TILE + k), one) for i, s in enumerate(sums)]
        return sums

    sums = w.loop(n, begin, step)
    for i in SIDE:
        total = w.times(sums[0], w.load(lower, inner, i * TILE))
        for k in range(1, i + 1):
            total = w.plus(total, sums[k], w.load(lower, inner, i * TILE + k))
        w.store(total, right, at, i)


def _plain_down(right: Any, at: int, lower: Any, row: int, n: int, inner: int) -> None:
    own, known = right[at : at + TILE * LANES].reshape(TILE, LANES), right[: n * TILE * LANES]
    taken = np.einsum("tikl,tkl->il", tiles_of(lower, row, AREA, n), known.reshape(n, TILE, LANES))
    own[...] = np.einsum("ikl,kl->il", tile_of(lower, inner), own - taken)


solve_down = made(_write_down, 6, _plain_down)
"""op(right, at, lower, row, n, inner): the next entries of L⁻¹ right, n tiles of it known, in place."""


def _write_up(w: Writer) -> None:
    right, at, lower, column, pitch, n, inner = w.arguments
    begin = [w.load(right, at, i) for i in SIDE]

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        tile = w.moved(column, turn, pitch)
        known = w.moved(w.builder.add(at, at.type(TILE * LANES)), turn, at.type(TILE * LANES))
        for k in SIDE:
            one = w.load(right, known, k)
            sums = [w.minus(s, w.load(lower, tile, k * TILE + i), one) for i, s in enumerate(sums)]
        return sums

    sums = w.loop(n, begin, step)
    for i in SIDE:
        total = w.times(sums[i], w.load(lower, inner, i * TILE + i))
        for k in range(i + 1, TILE):
            total = w.plus(total, sums[k], w.load(lower, inner, k * TILE + i))
        w.store(total, right, at, i)


def _plain_up(right: Any, at: int, lower: Any, column: int, pitch: int, n: int, inner: int) -> None:
    own, after = right[at : at + TILE * LANES].reshape(TILE, LANES), at + TILE * LANES
    known = right[after : after + n * TILE * LANES].reshape(n, TILE, LANES)
    taken = np.einsum("tkil,tkl->il", tiles_of(lower, column, pitch, n), known)
    own[...] = np.einsum("kil,kl->il", tile_of(lower, inner), own - taken)


solve_up = made(_write_up, 7, _plain_up)
"""op(right, at, lower, column, pitch, n, inner): entries of L⁻ᵀ right before n known tiles, in place."""

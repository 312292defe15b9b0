"""Cholesky factors of eight matrices side by side, one a lane, in tiles that stay in registers.

A matrix is cut into tiles of `TILE` × `TILE` entries, each entry `LANES` numbers: entry (i, j) of tile (I, J)
stands at ((I m + J) TILE² + i TILE + j) `LANES`, m tiles to a row. Below the diagonal a factor has the tiles
of L, on it the inverses N of L's own tiles, with zeros above; they are what all solving needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from lacunary.kernels.compile import COMPILES, inlined
from lacunary.kernels.lanes import LANES, start_of

__all__ = [
    "AREA",
    "SOUND",
    "TILE",
    "add_product",
    "add_row",
    "add_square",
    "below",
    "below_led",
    "copy_row",
    "diagonal",
    "diagonal_led",
    "dots",
    "folded",
    "inverse",
    "product",
    "solve_down",
    "solve_up",
]

TILE = 4
"""Rows and columns of a tile: its sixteen sums and what they are made of are in registers together."""

AREA = TILE * TILE * LANES
"""Numbers in a tile."""

SOUND = 1e-5
"""What a pivot must keep of its diagonal entry for a Cholesky factor to be trusted with eleven digits."""

CONTRACT = ("contract",)
WHOLE = types.int64
SIDE = range(TILE)

intrinsic: Any = extending.intrinsic
tools: Any = cgutils


class _Writer:
    """Writes the instructions of one operation; vectors are ``many`` numbers long."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, many: int = LANES) -> None:
        self.context, self.builder = context, builder
        self.vector = ir.VectorType(ir.DoubleType(), many)
        self.arguments = [
            one if kind == WHOLE else start_of(context, builder, kind, one)
            for kind, one in zip(signature.args, arguments, strict=True)
        ]

    def place(self, data: Any, at: Any, entry: int = 0) -> Any:
        """Return where entry ``entry`` from ``at`` on stands."""
        where = self.builder.add(at, at.type(entry * LANES)) if entry else at
        return self.builder.bitcast(self.builder.gep(data, [where]), self.vector.as_pointer())

    def load(self, data: Any, at: Any, entry: int = 0) -> Any:
        return self.builder.load(self.place(data, at, entry), align=8)

    def store(self, value: Any, data: Any, at: Any, entry: int = 0) -> None:
        self.builder.store(value, self.place(data, at, entry), align=8)

    def everywhere(self, number: Any) -> Any:
        """Return a vector with this number in each lane."""
        nothing = ir.Constant(self.vector, ir.Undefined)
        one = self.builder.insert_element(nothing, number, ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.vector.count), [0] * self.vector.count)
        return self.builder.shuffle_vector(one, nothing, mask)

    def constant(self, number: float) -> Any:
        return ir.Constant(self.vector, [number] * self.vector.count)

    def times(self, one: Any, two: Any) -> Any:
        return self.builder.fmul(one, two, flags=CONTRACT)

    def plus(self, total: Any, one: Any, two: Any) -> Any:
        """Return total + one · two, rounded once where the machine can."""
        return self.builder.fadd(total, self.times(one, two), flags=CONTRACT)

    def minus(self, total: Any, one: Any, two: Any) -> Any:
        return self.builder.fsub(total, self.times(one, two), flags=CONTRACT)

    def loop(self, n: Any, begin: list[Any], step: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
        """Return sums that ``step`` carries on n times, in registers."""
        carried = [tools.alloca_once_value(self.builder, value) for value in begin]
        with tools.for_range(self.builder, n) as loop:
            after = step(loop.index, [self.builder.load(one) for one in carried])
            for one, value in zip(carried, after, strict=True):
                self.builder.store(value, one)
        return [self.builder.load(one) for one in carried]

    def moved(self, at: Any, turn: Any, step: Any) -> Any:
        """Return a place ``turn`` steps further."""
        return self.builder.add(at, self.builder.mul(turn, step))


def _made(write: Callable[[_Writer], None], arity: int, plain: Callable[..., None], many: int = LANES) -> Any:
    """Return an operation of so many arguments, arrays and whole numbers, whose vectors are ``many`` long."""
    if not COMPILES:
        return plain

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write(_Writer(context, builder, signature, arguments, many))
        return context.get_dummy_value()

    def typed(*kinds: Any) -> Any:
        return types.void(*(WHOLE if isinstance(one, types.Integer) else one for one in kinds)), generate

    def four(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return typed(a, b, c, d)

    def five(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        return typed(a, b, c, d, e)

    def six(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        return typed(a, b, c, d, e, f)

    def seven(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
        return typed(a, b, c, d, e, f, g)

    def nine(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any) -> Any:
        return typed(a, b, c, d, e, f, g, h, i)

    def eleven(
        typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any, j: Any, k: Any
    ) -> Any:
        return typed(a, b, c, d, e, f, g, h, i, j, k)

    return intrinsic({4: four, 5: five, 6: six, 7: seven, 9: nine, 11: eleven}[arity])


def _tile(array: Any, at: int) -> Any:
    """Return a tile as a plain array's view; (TILE, TILE, LANES)."""
    return array[at : at + AREA].reshape(TILE, TILE, LANES)


def _tiles(array: Any, at: int, step: int, n: int) -> Any:
    """Return n tiles; (n, TILE, TILE, LANES)."""
    return np.array([_tile(array, at + t * step) for t in range(n)]).reshape(n, TILE, TILE, LANES)


def _led(w: _Writer, source: Any, base: Any, i_at: Any, places: Any, j_at: Any) -> Callable[..., Any]:
    """Return what says where in ``source`` a tile's entry (i, j) is: at base[i_at + i] + places[j_at + j]."""
    rows = [w.builder.load(w.builder.gep(base, [w.builder.add(i_at, i_at.type(i))])) for i in SIDE]
    columns = [w.builder.load(w.builder.gep(places, [w.builder.add(j_at, j_at.type(j))])) for j in SIDE]
    return lambda i, j: w.place(source, w.builder.add(rows[i], columns[j]))


def _fetch(lower: Any, out: int, source: Any, base: Any, i_at: int, places: Any, j_at: int) -> None:
    """Put a tile where it is wanted: `_led` in plain."""
    own = _tile(lower, out)
    for i in SIDE:
        for j in SIDE:
            at = base[i_at + i] + places[j_at + j]
            own[i, j] = source[at : at + LANES]


def _write_diagonal(w: _Writer) -> None:
    """Write what `diagonal` does, and `diagonal_led`."""
    lower, out, row, n, state, *led = w.arguments
    b = w.builder
    places = [(i, j) for i in SIDE for j in range(i + 1)]
    if led:
        source, base, columns, at = led
        where = _led(w, source, base, at, columns, at)
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


def _write_logs(w: _Writer, state: Any, start: Any, pivots: list[Any]) -> None:
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
    own, before = _tile(lower, out), _tiles(lower, row, AREA, n)
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


diagonal = _made(_write_diagonal, 5, _plain_diagonal)
"""op(lower, out, row, n, state): tile ``out`` of the diagonal, less n tiles of its row squared, becomes N.

``state`` has three entries: one in each lane where a pivot kept too little (it is one from there on), and the
mantissa and the exponent of 1 / det L so far.
"""


def _plain_diagonal_led(
    lower: Any, out: int, row: int, n: int, state: Any, source: Any, base: Any, places: Any, at: int
) -> None:
    _fetch(lower, out, source, base, at, places, at)
    _plain_diagonal(lower, out, row, n, state)


diagonal_led = _made(_write_diagonal, 9, _plain_diagonal_led)
"""op(lower, out, row, n, state, source, base, places, at): `diagonal` of a tile that is fetched first: its
entry (i, j) stands in ``source`` at base[at + i] + places[at + j].
"""


def _write_below(w: _Writer) -> None:
    """Write what `below` does, and `below_led`."""
    lower, out, row, other, n, inner, *led = w.arguments
    entries = range(TILE * TILE)
    if led:
        where = _led(w, *led)
        begin = [w.builder.load(where(e // TILE, e % TILE), align=8) for e in entries]
    else:
        begin = [w.load(lower, out, e) for e in entries]

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
    own, left, right = _tile(lower, out), _tiles(lower, row, AREA, n), _tiles(lower, other, AREA, n)
    total = own - np.einsum("tikl,tjkl->ijl", left, right)
    own[...] = np.einsum("ikl,jkl->ijl", total, _tile(lower, inner))


below = _made(_write_below, 6, _plain_below)
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
    _fetch(lower, out, source, base, i_at, places, j_at)
    _plain_below(lower, out, row, other, n, inner)


below_led = _made(_write_below, 11, _plain_below_led)
"""op(lower, out, row, other, n, inner, source, base, i_at, places, j_at): `below` of a tile that is fetched
first, from base[i_at + i] + places[j_at + j].
"""


def _write_inverse(w: _Writer) -> None:
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
    left, right = _tiles(lower, row, AREA, n), _tiles(lower, column, pitch, n)
    total = -np.einsum("tikl,tkjl->ijl", left, right)
    _tile(lower, out)[...] = np.einsum("ikl,kjl->ijl", _tile(lower, inner), total)


inverse = _made(_write_inverse, 7, _plain_inverse)
"""op(lower, out, row, column, pitch, n, inner): tile ``out`` of L⁻¹, from n > 0 tiles of L and of L⁻¹.

The first tile of the column is the one on the diagonal.
"""


def _write_product(w: _Writer) -> None:
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
    place, own = _led(w, out, *where), w.load(weight, n.type(0))
    for e, value in enumerate(sums):
        there = place(e // TILE, e % TILE)
        w.builder.store(w.plus(w.builder.load(there, align=8), value, own), there, align=8)


def _plain_product(lower: Any, out: int, left: int, right: int, pitch: int, n: int) -> None:
    one, two = _tiles(lower, left, pitch, n), _tiles(lower, right, pitch, n)
    _tile(lower, out)[...] = np.einsum("tkil,tkjl->ijl", one, two)


product = _made(_write_product, 6, _plain_product)
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
    one, two = _tiles(lower, left, pitch, n), _tiles(lower, right, pitch, n)
    total = np.einsum("tkil,tkjl->ijl", one, two) * weight[:LANES]
    for i in SIDE:
        for j in SIDE:
            at = base[i_at + i] + places[j_at + j]
            out[at : at + LANES] += total[i, j]


add_product = _made(_write_product, 11, _plain_add_product)
"""op(lower, out, left, right, pitch, n, weight, base, i_at, places, j_at): add what `product` finds, times
the lanes' weights, to the array ``out``, entry (i, j) at base[i_at + i] + places[j_at + j].
"""


def _write_add_square(w: _Writer) -> None:
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
    place, own = _led(w, out, base, at, places, at), w.load(weight, n.type(0))
    for (i, j), value in zip(entries, sums, strict=True):
        w.builder.store(w.plus(w.builder.load(place(i, j), align=8), value, own), place(i, j), align=8)


def _plain_add_square(
    lower: Any, out: Any, column: int, pitch: int, n: int, weight: Any, base: Any, places: Any, at: int
) -> None:
    one = _tiles(lower, column, pitch, n)
    total = np.einsum("tkil,tkjl->ijl", one, one) * weight[:LANES]
    for i in SIDE:
        for j in range(i + 1):
            there = base[at + i] + places[at + j]
            out[there : there + LANES] += total[i, j]


add_square = _made(_write_add_square, 9, _plain_add_square)
"""op(lower, out, column, pitch, n, weight, base, places, at): `add_product` of a column with itself, of which
the half below the diagonal is added.
"""


def _write_down(w: _Writer) -> None:
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
    taken = np.einsum("tikl,tkl->il", _tiles(lower, row, AREA, n), known.reshape(n, TILE, LANES))
    own[...] = np.einsum("ikl,kl->il", _tile(lower, inner), own - taken)


solve_down = _made(_write_down, 6, _plain_down)
"""op(right, at, lower, row, n, inner): the next entries of L⁻¹ right, n tiles of it known, in place."""


def _write_up(w: _Writer) -> None:
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
    taken = np.einsum("tkil,tkl->il", _tiles(lower, column, pitch, n), known)
    own[...] = np.einsum("kil,kl->il", _tile(lower, inner), own - taken)


solve_up = _made(_write_up, 7, _plain_up)
"""op(right, at, lower, column, pitch, n, inner): entries of L⁻ᵀ right before n known tiles, in place."""


def _write_dots(w: _Writer) -> None:
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


dots = _made(_write_dots, 7, _plain_dots)
"""op(out, at, square, base, places, values, n): minus, for each of four r, the sum of values times what
stands in ``square`` at base[r] + places."""


def _make_folded(many: int) -> Any:
    """Return op(out, at, square, base, values, n): `dots` of ``many`` lanes, LANES / many places at a time.

    Values are repeated for every lane, and ``n`` vectors of them are taken from ``base[r]`` on.
    """

    def write(w: _Writer) -> None:
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

    return _made(write, 6, plain)


def _make_copy(many: int) -> Any:
    """Return op(out, at, source, row, places, tiles): a row of tiles, entries from places in ``source``."""

    def write(w: _Writer) -> None:
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

    return _made(write, 6, plain, many)


def _make_add(many: int) -> Any:
    """Return op(out, row, places, source, at, weight, tiles): a row of tiles, weighted, to its places."""

    def write(w: _Writer) -> None:
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

    return _made(write, 7, plain, many)


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

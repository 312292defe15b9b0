"""What writes operations on tiles of eight matrices side by side, one a lane, as instructions.

A matrix is cut into tiles of `TILE` × `TILE` entries, each entry `LANES` numbers: entry (i, j) of tile (I, J)
stands at ((I m + J) TILE² + i TILE + j) `LANES`, m tiles to a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from lacunary.kernels.compile import COMPILES
from lacunary.kernels.lanes import LANES, start_of

__all__ = ["AREA", "SIDE", "TILE", "Writer", "fetch", "led_to", "made", "tile_of", "tiles_of"]

TILE = 4
"""Rows and columns of a tile: its sixteen sums and what they are made of are in registers together."""

AREA = TILE * TILE * LANES
"""Numbers in a tile."""

CONTRACT = ("contract",)
WHOLE = types.int64
SIDE = range(TILE)

intrinsic: Any = extending.intrinsic
tools: Any = cgutils


class Writer:
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
        """Return what stands there."""
        return self.builder.load(self.place(data, at, entry), align=8)

    def store(self, value: Any, data: Any, at: Any, entry: int = 0) -> None:
        """Put a value there."""
        self.builder.store(value, self.place(data, at, entry), align=8)

    def everywhere(self, number: Any) -> Any:
        """Return a vector with this number in each lane."""
        nothing = ir.Constant(self.vector, ir.Undefined)
        one = self.builder.insert_element(nothing, number, ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.vector.count), [0] * self.vector.count)
        return self.builder.shuffle_vector(one, nothing, mask)

    def constant(self, number: float) -> Any:
        """Return a vector with a number known beforehand in each lane."""
        return ir.Constant(self.vector, [number] * self.vector.count)

    def times(self, one: Any, two: Any) -> Any:
        """Return one · two."""
        return self.builder.fmul(one, two, flags=CONTRACT)

    def plus(self, total: Any, one: Any, two: Any) -> Any:
        """Return total + one · two, rounded once where the machine can."""
        return self.builder.fadd(total, self.times(one, two), flags=CONTRACT)

    def minus(self, total: Any, one: Any, two: Any) -> Any:
        """Return total − one · two, rounded once where the machine can."""
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


def made(write: Callable[[Writer], None], arity: int, plain: Callable[..., None], many: int = LANES) -> Any:
    """Return an operation of so many arguments, arrays and whole numbers, whose vectors are ``many`` long."""
    if not COMPILES:
        return plain

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write(Writer(context, builder, signature, arguments, many))
        return context.get_dummy_value()

    def typed(*kinds: Any) -> Any:
        return types.void(*(WHOLE if isinstance(one, types.Integer) else one for one in kinds)), generate

    def three(typing: Any, a: Any, b: Any, c: Any) -> Any:
        return typed(a, b, c)

    def four(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return typed(a, b, c, d)

    def five(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        return typed(a, b, c, d, e)

    def six(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        return typed(a, b, c, d, e, f)

    def seven(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
        return typed(a, b, c, d, e, f, g)

    def eight(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        return typed(a, b, c, d, e, f, g, h)

    def nine(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any) -> Any:
        return typed(a, b, c, d, e, f, g, h, i)

    def eleven(
        typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any, j: Any, k: Any
    ) -> Any:
        return typed(a, b, c, d, e, f, g, h, i, j, k)

    ways = {3: three, 4: four, 5: five, 6: six, 7: seven, 8: eight, 9: nine, 11: eleven}
    return intrinsic(ways[arity])


def tile_of(array: Any, at: int) -> Any:
    """Return a tile as a plain array's view; (TILE, TILE, LANES)."""
    return array[at : at + AREA].reshape(TILE, TILE, LANES)


def tiles_of(array: Any, at: int, step: int, n: int) -> Any:
    """Return n tiles; (n, TILE, TILE, LANES)."""
    return np.array([tile_of(array, at + t * step) for t in range(n)]).reshape(n, TILE, TILE, LANES)


def led_to(w: Writer, source: Any, base: Any, i_at: Any, places: Any, j_at: Any) -> Callable[..., Any]:
    """Return what says where in ``source`` a tile's entry (i, j) is: at base[i_at + i] + places[j_at + j]."""
    rows = [w.builder.load(w.builder.gep(base, [w.builder.add(i_at, i_at.type(i))])) for i in SIDE]
    columns = [w.builder.load(w.builder.gep(places, [w.builder.add(j_at, j_at.type(j))])) for j in SIDE]
    return lambda i, j: w.place(source, w.builder.add(rows[i], columns[j]))


def fetch(lower: Any, out: int, source: Any, base: Any, i_at: int, places: Any, j_at: int) -> None:
    """Put a tile where it is wanted: `led_to` in plain."""
    own = tile_of(lower, out)
    for i in SIDE:
        for j in SIDE:
            at = base[i_at + i] + places[j_at + j]
            own[i, j] = source[at : at + LANES]

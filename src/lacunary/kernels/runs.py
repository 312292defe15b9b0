"""Runs of neighbouring numbers, from several places at once, one vector of the processor after the other.

A place is an address: what lies in different arrays is met by the same code. Kernels that use them must keep
the arrays alive. What is left of a run behind whole vectors is taken by halves, so that nothing behind it is
met: a vector that lies across what was just written would wait for it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from lacunary.kernels.compile import COMPILES
from lacunary.kernels.lanes import LANES, intrinsic, many_of, start_of, tools

__all__ = ["add_at", "lines_through", "number_at", "place_of"]

DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)

FLAGS = ("reassoc", "contract")


def _place_of(typing: Any, array: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = start_of(context, builder, signature.args[0], arguments[0])
        return builder.ptrtoint(builder.gep(data, [arguments[1]]), WORD)

    return types.int64(array, types.int64), generate


def _number_at(typing: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], DOUBLE.as_pointer()))

    return types.float64(types.int64), generate


def _add_at(typing: Any, place: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = builder.inttoptr(arguments[0], DOUBLE.as_pointer())
        builder.store(builder.fadd(builder.load(at), arguments[1], FLAGS), at)
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), generate


class _Pieces:
    """Writes what becomes of some numbers of a run: products, added to the targets and summed."""

    def __init__(self, builder: Any, factor: Any, sources: Sequence[Any], targets: Sequence[Any]) -> None:
        self.builder, self.factor, self.sources, self.targets = builder, factor, sources, targets
        self.vector = ir.VectorType(DOUBLE, LANES)
        self.none = ir.Constant(self.vector, [0.0] * LANES)
        self.sum = tools.alloca_once(builder, self.vector)
        builder.store(self.none, self.sum)

    def _at(self, place: Any, i: Any, many: int) -> Any:
        kind = ir.VectorType(DOUBLE, many) if many > 1 else DOUBLE
        start = self.builder.inttoptr(place, DOUBLE.as_pointer())
        return self.builder.bitcast(self.builder.gep(start, [i]), kind.as_pointer())

    def write(self, i: Any, many: int) -> None:
        """Write it for so many numbers from i on."""
        builder, kind = self.builder, ir.VectorType(DOUBLE, many)
        product = many_of(builder, self.factor, kind) if many > 1 else self.factor
        for place in self.sources:
            product = builder.fmul(product, builder.load(self._at(place, i, many), align=8), FLAGS)
        for place in self.targets:
            at = self._at(place, i, many)
            builder.store(builder.fadd(builder.load(at, align=8), product, FLAGS), at, align=8)
        if many == 1:
            product = builder.insert_element(self.none, product, ir.IntType(32)(0))
        elif many < LANES:
            filled = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [min(k, many) for k in range(LANES)])
            product = builder.shuffle_vector(product, ir.Constant(kind, [0.0] * many), filled)
        builder.store(builder.fadd(builder.load(self.sum), product, FLAGS), self.sum)

    def total(self) -> Any:
        """Return the sum of all products."""
        name = f"llvm.vector.reduce.fadd.v{LANES}f64"
        reduce = self.builder.module.declare_intrinsic(
            name, fnty=ir.FunctionType(DOUBLE, [DOUBLE, self.vector])
        )
        return self.builder.call(reduce, [DOUBLE(0.0), self.builder.load(self.sum)], fastmath=FLAGS)


def _write_run(builder: Any, pieces: _Pieces, run: Any) -> None:
    """Write whole vectors, and then what is left of the run by halves."""
    whole, part = builder.and_(run, WORD(-LANES)), LANES // 2
    with tools.for_range_slice(builder, WORD(0), whole, WORD(LANES), inc=True) as (i, _):
        pieces.write(i, LANES)
    while part:
        here = builder.and_(run, WORD(-2 * part))
        with builder.if_then(builder.icmp_unsigned("!=", builder.and_(run, WORD(part)), WORD(0))):
            pieces.write(here, part)
        part //= 2


def _lines_through(typing: Any, it: Any, s: Any, p: Any, a: Any, b: Any, x: Any, y: Any, z: Any) -> Any:
    given = [isinstance(one, types.BaseTuple) for one in (p, a, b, x, y, z)]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines, run, sums = (builder.extract_value(arguments[0], k) for k in range(3))
        there = [
            [builder.extract_value(one, k) for k in range(2)] if held else None
            for one, held in zip(arguments[2:], given, strict=True)
        ]
        with tools.for_range(builder, lines) as line:
            factor = _at(builder, arguments[1], line.index)

            def place(one: Any, line: Any = line) -> Any:
                behind = builder.inttoptr(one[1], WORD.as_pointer())
                return builder.add(one[0], builder.load(builder.gep(behind, [line.index])))

            sources, targets = ([place(one) for one in part if one] for part in (there[:3], there[3:]))
            pieces = _Pieces(builder, builder.load(factor), sources, targets)
            _write_run(builder, pieces, run)
            with builder.if_then(builder.icmp_unsigned("!=", sums, WORD(0))):
                builder.store(pieces.total(), factor)
        return context.get_dummy_value()

    pair = types.UniTuple(types.int64, 2)
    told = [pair if held else types.none for held in given]
    return types.void(types.UniTuple(types.int64, 3), types.int64, *told), generate


def _at(builder: Any, place: Any, i: Any) -> Any:
    return builder.gep(builder.inttoptr(place, DOUBLE.as_pointer()), [i])


def _seen(place: int, many: int) -> Any:
    return np.ctypeslib.as_array((ctypes.c_double * many).from_address(place))


def _plainly(it: tuple[int, int, int], s: int, *places: tuple[int, int] | None) -> None:
    lines, run, sums = it
    for q in range(lines):
        there = [one and one[0] + ctypes.c_int64.from_address(one[1] + 8 * q).value for one in places]
        product = np.full(run, _seen(s + 8 * q, 1)[0])
        for place in there[:3]:
            if place is not None:
                product *= _seen(place, run)
        for place in there[3:]:
            if place is not None:
                _seen(place, run)[:] += product
        if sums:
            _seen(s + 8 * q, 1)[0] = product.sum()


def _plainly_add(place: int, x: float) -> None:
    _seen(place, 1)[0] += x


place_of: Callable[[Any, Any], Any] = (
    intrinsic(_place_of) if COMPILES else lambda array, i: array.ctypes.data + array.itemsize * int(i)
)
"""Returns the place of an array's number i."""

number_at: Callable[[Any], Any] = (
    intrinsic(_number_at) if COMPILES else lambda place: float(_seen(place, 1)[0])
)
"""Returns the number at a place."""

add_at: Callable[[Any, Any], None] = intrinsic(_add_at) if COMPILES else _plainly_add
"""Adds to the number at a place."""

lines_through: Any = intrinsic(_lines_through) if COMPILES else _plainly
"""Go through lines: multiply runs at the first three places and a factor, and add them up at the other three.

``it`` says how many lines there are, how long their runs are, and whether sums are wanted. Every place comes
with that of a list: how many bytes behind it each line begins; it may be None. At ``s`` are the factors of
lines, in place of which come the sums of their products.
"""

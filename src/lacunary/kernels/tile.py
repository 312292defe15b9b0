"""Small matrix products held in registers: what dense arithmetic over rows is made of.

LLVM cannot know that two arrays never overlap and so would write every partial sum to memory; these
operations say outright what stays in registers. Arrays are flat; places and strides are counted in numbers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from lacunary.kernels.compile import COMPILES
from lacunary.kernels.lanes import LANES, start_of

__all__ = ["HIGH", "add_products", "add_twice"]

HIGH = 8
"""Rows of the block of sums that `add_products` holds; it is `LANES` wide, or twice that for `add_twice`."""

CONTRACT = ("contract",)

intrinsic: Any = extending.intrinsic
tools: Any = cgutils
VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def _data(context: Any, builder: Any, signature: Any, arguments: Any, which: int) -> Any:
    return start_of(context, builder, signature.args[which], arguments[which])


def _place(builder: Any, data: Any, at: Any) -> Any:
    return builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer())


def _broadcast(builder: Any, number: Any) -> Any:
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), everywhere)


def _fused(builder: Any, carried: Any, one: Any, two: Any) -> None:
    """Add a product to a sum; both are rounded once where the machine can."""
    product = builder.fmul(one, two, flags=CONTRACT)
    builder.store(builder.fadd(builder.load(carried), product, flags=CONTRACT), carried)


def _plain_products(
    wide: int,
    out: Any,
    at: int,
    pitch: int,
    left: Any,
    i: int,
    high: int,
    deep: int,
    right: Any,
    j: int,
    row: int,
    n: int,
) -> None:
    for r in range(HIGH):
        for k in range(n):
            there = right[j + k * row : j + k * row + wide]
            out[at + r * pitch : at + r * pitch + wide] += left[i + r * high + k * deep] * there


def _make_products(vectors: int) -> Any:
    """Return op: out[at + r pitch + l] += Σ_k left[i + r high + k deep] right[j + k row + l], k < n.

    A row of sums is so many vectors wide.
    """
    if not COMPILES:
        return partial(_plain_products, vectors * LANES)

    def operation(
        typing: Any,
        out: Any,
        at: Any,
        pitch: Any,
        left: Any,
        i: Any,
        high: Any,
        deep: Any,
        right: Any,
        j: Any,
        row: Any,
        n: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target, factor, other = (_data(context, builder, signature, arguments, k) for k in (0, 3, 7))
            at, pitch, i, high, deep, j, row, n = (arguments[k] for k in (1, 2, 4, 5, 6, 8, 9, 10))
            starts = [builder.add(at, builder.mul(pitch, pitch.type(r))) for r in range(HIGH)]
            places = [
                _place(builder, target, builder.add(start, start.type(v * LANES)))
                for start in starts
                for v in range(vectors)
            ]
            carried = [tools.alloca_once_value(builder, builder.load(place, align=8)) for place in places]
            # ``carried[r * vectors]`` and those after it are row r of out with the products of all k before.
            with tools.for_range(builder, n) as loop:
                begin = builder.add(j, builder.mul(loop.index, row))
                there = [
                    builder.load(_place(builder, other, builder.add(begin, begin.type(v * LANES))), align=8)
                    for v in range(vectors)
                ]
                first = builder.add(i, builder.mul(loop.index, deep))
                for r in range(HIGH):
                    where = builder.add(first, builder.mul(high, high.type(r)))
                    number = builder.load(builder.gep(factor, [where]))
                    everywhere = _broadcast(builder, number)
                    for v in range(vectors):
                        _fused(builder, carried[r * vectors + v], everywhere, there[v])
            for place, value in zip(places, carried, strict=True):
                builder.store(builder.load(value), place, align=8)
            return context.get_dummy_value()

        whole = types.int64
        return (
            types.void(out, whole, whole, left, whole, whole, whole, right, whole, whole, whole),
            generate,
        )

    return intrinsic(operation)


add_products, add_twice = _make_products(1), _make_products(2)

"""Arithmetic on lanes: parameter vectors that are swept together, side by side in the last axis.

Kernels take ``lanes``, a tuple with one item for each: its length is part of its type, so that every
loop over lanes is unrolled when it is compiled. Real numbers ride one or `LANES` to a sweep, complex
ones `COMPLEX_LANES`. LLVM cannot know that two arrays never overlap, and so would not use the vector
units for runs this short on its own; the operations here say it outright.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from lacunary.kernels.compile import COMPILES, inlined

__all__ = [
    "COMPLEX_LANES",
    "LANES",
    "U",
    "add",
    "add_half",
    "add_lanes",
    "add_led",
    "add_quarter",
    "add_run",
    "intrinsic",
    "many_of",
    "multiply",
    "multiply_lanes",
    "multiply_run",
    "multiply_some",
    "start_of",
    "tools",
]

LANES = 8
"""Doubles that one vector operation covers, and parameter vectors that one batch sweep carries."""

COMPLEX_LANES = 4
"""Complex parameter vectors that one sweep carries; must differ from 1 and `LANES`."""

U = np.uint64
"""Unsigned indices spare the check for negative ones, which would keep loops from being vectorised."""

intrinsic: Any = extending.intrinsic
tools: Any = cgutils

Combine = Callable[[Any, Any, Any], Any]


def start_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return where an array begins; what is no array, as a pointer is none, stands for itself."""
    return context.make_array(kind)(context, builder, array).data if isinstance(kind, types.Array) else array


def _vectorized(combine: Combine, plain: np.ufunc, many: int = LANES) -> Any:
    """Return op(dst, i, src, j), which combines ``many`` doubles from i on with those from j on.

    ``plain`` does the same where nothing is compiled.
    """
    if not COMPILES:
        return lambda dst, i, src, j: plain(dst[i : i + many], src[j : j + many], out=dst[i : i + many])

    def operation(typing: Any, dst: Any, i: Any, src: Any, j: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def pointer(which: int) -> Any:
                data = start_of(context, builder, signature.args[which], arguments[which])
                vector = ir.VectorType(ir.DoubleType(), many).as_pointer()
                return builder.bitcast(builder.gep(data, [arguments[which + 1]]), vector)

            target, source = pointer(0), pointer(2)
            result = combine(builder, builder.load(target, align=8), builder.load(source, align=8))
            builder.store(result, target, align=8)
            return context.get_dummy_value()

        return types.void(dst, types.int64, src, types.int64), generate

    return intrinsic(operation)


def many_of(builder: Any, item: Any, words: Any) -> Any:
    """Return a vector that holds one item everywhere."""
    one = builder.insert_element(words(ir.Undefined), item, ir.IntType(32)(0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), words.count), [0] * words.count)
    return builder.shuffle_vector(one, words(ir.Undefined), every)


def _held(builder: Any, count: Any) -> Any:
    """Return which lanes come before a count."""
    words = ir.VectorType(ir.IntType(64), LANES)
    return builder.icmp_signed("<", ir.Constant(words, list(range(LANES))), many_of(builder, count, words))


def _spread(typing: Any, dst: Any, i: Any, x: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        data = start_of(context, builder, signature.args[0], arguments[0])
        target = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        x = arguments[2] if isinstance(signature.args[2], types.Float) else ir.DoubleType()(0.0)
        held, none = _held(builder, arguments[3]), ir.Constant(vector, [0.0] * LANES)
        builder.store(builder.select(held, many_of(builder, x, vector), none), target, align=8)
        return context.get_dummy_value()

    return types.void(dst, types.int64, x, types.int64), generate


def _multiply_some(typing: Any, dst: Any, i: Any, src: Any, j: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, truths = (ir.VectorType(item, LANES) for item in (ir.DoubleType(), ir.IntType(1)))
        pointer, number, none = vector.as_pointer(), ir.IntType(32), ir.Constant(vector, [0.0] * LANES)

        def place(which: int) -> Any:
            data = start_of(context, builder, signature.args[which], arguments[which])
            return builder.bitcast(builder.gep(data, [arguments[which + 1]]), pointer)

        load = builder.module.declare_intrinsic(
            f"llvm.masked.load.v{LANES}f64.p0v{LANES}f64",
            fnty=ir.FunctionType(vector, [pointer, number, truths, vector]),
        )
        target, factor = place(0), [place(2), number(8), _held(builder, arguments[4]), none]
        product = builder.fmul(builder.load(target, align=8), builder.call(load, factor))
        builder.store(product, target, align=8)
        return context.get_dummy_value()

    return types.void(dst, types.int64, src, types.int64, types.int64), generate


def _plainly_spread(dst: Any, i: Any, x: Any, count: Any) -> None:
    dst[i : i + LANES] = 0.0
    dst[i : i + count] = x


def _plainly_multiply_some(dst: Any, i: Any, src: Any, j: Any, count: Any) -> None:
    dst[i : i + count] *= src[j : j + count]
    dst[i + count : i + LANES] = 0.0


spread: Any = intrinsic(_spread) if COMPILES else _plainly_spread
"""Write `LANES` doubles from dst[i] on: the first ``count`` are x, the others zero."""

multiply_some: Any = intrinsic(_multiply_some) if COMPILES else _plainly_multiply_some
"""Multiply `LANES` doubles from dst[i] on by those from src[j] on, of which the first ``count`` are there."""

add_half = _vectorized(lambda builder, old, new: builder.fadd(old, new), np.add, LANES // 2)
add_quarter = _vectorized(lambda builder, old, new: builder.fadd(old, new), np.add, LANES // 4)
multiply_lanes = _vectorized(lambda builder, old, new: builder.fmul(old, new), np.multiply)
add_lanes = _vectorized(lambda builder, old, new: builder.fadd(old, new), np.add)


@inlined
def multiply(dst: Any, i: Any, src: Any, j: Any, lanes: Any) -> None:
    """Multiply every lane at i by that at j."""
    if len(lanes) == LANES:
        multiply_lanes(dst, i, src, j)
    else:
        for b in range(len(lanes)):
            dst[U(i + b)] *= src[U(j + b)]


@inlined
def add(dst: Any, i: Any, src: Any, j: Any, lanes: Any) -> None:
    """Add to every lane at i that at j."""
    if len(lanes) == LANES:
        add_lanes(dst, i, src, j)
    else:
        for b in range(len(lanes)):
            dst[U(i + b)] += src[U(j + b)]


@inlined
def multiply_run(dst: Any, i: Any, src: Any, j: Any, count: int, lanes: Any) -> None:
    """Multiply ``count`` neighbours from i on by those from j on."""
    whole = 0 if len(lanes) == COMPLEX_LANES else count - count % LANES
    for k in range(0, whole, LANES):
        multiply_lanes(dst, i + k, src, j + k)
    for k in range(whole, count):
        dst[U(i + k)] *= src[U(j + k)]


@inlined
def add_run(dst: Any, i: Any, src: Any, j: Any, count: int, lanes: Any) -> None:
    """Add to ``count`` neighbours from i on those from j on."""
    whole = 0 if len(lanes) == COMPLEX_LANES else count - count % LANES
    for k in range(0, whole, LANES):
        add_lanes(dst, i + k, src, j + k)
    for k in range(whole, count):
        dst[U(i + k)] += src[U(j + k)]


@inlined
def add_led(dst: Any, base: Any, offsets: Any, table: Any, src: Any, at: Any, size: int, lanes: Any) -> None:
    """Add ``size`` entries from ``at`` on to where a table leads from ``base`` on.

    Of one lane, neighbours that lead to the same place are added up first: an addition to memory would wait
    for the one before.
    """
    if len(lanes) > 1:
        for i in range(size):
            add(dst, (base + offsets[U(table + i)]) * len(lanes), src, at + i * len(lanes), lanes)
        return
    last, held = np.int64(offsets[U(table)]), src[U(at)]
    for i in range(1, size):
        here = np.int64(offsets[U(table + i)])
        if here != last:
            dst[U(base + last)] += held
            last, held = here, src[U(at + i)]
        else:
            held += src[U(at + i)]
    dst[U(base + last)] += held

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
from numba import extending
from numba.core import types

from lacunary.kernels.compile import called, inlined

__all__ = ["COMPLEX_LANES", "LANES", "U", "add", "add_run", "multiply", "multiply_run", "product_run"]

LANES = 8
"""Doubles that one vector operation covers, and parameter vectors that one batch sweep carries."""

COMPLEX_LANES = 4
"""Complex parameter vectors that one sweep carries; must differ from 1 and `LANES`."""

U = np.uint64
"""Unsigned indices spare the check for negative ones, which would keep loops from being vectorised."""

intrinsic: Any = extending.intrinsic

Combine = Callable[[Any, Any, Any], Any]


def _vectorized(combine: Combine) -> Any:
    """Return op(dst, i, src, j), which combines `LANES` doubles from i on with those from j on."""

    def operation(typing: Any, dst: Any, i: Any, src: Any, j: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def pointer(which: int) -> Any:
                array = context.make_array(signature.args[which])(context, builder, arguments[which])
                vector = ir.VectorType(ir.DoubleType(), LANES).as_pointer()
                return builder.bitcast(builder.gep(array.data, [arguments[which + 1]]), vector)

            target, source = pointer(0), pointer(2)
            result = combine(builder, builder.load(target, align=8), builder.load(source, align=8))
            builder.store(result, target, align=8)
            return context.get_dummy_value()

        return types.void(dst, types.int64, src, types.int64), generate

    return intrinsic(operation)


multiply_lanes = _vectorized(lambda builder, old, new: builder.fmul(old, new))
add_lanes = _vectorized(lambda builder, old, new: builder.fadd(old, new))


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


@called
def product_run(dst: Any, at: int, src: Any, start: Any, first: int, last: int, i: int) -> None:
    """Multiply `LANES` doubles of ``dst`` by ``src`` from ``start[k] + i`` on, for first ≤ k < last.

    The products stay in registers, which is why they are spelt out; factors are taken in pairs, so that
    half of the multiplications need not wait for one another.
    """
    a, b, c, d = dst[U(at)], dst[U(at + 1)], dst[U(at + 2)], dst[U(at + 3)]
    e, f, g, h = dst[U(at + 4)], dst[U(at + 5)], dst[U(at + 6)], dst[U(at + 7)]
    if (last - first) % 2:
        p = np.int64(start[U(first)]) + i
        a, b, c, d = a * src[U(p)], b * src[U(p + 1)], c * src[U(p + 2)], d * src[U(p + 3)]
        e, f, g, h = e * src[U(p + 4)], f * src[U(p + 5)], g * src[U(p + 6)], h * src[U(p + 7)]
    for k in range(first + (last - first) % 2, last, 2):
        p, q = np.int64(start[U(k)]) + i, np.int64(start[U(k + 1)]) + i
        a *= src[U(p)] * src[U(q)]
        b *= src[U(p + 1)] * src[U(q + 1)]
        c *= src[U(p + 2)] * src[U(q + 2)]
        d *= src[U(p + 3)] * src[U(q + 3)]
        e *= src[U(p + 4)] * src[U(q + 4)]
        f *= src[U(p + 5)] * src[U(q + 5)]
        g *= src[U(p + 6)] * src[U(q + 6)]
        h *= src[U(p + 7)] * src[U(q + 7)]
    dst[U(at)], dst[U(at + 1)], dst[U(at + 2)], dst[U(at + 3)] = a, b, c, d
    dst[U(at + 4)], dst[U(at + 5)], dst[U(at + 6)], dst[U(at + 7)] = e, f, g, h

"""How far rows belong to components: exp(log − top)/Σ exp(log − top), a few rows at a time, in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numpy.typing import NDArray

from lacunary.kernels.compile import bare
from lacunary.kernels.lanes import LANES, U
from lacunary.kernels.writer import Writer, made

__all__ = ["ROWS", "exponentials", "logarithms", "share_out"]

Array = NDArray[np.float64]

ROWS = 64
"""Rows that are gone over together."""

LEAST = -708.0
"""What has a smaller exponential has none that leaves a trace: 3e-308."""

HALF_UP, HALF_DOWN = 0.693145751953125, 1.42860682030941723212e-6
"""log 2 in two parts; whole numbers of up to eleven digits times the first are exact."""

ROOT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))
"""√½ as a whole number."""

HALVES = 11
"""Terms of artanh after the first: of squares up to 0.03, what is left out is less than 1e-18."""

TERMS = 13
"""The last power of the series: of at most ½ log 2, what is left out is less than 1e-17."""

tools: Any = cgutils


def _write_exponentials(w: Writer) -> None:
    """Write what `exponentials` does.

    Sums and products are fused ones, which nobody reassociates: n log 2 is taken off in two parts.
    """
    values, at, n = w.arguments
    b, size, wide = w.builder, w.vector.count, ir.VectorType(ir.IntType(64), w.vector.count)
    three = ir.FunctionType(w.vector, [w.vector] * 3)
    fma = tools.get_or_insert_function(b.module, three, f"llvm.fma.v{size}f64")
    one = ir.FunctionType(w.vector, [w.vector])
    rint = tools.get_or_insert_function(b.module, one, f"llvm.rint.v{size}f64")

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        here = w.moved(at, turn, at.type(LANES))
        x = w.load(values, here)
        usual = b.fcmp_ordered(">=", x, w.constant(LEAST))
        held = b.select(usual, x, w.constant(0.0))
        whole = b.call(rint, [b.fmul(held, w.constant(1.0 / math.log(2.0)))])
        left = b.call(fma, [whole, w.constant(-HALF_UP), held])
        left = b.call(fma, [whole, w.constant(-HALF_DOWN), left])
        total = w.constant(1.0 / math.factorial(TERMS))
        # ``total`` is the series from the term after k on, divided by that power of ``left``.
        for k in reversed(range(TERMS)):
            total = b.call(fma, [total, left, w.constant(1.0 / math.factorial(k))])
        exponent = b.shl(b.fptosi(whole, wide), wide([52] * size))
        found = b.bitcast(b.add(b.bitcast(total, wide), exponent), w.vector)
        nothing = b.select(b.fcmp_unordered("uno", x, x), x, w.constant(0.0))
        w.store(b.select(usual, found, nothing), values, here)
        return sums

    w.loop(n, [], step)


def _plain_exponentials(values: Any, at: int, n: int) -> None:
    some = values[at : at + n * LANES]
    some[:] = np.where(some < LEAST, 0.0, np.exp(some))


exponentials = made(_write_exponentials, 3, _plain_exponentials)
"""op(values, at, n): n vectors of numbers up to 700 become their exponentials, in place."""


def _write_logarithms(w: Writer) -> None:
    """Write what `logarithms` does: log 2ᵉm = e log 2 + 2 artanh (m − 1)/(m + 1), m from √½ to √2."""
    values, at, n = w.arguments
    b, size, wide = w.builder, w.vector.count, ir.VectorType(ir.IntType(64), w.vector.count)
    three = ir.FunctionType(w.vector, [w.vector] * 3)
    fma = tools.get_or_insert_function(b.module, three, f"llvm.fma.v{size}f64")
    root = ir.Constant(wide, [ROOT_HALF] * size)

    def step(turn: Any, sums: list[Any]) -> list[Any]:
        here = w.moved(at, turn, at.type(LANES))
        bits = b.bitcast(w.load(values, here), wide)
        over = b.sub(bits, root)  # the exponent of m is taken to be such that m is at least √½
        exponent = b.ashr(over, wide([52] * size))
        m = b.bitcast(b.sub(bits, b.shl(exponent, wide([52] * size))), w.vector)
        ratio = b.fdiv(b.fsub(m, w.constant(1.0)), b.fadd(m, w.constant(1.0)))
        square = b.fmul(ratio, ratio)
        total = w.constant(1.0 / (2 * HALVES + 1))
        # ``total`` is artanh's series from the term k + 1 on, divided by that power.
        for k in reversed(range(HALVES)):
            total = b.call(fma, [total, square, w.constant(1.0 / (2 * k + 1))])
        twice = b.fadd(ratio, ratio)
        whole = b.fmul(b.sitofp(exponent, w.vector), w.constant(math.log(2.0)))
        w.store(b.call(fma, [twice, total, whole]), values, here)
        return sums

    w.loop(n, [], step)


def _plain_logarithms(values: Any, at: int, n: int) -> None:
    values[at : at + n * LANES] = np.log(values[at : at + n * LANES])


logarithms = made(_write_logarithms, 3, _plain_logarithms)
"""op(values, at, n): n vectors of positive numbers, none of them tiny, become their logarithms, in place.

They are right to two units in the last place."""


@bare
def share_out(
    logs: Array, added: Array, begin: int, end: int, room: Array, shares: Array, told: Array
) -> None:
    """Put each component's share in the rows from ``begin`` to ``end``, and the rows' log-densities.

    Parameters
    ----------
    logs, added
        Log-densities, and what is added to those of each component; (components, rows), (components,).
    room
        3 × `ROWS` numbers, flat.
    shares, told
        (components, rows) and (rows,). A row of density zero everywhere is shared evenly.
    """
    many, top, total = len(logs), ROWS, 2 * ROWS  # in ``room``: exponentials, then their largest, their sums
    for at in range(begin, end, ROWS):  # all rows before are shared
        rows = min(ROWS, end - at)
        for i in range(ROWS):
            room[U(top + i)], room[U(total + i)] = -np.inf, 0.0
        for c in range(many):
            own, plus = logs[c], added[c]
            for i in range(rows):
                log = own[U(at + i)] + plus
                room[U(top + i)] = log if log > room[U(top + i)] else room[U(top + i)]
        for c in range(many):
            own, plus, share = logs[c], added[c], shares[c]
            for i in range(rows):
                known = abs(room[U(top + i)]) < np.inf
                room[U(i)] = own[U(at + i)] + plus - (room[U(top + i)] if known else 0.0)
            exponentials(room, 0, (rows + LANES - 1) // LANES)
            for i in range(rows):
                share[U(at + i)] = room[U(i)]
                room[U(total + i)] += room[U(i)]
        for i in range(ROWS):
            known = i < rows and abs(room[U(top + i)]) < np.inf
            room[U(i)] = room[U(total + i)] if known else 1.0
            room[U(total + i)] = 1.0 / room[U(i)] if known else 0.0
        logarithms(room, 0, ROWS // LANES)
        for i in range(rows):
            told[U(at + i)] = room[U(top + i)] + room[U(i)]
        for c in range(many):
            share = shares[c]
            for i in range(rows):
                share[U(at + i)] = share[U(at + i)] * room[U(total + i)] if room[U(total + i)] else 1.0 / many

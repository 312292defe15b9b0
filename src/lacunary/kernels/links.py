"""Runs of numbers that meet one place of an array a link; what goes from link to link is in registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from lacunary.kernels.compile import COMPILES
from lacunary.kernels.lanes import LANES, intrinsic, many_of, start_of, tools

__all__ = [
    "gather_odds_twice",
    "gather_product",
    "gather_product_twice",
    "product_1",
    "product_2",
    "product_4",
    "product_8",
    "product_16",
    "scatter_sum",
    "scatter_sum_twice",
    "share_1",
    "share_2",
    "share_4",
    "share_8",
    "share_16",
    "sum_rows",
]


def _over_links(begin: Any, step: Any, end: Any, many: int) -> Any:
    """Return op(run, at, array, base, first, last, i): `LANES` doubles meet one place of ``array`` a link.

    They are those of ``run`` from ``at`` on; link k, for first ≤ k < last, stands at ``base[k] + i``. What is
    carried from link to link stays in registers, which a loop over arrays could not promise. The two
    arrays must not overlap.
    """

    def operation(
        typing: Any, run: Any, at: Any, array: Any, base: Any, first: Any, last: Any, i: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = ir.VectorType(ir.DoubleType(), many)
            data = [start_of(context, builder, signature.args[k], arguments[k]) for k in (0, 2, 3)]

            def place(pointer: Any, where: Any) -> Any:
                return builder.bitcast(builder.gep(pointer, [where]), vector.as_pointer())

            own = place(data[0], arguments[1])
            carried = [tools.alloca_once_value(builder, value) for value in begin(builder, own, vector)]

            def meet(k: Any, turn: int) -> None:
                link = builder.sext(builder.load(builder.gep(data[2], [k])), ir.IntType(64))
                step(builder, carried[turn % len(carried)], place(data[1], builder.add(link, arguments[6])))

            one, count = arguments[4].type(1), builder.sub(arguments[5], arguments[4])
            with tools.for_range(builder, builder.ashr(count, one)) as loop:  # pairs need not wait
                k = builder.add(arguments[4], builder.shl(loop.index, one))
                meet(k, 0)
                meet(builder.add(k, one), 1)
            with builder.if_then(builder.trunc(count, ir.IntType(1))):
                meet(builder.sub(arguments[5], one), 0)
            end(builder, carried, own)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(run, whole, array, base, whole, whole, whole), generate

    return intrinsic(operation)


def _load(builder: Any, pointer: Any) -> Any:
    return builder.load(pointer, align=8)


def _multiply_into(builder: Any, carried: Any, there: Any) -> None:
    builder.store(builder.fmul(builder.load(carried), _load(builder, there)), carried)


def _add_there(builder: Any, carried: Any, there: Any) -> None:
    builder.store(builder.fadd(_load(builder, there), builder.load(carried)), there, align=8)


def _store_product(builder: Any, carried: Any, own: Any) -> None:
    builder.store(builder.fmul(*map(builder.load, carried)), own, align=8)


def _gather_product(many: int, alone: bool = False) -> Any:
    """Return op: multiply a run by what stands at every link; ``alone``: make it the product of these."""

    def plain(run: Any, at: Any, array: Any, base: Any, first: Any, last: Any, i: Any) -> None:
        if alone:
            run[at : at + many] = 1.0
        for link in base[first:last].tolist():
            run[at : at + many] *= array[link + i : link + i + many]

    if not COMPILES:
        return plain
    ones = [ir.DoubleType()(1.0)] * many

    def begin(builder: Any, own: Any, vector: Any) -> list[Any]:
        return [vector(ones) if alone else _load(builder, own), vector(ones)]

    return _over_links(begin, _multiply_into, _store_product, many)


def _scatter_sum(many: int) -> Any:
    """Return op: add a run to what stands at every link."""

    def plain(run: Any, at: Any, array: Any, base: Any, first: Any, last: Any, i: Any) -> None:
        for link in base[first:last].tolist():
            array[link + i : link + i + many] += run[at : at + many]

    if not COMPILES:
        return plain
    return _over_links(
        lambda builder, own, vector: [_load(builder, own)],
        _add_there,
        lambda builder, carried, own: None,
        many,
    )


def _gather_odds(many: int) -> Any:
    """Return op(run, at, array, own, base, above, n, below, m): multiply a run by a product over another.

    The factors above are ``array[j : j + many] + own[j // many]`` with j = ``base[k]`` for above ≤ k <
    above + n, those below, of which there are m, alike. Products must neither vanish nor grow beyond what
    doubles hold.
    """

    def plain(
        run: Any, at: Any, array: Any, own: Any, base: Any, above: Any, n: Any, below: Any, m: Any
    ) -> None:
        for j in base[above : above + n].tolist():
            run[at : at + many] *= array[j : j + many] + own[j // many]
        for j in base[below : below + m].tolist():
            run[at : at + many] /= array[j : j + many] + own[j // many]

    if not COMPILES:
        return plain

    def operation(
        typing: Any,
        run: Any,
        at: Any,
        array: Any,
        own: Any,
        base: Any,
        above: Any,
        n: Any,
        below: Any,
        m: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector, word = ir.VectorType(ir.DoubleType(), many), ir.IntType(64)
            data = [start_of(context, builder, signature.args[k], arguments[k]) for k in (0, 2, 3, 4)]

            def place(pointer: Any, where: Any) -> Any:
                return builder.bitcast(builder.gep(pointer, [where]), vector.as_pointer())

            def meet(k: Any, carried: Any) -> None:
                link = builder.sext(builder.load(builder.gep(data[3], [k])), word)
                alone = builder.load(builder.gep(data[2], [builder.sdiv(link, word(many))]))
                first = builder.insert_element(vector(ir.Undefined), alone, ir.IntType(32)(0))
                every = ir.Constant(ir.VectorType(ir.IntType(32), many), [0] * many)
                spread = builder.shuffle_vector(first, vector(ir.Undefined), every)
                factor = builder.fadd(_load(builder, place(data[1], link)), spread)
                builder.store(builder.fmul(builder.load(carried), factor), carried)

            target = place(data[0], arguments[1])
            over = tools.alloca_once_value(builder, _load(builder, target))
            under = tools.alloca_once_value(builder, vector([ir.DoubleType()(1.0)] * many))
            # ``over`` has the run and the first factors above, ``under`` the first of those below.
            with tools.for_range(builder, arguments[6]) as loop:
                meet(builder.add(arguments[5], loop.index), over)
            with tools.for_range(builder, arguments[8]) as loop:
                meet(builder.add(arguments[7], loop.index), under)
            builder.store(builder.fdiv(builder.load(over), builder.load(under)), target, align=8)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(run, whole, array, own, base, whole, whole, whole, whole), generate

    return intrinsic(operation)


def _scatter_share(many: int) -> Any:
    """Return op: add a run, each number of it times ``by``, to what stands at every link."""

    def plain(run: Any, at: Any, array: Any, base: Any, first: Any, last: Any, i: Any, by: Any) -> None:
        for link in base[first:last].tolist():
            array[link + i : link + i + many] += run[at : at + many] * by

    if not COMPILES:
        return plain

    def operation(
        typing: Any, run: Any, at: Any, array: Any, base: Any, first: Any, last: Any, i: Any, by: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = ir.VectorType(ir.DoubleType(), many)
            data = [start_of(context, builder, signature.args[k], arguments[k]) for k in (0, 2, 3)]

            def place(pointer: Any, where: Any) -> Any:
                return builder.bitcast(builder.gep(pointer, [where]), vector.as_pointer())

            own = _load(builder, place(data[0], arguments[1]))
            share = builder.fmul(own, many_of(builder, arguments[7], vector))
            # Every link before the one at hand has its share; two may lead to the same place.
            with tools.for_range(builder, builder.sub(arguments[5], arguments[4])) as loop:
                link = builder.load(builder.gep(data[2], [builder.add(arguments[4], loop.index)]))
                there = place(data[1], builder.add(builder.sext(link, ir.IntType(64)), arguments[6]))
                builder.store(builder.fadd(_load(builder, there), share), there, align=8)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(run, whole, array, base, whole, whole, whole, types.float64), generate

    return intrinsic(operation)


def _halved(builder: Any, vectors: list[Any]) -> Any:
    """Return the sums of `LANES` vectors, in their order: pairs of neighbours are added until one is left."""
    even, odd = ([2 * k + which for k in range(LANES)] for which in (0, 1))
    places = [ir.Constant(ir.VectorType(ir.IntType(32), LANES), which) for which in (even, odd)]
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [builder.fadd(*(builder.shuffle_vector(a, b, place) for place in places)) for a, b in pairs]
    return vectors[0]


def _sum_rows(typing: Any, out: Any, o: Any, src: Any, at: Any, stride: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        data = [start_of(context, builder, signature.args[k], arguments[k]) for k in (0, 2)]

        def place(pointer: Any, where: Any) -> Any:
            return builder.bitcast(builder.gep(pointer, [where]), vector.as_pointer())

        none = ir.Constant(vector, [0.0] * LANES)
        sums = [tools.alloca_once_value(builder, none) for _ in range(LANES)]
        eight = arguments[5].type(LANES)
        with tools.for_range(builder, builder.sdiv(arguments[5], eight)) as loop:
            here = builder.add(arguments[3], builder.mul(loop.index, eight))
            for r, held in enumerate(sums):
                row = builder.add(here, builder.mul(arguments[4], arguments[4].type(r)))
                builder.store(builder.fadd(builder.load(held), _load(builder, place(data[1], row))), held)
        found = _halved(builder, [builder.load(held) for held in sums])
        builder.store(found, place(data[0], arguments[1]), align=8)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(out, whole, src, whole, whole, whole), generate


def _plainly_sum_rows(out: Any, o: Any, src: Any, at: Any, stride: Any, size: Any) -> None:
    for r in range(LANES):
        out.reshape(-1)[o + r] = src[at + r * stride : at + r * stride + size].sum()


sum_rows: Any = intrinsic(_sum_rows) if COMPILES else _plainly_sum_rows
"""Write the sums of `LANES` rows of ``size`` numbers, the first from src[at] on, to out[o] and on."""

gather_odds_twice = _gather_odds(2 * LANES)
gather_product = _gather_product(LANES)
gather_product_twice = _gather_product(2 * LANES)
product_1, product_2, product_4, product_8, product_16 = (_gather_product(2**k, alone=True) for k in range(5))
share_1, share_2, share_4, share_8, share_16 = (_scatter_share(2**k) for k in range(5))
scatter_sum = _scatter_sum(LANES)
scatter_sum_twice = _scatter_sum(2 * LANES)

"""Arrays named by where they lie in memory, so that a kernel can be given dozens of them in one argument.

Handing an array to a kernel costs about a microsecond, which is more than some cells do. What never changes
from sweep to sweep is therefore written down once, as addresses and lengths, by `places_of`; whoever calls a
kernel with them keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import types
from numba.np import numpy_support
from numpy.typing import NDArray

from lacunary.kernels.cell import Kinds, Spots
from lacunary.kernels.pack import Slab

__all__ = ["cells_at", "places_of"]

intrinsic: Any = extending.intrinsic
numba_types: Any = types
type_of: Any = numpy_support.from_dtype

LONG, SHORT, REAL, TRUTH = types.int64, types.int32, types.float64, types.boolean

FIELDS: dict[Any, tuple[Any, ...]] = {
    Kinds: (LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, SHORT, SHORT),
    Slab: (SHORT, SHORT, LONG, SHORT, LONG, SHORT, LONG, LONG, REAL, SHORT, LONG),
    Spots: (LONG, LONG, SHORT, TRUTH),
}


def places_of(kinds: Kinds, slab: Slab, spots: Spots) -> NDArray[np.int64]:
    """Return where the arrays lie and how long they are, one after the other; (2 · arrays,)."""
    places, groups = [], cast(tuple[Any, ...], (kinds, slab, spots))
    for group in groups:
        for one, kind in zip(group, FIELDS[type(group)], strict=True):
            if type_of(one.dtype) != kind or not one.flags.c_contiguous:
                raise TypeError(f"a kernel would read {kind} where there is {one.dtype}")
            places += [one.ctypes.data, one.size]
    return np.array(places, dtype=np.int64)


def _cells_at(typing: Any, places: Any) -> Any:
    """Return the kinds, the slab and the spots that `places_of` wrote down."""
    groups = [
        numba_types.NamedTuple([types.Array(kind, 1, "C") for kind in kinds], group)
        for group, kinds in FIELDS.items()
    ]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.np.arrayobj import populate_array  # which loads much that compiled code does not need

        listed = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        word, taken = ir.IntType(64), iter(range(2 * sum(map(len, groups))))

        def number() -> Any:
            return builder.load(builder.gep(listed, [word(next(taken))]))

        def array(kind: Any) -> Any:
            made = context.make_array(kind)(context, builder)
            address, size = number(), number()
            width = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            populate_array(
                made,
                data=builder.inttoptr(address, made.data.type),
                shape=[size],
                strides=[word(width)],
                itemsize=word(width),
                meminfo=None,
            )
            return made._getvalue()

        tuples = [
            context.make_tuple(builder, group, [array(kind) for kind in group.types]) for group in groups
        ]
        return context.make_tuple(builder, signature.return_type, tuples)

    return numba_types.Tuple(groups)(places), generate


cells_at = intrinsic(_cells_at)

"""Sums over all acyclic graphs by their layers, what they say of arcs, and graphs drawn.

A graph falls into layers in one way: first the variables without parents; then, again and again, those whose
parents are all in layers before, one of them at least in the last (Kuipers & Moffa 2017). So graphs are added
up by going on from a state: ``whole``, the variables in the layers so far, and ``last``, those in the last of
them. All terms are positive, and nothing cancels. Sets are numbers whose bits are their members; a state
stands at ``three[whole] + three[last]``, where ``three`` reads a set's digits to the base three.

``sums[i, S]`` is the log of the sum, over all sets of parents of i within S, of what they weigh; (n, 2ⁿ).
``masks`` and ``logs`` have room for 2ⁿ numbers, ``who`` and ``steps`` for n.
"""

from __future__ import annotations

from math import exp, expm1, log

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import bare, inlined

__all__ = ["add_layers", "arc_chances", "draw_layers"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

NONE = -np.inf
RARE = 1e-16
"""States so rarely passed are left out: all of them together weigh less than a rounding of what is told."""


@inlined
def _touching(sums: Array, node: int, whole: int, last: int) -> float:
    """Return the log weight of parents within ``whole``, one at least in ``last`` unless that is empty."""
    high: float = sums[node, whole]
    if last == 0 or high == NONE:
        return high
    low = sums[node, whole & ~last]
    return high + log(-expm1(low - high)) if low < high else NONE


@inlined
def _spread(
    sums: Array, whole: int, last: int, masks: Integers, logs: Array, who: Integers, steps: Array
) -> int:
    """Write every set that may be the next layer, the empty one first, and its weight; return its bits."""
    many, bits = 1, 0
    masks[0], logs[0] = 0, 0.0
    for node in range(len(sums)):
        if not (whole >> node) & 1:
            step = _touching(sums, node, whole, last)
            if step > NONE:
                for c in range(many):
                    masks[many + c] = masks[c] | (1 << node)
                    logs[many + c] = logs[c] + step
                who[bits], steps[bits] = node, step
                many, bits = 2 * many, bits + 1
    return bits


@bare
def add_layers(
    sums: Array, three: Integers, masks: Integers, logs: Array, who: Integers, steps: Array, below: Array
) -> None:
    """Write, for each state, the log weight of all ways to go on to a whole graph; (3ⁿ,).

    That of the state without layers, at 0, is the log of the sum over all graphs.
    """
    full = (1 << len(sums)) - 1
    for whole in range(full, -1, -1):
        last = whole
        while True:
            if last or not whole:
                bits = _spread(sums, whole, last, masks, logs, who, steps)
                top, total = NONE, 0.0
                for c in range(1, 1 << bits):
                    logs[c] += below[three[whole | masks[c]] + three[masks[c]]]
                    top = max(top, logs[c])
                if top > NONE:
                    for c in range(1, 1 << bits):
                        total += exp(logs[c] - top)
                    top += log(total)
                below[three[whole] + three[last]] = 0.0 if whole == full else top
            if last == 0:
                break
            last = (last - 1) & whole


@bare
def arc_chances(
    sums: Array,
    three: Integers,
    masks: Integers,
    logs: Array,
    who: Integers,
    steps: Array,
    below: Array,
    passed: Array,
    out: Array,
) -> None:
    """Add the probability of every arc to ``out``, at [parent, child]; (n, n).

    Layer after layer is a Markov chain: ``passed`` takes how probably each state is passed; (3ⁿ,), zeros.
    ``below`` is what `add_layers` wrote.
    """
    full = (1 << len(sums)) - 1
    passed[0] = 1.0
    for whole in range(full):  # ``passed`` is whole for the states of ``whole``: layers only grow
        last = whole
        while True:
            here = three[whole] + three[last]
            chance = passed[here]
            if chance > RARE and (last or not whole):
                bits = _spread(sums, whole, last, masks, logs, who, steps)
                for c in range(1, 1 << bits):
                    there = three[whole | masks[c]] + three[masks[c]]
                    logs[c] = chance * exp(logs[c] + below[there] - below[here])
                    passed[there] += logs[c]
                logs[0] = 0.0
                # ``logs[c]`` is the chance of all next layers that are c in the bits up to this.
                for bit in range(bits - 1, -1, -1):
                    joins = 0.0
                    for c in range(1 << bit):
                        joins += logs[(1 << bit) + c]
                        logs[c] += logs[(1 << bit) + c]
                    _share(sums, who[bit], whole, last, steps[bit], joins, out)
            if last == 0:
                break
            last = (last - 1) & whole


@inlined
def _share(sums: Array, node: int, whole: int, last: int, step: float, chance: float, out: Array) -> None:
    """Add, for each possible parent of a node that joins the next layer, how probable the arc is."""
    for parent in range(len(sums)):
        if (whole >> parent) & 1:
            rest = whole & ~(1 << parent)
            without = NONE
            if last & ~(1 << parent):
                without = _touching(sums, node, rest, last & ~(1 << parent))
            out[parent, node] += chance * (-expm1(min(without - step, 0.0)))


@bare
def draw_layers(
    sums: Array,
    three: Integers,
    masks: Integers,
    logs: Array,
    who: Integers,
    steps: Array,
    below: Array,
    chances: Array,
    out: Integers,
) -> int:
    """Draw a graph's layers, write them as sets into ``out``, and return how many there are; (n,).

    ``below`` is what `add_layers` wrote. ``chances`` are numbers drawn evenly between 0 and 1; (n,).
    """
    full, whole, last, many = (1 << len(sums)) - 1, 0, 0, 0
    while whole != full:  # ``out`` has ``many`` layers, which hold ``whole``, the last of them ``last``
        here = three[whole] + three[last]
        bits = _spread(sums, whole, last, masks, logs, who, steps)
        left, chosen = chances[many], 0
        for c in range(1, 1 << bits):
            one = exp(logs[c] + below[three[whole | masks[c]] + three[masks[c]]] - below[here])
            if one > 0.0:
                chosen = c
                left -= one
                if left < 0.0:
                    break
        last = masks[chosen]
        whole |= last
        out[many] = last
        many += 1
    return many

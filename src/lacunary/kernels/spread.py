"""Spread rows over the configurations of a cell by chance: multinomial draws, one by one or together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined
from lacunary.kernels.lanes import U
from lacunary.kernels.variate import binomial, uniform

__all__ = ["FEW", "Scratch", "spread", "spread_few"]

FEW = 8
"""Completions that are drawn one by one rather than together."""


class Scratch(NamedTuple):
    """Room for one cell: which configurations were drawn and how often, exponents, three single numbers.

    The first two are `FEW` longer than the largest cell, the third as long; ``log`` has room for the
    logarithms of all parameters.
    """

    hit: NDArray[np.int64]
    drawn: NDArray[np.float64]
    power: NDArray[np.int64]
    shift: NDArray[np.int64]
    left: NDArray[np.float64]
    mass: NDArray[np.float64]
    log: NDArray[np.float64]


@inlined
def spread_few(value: Any, at: int, size: int, mass: float, many: Any, scratch: Scratch, stream: Any) -> Any:
    """Draw configurations one by one with chances in ``value``, which sum to ``mass``; return how many."""
    for n in range(many):
        left = uniform(stream) * mass
        chosen = 0
        for i in range(size - 1):  # without a branch that could be guessed wrongly
            left -= value[U(at + i)]
            chosen += left >= 0.0
        while chosen > 0 and value[at + chosen] == 0.0:  # rounding led past the last possible one
            chosen -= 1
        scratch.hit[n] = chosen
        scratch.drawn[n] = 1.0
    return many


@inlined
def spread(
    value: Any,
    at: int,
    size: int,
    message: Any,
    belief: Any,
    offsets: Any,
    own: int,
    s: int,
    shared: int,
    scratch: Scratch,
    stream: Any,
) -> int:
    """Spread ``belief`` of each shared configuration over those of a cell, with chances in ``value``.

    Returns how many configurations were drawn: these and how often are in ``scratch``.

    Parameters
    ----------
    value
        Chances of the cell's ``size`` configurations, from ``at`` on.
    message, belief
        Of the ``shared`` configurations, from ``s`` on: the sum of their chances, and how many to spread.
        Both are used up.
    offsets, own
        ``offsets[own + i]`` is what configuration i shares; with ``own`` = −1 there is one for all.
    stream
        The state of the random numbers; (1,).
    """
    # Of each shared configuration, ``belief`` is still to be spread over those from i on, whose chances sum
    # to ``message``: each takes its share of what is left, a binomial.
    hits = 0
    for i in range(size):
        k = s + offsets[own + i] if own >= 0 else s
        x = value[at + i]
        if belief[k] > 0.0 and x > 0.0:
            many = 0.0
            if belief[k] <= FEW:
                for _ in range(np.int64(belief[k])):
                    many += 1.0 if uniform(stream) * message[k] < x else 0.0
            else:
                many = binomial(belief[k], x / message[k], stream)
            message[k] -= x
            if many > 0.0:
                belief[k] -= many
                scratch.hit[hits] = i
                scratch.drawn[hits] = many
                hits += 1
    for k in range(s, s + shared):
        if belief[k] > 0.0:  # rounding let the last chance fall below one
            for i in range(size - 1, -1, -1):
                if value[at + i] > 0.0 and (own < 0 or s + offsets[own + i] == k):
                    scratch.hit[hits] = i
                    scratch.drawn[hits] = belief[k]
                    belief[k] = 0.0
                    hits += 1
                    break
    return hits

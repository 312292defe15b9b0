"""Scores of discrete families from their counts, with what was worked out for a count looked up.

All of them are Σ_jk f(N_jk) − Σ_j f(N_j) over parents' configurations j and child's states k; f(0) = 0. A
``law`` says what f is, in three numbers: its kind, the prior's worth, and what a free parameter costs. It is
log Γ(α + N) − log Γ(α), with α = worth / key (BDeu) or worth · key (Dirichlet), or N log N.

``keys`` and ``values``, (2, slots) and (2, slots, most + 2), remember f for N_jk and for N_j:
``values[·, slot, N]`` up to N = most where ``keys[·, slot]`` says for how large a table, NaN where it was not
asked for yet; last comes log Γ(α). Where counts are no whole numbers there is room for the last alone.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import called, compact, inlined
from lacunary.kernels.count import log_gamma, log_rising

__all__ = ["BDEU", "DIRICHLET", "LIKELIHOOD", "family_terms"]

Array = NDArray[np.float64]

BDEU, DIRICHLET, LIKELIHOOD = 0, 1, 2
"""Kinds of law."""


@called
def _raw(law: Array, key: float, count: float) -> float:
    """Return log Γ(α + N), or N log N."""
    if law[0] == LIKELIHOOD:
        return count * log(count) if count > 0.0 else 0.0
    return log_gamma((law[1] / key if law[0] == BDEU else law[1] * key) + count)


@called
def _gain(law: Array, key: float, count: float, base: float) -> float:
    """Return f(N), given log Γ(α)."""
    if law[0] == LIKELIHOOD:
        return _raw(law, key, count)
    return log_rising(law[1] / key if law[0] == BDEU else law[1] * key, count, base)


@inlined
def _known(law: Array, key: float, count: float, slot: int, values: Array) -> float:
    """Return f(N), remembered where N is small; without a slot it is worked out."""
    place = int(count)
    if slot >= 0 and place < values.shape[1] - 1:
        value = values[slot, place]
        if value != value:
            value = values[slot, place] = _gain(law, key, count, values[slot, -1])
        return float(value)
    if count == 0.0:
        return 0.0
    return _gain(law, key, count, values[slot, -1] if slot >= 0 else _raw(law, key, 0.0))


@called
def _slot(law: Array, key: float, keys: Array, values: Array) -> int:
    """Return where a key's values are; make room for them if they are not there."""
    slot = int(key % len(keys))
    if keys[slot] != key:
        keys[slot] = key
        for place in range(values.shape[1]):
            values[slot, place] = np.nan
        values[slot, -1] = _raw(law, key, 0.0)
    return slot


@inlined
def _key(law: Array, level: int, states: int, configurations: float) -> float:
    """Return what α depends on: cells (level 0) or configurations (1) in all; or how many α are added up."""
    if law[0] == BDEU:
        return configurations if level else configurations * states
    return float(states) if level and law[0] == DIRICHLET else 1.0


@called
def _terms(
    counts: Array,
    states: int,
    configurations: float,
    first: NDArray[np.int64],
    law: Array,
    keys: Array,
    values: Array,
    slots: NDArray[np.int64],
    out: Array,
) -> None:
    """Write the term with each of some variables beside the parents; (n,).

    Variable j's states are columns ``first[j]`` to ``first[j + 1]`` of ``counts``; all else is as for
    `family_terms`.
    """
    variables = len(first) - 1
    _find_slots(states, configurations, first, law, keys, values, slots)
    for j in range(variables):
        out[j] = -law[2] * (states - 1) * configurations * (first[j + 1] - first[j])
    # ``out[j]`` is what variable j's parameters cost and the sum over configurations below ``low``.
    for low in range(0, counts.shape[0], states):
        rows = 0.0  # of this configuration; every variable sees them all, so the last tells
        for s in range(first[variables - 1], first[variables]):
            for k in range(states):
                rows += counts[low + k, s]
        for j in range(variables if rows > 0.0 else 0):
            all_here = configurations * (first[j + 1] - first[j])
            cell, many = _key(law, 0, states, all_here), _key(law, 1, states, all_here)
            total = 0.0
            for s in range(first[j], first[j + 1]):
                there = 0.0
                for k in range(states):
                    count = counts[low + k, s]
                    there += count
                    total += _known(law, cell, count, slots[0, j], values[0])
                total -= _known(law, many, there, slots[1, j], values[1])
            out[j] += total


@inlined
def _find_slots(
    states: int,
    configurations: float,
    first: NDArray[np.int64],
    law: Array,
    keys: Array,
    values: Array,
    slots: NDArray[np.int64],
) -> None:
    """Find each variable's slots; one that another variable took since is none (−1)."""
    for level in range(2):
        for j in range(len(first) - 1):
            key = _key(law, level, states, configurations * (first[j + 1] - first[j]))
            slots[level, j] = _slot(law, key, keys[level], values[level])
        for j in range(len(first) - 1):
            key = _key(law, level, states, configurations * (first[j + 1] - first[j]))
            if keys[level, slots[level, j]] != key:
                slots[level, j] = -1


@compact
def family_terms(
    counts: Array,
    members: NDArray[np.int64],
    sizes: NDArray[np.int64],
    configurations: float,
    first: NDArray[np.int64],
    one: NDArray[np.int64],
    law: Array,
    keys: Array,
    values: Array,
    slots: NDArray[np.int64],
    room: Array,
    out: Array,
) -> None:
    """Write a family's term with each of some variables beside its parents, or put in and taken out of them.

    Parameters
    ----------
    counts
        N, with the child's states at heights u·r to u·r + r for each configuration u of the parents. Those
        that do not occur may be left out, unless there is ``room``; (heights, columns). The members' own
        columns may be empty, unless the last variable is one of them.
    members, sizes
        The parents, slowest first, and the child, which without ``room`` is enough; how many states each of
        all variables has.
    configurations
        How many configurations the parents have in all.
    first, one
        Variable j's states are columns ``first[j]`` to ``first[j + 1]``; (n + 1,). 0 and 1: one column.
    law, keys, values
        What f is, and what is remembered of it: see the head of this file.
    slots
        Room for where each variable's values are remembered; (2, n).
    room
        Where terms without each parent are asked for, at least as many heights as ``counts`` has, twice; else
        none; (2, heights, 1).
    out
        Written: the term with each variable; (n,). Where there is room, all variables come first: of parents
        there is the term without them, of the child nothing of use, and last the term as it is; (n + 1,).
    """
    states, heights, variables = sizes[members[-1]], len(counts), len(first) - 1
    _terms(counts, states, configurations, first, law, keys, values, slots, out[:variables])
    if room.shape[1] == 0:
        return
    alone, less, many = room[0, :heights], room[1, :heights], heights // states
    for height in range(heights):  # over the states of any one variable, such as the last
        alone[height, 0] = 0.0
        for column in range(first[variables - 1], first[variables]):
            alone[height, 0] += counts[height, column]
    # ``before`` and ``after`` are how many configurations the members before and behind this parent have.
    before, after = 1, heights
    for parent in members[:-1]:
        size = sizes[parent]
        after //= size
        for slow in range(before):
            for fast in range(after):
                total = 0.0
                for digit in range(size):
                    total += alone[(slow * size + digit) * after + fast, 0]
                less[slow * after + fast, 0] = total
        before *= size
        fewer = less[: heights // size]
        _terms(fewer, states, float(many // size), one, law, keys, values, slots, out[parent : parent + 1])
    _terms(alone, states, float(many), one, law, keys, values, slots, out[variables:])

"""Kernels that put sums over states behind tables, and divide what was counted there; see `infer.places`.

Blocks are rows of whole numbers, one a table: where it starts in the layout, where among the places, its
states, its configurations, and whether a sum for each configuration follows it; (tables, 5). So are pairs,
one a table of products: where its two factors start among the places, the states of each, their
configurations, and where it starts itself, behind both; (pairs, 6).
"""

from __future__ import annotations

from typing import Any

from lacunary.kernels.compile import bare, inlined
from lacunary.kernels.lanes import U

__all__ = ["join", "narrow", "part", "widen"]

TINY = 1e-290
"""A product of two positive numbers below this has lost digits, or all of them."""


@bare
def widen(potential: Any, block: Any, wide: Any) -> None:
    """Write tables and sums.

    Parameters
    ----------
    potential
        (vectors, layout size).
    block
        The tables.
    wide
        Written; (vectors, places).
    """
    for b in range(potential.shape[0]):
        own, out = potential[b], wide[b]
        for t in range(block.shape[0]):
            start, place, states, many = block[t, 0], block[t, 1], block[t, 2], block[t, 3]
            for i in range(states * many):
                out[U(place + i)] = own[U(start + i)]
            if block[t, 4]:
                total = out[place + states * many : place + (states + 1) * many]
                for j in range(many):
                    total[U(j)] = own[U(start + j)]
                for k in range(1, states):  # ``total`` has the states before k
                    state = own[start + k * many : start + (k + 1) * many]
                    for j in range(many):
                        total[U(j)] += state[U(j)]


@bare
def narrow(counts: Any, potential: Any, wide: Any, block: Any, out: Any) -> None:
    """Write counts without sums, which belong to the states in proportion to their potentials.

    Parameters
    ----------
    counts, wide
        Counts, and the potentials with their sums; (vectors, places). Instead of what was counted of a sum,
        ``counts`` then has what was counted for each unit of it.
    potential
        (vectors, layout size).
    block
        The tables.
    out
        Written; (vectors, layout size).
    """
    # Tables before t are written, and their sums in ``counts`` are what was counted for each unit.
    for b in range(potential.shape[0]):
        found, own, every, to = counts[b], potential[b], wide[b], out[b]
        for t in range(block.shape[0]):
            start, place, states, many = block[t, 0], block[t, 1], block[t, 2], block[t, 3]
            if not block[t, 4]:
                for i in range(states * many):
                    to[U(start + i)] = found[U(place + i)]
                continue
            behind = place + states * many
            share, total = found[behind : behind + many], every[behind : behind + many]
            for j in range(many):
                share[U(j)] = share[U(j)] / total[U(j)] if total[U(j)] != 0.0 else 0.0
            for k in range(states):
                seen, state = found[place + k * many : place + (k + 1) * many], start + k * many
                factor, written = own[state : state + many], to[state : state + many]
                for j in range(many):
                    written[U(j)] = seen[U(j)] + share[U(j)] * factor[U(j)]


@inlined
def _least(row: Any, first: Any, last: Any) -> float:
    """Return the least positive number of a stretch, at most one; four by turns, which need not wait."""
    one, two, three, four = 1.0, 1.0, 1.0, 1.0
    whole = last - (last - first) % 4
    for i in range(first, whole, 4):
        x, y, z, w = row[U(i)].real, row[U(i + 1)].real, row[U(i + 2)].real, row[U(i + 3)].real
        one = min(one, x if x > 0.0 else 1.0)
        two = min(two, y if y > 0.0 else 1.0)
        three = min(three, z if z > 0.0 else 1.0)
        four = min(four, w if w > 0.0 else 1.0)
    for i in range(whole, last):
        x = row[U(i)].real
        one = min(one, x if x > 0.0 else 1.0)
    return min(min(one, two), min(three, four))


@bare
def join(wide: Any, pair: Any) -> bool:
    """Write the tables of products, in (vectors, places); return whether none can have lost digits."""
    sound = True
    for b in range(wide.shape[0]):
        row, last, least = wide[b], -1, 1.0
        # ``least`` bounds the positive numbers of the table before, which starts at ``last``, from below.
        for t in range(pair.shape[0]):
            one, two, first, second, many = pair[t, 0], pair[t, 1], pair[t, 2], pair[t, 3], pair[t, 4]
            at = pair[t, 5]
            least = least if one == last else _least(row, one, one + first * many)
            least *= _least(row, two, two + second * many)
            last = at
            if least < TINY:
                sound = False
            for i in range(first):
                left = row[one + i * many : one + (i + 1) * many]
                for k in range(second):
                    right, product = row[two + k * many : two + (k + 1) * many], row[at : at + many]
                    for j in range(many):
                        product[U(j)] = left[U(j)] * right[U(j)]
                    at += many
    return sound


@bare
def part(counts: Any, pair: Any) -> None:
    """Add what was counted of products, in (vectors, places), to their factors, the last products first."""
    for b in range(counts.shape[0]):
        row = counts[b]
        for t in range(pair.shape[0] - 1, -1, -1):
            one, two, first, second, many = pair[t, 0], pair[t, 1], pair[t, 2], pair[t, 3], pair[t, 4]
            at = pair[t, 5]
            for i in range(first):
                left = row[one + i * many : one + (i + 1) * many]
                for k in range(second):
                    right, product = row[two + k * many : two + (k + 1) * many], row[at : at + many]
                    for j in range(many):
                        left[U(j)] += product[U(j)]
                        right[U(j)] += product[U(j)]
                    at += many

"""Regression trees with several targets, for forests.

Features are bins: small integers, of which a node sends those up to its cut to the left. A tree's nodes stand
one behind the other, the root first; a node with feature −1 is a leaf, else its children stand at ``child``
and ``child + 1``. A split is worth what it takes off the targets' sum of squares, summed over targets; of
indicators of states that is the Gini index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import called, kernel
from lacunary.kernels.lanes import U

__all__ = ["grow_trees", "sum_of_trees"]

Floats = NDArray[np.float64]
Bins = NDArray[np.uint8]
Ints = NDArray[np.int64]
BINS = 256

SORTED = 1
"""Bins that rows have are sorted where the square of their number is at most so many times those between."""


@called
def _next(state: int) -> int:
    """Return the next of a sequence of 31-bit numbers without a visible pattern (Park & Miller 1988)."""
    return (state * 48271) % 2147483647


@called
def _in_order(met: Ints, count: int, low: int, high: int, weight: Floats) -> None:
    """Put the bins that rows have, between ``low`` and ``high``, in order; their ``weight`` is not zero."""
    if count * count > SORTED * (high - low):
        at = 0
        for b in range(low, high + 1):  # ``met`` has the first ``at`` of them
            met[U(at)] = b
            at += weight[U(b)] != 0.0
        return
    for i in range(1, count):  # the first i are in order
        b, at = met[U(i)], i
        while at > 0 and met[U(at - 1)] > b:
            met[U(at)] = met[U(at - 1)]
            at -= 1
        met[U(at)] = b


@called
def _best(
    met: Ints, count: int, weight: Floats, sums: Floats, least: int, number: float, total: Floats
) -> tuple[float, int]:
    """Return what the best cut of a feature is worth, and the cut; −1 where there is none.

    ``weight`` and ``sums`` hold the rows and sums of the ``count`` bins in ``met``, and become zero.
    ``number`` rows have the sum ``total[0]``; ``total[1]`` is room.
    """
    width = sums.shape[1]
    best, cut, left = -1.0, -1, 0.0
    for k in range(width):
        total[1, U(k)] = 0.0
    # ``left`` and ``total[1]`` hold the bins before this one; ``cut`` is the best before it.
    for i in range(count):
        b = met[U(i)]
        left += weight[U(b)]
        weight[U(b)] = 0.0
        worth = 0.0
        for k in range(width):
            total[1, U(k)] += sums[U(b), U(k)]
            sums[U(b), U(k)] = 0.0
        if left < least or number - left < least or i == count - 1:
            continue
        for k in range(width):
            other = total[0, U(k)] - total[1, U(k)]
            worth += total[1, U(k)] ** 2 / left + other**2 / (number - left)
        if worth > best:
            best, cut = worth, b
    return best, cut


@called
def _split(
    bins: Bins, held: Floats, one: Ints, begin: Ints, first: int, last: int, feature: int, least: int,
    weight: Floats, sums: Floats, total: Floats, met: Ints,
) -> tuple[float, int]:  # fmt: skip
    """Return what the best cut of a feature is worth, and the cut; −1 where there is none.

    The node owns the rows from ``first`` to ``last``: ``begin`` says where each begins in ``bins``, ``held``
    has their targets and ``one`` which of them alone is not zero, −1 if that may be several; ``total[0]`` is
    their sum. ``weight`` and ``sums`` are zero before and after, ``total[1]`` and ``met`` are room.
    """
    low, high, width, count = 255, 0, held.shape[1], 0
    # ``weight`` and ``sums`` hold, by bin, the rows before i and their targets; ``met`` has their bins.
    for i in range(first, last):
        b = int(bins[U(begin[U(i)] + feature)])
        low, high = min(low, b), max(high, b)
        met[U(count)] = b
        count += weight[U(b)] == 0.0
        weight[U(b)] += 1.0
        k = one[U(i)]
        if k >= 0:
            sums[U(b), U(k)] += held[U(i), U(k)]
        else:
            for k in range(width):
                sums[U(b), U(k)] += held[U(i), U(k)]
    _in_order(met, count, low, high, weight)
    return _best(met, count, weight, sums, least, float(last - first), total)


@called
def _add_pairs(
    pairs: Bins, held: Floats, one: Ints, rows: Ints, first: int, last: int, ones: Floats, parts: Floats
) -> None:
    """Add up a node's rows on both sides of all features that have two bins.

    ``pairs`` (rows, features) are these features' bins. ``ones`` (features,) becomes how many rows are in the
    upper one, ``parts`` (2, targets, features) the targets' sums in the lower and the upper; ``held`` and
    ``one`` are those of `_split`.
    """
    width, features = held.shape[1], pairs.shape[1]
    for f in range(features):
        ones[U(f)] = 0.0
        for k in range(width):
            parts[0, U(k), U(f)] = parts[1, U(k), U(f)] = 0.0
    for i in range(first, last):  # the rows before i are counted
        row, k = rows[U(i)], one[U(i)]
        for f in range(features):
            ones[U(f)] += np.float64(pairs[U(row), U(f)])
        low, high = (k, k + 1) if k >= 0 else (0, width)
        for k in range(low, high):
            x = held[U(i), U(k)]
            for f in range(features):  # what is added to the other side is zero
                b = np.float64(pairs[U(row), U(f)])
                parts[0, U(k), U(f)] += (1.0 - b) * x
                parts[1, U(k), U(f)] += b * x


@called
def _pair(
    f: int, ones: Floats, parts: Floats, least: int, number: float,
    met: Ints, weight: Floats, sums: Floats, total: Floats,
) -> tuple[float, int]:  # fmt: skip
    """Return what the cut between two bins is worth, as `_split` does, from what `_add_pairs` found."""
    if ones[U(f)] == 0.0 or ones[U(f)] == number:
        return -1.0, -1
    for b in range(2):
        met[U(b)] = b
        weight[U(b)] = ones[U(f)] if b else number - ones[U(f)]
        for k in range(sums.shape[1]):
            sums[U(b), U(k)] = parts[U(b), U(k), U(f)]
    return _best(met, 2, weight, sums, least, number, total)


@called
def _parted(bins: Bins, rows: Ints, first: int, last: int, feature: int, cut: int) -> int:
    """Put the rows that go to the left first, and return where the others begin."""
    low, high = first, last - 1
    while low <= high:
        if bins[rows[low], feature] <= cut:
            low += 1
        else:
            rows[low], rows[high] = rows[high], rows[low]
            high -= 1
    return low


@kernel
def grow_trees(
    bins: Bins, pairs: Bins, place_of: Ints, targets: Floats, samples: Ints, tries: int, least: int,
    seeds: Ints, feature: Ints, cut: Ints, child: Ints, value: Floats,
) -> None:  # fmt: skip
    """Grow a tree on each sample of rows; a node looks at ``tries`` features drawn at random.

    ``place_of`` (features,) is the place in ``pairs`` of each feature of two bins, −1 of others.
    ``samples`` (trees, rows) is put in another order; ``seeds`` (trees,) begin its random numbers.
    ``feature``, ``cut``, ``child`` are (trees, nodes) and ``value`` (trees, nodes, targets): the means of
    targets in a node.
    """
    width, features = targets.shape[1], bins.shape[1]
    weight, sums, total = np.zeros(BINS), np.zeros((BINS, width)), np.empty((2, width))
    begin, held = np.empty(samples.shape[1], dtype=np.int64), np.empty((samples.shape[1], width))
    flat, met = bins.ravel(), np.empty(max(BINS, samples.shape[1]) + 1, dtype=np.int64)
    one = np.empty(samples.shape[1], dtype=np.int64)
    ones, parts = np.empty(pairs.shape[1]), np.empty((2, width, pairs.shape[1]))
    ends, order = np.empty((feature.shape[1], 2), dtype=np.int64), np.arange(features)
    for tree in range(samples.shape[0]):
        rows, state, nodes, node = samples[tree], seeds[tree], 1, 0
        ends[0, 0], ends[0, 1] = 0, rows.shape[0]
        # Nodes before this are written; node m < ``nodes`` owns ``rows[ends[m, 0] : ends[m, 1]]``.
        while node < nodes:
            first, last = ends[node, 0], ends[node, 1]
            number = float(last - first)
            for k in range(width):
                total[0, k] = 0.0
            for i in range(first, last):
                begin[i], one[i], some = rows[i] * features, 0, 0
                for k in range(width):
                    held[i, k] = targets[rows[i], k]
                    total[0, k] += held[i, k]
                    if held[i, k] != 0.0:
                        one[i], some = k, some + 1
                one[i] = one[i] if some <= 1 else -1
            whole = 0.0
            for k in range(width):
                whole += total[0, k] ** 2 / number
                value[tree, node, k] = total[0, k] / number
            best, chosen, at = whole * (1.0 + 1e-12) + 1e-12, -1, -1
            tried, left = 0, features
            if last - first >= 2 * least:
                _add_pairs(pairs, held, one, rows, first, last, ones, parts)
            # The features of ``order`` from ``left`` on were drawn here.
            while last - first >= 2 * least and tried < tries and left > 0:
                state = _next(state)
                place = state % left
                left -= 1
                drawn = order[place]
                order[place], order[left] = order[left], drawn
                if place_of[drawn] >= 0:
                    worth, where = _pair(
                        place_of[drawn], ones, parts, least, number, met, weight, sums, total
                    )
                else:
                    worth, where = _split(
                        flat, held, one, begin, first, last, drawn, least, weight, sums, total, met
                    )
                if where >= 0:
                    tried += 1  # features that cannot part the rows do not count as tries
                if worth > best:
                    best, chosen, at = worth, drawn, where
            feature[tree, node], cut[tree, node], child[tree, node] = chosen, at, nodes
            if chosen >= 0:
                middle = _parted(bins, rows, first, last, chosen, at)
                ends[nodes, 0], ends[nodes, 1] = first, middle
                ends[nodes + 1, 0], ends[nodes + 1, 1] = middle, last
                nodes += 2
            node += 1


@kernel
def sum_of_trees(
    bins: Bins, feature: Ints, cut: Ints, child: Ints, value: Floats, used: NDArray[np.bool_],
    out: Floats, asked: Floats,
) -> None:  # fmt: skip
    """Add to ``out`` (rows, targets) what trees say of each row, and to ``asked`` (rows,) how many did.

    Where ``used`` (trees, rows) a tree does not speak: the row is one that it was grown on.
    """
    for tree in range(feature.shape[0]):
        for row in range(bins.shape[0]):
            if used[tree, row]:
                continue
            node = 0
            while feature[tree, node] >= 0:
                right = bins[row, feature[tree, node]] > cut[tree, node]
                node = child[tree, node] + (1 if right else 0)
            asked[row] += 1.0
            for k in range(out.shape[1]):
                out[row, k] += value[tree, node, k]

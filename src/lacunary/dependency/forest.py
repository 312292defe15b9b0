"""Forests of regression trees, which say of every row what the trees say that did not see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.trees import grow_trees, sum_of_trees
from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = ["Forest", "forest"]

Bins = NDArray[np.uint8]

Parts = tuple[Integers, Integers, Integers, Array]

MOST = 1000
"""Rows that a tree is grown on, at most."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees, and what the rows they were grown on are told by the trees that did not see them.

    Attributes
    ----------
    parts
        Features, cuts and children of nodes, (trees, nodes) each, and means, (trees, nodes, targets).
    left_out
        (rows, targets).
    """

    parts: Parts
    left_out: Array

    def mean(self, bins: Bins) -> Array:
        """Return the mean of what all trees say; (rows, targets)."""
        nobody = np.zeros((len(self.parts[0]), len(bins)), dtype=np.bool_)
        return _asked(self.parts, bins, nobody)[0]


def forest(bins: Bins, targets: Array, trees: int, least: int, rng: np.random.Generator) -> Forest:
    """Grow trees on rows drawn with replacement; leaves keep ``least`` rows."""
    rows, width = targets.shape
    samples = rng.integers(0, rows, (trees, min(rows, MOST)))
    used = np.zeros((trees, rows), dtype=np.bool_)
    np.put_along_axis(used, samples, True, axis=1)
    nodes = 2 * max(samples.shape[1] // least, 1) + 1
    feature, cut, child = (np.zeros((trees, nodes), dtype=np.int64) for _ in range(3))
    value = np.zeros((trees, nodes, width))
    two = bins.max(axis=0, initial=0) <= 1
    grow_trees(
        bins,
        np.ascontiguousarray(bins[:, two]),
        np.where(two, np.cumsum(two) - 1, -1),
        targets,
        samples,
        bins.shape[1],
        least,
        rng.integers(1, 2**31 - 1, trees),
        feature,
        cut,
        child,
        value,
    )
    parts = (feature, cut, child, value)
    told, asked = _asked(parts, bins, used)
    told[asked == 0] = targets.mean(axis=0)  # every tree saw them
    return Forest(parts, told)


def _asked(parts: Parts, bins: Bins, used: Booleans) -> tuple[Array, Array]:
    """Return the mean over trees that may speak, and how many those are."""
    out, asked = np.zeros((len(bins), parts[3].shape[2])), np.zeros(len(bins))
    sum_of_trees(bins, *parts, used, out, asked)
    return out / np.maximum(asked, 1.0)[:, None], asked

"""Groups of points, some of whose coordinates are missing: k-means++ and Ward's hierarchical merging.

What is missing is left out: a squared distance is the mean over the coordinates that are there, times the
number of all. Points are (points, width), NaN where nothing is seen.
"""

from __future__ import annotations

import numpy as np

from lacunary.maths.arrays import Array, Integers

__all__ = ["Ward", "centres_of", "k_means", "nearest", "squares"]

STEPS = 30
"""The most turns of k-means: it serves as a start, and the last turns move few points."""

TRIES = 4
"""Draws for every further centre, of which the one that leaves the least is taken (greedy k-means++)."""


def squares(points: Array, centres: Array) -> Array:
    """Return squared distances from points to centres without holes; (points, centres)."""
    seen = ~np.isnan(points)
    x = np.where(seen, points, 0.0)
    plain = (x**2).sum(axis=1)[:, None] - 2.0 * x @ centres.T + seen @ (centres**2).T
    whole = points.shape[1] / np.maximum(seen.sum(axis=1), 1)
    return np.asarray(np.maximum(plain, 0.0) * whole[:, None])


def nearest(points: Array, centres: Array) -> Integers:
    """Return which centre is nearest to each point; (points,)."""
    return np.asarray(squares(points, centres).argmin(axis=1))


def centres_of(points: Array, weights: Array, labels: Integers, groups: int) -> Array:
    """Return the weighted mean of each group, zero where nothing of it is seen; (groups, width)."""
    member = weights[:, None] * (labels[:, None] == np.arange(groups))
    seen = ~np.isnan(points)
    total, added = member.T @ seen, member.T @ np.where(seen, points, 0.0)
    return np.asarray(np.divide(added, total, out=np.zeros_like(total), where=total > 0))


def k_means(points: Array, weights: Array, groups: int, rng: np.random.Generator) -> Array:
    """Return the centres that k-means ends with from a draw of k-means++; (groups, width)."""
    centres = _spread_out(points, weights, groups, rng)
    labels = nearest(points, centres)
    for _ in range(STEPS):
        before, centres = labels, centres_of(points, weights, labels, groups)
        labels = nearest(points, centres)
        if np.array_equal(before, labels):
            break
    return centres


def _spread_out(points: Array, weights: Array, groups: int, rng: np.random.Generator) -> Array:
    """Return points far from each other: each is drawn by weight and squared distance to those before."""
    filled = np.where(np.isnan(points), 0.0, points)
    chosen = [_drawn(weights, rng.random(1))[0]]
    left = squares(points, filled[chosen])[:, 0]
    for _ in range(groups - 1):
        shares = weights * left if (weights * left).sum() > 0 else weights
        tried = _drawn(shares, rng.random(TRIES))
        apart = np.minimum(left[:, None], squares(points, filled[tried]))
        best = int((weights @ apart).argmin())
        chosen.append(tried[best])
        left = apart[:, best]
    return np.asarray(filled[chosen])


def _drawn(shares: Array, at: Array) -> Integers:
    edges = np.cumsum(shares)
    return np.asarray(np.minimum(np.searchsorted(edges, at * edges[-1], side="right"), len(edges) - 1))


class Ward:
    """Points merged two groups at a time, the two whose union adds least to the squares within (Ward 1963).

    Any number of groups can be read off. With holes the distances between points are those of what both show.
    """

    def __init__(self, points: Array) -> None:
        from scipy.cluster.hierarchy import linkage  # slow to load, and tables do not need it
        from scipy.spatial.distance import squareform

        seen = (~np.isnan(points)).astype(np.float64)
        x = np.nan_to_num(points)
        square = (x**2) @ seen.T
        apart = square + square.T
        apart -= 2.0 * x @ x.T
        np.maximum(apart, 0.0, out=apart)
        if not seen.all():
            apart *= points.shape[1] / np.maximum(seen @ seen.T, 1.0)
        np.fill_diagonal(apart, 0.0)
        self.tree = linkage(np.sqrt(squareform(apart, checks=False)), method="ward")

    def labels(self, groups: int) -> Integers:
        """Return the groups when so many are left, numbered from zero; (points,)."""
        from scipy.cluster.hierarchy import fcluster

        return np.asarray(fcluster(self.tree, groups, criterion="maxclust") - 1)

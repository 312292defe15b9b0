"""Clusters of rows before anything is learned: rough mixtures of normals, found without draws.

They tell the variance within groups from that between them, where groups are not known. Ward's
hierarchical merging says where EM begins, BIC how many clusters there are and what their covariances share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from lacunary.infer.gaussian import Forms, GaussianRows
from lacunary.infer.mixture import shared_out
from lacunary.infer.parallel import in_parallel
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.cluster import Ward
from lacunary.maths.moments import parted

__all__ = ["Clusters", "clustered"]

MOST, PATIENCE, LEAST_ROWS = 10, 2, 4
"""Clusters at most; how many more are tried once more do not pay; different rows there are for each."""

STEPS, ENOUGH = 30, 1.0
"""Steps of EM at most, and the rise in nats at which it ends: clusters need not be exact."""

KINDS = ("own", "common", "independent")
"""What is assumed of covariances: one for each cluster, one for all, or no correlations."""

FLAT = 1e-3
"""Directions in which columns together vary less than this part of the widest are not stretched further."""

TINY = np.finfo(np.float64).tiny

WIDE = 60
"""Variables up to which clusters may have correlations."""

LEAST = 1e-8
"""The least variance in a cluster, of standardised columns."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Normal densities and how many rows belong to each.

    Attributes
    ----------
    log_share
        Log of each cluster's part of the rows; (clusters,).
    mean, covariance
        (clusters, n) and (clusters, n, n); of independent columns only variances, (clusters, n).
    """

    log_share: Array
    mean: Array
    covariance: Array

    def __len__(self) -> int:
        return len(self.log_share)

    @property
    def independent(self) -> bool:
        """Whether columns are independent within clusters."""
        return self.covariance.ndim == 2

    @cached_property
    def forms(self) -> Forms:
        """The densities as rows with holes take them."""
        return Forms.normal(self.mean, self.covariance)

    def logs(self, rows: Rows) -> Array:
        """Return log share and log-density of the observed cells of each row; (rows, clusters)."""
        if not self.independent:
            return np.asarray(rows.normal.log_evidence(self.forms) + self.log_share)
        x, seen, precision = rows.filled, rows.seen, 1.0 / self.covariance
        squares = x**2 @ precision.T - 2.0 * x @ (self.mean * precision).T
        constant = seen @ (self.mean**2 * precision + np.log(2.0 * np.pi * self.covariance)).T
        return np.asarray(self.log_share - 0.5 * (squares + constant))

    def owners(self, points: Array) -> Integers:
        """Return the cluster that each row most probably is in, NaN where a cell is a hole; (rows,)."""
        return np.asarray(self.logs(Rows(points)).argmax(axis=1))


class Rows:
    """Rows with holes, ready for densities with correlations and without."""

    def __init__(self, points: Array) -> None:
        self.points = points

    @cached_property
    def normal(self) -> GaussianRows:
        """The rows as normal densities see them."""
        return GaussianRows(self.points)

    @cached_property
    def seen(self) -> Array:
        """One where a cell is no hole; (rows, n)."""
        return (~np.isnan(self.points)).astype(np.float64)

    @cached_property
    def filled(self) -> Array:
        """The cells, zero where they are holes; (rows, n)."""
        return np.nan_to_num(self.points)


def clustered(points: Array, weights: Array) -> Clusters | None:
    """Return as many clusters as BIC finds in rows, standardised, NaN where a cell is a hole; none if one.

    Of each number the best of mixtures of normals with covariances of their own, with a common one, and
    without correlations, from hierarchical merging of the points as they are and of uncorrelated ones.
    """
    most, search = min(MOST, len(points) // LEAST_ROWS), _Search(Rows(points), weights)
    if most < 2:
        return None
    best, top = search.best([np.zeros(len(points), dtype=np.int64)])
    trees, idle, many = search.trees(), 0, 1
    while idle < PATIENCE and many < most:
        many += 1
        found, worth = search.best([tree.labels(many) for tree in trees])
        idle = 0 if worth > top else idle + 1
        if worth > top:
            best, top = found, worth
    return best if len(best) > 1 else None


@dataclass(frozen=True, eq=False)
class _Search:
    """Rows with their weights, among which clusters are looked for."""

    rows: Rows
    weights: Array

    def best(self, labels: Sequence[Integers]) -> tuple[Clusters, float]:
        """Return the clusters that EM comes to from one of these labels, and their BIC; higher is better."""
        kinds = KINDS if 1 < self.rows.points.shape[1] <= WIDE else KINDS[-1:]
        climbs = in_parallel(lambda each: self._climbed(*each), list(product(labels, kinds)))
        return max(climbs, key=lambda one: one[1])

    def trees(self) -> list[Ward]:
        """Return hierarchical mergings of the points as they are, and turned until they are uncorrelated."""
        points = self.rows.points
        if points.shape[1] == 1:
            return [Ward(points)]
        spread = np.cov(self.rows.filled.T, aweights=self.weights)  # a hole stands for the mean
        values, vectors = np.linalg.eigh(spread)
        turn = vectors / np.sqrt(np.maximum(values, max(FLAT * values.max(), LEAST)))
        return in_parallel(Ward, [points, self.rows.filled @ turn])

    @cached_property
    def whole(self) -> Clusters:
        """One normal for all rows, by which holes are filled before there are clusters."""
        n = self.rows.points.shape[1]
        plain = Clusters(np.zeros(1), np.zeros((1, n)), np.eye(n)[None])
        return self._ended(plain, "common")[0]

    def _climbed(self, labels: Integers, kind: str) -> tuple[Clusters, float]:
        many = int(labels.max()) + 1
        shares = (labels[:, None] == np.arange(many)).astype(np.float64)
        start = None if kind == "independent" else _repeated(self.whole, many)
        found, value = self._ended(self._maximized(start, shares, kind), kind)
        return found, value - 0.5 * np.log(max(self.weights.sum(), 2.0)) * _free(found, kind)

    def _ended(self, here: Clusters, kind: str) -> tuple[Clusters, float]:
        """Return where EM ends, and the log-likelihood there."""
        last = -np.inf
        for _ in range(STEPS):
            shares, logs = shared_out(here.logs(self.rows))
            value = float(self.weights @ logs)
            if value - last < ENOUGH:
                break
            here, last = self._maximized(here, shares, kind), value
        return here, value

    def _maximized(self, here: Clusters | None, shares: Array, kind: str) -> Clusters:
        """Return the clusters that shares of rows suggest; a cluster's variances lean on all by one row."""
        counted = self.weights[:, None] * shares
        log_share = np.log(np.maximum(counted.sum(axis=0), TINY) / counted.sum())
        if here is None or here.independent:
            return Clusters(log_share, *self._columns(counted))
        count, mean, scatter = parted(self.rows.normal.moments(here.forms, counted))
        within, least = scatter.sum(axis=0), LEAST * np.eye(mean.shape[1])
        alone = np.diag(np.diagonal(within) / count.sum())
        common = (within + alone) / (count.sum() + 1.0) + least
        if kind == "common":
            return Clusters(log_share, mean, np.repeat(common[None], len(count), axis=0))
        return Clusters(log_share, mean, (scatter + common) / (count + 1.0)[:, None, None] + least)

    def _columns(self, counted: Array) -> tuple[Array, Array]:
        """Return means and variances of columns, each in the rows that show it; (clusters, n) each."""
        count, total = counted.T @ self.rows.seen, counted.T @ self.rows.filled
        mean = total / np.maximum(count, TINY)
        scatter = np.maximum(counted.T @ self.rows.filled**2 - mean * total, 0.0)
        common = scatter.sum(axis=0) / np.maximum(count.sum(axis=0), TINY)
        return mean, (scatter + common) / (count + 1.0) + LEAST


def _repeated(whole: Clusters, many: int) -> Clusters:
    """Return so many clusters that are all alike."""
    return Clusters(
        np.full(many, -np.log(many)),
        np.repeat(whole.mean, many, axis=0),
        np.repeat(whole.covariance, many, axis=0),
    )


def _free(clusters: Clusters, kind: str) -> int:
    """Return the number of parameters."""
    many, n = len(clusters), len(clusters.mean[0])
    if kind == "independent":
        return many - 1 + 2 * many * n
    return many - 1 + many * n + (many if kind == "own" else 1) * n * (n + 1) // 2

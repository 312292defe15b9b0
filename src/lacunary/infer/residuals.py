"""What is left of continuous columns within groups of rows: variances, correlations, distances of means.

Groups are configurations of a few discrete columns, and clusters of rows where classes are hidden. All of it
is worked out part by part (`Source.fold`), before there is a graph, and never again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from lacunary.data.fewest import fewest
from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.infer.clusters import Clusters, clustered
from lacunary.infer.scale import Scale

__all__ = ["Grouping", "View"]

Array = NDArray[np.float64]

MOST_COLUMNS, MOST_GROUPS = 3, 1000
"""By how many discrete columns rows are grouped, and into how many groups, at most."""

SAMPLE = 1000
"""Different rows among which clusters are looked for."""

LEAST = 1e-8
"""The least variance of a residual, as a part of its column's: that of a regression's noise."""

SHARP = 8
"""How sharply what rows say gives way as they come to be no more than what is asked of them: a covariance to
a diagonal one as variables are as many, the variance within groups to that of the column as groups are."""


class _Spread(NamedTuple):
    """Weight, mean and variance of every column in every group; (groups, n) each."""

    weight: Array
    mean: Array
    variance: Array


@dataclass(frozen=True, eq=False)
class Grouping:
    """How rows are grouped: by discrete columns, and by clusters of what is left within their groups."""

    columns: tuple[int, ...] = ()
    clusters: Clusters | None = None
    within: _Spread | None = None

    @property
    def many(self) -> int:
        """How many clusters there are."""
        return 1 if self.clusters is None else len(self.clusters)


class View:
    """Standardised continuous columns of a source, and their residuals within groups of rows."""

    def __init__(self, source: Source, scale: Scale, numbers: list[int]) -> None:
        self.source, self.numbers = source, numbers
        self.centre, self.spread = scale.centre[numbers], scale.spread[numbers]
        self.size = float(source.size)

    def grouped(self) -> Grouping:
        """Return the discrete columns that rows are grouped by: while the best of those left pays, by BIC."""
        schema = self.source.schema
        left = [i for i, v in enumerate(schema) if v.discrete and not v.hidden and v.size > 1]
        here = Grouping()
        top = self._worth(here) if left else 0.0
        while left and len(here.columns) < MOST_COLUMNS:
            tried = [replace(here, columns=(*here.columns, i)) for i in left]
            fits = [self.many(each) <= min(MOST_GROUPS, self.size / 2) for each in tried]
            worths = [self._worth(each) if fit else -np.inf for each, fit in zip(tried, fits, strict=True)]
            best = int(np.argmax(worths))
            if worths[best] <= top:
                break
            top, here = worths[best], tried[best]
            left.pop(best)
        return here

    def clustered(self, here: Grouping) -> Grouping:
        """Return the grouping with clusters of what is left within it besides, as many as pay by BIC."""
        rows = fewest(self.source, SAMPLE)
        within = self._spread(here)
        found = clustered(self._left(here, within, rows), rows.weights)
        return here if found is None else replace(here, clusters=found, within=within)

    def _worth(self, grouping: Grouping) -> float:
        """Return the log-likelihood of normals in every group, less log N/2 a parameter: the better of two.

        Independent variables with variances of their own in each group, or one covariance for all.
        """
        spread, n = self._spread(grouping), len(self.numbers)
        weight, charge = spread.weight, 0.5 * float(np.log(max(self.size, 2.0)))
        there = int((weight > 0).sum())
        apart = -0.5 * float((weight * np.log(spread.variance)).sum()) - 2 * charge * there
        share = weight.sum(axis=0)
        pooled = (weight * spread.variance).sum(axis=0) / np.maximum(share, 1e-300)
        _, log_det = np.linalg.slogdet(self._correlation(grouping, spread))
        alike = -0.5 * float(share @ np.log(np.maximum(pooled, LEAST))) - 0.5 * float(share.mean()) * log_det
        alike -= charge * (there + n * (n + 1) / 2)
        return float(max(apart, alike))

    def _spread(self, grouping: Grouping) -> _Spread:
        """Return what each group is like; where rows are few its variances lean on those within all groups.

        They lean by one row, and by less where there are more than five: a tight group stays tight. Where a
        column has hardly more values than groups nothing is left within them, which says nothing of its
        noise: there the column's own variance, one, takes its place.
        """
        weight, first, second = self.source.fold(partial(_sums, self, grouping))
        mean = np.divide(first, weight, out=np.zeros_like(first), where=weight > 0)
        scatter = np.maximum(second - weight * mean**2, 0.0)
        there = np.maximum(weight.sum(axis=0), 1.0)
        alone = np.minimum(1.0, (weight > 0).sum(axis=0) / there) ** SHARP
        pooled = np.maximum((1.0 - alone) * scatter.sum(axis=0) / there + alone, LEAST)
        lent = np.minimum(1.0, 5.0 / np.maximum(weight, 1.0))
        variance = (scatter + lent * pooled) / (weight + lent)
        return _Spread(weight, mean, np.maximum(variance, LEAST))

    def residuals(self, grouping: Grouping) -> tuple[float, Array]:
        """Return how many rows the means are worth, and the covariance of residuals within groups; (n, n).

        Precisions are averaged, not variances: that is what the scale of a Wishart belief about precisions
        is estimated by, and one tight group is not lost among wide ones. Means are worth as little as lets
        those of the groups be as far apart as they are.
        """
        spread = self._spread(grouping)
        share = spread.weight / np.maximum(spread.weight.sum(axis=0), 1e-300)
        deviation = np.sqrt(1.0 / (share / spread.variance).sum(axis=0))
        apart = (share * spread.mean**2 / spread.variance).sum(axis=0)
        correlation = self._correlation(grouping, spread)
        return 1.0 / max(1.0, float(apart.max())), deviation[:, None] * correlation * deviation

    def _correlation(self, grouping: Grouping, spread: _Spread) -> Array:
        """Return the correlation of residuals, positive definite; shrunk where rows are few; (n, n).

        Where there are holes every two columns are compared in the rows that show both. What that leaves of
        negative eigenvalues is taken out. Towards independence it is moved by (n/N)⁸, N being the rows
        beyond those that the groups' means take: not at all where N is twice n, and wholly where it is n.
        """
        n = len(self.numbers)
        cross, own, both = self.source.fold(partial(_products, self, grouping, spread))
        root = np.sqrt(own * own.T)
        found = np.divide(cross, root, out=np.zeros_like(cross), where=root > 0)
        np.fill_diagonal(found, 1.0)
        values, vectors = np.linalg.eigh(found)
        if values[0] < 0:
            found = (vectors * np.maximum(values, 0.0)) @ vectors.T
            size = np.sqrt(np.diagonal(found))
            found = found / np.outer(size, size)
        free = float(both.mean()) - int((spread.weight > 0).any(axis=1).sum())
        part = max(LEAST, min(1.0, (n / free) ** SHARP)) if free > 0 else 1.0
        return np.asarray((1.0 - part) * found + part * np.eye(n))

    def many(self, grouping: Grouping) -> int:
        """Return how many groups there may be; a hole counts as a state of its own."""
        return grouping.many * prod(self.source.schema.sizes[i] + 1 for i in grouping.columns)

    def group(self, grouping: Grouping, table: Table) -> NDArray[np.int64]:
        """Return the group of each row; (rows,)."""
        out = np.zeros(len(table), dtype=np.int64)
        for i in grouping.columns:
            size = table.schema.sizes[i]
            out = out * (size + 1) + np.where(table.codes[:, i] < 0, size, table.codes[:, i])
        if grouping.clusters is None:
            return out
        assert grouping.within is not None
        left = self._left(replace(grouping, clusters=None), grouping.within, table)
        return np.asarray(out * grouping.many + grouping.clusters.owners(left))

    def _left(self, grouping: Grouping, within: _Spread, table: Table) -> Array:
        """Return residuals in units of their group's deviations, NaN where there are holes; (rows, n)."""
        values, there = self.standard(table)
        group = self.group(grouping, table)
        return np.where(there, (values - within.mean[group]) / np.sqrt(within.variance[group]), np.nan)

    def standard(self, table: Table) -> tuple[Array, NDArray[np.bool_]]:
        """Return standardised columns, zero where they are holes, and where they are none; (rows, n) each."""
        values = table.reals[:, self.numbers]
        there = ~np.isnan(values)
        return np.where(there, (values - self.centre) / self.spread, 0.0), there


def _placed(view: View, grouping: Grouping, table: Table) -> csr_matrix:
    """Return the rows' weights by group; (groups, rows)."""
    rows = len(table)
    places = (view.group(grouping, table), np.arange(rows))
    return csr_matrix((table.weights, places), shape=(view.many(grouping), rows))


def _sums(view: View, grouping: Grouping, table: Table) -> Array:
    """Return Σ weight, Σ weight x and Σ weight x² of every column in every group; (3, groups, n)."""
    values, there = view.standard(table)
    place = _placed(view, grouping, table)
    return np.stack([place @ there.astype(np.float64), place @ values, place @ values**2])


def _products(view: View, grouping: Grouping, spread: _Spread, table: Table) -> Array:
    """Return Σ w zᵢ zⱼ, Σ w zᵢ² and Σ w of standardised residuals over rows that show both; (3, n, n)."""
    left = view._left(grouping, spread, table)
    z, there = np.nan_to_num(left), ~np.isnan(left)
    weighed, shown = z * table.weights[:, None], there.astype(np.float64)
    both = (shown * table.weights[:, None]).T @ shown
    return np.stack([weighed.T @ z, (weighed * z).T @ shown, both])

"""Where chains begin: holes drawn together from a normal distribution of all features.

Columns that nearly determine each other move slowly when they are drawn by turns; drawn together first, they
begin where they belong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lacunary.dependency.columns import Column
from lacunary.maths.arrays import Array, Integers

__all__ = ["Joint", "joint"]

ROUNDS = 8
"""Steps of EM for the covariance: a start need not be its last word."""

MOST = 400
"""Rows from which it is learned."""

CELLS = 2_000_000
"""Numbers in a batch of matrices."""


class Joint:
    """Mean zero and a covariance of the features of all columns; the labels' features are taken as normal."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        widths = [c.labels.shape[1] if c.shape is None else 1 for c in columns]
        self.first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        self.covariance = np.eye(int(self.first[-1]))

    def features(self, cells: Array) -> Array:
        """Return one matrix of features, NaN where there is a hole; (rows, features)."""
        out = np.full((len(cells), int(self.first[-1])), np.nan)
        for i, column in enumerate(self.columns):
            seen, part = ~np.isnan(cells[:, i]), slice(self.first[i], self.first[i + 1])
            if column.shape is not None:
                out[seen, part] = cells[seen, i, None]
            else:
                out[seen, part] = column.labels[cells[seen, i].astype(np.int64)]
        return out

    def drawn(self, cells: Array, rng: np.random.Generator) -> Array:
        """Return the cells with all holes drawn, a row's together; labels are those nearest to the draw."""
        features, out = self.features(cells), cells.copy()
        for rows in self._batches(len(cells)):
            mean, spread = self._given(features[rows])
            noise = _root(spread) @ rng.standard_normal((*mean.shape, 1))
            self._put(out, rows, mean + noise[:, :, 0])
        return out

    def learn(self, cells: Array) -> None:
        """Improve the covariance by some steps of EM."""
        features = self.features(cells)[:MOST]
        width = len(self.covariance)
        for _ in range(ROUNDS):
            total = np.eye(width)
            for rows in self._batches(len(features)):
                mean, spread = self._given(features[rows])
                total += mean.T @ mean + spread.sum(axis=0)
            self.covariance = total / (len(features) + 1.0)

    def _batches(self, rows: int) -> list[Integers]:
        step = max(CELLS // max(len(self.covariance) ** 2, 1), 1)
        return [np.arange(i, min(i + step, rows)) for i in range(0, rows, step)]

    def _given(self, features: Array) -> tuple[Array, Array]:
        """Return all features' means given those observed, and their covariances; zero where observed."""
        seen = ~np.isnan(features)
        known = np.where(seen, features, 0.0)
        width = features.shape[1]
        both = seen[:, :, None] & seen[:, None, :]
        inner = np.where(both, self.covariance, 0.0)
        inner[:, np.arange(width), np.arange(width)] += np.where(seen, 1e-6, 1.0)
        across = np.where(seen[:, :, None], self.covariance, 0.0)
        solved = np.linalg.solve(inner, across)
        mean = np.where(seen, features, (known[:, None, :] @ solved)[:, 0])
        left = self.covariance - across.transpose(0, 2, 1) @ solved
        open_ = ~seen[:, :, None] & ~seen[:, None, :]
        return mean, np.where(open_, left, 0.0)

    def _put(self, out: Array, rows: Integers, drawn: Array) -> None:
        """Write what was drawn into the holes."""
        for i, column in enumerate(self.columns):
            empty = np.isnan(out[rows, i])
            if not empty.any():
                continue
            part = drawn[empty, self.first[i] : self.first[i + 1]]
            if column.shape is not None:
                out[rows[empty], i] = part[:, 0]
            else:
                apart = ((part[:, None, :] - column.labels) ** 2).sum(axis=2)
                apart = np.where(column.shares > 0, apart, np.inf) if column.shares.any() else apart
                out[rows[empty], i] = apart.argmin(axis=1)


def joint(columns: Sequence[Column], cells: Array) -> Joint:
    """Return the normal distribution learned from cells with holes."""
    found = Joint(columns)
    found.learn(cells)
    return found


def _root(spread: Array) -> Array:
    """Return matrices whose squares these are; they may be singular."""
    sizes, turned = np.linalg.eigh(spread)
    return np.asarray(turned * np.sqrt(np.maximum(sizes, 0.0))[:, None, :])

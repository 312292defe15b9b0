"""Where numeric families begin a climb: from the rows in which they are fully observed, and spread out.

A hidden discrete parent would leave its states alike, and a climb would never tell them apart: each
configuration of hidden parents takes a row of the table for its example, and its regression is moved so
that it meets that row. All families take the same row for the same configuration, so a class above many
variables begins at a point of the data. Coefficients of hidden continuous parents are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.family.leaf import LeafFamily
from lacunary.infer.belief import Belief
from lacunary.maths import regression

__all__ = ["Seeds"]

LOADING = 0.5
"""Standard deviation of the coefficients of hidden parents, in standardised columns, all together."""

TRIES = 8
"""Draws for each example before two may be alike."""


@dataclass(frozen=True, eq=False)
class _Known:
    """What the fully observed rows say of a family, hidden parents left out.

    Attributes
    ----------
    records
        For each configuration (those of hidden parents alike) intercept, coefficients (zero for hidden
        parents) and variance; (q, m + 2).
    residual
        What each row leaves, NaN where something is a hole; (rows,).
    hidden
        Which configuration of hidden parents each configuration belongs to; (q,).
    drawn
        Which regressors are hidden.
    """

    records: NDArray[np.float64]
    residual: NDArray[np.float64]
    hidden: NDArray[np.int64]
    drawn: NDArray[np.bool_]


class Seeds:
    """Starting parameters for one belief and table, both for standardised columns."""

    def __init__(self, belief: Belief, table: Table) -> None:
        self.dag, self.belief, self.table = belief.dag, belief, table
        families = self.dag.numeric
        self.known = {i: self._known(i) if family.linear else self._leaf(i) for i, family in families}

    def plain(self, theta: NDArray[np.float64]) -> None:
        """Write the parameters of the fully observed rows into a vector."""
        for i, known in self.known.items():
            self.dag.layout.records(theta, i)[:] = known.records

    def draw(self, theta: NDArray[np.float64], rng: np.random.Generator) -> None:
        """Write parameters spread over the data into a vector."""
        examples: dict[tuple[int, ...], NDArray[np.int64]] = {}
        for i, known in self.known.items():
            records = known.records.copy()
            hidden = tuple(p for p in self.dag.layout.members[i][1:] if self.dag.schema.variables[p].hidden)
            if hidden:
                count = int(known.hidden.max()) + 1
                key = tuple(sorted(hidden))
                if key not in examples:
                    examples[key] = self._rows(count, rng)
                moved, family = known.residual[examples[key]], self.dag.families[i]
                if isinstance(family, LeafFamily):
                    records = family.start(records, moved[known.hidden])
                else:
                    noise = rng.standard_normal(count) * np.sqrt(records[:, -1].mean())
                    records[:, 0] += np.where(np.isnan(moved), noise, moved)[known.hidden]
            many = int(known.drawn.sum())
            if many:
                slopes = rng.normal(scale=LOADING / np.sqrt(many), size=(len(records), many))
                records[:, 1:-1][:, known.drawn] = slopes
            self.dag.layout.records(theta, i)[:] = records

    def _rows(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return rows to be examples, all different as long as there are enough.

        They are drawn by weight in an order that depends on their cells alone: rows that count twice are as
        good as rows that are there twice, wherever they stand. Two examples alike would climb side by side.
        """
        order = np.lexsort([*self.table.codes.T, *self.table.reals.T])
        edges = np.cumsum(self.table.weights[order])
        found: dict[int, int] = {}
        for share in rng.random(TRIES * count):
            row = int(order[min(np.searchsorted(edges, share * edges[-1], side="right"), len(order) - 1)])
            found.setdefault(int(self.table.distinct.inverse[row]), row)
            if len(found) == count:
                break
        return np.resize(list(found.values()), count)

    def _leaf(self, i: int) -> _Known:
        """Return what the rows say of a leaf family; an example's ``residual`` is its value."""
        family, hyper, x = self.dag.families[i], self.belief.hyper(i), self.table.reals[:, i]
        assert isinstance(family, LeafFamily)
        seen, unseen, row, there = self._configurations(i)
        there &= ~np.isnan(x)
        statistics = np.zeros((int(seen.max()) + 1, family.statistics))
        family.gather(x[there, None], row[there], self.table.weights[there], statistics)
        first = np.unique(seen, return_index=True)[1]
        return _Known(family.begun(hyper[first] + statistics)[seen], x, unseen, np.zeros(0, dtype=bool))

    def _configurations(
        self, i: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return each configuration's part of observed and of hidden parents, and the same of rows.

        Of rows it is the observed part, and whether it is all there.
        """
        layout, variables, codes = self.dag.layout, self.dag.schema.variables, self.table.codes
        parents = layout.members[i][1:]
        states = np.indices([layout.sizes[p] for p in parents]).reshape(
            len(parents), layout.configurations[i]
        )
        seen, unseen = (np.zeros(layout.configurations[i], dtype=np.int64) for _ in range(2))
        row, there = np.zeros(len(codes), dtype=np.int64), np.ones(len(codes), dtype=bool)
        for p, state in zip(parents, states, strict=True):
            if variables[p].hidden:
                unseen = unseen * layout.sizes[p] + state
            else:
                seen = seen * layout.sizes[p] + state
                row = row * layout.sizes[p] + np.where(codes[:, p] == HOLE, 0, codes[:, p])
                there &= (codes[:, p] != HOLE) | (layout.sizes[p] == 1)
        return seen, unseen, row, there

    def _known(self, i: int) -> _Known:
        layout, reals = self.dag.layout, self.table.reals
        regressors = np.array(layout.regressors[i], dtype=np.int64)
        drawn = np.array([self.dag.schema.variables[p].hidden for p in regressors], dtype=bool)
        seen, unseen, row, there = self._configurations(i)
        keep = np.concatenate([[True], ~drawn, [True]])
        z = np.column_stack([np.ones(len(reals)), reals[:, regressors], reals[:, i]])
        there &= ~np.isnan(z[:, keep]).any(axis=1)
        prior = layout.moments(self.belief.alpha, i)[0][np.ix_(keep, keep)]
        moments = np.repeat(prior[None], int(seen.max()) + 1, axis=0)
        for j in np.unique(row[there]):
            mine = there & (row == j)
            part = z[mine][:, keep]
            moments[j] += (part * self.table.weights[mine, None]).T @ part
        divisor = self.belief.dof(i)[0] - prior[0, 0] - drawn.sum() + moments[:, 0, 0]
        best = regression.peak(moments, np.maximum(divisor, keep.sum() - 0.5))
        full = np.zeros((len(best), len(keep)))
        full[:, keep] = best
        residual = z[:, -1] - (np.where(keep[:-1], z[:, :-1], 0.0) * full[row, :-1]).sum(axis=1)
        return _Known(full[seen], np.where(there, residual, np.nan), unseen, drawn)

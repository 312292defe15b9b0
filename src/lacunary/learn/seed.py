"""Where numeric families begin a climb: from the rows in which they are fully observed, and spread out.

A hidden discrete parent would leave its states alike, and a climb would never tell them apart: each
configuration of hidden parents takes a row of the table for its example, and its regression is moved so
that it meets that row. All families take the same row for the same configuration, so a class above many
variables begins at a point of the data. Coefficients of hidden continuous parents are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunary.data.source import Source, distinct_rows, merged_rows
from lacunary.data.table import HOLE, Table
from lacunary.family.leaf import LeafFamily
from lacunary.infer.belief import Belief
from lacunary.maths import regression
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.model.dag import Dag

__all__ = ["Seeds"]


LOADING = 0.5
"""Standard deviation of the coefficients of hidden parents, in standardised columns, all together."""

TRIES = 8
"""Draws for each example before two may be alike."""


@dataclass(frozen=True, eq=False)
class _Family:
    """A regression as rows that show it whole tell of it, hidden parents left out.

    Attributes
    ----------
    dag, i
        The graph, and the continuous variable.
    seen, hidden
        Which configuration of the observed parents, and of the hidden ones, each configuration has; (q,).
    drawn
        Which regressors are hidden.
    """

    dag: Dag
    i: int
    seen: Integers
    hidden: Integers
    drawn: Booleans

    @classmethod
    def of(cls, dag: Dag, i: int) -> _Family:
        layout, variables = dag.layout, dag.schema.variables
        parents, q = layout.members[i][1:], layout.configurations[i]
        states = np.indices([layout.sizes[p] for p in parents]).reshape(len(parents), q)
        seen, unseen = np.zeros(q, dtype=np.int64), np.zeros(q, dtype=np.int64)
        for p, state in zip(parents, states, strict=True):
            if variables[p].hidden:
                unseen = unseen * layout.sizes[p] + state
            else:
                seen = seen * layout.sizes[p] + state
        drawn = np.array([variables[p].hidden for p in layout.regressors[i]], dtype=bool)
        return cls(dag, i, seen, unseen, drawn)

    @property
    def keep(self) -> Booleans:
        """Which of z = (1, regressors, child) are not hidden; (m + 2,)."""
        return np.concatenate([[True], ~self.drawn, [True]])

    def shown(self, table: Table) -> tuple[Booleans, Integers, Array]:
        """Return which rows show the family whole, the configuration of their observed parents, and z."""
        layout, variables = self.dag.layout, self.dag.schema.variables
        row, there = np.zeros(len(table), dtype=np.int64), np.ones(len(table), dtype=bool)
        for p in layout.members[self.i][1:]:
            if not variables[p].hidden:
                codes = table.codes[:, p]
                row = row * layout.sizes[p] + np.where(codes == HOLE, 0, codes)
                there &= (codes != HOLE) | (layout.sizes[p] == 1)
        columns = [*layout.regressors[self.i], self.i]
        z = np.column_stack([np.ones(len(table)), table.reals[:, columns]])
        return there & ~np.isnan(z[:, self.keep]).any(axis=1), row, z

    def moments(self, table: Table) -> Array:
        """Return statistics of the rows that show the family whole, by configuration; (q, k, k) of Σ z zᵀ."""
        there, row, z = self.shown(table)
        keep, family = self.keep, self.dag.number(self.i)
        if not family.linear:
            out = np.zeros((int(self.seen.max()) + 1, family.statistics))
            family.gather(z[there, 1:], row[there], table.weights[there], out)
            return out
        out = np.zeros((int(self.seen.max()) + 1, int(keep.sum()), int(keep.sum())))
        for j in np.unique(row[there]):
            mine = there & (row == j)
            part = z[mine][:, keep]
            out[j] = (part * table.weights[mine, None]).T @ part
        return out

    def best(self, belief: Belief, moments: Array) -> Array:
        """Return intercept, coefficients (zero for hidden parents) and variance; (observed q, m + 2)."""
        keep, family = self.keep, self.dag.families[self.i]
        if isinstance(family, LeafFamily):
            return family.begun(belief.hyper(self.i)[0] + moments)
        prior = self.dag.layout.moments(belief.alpha, self.i)[0][np.ix_(keep, keep)]
        total = prior + moments
        divisor = belief.dof(self.i)[0] - prior[0, 0] - self.drawn.sum() + total[:, 0, 0]
        full = np.zeros((len(total), len(keep)))
        full[:, keep] = regression.peak(total, np.maximum(divisor, keep.sum() - 0.5))
        return full

    def residuals(self, table: Table, best: Array) -> Array:
        """Return what each row leaves, of a leaf its value; NaN where something is a hole; (rows,)."""
        there, row, z = self.shown(table)
        if self.dag.families[self.i].leaf:
            return z[:, -1]
        residual = z[:, -1] - (np.where(self.keep[:-1], z[:, :-1], 0.0) * best[row, :-1]).sum(axis=1)
        return np.where(there, residual, np.nan)


class Seeds:
    """Starting parameters for one belief and source, both for standardised columns."""

    def __init__(self, belief: Belief, source: Source) -> None:
        self.dag, self.belief, self.source = belief.dag, belief, source
        self.families = {i: _Family.of(self.dag, i) for i in self.dag.layout.numeric}
        self.best = {i: f.best(belief, source.fold(f.moments)) for i, f in self.families.items()}

    def plain(self, theta: Array) -> None:
        """Write what is best for the fully observed rows into a vector of parameters."""
        for i, family in self.families.items():
            self.dag.layout.records(theta, i)[:] = self.best[i][family.seen]

    def draw(self, theta: Array, rng: np.random.Generator) -> None:
        """Write parameters spread over the data into a vector of parameters."""
        examples: dict[tuple[int, ...], Table] = {}
        for i, family in self.families.items():
            records = self.best[i][family.seen]
            hidden = tuple(p for p in self.dag.layout.members[i][1:] if self.dag.schema.variables[p].hidden)
            if hidden:
                count = int(family.hidden.max()) + 1
                key = tuple(sorted(hidden))
                if key not in examples:
                    examples[key] = self._examples(count, rng)
                moved, own = family.residuals(examples[key], self.best[i]), self.dag.families[i]
                if isinstance(own, LeafFamily):
                    records = own.start(records, moved[family.hidden])
                else:
                    noise = rng.standard_normal(count) * np.sqrt(records[:, -1].mean())
                    records[:, 0] += np.where(np.isnan(moved), noise, moved)[family.hidden]
            many = int(family.drawn.sum())
            if many:
                slopes = rng.normal(scale=LOADING / np.sqrt(many), size=(len(records), many))
                records[:, 1:-1][:, family.drawn] = slopes
            self.dag.layout.records(theta, i)[:] = records

    @cached_property
    def _distinct(self) -> Table:
        """The different rows, in an order that depends on their cells alone."""
        return self.source.fold(distinct_rows, merged_rows)

    def _examples(self, count: int, rng: np.random.Generator) -> Table:
        """Return rows to be examples, all different as long as there are enough.

        They are drawn by weight in an order that depends on their cells alone: rows that count twice are as
        good as rows that are there twice, wherever they stand. Two examples alike would climb side by side.
        """
        edges = np.cumsum(self._distinct.weights)
        found: dict[int, None] = {}
        for share in rng.random(TRIES * count):
            row = min(int(np.searchsorted(edges, share * edges[-1], side="right")), len(edges) - 1)
            found.setdefault(row)
            if len(found) == count:
                break
        return self._distinct.take(np.resize(list(found), count))

"""Rows of numbers whose holes a chain draws again and again: all that stays the same is worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunary.data.table import HOLE
from lacunary.infer.gaussian import GaussianRows
from lacunary.infer.given import careful
from lacunary.infer.spread import forms_of
from lacunary.maths.arrays import Array
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.model.dag import Dag
from lacunary.structure.gaussian import BGe

__all__ = ["CompleteNumbers", "Numbers"]


class Numbers:
    """Rows of continuous variables that all have regressions, each row counted once.

    Parameters
    ----------
    reals
        The values in standardised columns, NaN where there is a hole; (rows, n).
    about
        What is believed of these columns beforehand.
    """

    def __init__(self, reals: Array, about: NormalWishart) -> None:
        self.rows, self.about = GaussianRows(reals), about
        self._open = np.flatnonzero(np.diff(self.rows.known.first)[self.rows.known.pattern])

    def drawn(self, dag: Dag, theta: Array, rng: np.random.Generator) -> CompleteNumbers:
        """Return the rows with their holes drawn from a network."""
        [root] = forms_of(dag, theta, np.full((1, len(dag.schema)), HOLE)).root
        full = self.rows.sorted.copy()
        for some, which, z, held in careful(self.rows.known, root, self._open):
            holes = held.holes[which]
            noise = rng.standard_normal(holes.shape)
            z[np.arange(len(z))[:, None], holes] += np.einsum("rij,rj->ri", held.spread[which], noise)
            full[some] = z
        return CompleteNumbers(full.T @ full, self.about)


@dataclass(frozen=True, eq=False)
class CompleteNumbers:
    """Rows without holes: Σ z zᵀ of z = (1, x), which is all that is asked of them; (n + 1, n + 1)."""

    moment: Array
    about: NormalWishart

    def score(self) -> BGe:
        """Return the log evidence of families."""
        return self._score

    @cached_property
    def _score(self) -> BGe:
        return BGe(self.moment, self.about)

    def statistics(self, dag: Dag) -> Array:
        """Return the statistics of a graph's families, in the places of its layout."""
        layout, out = dag.layout, np.zeros(dag.layout.statistics_size)
        for i in range(len(dag.schema)):
            columns = np.array([0, *(p + 1 for p in layout.regressors[i]), i + 1])
            layout.moments(out, i)[0] += self.moment[np.ix_(columns, columns)]
        return out

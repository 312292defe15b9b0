"""Scores of families on expected counts: the criterion by which structural EM searches.

With D′ the imaginary complete data whose counts are the expected ones under the present network, the score of
any graph m is log p(D′ | m), a sum over families (TMCH98 eq. 12–13). The expected counts of a family, in the
present graph or not, are read off the rows' islands (`lacunary.infer.islands`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

import numpy as np

from lacunary.errors import ParameterError
from lacunary.evidence.charge import price
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.infer.islands import Islands, IslandSum
from lacunary.kernels.count import bd_terms, log_likelihood_terms
from lacunary.maths.arrays import Array, Integers
from lacunary.structure.discrete import ALONE, table_evidence
from lacunary.structure.score import Parents, allowed_arcs, toggle

__all__ = ["ExpectedCounts"]


CELLS = 2**25
"""Expected counts that are held at a time (256 MiB): a family for which they are more is not scored."""

PARALLEL = 2**17
"""Cells of a table from which on families are counted on several threads, each about a millisecond."""


class ExpectedCounts:
    """A score of families on what a network expects the rows to hold.

    Counts need not be whole: the closed form of the evidence holds with log Γ of any number.

    Parameters
    ----------
    islands
        What the present network says about the rows' holes.
    criterion
        "bd": the log evidence of D′ under ``prior``; "bic": its maximum log-likelihood less (log N)/2
        for every free parameter.
    prior
        A prior of tables, by default ``bdeu(1)``.
    """

    def __init__(
        self, islands: Islands | IslandSum, criterion: Literal["bd", "bic"] = "bd", prior: Prior | None = None
    ) -> None:
        if criterion not in ("bd", "bic"):
            raise ParameterError(f"the criterion is 'bd' or 'bic', not {criterion!r}")
        self.islands, self.criterion = islands, criterion
        self.prior = BDeu(1.0) if prior is None else prior
        self.schema, self.size = islands.schema, islands.size
        self.allowed = allowed_arcs(self.schema)
        #: Whether a family is so much work that several are worth a thread each.
        self.parallel = isinstance(islands, Islands) and len(self.schema) * islands.distinct >= PARALLEL
        self._first = np.concatenate([[0], np.cumsum(self.schema.sizes)]).astype(np.int64)

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return len(self.schema)

    def counts(self, child: int, parents: Parents) -> Array:
        """Return E[N_jk] of a family: parents first, in the order given, the child last."""
        return self.islands.counts((*parents, child))

    def announce(self, families: Sequence[tuple[int, Parents]], toggled: bool) -> None:
        """Tell the islands which families will be asked for, where they lie in many places."""
        if isinstance(self.islands, IslandSum):
            most = CELLS // (int(self._first[-1]) + 1 if toggled else 1)
            some = [(*parents, child) for child, parents in families if self._cells(child, parents) <= most]
            self.islands.announce(some, toggled)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if self._cells(child, parents) > CELLS:
            return -np.inf
        return self._one(child, parents, self.counts(child, parents))

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        return self.terms(child, parents)[:-1]

    def terms(self, child: int, parents: Parents) -> Array:
        """Return the toggled terms and, last, the term as it is, to the same bits as `family`; (n + 1,)."""
        out = np.zeros(self.variables + 1)
        if self._cells(child, parents) * (self._first[-1] + 1) > CELLS:
            out[:-1], out[-1] = self._removed(child, parents), self.family(child, parents)
            return out
        if self.criterion == "bd" and not isinstance(self.prior, BDeu | Dirichlet):
            others = np.flatnonzero(self.allowed[:, child])
            out[:-1], out[-1] = -np.inf, self.family(child, parents)
            out[others] = [self.family(child, toggle(parents, int(other))) for other in others]
            return out
        wide = self.islands.counts_with_others((*parents, child))
        self._terms(child, parents, wide, self._first, out[:-1])
        alone = wide[:, -1].reshape([self.schema.sizes[v] for v in (*parents, child)])
        for position, parent in enumerate(parents):
            rest = parents[:position] + parents[position + 1 :]
            out[parent] = self._one(child, rest, alone.sum(axis=position))
        out[:-1][~self.allowed[:, child]] = -np.inf
        out[-1] = self._one(child, parents, alone)
        return out

    def _removed(self, child: int, parents: Parents) -> Array:
        """Return the terms with each parent taken out; with one more the family is too large."""
        out = np.full(self.variables, -np.inf)
        for parent in parents:
            out[parent] = self.family(child, toggle(parents, parent))
        return out

    def _cells(self, child: int, parents: Parents) -> int:
        return prod(self.schema.sizes[v] for v in (*parents, child))

    def _one(self, child: int, parents: Parents, counts: Array) -> float:
        if self.criterion == "bd" and not isinstance(self.prior, BDeu | Dirichlet):
            return table_evidence(self.prior, self.schema, child, parents, counts)
        out = np.zeros(1)
        self._terms(child, parents, np.ascontiguousarray(counts.reshape(-1, 1)), ALONE, out)
        return float(out[0])

    def _terms(self, child: int, parents: Parents, counts: Array, first: Integers, out: Array) -> None:
        """Write the child's term with each variable whose columns begin at ``first`` beside its parents."""
        states = self.schema.sizes[child]
        configurations = self._cells(child, parents) // states * np.diff(first).astype(np.float64)
        if self.criterion == "bic":
            log_likelihood_terms(counts, states, first, out)
            out -= price(self.size) * (states - 1) * configurations
        else:
            bd_terms(counts, states, first, self._alpha(states * configurations), out)

    def _alpha(self, cells: Array) -> Array:
        """Return α_ijk of tables with so many cells."""
        if isinstance(self.prior, BDeu):
            return self.prior.ess / cells
        assert isinstance(self.prior, Dirichlet)
        return np.full(cells.shape, float(self.prior.alpha))

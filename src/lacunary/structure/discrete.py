"""Scores of discrete families on a table without holes: BD with any prior, and BIC.

Counts are taken once for a child, its parents and every further parent (`Counter`), and scored in one go.
"""

from __future__ import annotations

from math import log, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lacunary.data.table import Table
from lacunary.errors import SchemaError, TableError
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.kernels.count import bd_terms, log_likelihood_terms
from lacunary.model.dag import Dag
from lacunary.structure.counter import Counter, Heights
from lacunary.structure.score import Parents, allowed_arcs, toggle

__all__ = ["BD", "BIC", "check_complete"]


class _Discrete:
    """What both scores do: count, leave out each parent in turn, put in each other variable."""

    def __init__(self, table: Table) -> None:
        check_complete(table)
        self.schema = table.schema
        self.size = table.size
        self.allowed = allowed_arcs(table.schema)
        self.counter = Counter(table)

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return len(self.schema)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        heights = self.counter.heights(child, parents)
        return self._one(child, parents, self.counter.alone(heights))

    def toggled(self, child: int, parents: Parents) -> NDArray[np.float64]:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        heights = self.counter.heights(child, parents)
        out = self._added(child, parents, heights)
        for position, parent in enumerate(parents):
            out[parent] = self._without(child, parents, position, heights)
        out[~self.allowed[:, child]] = -np.inf
        return out

    def _without(self, child: int, parents: Parents, position: int, heights: Heights) -> float:
        rest = parents[:position] + parents[position + 1 :]
        if not heights.dense:
            return self.family(child, rest)
        shape = (*(self.schema.sizes[p] for p in parents), self.schema.sizes[child])
        counts = self.counter.alone(heights).reshape(shape).sum(axis=position)
        return self._one(child, rest, counts.reshape(-1))

    def _added(self, child: int, parents: Parents, heights: Heights) -> NDArray[np.float64]:
        raise NotImplementedError

    def _one(self, child: int, parents: Parents, counts: NDArray[np.float64]) -> float:
        raise NotImplementedError

    def _configurations(self, parents: Parents) -> float:
        return float(prod(self.schema.sizes[p] for p in parents))


class BIC(_Discrete):
    """Maximum log-likelihood less (log N)/2 for every free parameter; higher is better."""

    def _added(self, child: int, parents: Parents, heights: Heights) -> NDArray[np.float64]:
        out = np.zeros(self.variables)
        for block, counts in self.counter.beside(heights):
            log_likelihood_terms(counts, heights.states, block.first, out[block.variables])
        q = self._configurations(parents) * np.array(self.schema.sizes)
        return np.asarray(out - self._charge(child) * q)

    def _one(self, child: int, parents: Parents, counts: NDArray[np.float64]) -> float:
        out = np.zeros(1)
        log_likelihood_terms(counts[:, None], self.schema.sizes[child], _ALONE, out)
        return float(out[0] - self._charge(child) * self._configurations(parents))

    def _charge(self, child: int) -> float:
        """What one more configuration of the parents costs."""
        return 0.5 * log(max(self.size, 1.0)) * (self.schema.sizes[child] - 1)


class BD(_Discrete):
    """The log evidence of complete data under a Dirichlet prior (CH96 eq. 5), family by family.

    Sums the closed form of `lacunary.evidence.exact` over configurations that occur; all others add zero.
    `BDeu` and `Dirichlet` have one α in a family, and are counted and scored for all further parents
    at once; any other rule is asked for its α, a family at a time.
    """

    def __init__(self, table: Table, prior: Prior | None = None) -> None:
        super().__init__(table)
        self.prior = BDeu(1.0) if prior is None else prior

    def toggled(self, child: int, parents: Parents) -> NDArray[np.float64]:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        if isinstance(self.prior, BDeu | Dirichlet):
            return super().toggled(child, parents)
        out = np.full(self.variables, -np.inf)
        for other in np.flatnonzero(self.allowed[:, child]):
            out[other] = self.family(child, toggle(parents, int(other)))
        return out

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if isinstance(self.prior, BDeu | Dirichlet):
            return super().family(child, parents)
        return self._any(child, parents)

    def _alpha(self, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return α_ijk of tables with so many cells."""
        if isinstance(self.prior, BDeu):
            return self.prior.ess / cells
        assert isinstance(self.prior, Dirichlet)
        return np.full(cells.shape, float(self.prior.alpha))

    def _added(self, child: int, parents: Parents, heights: Heights) -> NDArray[np.float64]:
        out = np.zeros(self.variables)
        sizes = np.array(self.schema.sizes, dtype=np.float64)
        alpha = self._alpha(sizes * self._configurations(parents) * self.schema.sizes[child])
        for block, counts in self.counter.beside(heights):
            bd_terms(counts, heights.states, block.first, alpha[block.variables], out[block.variables])
        return out

    def _one(self, child: int, parents: Parents, counts: NDArray[np.float64]) -> float:
        cells = np.array([self._configurations(parents) * self.schema.sizes[child]])
        out = np.zeros(1)
        bd_terms(counts[:, None], self.schema.sizes[child], _ALONE, self._alpha(cells), out)
        return float(out[0])

    def _any(self, child: int, parents: Parents) -> float:
        """Return the child's term under a rule whose α differ within a table."""
        names, states = self.schema.names, self.schema.sizes[child]
        dag = Dag.from_parents(self.schema, {names[child]: tuple(names[p] for p in parents)})
        alpha = self.prior(dag).alpha[dag.layout.slice(child)].reshape(states, -1).T
        heights = self.counter.heights(child, parents, dense=True)
        counts = self.counter.alone(heights).reshape(alpha.shape)
        cells = gammaln(alpha + counts) - gammaln(alpha)
        whole = gammaln(alpha.sum(axis=1)) - gammaln((alpha + counts).sum(axis=1))
        return float(cells.sum() + whole.sum())


_ALONE = np.array([0, 1], dtype=np.int64)


def check_complete(table: Table) -> None:
    """Refuse a table whose families cannot be counted as it stands; no row is ever left out."""
    for position, variable in enumerate(table.schema):
        if not variable.discrete:
            raise SchemaError(
                f"{variable.name} is continuous, and this score is for discrete variables; "
                "leave the score out to have it chosen by the variables' kinds"
            )
        holes = int(table.holes[:, position].sum())
        if holes:
            raise TableError(
                f"{variable.name} has {holes} missing values, so its families cannot be counted; no row "
                "is left out: search with structural EM, schedule='((EM)^10 Ec S* M)*'"
            )

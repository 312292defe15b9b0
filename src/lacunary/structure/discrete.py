"""Scores of discrete families on a table without holes: BD with any prior, and BIC.

Counts are taken once for a child, its parents and every further parent (`Counter`), and scored in one go.
"""

from __future__ import annotations

from math import log, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.kernels.count import add_columns, add_digits, bd_terms, log_likelihood_terms
from lacunary.model.dag import Dag
from lacunary.structure.counter import Block, Counter
from lacunary.structure.score import Parents, allowed_arcs, toggle

__all__ = ["BD", "BIC", "check_complete"]

Array = NDArray[np.float64]

MOST = 1e9
"""Pseudo-counts beyond which differences of log Γ's lose what a nat's thousandth part needs."""

ALONE = Block(slice(0, 1), np.ones(1), np.array([0, 1], dtype=np.int64))
"""One column: no variable beside the parents."""


class _Discrete:
    """What both scores do: count, leave out each parent in turn, put in each other variable."""

    def __init__(self, table: Table) -> None:
        check_complete(table)
        self.schema = table.schema
        self.size = table.size
        self.allowed = allowed_arcs(table.schema)
        self.counter = Counter(table)
        self._never = [np.flatnonzero(~column) for column in self.allowed.T]

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return len(self.schema)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        heights = self.counter.heights(child, parents)
        return self._one(child, parents, self.counter.alone(heights))

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        return self.terms(child, parents)[:-1]

    def terms(self, child: int, parents: Parents) -> Array:
        """Return the toggled terms and, last, the term as it is; (n + 1,)."""
        heights = self.counter.heights(child, parents)
        out, alone = np.zeros(self.variables + 1), np.empty(0)
        for block, counts in self.counter.beside(heights):
            alone = np.empty(heights.height)
            add_columns(counts, block.split, alone)  # over the states of any one variable
            self._score(child, parents, block, counts, out[block.variables])
        for position, parent in enumerate(parents):
            out[parent] = self._without(child, parents, position, alone, heights.dense)
        out[:-1][self._never[child]] = -np.inf
        out[-1] = self._one(child, parents, alone)
        return out

    def _without(self, child: int, parents: Parents, position: int, counts: Array, dense: bool) -> float:
        """Return the child's term without one of its parents, from the counts with it."""
        rest = parents[:position] + parents[position + 1 :]
        if not dense:
            return self.family(child, rest)
        sizes = self.schema.sizes
        before, size = prod(sizes[p] for p in parents[:position]), sizes[parents[position]]
        after = len(counts) // (before * size)
        fewer = np.empty(before * after)
        add_digits(counts, size, after, fewer)
        return self._one(child, rest, fewer)

    def _one(self, child: int, parents: Parents, counts: Array) -> float:
        """Return the child's term from the counts of its family alone."""
        out = np.zeros(1)
        self._score(child, parents, ALONE, counts[:, None], out)
        return float(out[0])

    def _score(
        self,
        child: int,
        parents: Parents,
        block: Block,
        counts: Array,
        out: Array,
    ) -> None:
        """Write the child's term with each variable of a block beside its parents; (variables,)."""
        raise NotImplementedError

    def _configurations(self, parents: Parents) -> float:
        return float(prod(self.schema.sizes[p] for p in parents))


class BIC(_Discrete):
    """Maximum log-likelihood less (log N)/2 for every free parameter; higher is better."""

    def _score(
        self,
        child: int,
        parents: Parents,
        block: Block,
        counts: Array,
        out: Array,
    ) -> None:
        log_likelihood_terms(counts, self.schema.sizes[child], block.first, out)
        out -= self._charge(child) * self._configurations(parents) * block.sizes

    def _charge(self, child: int) -> float:
        """Return what one more configuration of the parents costs."""
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
        worth = {BDeu: "ess", Dirichlet: "alpha"}.get(type(self.prior))
        if worth and getattr(self.prior, worth) > MOST:
            raise ParameterError(
                f"a prior with {worth} = {getattr(self.prior, worth):g} leaves no digits for what the table "
                f"says of graphs; take one of at most {MOST:g}"
            )

    def terms(self, child: int, parents: Parents) -> Array:
        """Return the toggled terms and, last, the term as it is; (n + 1,)."""
        if isinstance(self.prior, BDeu | Dirichlet):
            return super().terms(child, parents)
        out = np.full(self.variables + 1, -np.inf)
        for other in np.flatnonzero(self.allowed[:, child]):
            out[other] = self._any(child, toggle(parents, int(other)))
        out[-1] = self._any(child, parents)
        return out

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if isinstance(self.prior, BDeu | Dirichlet):
            return super().family(child, parents)
        return self._any(child, parents)

    def _alpha(self, cells: float, block: Block) -> Array:
        """Return α_ijk with each variable of a block beside a family of so many cells; (variables,)."""
        if isinstance(self.prior, BDeu):
            return np.asarray((self.prior.ess / cells) / block.sizes)
        assert isinstance(self.prior, Dirichlet)
        return np.full(block.sizes.shape, float(self.prior.alpha))

    def _score(
        self,
        child: int,
        parents: Parents,
        block: Block,
        counts: Array,
        out: Array,
    ) -> None:
        states = self.schema.sizes[child]
        alpha = self._alpha(states * self._configurations(parents), block)
        bd_terms(counts, states, block.first, alpha, out)

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

"""Scores of discrete families on a table without holes: BD with any prior, and BIC.

Counts are taken once for a child, its parents and every further parent (`Counter`), and scored in one go.
"""

from __future__ import annotations

from math import prod
from threading import get_ident

import numpy as np

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError
from lacunary.evidence.charge import price
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.kernels.families import BDEU, DIRICHLET, LIKELIHOOD, family_terms
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.special import log_rising
from lacunary.model.dag import Dag
from lacunary.structure.counter import ADDED, Counter, Heights
from lacunary.structure.score import Parents, allowed_arcs, check_observed, toggle

__all__ = ["BD", "BIC", "check_complete", "check_digits", "table_evidence"]


MOST = 1e15
"""Pseudo-counts beyond which a row more is no other number."""

ALONE = np.array([0, 1], dtype=np.int64)
"""One column: no variable beside the parents."""

NO_ROOM = np.empty((2, 0, 1))
"""Terms without each parent are not asked for."""

SLOTS, REMEMBERED = 127, 2047
"""Sizes of tables for which, and counts up to which, a score remembers what it worked out: 4 MiB at most."""


class _Discrete:
    """What both scores do: count, leave out each parent in turn, put in each other variable.

    ``law`` says what a count adds to the score (`lacunary.kernels.families`).
    """

    law: Array

    def __init__(self, table: Table) -> None:
        check_complete(table)
        self.schema = table.schema
        self.size = table.size
        self.allowed = allowed_arcs(table.schema)
        self.counter = Counter(table)
        self._sizes = np.array(self.schema.sizes, dtype=np.int64)
        self._children = np.arange(self.variables, dtype=np.int64)[:, None]
        self._never = np.ascontiguousarray(~self.allowed.T)
        self._most = min(int(self.size), REMEMBERED) + 1 if np.all(table.weights == 1.0) else 0
        self._memory: dict[int, tuple[Array, Array, Integers]] = {}

    @property
    def seconds(self) -> float:
        """About how long a family takes; several threads may ask at once."""
        return ADDED * self.counter.columns.size

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
        if heights.dense and self.counter.fits(heights):
            out = self._dense(heights)
        else:
            out = np.zeros(self.variables + 1)
            for block, counts in self.counter.beside(heights):
                self._score(child, parents, block.first, counts, out[block.variables])
            for parent in parents:
                out[parent] = self.family(child, toggle(parents, parent))
            out[-1] = self.family(child, parents)
        out[:-1][self._never[child]] = -np.inf
        return out

    def _dense(self, heights: Heights) -> Array:
        """Return the toggled terms and the term as it is where all counts are held at once, in one call."""
        counter, out = self.counter, np.empty(self.variables + 1)
        counts, room = counter.beside_all(heights), np.empty((2, heights.height, 1))
        members, many = np.array(heights.members, dtype=np.int64), float(heights.configurations)
        self._put(members, many, counter.first, counts, room, out)
        return out

    def _one(self, child: int, parents: Parents, counts: Array) -> float:
        """Return the child's term from the counts of its family alone."""
        out = np.zeros(1)
        self._score(child, parents, ALONE, counts.reshape(-1, 1), out)
        return float(out[0])

    def _score(self, child: int, parents: Parents, first: Integers, counts: Array, out: Array) -> None:
        """Write the child's term with each variable whose columns begin at ``first`` beside its parents."""
        sizes = self.schema.sizes
        many = float(prod([sizes[p] for p in parents]))
        self._put(self._children[child], many, first, counts, NO_ROOM, out)

    def _put(
        self, members: Integers, many: float, first: Integers, counts: Array, room: Array, out: Array
    ) -> None:
        """Write the terms of a family; see `family_terms`. Each thread has a memory of its own."""
        if (thread := get_ident()) not in self._memory:
            values, slots = (
                np.empty((2, SLOTS, self._most + 1)),
                np.empty((2, self.variables), dtype=np.int64),
            )
            self._memory[thread] = np.zeros((2, SLOTS)), values, slots
        memory = self._memory[thread]
        family_terms(counts, members, self._sizes, many, first, ALONE, self.law, *memory, room, out)


class BIC(_Discrete):
    """Maximum log-likelihood less (log N)/2 for every free parameter; higher is better."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.law = np.array([LIKELIHOOD, 0.0, price(self.size)])


class BD(_Discrete):
    """The log evidence of complete data under a Dirichlet prior (CH96 eq. 5), family by family.

    Sums the closed form of `lacunary.evidence.exact` over configurations that occur; all others add zero.
    `BDeu` and `Dirichlet` have one α in a family, and are counted and scored for all further parents
    at once; any other prior is asked for its α, a family at a time.
    """

    def __init__(self, table: Table, prior: Prior | None = None) -> None:
        super().__init__(table)
        self.prior = BDeu(1.0) if prior is None else prior
        check_digits(self.prior)
        self._alike = isinstance(self.prior, BDeu | Dirichlet)
        if isinstance(self.prior, BDeu):
            self.law = np.array([BDEU, float(self.prior.ess), 0.0])
        elif isinstance(self.prior, Dirichlet):
            self.law = np.array([DIRICHLET, float(self.prior.alpha), 0.0])

    def terms(self, child: int, parents: Parents) -> Array:
        """Return the toggled terms and, last, the term as it is; (n + 1,)."""
        if self._alike:
            return super().terms(child, parents)
        out = np.full(self.variables + 1, -np.inf)
        for other in np.flatnonzero(self.allowed[:, child]):
            out[other] = self._any(child, toggle(parents, int(other)))
        out[-1] = self._any(child, parents)
        return out

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if self._alike:
            return super().family(child, parents)
        return self._any(child, parents)

    def _any(self, child: int, parents: Parents) -> float:
        """Return the child's term under a prior whose α differ within a table."""
        heights = self.counter.heights(child, parents, dense=True)
        return table_evidence(self.prior, self.schema, child, parents, self.counter.alone(heights))


def table_evidence(prior: Prior, schema: Schema, child: int, parents: Parents, counts: Array) -> float:
    """Return the log evidence of one table's counts, parents first and the child last, under any prior."""
    names = schema.names
    dag = Dag.from_parents(schema, {names[child]: tuple(names[p] for p in parents)})
    alpha = dag.layout.table(prior(dag).alpha, child)
    added = counts.reshape(alpha.shape)
    whole = log_rising(alpha.sum(axis=-1), added.sum(axis=-1))
    return float(log_rising(alpha, added).sum() - whole.sum())


def check_digits(prior: object) -> None:
    """Refuse a prior that leaves no digits for what the rows say."""
    for kind, name in ((BDeu, "ess"), (Dirichlet, "alpha")):
        if isinstance(prior, kind) and getattr(prior, name) > MOST:
            raise ParameterError(
                f"a prior with {name} = {getattr(prior, name):g} leaves no digits for what the table says of "
                f"graphs; take one of at most {MOST:g}"
            )


def check_complete(table: Table) -> None:
    """Refuse a table whose families cannot be counted as it stands; no row is ever left out."""
    for variable in table.schema:
        if not variable.discrete:
            raise SchemaError(
                f"{variable.name} is continuous, and this score is for discrete variables; "
                "leave the score out to have it chosen by the variables' kinds"
            )
    check_observed(table.schema.names, table.holes)

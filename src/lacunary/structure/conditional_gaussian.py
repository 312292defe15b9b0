"""Scores of networks with discrete and continuous variables: conditional Gaussian evidence, and BIC.

A continuous child has a regression on its continuous parents for each configuration of its discrete ones; a
discrete child has discrete parents only.
"""

from __future__ import annotations

from collections import OrderedDict
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer import prior as priors
from lacunary.infer.belief import Prior
from lacunary.infer.squares import Squares
from lacunary.maths.arrays import Array
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.conditional_gaussian_moments import Cases, Statistics, Triples
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.gaussian import (
    MarginalRegressions,
    Normal,
    PenalizedRegressions,
    Regressions,
    check_moments,
    standardise,
)
from lacunary.structure.score import FamilyScore, Parents, allowed_arcs, toggle

__all__ = ["ConditionalGaussian", "ConditionalGaussianBIC"]

Stack = tuple[Array, Array]

ROOM = 2**25
"""Numbers that are kept in all, for families that have the same discrete parents."""


class _Conditional:
    """What both scores do: send discrete children one way, continuous ones the other."""

    def __init__(
        self,
        schema: Schema,
        discrete: FamilyScore | None,
        statistics: Statistics,
        regressions: Regressions,
        jacobian: ArrayLike,
    ) -> None:
        self.variables = len(schema)
        self.allowed = allowed_arcs(schema)
        kinds = np.array([variable.discrete for variable in schema], dtype=bool)
        self._discrete, self._statistics, self._regressions = discrete, statistics, regressions
        self._kinds, self._sizes = kinds, schema.sizes
        # Where a variable stands among those of its kind, and back.
        self._place = np.where(kinds, np.cumsum(kinds), np.cumsum(~kinds)) - 1
        self._where = {True: np.flatnonzero(kinds), False: np.flatnonzero(~kinds)}
        self._jacobian = np.broadcast_to(np.asarray(jacobian, dtype=np.float64), (int((~kinds).sum()),))
        self._stacks: OrderedDict[Parents, Stack | None] = OrderedDict()
        self._kept = 0

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if not all(self.allowed[p, child] for p in parents):
            return -np.inf
        if self._kinds[child]:
            assert self._discrete is not None
            return self._discrete.family(int(self._place[child]), self._among(parents, True))
        return float(self._terms(child, self._among(parents, True), self._among(parents, False))[-1])

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        out = np.full(self.variables, -np.inf)
        discrete, continuous = self._among(parents, True), self._among(parents, False)
        if self._kinds[child]:
            assert self._discrete is not None
            out[self._where[True]] = self._discrete.toggled(int(self._place[child]), discrete)
        else:
            out[self._where[False]] = self._terms(child, discrete, continuous)[:-1]
            for place, other in enumerate(self._where[True]):
                out[other] = self._terms(child, toggle(discrete, place), continuous)[-1]
        out[~self.allowed[:, child]] = -np.inf
        return out

    def _among(self, parents: Parents, discrete: bool) -> Parents:
        return tuple(int(self._place[p]) for p in parents if self._kinds[p] == discrete)

    def _terms(self, child: int, discrete: Parents, continuous: Parents) -> Array:
        """Return the regressions' terms with each continuous parent toggled, and as they are last."""
        stack = self._stack(discrete)
        if stack is None:
            return np.full(self._statistics.size + 1, -np.inf)
        scales, counts = stack
        place = int(self._place[child])
        blank = float(prod(self._sizes[self._where[True][d]] for d in discrete) - len(counts))
        terms = self._regressions.terms(scales, counts, place, continuous, blank)
        return np.asarray(terms - self._jacobian[place])

    def _stack(self, discrete: Parents) -> Stack | None:
        """Return scale matrices and counts for each configuration of discrete parents."""
        if discrete in self._stacks:
            self._stacks.move_to_end(discrete)
            return self._stacks[discrete]
        found = self._statistics.moments(discrete)
        stack = None if found is None else self._regressions.prepare(found)
        self._stacks[discrete] = stack
        self._kept += 0 if stack is None else stack[0].size
        while self._kept > ROOM and len(self._stacks) > 1:
            _, old = self._stacks.popitem(last=False)
            self._kept -= 0 if old is None else old[0].size
        return stack


class ConditionalGaussian(_Conditional):
    """The log evidence of a conditional Gaussian network: Dirichlet tables, Normal–Wishart regressions.

    The belief about the continuous variables is the same for every configuration of the discrete ones, as it
    is for the components in TMCH98 section 6. Markov-equivalent graphs score equally, as long as the prior of
    discrete tables is of the BDeu kind.
    """

    @classmethod
    def of(
        cls, table: Table, prior: Normal | Prior | None = None, dirichlet: Prior | None = None
    ) -> ConditionalGaussian:
        """Return the score on a table without holes.

        Parameters
        ----------
        table
            The rows.
        prior
            The belief about the continuous variables, or the prior that gives it. By default worth one row in
            each configuration, and peaks at the columns' means and variances and no correlations. A prior
            of tables is taken as ``dirichlet``.
        dirichlet
            The prior of discrete tables; by default BDeu with an equivalent sample size of one.
        """
        if isinstance(prior, priors.NormalWishart):
            dirichlet = prior.tables if dirichlet is None else dirichlet
        elif prior is not None and not isinstance(prior, NormalWishart):
            if dirichlet is not None:
                raise ParameterError(
                    "there are two rules for discrete tables, prior and dirichlet; leave one out"
                )
            prior, dirichlet = None, prior
        standard, counted = standardise(table, prior, mixed=True), _discrete_part(table)
        regressions = MarginalRegressions(standard.belief)
        jacobian = table.size * np.log(standard.scale)
        return cls(table.schema, _tables(counted, dirichlet), Cases(standard, counted), regressions, jacobian)

    @classmethod
    def of_moments(
        cls,
        schema: Schema,
        codes: NDArray[np.signedinteger],
        moment: Array | Squares,
        prior: NormalWishart,
        dirichlet: Prior | None = None,
        log_scale: ArrayLike = 0.0,
    ) -> ConditionalGaussian:
        """Return the score on moments, observed or expected (TMCH98 eq. 14).

        Parameters
        ----------
        schema
            The variables.
        codes
            Configurations of the discrete variables that have rows, in the schema's order; (k, discrete).
        moment
            Σ w z zᵀ of z = (1, continuous variables) in each; (k, n + 1, n + 1), or as they are shared.
        prior, dirichlet
            As for a table, the prior in the units of the moments.
        log_scale
            Log of the units of the moments in terms of the data's; (n,) or one number.
        """
        squares = _squares(moment)
        counted = _counted(schema, codes, squares)
        jacobian = counted.size * np.asarray(log_scale, dtype=np.float64)
        return cls(
            schema,
            _tables(counted, dirichlet),
            Triples(counted, squares),
            MarginalRegressions(prior),
            jacobian,
        )


class ConditionalGaussianBIC(_Conditional):
    """The greatest log-likelihood of a conditional Gaussian network less (log N)/2 for every parameter.

    Every configuration of the discrete parents is charged for, seen or not. A configuration with rows, but no
    more of them than a regression has coefficients, has no greatest likelihood: −inf.
    """

    @classmethod
    def of(cls, table: Table) -> ConditionalGaussianBIC:
        """Return the score on a table without holes."""
        standard, counted = standardise(table, mixed=True), _discrete_part(table)
        regressions = PenalizedRegressions.of(standard.moments(), 1.0)
        jacobian = table.size * np.log(standard.scale)
        discrete = BIC(counted) if len(counted.schema) else None
        return cls(table.schema, discrete, Cases(standard, counted), regressions, jacobian)

    @classmethod
    def of_moments(
        cls,
        schema: Schema,
        codes: NDArray[np.signedinteger],
        moment: Array | Squares,
        log_scale: ArrayLike = 0.0,
        variance: ArrayLike | None = None,
    ) -> ConditionalGaussianBIC:
        """Return the score on moments, observed or expected; see `ConditionalGaussian.of_moments`."""
        squares = _squares(moment)
        counted = _counted(schema, codes, squares)
        regressions = PenalizedRegressions.of(
            squares.sums(np.zeros(len(codes), dtype=np.int64), 1)[0], variance
        )
        discrete = BIC(counted) if len(counted.schema) else None
        jacobian = counted.size * np.asarray(log_scale, dtype=np.float64)
        return cls(schema, discrete, Triples(counted, squares), regressions, jacobian)


def _tables(counted: Table, dirichlet: Prior | None) -> FamilyScore | None:
    """Return the score of discrete children, if there are any."""
    return BD(counted, dirichlet) if len(counted.schema) else None


def _discrete_part(table: Table) -> Table:
    """Return the discrete columns."""
    return table.select([variable.name for variable in table.schema if variable.discrete])


def _squares(moment: Array | Squares) -> Squares:
    """Return moments as they are shared; refuse what cannot be moments."""
    if not isinstance(moment, Squares):
        check_moments(moment)
        moment = Squares.of(moment)
    if not np.all(np.isfinite(moment.each)) or np.any(moment.count < 0):
        raise ParameterError("moments must be finite, and their numbers of rows not negative")
    return moment


def _counted(schema: Schema, codes: NDArray[np.signedinteger], squares: Squares) -> Table:
    """Return configurations of the discrete variables as rows, weighted by how often each occurs."""
    discrete = Schema(tuple(variable for variable in schema if variable.discrete))
    if codes.shape != (squares.entries, len(discrete)):
        raise ParameterError(
            f"{squares.entries} matrices and {len(discrete)} discrete variables do not fit codes of "
            f"{codes.shape}"
        )
    return Table(discrete, np.array(codes), weights=squares.count)

"""Scores of linear regressions with Gaussian noise: BGe, and BIC.

Both are functions of one matrix of moments over all continuous variables, observed or expected, so that a
family costs no pass over the rows: its terms with any parent put in or taken out are read off together
(`lacunary.kernels.swept`). Moments are those of z = (1, x) (`lacunary.maths.moments`); take them of
standardised columns, as ``of`` does, where means are large beside standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.evidence.charge import price
from lacunary.family.regression import VARIANCE_FLOOR
from lacunary.infer import prior as priors
from lacunary.infer.empirical import stated
from lacunary.infer.prior import standardised
from lacunary.infer.scale import Scale, check_squares
from lacunary.kernels.ascent import Law
from lacunary.kernels.swept import charged_terms, integrated_terms, room_for
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.moments import moments, parted
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.score import Parents, check_observed

__all__ = [
    "BGe",
    "GaussianBIC",
    "MarginalRegressions",
    "Normal",
    "PenalizedRegressions",
    "Regressions",
    "Standard",
    "check_moments",
    "check_normal",
    "standardise",
]

Normal = NormalWishart | priors.NormalWishart
"""A belief about continuous variables in the data's units, or the prior that gives it."""

NO_VARIANCE = 1e-200
"""What stands for the scatter of a column that does not vary: its logarithm is a number."""


CLOSE = 1e-6
"""Nats that rounding may cost."""


class Regressions(Protocol):
    """How regressions are scored, one for each configuration of a continuous child's discrete parents."""

    def prepare(self, moment: Array) -> tuple[Array, Array]:
        """Return scale matrices and numbers of rows; (q, n, n) and (q,), from moments (q, n + 1, n + 1)."""
        ...

    def law(self, scales: Array, counts: Array, units: Array) -> Law:
        """Return the same as kernels take it, for one configuration; each term is less by ``units``; (n,)."""
        ...

    def terms(self, scales: Array, counts: Array, child: int, parents: Parents, blank: float = 0.0) -> Array:
        """Return the child's terms, added up over configurations, and ``blank`` more of them without rows.

        Entry j is for the parents with j put in or taken out, entry n for the parents as they are; (n + 1,).
        """
        ...


class MarginalRegressions:
    """Regressions by their log evidence under a Normal–Wishart belief, the same for each configuration."""

    def __init__(self, prior: NormalWishart) -> None:
        self.prior = prior
        self._scale = np.ascontiguousarray(prior.tau)
        self._dof = float(prior.dof(0))

    def prepare(self, moment: Array) -> tuple[Array, Array]:
        """Return the posterior scale matrices τ*, and the numbers of rows."""
        self.check(moment)
        count, centre, scatter = parted(moment)
        gap = centre - self.prior.mu
        pull = self.prior.nu * count / (self.prior.nu + count)
        scale = self.prior.tau + scatter + pull[:, None, None] * gap[:, :, None] * gap[:, None, :]
        return np.ascontiguousarray(scale), np.ascontiguousarray(count)

    def check(self, moment: Array) -> None:
        """Refuse a prior whose means lie too far from those of rows with these moments."""
        count, total = moment[:, 0, 0], moment[:, 1:, 0]
        centre = total / np.where(count > 0, count, 1.0)[:, None]
        scatter = np.einsum("...ii->...i", moment)[:, 1:] - centre * total
        pull = self.prior.nu * count / (self.prior.nu + count)
        pulled = pull[:, None] * (centre - self.prior.mu) ** 2 / (np.diagonal(self.prior.tau) + scatter)
        _check_near(pulled, self._dof + count)

    def law(self, scales: Array, counts: Array, units: Array) -> Law:
        """Return the same as kernels take it."""
        nu, nothing = float(self.prior.nu), np.empty(0)
        return Law(False, scales, counts, self._scale, nu, self._dof, nothing, 0.0, units)

    def terms(self, scales: Array, counts: Array, child: int, parents: Parents, blank: float = 0.0) -> Array:
        """Return the log evidence; a configuration without rows adds nothing; (n + 1,)."""
        out, chosen = np.empty(scales.shape[1] + 1), np.array(parents, dtype=np.int64)
        nu, room = float(self.prior.nu), room_for(len(counts), scales.shape[1], len(parents))
        integrated_terms(scales, counts, self._scale, nu, self._dof, child, chosen, *room, out)
        return out


def _check_near(pulled: Array, worth: Array) -> None:
    """Refuse means of a prior so far from the rows', in two columns, that what rows tell is rounded off.

    ``pulled`` is the part of each diagonal that is due to the means, beside the rest; (q, n). Two such
    columns are all but multiples of each other, and the rest is what is left of their difference.
    """
    if pulled.shape[1] > 1:
        second = np.partition(pulled, -2, axis=1)[:, -2]
        if np.any(0.5 * np.finfo(np.float64).eps * second * worth > CLOSE):
            raise ParameterError(
                f"the prior's means lie about {np.sqrt(second.max()):.2g} standard deviations from the rows' "
                "in several columns, which leaves no digits for what rows say; give means nearer to theirs"
            )


class PenalizedRegressions:
    """Regressions by their greatest log-likelihood less (log N)/2 for every parameter, m + 2 a regression.

    Where a configuration has no more rows than a regression has coefficients the likelihood has no maximum,
    and the family is too large to be scored: −inf.

    Parameters
    ----------
    rows
        N of the whole table, by which parameters are charged.
    floor
        The least variance each variable's noise can have; (n,).
    """

    def __init__(self, rows: float, floor: Array) -> None:
        self.floor = floor
        self._charge = price(rows)

    @classmethod
    def of(cls, moment: Array, variance: ArrayLike | None = None) -> PenalizedRegressions:
        """Return the score for moments of all rows; (n + 1, n + 1).

        ``variance`` is that of the columns, one where they are standardised: a share of it is the least of
        their noise. By default it is as the moments have it, or one where a column does not vary.
        """
        count, _, scatter = parted(moment)
        own = np.diagonal(scatter) / max(float(count), 1.0)
        known = np.where(own > 0, own, 1.0) if variance is None else np.broadcast_to(variance, own.shape)
        return cls(float(count), VARIANCE_FLOOR * np.asarray(known, dtype=np.float64))

    def prepare(self, moment: Array) -> tuple[Array, Array]:
        """Return scatter matrices and numbers of rows."""
        count, _, scatter = parted(moment)
        own = np.einsum("...ii->...i", scatter)
        own[own <= 0] = NO_VARIANCE
        return np.ascontiguousarray(scatter), np.ascontiguousarray(count)

    def law(self, scales: Array, counts: Array, units: Array) -> Law:
        """Return the same as kernels take it."""
        nothing = np.empty((0, 0))
        return Law(True, scales, counts, nothing, 0.0, 0.0, self.floor, float(self._charge), units)

    def terms(self, scales: Array, counts: Array, child: int, parents: Parents, blank: float = 0.0) -> Array:
        """Return the charged log-likelihood; configurations without rows are charged too; (n + 1,)."""
        out, chosen = np.empty(scales.shape[1] + 1), np.array(parents, dtype=np.int64)
        floor, room = float(self.floor[child]), room_for(len(counts), scales.shape[1], len(parents))
        charged_terms(scales, counts, floor, self._charge, float(blank), child, chosen, *room, out)
        return out


class _Gaussian:
    """What both scores do: read a family's terms off one matrix of moments."""

    def __init__(self, moment: Array, regressions: Regressions, log_scale: ArrayLike) -> None:
        moment = np.asarray(moment, dtype=np.float64)
        check_moments(moment)
        self._take(regressions, *regressions.prepare(moment[None]), log_scale)

    def _take(self, regressions: Regressions, scales: Array, counts: Array, log_scale: ArrayLike) -> None:
        self.variables = scales.shape[-1]
        self.allowed = ~np.eye(self.variables, dtype=bool)
        self.regressions = regressions
        self._scales, self._counts = scales, counts
        self._jacobian = counts[0] * np.broadcast_to(np.asarray(log_scale), (self.variables,))
        self._last: tuple[int, Parents, Array] = (-1, (), np.empty(0))

    @property
    def matrix_law(self) -> Law:
        """How kernels work it out for themselves."""
        return self.regressions.law(self._scales, self._counts, self._jacobian)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        return float(self.terms(child, parents)[-1])

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        return self.terms(child, parents)[:-1].copy()

    def terms(self, child: int, parents: Parents) -> Array:
        """Return the toggled terms and, last, the term as it is; (n + 1,).

        The last family's are kept: who asks for it as it is will ask for its toggles next.
        """
        last = self._last
        if last[0] != child or last[1] != parents:
            terms = self.regressions.terms(self._scales, self._counts, child, parents)
            terms -= self._jacobian[child]
            terms[child] = -np.inf
            self._last = last = (child, parents, terms)
        return last[2]


class BGe(_Gaussian):
    """The log evidence of a Gaussian network under a Normal–Wishart belief over all variables.

    Geiger & Heckerman 1994 and 2002, as corrected by Kuipers, Moffa & Heckerman 2014: the
    belief about some of the variables has as many fewer as are left out. Equal on Markov-equivalent graphs.

    Parameters
    ----------
    moment
        Σ w z zᵀ of z = (1, x) over rows, observed or expected; (n + 1, n + 1).
    prior
        The belief, in the same units.
    log_scale
        Log of the units of x in terms of the data's: the evidence is that of the data; (n,) or one number.
    """

    def __init__(self, moment: Array, prior: NormalWishart, log_scale: ArrayLike = 0.0) -> None:
        if len(moment) != prior.size + 1:
            raise ParameterError(
                f"moments of {len(moment) - 1} variables do not fit a belief about {prior.size}"
            )
        super().__init__(moment, MarginalRegressions(prior), log_scale)

    @classmethod
    def each(cls, moments: Array, prior: NormalWishart) -> list[BGe]:
        """Return the scores of several matrices of moments, (..., n + 1, n + 1), made ready together."""
        check_moments(moments)
        regressions, out = MarginalRegressions(prior), []
        for scale, count in zip(*regressions.prepare(moments), strict=True):
            one = object.__new__(cls)
            one._take(regressions, scale[None], count[None], 0.0)
            out.append(one)
        return out

    @classmethod
    def of(cls, table: Table, prior: Normal | None = None) -> BGe:
        """Return the score on a table without holes; the prior is in the data's units.

        By default it is worth one row, and peaks at the columns' means and variances and no correlations.
        """
        check_normal(prior)
        standard = standardise(table, prior)
        return cls(standard.moments(), standard.belief, np.log(standard.scale))


class GaussianBIC(_Gaussian):
    """The greatest log-likelihood of a Gaussian network less (log N)/2 for every parameter; higher is better.

    Parameters
    ----------
    moment
        Σ w z zᵀ of z = (1, x) over rows, observed or expected; (n + 1, n + 1).
    log_scale
        Log of the units of x in terms of the data's; (n,) or one number.
    variance
        As of `PenalizedRegressions.of`.
    """

    def __init__(self, moment: Array, log_scale: ArrayLike = 0.0, variance: ArrayLike | None = None) -> None:
        super().__init__(
            moment, PenalizedRegressions.of(np.asarray(moment, dtype=np.float64), variance), log_scale
        )

    @classmethod
    def of(cls, table: Table) -> GaussianBIC:
        """Return the score on a table without holes."""
        standard = standardise(table)
        return cls(standard.moments(), np.log(standard.scale), 1.0)


def check_normal(prior: object) -> None:
    """Refuse a prior that says nothing about continuous variables."""
    if not isinstance(prior, Normal | None):
        raise ParameterError(
            f"the prior of continuous variables is a NormalWishart, not a {type(prior).__name__}"
        )


def check_moments(moment: Array) -> None:
    """Refuse what cannot be moments: matrices that are not square, not finite, or of fewer than no rows."""
    if moment.ndim < 2 or moment.shape[-1] != moment.shape[-2]:
        raise ParameterError(f"moments are square matrices, not of shape {moment.shape}")
    if not np.all(np.isfinite(moment)) or np.any(moment[..., 0, 0] < 0):
        raise ParameterError("moments must be finite, and their numbers of rows not negative")


@dataclass(frozen=True, eq=False)
class Standard:
    """The continuous columns of a table without holes, standardised.

    Attributes
    ----------
    columns
        Positions of the continuous variables in the schema; (n,).
    values
        The columns, with mean zero and variance one; (rows, n).
    weights
        (rows,).
    origin, scale
        Their means and standard deviations as they were; one where a column does not vary; (n,) each.
    belief
        A prior as a belief about these columns.
    """

    columns: Integers
    values: Array
    weights: Array
    origin: Array
    scale: Array
    belief: NormalWishart

    def moments(self) -> Array:
        """Return the moments of all rows; (n + 1, n + 1)."""
        return moments(self.values, self.weights)

    def rows(self, chosen: Integers) -> Array:
        """Return √weight · (1, values) of some rows, to be multiplied; (rows, n + 1)."""
        return np.insert(self.values[chosen], 0, 1.0, axis=1) * np.sqrt(self.weights[chosen])[:, None]


def standardise(table: Table, prior: Normal | None = None, *, mixed: bool = False) -> Standard:
    """Return the continuous columns of a table without holes; refuse what cannot be scored.

    The prior is in the data's units. By default it is worth one row, ν = 1 and α = ν + n, with its peak at
    the columns' means and variances and no correlations (`NormalWishart.about`).
    """
    kinds = np.array([variable.discrete for variable in table.schema], dtype=bool)
    if kinds.any() and not mixed:
        name = table.schema.names[int(np.argmax(kinds))]
        raise SchemaError(
            f"{name} is discrete, and this score is for continuous variables; "
            "leave the score out to have it chosen by the variables' kinds"
        )
    if not table.size > 0:
        raise TableError("a table without rows says nothing about its variables")
    columns = np.flatnonzero(~kinds)
    names = [table.schema.names[column] for column in columns]
    check_observed(names, table.holes[:, columns])
    values = table.reals[:, columns] if kinds.any() else table.reals
    check_squares(table)
    scale = Scale.of(table)
    origin, spread = scale.centre[columns], scale.spread[columns]
    belief = standardised(stated(prior, table, scale), names, origin, spread).about
    return Standard(columns, (values - origin) / spread, table.weights, origin, spread, belief)

"""Scores of linear regressions with Gaussian noise: BGe, and BIC.

Both are functions of one matrix of moments over all continuous variables, observed or expected, so that a
family costs no pass over the rows: its terms with any parent put in or taken out are read off together
(`lacunary.kernels.swept`). Moments are those of z = (1, x) (`lacunary.maths.moments`); take them of
standardised columns, as ``of`` does, where means are large beside standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.evidence.charge import price
from lacunary.infer import prior as priors
from lacunary.infer.prior import standardised
from lacunary.infer.scale import check_squares
from lacunary.kernels.swept import charged_terms, integrated_terms
from lacunary.maths.moments import moments, parted
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.score import Parents

__all__ = [
    "BGe",
    "Charged",
    "GaussianBIC",
    "Integrated",
    "Normal",
    "Regressions",
    "Standard",
    "check_moments",
    "standardise",
]

Array = NDArray[np.float64]
Normal = NormalWishart | priors.NormalWishart
"""A belief about continuous variables in the data's units, or the prior that gives it."""

VARIANCE_FLOOR = 1e-9
"""Least variance of the noise, as a share of the variable's own, where the likelihood is maximised."""


class Regressions(Protocol):
    """How regressions are scored, one for each configuration of a continuous child's discrete parents."""

    def prepare(self, moment: Array) -> tuple[Array, Array]:
        """Return scale matrices and numbers of rows; (q, n, n) and (q,), from moments (q, n + 1, n + 1)."""
        ...

    def terms(self, scales: Array, counts: Array, child: int, parents: Parents, blank: float = 0.0) -> Array:
        """Return the child's terms, added up over configurations, and ``blank`` more of them without rows.

        Entry j is for the parents with j put in or taken out, entry n for the parents as they are; (n + 1,).
        """
        ...


class Integrated:
    """Regressions by their log evidence under a Normal–Wishart belief, the same for each configuration."""

    def __init__(self, prior: NormalWishart) -> None:
        self.prior = prior
        self._scale = np.ascontiguousarray(prior.tau[None])
        self._dof = float(prior.dof(0))

    def prepare(self, moment: Array) -> tuple[Array, Array]:
        """Return the posterior scale matrices τ*, and the numbers of rows."""
        count, centre, scatter = parted(moment)
        gap = centre - self.prior.mu
        pull = self.prior.nu * count / (self.prior.nu + count)
        scale = self.prior.tau + scatter + pull[:, None, None] * gap[:, :, None] * gap[:, None, :]
        return np.ascontiguousarray(scale), np.ascontiguousarray(count)

    def terms(self, scales: Array, counts: Array, child: int, parents: Parents, blank: float = 0.0) -> Array:
        """Return the log evidence; a configuration without rows adds nothing; (n + 1,)."""
        out, chosen = np.empty(scales.shape[1] + 1), np.array(parents, dtype=np.int64)
        nu = float(self.prior.nu)
        integrated_terms(scales, counts, self._scale, nu, self._dof, child, chosen, out)
        return out


class Charged:
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

    def __init__(self, rows: float, floor: ArrayLike) -> None:
        self.floor = np.asarray(floor, dtype=np.float64)
        self._charge = price(rows)

    def prepare(self, moment: Array) -> tuple[Array, Array]:
        """Return scatter matrices and numbers of rows."""
        count, _, scatter = parted(moment)
        return np.ascontiguousarray(scatter), np.ascontiguousarray(count)

    def terms(self, scales: Array, counts: Array, child: int, parents: Parents, blank: float = 0.0) -> Array:
        """Return the charged log-likelihood; configurations without rows are charged too; (n + 1,)."""
        out, chosen = np.empty(scales.shape[1] + 1), np.array(parents, dtype=np.int64)
        charged_terms(
            scales, counts, float(self.floor[child]), self._charge, float(blank), child, chosen, out
        )
        return out


class _Gaussian:
    """What both scores do: read a family's terms off one matrix of moments."""

    def __init__(self, moment: Array, regressions: Regressions, log_scale: ArrayLike) -> None:
        moment = np.asarray(moment, dtype=np.float64)
        check_moments(moment)
        self.variables = len(moment) - 1
        self.allowed = ~np.eye(self.variables, dtype=bool)
        self.regressions = regressions
        self._scales, self._counts = regressions.prepare(moment[None])
        self._jacobian = moment[0, 0] * np.broadcast_to(np.asarray(log_scale), (self.variables,))
        self._last: tuple[int, Parents, Array] = (-1, (), np.empty(0))

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
        super().__init__(moment, Integrated(prior), log_scale)

    @classmethod
    def of(cls, table: Table, prior: Normal | None = None) -> BGe:
        """Return the score on a table without holes; the prior is in the data's units.

        By default it is worth one row, and peaks at the columns' means and variances and no correlations.
        """
        standard = standardise(table)
        return cls(standard.moments(), standard.belief(prior, table.schema), np.log(standard.scale))


class GaussianBIC(_Gaussian):
    """The greatest log-likelihood of a Gaussian network less (log N)/2 for every parameter; higher is better.

    Parameters
    ----------
    moment
        Σ w z zᵀ of z = (1, x) over rows, observed or expected; (n + 1, n + 1).
    log_scale
        Log of the units of x in terms of the data's; (n,) or one number.
    """

    def __init__(self, moment: Array, log_scale: ArrayLike = 0.0) -> None:
        count, _, scatter = parted(np.asarray(moment, dtype=np.float64))
        floor = VARIANCE_FLOOR * np.diagonal(scatter) / max(float(count), 1.0)
        super().__init__(moment, Charged(float(count), floor), log_scale)

    @classmethod
    def of(cls, table: Table) -> GaussianBIC:
        """Return the score on a table without holes."""
        standard = standardise(table)
        return cls(standard.moments(), np.log(standard.scale))


def check_moments(moment: Array) -> None:
    """Refuse what cannot be moments: matrices that are not square, not finite, or of fewer than no rows."""
    if moment.ndim < 2 or moment.shape[-1] != moment.shape[-2]:
        raise ParameterError(f"moments are square matrices, not of shape {moment.shape}")
    if not np.all(np.isfinite(moment)) or np.any(moment[..., 0, 0] < 0):
        raise ParameterError("moments must be finite, and their numbers of rows not negative")


@dataclass(frozen=True, eq=False)
class Standard:
    """Continuous columns, and how they are brought to mean zero and variance one.

    Attributes
    ----------
    columns
        Positions of the continuous variables in the schema; (n,).
    values
        The columns as they are; (rows, n).
    weights
        (rows,).
    origin
        Means of the columns; (n,).
    whole
        Moments of all rows, measured from the origin; (n + 1, n + 1).
    """

    columns: NDArray[np.int64]
    values: Array
    weights: Array
    origin: Array
    whole: Array

    @cached_property
    def scale(self) -> Array:
        """Standard deviations of the columns; (n,)."""
        return np.asarray(np.sqrt(np.diagonal(self.whole)[1:] / self.whole[0, 0]))

    def moments(self) -> Array:
        """Return the moments of all rows, standardised; (n + 1, n + 1)."""
        unit = np.concatenate([[1.0], self.scale])
        return np.asarray(self.whole / np.outer(unit, unit))

    def rows(self, chosen: NDArray[np.int64]) -> Array:
        """Return √weight · (1, standardised values) of some rows, to be multiplied; (rows, n + 1)."""
        out = np.ones((len(chosen), len(self.columns) + 1))
        out[:, 1:] = self.values[chosen]
        out[:, 1:] -= self.origin
        out[:, 1:] /= self.scale
        out *= np.sqrt(self.weights[chosen])[:, None]
        return out

    def belief(self, prior: Normal | None, schema: Schema) -> NormalWishart:
        """Return a prior as a belief about standardised columns.

        Without one: worth one row, ν = 1 and α = ν + n, with its peak at the columns' means and variances and
        no correlations (`NormalWishart.about`).
        """
        if not isinstance(prior, Normal | None):
            raise ParameterError(
                f"the prior of continuous variables is a NormalWishart, not a {type(prior).__name__}"
            )
        names = [schema.names[column] for column in self.columns]
        return standardised(prior, names, self.origin, self.scale).about


def standardise(table: Table, *, mixed: bool = False) -> Standard:
    """Return the continuous columns of a table without holes; refuse what cannot be scored."""
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
    values = table.reals[:, columns] if kinds.any() else table.reals
    names = [table.schema.names[column] for column in columns]
    _check_observed(names, values)
    check_squares(names, values)
    origin = table.weights @ values / table.size
    found = Standard(columns, values, table.weights, origin, moments(values, table.weights, origin))
    # A constant column of large numbers has a deviation that is all rounding.
    constant = found.scale <= 1e-14 * np.abs(origin)
    if constant.any():
        name = table.schema.names[int(columns[int(np.argmax(constant))])]
        raise TableError(f"{name} is constant: nothing can depend on it; leave the column out")
    return found


def _check_observed(names: list[str], values: Array) -> None:
    for name, holes in zip(names, np.isnan(values).sum(axis=0), strict=True):
        if holes:
            raise TableError(
                f"{name} has {holes} missing values, so its families cannot be scored; "
                "no row is left out: search with structural EM, schedule='((EM)^10 Ec S* M)*'"
            )

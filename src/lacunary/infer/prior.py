"""The Normal–Wishart prior of continuous variables, for any graph over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError
from lacunary.family.numeric import Units
from lacunary.infer.belief import BDeu, Belief, Dirichlet, Prior, with_regressions
from lacunary.maths import normal_wishart
from lacunary.model.dag import Dag

__all__ = ["NormalWishart", "Standardised", "standardised"]

MOST = 1e12
"""Rows that a prior may be worth: to so many moments, those of a few rows are added to within a hundredth."""


@dataclass(frozen=True, eq=False)
class NormalWishart:
    """A prior about the means and the precision matrix of all continuous variables together.

    Every regression takes its own prior from it (Heckerman & Geiger 1995; TMCH98 section 6), so graphs that
    say the same are believed the same. Each configuration of discrete parents has it anew.

    Attributes
    ----------
    nu
        How many rows it is worth.
    means, covariance
        Of these rows, in the data's units: means by name, or one for all; the covariance in the schema's
        order of continuous variables, (n, n), or one variance for all. By default the columns' means and
        variances, without correlation; zero and one where hidden. The scale matrix τ is nu · covariance.
    alpha
        Degrees of freedom, by default nu + n: the mode after N rows then divides by N + nu.
    tables
        The prior of discrete variables.

    Examples
    --------
    >>> import lacunary as lac
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> lac.fit("x1 -> x2", rows, prior=lac.NormalWishart(nu=5)).converged
    True
    """

    nu: float = 1.0
    means: Mapping[str, float] | float | None = None
    covariance: ArrayLike | None = None
    alpha: float | None = None
    tables: Prior = field(default_factory=Dirichlet)

    def __post_init__(self) -> None:
        if (self.means is None) != (self.covariance is None):
            raise ParameterError("give means and covariance both, in the data's units, or neither")
        for name, worth in (("nu", self.nu), ("alpha", self.alpha or 0.0)):
            if worth > MOST:
                raise ParameterError(
                    f"a Normal-Wishart of {name} = {worth:g} leaves no digits for what the table says; take "
                    f"{MOST:g} at most, or fix the regressions"
                )

    @classmethod
    def of(
        cls, belief: normal_wishart.NormalWishart, names: Sequence[str], tables: Prior | None = None
    ) -> NormalWishart:
        """Return the prior that says of these variables what a belief in the data's units says."""
        means = dict(zip(names, belief.mu.tolist(), strict=True))
        return cls(belief.nu, means, belief.tau / belief.nu, belief.alpha, tables or Dirichlet())

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief; without means it speaks of standardised columns (`Belief.standard`)."""
        if not dag.continuous:
            return self.tables(dag)
        about = self.about([dag.names[i] for i in dag.continuous])
        tables = self.tables(dag).alpha[: dag.layout.tables]
        return with_regressions(dag, tables, about, standard=self.means is None)

    def about(self, names: Sequence[str]) -> normal_wishart.NormalWishart:
        """Return the belief about these variables, the continuous ones of a schema in its order.

        It is in the data's units or, without means, about standardised columns.
        """
        n = len(names)
        centre, spread = np.zeros(n), np.eye(n)
        if self.means is not None:
            centre = self._centre(names)
            given = np.asarray(self.covariance, dtype=np.float64)
            spread = given * np.eye(n) if given.ndim == 0 else given
        if spread.shape != (n, n):
            raise ParameterError(
                f"there are {n} continuous variables; the prior's covariance must be ({n}, {n}) or one "
                f"number, not {spread.shape}"
            )
        alpha = self.nu + n if self.alpha is None else self.alpha
        return normal_wishart.NormalWishart(self.nu, centre, alpha, self.nu * spread)

    def _centre(self, names: Sequence[str]) -> NDArray[np.float64]:
        if not isinstance(self.means, Mapping):
            return np.full(len(names), self.means, dtype=np.float64)
        missing = [name for name in names if name not in self.means]
        if missing:
            raise ParameterError(f"the prior has no mean for {missing[0]}")
        return np.array([self.means[name] for name in names], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Standardised:
    """A prior about standardised columns: one Normal–Wishart belief, and a rule for tables.

    The structures of a search and the components of a mixture take theirs from it. ``typical`` are the means
    of columns that are not standardised, by name.
    """

    about: normal_wishart.NormalWishart
    tables: Prior
    typical: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief about a graph's parameters, in standardised columns."""
        tables = self.tables(dag).alpha[: dag.layout.tables]
        belief, none = with_regressions(dag, tables, self.about), np.empty(0)
        alpha = np.array(belief.alpha)
        for i, family in dag.leaves:
            hyper, units = (
                dag.layout.statistics(alpha, i),
                Units(none, none, self.typical.get(dag.names[i], 1.0)),
            )
            hyper[:] = family.believed_inside(hyper, units) if not family.scaled else hyper
        return replace(belief, alpha=alpha, relative=False) if dag.leaves else belief


def standardised(
    prior: Any, names: Sequence[str], origin: ArrayLike, scale: ArrayLike, typical: ArrayLike = 1.0
) -> Standardised:
    """Return any prior as one about the columns (x − origin)/scale; (n,) each.

    Parameters
    ----------
    prior
        A `NormalWishart`, a belief about these variables in the data's units, or a rule for tables alone;
        by default worth one row of mean zero and variance one, tables by ``bdeu(1)``.
    names
        The continuous variables, in the schema's order.
    typical
        The means of their columns, by which families measure whose columns are not standardised; (n,).
    """
    n, tables = len(names), prior if callable(prior) else BDeu(1.0)
    default = normal_wishart.NormalWishart.about(np.zeros(n), np.ones(n))
    known = dict(
        zip(names, np.broadcast_to(np.asarray(typical, dtype=np.float64), (n,)).tolist(), strict=True)
    )
    if isinstance(prior, NormalWishart):
        about = prior.about(names)
        moved = about if prior.means is None else about.moved(origin, scale)
        return Standardised(moved, prior.tables, known)
    if isinstance(prior, normal_wishart.NormalWishart):
        if prior.size != n:
            raise ParameterError(f"there are {n} continuous variables, but the prior is about {prior.size}")
        return Standardised(prior.moved(origin, scale), tables, known)
    if prior is None or callable(prior):
        return Standardised(default, tables, known)
    raise ParameterError(
        f"the prior of continuous variables is a NormalWishart, not a {type(prior).__name__}; "
        "such as NormalWishart(nu=2)"
    )

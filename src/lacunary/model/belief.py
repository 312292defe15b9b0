"""Dirichlet beliefs about the tables of a discrete network, and the rules that start them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lacunary.errors import ParameterError
from lacunary.model.dag import Dag

__all__ = ["BDeu", "Belief", "Dirichlet", "Prior", "bdeu", "k2"]


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed about the parameters of a network: a Dirichlet for each distribution.

    Prior and posterior are the same type: ``alpha`` holds one hyperparameter α_ijk for each θ_ijk,
    in the places given by ``dag.layout``.
    """

    dag: Dag
    alpha: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.alpha.shape != (self.dag.layout.size,):
            raise ParameterError(f"the network has {self.dag.layout.size} parameters, the belief {self.alpha.shape}")
        if not np.all(np.isfinite(self.alpha)) or np.any(self.alpha <= 0):
            raise ParameterError("every Dirichlet hyperparameter must be positive and finite")
        self.alpha.flags.writeable = False

    @property
    def log_normalizer(self) -> float:
        """Σ_ij [log Γ(Σ_k α_ijk) − Σ_k log Γ(α_ijk)]: minus the log of the Dirichlets' normalising integral."""
        return float(gammaln(self.dag.layout.total(self.alpha)).sum() - gammaln(self.alpha).sum())

    def mean(self) -> NDArray[np.float64]:
        """E[θ], which is also the predictive probability of the next row's states."""
        layout = self.dag.layout
        return self.alpha / layout.total(self.alpha)[layout.group]


class Prior(Protocol):
    """A rule that gives any Dag its starting belief."""

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief about this graph's parameters before any data."""
        ...


@dataclass(frozen=True)
class Dirichlet:
    """The same hyperparameter for every parameter: 1 is uniform, CH96 uses 1.01."""

    alpha: float = 1.0

    def __post_init__(self) -> None:
        _check_positive("alpha", self.alpha)

    def __call__(self, dag: Dag) -> Belief:
        """α_ijk = alpha."""
        return Belief(dag, np.full(dag.layout.size, float(self.alpha)))


@dataclass(frozen=True)
class BDeu:
    """Hyperparameters worth ``ess`` rows in all, spread evenly over each table."""

    ess: float = 1.0

    def __post_init__(self) -> None:
        _check_positive("ess", self.ess)

    def __call__(self, dag: Dag) -> Belief:
        """α_ijk = ess / (r_i q_i)."""
        layout = dag.layout
        places = np.array([r * q for r, q in zip(layout.states, layout.configurations, strict=True)])
        return Belief(dag, self.ess / places[layout.variable])


def k2() -> Dirichlet:
    """Return the prior of Cooper and Herskovits' K2: every hyperparameter is 1."""
    return Dirichlet(1.0)


def bdeu(ess: float = 1.0) -> BDeu:
    """Return the likelihood-equivalent uniform prior worth ``ess`` rows."""
    return BDeu(ess)


def _check_positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be positive and finite, not {value}")

"""Dirichlet beliefs about the tables of a discrete network, and the rules that start them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lacunary.errors import ParameterError
from lacunary.infer.answers import Answers
from lacunary.model.dag import Dag

__all__ = ["BDeu", "Belief", "Dirichlet", "Prior", "PriorNetwork", "bdeu", "k2", "prior_network"]


@dataclass(frozen=True, eq=False)
class Belief(Answers):
    """What is believed about the parameters of a network: a Dirichlet for each distribution.

    Prior and posterior are the same type: ``alpha`` holds one hyperparameter α_ijk for each θ_ijk,
    in the places given by ``dag.layout``. Asked about a row, a belief answers with its predictive
    probabilities, in which the parameters are integrated out: those of its `mean`.
    """

    dag: Dag
    alpha: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.alpha.shape != (self.dag.layout.size,):
            raise ParameterError(
                f"the network has {self.dag.layout.size} parameters, the belief {self.alpha.shape}"
            )
        if not np.all(np.isfinite(self.alpha)) or np.any(self.alpha <= 0):
            raise ParameterError("every Dirichlet hyperparameter must be positive and finite")
        self.alpha.flags.writeable = False

    @property
    def log_normalizer(self) -> float:
        """Σ_ij [log Γ(Σ_k α_ijk) − Σ_k log Γ(α_ijk)]: it makes the densities integrate to one."""
        return float(gammaln(self.dag.layout.total(self.alpha)).sum() - gammaln(self.alpha).sum())

    def mean(self) -> NDArray[np.float64]:
        """E[θ], which is also the predictive probability of the next row's states."""
        layout = self.dag.layout
        return self.alpha / layout.total(self.alpha)[layout.group]

    def parameters(self) -> NDArray[np.float64]:
        """Return the predictive probabilities: `mean`."""
        return self.mean()


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


@dataclass(frozen=True, eq=False)
class PriorNetwork:
    """Hyperparameters worth ``ess`` rows drawn from a network that is thought likely beforehand."""

    network: Answers
    ess: float

    def __post_init__(self) -> None:
        _check_positive("ess", self.ess)

    def __call__(self, dag: Dag) -> Belief:
        """α_ijk = ess · p(variable i in state k, its parents in configuration j), GHM96 section 2.

        Tied families share a table, and so what the rows drawn would tell of it: theirs are added.
        """
        alpha = np.zeros(dag.layout.size)
        for i, name in enumerate(dag.names):
            self._check(dag, name)
            family = self.network.query(*dag.parents[i], name).probabilities
            if family.min() <= 0:
                raise ParameterError(
                    f"the prior network gives a state of {name} probability zero; a prior must not"
                )
            alpha[dag.layout.slice(i)] += self.ess * dag.layout.flat(family)
        return Belief(dag, alpha)

    def _check(self, dag: Dag, name: str) -> None:
        known = self.network.dag.schema
        if name not in known or known[name].states != dag.schema[name].states:
            raise ParameterError(f"the prior network does not have the variable {name} with the same states")


def prior_network(network: Answers, ess: float) -> PriorNetwork:
    """Return the prior worth ``ess`` rows drawn from a network (GHM96 section 2)."""
    return PriorNetwork(network, ess)


def k2() -> Dirichlet:
    """Return the prior of Cooper and Herskovits' K2: every hyperparameter is 1."""
    return Dirichlet(1.0)


def bdeu(ess: float = 1.0) -> BDeu:
    """Return the likelihood-equivalent uniform prior worth ``ess`` rows."""
    return BDeu(ess)


def _check_positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be positive and finite, not {value}")

"""Full Bayesian parameters: the mean of their posterior, from draws with the holes filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.errors import SchemaError
from lacunary.evidence.gibbs import gibbs
from lacunary.evidence.problem import Problem
from lacunary.evidence.score import pose
from lacunary.infer.belief import Prior
from lacunary.infer.network import Network
from lacunary.learn.align import aligned
from lacunary.learn.check import with_graph
from lacunary.maths.arrays import Array
from lacunary.maths.mixing import Mean, chain_mean
from lacunary.model.dag import Dag

__all__ = ["Sampled", "posterior_mean"]

RHAT = 1.01
"""The most R̂ may be where chains agree (Vehtari et al. 2021, section 4)."""

ESS_A_CHAIN = 100
"""The fewest effective draws a chain on which R̂ and errors can be relied on (the same place)."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Draws from the posterior of the parameters, and their mean.

    Attributes
    ----------
    network
        The mean of every conditional distribution; of a regression, of intercept, coefficients and variance.
    draws
        The parameters drawn, hidden variables and their states named alike; (chains, draws, size).
    rhat
        Split R̂ of each parameter: near one where chains agree; (size,).
    ess
        How many independent draws would give as exact a mean; (size,).
    stderr
        Monte Carlo standard error of each parameter's mean; (size,).
    """

    network: Network
    draws: Array
    rhat: Array
    ess: Array
    stderr: Array

    def __repr__(self) -> str:
        chains, draws = self.draws.shape[:2]
        return f"<Sampled: {chains} chains of {draws} draws, {self.network!r}>"

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.network.dag

    @property
    def mixed(self) -> bool:
        """Whether the chains agree well enough to be relied on: R̂ ≤ 1.01, 100 effective draws a chain."""
        return bool(self.rhat.max() <= RHAT and self.ess.min() >= ESS_A_CHAIN * len(self.draws))

    def __str__(self) -> str:
        chains, draws = self.draws.shape[:2]
        advice = "" if self.mixed else "; the chains do not agree: take more draws, or doubt the mean"
        return (
            f"posterior mean of {chains} chains of {draws} draws: R̂ at most {self.rhat.max():.4f}, "
            f"at least {self.ess.min():.0f} effective draws, error at most {self.stderr.max():.2g}{advice}"
        )


@budgeted
def posterior_mean(
    dag: Dag | str,
    table: Any,
    *,
    prior: Prior | None = None,
    draws: int = 1000,
    burn: int = 500,
    chains: int = 4,
    thin: int = 1,
    rng: int | np.random.Generator = 0,
) -> Sampled:
    """Return the posterior mean of the parameters, by Gibbs sampling with the holes filled in.

    In turn the holes are drawn given the parameters and the parameters given the filled table, both
    exactly. Hidden variables and their states are called as in the MAP fit, in every draw; without that
    the mean of their tables would be mush.

    Parameters
    ----------
    dag, table, prior
        As in `lacunary.fit`; weights of rows with holes must be whole.
    draws, chains, thin
        How many draws each chain keeps, how many chains there are, and that every so many are kept.
    burn
        Steps before the first draw; the first half leads every chain from the prior to the posterior.
    rng
        Seed or generator.

    Examples
    --------
    >>> import lacunary as lac
    >>> dag = lac.dag("A -> B", states=2)
    >>> found = lac.posterior_mean(dag, lac.make_holes(lac.random_network(dag).sample(50, rng=0), 0.3, rng=0))
    >>> found.mixed
    True
    """
    dag, table = with_graph("posterior_mean", dag, table)
    _check(dag)
    problem = pose(dag, table, prior=prior, rng=rng)
    drawn = _named_alike(problem, gibbs(problem, draws, burn=burn, chains=chains, thin=thin))
    drawn = problem.scale.outward(dag, drawn)
    mean: Mean = chain_mean(drawn)
    network = Network(dag, dag.layout.normalize(mean.mean))
    return Sampled(network, drawn, mean.rhat, mean.ess, mean.stderr)


def _check(dag: Dag) -> None:
    """Refuse families without a conjugate posterior, and parameters whose mean says nothing."""
    for family in dag.families:
        if not family.conjugate:
            raise SchemaError(
                f"the family of {family.variable.name} is {family.phrase}, and Gibbs sampling needs "
                "conjugate ones; use fit(..., method='map')"
            )
    for variable in dag.schema:
        if variable.hidden and not variable.discrete:
            raise SchemaError(
                f"{variable.name} is hidden and continuous: it may change its sign from draw to draw, and "
                "the mean of its coefficients is zero; use fit(..., method='variational')"
            )


def _named_alike(problem: Problem, draws: Array) -> Array:
    """Return draws with hidden variables and their states called as in the MAP fit."""
    if not problem.dag.schema.hidden:
        return draws
    flat = draws.reshape(-1, draws.shape[-1])
    with_map = np.concatenate([problem.point("map").theta[None], flat])
    return aligned(problem.prepared, with_map, 0, [problem.belief.alpha])[1:].reshape(draws.shape)

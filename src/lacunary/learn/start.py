"""Where climbs begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.engine import Prepared, prepare
from lacunary.learn.em import maximize_rule
from lacunary.learn.loop import climb
from lacunary.learn.seed import Seeds
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag

__all__ = ["Around", "Draws", "Given", "Starts", "Tournament", "available_cases", "first_point"]


class Starts(Protocol):
    """A rule that gives the points from which to climb."""

    def points(
        self, belief: Belief, prior: Prior, table: Table, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the starting parameters; (starts, size)."""
        ...


@dataclass(frozen=True)
class Draws:
    """``count`` random draws from the prior.

    Hyperparameters below one are raised to one: a Dirichlet with smaller ones draws distributions
    with all weight on one state, in whose corner a climb would stay. Regressions start from the data,
    spread out where parents are hidden; see `lacunary.learn.seed`.
    """

    count: int

    def __post_init__(self) -> None:
        _check_count(self.count)

    def points(
        self, belief: Belief, prior: Prior, table: Table, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the draws."""
        layout = belief.dag.layout
        alpha = np.maximum(belief.alpha[: layout.tables], 1.0)
        tables = layout.normalize(rng.standard_gamma(alpha, size=(self.count, layout.tables)))
        if not layout.regressions:
            return tables
        out = np.concatenate([tables, np.zeros((self.count, layout.size - layout.tables))], axis=1)
        seeds = Seeds(belief, table)
        for theta in out:
            seeds.draw(theta, rng)
        return out


@dataclass(frozen=True)
class Tournament:
    """The halving tournament of CH96 section 3.

    ``count`` draws take one step; the better half takes two more, the better half of these four,
    and so on until one is left, which goes on until it stops. Better: of higher objective.
    """

    count: int = 64

    def __post_init__(self) -> None:
        _check_count(self.count)

    def points(
        self, belief: Belief, prior: Prior, table: Table, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the draws that enter."""
        return Draws(self.count).points(belief, prior, table, rng)


@dataclass(frozen=True)
class Around:
    """``count`` draws around the fit of the network without its hidden variables (TMCH98 section 5).

    Each distribution of an observed variable is drawn, anew for every configuration of its hidden
    parents, from a Dirichlet worth ``ess`` rows whose peak is the fitted distribution given the
    observed parents alone. Distributions of hidden variables start uniform.
    """

    count: int = 20
    ess: float = 200.0

    def __post_init__(self) -> None:
        _check_count(self.count)
        if not 0 < self.ess < np.inf:
            raise ParameterError(f"ess must be positive and finite, not {self.ess}")

    def points(
        self, belief: Belief, prior: Prior, table: Table, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the draws."""
        layout = belief.dag.layout
        if layout.regressions:
            raise ParameterError(
                "starts=Around(…) is for discrete networks; with continuous variables use "
                f"Draws({self.count})"
            )
        fitted = self._fitted(belief.dag, prior, table)
        center = layout.normalize(fitted)
        alpha = 1.0 + self.ess * center
        draws = layout.normalize(rng.standard_gamma(alpha, size=(self.count, alpha.size)))
        return np.where(fitted > 0, draws, center)

    def _fitted(self, dag: Dag, prior: Prior, table: Table) -> NDArray[np.float64]:
        """Return the fitted tables, added up where families are tied, zeros where all are hidden; (size,)."""
        seen = dag.without(dag.schema.hidden)
        rule = maximize_rule(prior(seen), "map", "softmax", None)
        prepared = prepare(seen, table.align(seen.schema))
        start = available_cases(prepared.packed.constant, prior(seen))
        climbs, interrupted = climb(prepared, rule, start[None], Stop(relative=1e-6))
        if interrupted:
            raise KeyboardInterrupt
        fitted = np.zeros(dag.layout.size)
        for i, variable in enumerate(dag.schema):
            if variable.hidden:
                continue
            shape = [dag.schema[p].size for p in dag.parents[i]] + [variable.size]
            known = seen.layout.table(climbs[0].theta, seen.schema.index(variable.name))
            spread = [1 if dag.schema[p].hidden else dag.schema[p].size for p in dag.parents[i]]
            full = np.broadcast_to(known.reshape([*spread, variable.size]), shape)
            fitted[dag.layout.slice(i)] += dag.layout.flat(full)
        return fitted


@dataclass(frozen=True, eq=False)
class Given:
    """Points that the caller has."""

    theta: NDArray[np.float64]

    def points(
        self, belief: Belief, prior: Prior, table: Table, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return them."""
        return self.theta


def available_cases(constant: NDArray[np.float64], belief: Belief) -> NDArray[np.float64]:
    """Return the predictive parameters given the rows in which a family is fully observed."""
    return belief.dag.layout.normalize(constant + belief.alpha)


def first_point(prepared: Prepared, belief: Belief, table: Table) -> NDArray[np.float64]:
    """Return the parameters that follow from the rows in which a family is fully observed; (size,)."""
    layout = belief.dag.layout
    if not layout.regressions:
        return available_cases(prepared.packed.constant, belief)
    theta = np.empty(layout.size)
    constant = prepared.packed.constant[: layout.tables]
    theta[: layout.tables] = layout.normalize(constant + belief.alpha[: layout.tables])
    Seeds(belief, table).plain(theta)
    return theta


def _check_count(count: int) -> None:
    if count < 1:
        raise ParameterError(f"at least one start is needed, not {count}")

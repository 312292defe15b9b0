"""Where climbs begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.rows import Sweep
from lacunary.learn.seed import Seeds
from lacunary.maths.arrays import Array

__all__ = ["Draws", "Given", "Starts", "Tournament", "available_cases", "check_count", "first_point"]


MOST = 1e6
"""Rows that a prior distribution is worth at most where starts are drawn."""


class Starts(Protocol):
    """A rule that gives the points from which to climb."""

    def points(self, belief: Belief, prior: Prior, table: Source, rng: np.random.Generator) -> Array:
        """Return the starting parameters; (starts, size)."""
        ...


@dataclass(frozen=True)
class Draws:
    """``count`` random draws from the prior.

    Hyperparameters below one are raised to one: a Dirichlet with smaller ones draws distributions
    with all weight on one state, in whose corner a climb would stay. Distributions worth more than a million
    rows are drawn as if worth that many: from tables that are all alike, a climb to the likelihood's maximum
    would not leave the saddle. Regressions start from the data, spread out where parents are hidden; see
    `lacunary.learn.seed`.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> blocs = lac.naive_bayes(votes, hidden="bloc", states=2)
    >>> len(lac.fit(blocs, votes, starts=lac.Draws(3)).starts)
    3
    """

    count: int

    def __post_init__(self) -> None:
        check_count(self.count)

    def points(self, belief: Belief, prior: Prior, table: Source, rng: np.random.Generator) -> Array:
        """Return the draws."""
        layout = belief.dag.layout
        held = belief.alpha[: layout.tables]
        alpha = np.maximum(held / np.maximum(layout.total(held)[layout.group] / MOST, 1.0), 1.0)
        tables = layout.drawn(np.tile(alpha, (self.count, 1)), rng)
        out = np.concatenate([tables, np.zeros((self.count, layout.size - layout.tables))], axis=1)
        seeds = Seeds(belief, table)
        for theta in out:
            seeds.draw(theta, rng)
        return out


@dataclass(frozen=True)
class Tournament(Draws):
    """The halving tournament of CH96 section 3.

    ``count`` draws take one step; the better half takes two more, the better half of these four,
    and so on until one is left, which goes on until it stops. Better: of higher objective.
    """

    count: int = 64


@dataclass(frozen=True, eq=False)
class Given:
    """Points that the caller has."""

    theta: Array

    def points(self, belief: Belief, prior: Prior, table: Source, rng: np.random.Generator) -> Array:
        """Return them."""
        return self.theta


def available_cases(constant: Array, belief: Belief) -> Array:
    """Return the predictive tables given counts of the rows in which a family is fully observed."""
    return belief.dag.layout.normalize(constant + belief.alpha[: len(constant)])


def first_point(prepared: Sweep, belief: Belief, table: Source) -> Array:
    """Return the parameters that follow from the rows in which a family is fully observed; (size,)."""
    tables, theta = belief.dag.layout.tables, np.empty(belief.dag.layout.size)
    theta[:tables] = available_cases(prepared.observed[:tables], belief)
    Seeds(belief, table).plain(theta)
    return theta


def check_count(count: int) -> None:
    """Refuse to climb from nowhere."""
    if count < 1:
        raise ParameterError(f"at least one start is needed, not {count}")

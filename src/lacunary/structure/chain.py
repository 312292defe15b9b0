"""A chain that walks over graphs, what holes hold and parameters, and so draws from their posterior.

By turns it draws what holes hold given graph and parameters, x | G, θ; the graph given complete rows, G | x;
and parameters, θ | G, x (data augmentation, Tanner & Wong 1987). With few variables G is drawn from all
graphs at once, and it is known how probable each arc is given x; with more, single arcs are put in, taken out
and turned round (Metropolis moves, Madigan & York 1995). Where variables are few and all are discrete,
parameters are integrated out instead (`lacunary.structure.collapsed`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import log
from typing import Any, Protocol

import numpy as np

from lacunary.budget import reserve
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.family.registry import family_class
from lacunary.infer import prior as priors
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.complete import completed
from lacunary.infer.completions import complete_statistics
from lacunary.infer.scale import Scale
from lacunary.infer.spread import Spread
from lacunary.learn.fit import fit
from lacunary.maths.arrays import Array
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.model.dag import Dag
from lacunary.structure.all_graphs import AllGraphs, drawn_charge, family_terms
from lacunary.structure.anneal import propose
from lacunary.structure.board import Board
from lacunary.structure.cache import Cache
from lacunary.structure.choose import score_of
from lacunary.structure.climb import climb
from lacunary.structure.constraints import Constraints
from lacunary.structure.move import Add, Move, Remove
from lacunary.structure.networks import standard
from lacunary.structure.numbers import Numbers
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import FamilyScore, Structure, total
from lacunary.structure.walk import Walk, dag_of

__all__ = ["BYTES", "Chain", "Draw", "Setting", "Walker", "whole_rows"]


MOVES = 4
"""Moves that are proposed between two draws of the holes, for every ordered pair of variables."""

FEW = 8
"""Variables up to which a graph is drawn from all graphs at once."""


KEPT = 500
"""Graphs of which it is kept what is believed beforehand."""

WAYS = 8
"""Ways to fill a row's states, on average, up to which all are gone through; beyond them an engine draws."""

BYTES = 1000
"""A chain, and a network that is kept of it, take more than this, whatever the table."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Where a chain stands after a step.

    Attributes
    ----------
    belief
        The graph, and what is believed of its parameters, in standardised columns.
    arcs
        How probable each arc is given the complete rows, where that is known, else whether it is there.
    log_posterior
        log p(complete rows | G) + log p(G).
    """

    belief: Belief
    arcs: Array
    log_posterior: float


@dataclass(eq=False)
class Setting:
    """What all chains on a table share: rows in standardised columns, and what is believed beforehand."""

    rows: Table
    scale: Scale
    prior: Prior
    structure_prior: StructurePrior
    constraints: Constraints
    about: NormalWishart | None = None
    known: FamilyScore | None = None
    terms: Array | None = None
    beforehand: dict[Structure, Belief] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, prior: Any, graphs: StructurePrior, constraints: Constraints) -> Setting:
        """Return the setting of a table."""
        scale, inside = standard(table, prior)
        names = [variable.name for variable in table.schema if not variable.discrete]
        known = priors.NormalWishart.of(inside.about, names, inside.tables) if names else inside
        return cls(scale.table(table), scale, known, graphs, constraints, inside.about if names else None)

    @property
    def few(self) -> bool:
        """Whether graphs are drawn from all at once."""
        return len(self.rows.schema) <= FEW

    @cached_property
    def numbers(self) -> Numbers | None:
        """Rows of numbers alone, with holes; None where there are others."""
        linear = all(family_class(v).linear for v in self.rows.schema)
        if self.about is None or not (linear and self.rows.holes.any()):
            return None
        return Numbers(self.rows.reals, self.about)

    @cached_property
    def spread(self) -> Spread | None:
        """Rows of states and numbers with every way to fill their states; None where these are many."""
        sizes, codes = np.array(self.rows.schema.sizes), self.rows.codes
        ways = np.where((codes == HOLE) & (sizes > 0), sizes, 1.0).prod(axis=1).sum()
        both = (sizes == 0).any() and (sizes > 0).any()
        return Spread(self.rows) if both and ways <= WAYS * len(codes) else None

    def filled(self, structure: Structure, theta: Array, rng: np.random.Generator) -> Complete:
        """Return the rows with their holes drawn from a network."""
        dag = self.before(structure).dag
        if self.numbers is not None:
            return self.numbers.drawn(dag, theta, rng)
        if not self.rows.holes.any():
            return CompleteTable(self, self.rows)
        if self.spread is not None:
            every = np.arange(len(self.rows))
            return CompleteTable(
                self, Table(self.rows.schema, *self.spread.under(dag, theta).draw(every, rng))
            )
        return CompleteTable(self, Table(self.rows.schema, *completed(dag, theta, self.rows, rng)))

    def before(self, structure: Structure) -> Belief:
        """Return what is believed of a graph's parameters beforehand."""
        found = self.beforehand.get(structure)
        if found is None:  # a chain comes back to few graphs again and again
            found = self.prior(dag_of(self.rows.schema, structure))
            if len(self.beforehand) < KEPT:
                self.beforehand[structure] = found
        return found

    def believed(self, structure: Structure, rows: Complete) -> Belief:
        """Return what is believed of a graph's parameters after rows without holes."""
        before = self.before(structure)
        return Belief(before.dag, before.alpha + rows.statistics(before.dag), before.surplus)

    def score(self, full: Table) -> FamilyScore:
        """Return the log evidence of families; where there are no holes it stays the same."""
        if self.known is not None:
            return self.known
        discrete = all(variable.discrete for variable in full.schema)
        score = Cache(score_of(full, "bd" if discrete else None, self.prior))
        self.known = None if self.rows.holes.any() else score
        return score

    def family_terms(self, score: FamilyScore) -> Array:
        """Return the terms of all families; where there are no holes they stay the same; (n, 2ⁿ)."""
        terms = family_terms(score, self.constraints) if self.terms is None else self.terms
        self.terms = None if self.rows.holes.any() else terms
        return terms


class Complete(Protocol):
    """Rows without holes, as a chain asks about them."""

    def score(self) -> FamilyScore:
        """Return the log evidence of families."""
        ...

    def statistics(self, dag: Dag) -> Array:
        """Return the statistics of a graph's families, in the places of its layout."""
        ...


@dataclass(frozen=True, eq=False)
class CompleteTable:
    """A table without holes."""

    setting: Setting
    table: Table

    def score(self) -> FamilyScore:
        """Return the log evidence of families."""
        return self.setting.score(self.table)

    def statistics(self, dag: Dag) -> Array:
        """Return the statistics of a graph's families, in the places of its layout."""
        return complete_statistics(dag, self.table.codes, self.table.reals, self.table.weights)


class Walker(Protocol):
    """A chain, as whoever sums its draws up sees it.

    Attributes
    ----------
    burn, least
        Steps that are left out at first, and steps that are taken in any case.
    seconds
        About how long a step takes, where that is known.
    """

    burn: int
    least: int
    seconds: float | None

    def step(self, climbing: bool = False) -> Draw:
        """Go on by a step; ``climbing``, the graph may go to the best near by first."""
        ...

    def walk(self, steps: int, climbing: bool = False) -> tuple[Array, Array]:
        """Go on by some steps; return each one's arcs and log posterior, (steps, n, n) and (steps,)."""
        ...


class Chain:
    """One chain: its graph, its parameters, and its own source of chance."""

    least = 64
    seconds: float | None = None

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        self.setting, self.rng = setting, rng
        self.structure: Structure = tuple(setting.constraints.start(None))
        dag = dag_of(setting.rows.schema, self.structure)
        self.theta = fit(dag, setting.rows, prior=setting.prior).network.theta
        self.burn = 20 if setting.few else 50

    def walk(self, steps: int, climbing: bool = False) -> tuple[Array, Array]:
        """Go on by some steps; return each one's arcs and log posterior, (steps, n, n) and (steps,)."""
        drawn = [self.step(climbing) for _ in range(steps)]
        return np.array([draw.arcs for draw in drawn]), np.array([draw.log_posterior for draw in drawn])

    def step(self, climbing: bool = False) -> Draw:
        """Draw holes, graph and parameters anew; ``climbing``, the graph goes to the best near by first."""
        full = self.setting.filled(self.structure, self.theta, self.rng)
        score = full.score()
        move = self._from_all if self.setting.few else self._by_moves
        self.structure, arcs = move(score, climbing)
        belief = self.setting.believed(self.structure, full)
        self.theta = belief.draw(self.rng)
        log_prior = self.setting.structure_prior.log_probability(self.structure)
        return Draw(belief, arcs, total(score, self.structure) + log_prior)

    def _from_all(self, score: FamilyScore, climbing: bool) -> tuple[Structure, Array]:
        """Draw from all graphs, given a charge for every link that is itself drawn given the graph."""
        prior = self.setting.structure_prior
        charge = drawn_charge(prior, prior.links(self.structure), self.rng)
        graphs = AllGraphs(self.setting.family_terms(score), prior.counted, charge)
        return graphs.draw(self.rng), graphs.arcs()

    def _by_moves(self, score: FamilyScore, climbing: bool) -> tuple[Structure, Array]:
        """Propose single changes, and take each as often as Metropolis' rule says."""
        prior, n = self.setting.structure_prior, len(self.structure)
        board = Board(score, self.setting.constraints, self.structure, prior)
        if climbing:
            climb(Walk("greedy", board, self.rng))
        for _ in range(MOVES * n * (n - 1)):
            move, chance = propose(board, self.rng)
            if move is not None and log(1.0 - chance) < board.delta(move) + _odds(move):
                board.apply(move)
        return board.parents, board.sketch.arcs.astype(np.float64)


def _odds(move: Move) -> float:
    """Return log p(back) / p(there): taking an arc out is proposed half as often as putting it in."""
    if isinstance(move, Add):
        return -log(2.0)
    return log(2.0) if isinstance(move, Remove) else 0.0


def whole_rows(table: Table) -> Table:
    """Return the table with as many equal rows as their weights say."""
    hidden = [variable.name for variable in table.schema if variable.hidden]
    if hidden:
        raise SchemaError(f"{hidden[0]} is hidden; averages are over graphs of observed variables alone")
    if not table.size > 0:
        raise TableError("the table has no rows that count; there is nothing to learn a graph from")
    if np.any(table.weights != np.floor(table.weights)):
        raise ParameterError("rows are drawn one by one, so their weights must be whole numbers")
    needed = table.size * (8.0 + 12.0 * len(table.schema))
    reserve(needed, f"{table.size:.4g} rows one by one", "give fewer rows, or smaller weights")
    times = np.repeat(np.arange(len(table)), table.weights.astype(np.int64))
    return Table(table.schema, table.codes[times], table.reals[times])

"""Averages over graphs: networks drawn as often as a table with holes speaks for them, and asked together.

Where rows are few no graph is much better than all others, and the best one is too sure of itself. A chain
walks over graphs G, what the holes hold x, and parameters θ, by turns,

    x | G, θ   the holes of every row drawn together;
    G | x      Metropolis moves: an arc put in, taken out or turned round, by the evidence p(x | G) p(G);
    θ | G, x   from the conjugate belief,

and so comes to draw from their posterior given what is observed (data augmentation, Tanner & Wong 1987; moves
among graphs, Madigan & York 1995). Each draw leaves the belief p(θ | G, x), with which rows are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.infer import prior as priors
from lacunary.infer.answers import as_source
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.complete import completed
from lacunary.infer.completions import complete_statistics
from lacunary.infer.ensemble import Ensemble
from lacunary.infer.scale import Scale
from lacunary.learn.fit import fit
from lacunary.model.dag import Dag
from lacunary.structure.anneal import propose
from lacunary.structure.board import Board
from lacunary.structure.cache import Cache
from lacunary.structure.choose import score_of
from lacunary.structure.climb import climb
from lacunary.structure.constraints import ArcsGiven, Constraints
from lacunary.structure.move import Add, Move, Remove
from lacunary.structure.networks import standard
from lacunary.structure.prior import PriorGiven, StructurePrior
from lacunary.structure.score import FamilyScore
from lacunary.structure.walk import Walk, dag_of, structure_of

__all__ = ["average_graphs"]

Array = NDArray[np.float64]

MOVES = 4
"""Moves that are proposed between two draws of the holes, for every ordered pair of variables."""


def average_graphs(
    table: Any,
    *,
    prior: Any = None,
    structure_prior: PriorGiven = None,
    draws: int = 20,
    burn: int = 10,
    required: ArcsGiven = (),
    forbidden: ArcsGiven = (),
    max_parents: int | None = None,
    tiers: Sequence[Sequence[str]] | None = None,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> Ensemble:
    """Learn many networks from a table with holes, each drawn from the posterior, to be asked as one.

    It fills holes better than the best graph alone, the more so the fewer the rows; see `lacunary.impute`.
    Variables may be discrete, continuous or both; none may be hidden.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path. Weights must be whole numbers.
    prior
        As of `search`: by default worth one row.
    structure_prior
        How probable graphs are beforehand, as of `search`.
    draws, burn
        How many networks are kept, and how many draws are left out before. The chain begins without arcs;
        in the first half of ``burn`` it climbs to the best graph near by before it moves at random.
    required, forbidden, max_parents, tiers
        As of `search`.
    watch
        Called with how many draws are done and how many there are.
    rng
        Seed or generator.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(60, rng=0), 0.2, rng=0)
    >>> many = average_graphs(rows, draws=4)
    >>> len(many.models)
    4
    >>> bool(lac.impute(many, rows).holes.any())
    False
    """
    if draws < 1 or burn < 0:
        raise ParameterError(f"draws must be at least 1 and burn not negative, not {draws} and {burn}")
    rows, random = _whole(as_source(table).whole("a chain over graphs")), np.random.default_rng(rng)
    limits: dict[str, Any] = {
        "required": required, "forbidden": forbidden, "max_parents": max_parents, "tiers": tiers
    }  # fmt: skip
    constraints = Constraints.of(rows.schema, **limits)
    chain = _Chain.of(rows, prior, StructurePrior.of(structure_prior, constraints), constraints, random)
    dag = dag_of(rows.schema, chain.constraints.start(None))
    theta = fit(dag, chain.rows, prior=chain.prior).network.theta
    kept: list[Belief] = []
    for step in range(burn + draws):
        if watch is not None:
            watch(step, burn + draws)
        belief = chain.step(dag, theta, climbing=2 * step < burn)
        dag, theta = belief.dag, belief.draw(random)
        if step >= burn:
            kept.append(chain.scale.believed_outside(belief))
    return Ensemble(tuple(kept), np.full(draws, 1.0 / draws))


@dataclass(eq=False)
class _Chain:
    """A table in standardised columns, what is believed of it beforehand, and a source of chance."""

    rows: Table
    scale: Scale
    prior: Prior
    structure_prior: StructurePrior
    constraints: Constraints
    rng: np.random.Generator
    known: FamilyScore | None = None

    @classmethod
    def of(
        cls,
        table: Table,
        prior: Any,
        graphs: StructurePrior,
        constraints: Constraints,
        rng: np.random.Generator,
    ) -> _Chain:
        scale, inside = standard(table, prior)
        names = [variable.name for variable in table.schema if not variable.discrete]
        known = priors.NormalWishart.of(inside.about, names, inside.tables) if names else inside
        return cls(scale.table(table), scale, known, graphs, constraints, rng)

    def step(self, dag: Dag, theta: Array, climbing: bool) -> Belief:
        """Draw the holes, then the graph, and return what is believed of its parameters."""
        full = self._filled(dag, theta)
        board = Board(self._score(full), self.constraints, structure_of(dag), self.structure_prior)
        if climbing:
            climb(Walk("greedy", board, self.rng))
        n = len(full.schema)
        for _ in range(MOVES * n * (n - 1)):
            move, chance = propose(board, self.rng)
            if move is not None and log(1.0 - chance) < board.delta(move) + _odds(move):
                board.apply(move)
        graph = dag_of(full.schema, board.parents)
        before = self.prior(graph)
        counted = complete_statistics(graph, full.codes, full.reals, full.weights)
        return Belief(graph, before.alpha + counted, before.surplus)

    def _filled(self, dag: Dag, theta: Array) -> Table:
        """Return the rows with their holes drawn."""
        if not self.rows.holes.any():
            return self.rows
        return Table(self.rows.schema, *completed(dag, theta, self.rows, self.rng))

    def _score(self, full: Table) -> FamilyScore:
        """Return the log evidence of families; where there are no holes it stays the same."""
        if self.known is not None:
            return self.known
        discrete = all(variable.discrete for variable in full.schema)
        score = Cache(score_of(full, "bd" if discrete else None, self.prior))
        self.known = None if self.rows.holes.any() else score
        return score


def _odds(move: Move) -> float:
    """Return log p(back) / p(there): taking an arc out is proposed half as often as putting it in."""
    if isinstance(move, Add):
        return -log(2.0)
    return log(2.0) if isinstance(move, Remove) else 0.0


def _whole(table: Table) -> Table:
    """Return the table with as many equal rows as their weights say."""
    hidden = [variable.name for variable in table.schema if variable.hidden]
    if hidden:
        raise SchemaError(f"{hidden[0]} is hidden; averages are over graphs of observed variables alone")
    if not table.size > 0:
        raise TableError("the table has no rows that count; there is nothing to learn a graph from")
    if np.any(table.weights != np.floor(table.weights)):
        raise ParameterError("rows are drawn one by one, so their weights must be whole numbers")
    times = np.repeat(np.arange(len(table)), table.weights.astype(np.int64))
    return Table(table.schema, table.codes[times], table.reals[times])

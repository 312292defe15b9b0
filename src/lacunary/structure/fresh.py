"""The end of structural EM: no graph near by is better when it is weighed afresh.

A search on expected statistics compares graphs by what the *present* one expects of the holes, which speaks
for the present one. So where the turns of EM and search have ended, neighbouring graphs are weighed one by
one, each with EM of its own, and the first that is better is gone to; the most promising come first. Of rows
that are not in memory here several are weighed in the same passes, which changes no bit. Where weighing is
cheap it goes on from the top as a tabu search would, and climbs from the graph too that is best on what a
saturated network expects, which leaves no dependence out. Last come graphs that are two changes away, such as
one in which a link has another end: those that score most on what the top expects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lacunary.structure.board import Board
from lacunary.structure.cache import Cache
from lacunary.structure.method import run
from lacunary.structure.neighbours import across, equivalents, near, pattern
from lacunary.structure.networks import Expected, Networks, Vectors
from lacunary.structure.plan import Plan, Weighed, is_above
from lacunary.structure.score import Structure, allowed_arcs
from lacunary.structure.walk import dag_of

if TYPE_CHECKING:
    from lacunary.structure.network_run import NetworkLearner

__all__ = ["Fresh", "Top"]

SECONDS = 5.0
"""About how long neighbours are weighed before the most promising must do, by an estimate."""

LEAST = 20
"""Neighbours that are weighed in any case."""

PATIENCE = 3
"""Steps that lead down before the walk from a top is given up."""

MEMBERS, FEW = 60, 12
"""Equivalent graphs around which neighbours are looked for, and variables up to which they are."""

ACROSS, SHARE = 8, 8
"""Graphs two changes away that are weighed: so many, or this part of how many were before, if more."""

SATURATED = 20_000
"""Cells up to which a network that leaves no dependence out is fitted."""

FIRST, TOGETHER = 8, 16
"""Graphs that are weighed in the same passes over rows that are far: the most promising, and at most."""


@dataclass(frozen=True, eq=False)
class Top:
    """A graph with its parameters, what it is worth with its prior, and how well that was checked.

    Attributes
    ----------
    weighed, neighbours
        How many graphs near by were weighed and found no better, of how many.
    """

    structure: Structure
    found: Weighed
    value: float
    weighed: int = 0
    neighbours: int = 0


@dataclass(eq=False)
class Fresh:
    """Graphs weighed afresh for a learner; see the module.

    Attributes
    ----------
    tell
        Called with each graph that is better than all before.
    left
        How many graphs may still be weighed.
    """

    learner: NetworkLearner
    plan: Plan
    tell: Callable[[Top], None]
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.most = max(LEAST, int(SECONDS / weigh_seconds(self.learner.networks)))
        self.left = 3 * self.most

    def best(self, model: Vectors, structure: Structure, value: float) -> Top:
        """Return the best graph that is found from the one where structural EM has ended."""
        here = Top(structure, Weighed(value - self.plan.log_prior([structure]), model, np.nan), value)
        top = self._climbed(here)
        other = self._saturated()
        if other is not None:
            self.tell(other)
            higher = self._climbed(other)
            top = higher if is_above(higher.value, top.value) else top
        while 0 < top.neighbours <= min(self.most, self.left) / PATIENCE:
            further = self._beyond(top) or self._across(top)
            if further is None:
                break
            top = self._climbed(further)
        return top

    def _climbed(self, top: Top) -> Top:
        """Go to the first neighbour that is better, until there is none."""
        while True:
            statistics = self.learner.expect(top.found.model)
            near_by = self._near(top, statistics)
            tried, better = 0, None
            for other in self._each(near_by[: min(self.most, max(self.left, LEAST))], statistics):
                tried += 1
                if is_above(other.value, top.value):
                    better = other
                    break
            if better is None:
                return replace(top, weighed=tried, neighbours=len(near_by))
            top = better
            self.tell(top)

    def _beyond(self, top: Top) -> Top | None:
        """Return a better graph a few steps away, each to the best neighbour that was not yet gone to."""
        here, gone = top, {pattern(top.structure)}
        for _ in range(PATIENCE):
            statistics = self.learner.expect(here.found.model)
            others = [s for s in self._near(here, statistics) if pattern(s) not in gone]
            if not others or len(others) > self.left:
                return None
            here = max(self._each(others, statistics), key=lambda each: each.value)
            gone.add(pattern(here.structure))
            if is_above(here.value, top.value):
                self.tell(here)
                return here
        return None

    def _across(self, top: Top) -> Top | None:
        """Return a better graph two changes away, of those that are best on expected statistics."""
        statistics = self.learner.expect(top.found.model)
        board = Board(Cache(statistics[0].score), self.plan.constraints, top.structure, self.plan.prior)
        spent = 3 * self.most - self.left
        for other in self._each(across(board, self._members(top), max(spent // SHARE, ACROSS)), statistics):
            if is_above(other.value, top.value):
                self.tell(other)
                return other
        return None

    def _near(self, top: Top, statistics: list[Expected]) -> list[Structure]:
        board = Board(Cache(statistics[0].score), self.plan.constraints, top.structure, self.plan.prior)
        return [structure for structure, _ in near(board, self._members(top))]

    def _members(self, top: Top) -> list[Structure]:
        many = MEMBERS if len(top.structure) <= FEW else 1
        return equivalents(top.structure, self.plan.constraints, many)

    def _each(self, structures: Sequence[Structure], statistics: list[Expected]) -> Iterator[Top]:
        """Weigh graphs one after the other; where a pass over the rows is a long way, several at once."""
        far = bool(structures) and self.learner.networks.far(statistics[0].structure)
        place, size = 0, FIRST if far else 1
        while place < len(structures):
            some = structures[place : place + size]
            place, size = place + size, min(2 * size, TOGETHER) if far else 1
            if far:
                statistics[0].announce(some)
            models = [self.learner.maximize(statistics, [structure]) for structure in some]
            for structure, found in zip(some, self.learner.weigh_together(models), strict=True):
                self.left -= 1
                yield Top(structure, found, found.value + self.plan.log_prior([structure]))

    def _saturated(self) -> Top | None:
        """Return the graph that is best on what a network with all arcs expects, where that can be fitted."""
        schema, plan = self.learner.schema, self.plan
        cells = prod(variable.size for variable in schema if variable.discrete)
        reals = sum(not variable.discrete for variable in schema)
        if schema.hidden or cells * (reals + 1) ** 2 > SATURATED or self.left < LEAST:
            return None
        full = _complete(self.learner.networks)
        model = self.learner.begin(full, np.random.default_rng(0))  # nothing is hidden: nothing is drawn
        statistics = self.learner.expect(self.learner.weigh(model, [full]).model)
        start = dag_of(schema, plan.constraints.start(None))
        walk, _ = run(plan.method, statistics[0].score, plan.constraints, start, prior=plan.prior)
        return next(self._each([walk.best], statistics))


def _complete(networks: Networks) -> Structure:
    """Return a graph with every arc that the variables' kinds allow, from earlier columns to later ones."""
    allowed = allowed_arcs(networks.schema)
    order = sorted(range(len(allowed)), key=lambda i: (-int(allowed[i].sum()), i))
    before = {node: order[:place] for place, node in enumerate(order)}
    return tuple(
        tuple(sorted(p for p in before[child] if allowed[p, child])) for child in range(len(allowed))
    )


def weigh_seconds(networks: Networks) -> float:
    """Return about how long it takes to weigh a graph."""
    kinds = {variable.discrete for variable in networks.schema}
    per_cell = 4e-5 if len(kinds) == 2 else 1.2e-6 if True in kinds else 2e-5
    return 4e-3 + per_cell * len(networks.source) * len(networks.schema)

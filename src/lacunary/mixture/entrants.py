"""What enters the tournaments of a mixture's beginnings, and how far each climbs before it is judged.

Judging must be cheap: a round of EM and greedy search tells apart what ends apart, and the search that takes
variables out and puts them back, which costs more than all rounds together, is left to those that win.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunary.infer.parallel import in_parallel
from lacunary.learn.places import Places
from lacunary.maths.arrays import Array, Booleans
from lacunary.mixture.begin import Beginning, Beginnings, Entrant, Maker, best_of, halved
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.structure.climb import Greedy
from lacunary.structure.hidden import start_of
from lacunary.structure.plan import Plan, State
from lacunary.structure.run import Runner
from lacunary.structure.score import FamilyScore, Structure, Sum, total
from lacunary.structure.tree import best_forest
from lacunary.structure.walk import structure_of

__all__ = ["Entrants"]

SPLITS, MERGES = 2, 3
"""Components split, and pairs merged, in a tournament."""

MORE = 3
"""Exchanges of rows, draws of k-means++, and draws around the fit to all rows, with which one tries again."""

ROUNDS = 2
"""Rounds of EM and search before entrants are judged: the first is without arcs, and says little."""

LAST = 1000
"""Entrants with structures are judged once: this many times fewer than all go on, but for the winners."""

FINAL = 32
"""Steps of EM before the best groups of either geometry meet, where structures are fixed."""


class Entrants:
    """Beginnings made ready to climb, for mixtures of one class.

    Attributes
    ----------
    plan
        How a climb goes on to the end.
    graphs
        The components' graphs where they are given: one for all, or one each.
    initial
        A mixture to begin with in place of all else.
    runner
        Returns who climbs: for so many components, by a plan.
    """

    def __init__(
        self,
        learner: MixtureLearner,
        plan: Plan,
        begin: Beginnings,
        runner: Callable[[int, Plan], Runner],
    ) -> None:
        self.learner, self.plan, self.begin, self.runner = learner, plan, begin, runner
        self.graphs: tuple[Structure, ...] = ()
        self.initial: Beginning | None = None

    @cached_property
    def rough(self) -> Plan:
        """The plan without its last and dearest search, where structures are looked for to the end."""
        program = self.plan.program
        ends = bool(program) and program[-1].what == "end" and program[-1].searches
        free = [step for step in program if step.what == "search" or step is program[-1]]
        starred = all(step.repeat is not None and step.repeat.at(0) is None for step in free)
        if self.plan.structure != "learn" or self.plan.refine != "once" or not (ends and starred):
            return self.plan
        return replace(self.plan, method=Greedy(), refine="never")

    def known(self, many: int) -> Entrant | None:
        """Return the one beginning where there is but one: a mixture, classes, or all rows together."""
        labels = self.learner.labels
        if self.initial is not None:
            return self.entrant(self.initial, many)
        if labels is not None:  # rows whose class is missing are nobody's at first
            return self.entrant(Beginning("the classes", labels.then(_alone), many), many)
        if many == 1 and self.learner.noise is None:
            return self.entrant(self._all, many)
        return None

    def first(self, many: int, member: bool) -> list[Entrant]:
        """Return groups of rows, and a draw around the fit to all rows; of a member, merged groups alone.

        Where structures are looked for, members of the class have begun with the plain geometry already.
        """
        if many == 1:
            entrants = [self.early(self._all, many)]
        else:
            entrants = self._made(self.begin.groups(many, 0 if member else 1, self._places), many)
        return entrants if member else [*entrants, self.drawn(many, 0)]

    def split(self, model: Parameters, many: int) -> Iterator[Entrant]:
        """Yield a smaller mixture with a component split."""
        for beginning in self.begin.split(model, SPLITS):
            yield self.entrant(beginning, many)

    def merged(self, model: Parameters, many: int) -> Iterator[Entrant]:
        """Yield a larger mixture with two components made one."""
        for beginning in self.begin.merged(model, MERGES):
            yield self.entrant(beginning, many)

    def exchanged(self, model: Parameters, many: int, turn: int) -> Iterator[Entrant]:
        """Yield a mixture with rows exchanged between components."""
        for beginning in self.begin.exchanged(model, range(MORE * turn, MORE * (turn + 1))):
            yield self.entrant(beginning, many)

    def fresh(self, many: int, turn: int) -> list[Entrant]:
        """Return further groups by k-means++, and further draws around the fit to all rows."""
        numbers = range(MORE * turn + 1, MORE * (turn + 1) + 1)
        makers = (self.begin.k_means(many, numbers, place) for place in self._places or [self.begin.plain])
        entrants = self._made(chain.from_iterable(makers), many)
        return [*entrants, *(self.drawn(many, number) for number in numbers)]

    def _made(self, makers: Iterable[Maker], many: int) -> list[Entrant]:
        """Return entrants with the groups of rows that are made."""
        return list(self._each(many)(lambda make: self.early(make(), many), makers))

    def _each(self, many: int) -> Callable[..., Iterable[Any]]:
        """Return what applies a function to all entrants: at once, where that pays."""
        return in_parallel if self.learner.at_once(many) else map

    def drawn(self, many: int, number: int) -> Entrant:
        """Return a draw around the fit to all rows."""
        structures = self.firsts(many)
        model = self.begin.drawn(structures, number)
        return self._entered("a draw", self.runner(many, self.rough).begin(model, structures))

    def early(self, beginning: Beginning, many: int) -> Entrant:
        """Return groups of rows as an entrant for which EM comes before structures are looked for."""
        if self.plan.structure != "learn":
            return self.entrant(beginning, many)
        model = self.begin.entered(beginning, self.first_structure, None)
        return self._entered(
            beginning.how, self.runner(many, self.rough).begin(model, model.models.structures)
        )

    def entrant(self, beginning: Beginning, many: int) -> Entrant:
        """Return groups of rows as an entrant."""
        if self.plan.structure != "learn":
            kept = self.plan.structure == "given" and beginning is self.initial
            beginning = replace(beginning, structures=self.firsts(many) if kept else None)
        find = self._forest if self.plan.structure == "tree" else None
        if len(self.graphs) > 1 and not beginning.structures:
            find = self._matched
        model = self.begin.entered(beginning, self.first_structure, find)
        if self.plan.structure == "learn":
            return self._entered(beginning.how, self.searching(model, model.models.structures))
        state = self.runner(many, self.rough).begin(model, model.models.structures)
        return self._entered(beginning.how, state, beginning.sphered)

    def searching(self, model: Parameters, structures: Sequence[Structure]) -> State:
        """Return the state in which structures are looked for on what a model expects, before EM goes on."""
        runner = self.runner(len(structures), self.rough)
        steps = [step.what for step in runner.program]
        if "complete" not in steps or steps[steps.index("complete") + 1] != "search":
            return runner.begin(model, model.models.structures)
        return replace(runner.begin(model, structures), place=steps.index("complete"))

    def winners(
        self, entrants: Sequence[Entrant], many: int, winners: int, member: bool = False
    ) -> list[Entrant]:
        """Return the entrants that climb to the end, best first.

        Where structures are fixed, groups of uncorrelated columns and all others meet late, but for members,
        which are beginnings themselves: a few steps of EM tell which groups begin higher, not which end so.
        """
        leg, each = self.leg(many), self._each(many)
        if self.plan.structure == "learn":
            return halved(entrants, winners, leg, LAST, each)
        heats = [[one for one in entrants if one.sphered is sphered] for sphered in (True, False)]
        if member or not all(heats):
            return halved(entrants, winners, leg, each=each)
        last = [one for heat in heats for one in halved(heat, winners, leg, each=each)]
        return best_of(list(each(lambda one: leg(one, FINAL), last)))[:winners]

    def leg(self, many: int) -> Callable[[Entrant, int], Entrant]:
        """Return a step of the tournament: EM where structures are fixed, else a round of EM and search."""

        def climbed(entrant: Entrant, steps: int) -> Entrant:
            state, runner = entrant.state, self.runner(many, self.rough)
            if self.plan.structure == "learn":
                state = [state, *islice(runner.run(state), ROUNDS)][-1]
            else:
                state, _ = self.learner.climb(runner.notes, state, steps)
            return replace(entrant, state=state, value=self.worth(state))

        return climbed

    def worth(self, state: State) -> float:
        """Return what a mixture is worth where it is: estimate and log prior; nothing if degenerate."""
        if self.learner.degenerate(state.model):
            return -np.inf
        value = self.learner.weigh(state.model, state.structures).value
        return value + self.plan.log_prior(state.structures)

    def firsts(self, many: int) -> tuple[Structure, ...]:
        """Return the structures that components begin with where they are not groups of rows."""
        return self.graphs if len(self.graphs) == many else (self.first_structure,) * many

    @cached_property
    def first_structure(self) -> Structure:
        """The structure of every component at the start."""
        if self.graphs:
            return self.graphs[0]
        if self.plan.structure == "complete":
            return tuple(tuple(range(child)) for child in range(len(self.plan.constraints.schema)))
        return structure_of(start_of(self.plan.constraints, None))

    @cached_property
    def _all(self) -> Beginning:
        return Beginning("all rows", self.learner.engine.row_weights.then(_whole), 1)

    @cached_property
    def _places(self) -> list[Places]:
        """The geometries in which groups are looked for."""
        learned = self.plan.structure == "learn"
        return [p for p in (self.begin.sphered, None if learned else self.begin.plain) if p is not None]

    def _entered(self, how: str, state: State, sphered: bool = False) -> Entrant:
        return Entrant(how, state, fixed=self.plan.fixed, sphered=sphered)

    def _matched(self, scores: Sequence[FamilyScore]) -> list[Structure]:
        """Return given graphs in the order in which they fit the components best."""
        worth = np.array([[total(score, graph) for graph in self.graphs] for score in scores])
        _, order = linear_sum_assignment(worth, maximize=True)
        return [self.graphs[int(g)] for g in order]

    def _forest(self, scores: Sequence[FamilyScore]) -> list[Structure]:
        """Return the best forest of every component, or of all together where they share one."""
        rules = self.plan.constraints
        if self.plan.shared:
            return [tuple(best_forest(Sum(scores), rules, self.plan.prior))] * len(scores)
        return [tuple(best_forest(score, rules, self.plan.prior)) for score in scores]


def _alone(labels: Booleans) -> Array:
    """Return ones where a row's component is known."""
    return np.asarray((labels & (labels.sum(axis=1) == 1)[:, None]).astype(np.float64))


def _whole(weights: Array) -> Array:
    return np.ones((len(weights), 1))

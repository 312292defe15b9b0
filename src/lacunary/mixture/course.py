"""Learn one mixture with a given number of components: EM, and structure search on expected data.

TMCH98 section 5, Figure 1: ((EM)^10 Ec S* M)*. EM for some steps; the expected statistics of the complete
model, once; a search of every component's structure on them; the parameters that go with the structures
found. When no structure changes, EM is run to convergence and the search is tried once more (footnote 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunary.learn.stop import Stop
from lacunary.mixture.blend import Blend, Completed, Mixer
from lacunary.mixture.component import Structure
from lacunary.structure.board import Board
from lacunary.structure.rules import Rules
from lacunary.structure.score import FamilyScore
from lacunary.structure.tree import best_forest

__all__ = ["CONVERGED", "Course", "Plan", "State", "Tick"]

CONVERGED = Stop(share=1e-6, iterations=1000)
"""EM has converged when the last change is a millionth of the change since the start (TMCH98 section 6)."""

EMPTY = 1.0
"""A component with less than one row's worth of shares is taken out."""


@dataclass(frozen=True)
class Tick:
    """One step of learning, as `watch` and the path see it.

    Attributes
    ----------
    phase
        "em", "search", "maximize" or "remove".
    components, arcs
        How the mixture stands.
    objective
        Log-likelihood plus log prior density after EM; the evidence of the expected data after a search.
    cheeseman_stutz
        The estimate there, where it was asked for.
    """

    phase: str
    components: int
    arcs: int
    objective: float
    cheeseman_stutz: float | None = None


@dataclass(frozen=True, eq=False)
class State:
    """Where learning is: enough to go on as if it had never stopped."""

    blend: Blend
    structures: tuple[Structure, ...]
    forced: bool = False
    done: bool = False
    converged: bool = False
    ticks: tuple[Tick, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """How one mixture is learned.

    Attributes
    ----------
    structure
        "learn", "tree", "empty" or "complete".
    rules
        Which graphs are looked for.
    em_steps
        Steps of EM before a search; None for as many as it takes.
    moves
        The most moves of one search in one component; None for as many as gain.
    stop
        When EM has converged; TMCH98: the last change over the change since the start below 1e-6.
    rounds
        The most rounds of EM and search.
    trace
        Whether Cheeseman–Stutz is worked out after every arc change (TMCH98 Figure 4).
    """

    structure: str
    rules: Rules
    em_steps: int | None = 10
    moves: int | None = None
    stop: Stop = CONVERGED
    rounds: int = 100
    trace: bool = False


class Course:
    """Learning one mixture, a round at a time."""

    def __init__(self, mixer: Mixer, plan: Plan, tell: Callable[[State, Tick], None]) -> None:
        self.mixer, self.plan, self.tell = mixer, plan, tell

    def begin(self, components: int, ess: float, rng: np.random.Generator) -> State:
        """Return the start with so many components."""
        structures = (self._first(),) * components
        return State(self.mixer.begin(structures, ess, rng), structures)

    def rounds(self, state: State) -> Iterator[State]:
        """Go on until nothing changes; after every round the state from which one can go on."""
        for _ in range(self.plan.rounds):
            if state.done:
                return
            state = self._round(state)
            yield state

    def _first(self) -> Structure:
        """Return the structure of every component at the start."""
        if self.plan.structure == "complete":
            return tuple(tuple(range(child)) for child in range(len(self.plan.rules.schema)))
        first = self.mixer.engine.start
        return tuple(
            tuple(sorted({*parents, *map(int, np.flatnonzero(self.plan.rules.required[:, child]))}))
            for child, parents in enumerate(first)
        )

    def _round(self, state: State) -> State:
        fixed = self.plan.structure in ("empty", "complete")
        steps = None if fixed or state.forced else self.plan.em_steps
        state, converged = self._em(state, steps)
        if fixed:
            return replace(state, done=True, converged=converged)
        completed = self.mixer.expect(state.blend)
        found, state = self._search(state, completed)
        changed = found != state.structures
        blend = self.mixer.maximize(completed, found) if changed else state.blend
        over = not changed and (state.forced or self.plan.em_steps is None)
        return replace(
            state, blend=blend, structures=found, forced=not changed, done=over, converged=over and converged
        )

    def _em(self, state: State, steps: int | None) -> tuple[State, bool]:
        """Take steps of EM, or as many as it takes; components left without rows are taken out."""
        stop = self.plan.stop
        first = before = -np.inf
        for step in range(stop.iterations if steps is None else steps):
            completed = self.mixer.expect(state.blend)
            objective = completed.log_likelihood + self.mixer.log_prior(state.blend)
            state = self._note(state, "em", objective)
            first = objective if step == 0 else first
            if steps is None and step and bool(stop.met(*map(np.asarray, (first, before, objective)))):
                return state, True
            before = objective
            completed, state = self._without_empty(state, completed)
            state = replace(state, blend=self.mixer.maximize(completed, state.structures))
        return state, False

    def _without_empty(self, state: State, completed: Completed) -> tuple[Completed, State]:
        """Take out components that have lost their rows, unless they are all there is."""
        many = len(state.structures)
        kept = completed.counts[:many] >= EMPTY
        if kept.all() or not kept.any():
            return completed, state
        noise = [True] * (len(completed.counts) - many)
        weights = state.blend.weights[np.append(kept, noise).astype(bool)]
        blend = Blend(
            self.mixer.engine.keep(state.blend.models, kept), weights / weights.sum(), state.blend.noise
        )
        structures = tuple(s for s, keep in zip(state.structures, kept, strict=True) if keep)
        state = replace(state, blend=blend, structures=structures)
        completed = self.mixer.expect(blend)
        return completed, self._note(state, "remove", completed.log_likelihood + self.mixer.log_prior(blend))

    def _search(self, state: State, completed: Completed) -> tuple[tuple[Structure, ...], State]:
        """Return the structures a search finds on the expected data, from the present ones."""
        found = list(state.structures)
        scores = self.mixer.engine.scores(completed.statistics)
        for c, score in enumerate(scores):
            if self.plan.structure == "tree":
                found[c] = tuple(best_forest(score, self.plan.rules))
                continue
            for structure in _climb(score, self.plan, found[c]):
                found[c] = structure
                if self.plan.trace:
                    state = self._traced(state, completed, found)
        criterion = self.mixer.log_evidence(completed, found)
        return tuple(found), self._note(replace(state), "search", criterion, structures=found)

    def _traced(self, state: State, completed: Completed, found: Sequence[Structure]) -> State:
        blend = self.mixer.maximize(completed, found)
        value = self.mixer.cheeseman_stutz(blend, found).value
        return self._note(state, "move", self.mixer.log_evidence(completed, found), value, found)

    def _note(
        self,
        state: State,
        phase: str,
        objective: float,
        cheeseman_stutz: float | None = None,
        structures: Sequence[Structure] | None = None,
    ) -> State:
        """Add a step to the path and tell the one who watches."""
        shown = state.structures if structures is None else structures
        arcs = sum(len(parents) for structure in shown for parents in structure)
        tick = Tick(phase, len(shown), arcs, objective, cheeseman_stutz)
        state = replace(state, ticks=(*state.ticks, tick))
        self.tell(state, tick)
        return state


def _climb(score: FamilyScore, plan: Plan, structure: Structure) -> Iterator[Structure]:
    """Yield the structures of a greedy climb, one after every move that gains."""
    board = Board(score, plan.rules, list(structure))
    taken = 0
    while plan.moves is None or taken < plan.moves:
        move, gain = board.best()
        if move is None or gain <= board.tie:
            return
        board.apply(move)
        taken += 1
        yield board.parents

"""The one interpreter of schedules such as ((EM)^10 Ec S* M)*: EM and search by turns (TMCH98 section 5).

Some steps of EM; the expected statistics of the complete model, once; a search of every structure on them;
the parameters that go with what was found. Where no structure changes, EM is run to convergence and the
search is tried once more (note 4). A run can be left between any two instructions, and goes on as if it
never had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lacunary.structure.climb import Greedy, climb
from lacunary.structure.method import SearchMethod, run
from lacunary.structure.plan import Learner, Notes, Plan, State, Tick, Weighed, arcs_of, is_above
from lacunary.structure.prior import StructurePrior
from lacunary.structure.result import Round
from lacunary.structure.schedule import Instruction
from lacunary.structure.score import FamilyScore, Structure, Sum
from lacunary.structure.tree import as_good_forest
from lacunary.structure.walk import SearchProgress, Walk, WatchSearch, dag_of, structure_of

__all__ = ["Runner"]


@dataclass(frozen=True)
class _Moves:
    """So many of the best moves: S^k."""

    most: int
    name: str = "greedy"

    def run(self, walk: Walk) -> None:
        climb(walk, self.most)


class Runner:
    """A schedule carried out for a learner; `notes` has the last state from which one can go on."""

    def __init__(
        self,
        learner: Learner,
        plan: Plan,
        tell: Callable[[State, Tick], None],
        moved: Callable[[State, SearchProgress], object] | None = None,
    ) -> None:
        self.learner, self.plan, self.moved = learner, plan, moved
        self.program, self.notes = plan.program, Notes(plan.stop, tell)
        self._statistics: Any = None

    def begin(self, model: Any, structures: Sequence[Structure], seed: int = 0) -> State:
        """Return the state before the first instruction."""
        zeros = (0,) * len(self.program)
        state = State(model, tuple(structures), visits=zeros, turns=zeros, seed=seed)
        if self.plan.weigh:
            state = self.weighed(state, self.learner.weigh(model, state.structures))
        return state

    def run(self, state: State) -> Iterator[State]:
        """Carry the schedule out; after every round yield the state from which one can go on."""
        self.notes.kept = state
        while True:
            while not state.done and state.round < self.plan.rounds:
                self.notes.kept = state = replace(self._round(state), round=state.round + 1)
                yield state
            again = self._escaped(state) or self._charged(state)
            if again is None:
                return
            self.notes.kept = state = again
            yield state

    def _round(self, state: State) -> State:
        """Go on to the next end of a bracket in which a search is, or to the end."""
        while state.place < len(self.program):
            here, instruction = state.place, self.program[state.place]
            times = instruction.repeat.at(state.visits[here]) if instruction.repeat else 1
            if instruction.what == "end":
                state = self._end(replace(state, place=here + 1), here, instruction, times)
                if instruction.searches:
                    return state
            else:
                state = self._do(state, instruction.what, times)
                self.notes.kept = state = replace(state, place=here + 1, visits=_more(state.visits, here))
        if state.before is not None and self.plan.weigh:  # the schedule ends outside a bracket
            state = replace(self._judge(state)[0], converged=True)
        return replace(state, done=True, converged=state.converged or state.em_converged)

    def _do(self, state: State, what: str, times: int | None) -> State:
        if what == "em":
            state, over = self.learner.climb(self.notes, state, None if state.forced else times)
            return replace(state, em_converged=over)
        if what == "complete":
            self._statistics = self.learner.expect(state.model)
            return replace(state, source=state.model)
        if self._statistics is None:  # taken up again from a state that was kept
            self._statistics = self.learner.expect(state.source)
        if what == "maximize":
            return replace(state, model=self.learner.maximize(self._statistics, state.structures))
        before = state.structures if state.before is None else state.before
        return replace(self._search(state, self._statistics, times), before=before)

    def _end(self, state: State, here: int, instruction: Instruction, times: int | None) -> State:
        """At the end of a bracket: go back to its beginning, or on if it is over."""
        state = replace(state, turns=_more(state.turns, here))
        over = times is not None and state.turns[here] >= times
        if instruction.searches:
            state, met = self._judge(state)
            over = met if times is None else over
        elif times is None:  # counted steps of EM need not tell that they have converged
            over = state.em_converged or state.turns[here] >= self.plan.stop.iterations
        if not over:
            return replace(state, place=instruction.back)
        turns = (*state.turns[:here], 0, *state.turns[here + 1 :])
        return replace(state, turns=turns, visits=_more(state.visits, here))

    def _judge(self, state: State) -> tuple[State, bool]:
        """Tell whether the stopping rule is met; where only EM had not converged, force it to (note 4)."""
        changed = state.before is not None and state.before != state.structures
        state, risen = replace(state, before=None), True
        if self.plan.weigh or self.plan.until == "score":
            top = state.top
            state = self.weighed(state, self.learner.weigh(state.model, state.structures), changed)
            risen = self.plan.until == "structure" or state.top > top
        if changed and not risen:
            assert state.best is not None
            model, structures, _ = state.best
            return replace(state, model=model, structures=structures, forced=False, converged=True), True
        if changed:
            return replace(state, forced=False), False
        over = state.em_converged
        return replace(state, forced=not over, converged=over), over

    def weighed(self, state: State, found: Weighed, changed: bool = True, escape: bool = False) -> State:
        """Return the state with a round noted, and kept as the best if it is, with its prior."""
        [first, *_], prior = state.structures, self.plan.log_prior(state.structures)
        value = found.value + prior
        if self.plan.weigh:
            arrows = str(dag_of(self.plan.constraints.schema, first))
            numbers = (
                arcs_of(state.structures), state.moves, state.criterion, found.value, found.log_likelihood
            )  # fmt: skip
            noted = Round(arrows, *numbers, changed, state.forced, escape, prior)
            state = replace(state, rounds=(*state.rounds, noted))
        best = -np.inf if state.best is None else state.best[2]
        if is_above(value, best) or self.plan.until == "structure":
            state = replace(state, best=(found.model, state.structures, value))
        if is_above(value, state.top):
            state = replace(state, top=value)
        return self.notes.note(state, "round", value, found.value)

    def _escaped(self, state: State) -> State | None:
        """Return where to begin again from larger graphs, if the last leg led to better ones than before.

        What a network without an arc expects of two variables is diluted where either is a hole, and that
        keeps the arc out: a local maximum of the turns, not of the estimate. Larger graphs are found on
        statistics that make up for it (`Learner.enlarged`); whether they lead higher, the estimate tells.
        """
        gained = state.best is not None and is_above(state.top, state.mark)
        if not (gained and state.converged and state.escapes < self.plan.escapes) or state.charged:
            return None
        assert state.best is not None
        model, structures, value = state.best
        statistics = self.learner.enlarged(model)
        if statistics is None:
            return None
        found = self._search(replace(state, model=model, structures=structures), statistics, None)
        if found.structures == structures:
            return None
        model, zeros = self.learner.maximize(statistics, found.structures), (0,) * len(self.program)
        weighed = self.learner.weigh(model, found.structures)
        again = replace(
            found, model=weighed.model, place=0, visits=zeros, turns=zeros, converged=False, done=False,
            escapes=state.escapes + 1, top=-np.inf, mark=value,
        )  # fmt: skip
        return self.weighed(again, weighed, escape=True)

    def _charged(self, state: State) -> State | None:
        """Return where to begin again with the prior in every search, from the best graph met without it."""
        plan, zeros = self.plan, (0,) * len(self.program)
        if not (plan.late and state.converged and state.best) or state.charged or not plan.prior.logs.any():
            return None
        model, structures, value = state.best
        return replace(
            state, model=model, structures=structures, place=0, visits=zeros, turns=zeros, converged=False,
            done=False, charged=True, top=value,
        )  # fmt: skip

    def _search(self, state: State, statistics: Any, moves: int | None) -> State:
        """Return the state with the structures that a search finds on expected statistics."""
        plan, found = self.plan, list(state.structures)
        prior = plan.prior if state.charged or not plan.late else None
        scores = self.learner.scores(statistics)
        parts: list[tuple[slice, FamilyScore]] = [(slice(c, c + 1), s) for c, s in enumerate(scores)]
        if plan.shared:
            parts = [(slice(len(found)), Sum(scores))]
        way = _Moves(moves) if moves is not None else plan.method if plan.refine == "never" else Greedy()
        state = replace(state, moves=0)
        for part, score in parts:
            if plan.structure == "tree":
                forest = as_good_forest(score, plan.constraints, prior, found[part][0])
                found[part] = [forest] * len(found[part])
            else:
                state = self._walked(state, way, score, found, part, statistics, prior)
        phase = "search"
        if moves is None and tuple(found) == state.structures and plan.refines(state):
            phase, state = "refine", replace(state, moves=0)
            for part, score in parts:
                state = self._walked(state, plan.method, score, found, part, None, prior)
        criterion = self.learner.log_evidence(statistics, found)
        state = self.notes.note(state, phase, criterion, structures=found)
        return replace(state, structures=tuple(found), criterion=criterion)

    def _walked(
        self,
        state: State,
        method: SearchMethod,
        score: FamilyScore,
        found: list[Structure],
        part: slice,
        traced: Any,
        prior: StructurePrior | None,
    ) -> State:
        """Search for the structure of some networks, and put what is found into the list of all.

        With statistics to be ``traced``, and where the plan asks for it, every move is weighed.
        """
        plan, many, here = self.plan, len(found[part]), state

        def trace(progress: SearchProgress) -> None:
            nonlocal here
            found[part] = [structure_of(progress.trail().dag)] * many
            value = self.learner.weigh(self.learner.maximize(traced, found), found).value
            here = self.notes.note(here, "move", self.learner.log_evidence(traced, found), value, found)

        watch = trace if plan.trace and traced is not None else self._inner(state)
        known = found[part][0]
        start = known if plan.constraints.admit(known) else dag_of(plan.constraints.schema, known)
        walk, interrupted = run(
            method, score, plan.constraints, start, prior=prior, watch=watch, rng=state.seed + state.round
        )
        if interrupted:
            raise KeyboardInterrupt
        found[part] = [walk.best] * many
        path = (*here.path, *walk.path) if plan.weigh else ()
        return replace(here, moves=here.moves + walk.steps, path=path)

    def _inner(self, state: State) -> WatchSearch | None:
        moved = self.moved
        return None if moved is None else lambda progress: moved(state, progress)


def _more(counts: tuple[int, ...], here: int) -> tuple[int, ...]:
    return (*counts[:here], counts[here] + 1, *counts[here + 1 :])

"""Learn one mixture with a given number of components: EM, and structure search on expected data.

TMCH98 section 5, Figure 1, by a schedule such as ((EM)^10 Ec S* M)*: EM for some steps; the expected
statistics of the complete model, once; a search of every component's structure on them; the parameters that
go with the structures found. When no structure changes, EM is run to convergence and the search is tried once
more (note 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lacunary.learn.stop import Stop, check_number
from lacunary.mixture.blend import Blend, Completed, Mixer
from lacunary.mixture.component import Structure
from lacunary.mixture.sharing import Added
from lacunary.mixture.structures import climbed, forested, refined
from lacunary.structure.rules import Rules
from lacunary.structure.schedule import Repeat, Schedule
from lacunary.structure.schedule_program import Instruction, program
from lacunary.structure.score import FamilyScore
from lacunary.structure.search import SearchMethod

__all__ = ["CONVERGED", "Course", "Plan", "State", "Tick"]

CONVERGED = Stop(share=1e-6, iterations=1000)
"""EM has converged when the last change is a millionth of the change since the start (TMCH98 section 6)."""

FIXED = Schedule((Repeat(("E", "M"), (None,)),))
"""The schedule where structures are fixed: EM to convergence."""

TIE = 1e-7
"""An estimate counts as risen if it has by this part of its size: EM stops a little before the top."""

EMPTY = 1.0
"""A component with less than one row's worth of shares is taken out."""


@dataclass(frozen=True)
class Tick:
    """One step of learning, as `watch` and the path see it.

    Attributes
    ----------
    phase
        "em", "move", "search", "refine", "round" or "remove".
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
    """Where learning is: enough to go on as if it had never stopped.

    Attributes
    ----------
    blend, structures
        The mixture as it stands.
    best, top
        The mixture of highest Cheeseman–Stutz estimate at the end of a round, where that is the rule.
    place, visits, turns
        The next instruction of the schedule, and how often each was reached and repeated.
    before
        The structures before the searches of this round.
    source
        The mixture under which the complete model's statistics were last expected.
    step, last
        How many steps of EM were taken at this place, and the objective before the last.
    round
        How many rounds are over.
    forced, settled
        Whether EM is to run to convergence, and whether it last did.
    done, converged
        Whether learning is over, and whether by its own rule.
    ticks
        Every step so far.
    """

    blend: Blend
    structures: tuple[Structure, ...]
    best: tuple[Blend, tuple[Structure, ...]] | None = None
    top: float = -np.inf
    place: int = 0
    visits: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()
    before: tuple[Structure, ...] | None = None
    source: Blend | None = None
    step: int = 0
    last: float = -np.inf
    round: int = 0
    forced: bool = False
    settled: bool = False
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
    schedule
        How EM and search take turns; not looked at where structures are fixed.
    until
        The two rules of TMCH98 section 5: until no "structure" changes, or until the Cheeseman–Stutz "score"
        does not rise; the best is kept then.
    stop
        When EM has converged; TMCH98: the last change over the change since the start below 1e-6.
    rounds
        The most rounds of EM and search.
    trace
        Whether Cheeseman–Stutz is worked out after every arc change (TMCH98 Figure 4).
    shared
        Whether all components have the same structure.
    method
        A search that takes over in ``S*`` the first time that climbing leaves every structure as it is; none
        with greedy.
    """

    structure: str
    rules: Rules
    schedule: Schedule
    until: Literal["structure", "score"] = "structure"
    stop: Stop = CONVERGED
    rounds: int = 100
    trace: bool = False
    shared: bool = False
    method: SearchMethod | None = None

    @property
    def fixed(self) -> bool:
        """Whether structures stay as they are."""
        return self.structure in ("empty", "complete")

    def refines(self, state: State) -> bool:
        """Whether another search is to follow where climbing changes nothing: it does so once."""
        once = all(tick.phase != "refine" for tick in state.ticks)
        return once and self.structure == "learn" and self.method is not None


class Course:
    """Learning one mixture, a round at a time; ``kept`` is the last state from which one can go on."""

    def __init__(self, mixer: Mixer, plan: Plan, tell: Callable[[State, Tick], None]) -> None:
        self.mixer, self.plan, self.tell = mixer, plan, tell
        self.program = program(FIXED if plan.fixed else plan.schedule)
        self.kept: State | None = None
        self._completed: Completed | None = None

    def begin(self, components: int, ess: float, rng: np.random.Generator) -> State:
        """Return the start with so many components."""
        structures = (self._first(),) * components
        zeros = (0,) * len(self.program)
        return State(self.mixer.begin(structures, ess, rng), structures, visits=zeros, turns=zeros)

    def rounds(self, state: State) -> Iterator[State]:
        """Carry the schedule out; after every round yield the state from which one can go on."""
        self.kept = state
        while not state.done and state.round < self.plan.rounds:
            self.kept = state = replace(self._round(state), round=state.round + 1)
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
                self.kept = state = replace(state, place=here + 1, visits=_more(state.visits, here))
        return replace(state, done=True, converged=state.converged or state.settled)

    def _do(self, state: State, what: str, times: int | None) -> State:
        if what == "em":
            state, settled = self._em(state, None if state.forced else times)
            return replace(state, settled=settled)
        if what == "complete":
            self._completed = self.mixer.expect(state.blend)
            return replace(state, source=state.blend)
        if self._completed is None:  # taken up again from a state that was kept
            assert state.source is not None
            self._completed = self.mixer.expect(state.source)
        if what == "maximize":
            return replace(state, blend=self.mixer.maximize(self._completed, state.structures))
        before = state.structures if state.before is None else state.before
        found, state = self._search(state, self._completed, times)
        return replace(state, structures=found, before=before)

    def _end(self, state: State, here: int, instruction: Instruction, times: int | None) -> State:
        """At the end of a bracket: go back to its beginning, or on if it is over."""
        state = replace(state, turns=_more(state.turns, here))
        over = times is not None and state.turns[here] >= times
        if instruction.searches:
            state, met = self._judge(state)
            over = met if times is None else over
        elif times is None:
            over = state.settled
        if not over:
            return replace(state, place=instruction.back)
        turns = (*state.turns[:here], 0, *state.turns[here + 1 :])
        return replace(state, turns=turns, visits=_more(state.visits, here))

    def _judge(self, state: State) -> tuple[State, bool]:
        """Tell whether the stopping rule is met; where only EM had not converged, force it to (note 4)."""
        changed = state.before is not None and state.before != state.structures
        state = replace(state, before=None)
        if self.plan.until == "score":
            value = self.mixer.estimate(state.blend, state.structures).value
            state = self._note(state, "round", value, value)
            risen = value > state.top + TIE * abs(value)
            if risen:
                state = replace(state, best=(state.blend, state.structures), top=value)
            if not risen and changed:
                assert state.best is not None
                blend, structures = state.best
                return replace(state, blend=blend, structures=structures, converged=True), True
        if changed:
            return replace(state, forced=False), False
        over = state.settled
        return replace(state, forced=not over, converged=over), over

    def _em(self, state: State, steps: int | None) -> tuple[State, bool]:
        """Take steps of EM, or as many as it takes; components left without rows are taken out.

        Progress is measured from the very start, not from where this EM began: near the top it never ends.
        """
        stop = self.plan.stop
        for step in range(state.step, stop.iterations if steps is None else steps):
            completed = self.mixer.expect(state.blend)
            objective = completed.log_likelihood + self.mixer.log_prior(state.blend)
            check_number(objective)
            state = self._note(state, "em", objective)
            first = state.ticks[0].objective
            if steps is None and step and stop.met(first, state.last, objective):
                return replace(state, step=0), True
            completed, state = self._without_empty(state, completed)
            blend = self.mixer.maximize(completed, state.structures)
            self.kept = state = replace(state, blend=blend, step=step + 1, last=objective)
        return replace(state, step=0), False

    def _without_empty(self, state: State, completed: Completed) -> tuple[Completed, State]:
        """Take out components that have lost their rows, unless they are all there is."""
        many = len(state.structures)
        kept = completed.counts[:many] >= EMPTY
        if kept.all() or not kept.any() or self.mixer.labels is not None:
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

    def _search(
        self, state: State, completed: Completed, moves: int | None
    ) -> tuple[tuple[Structure, ...], State]:
        """Return the structures a search finds on the expected data, from the present ones."""
        found = list(state.structures)
        scores = self.mixer.engine.scores(completed.statistics)
        parts: list[tuple[slice, FamilyScore]] = [(slice(c, c + 1), s) for c, s in enumerate(scores)]
        if self.plan.shared:
            parts = [(slice(len(found)), Added(scores))]
        for part, score in parts:
            many = len(found[part])
            if self.plan.structure == "tree":
                found[part] = [forested(score, self.plan.rules, found[part][0])] * many
                continue
            for structure in climbed(score, self.plan.rules, found[part][0], moves):
                found[part] = [structure] * many
                if self.plan.trace:
                    state = self._traced(state, completed, found)
        phase = "search"
        if moves is None and tuple(found) == state.structures and self.plan.refines(state):
            phase, found = "refine", self._refined(parts, found, state.round)
        criterion = self.mixer.log_evidence(completed, found)
        return tuple(found), self._note(state, phase, criterion, structures=found)

    def _refined(
        self, parts: list[tuple[slice, FamilyScore]], found: list[Structure], seed: int
    ) -> list[Structure]:
        """Return the structures that the plan's own search finds; equally good ones are not changed."""
        assert self.plan.method is not None
        for part, score in parts:
            best = refined(self.plan.method, score, self.plan.rules, found[part][0], seed)
            found[part] = [best] * len(found[part])
        return found

    def _traced(self, state: State, completed: Completed, found: Sequence[Structure]) -> State:
        blend = self.mixer.maximize(completed, found)
        value = self.mixer.estimate(blend, found).value
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


def _more(counts: tuple[int, ...], here: int) -> tuple[int, ...]:
    return (*counts[:here], counts[here] + 1, *counts[here + 1 :])

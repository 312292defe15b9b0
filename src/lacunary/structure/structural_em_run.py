"""A run of structural EM: a schedule carried out, round by round, which can be left and taken up again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.errors import ParameterError
from lacunary.model.dag import Dag
from lacunary.structure.climb import Greedy, climb
from lacunary.structure.reinsert import Reinsert
from lacunary.structure.rules import Rules
from lacunary.structure.schedule_program import Instruction, program
from lacunary.structure.score import FamilyScore
from lacunary.structure.search import SearchMethod, run
from lacunary.structure.structural_em_learner import Learner, Weighed
from lacunary.structure.structural_em_state import Round, State, Turns
from lacunary.structure.walk import SearchProgress, Trail, Walk, WatchSearch, dag_of

__all__ = ["NAME", "Run"]

NAME = "structural-em"
"""The search, by the name under which its trails are kept."""

TIE = 1e-7
"""A score counts as risen if it has by this part of its size: EM stops a little before the top."""

MOST_ROUNDS = 200
"""Rounds after which a run that has not converged is broken off; the rule on structures need not end."""


@dataclass(frozen=True)
class _Moves:
    """So many of the best moves: S^k."""

    most: int
    name: str = "greedy"

    def run(self, walk: Walk) -> None:
        climb(walk, self.most)


class _Interrupted(Exception):
    """The user, or the one who watches, has seen enough."""


class Run:
    """A schedule, a learner and rules; `go` carries the schedule out."""

    def __init__(
        self,
        turns: Turns,
        learner: Learner,
        rules: Rules,
        rng: np.random.Generator,
        watch: WatchSearch | None = None,
    ) -> None:
        self.turns, self.learner, self.rules, self.rng, self.watch = turns, learner, rules, rng, watch
        self.program = program(turns.schedule)
        self.interrupted = False
        self.state: State
        self._kept: Trail
        self._score: FamilyScore | None = None
        self._walk: Walk | None = None
        self._settled = False  # whether the last EM ran until it had converged
        self._before: Dag | None = None
        self._risen = True

    def begin(self, dag: Dag) -> None:
        """Start with a graph, whose first parameters the learner gives."""
        weighed = self.learner.weigh(dag, theta := self.learner.start(dag, self.rng))
        if weighed.interrupted:
            raise KeyboardInterrupt
        count = len(self.program)
        self.state = State(dag, theta, dag, weighed.theta, 0, [0] * count, [0] * count)
        self._note(weighed, None, 0)
        self._keep()

    def resume(self, trail: Trail) -> None:
        """Go on from where another run was left."""
        memory = dict(trail.memory)
        if memory.get("schedule") != str(self.turns.schedule) or memory.get("until") != self.turns.until:
            raise ParameterError(
                f"the run to go on from has the schedule {memory.get('schedule')!r} and stops by "
                f"{memory.get('until')!r}; give the same"
            )
        self.rng.bit_generator.state = memory["rng"]
        self.state = State.of(trail)
        self._kept = trail

    def go(self) -> None:
        """Carry the schedule out to its end, or until interrupted: then all is as after the last round."""
        try:
            self._tell()
            self._go_on()
            while self._escape():
                self._go_on()
        except (KeyboardInterrupt, _Interrupted):
            self.interrupted = True
            self.resume(self._kept)

    def _go_on(self) -> None:
        """Carry out what is left of the schedule."""
        while self.state.place < len(self.program) and len(self.state.rounds) <= MOST_ROUNDS:
            here = self.state.place
            self.state.place += 1
            self._do(here, self.program[here])
        if self._before is not None:  # the schedule ends outside a bracket
            self._finish()

    def _escape(self) -> bool:
        """Start the schedule again from a larger graph, if the last leg led to a better one than before.

        What a network without an arc expects of two variables is diluted where either is a hole, and that
        keeps the arc out: a local maximum of the turns, not of the Cheeseman–Stutz score. The larger graph is
        found on statistics that make up for it (`Learner.enlarged`); whether it leads to a better one, the
        score tells.
        """
        state = self.state
        scores = [r.cheeseman_stutz for r in state.rounds]
        gained = _above(max(scores[state.leg :]), scores[: state.leg])
        if not (gained and state.converged and state.escapes < self.turns.escapes):
            return False
        score = self.learner.enlarged(state.best, state.best_theta)
        if score is None:
            return False
        before_dag, state.dag, self._score = state.dag, state.best, score
        self._search(None)
        self._before = None
        if _same(state.dag, state.best):
            state.dag = before_dag
            return False
        assert self._walk is not None
        weighed = self.learner.weigh(state.dag, self.learner.maximize(state.dag, score))
        if weighed.interrupted:
            raise _Interrupted
        count = len(self.program)
        state.place, state.visits, state.turns, state.converged = 0, [0] * count, [0] * count, False
        state.leg, state.escapes, state.theta = len(state.rounds), state.escapes + 1, weighed.theta
        self._note(weighed, self._walk.top, len(self._walk.path), escape=True)
        self._keep()
        self._tell()
        return True

    def _do(self, here: int, instruction: Instruction) -> None:
        state = self.state
        times = instruction.repeat.at(state.visits[here]) if instruction.repeat else 1
        if instruction.what == "em":
            state.visits[here] += 1
            end = self.learner.climb(state.dag, state.theta, None if state.forced else times)
            if end.interrupted:
                raise _Interrupted
            state.theta, self._settled = end.theta, times is None or state.forced or end.converged
        elif instruction.what == "complete":
            self._score, self._walk = self.learner.complete(state.dag, state.theta), None
        elif instruction.what == "search":
            state.visits[here] += 1
            self._search(times)
        elif instruction.what == "maximize":
            assert self._score is not None
            state.theta = self.learner.maximize(state.dag, self._score)
        else:
            self._end(here, instruction, times)

    def _search(self, times: int | None) -> None:
        """Search from the current graph: to the top, or so many moves."""
        assert self._score is not None
        state = self.state
        method = self.turns.method if times is None else _Moves(times)
        self._before = self._before or state.dag
        # While every climb still changes the graph, and with it what is expected, there is nothing to refine.
        if not (isinstance(method, Reinsert) and self._changed_by(Greedy())):
            self._changed_by(method)

    def _changed_by(self, method: SearchMethod) -> bool:
        """Search from the current graph, and go to what is found; tell whether that is another graph."""
        assert self._score is not None
        state = self.state
        walk, interrupted = run(method, self._score, self.rules, state.dag, watch=self._inner(), rng=self.rng)
        if interrupted:
            raise _Interrupted
        found = dag_of(state.dag.schema, walk.best)
        changed = not _same(found, state.dag)
        state.dag = found if changed else state.dag
        state.path += tuple(walk.path)
        self._walk = walk
        return changed

    def _end(self, here: int, instruction: Instruction, times: int | None) -> None:
        """At the end of a bracket: note the round, and go back to its beginning unless it is over."""
        state = self.state
        state.turns[here] += 1
        over = times is not None and state.turns[here] >= times
        if instruction.searches:
            self._note_round()
            if times is None:
                over = self._over()
        elif times is None and state.converged:
            over = True
        if over:
            state.turns[here] = 0
            state.visits[here] += 1
        else:
            state.place = instruction.back
        if instruction.searches:
            self._keep()
            self._tell()

    def _note_round(self) -> None:
        state = self.state
        assert self._before is not None
        assert self._walk is not None
        changed = not _same(self._before, state.dag)
        weighed = self.learner.weigh(state.dag, state.theta)
        if weighed.interrupted:
            raise _Interrupted
        self._note(weighed, self._walk.top, len(self._walk.path), changed)
        self._before = None

    def _finish(self) -> None:
        self._note_round()
        self.state.converged = True
        self._keep()
        self._tell()

    def _over(self) -> bool:
        """Whether the stopping rule is met; if the graph stayed but EM had not converged, force it to."""
        state = self.state
        last = state.rounds[-1]
        going = last.changed
        if self.turns.until == "score":
            going = last.changed and self._risen
        if going:
            state.forced = False
            return False
        if not last.changed and not self._settled:  # TMCH98, note 4
            state.forced = True
            return False
        state.forced, state.converged = False, True
        return True

    def _note(
        self,
        weighed: Weighed,
        criterion: float | None,
        moves: int,
        changed: bool = True,
        escape: bool = False,
    ) -> None:
        """Add a round, and keep the graph if it is the best by the rule."""
        state, score = self.state, weighed.score
        scores = [r.cheeseman_stutz for r in state.rounds]
        state.rounds += (
            Round(
                str(state.dag),
                len(state.dag.arcs),
                moves,
                criterion,
                score,
                weighed.log_likelihood,
                changed,
                state.forced,
                escape,
            ),
        )
        self._risen = _above(score, scores[state.leg :])
        if _above(score, scores) or self.turns.until == "structure":
            state.best, state.best_theta = state.dag, weighed.theta

    def _keep(self) -> None:
        """Remember the run as it stands."""
        state = self.state
        memory = {
            "schedule": str(self.turns.schedule),
            "until": self.turns.until,
            "rng": self.rng.bit_generator.state,
            **state.memory(),
        }
        self._kept = Trail(NAME, state.dag, state.best, state.path, memory)

    def _tell(self) -> None:
        """Tell the one who watches that a round is over, and stop if told to."""
        if self.watch is not None and _true(self.watch(self._progress(None))):
            raise _Interrupted

    def _progress(self, inner: SearchProgress | None) -> SearchProgress:
        """Return what is told to the one who watches; what is kept is always the last whole round."""
        state = self.state
        scores = [r.cheeseman_stutz for r in state.rounds]
        steps, arcs = len(state.path), len(state.dag.arcs)
        if inner is not None:
            steps, arcs = steps + inner.steps, inner.arcs
        trail: Callable[[], Trail] = lambda: self._kept  # noqa: E731
        return SearchProgress(NAME, steps, arcs, scores[-1], max(scores), None, trail)

    def _inner(self) -> WatchSearch | None:
        watch = self.watch
        return None if watch is None else lambda inner: watch(self._progress(inner))


def _above(score: float, others: Sequence[float]) -> bool:
    top = max(others, default=-np.inf)
    return not others or score > top + TIE * abs(top)


def _same(one: Dag, two: Dag) -> bool:
    return set(one.arcs) == set(two.arcs)


def _true(answer: Any) -> bool:
    """Not any true answer: what a print or a write returns must not end the run."""
    return isinstance(answer, bool | np.bool_) and bool(answer)

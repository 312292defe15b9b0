"""A run of structural EM: a schedule carried out, round by round, which can be left and taken up again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacunary.errors import ParameterError
from lacunary.model.dag import Dag
from lacunary.structure.climb import climb
from lacunary.structure.result import Step
from lacunary.structure.rules import Rules
from lacunary.structure.schedule import Schedule
from lacunary.structure.schedule_program import Instruction, program
from lacunary.structure.score import FamilyScore
from lacunary.structure.search import SearchMethod, run
from lacunary.structure.structural_em_learner import Learner, Weighed
from lacunary.structure.walk import SearchProgress, Trail, Walk, WatchSearch, dag_of

__all__ = ["NAME", "Round", "Run", "Turns"]

NAME = "structural-em"
"""The search, by the name under which its trails are kept."""

TIE = 1e-7
"""A score counts as risen if it has by this part of its size: EM stops a little before the top."""

MOST_ROUNDS = 200
"""Rounds after which a run that has not converged is broken off; the rule on structures need not end."""


@dataclass(frozen=True)
class Round:
    """One turn of EM and search.

    Attributes
    ----------
    arrows
        The graph after the search, in arrow notation; in the first round, the initial graph.
    arcs, moves
        Its arcs, and the moves that led to it.
    criterion
        Its score on the expected statistics it was found with (TMCH98 eq. 12), in nats; None for the
        initial graph.
    cheeseman_stutz, log_likelihood
        Its Cheeseman–Stutz score and log-likelihood, at the maximum EM climbs to.
    changed
        Whether the search changed the graph.
    forced
        Whether EM was run to convergence because the round before had changed nothing.
    """

    arrows: str
    arcs: int
    moves: int
    criterion: float | None
    cheeseman_stutz: float
    log_likelihood: float
    changed: bool
    forced: bool


@dataclass(frozen=True)
class Turns:
    """How a run goes about it.

    Attributes
    ----------
    schedule
        Who does what when.
    until
        "score": until the Cheeseman–Stutz score of the graph no longer rises, then the best is kept;
        "structure": until the graph no longer changes. The two rules of TMCH98 section 5.
    method
        The search behind S*.
    """

    schedule: Schedule
    until: Literal["score", "structure"]
    method: SearchMethod


@dataclass(frozen=True)
class _Moves:
    """So many of the best moves: S^k."""

    most: int
    name: str = "greedy"

    def run(self, walk: Walk) -> None:
        climb(walk, self.most)


class _Interrupted(Exception):
    """The user, or the one who watches, has seen enough."""


@dataclass
class _State:
    """Where a run is between two rounds; made of what JSON can hold, but for the graphs and parameters."""

    dag: Dag
    theta: NDArray[np.float64]
    best: Dag
    best_theta: NDArray[np.float64]
    place: int = 0
    visits: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    forced: bool = False
    converged: bool = False
    rounds: tuple[Round, ...] = ()
    path: tuple[Step, ...] = ()


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
        self.state: _State
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
        self.state = _State(dag, theta, dag, weighed.theta, 0, [0] * count, [0] * count)
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
        self.state = _State(
            trail.dag,
            np.array(memory["theta"], dtype=np.float64),
            trail.best,
            np.array(memory["best_theta"], dtype=np.float64),
            memory["place"],
            list(memory["visits"]),
            list(memory["turns"]),
            memory["forced"],
            memory["converged"],
            tuple(Round(**each) for each in memory["rounds"]),
            trail.path,
        )
        self._kept = trail

    def go(self) -> None:
        """Carry the schedule out to its end, or until interrupted: then all is as after the last round."""
        try:
            self._tell()
            while self.state.place < len(self.program) and len(self.state.rounds) <= MOST_ROUNDS:
                here = self.state.place
                self.state.place += 1
                self._do(here, self.program[here])
            if self._before is not None:  # the schedule ends outside a bracket
                self._finish()
        except (KeyboardInterrupt, _Interrupted):
            self.interrupted = True
            self.resume(self._kept)

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
        walk, interrupted = run(method, self._score, self.rules, state.dag, watch=self._inner(), rng=self.rng)
        if interrupted:
            raise _Interrupted
        self._before = self._before or state.dag
        found = dag_of(state.dag.schema, walk.best)
        state.dag = state.dag if _same(found, state.dag) else found
        state.path += tuple(walk.path)
        self._walk = walk

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

    def _note(self, weighed: Weighed, criterion: float | None, moves: int, changed: bool = True) -> None:
        """Add a round, and keep the graph if it is the best by the rule."""
        state = self.state
        top = max((r.cheeseman_stutz for r in state.rounds), default=-np.inf)
        score = weighed.score
        noted = Round(
            str(state.dag),
            len(state.dag.arcs),
            moves,
            criterion,
            score,
            weighed.log_likelihood,
            changed,
            state.forced,
        )
        state.rounds += (noted,)
        self._risen = len(state.rounds) == 1 or score > top + TIE * abs(top)
        if self._risen or self.turns.until == "structure":
            state.best, state.best_theta = state.dag, weighed.theta

    def _keep(self) -> None:
        """Remember the run as it stands."""
        state = self.state
        memory = {
            "schedule": str(self.turns.schedule),
            "until": self.turns.until,
            "theta": state.theta.tolist(),
            "best_theta": state.best_theta.tolist(),
            "place": state.place,
            "visits": list(state.visits),
            "turns": list(state.turns),
            "forced": state.forced,
            "converged": state.converged,
            "rounds": [asdict(each) for each in state.rounds],
            "rng": self.rng.bit_generator.state,
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


def _same(one: Dag, two: Dag) -> bool:
    return set(one.arcs) == set(two.arcs)


def _true(answer: Any) -> bool:
    """Not any true answer: what a print or a write returns must not end the run."""
    return isinstance(answer, bool | np.bool_) and bool(answer)

"""What a run of EM and search needs to know: who learns, how, and where it stands.

A `Learner` says what the steps are for networks learned together on one table: one network for structural EM,
the components of a mixture otherwise. A `Plan` says how; a `State` is all that is known between two
instructions of a schedule. `lacunary.structure.run` brings them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from lacunary.learn.stop import Stop
from lacunary.structure.climb import Greedy
from lacunary.structure.constraints import Constraints
from lacunary.structure.method import SearchMethod
from lacunary.structure.prior import StructurePrior
from lacunary.structure.result import Round, Step
from lacunary.structure.schedule import Instruction, Repeat, Schedule, program
from lacunary.structure.score import FamilyScore, Structure

__all__ = ["Learner", "Notes", "Plan", "State", "Tick", "Weighed", "arcs_of", "is_above"]

TIE = 1e-7
"""An estimate counts as risen if it has by this part of its size: EM stops a little before the top."""

FIXED = Schedule((Repeat(("E", "M"), (None,)),))
"""The schedule where structures are fixed: EM to convergence."""


@dataclass(frozen=True)
class Tick:
    """One step of learning, as `watch` and the path see it.

    Attributes
    ----------
    phase
        "em", "move", "search", "refine", "round", "remove" or, while an estimate is drawn, "anneal".
    components, arcs
        How the networks stand.
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
class Weighed:
    """What networks are worth, in nats, and the parameters and log-likelihood where that was worked out."""

    value: float
    model: Any
    log_likelihood: float


class Learner(Protocol):
    """Networks that are learned together on one table; a network alone is a mixture of one.

    Models, the parameters of all networks, and expected statistics are the learner's own.
    """

    def climb(self, notes: Notes, state: State, steps: int | None) -> tuple[State, bool]:
        """Take steps of EM, or all there are; return the state after them, and whether EM has converged."""
        ...

    def expect(self, model: Any) -> Any:
        """Return the expected statistics of the complete model, which serve any structure."""
        ...

    def scores(self, statistics: Any) -> Sequence[FamilyScore]:
        """Return, for each network, the score of any family on expected statistics."""
        ...

    def log_evidence(self, statistics: Any, structures: Sequence[Structure]) -> float:
        """Return what structures score on expected statistics, the criterion of the search."""
        ...

    def maximize(self, statistics: Any, structures: Sequence[Structure]) -> Any:
        """Return the best parameters for structures given expected statistics."""
        ...

    def weigh(self, model: Any, structures: Sequence[Structure]) -> Weighed:
        """Return the estimate by which rounds are compared."""
        ...

    def enlarged(self, model: Any) -> Any | None:
        """Return statistics on which larger graphs are found than on `expect`'s, if there are such."""
        ...


@dataclass(frozen=True, eq=False)
class Plan:
    """How networks are learned.

    Attributes
    ----------
    constraints, prior
        Which graphs are looked for, and how probable they are beforehand.
    schedule
        How EM and search take turns; not looked at where structures are fixed.
    method
        The search behind ``S*``.
    refine
        When that search has its turn: in every ``S*`` ("never": nothing goes before it); or where a greedy
        climb leaves every structure as it is, "always" or the first time only ("once").
    structure
        "learn", "tree", "empty", "complete" or "given"; the last three are fixed.
    until
        The stopping rule, one of two in TMCH98 section 5: until no "structure" changes, or until the "score"
        of a round does not rise; the best is kept then.
    stop
        When EM has converged.
    rounds
        The most rounds of EM and search; stopping by structures need not end.
    weigh
        Whether every round is weighed and its moves are kept, whatever `until` says.
    escapes
        How often, at most, a run that has converged is started again from larger graphs.
    trace
        Whether the estimate is worked out after every arc change (TMCH98 Figure 4).
    shared
        Whether all networks have the same structure.
    late
        Whether searches are without the prior over graphs at first, which then only chooses among the graphs
        met, and have it once that leads no higher. What a network without an arc expects of holes is diluted,
        and a charged search would be kept from arcs that it could not take out again.
    refined
        How often the plan's own search had its turn under an earlier plan, which does not count.
    """

    constraints: Constraints
    prior: StructurePrior
    schedule: Schedule
    method: SearchMethod = field(default_factory=Greedy)
    refine: Literal["never", "once", "always"] = "never"
    structure: str = "learn"
    until: Literal["structure", "score"] = "structure"
    stop: Stop = field(default_factory=Stop)
    rounds: int = 100
    weigh: bool = False
    escapes: int = 0
    trace: bool = False
    shared: bool = False
    late: bool = False
    refined: int = 0

    @property
    def fixed(self) -> bool:
        """Whether structures stay as they are."""
        return self.structure in ("empty", "complete", "given")

    @property
    def program(self) -> tuple[Instruction, ...]:
        """The schedule as a list of instructions."""
        return program(FIXED if self.fixed else self.schedule)

    def log_prior(self, structures: Sequence[Structure]) -> float:
        """Return the log prior of the graphs of all networks; nothing where they are not looked for."""
        if self.fixed:
            return 0.0
        return sum(map(self.prior.log_probability, structures[:1] if self.shared else structures))

    def refines(self, state: State) -> bool:
        """Whether the plan's own search follows where climbing changes nothing."""
        once = sum(tick.phase == "refine" for tick in state.ticks) <= self.refined
        return self.structure == "learn" and (self.refine == "always" or (self.refine == "once" and once))


@dataclass(frozen=True, eq=False)
class State:
    """Where learning is: enough to go on as if it had never stopped.

    Attributes
    ----------
    model, structures
        The parameters of the networks and their graphs as they stand.
    best
        Parameters and graphs of the best round, where rounds are weighed, and its estimate and log prior.
    top, mark
        The highest estimate and log prior since the last escape, and the highest before it.
    place, visits, turns
        The next instruction of the schedule, and how often each was reached and repeated.
    before
        The structures before the searches of this round; none if there was no search.
    source
        The model under which statistics were last expected.
    step, last
        How many steps of EM were taken at this place, and the objective before the last.
    round, escapes
        How many rounds are over, and how often a larger graph was begun from.
    criterion, moves
        Of the last search: the score it ended with on expected statistics, and how many moves led there.
    forced, em_converged
        Whether EM is to run to convergence, and whether it last did.
    charged
        Whether searches have the prior over graphs by now, where they do not from the first (`Plan.late`).
    done, converged
        Whether the schedule is over, and whether its stopping rule was met.
    seed
        What searches that draw begin with.
    ticks, rounds, path
        Every step so far, every round that was weighed, and every move of their searches.
    """

    model: Any
    structures: tuple[Structure, ...]
    best: tuple[Any, tuple[Structure, ...], float] | None = None
    top: float = -np.inf
    mark: float = -np.inf
    place: int = 0
    visits: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()
    before: tuple[Structure, ...] | None = None
    source: Any = None
    step: int = 0
    last: float = -np.inf
    round: int = 0
    escapes: int = 0
    criterion: float | None = None
    moves: int = 0
    forced: bool = False
    em_converged: bool = False
    done: bool = False
    converged: bool = False
    charged: bool = False
    seed: int = 0
    ticks: tuple[Tick, ...] = ()
    rounds: tuple[Round, ...] = ()
    path: tuple[Step, ...] = ()


class Notes:
    """What a run tells as it goes, and keeps to go on from.

    Attributes
    ----------
    stop
        When EM has converged.
    tell
        Called with the state after every step.
    kept
        The last state from which one can go on.
    """

    def __init__(self, stop: Stop, tell: Callable[[State, Tick], None]) -> None:
        self.stop, self.tell = stop, tell
        self.kept: State | None = None

    def note(
        self,
        state: State,
        phase: str,
        objective: float,
        estimate: float | None = None,
        structures: Sequence[Structure] | None = None,
    ) -> State:
        """Return the state with one more step on its path, and tell the one who watches."""
        shown = state.structures if structures is None else structures
        tick = Tick(phase, len(shown), arcs_of(shown), objective, estimate)
        state = replace(state, ticks=(*state.ticks, tick))
        self.tell(state, tick)
        return state


def arcs_of(structures: Sequence[Structure]) -> int:
    """Return how many arcs there are in all."""
    return sum([sum(map(len, structure)) for structure in structures])


def is_above(value: float, top: float) -> bool:
    """Whether an estimate is higher than the highest before it, by more than EM leaves where it stops."""
    return top == -np.inf or value > top + TIE * abs(top)

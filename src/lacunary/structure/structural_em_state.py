"""Where a run of structural EM is between two rounds, and what it has to remember to go on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacunary.model.dag import Dag
from lacunary.structure.result import Step
from lacunary.structure.schedule import Schedule
from lacunary.structure.search import SearchMethod
from lacunary.structure.walk import Trail

__all__ = ["Round", "State", "Turns"]


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
    escape
        Whether the graph was enlarged to leave a local maximum, without turns of EM before.
    """

    arrows: str
    arcs: int
    moves: int
    criterion: float | None
    cheeseman_stutz: float
    log_likelihood: float
    changed: bool
    forced: bool
    escape: bool = False


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
    escapes
        How often, at most, a run that has converged by its score is started again from a larger graph.
    """

    schedule: Schedule
    until: Literal["score", "structure"]
    method: SearchMethod
    escapes: int = 0


@dataclass
class State:
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
    leg: int = 0  # the round with which the current leg began: at first, or at the last escape
    escapes: int = 0
    rounds: tuple[Round, ...] = ()
    path: tuple[Step, ...] = ()

    @classmethod
    def of(cls, trail: Trail) -> State:
        """Return the state that a trail keeps."""
        kept = {name: trail.memory[name] for name in PLAIN}
        vectors: dict[str, Any] = {
            name: np.array(trail.memory[name], dtype=np.float64) for name in ("theta", "best_theta")
        }
        rounds = tuple(Round(**each) for each in trail.memory["rounds"])
        visits, turns = list(kept.pop("visits")), list(kept.pop("turns"))
        return cls(
            trail.dag,
            best=trail.best,
            path=trail.path,
            rounds=rounds,
            visits=visits,
            turns=turns,
            **vectors,
            **kept,
        )

    def memory(self) -> dict[str, Any]:
        """Return all but the graphs and the path, made of what JSON can hold."""
        return {
            "theta": self.theta.tolist(),
            "best_theta": self.best_theta.tolist(),
            "rounds": [asdict(each) for each in self.rounds],
            **{name: getattr(self, name) for name in PLAIN},
            "visits": list(self.visits),
            "turns": list(self.turns),
        }


PLAIN = ("place", "visits", "turns", "forced", "converged", "leg", "escapes")
"""What a state remembers as it is."""

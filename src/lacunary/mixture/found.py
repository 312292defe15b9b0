"""What learning a mixture found, and what one who watches is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lacunary.evidence.estimate import Estimate
from lacunary.infer.mixture import Mixture
from lacunary.mixture.course import State, Tick

__all__ = ["MixtureFit", "MixtureProgress", "Trial", "WatchMixture"]


@dataclass(frozen=True, eq=False)
class Trial:
    """A mixture with some number of components, and what it is worth.

    Attributes
    ----------
    asked
        The components it started with; some may have lost all rows on the way.
    start
        Which start it was, from zero.
    mixture, estimate, converged
        What was found; the estimate is Cheeseman–Stutz.
    ticks
        Every step that led there.
    """

    asked: int
    start: int
    mixture: Mixture
    estimate: Estimate
    converged: bool
    ticks: tuple[Tick, ...]

    @property
    def components(self) -> int:
        """How many components it has, the noise left out."""
        return len(self.mixture.components)


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """What learning a mixture found.

    Attributes
    ----------
    mixture
        The mixture with the highest estimate.
    estimate
        Its log evidence by Cheeseman–Stutz, in nats; higher is better.
    path
        Everything that was tried, in order: every number of components and every start.
    structure
        The class of structures.
    interrupted
        Whether it was ended from outside; the best so far is returned then.
    """

    mixture: Mixture
    estimate: Estimate
    path: tuple[Trial, ...]
    structure: str
    interrupted: bool = False

    @property
    def converged(self) -> bool:
        """Whether the chosen mixture's EM converged."""
        return next(trial.converged for trial in self.path if trial.mixture is self.mixture)

    def __str__(self) -> str:
        many = len(self.mixture.components)
        arcs = sum(len(c.dag.arcs) for c in self.mixture.components)
        noise = " and noise" if self.mixture.noise is not None else ""
        return (
            f"mixture of {many} component(s){noise}, {arcs} arcs in all, "
            f"{self.mixture.dimension} parameters; {self.estimate}"
        )


@dataclass(frozen=True, eq=False)
class MixtureProgress:
    """What ``watch`` is told after every step.

    Attributes
    ----------
    asked, start
        The number of components that is being tried, and which start.
    tick
        The step: phase, components, arcs, objective.
    best
        The highest estimate so far, if there is one.
    state
        Where learning is, from which it can go on.
    done
        The trials that are over.
    """

    asked: int
    start: int
    tick: Tick
    best: float | None
    state: State
    done: tuple[Trial, ...]


WatchMixture = Callable[[MixtureProgress], object]

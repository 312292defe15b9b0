"""What learning a mixture found, and what one who watches is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import numpy as np

from lacunary.data.absent import Lean
from lacunary.data.schema import Label
from lacunary.data.table import Table
from lacunary.data.wording import counted
from lacunary.errors import ParameterError
from lacunary.evidence.estimate import Estimate
from lacunary.infer.answers import as_table
from lacunary.infer.mixture import Mixture
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.mixture.predict import Prediction, gibbs
from lacunary.mixture.trail import MixtureTrail
from lacunary.mixture.variational import posterior
from lacunary.registry import borrow, page_of
from lacunary.structure.plan import State, Tick
from lacunary.structure.prior import said_priors
from lacunary.structure.result import Trial as HiddenTrial
from lacunary.structure.score import Structure

__all__ = ["MixtureFit", "MixtureProgress", "Origin", "Stability", "Trial", "WatchMixture", "meet"]


@dataclass(frozen=True, eq=False)
class Origin:
    """The rows and beliefs behind a mixture, and the mixture as they see it."""

    learner: MixtureLearner
    model: Parameters
    structures: tuple[Structure, ...]


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
    origin
        What it was learned from, to go on learning from it; not kept in files.
    log_structure_prior
        The log prior of the components' graphs, where these were looked for.
    how
        What it began with: groups by k-means or hierarchical merging, a component split, a draw, ….
    met
        How many beginnings had come to the same before it climbed to the end.
    winners
        How many climbed to the end with it; zero where all starts do.
    degenerate
        Whether maximum likelihood ran into a variance of all but none, where it has no maximum.
    """

    asked: int
    start: int
    mixture: Mixture
    estimate: Estimate
    converged: bool
    ticks: tuple[Tick, ...]
    origin: Origin | None = None
    log_structure_prior: float = 0.0
    how: str = "a draw"
    met: int = 1
    winners: int = 0
    degenerate: bool = False

    @property
    def value(self) -> float:
        """What trials are compared by: estimate and log prior together."""
        return self.estimate.value + self.log_structure_prior

    @property
    def components(self) -> int:
        """How many components it has, the noise left out."""
        return len(self.mixture.components)


NEAR, NEAR_PART = 0.1, 1e-6
"""Estimates that differ by less, in nats or as a part of their size, are of one top: EM ends just below."""


def meet(value: float, top: float) -> bool:
    """Whether a climb that came to a value has ended at the top."""
    return top - value <= max(NEAR, NEAR_PART * abs(top))


@dataclass(frozen=True)
class Stability:
    """How many starts met at the top, of all that were followed there.

    ``climbs`` is how many climbs these were: starts that had come to the same went on as one.
    """

    met: int
    starts: int
    climbs: int

    def __str__(self) -> str:
        return "one start" if self.starts == 1 else f"{self.met} of {self.starts} starts met at the top"


@dataclass(frozen=True, eq=False)
class MixtureFit(Lean):
    """What learning a mixture found.

    Attributes
    ----------
    mixture
        The mixture with the highest estimate and log prior together.
    estimate
        Its log evidence by Cheeseman–Stutz, in nats; higher is better. It does not contain the prior over
        graphs.
    path
        Everything that was tried, in order: every number of components and every start.
    structure
        The class of structures.
    interrupted
        Whether it was ended from outside; the best so far is returned then.
    classes
        Where the components are the states of a column: these states, in the order of the components.
    structure_prior
        The prior over graphs, by name.
    approximation
        What the comparison of structures leaves out, where it does.
    hidden_trials
        Where numbers of states of hidden variables were tried: what each choice is worth.
    doubts
        What is doubtful about the columns, in a line; see `Table.doubts`.
    prior
        The prior of the components' parameters, in words; empty by maximum likelihood.
    """

    mixture: Mixture
    estimate: Estimate
    path: tuple[Trial, ...]
    structure: str
    interrupted: bool = False
    classes: tuple[Label, ...] = ()
    structure_prior: str = "uniform"
    approximation: str = ""
    hidden_trials: Mapping[HiddenTrial, float] | None = None
    doubts: str = ""
    prior: str = ""

    @property
    def log_structure_prior(self) -> float:
        """The log prior of the components' graphs, where these were looked for."""
        return self.chosen.log_structure_prior

    def __getstate__(self) -> dict[str, Any]:
        if self.keeps_rows():
            return self.__dict__
        return self.__dict__ | {"path": tuple(replace(trial, origin=None) for trial in self.path)}

    @property
    def chosen(self) -> Trial:
        """The trial whose mixture was chosen."""
        return next(trial for trial in self.path if trial.mixture is self.mixture)

    def stability(self, asked: int) -> Stability:
        """Return how many starts with so many components met at the top, of how many that climbed there."""
        trials = [trial for trial in self.path if trial.asked == asked]
        top = max(trial.value for trial in trials)
        near = [t for t in trials if meet(t.value, top)]
        return Stability(sum(t.met for t in near), sum(t.met for t in trials), len(trials))

    def page(
        self,
        path: str | PathLike[str] | None = None,
        *,
        table: Table | None = None,
        title: str = "Groups, and what depends on what in each",
    ) -> str:
        """Return a page with each component's graph, profile and parameters, and write it if a path is given.

        The table, if it is given, is only counted.
        """
        return page_of("mixture", path, self, table, title=title)

    @property
    def degenerate(self) -> bool:
        """Whether maximum likelihood ran into a variance of all but none from every start."""
        return self.chosen.degenerate

    @property
    def met(self) -> int:
        """How many starts ended at the chosen mixture's height: one is no sign that it is the highest."""
        return self.stability(self.chosen.asked).met

    @property
    def converged(self) -> bool:
        """Whether the chosen mixture's EM converged."""
        return self.chosen.converged

    def predict(
        self,
        table: Any,
        *,
        how: Literal["gibbs", "variational", "plug-in"] = "gibbs",
        draws: int = 500,
        burn: int = 100,
        rng: int | np.random.Generator = 0,
    ) -> Prediction:
        """Return the log predictive density of rows that were not learned from.

        "gibbs" averages over draws of the parameters given the structures (TMCH98 eq. 15); "variational"
        integrates them out under their variational posterior, without draws; "plug-in" takes the
        mixture as it is. The first two need the rows that were learned from, which files do not keep,
        nor pickles without `lacunary.keep_rows`.
        """
        rows = as_table(table, self.mixture.schema)
        if how == "plug-in":
            return Prediction(self.mixture.log_probability(rows))
        if how not in ("gibbs", "variational"):
            raise ParameterError(f"how must be 'gibbs', 'variational' or 'plug-in', not {how!r}")
        origin = self.chosen.origin
        if origin is None:
            raise ParameterError(
                "the rows this was learned from are gone, as files and pickles do not keep them; use "
                "how='plug-in', pickle it inside `with lacunary.keep_rows():`, or learn it again"
            )
        if how == "variational":
            known = posterior(origin.learner, origin.model, origin.structures)
            return Prediction(known.log_density(rows))
        return gibbs(origin.learner, origin.model, origin.structures, rows, draws=draws, burn=burn, rng=rng)

    def classify(self, table: Any) -> list[Label]:
        """Return the most probable class of each row; `Mixture.responsibilities` has all probabilities."""
        if not self.classes:
            raise ParameterError(
                "the components have no names: only a mixture learned with given='column' tells classes"
            )
        best = self.mixture.responsibilities(table).argmax(axis=1)
        return [self.classes[c] for c in best]

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def __str__(self) -> str:
        many = len(self.mixture.components)
        arcs = sum(len(c.dag.arcs) for c in self.mixture.components)
        noise = " and noise" if self.mixture.noise is not None else ""
        return (
            f"mixture of {counted(many, 'component')}{noise}, {counted(arcs, 'arc')} in all, "
            f"{self.estimate.dimension or self.mixture.dimension} parameters; {self.estimate}; "
            f"{self.stability(self.chosen.asked)}"
            f"{self._remark}"
            + (f"\n{self._beside}" if self._beside else "")
            + (f"\n{said_priors(self.prior, self.structure_prior)}" if self.prior else "")
            + (f"\nnote: {self.doubts}" if self.doubts else "")
        )

    @property
    def _beside(self) -> str:
        """What mixtures are compared by besides the estimate, and how far below the next best number is."""
        known = self.structure_prior != "uniform" and self.log_structure_prior != 0.0
        said = [f"log prior of the graphs {self.log_structure_prior:.2f}"] if known else []
        best = self.chosen
        others = [t for t in self.path if best.components != t.components and t.degenerate == best.degenerate]
        if others:
            next_best = max(others, key=lambda trial: trial.value)
            many = counted(next_best.components, "component")
            gap = f"{best.value - next_best.value:.2f} nats below{', prior counted' if known else ''}"
            said.append(f"the next best number, {many}, is {gap}")
        return "; ".join(said)

    @property
    def _remark(self) -> str:
        degenerate = "; degenerate: a variance is all but none, and the likelihood has no maximum"
        joint = f"; {self.approximation}" if self.approximation else ""
        lost = self.chosen.asked - self.chosen.components
        died = f"; {lost} of the {self.chosen.asked} asked for lost all rows" if lost else ""
        return died + joint + (degenerate if self.degenerate else "")

    __repr__ = __str__


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
    trail
        Returns learning as it stands, to be kept in a file and gone on from.
    """

    asked: int
    start: int
    tick: Tick
    best: float | None
    state: State
    done: tuple[Trial, ...]
    trail: Callable[[], MixtureTrail]


WatchMixture = Callable[[MixtureProgress], object]

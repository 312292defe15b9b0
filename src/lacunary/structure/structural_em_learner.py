"""What structural EM asks of a kind of network, and the answers for discrete and for continuous ones.

Structural EM itself knows nothing of counts: it deals in graphs, vectors of parameters and family scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.evidence.complete import complete_log_likelihood
from lacunary.evidence.exact import complete_log_evidence
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.islands import Islands
from lacunary.infer.network import Network
from lacunary.infer.prior import Standardised, standardised
from lacunary.infer.rows import Rows
from lacunary.infer.scale import Scale
from lacunary.infer.spread import Spread
from lacunary.learn.around import Around
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.learn.loop import climb
from lacunary.learn.start import Draws, Starts, first_point
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.structure.expected import ExpectedCounts
from lacunary.structure.expected_moments import ExpectedMoments
from lacunary.structure.score import FamilyScore

__all__ = ["Climbed", "ContinuousLearner", "DiscreteLearner", "Learner", "Weighed", "learner_of"]

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where some steps of EM led: parameters, log-likelihood, and whether nothing more is gained."""

    theta: Vector
    log_likelihood: float
    converged: bool
    interrupted: bool = False


@dataclass(frozen=True, eq=False)
class Weighed:
    """A graph's Cheeseman–Stutz score in nats, at the maximum it was worked out at."""

    score: float
    theta: Vector
    log_likelihood: float
    interrupted: bool = False


class Learner(Protocol):
    """A kind of network, a table and a prior: all that structural EM needs to know of them.

    Parameters are flat vectors, whatever they mean, in standardised columns; graphs have their parents in
    the schema's order.
    """

    def start(self, dag: Dag, rng: np.random.Generator) -> Vector:
        """Return parameters from which to begin."""
        ...

    def climb(self, dag: Dag, theta: Vector, steps: int | None) -> Climbed:
        """Take steps of EM, or all there are until convergence."""
        ...

    def complete(self, dag: Dag, theta: Vector) -> FamilyScore:
        """Return the score of any family on expected statistics under this network (TMCH98 eq. 12–14)."""
        ...

    def enlarged(self, dag: Dag, theta: Vector) -> FamilyScore | None:
        """Return a score by which larger graphs are found than by `complete`; None if nothing is missing."""
        ...

    def maximize(self, dag: Dag, score: FamilyScore) -> Vector:
        """Return the best parameters of a graph, given the statistics behind a score."""
        ...

    def weigh(self, dag: Dag, theta: Vector) -> Weighed:
        """Return the graph's Cheeseman–Stutz score, at the maximum EM climbs to from these parameters."""
        ...

    def network(self, dag: Dag, theta: Vector) -> Network:
        """Return the network with these parameters, in the data's units."""
        ...


@dataclass(eq=False)
class _Networks:
    """What is the same for networks of all kinds: exact inference, EM, and the Cheeseman–Stutz score.

    Attributes
    ----------
    table
        The rows, aligned with the schema of all graphs.
    criterion, prior
        How families are scored on expected statistics. EM maximises the posterior under the same prior.
    stop
        When EM has converged.
    starts
        Draws from which EM begins where something is hidden; the best goes on.
    """

    table: Table
    criterion: Literal["bd", "bic"]
    prior: Prior
    stop: Stop = field(default_factory=lambda: Stop(relative=1e-8, share=1e-6))
    starts: int = 10
    _prepared: dict[Dag, Rows] = field(default_factory=dict, repr=False)

    @cached_property
    def scale(self) -> Scale:
        """Centre and spread of continuous columns."""
        return Scale.of(self.table)

    @cached_property
    def rows(self) -> Table:
        """The table with standardised columns."""
        return self.scale.table(self.table)

    def start(self, dag: Dag, rng: np.random.Generator) -> Vector:
        """Return what fully observed families say; where something is hidden, the best of several draws."""
        if not dag.schema.hidden:
            return first_point(self._laid(dag), self._belief(dag), self.rows)
        points = self._draws().points(self._belief(dag), self.prior, self.rows, rng)
        climbs, _ = climb(self._laid(dag), self._rule(dag), points, Stop(relative=1e-5))
        return max(climbs, key=lambda one: one.objective).theta

    def climb(self, dag: Dag, theta: Vector, steps: int | None) -> Climbed:
        """Take steps of EM, or all there are until convergence."""
        # One sweep more than steps: it tells how good the parameters are to which the last step led.
        stop = self.stop if steps is None else Stop(iterations=steps + 1)
        climbs, interrupted = climb(self._laid(dag), self._rule(dag), theta[None], stop)
        [end] = climbs
        if end.log_likelihood == -np.inf and not interrupted:
            self._laid(dag).check_possible(end.theta)
        return Climbed(end.theta, end.log_likelihood, end.converged, interrupted)

    def weigh(self, dag: Dag, theta: Vector) -> Weighed:
        """Return log p(D′) − log p(D′ | θ) + log p(D | θ) at the maximum (CH96 eq. 13).

        Its two terms in the log of N cancel, as the expected data have all parameters to charge for.
        """
        end = self.climb(dag, theta, None)
        (stats,) = self._laid(dag).expect(end.theta[None])
        evidence = complete_log_evidence(self._belief(dag), stats.counts)
        score = evidence - complete_log_likelihood(dag, end.theta, stats.counts) + stats.log_likelihood
        return Weighed(score, end.theta, stats.log_likelihood, end.interrupted)

    def network(self, dag: Dag, theta: Vector) -> Network:
        """Return the network with these parameters, in the data's units."""
        return Network(dag, self.scale.outward(dag, theta))

    def _draws(self) -> Starts:
        return Draws(self.starts)

    def _diluted(self) -> float | None:
        """Return the share of rows in which two variables are both seen; None if nothing is missing."""
        seen = [not variable.hidden for variable in self.table.schema]
        share = float(np.average(self.table.holes[:, seen].mean(axis=1), weights=self.table.weights))
        return (1.0 - share) ** 2 if 0.0 < share < 1.0 else None

    def _belief(self, dag: Dag) -> Belief:
        return self.prior(dag)

    def _rule(self, dag: Dag) -> Maximize:
        return maximize_rule(self._belief(dag), "map", "softmax", None)

    def _laid(self, dag: Dag) -> Rows:
        """Return the table laid out for a graph; the last two graphs are kept."""
        if dag not in self._prepared:
            while len(self._prepared) > 1:
                del self._prepared[next(iter(self._prepared))]
            self._prepared[dag] = self.scale.prepare(dag, self.rows)
        return self._prepared[dag]


@dataclass(eq=False)
class DiscreteLearner(_Networks):
    """Discrete networks: exact inference by junction trees, expected counts by islands (`ExpectedCounts`)."""

    def complete(self, dag: Dag, theta: Vector) -> ExpectedCounts:
        """Return the score of any family on expected counts under this network."""
        return ExpectedCounts(cast(Islands, self._laid(dag).families(theta)), self.criterion, self.prior)

    def enlarged(self, dag: Dag, theta: Vector) -> ExpectedCounts | None:
        """Return the score of families as if each row counted 1/(1 − h)² times, with h the share of holes.

        Two variables that no arc joins are both seen in a part f = (1 − h)² of the rows; elsewhere they are
        filled in as if independent. Their dependence in the expected counts is then f times as strong as it
        is, and what an arc gains, which grows with the square, f² times; the rows in which both are seen
        speak for it with f.
        """
        share = self._diluted()
        if share is None:
            return None
        heavy = self._laid(dag).weighed(self.table.weights / share)
        return ExpectedCounts(cast(Islands, heavy.families(theta)), self.criterion, self.prior)

    def maximize(self, dag: Dag, score: FamilyScore) -> Vector:
        """Return the best parameters of a graph given expected counts."""
        assert isinstance(score, ExpectedCounts)
        counts = np.zeros(dag.layout.size)
        for child, parents in enumerate(dag.parent_indices):
            counts[dag.layout.slice(child)] = dag.layout.flat(score.counts(child, parents))
        return np.asarray(self._rule(dag).improve(counts[None])[0])

    def _draws(self) -> Starts:
        """Draws around the fit without hidden variables (TMCH98 section 5)."""
        return Around(self.starts)


@dataclass(eq=False)
class ContinuousLearner(_Networks):
    """Networks with continuous variables, or with both kinds: expected moments in every configuration."""

    @cached_property
    def spread(self) -> Spread:
        """The rows with every discrete configuration they allow."""
        return Spread(self.rows)

    def complete(self, dag: Dag, theta: Vector) -> ExpectedMoments:
        """Return the score of any family on expected moments under this network."""
        return self._scored(dag, theta, 1.0)

    def enlarged(self, dag: Dag, theta: Vector) -> ExpectedMoments | None:
        """Return the score as if rows counted more often; see `DiscreteLearner.enlarged`."""
        share = self._diluted()
        return None if share is None else self._scored(dag, theta, 1.0 / share)

    def _scored(self, dag: Dag, theta: Vector, factor: float) -> ExpectedMoments:
        assert isinstance(self.prior, Standardised)
        triples = self.spread.under(dag, theta).triples().times(factor)
        return ExpectedMoments(dag.schema, triples, self.criterion, self.prior)

    def maximize(self, dag: Dag, score: FamilyScore) -> Vector:
        """Return the best parameters of a graph given expected moments."""
        assert isinstance(score, ExpectedMoments)
        return np.asarray(self._rule(dag).improve(score.statistics(dag)[None])[0])


def learner_of(
    table: Table, criterion: Literal["bd", "bic"], prior: Any, starts: int
) -> DiscreteLearner | ContinuousLearner:
    """Return the learner for the kinds of a table's variables."""
    names = [variable.name for variable in table.schema if not variable.discrete]
    if not names:
        return DiscreteLearner(table, criterion, prior, starts=starts)
    scale, where = Scale.of(table), [table.schema.index(name) for name in names]
    inside = standardised(prior, names, *scale.of_columns(where))
    return ContinuousLearner(table, criterion, inside, starts=starts)

"""A mixture's parameters integrated out by variational Bayes, given its structures (BG03; TMCH98 eq. 15).

The posterior over owners of rows, holes and parameters is approximated by q(owners, holes) q(parameters);
both are conjugate, and take turns as in `lacunary.learn.vbem`. What new rows are worth is then known in
closed form: weights and tables count with their means, regressions are Student t's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp

from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer.belief import BDeu, Belief
from lacunary.infer.mixture import Noise
from lacunary.infer.prior import Standardised
from lacunary.learn.stop import Stop
from lacunary.learn.vbem import update_rule
from lacunary.mixture.engine import Engine
from lacunary.mixture.gaussian import Gaussian
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.mixture.student import log_predictive
from lacunary.mixture.tied import Tied
from lacunary.structure.networks import Networks, Vectors
from lacunary.structure.score import Structure

__all__ = ["Posterior", "posterior"]

Array = NDArray[np.float64]

CONVERGED = Stop(relative=1e-9, iterations=500)
"""When the bound has converged."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """An approximate posterior of all parameters.

    Attributes
    ----------
    engine
        The components' rows, whatever their kinds.
    points
        Hyperparameters of each component, of standardised columns.
    weights
        The expected weights, the noise last; (components,).
    noise
        The noise, which stays at its peak.
    bounds
        The lower bound of the log evidence after each step, in nats; the last is the highest.
    """

    engine: Networks
    structures: tuple[Structure, ...]
    points: tuple[Array, ...]
    weights: Array
    noise: Noise | None
    bounds: tuple[float, ...]

    def log_density(self, rows: Table) -> Array:
        """Return log p(row | data, structures), the parameters integrated out; (rows,)."""
        seen = self.engine.others(rows)
        logs = [
            log_predictive(seen, structure, self._belief(structure, point))
            for structure, point in zip(self.structures, self.points, strict=True)
        ]
        if self.noise is not None:
            logs.append(self.noise.log_density(rows))
        return np.asarray(logsumexp(np.stack(logs, axis=1) + np.log(self.weights), axis=1))

    def _belief(self, structure: Structure, point: Array) -> Belief:
        prior = self.engine.belief(structure)
        return Belief(prior.dag, point.copy(), prior.surplus, standard=True)


def posterior(
    learner: MixtureLearner, model: Parameters, structures: Sequence[Structure], stop: Stop = CONVERGED
) -> Posterior:
    """Return the approximate posterior that climbing from a model's shares leads to."""
    engine, many = _any_kind(learner.engine), len(structures)
    updates = [update_rule(engine.belief(structure), None) for structure in structures]
    networks = learner.engine.networks(model.models)
    vectors = [engine.scale.inward(n.dag, n.theta) for n in networks]
    with np.errstate(divide="ignore"):
        log_weights = np.log(model.weights)
    bounds: list[float] = []
    _, told = learner.step(engine, Vectors(tuple(structures), tuple(vectors)), log_weights, model.noise)
    for _ in range(stop.iterations):
        counts, own = told.counts, engine.split(structures, told.sums)
        points = [
            np.asarray(update.improve(mine[None])[0]) for update, mine in zip(updates, own, strict=True)
        ]
        vectors = [update.potentials(p[None])[0] for update, p in zip(updates, points, strict=True)]
        log_weights, apart = _weights(learner, counts, many)
        _, told = learner.step(engine, Vectors(tuple(structures), tuple(vectors)), log_weights, model.noise)
        apart += sum(float(update.divergence(p[None])[0]) for update, p in zip(updates, points, strict=True))
        bounds.append(told.log_likelihood - apart)
        if len(bounds) > 1 and stop.met(bounds[0], bounds[-2], bounds[-1]):
            break
    weights = learner.mean_weights(counts, many)
    return Posterior(engine, tuple(structures), tuple(points), weights, model.noise, tuple(bounds))


def _weights(learner: MixtureLearner, counts: Array, many: int) -> tuple[Array, float]:
    """Return E[log weight] of each component, and KL(q ‖ p) of the weights."""
    alpha, after = (
        learner.grouped(learner.alpha(many), many),
        learner.grouped(learner.alpha(many) + counts, many),
    )
    logs = digamma(after) - digamma(after.sum())
    apart = gammaln(after.sum()) - gammaln(after).sum() - gammaln(alpha.sum()) + gammaln(alpha).sum()
    apart += float(((after - alpha) * logs).sum())
    if learner.equal:
        logs = np.array([*[logs[0] - np.log(many)] * many, *logs[1:]])
    return np.asarray(logs), float(apart)


def _any_kind(engine: Engine) -> Networks:
    """Return the same rows and prior in the engine that knows potentials of all kinds."""
    if isinstance(engine, Tied):
        raise ParameterError(
            "components that share parameters have no conjugate posterior; use how='plug-in'"
        )
    if isinstance(engine, Gaussian):
        return Networks(engine.source, Standardised(engine.belief, BDeu(1.0)), scale=engine.scale)
    assert isinstance(engine, Networks)
    return engine

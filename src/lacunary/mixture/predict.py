"""How well a mixture predicts rows it has not seen, its parameters integrated out by Gibbs sampling.

Given the structures, components, holes and parameters of the training rows are drawn in turn, and the density
of each new row is averaged over the draws: p(row | data, structures), TMCH98 eq. 15. Weights and the noise's
bounds need no draws there: given who owns which rows, both are integrated out in closed form. Draws would all
but never be wide enough for a row far beyond the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from lacunary.data.parts import Parts, itself
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer.mixture import Noise, shared_out
from lacunary.maths.gamma import dirichlet
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.structure.score import Structure
from lacunary.structure.shares import Shares, all_of, cut

__all__ = ["Prediction", "gibbs"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Log predictive densities of some rows.

    Attributes
    ----------
    log_density
        log p(row | data, structures), in nats; (rows,).
    draws
        Draws of the parameters that were averaged; zero where they were at a point.
    stderr
        Standard error of the mean log-density that comes from the number of draws, by batches.
    """

    log_density: Array
    draws: int = 0
    stderr: float = 0.0

    @property
    def score(self) -> float:
        """The logarithmic score of Good (1952): the mean log-density; higher is better."""
        return float(self.log_density.mean())


BATCHES = 10
"""Parts of the draws whose spread tells how far their average can be trusted."""


def gibbs(
    learner: MixtureLearner,
    model: Parameters,
    structures: Sequence[Structure],
    rows: Table,
    *,
    draws: int = 500,
    burn: int = 100,
    rng: int | np.random.Generator = 0,
) -> Prediction:
    """Return log p(row | data, structures) of rows, averaging over draws that start from the model."""
    if draws < BATCHES or burn < 0:
        raise ParameterError(
            f"at least {BATCHES} draws are needed, not {draws}, and burn must not be negative"
        )
    random = np.random.default_rng(rng)
    others = learner.engine.others(rows)
    logs = np.empty((draws, len(rows)))
    for step, (drawn, weights, owned) in enumerate(_chain(learner, model, structures, burn + draws, random)):
        if step < burn:
            continue
        density = others.log_evidence(drawn.models)
        if learner.noise is not None and drawn.noise is not None:
            owners = _placed(learner, owned)
            density = np.column_stack([density, learner.noise.log_predictive(owners, rows)])
        logs[step - burn] = logsumexp(density + np.log(weights), axis=1)
    mean = logsumexp(logs, axis=0) - np.log(draws)
    parts = [
        logsumexp(part, axis=0).mean() - np.log(len(part)) for part in np.array_split(logs, BATCHES, axis=0)
    ]
    return Prediction(np.asarray(mean), draws, float(np.std(parts, ddof=1) / np.sqrt(BATCHES)))


def _chain(
    learner: MixtureLearner,
    model: Parameters,
    structures: Sequence[Structure],
    steps: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Parameters, Array, Array]]:
    """Yield parameters: owners of rows and holes given parameters, then parameters given these.

    Beside them stand the weights expected given the owners, (components,), and which rows are the noise's.
    """
    noisy = model.noise is not None
    alpha = learner.alpha(len(structures))
    repeats = _whole(np.concatenate(learner.engine.row_weights.each(itself)))
    for _ in range(steps):
        shares, _ = shared_out(learner.log_densities(model))
        owner = (rng.random((len(shares), 1)) > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
        counts = np.bincount(owner, weights=repeats, minlength=len(alpha))
        own = np.where(owner < len(structures), owner, -1)
        moments = learner.engine.completed(model.models, own, rng)
        weights = dirichlet(alpha + counts, rng)
        owned = np.asarray(owner == len(structures), dtype=np.float64)
        model = Parameters(
            learner.engine.sample(moments, structures, rng),
            weights,
            _drawn_noise(learner, owned, rng) if noisy else None,
        )
        yield model, (alpha + counts) / (alpha.sum() + counts.sum()), owned


def _drawn_noise(learner: MixtureLearner, owned: Array, rng: np.random.Generator) -> Noise:
    assert learner.noise is not None
    return learner.noise.draw(_placed(learner, owned), rng)


def _placed(learner: MixtureLearner, owned: Array) -> Parts[Shares]:
    """Return which rows are the noise's in the parts where they are."""
    weights = learner.engine.row_weights
    return all_of(weights, cut(owned[:, None], weights))


def _whole(weights: Array) -> Array:
    """Refuse weights other than one: a row that counts thrice would have to be drawn three times."""
    if np.any(weights != 1.0):
        raise ParameterError("Gibbs sampling draws each row once; repeat rows instead of weighting them")
    return weights

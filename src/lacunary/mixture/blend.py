"""A mixture while it is learned: the E-step, the M-step, and what the mixture is worth.

With shares r_lc = p(component c | row l), EM alternates the shares and the models that would be best were
the shares observed (TMCH98 sections 3–5). Mixture weights are at their mode in the softmax basis,
(N_c + α_c)/(N + Σα), since the paper's hyperparameters lie below one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from lacunary.evidence.estimate import Estimate
from lacunary.infer.mixture import Mixture, Noise, shared_out
from lacunary.mixture.component import Engine, Structure
from lacunary.mixture.noise import Bounds

__all__ = ["Blend", "Completed", "Mixer"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Blend:
    """Parameters of all components, their weights (the noise last), and the noise."""

    models: Any
    weights: Array
    noise: Noise | None


@dataclass(frozen=True, eq=False)
class Completed:
    """What an E-step gives: shares, the components' expected statistics, and the log-likelihood.

    Attributes
    ----------
    shares
        p(component | row), the noise last; (rows, components).
    counts
        Σ over rows of weight · share; (components,).
    statistics
        The engine's, of all components but the noise.
    log_likelihood
        log p(observed cells | parameters), in nats.
    """

    shares: Array
    counts: Array
    statistics: Any
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Mixer:
    """Rows, the engine of the components, the noise, and what is believed of the weights.

    Attributes
    ----------
    engine
        Components on the rows of the table.
    row_weights
        How often each row counts; (rows,).
    noise
        The noise on the same rows, or none.
    ess
        Σα of the Dirichlet over the weights.
    noise_share
        The noise's part of it; the components share the rest evenly. TMCH98: 1 and 0.01.
    equal
        Whether all components have the same weight.
    labels
        Which components each row may come from, where something is known of it, such as the class in a
        multinet; (rows, components), the noise left out.
    by
        The estimate by which mixtures are chosen: "cheeseman-stutz" or "bic".
    """

    engine: Engine
    row_weights: Array
    noise: Bounds | None = None
    ess: float = 1.0
    noise_share: float = 0.01
    equal: bool = False
    labels: NDArray[np.bool_] | None = None
    by: Literal["cheeseman-stutz", "bic"] = "cheeseman-stutz"

    def alpha(self, components: int) -> Array:
        """Return the hyperparameters of the weights, the noise last."""
        if self.noise is None:
            return np.full(components, self.ess / components)
        share = self.ess * self.noise_share
        return np.append(np.full(components, (self.ess - share) / components), share)

    def begin(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Blend:
        """Return a start: models drawn around the fit to all rows, equal weights (TMCH98 section 5)."""
        many = len(structures) + (self.noise is not None)
        noise = self.noise.maximize(np.ones(len(self.row_weights))) if self.noise else None
        return Blend(self.engine.draw(structures, ess, rng), np.full(many, 1.0 / many), noise)

    def log_densities(self, blend: Blend) -> Array:
        """Return log weight + log p(observed cells | component), the noise last; (rows, components)."""
        logs = self.engine.log_evidence(blend.models)
        if blend.noise is not None and self.noise is not None:
            logs = np.column_stack([logs, blend.noise.log_density(self.noise.table)])
        with np.errstate(divide="ignore"):
            logs = np.asarray(logs + np.log(blend.weights))
        return self.known(logs)

    def known(self, logs: Array) -> Array:
        """Return log-densities without those of components that a row's label excludes."""
        if self.labels is None:
            return logs
        out = logs.copy()
        out[:, : self.labels.shape[1]][~self.labels] = -np.inf
        return out

    def expect(self, blend: Blend) -> Completed:
        """Return shares and expected statistics of the complete model under the blend."""
        shares, rows = _shared_out(self.log_densities(blend))
        own = shares[:, : shares.shape[1] - (blend.noise is not None)]
        return Completed(
            shares,
            self.row_weights @ shares,
            self.engine.statistics(blend.models, own),
            float(self.row_weights @ rows),
        )

    def maximize(self, completed: Completed, structures: Sequence[Structure]) -> Blend:
        """Return the blend of highest posterior density, were the shares observed."""
        return Blend(
            self.engine.maximize(completed.statistics, structures),
            self.mean_weights(completed.counts, len(structures)),
            self.noise.maximize(completed.shares[:, -1]) if self.noise else None,
        )

    def log_prior(self, blend: Blend) -> float:
        """Return the log prior density of all parameters; weights in the softmax basis."""
        alpha = self.alpha(len(blend.weights) - (blend.noise is not None))
        weights = gammaln(alpha.sum()) - gammaln(alpha).sum() + xlogy(alpha, blend.weights).sum()
        noise = self.noise.log_prior(blend.noise) if self.noise and blend.noise else 0.0
        return float(weights) + self.engine.log_prior(blend.models) + noise

    def estimate(self, blend: Blend, structures: Sequence[Structure]) -> Estimate:
        """Return what the mixture is worth, by the estimate that chooses."""
        return self.bic(blend, structures) if self.by == "bic" else self.cheeseman_stutz(blend, structures)

    def bic(self, blend: Blend, structures: Sequence[Structure]) -> Estimate:
        """Return the log-likelihood at the blend less (log N)/2 for every parameter; higher is better."""
        _, rows = shared_out(self.log_densities(blend))
        free = self.dimension(structures)
        terms = {
            "log-likelihood": float(self.row_weights @ rows),
            "dimension of the data": -0.5 * free * float(np.log(self.row_weights.sum())),
        }
        value = sum(terms.values())
        return Estimate("bic", value, "approximation", terms, dimension=free, where="map")

    def cheeseman_stutz(self, blend: Blend, structures: Sequence[Structure]) -> Estimate:
        """Return the Cheeseman–Stutz estimate at the blend; the two dimensions are taken as equal."""
        completed = self.expect(blend)
        shares = completed.shares[:, -1] if self.noise else np.zeros(0)
        evidence = self.log_evidence(completed, structures)
        fit = float(xlogy(completed.counts, blend.weights).sum())
        fit += float(self.engine.fit(completed.statistics, blend.models).sum())
        fit += self.noise.fit(shares, blend.noise) if self.noise and blend.noise else 0.0
        terms = {
            "evidence of the expected data": evidence,
            "fit of the expected data": -fit,
            "log-likelihood": completed.log_likelihood,
        }
        return Estimate(
            "cheeseman-stutz",
            sum(terms.values()),
            "approximation",
            terms,
            dimension=self.dimension(structures),
            where="map",
        )

    def log_evidence(self, completed: Completed, structures: Sequence[Structure]) -> float:
        """Return the evidence of the expected data, the criterion of the search (TMCH98 eq. 7 and 12)."""
        total = self._owners(completed.counts, len(structures))
        for score, structure in zip(self.engine.scores(completed.statistics), structures, strict=True):
            total += sum(score.family(child, parents) for child, parents in enumerate(structure))
        return total + (self.noise.log_evidence(completed.shares[:, -1]) if self.noise else 0.0)

    def mean_weights(self, counts: Array, many: int) -> Array:
        """Return (N_c + α_c)/(N + Σα): the mode in the softmax basis, and the mean."""
        weights = counts + self.alpha(many)
        if self.equal:
            weights[:many] = weights[:many].mean()
        return np.asarray(weights / weights.sum())

    def grouped(self, counts: Array, many: int) -> Array:
        """Return counts of what has a weight of its own: all components together where theirs are equal."""
        return np.array([counts[:many].sum(), *counts[many:]]) if self.equal else counts

    def _owners(self, counts: Array, many: int) -> float:
        """Return the log evidence of which component each row came from."""
        even = -float(counts[:many].sum() * np.log(many)) if self.equal else 0.0
        alpha, counts = self.grouped(self.alpha(many), many), self.grouped(counts, many)
        return even + float(
            gammaln(alpha.sum())
            - gammaln(alpha.sum() + counts.sum())
            + (gammaln(alpha + counts) - gammaln(alpha)).sum()
        )

    def dimension(self, structures: Sequence[Structure]) -> int:
        """Return the number of free parameters."""
        noise = self.noise.free + 1 if self.noise else 0
        return self.engine.dimension(structures) + (0 if self.equal else len(structures) - 1) + noise

    def mixture(self, blend: Blend) -> Mixture:
        """Return the blend as a mixture of networks, in the data's units."""
        return Mixture(blend.weights, self.engine.networks(blend.models), blend.noise)


def _shared_out(logs: Array) -> tuple[Array, Array]:
    """Return what `shared_out` does, faster where every row can come from some component."""
    top = logs.max(axis=1)
    if not np.all(np.isfinite(top)):
        return shared_out(logs)
    shares = np.exp(logs - top[:, None])
    total = shares.sum(axis=1)
    shares /= total[:, None]
    return shares, np.asarray(top + np.log(total))

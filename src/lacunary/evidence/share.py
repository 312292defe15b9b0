"""Posterior probabilities of models, with what the error of Monte Carlo estimates leaves open of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from lacunary.evidence.estimate import Estimate
from lacunary.maths.arrays import Array, Booleans

__all__ = [
    "Share",
    "expected_shares",
    "proven_too_low",
    "rounding",
    "sampling",
    "shares",
    "tied",
    "why_unsure",
]

TIE = 1e-9
"""Relative difference of log evidences that may be rounding."""

LEVEL = 0.95
"""Of the intervals."""

DRAWS = 8192
"""Draws of the errors, which tell an interval's ends to a tenth of its width."""

ROUGH = 0.5
"""Nats by which formulas may be below a proven bound without being called wrong."""

NARROW = 0.01
"""A probability that is known so well is told, however close the next model is."""


@dataclass(frozen=True)
class Share:
    """The posterior probability of a model according to one estimate.

    Attributes
    ----------
    probability
        None where the error of the estimate exceeds what tells the models apart, or is not known.
    low, high
        A 95 % interval that carries the Monte Carlo error; both are the probability where there is none.
    note
        Why there is no probability; empty if there is one.
    """

    probability: float | None
    low: float
    high: float
    note: str = ""

    def __str__(self) -> str:
        between = f"{self.low:.3f} to {self.high:.3f}"
        if self.probability is None:
            return between if self.high > self.low else "unknown"
        wide = self.high - self.low > 0.001
        return f"{self.probability:.3f}{f' ({between})' if wide else ''}"


def shares(found: Sequence[Estimate], log_prior: Array, floors: Sequence[float]) -> tuple[Share, ...]:
    """Return the posterior probability of each model by its estimate; ``floors`` are proven lower bounds."""
    logs, errors = _logs(found, log_prior), _errors(found)
    point = np.exp(logs - logsumexp(logs))
    reason = why_unsure(found, floors)
    if reason:
        return tuple(Share(None, 0.0, 1.0, reason) for _ in found)
    if not errors.any():
        return tuple(Share(p, p, p) for p in point.tolist())
    drawn = _drawn(found, logs)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    low, high = np.minimum(low, point), np.maximum(high, point)
    note = "the error of the estimates exceeds their difference"
    return tuple(
        Share(None, float(low[i]), float(high[i]), note)
        if open_ and high[i] - low[i] > NARROW
        else Share(float(point[i]), float(low[i]), float(high[i]))
        for i, open_ in enumerate(_open(logs, errors))
    )


def rounding(value: float) -> float:
    """Return the nats by which a log evidence may be off by rounding alone."""
    return TIE * max(1.0, abs(value))


def expected_shares(found: Sequence[Estimate], log_prior: Array) -> Array:
    """Return the posterior probability of each model, averaged over the errors of the estimates."""
    logs = _logs(found, log_prior)
    if not _errors(found).any():
        return np.asarray(np.exp(logs - logsumexp(logs)))
    return np.asarray(_drawn(found, logs).mean(axis=0))


def tied(found: Sequence[Estimate], log_prior: Array) -> Booleans:
    """Tell which models may have the highest posterior probability: by rounding, or by the errors."""
    logs, errors = _logs(found, log_prior), _errors(found)
    top = int(np.argmax(logs))
    slack = np.maximum(rounding(float(logs[top])), np.hypot(errors, errors[top]))
    return np.asarray(logs >= logs[top] - slack)


def why_unsure(found: Sequence[Estimate], floors: Sequence[float]) -> str:
    """Return why estimates make no probabilities, in words; nothing if they do.

    Formulas, too: what BIC is below a bound grows with the parameters, and with it what it says against them.
    """
    sampled = [e for e in found if sampling(e)]
    if any(proven_too_low(e, floor) for e, floor in zip(found, floors, strict=True)):
        return "an estimate lies below a proven lower bound"
    if any(e.stderr is None for e in sampled):
        return "the error of an estimate is not known"
    if not all(e.trustworthy for e in sampled):
        return "the error of an estimate is not to be trusted"
    return ""


def sampling(estimate: Estimate) -> bool:
    """Tell whether an estimate has an error of draws."""
    return estimate.kind == "Monte Carlo" or estimate.stderr is not None


def proven_too_low(estimate: Estimate, floor: float) -> bool:
    """Tell whether an estimate lies below a proven lower bound by more than its error.

    That of Monte Carlo estimates is two standard errors; formulas are given half a nat.
    """
    slack = ROUGH if estimate.stderr is None else 2 * estimate.stderr
    slack += rounding(floor)
    return estimate.kind in ("Monte Carlo", "approximation") and bool(estimate.value < floor - slack)


def _logs(found: Sequence[Estimate], log_prior: Array) -> Array:
    return np.array([e.value for e in found]) + log_prior


def _errors(found: Sequence[Estimate]) -> Array:
    return np.array([e.stderr or 0.0 for e in found])


def _drawn(found: Sequence[Estimate], logs: Array) -> Array:
    """Return probabilities under errors drawn from their t distributions; (draws, models)."""
    rng, freedom = np.random.default_rng(0), np.array([e.details.get("freedom", 1e6) for e in found])
    off = rng.standard_t(freedom, (DRAWS, len(found)))
    moved = logs + _errors(found) * off
    return np.asarray(np.exp(moved - logsumexp(moved, axis=1, keepdims=True)))


def _open(logs: Array, errors: Array) -> Booleans:
    """Tell of which models the log odds against all others are smaller than their error."""
    out = np.zeros(len(logs), dtype=np.bool_)
    for i in range(len(logs)):
        rivals = np.delete(np.arange(len(logs)), i)
        if len(rivals):
            rival = rivals[np.argmax(logs[rivals])]
            with np.errstate(invalid="ignore"):
                out[i] = abs(logs[i] - logs[rival]) < np.hypot(errors[i], errors[rival])
    return out

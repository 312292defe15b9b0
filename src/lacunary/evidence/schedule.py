"""Annealing schedules: the inverse temperatures from 0, the prior, to 1, the posterior.

The variance of an annealed log-weight is a sum over stretches of the schedule, each falling like one over
the number of steps spent there. It is least when steps are in proportion to the standard deviation that
equally many steps leave behind in each stretch; a short pilot run shows these.
"""

from __future__ import annotations

import numpy as np

from lacunary.errors import ParameterError
from lacunary.evidence.chains import Chains, seeds
from lacunary.maths.arrays import Array

__all__ = ["bent", "check_schedule", "spread_steps", "straight", "tuned"]

BEND = 0.2
"""How much a schedule lingers near the prior; small is much."""

STRETCHES = 32
"""Stretches whose steps are chosen apart."""

PILOTS = 16
"""Chains of a pilot run: enough to tell standard deviations within a fifth."""

EVEN = 0.2
"""Share of the steps that is spread evenly, because pilots may have missed something."""


def straight(steps: int) -> Array:
    """Return evenly spaced inverse temperatures from 0 to 1; (steps + 1,)."""
    return np.linspace(0.0, 1.0, steps + 1)


def bent(steps: int, bend: float = BEND) -> Array:
    """Return τ(k) = e (k/K) / (1 − k/K + e) with e the ``bend``, which lingers near 0; (steps + 1,)."""
    if not bend > 0.0:
        raise ParameterError(f"a schedule's bend must be positive, not {bend}")
    along = straight(steps)
    return along if np.isinf(bend) else np.asarray(bend * along / (1.0 - along + bend))


def tuned(chains: Chains, steps: int, rng: np.random.Generator) -> Array:
    """Return inverse temperatures that lie dense where a pilot run found the weights to spread; (steps + 1,).

    The pilot's chains are apart from those that use the schedule, so that weights stay unbiased.
    """
    pilot = straight(pilot_steps(steps))
    trace = chains.walk(pilot, seeds(rng, PILOTS), keep=("trace",)).trace
    return spread_steps(pilot, trace, steps)


def pilot_steps(steps: int) -> int:
    """Return how long a pilot run should be: one part in 32, at least 64, whole stretches."""
    return STRETCHES * max(-(-steps // (32 * STRETCHES)), 2)


def spread_steps(tau: Array, trace: Array, steps: int) -> Array:
    """Spread steps by the standard deviations of what each stretch added to the pilots' log-weights.

    Parameters
    ----------
    tau, trace
        The pilot's schedule and log-weights along it; (pilot steps + 1,) and (chains, pilot steps).
    """
    stride = trace.shape[1] // STRETCHES
    reached = np.concatenate([np.zeros((len(trace), 1)), trace[:, stride - 1 :: stride]], axis=1)
    spread = np.diff(reached, axis=1).std(axis=0, ddof=1)
    spread = np.convolve(np.pad(spread, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid")
    if not spread.sum() > 0.0:
        return straight(steps)
    share = (1.0 - EVEN) * spread / spread.sum() + EVEN / STRETCHES
    reach = np.concatenate([[0.0], np.cumsum(share)])
    out = np.interp(straight(steps), reach / reach[-1], tau[::stride])
    out[0], out[-1] = 0.0, 1.0
    return np.asarray(out)


def check_schedule(tau: Array) -> Array:
    """Refuse a schedule that does not rise from 0 to 1."""
    if tau.ndim != 1 or len(tau) < 2 or tau[0] != 0.0 or tau[-1] != 1.0 or np.any(np.diff(tau) < 0.0):
        raise ParameterError("a schedule must rise from 0 to 1, both included")
    return tau

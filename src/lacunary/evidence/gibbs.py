"""Draws from the posterior of parameters and completions, and from everything between it and the prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunary.errors import ParameterError
from lacunary.evidence.chains import Chains, check_positive, lay_out, seeds
from lacunary.evidence.problem import Problem
from lacunary.evidence.schedule import straight, tuned
from lacunary.maths.arrays import Array

__all__ = ["Ladder", "gibbs", "ladder"]


def gibbs(
    problem: Problem,
    draws: int = 1000,
    *,
    burn: int = 500,
    chains: int = 4,
    thin: int = 1,
    rng: int | np.random.Generator | None = None,
) -> Array:
    """Return draws of the parameters from their posterior; (chains, draws, size).

    The first half of ``burn`` anneals every chain from the prior to the posterior, so that chains may
    end in different modes; the second half stays there. States of a hidden variable have no order: what is
    called the first in one chain may be the second in another. Regressions are those of standardised
    columns.
    """
    check_positive(draws=draws, chains=chains, thin=thin)
    laid = lay_out(problem)
    laid.check_room(chains, draws, (laid.telling,))
    ramp = straight(max(burn // 2, 1))
    stay = max(burn - burn // 2, 0)
    wait = -(-(len(ramp) - 1 + stay) // thin)  # whole multiples of thin come before the first draw
    ones = np.ones(wait * thin - (len(ramp) - 1) + draws * thin)
    tau, generator = np.concatenate([ramp, ones]), np.random.default_rng(problem.rng if rng is None else rng)
    walks = laid.walk(tau, seeds(generator, chains), every=thin, keep=(laid.telling,))
    return laid.parameters(walks, wait, generator)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Draws at every rung from prior to posterior.

    Attributes
    ----------
    laid
        The tempered family.
    tau
        The rungs' inverse temperatures; (rungs,).
    counts
        Counts of the completions drawn; (chains, rungs, draws, size).
    """

    laid: Chains
    tau: Array
    counts: Array

    def rise(self, at: int, low: int, high: int) -> Array:
        """Return log f_high − log f_low of the draws at a rung; (chains, draws)."""
        counts = self.counts[:, at]
        return self.laid.log_tempered(self.tau[high], counts) - self.laid.log_tempered(self.tau[low], counts)

    def heights(self) -> Array:
        """Return log f of the draws at each rung, at its own temperature; (chains, draws, rungs)."""
        rungs = [self.laid.log_tempered(tau, self.counts[:, at]) for at, tau in enumerate(self.tau)]
        return np.stack(rungs, axis=-1)


def ladder(problem: Problem, temperatures: int, draws: int, burn: int, chains: int) -> Ladder:
    """Draw completions at every rung of a ladder from prior to posterior.

    Every chain climbs the ladder once; at each rung it leaves ``burn`` steps out and keeps ``draws``.
    Rungs lie close where a pilot run found that much happens.
    """
    if temperatures < 2:
        raise ParameterError(f"temperatures must be at least two, prior and posterior, not {temperatures}")
    check_positive(draws=draws, chains=chains)
    laid, generator = lay_out(problem), np.random.default_rng(problem.rng)
    laid.check_room(chains, temperatures * (burn + draws), ("counts",))
    tau = tuned(laid, temperatures - 1, generator)
    steps = np.concatenate([[0.0], np.repeat(tau, burn + draws)])
    counts = laid.walk(steps, seeds(generator, chains), keep=("counts",)).counts
    return Ladder(laid, tau, counts.reshape(chains, temperatures, burn + draws, -1)[:, :, burn:])

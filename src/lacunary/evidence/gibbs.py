"""Gibbs sampling: draws from the posterior of the parameters, with the holes filled in."""

from __future__ import annotations

import numpy as np

from lacunary.evidence.chains import FEWEST, check_positive, lay_out, seeds
from lacunary.evidence.problem import Problem
from lacunary.evidence.schedule import straight
from lacunary.maths.arrays import Array

__all__ = ["gibbs"]


def gibbs(
    problem: Problem,
    draws: int = 1000,
    *,
    burn: int = 500,
    chains: int = 4,
    thin: int = 1,
    rng: int | np.random.Generator | None = None,
    partly: bool = False,
) -> Array:
    """Return draws of the parameters from their posterior; (chains, draws, size).

    The first half of ``burn`` anneals every chain from the prior to the posterior, so that chains may
    end in different modes; the second half stays there. States of a hidden variable have no order: what is
    called the first in one chain may be the second in another. Regressions are those of standardised
    columns. Where ``partly`` is set, an interrupted walk returns what it has: fewer chains, or fewer draws.
    """
    check_positive(draws=draws, chains=chains, thin=thin)
    laid = lay_out(problem)
    laid.check_room(chains, draws, (laid.telling,))
    ramp = straight(max(burn // 2, 1))
    stay = max(burn - burn // 2, 0)
    wait = -(-(len(ramp) - 1 + stay) // thin)  # whole multiples of thin come before the first draw
    ones = np.ones(wait * thin - (len(ramp) - 1) + draws * thin)
    tau, generator = np.concatenate([ramp, ones]), np.random.default_rng(problem.rng if rng is None else rng)
    walks = laid.walk(tau, seeds(generator, chains), every=thin, keep=(laid.telling,), partly=partly)
    drawn = laid.parameters(walks, wait, generator)
    if drawn.shape[1] < min(FEWEST, draws):
        raise KeyboardInterrupt
    return drawn

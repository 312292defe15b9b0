"""Standard errors from chains that were run apart: leave each out in turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lacunary.maths.arrays import Integers

__all__ = ["jackknife", "too_few"]

ENOUGH = 8
"""Chains from which a standard error has some meaning."""


def jackknife(estimate: Callable[[Integers], float], chains: int) -> tuple[float, float | None]:
    """Return the estimate from all chains and its standard error; None from a single chain.

    With θ_c the estimate without chain c, the squared error is (C − 1)/C · Σ (θ_c − mean θ)².
    ``estimate`` takes the numbers of the chains to use. Draws within a chain may depend on one another.
    """
    every = np.arange(chains)
    value = estimate(every)
    if chains < 2:
        return value, None
    without = np.array([estimate(np.delete(every, c)) for c in every])
    return value, float(np.sqrt((chains - 1) / chains * ((without - without.mean()) ** 2).sum()))


def too_few(chains: int) -> str:
    """Return a note that the standard error is not to be trusted; nothing if it is."""
    if chains >= ENOUGH:
        return ""
    return f"{chains} chains are too few to tell the error; take at least {ENOUGH}"

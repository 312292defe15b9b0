"""The shape of the tail of importance weights: Pareto's k̂ (Vehtari, Simpson, Gelman, Yao & Gabry 2024)."""

from __future__ import annotations

import numpy as np

from lacunary.maths.arrays import Array
from lacunary.maths.psis import fit_pareto

__all__ = ["pareto_shape"]

FEWEST = 5
"""Weights in the tail from which a shape can be told."""

GRID = 20
"""The fewest points at which a shape is looked for."""


def pareto_shape(log_weights: Array) -> float:
    """Return k̂ of the largest weights, by the estimate of Zhang & Stephens (2009); 0 where they do not vary.

    Weights have k̂ᵗʰ moments up to 1/k̂: below 0.5 their variance is finite, above 0.7 their mean cannot be
    relied on. The tail is the largest fifth, or 3 √S of S weights if that is less. The shape is drawn
    towards 0.5 as if ten more weights had said so.
    """
    logs = np.sort(np.ravel(log_weights))
    size = int(min(0.2 * len(logs), 3 * np.sqrt(len(logs))))
    if size < FEWEST:
        return 0.0
    weights = np.exp(logs - logs[-1])
    excess = weights[-size:] - weights[-size - 1]
    if not excess[-1] > 0.0 or not excess[0] > 1e-12 * excess[-1]:
        excess = excess[excess > 1e-12 * max(excess[-1], 1e-300)]
        if len(excess) < FEWEST:
            return 0.0
    return fit_pareto(excess, GRID)[0]

"""Special functions: those of SciPy, loaded when the first of them is called.

Importing them takes a sixth of a second, which a fit of tables, needing none, does not pay.
"""

from __future__ import annotations

from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["sum_log_gamma"]


def sum_log_gamma(values: ArrayLike) -> float:
    """Return Σ log Γ(value): hyperparameters are many, but few of them differ."""
    different, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    return float(np.array([lgamma(value) for value in different.tolist()]) @ counts)


def __getattr__(name: str) -> Any:
    import scipy.special

    return getattr(scipy.special, name)

"""What a continuous variable is like in each class: its normal distributions, and how far they lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunary.maths import special
from lacunary.maths.arrays import Array

__all__ = ["Levels", "Shift"]


NODES = 64
"""Points of the quadrature by which information is worked out."""

POINTS = np.linspace(-4.0, 4.0, 81)
"""Standard deviations from each class's mean at which distributions are compared."""


@dataclass(frozen=True)
class Shift:
    """A variable whose values lie elsewhere in one class than in the others, all in the data's units.

    ``apart`` is the largest difference of the chances to lie below a value, comparable to the difference of a
    state's chances.
    """

    variable: str
    mean: float
    sd: float
    mean_elsewhere: float
    sd_elsewhere: float
    apart: float


@dataclass(frozen=True, eq=False)
class Levels:
    """A continuous variable in the classes: their shares, means and standard deviations; (classes,) each."""

    name: str
    weights: Array
    means: Array
    sds: Array

    @cached_property
    def information(self) -> float:
        """How much the variable tells of the class, in nats: their mutual information.

        Σ w_k ∫ N_k log(N_k / Σ w_j N_j), each integral by Gauss–Hermite quadrature.
        """
        nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
        x = self.means[:, None] + self.sds[:, None] * nodes
        own = -0.5 * nodes**2 - np.log(self.sds)[:, None]
        apart = (x[..., None] - self.means) / self.sds
        logs = np.log(self.weights) - 0.5 * apart**2 - np.log(self.sds)
        gain = own - special.logsumexp(logs, axis=-1)
        return max(float(self.weights @ (gain @ shares)) / float(shares.sum()), 0.0)

    def shift(self, k: int) -> Shift:
        """Return one class beside all others."""
        others = np.arange(len(self.weights)) != k
        if not others.any():
            others = ~others
        weight = self.weights[others] / self.weights[others].sum()
        mean = float(weight @ self.means[others])
        variance = weight @ (self.sds[others] ** 2 + (self.means[others] - mean) ** 2)
        x = (self.means[:, None] + self.sds[:, None] * POINTS).ravel()
        below = special.ndtr((x[:, None] - self.means) / self.sds)
        apart = float(np.abs(below[:, k] - below[:, others] @ weight).max())
        mine = float(self.means[k]), float(self.sds[k])
        return Shift(self.name, *mine, mean, float(np.sqrt(variance)), apart)

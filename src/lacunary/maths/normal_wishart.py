"""The Normal–Wishart belief about mean and precision of a multivariate normal, in DeGroot's notation.

The precision W is Wishart with α degrees of freedom and density ∝ |W|^((α − n − 1)/2) exp(−½ tr τW),
the mean given W is normal about μ with precision νW (DeGroot 1970, section 9.10). It is the belief over
the complete model from which the families of every DAG take theirs (Heckerman & Geiger 1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.maths import special
from lacunary.maths.arrays import Array
from lacunary.maths.moments import factor, joined, part_of, parted

__all__ = ["NormalWishart"]


@dataclass(frozen=True, eq=False)
class NormalWishart:
    """A belief about n continuous variables.

    Attributes
    ----------
    nu
        ν > 0: how many rows the mean is worth.
    mu
        μ: the expected mean; (n,).
    alpha
        α > n − 1: degrees of freedom of the Wishart. With α = ν + n the mode of every DAG's regressions
        divides by ν, and after N rows by N + ν.
    tau
        τ: the scale matrix, in the role of a scatter Σ (x − μ)(x − μ)ᵀ; positive definite; (n, n).
    """

    nu: float
    mu: Array
    alpha: float
    tau: Array

    def __post_init__(self) -> None:
        mu, tau = np.asarray(self.mu, dtype=np.float64), np.asarray(self.tau, dtype=np.float64)
        if mu.ndim != 1 or tau.shape != (len(mu), len(mu)):
            raise ParameterError(f"mu must be (n,) and tau (n, n), not {mu.shape} and {tau.shape}")
        if not (np.isfinite(self.nu) and self.nu > 0):
            raise ParameterError(f"nu must be positive, not {self.nu}")
        if not (np.isfinite(self.alpha) and self.alpha > len(mu) - 1):
            raise ParameterError(
                f"alpha must exceed the number of variables minus one, {len(mu) - 1}, not {self.alpha}"
            )
        if not (np.all(np.isfinite(mu)) and np.all(np.isfinite(tau)) and _is_definite(tau)):
            raise ParameterError("mu must be finite, and tau finite, symmetric and positive definite")
        object.__setattr__(self, "mu", mu)
        object.__setattr__(self, "tau", 0.5 * (tau + tau.T))

    @classmethod
    def about(cls, mean: ArrayLike, spread: ArrayLike, nu: float = 1.0) -> NormalWishart:
        """Return the belief worth ``nu`` rows that peaks at this mean and covariance: α = ν + n, τ = νΣ.

        ``spread`` is Σ, (n, n), or only its diagonal, (n,): then, in every DAG, regressions peak at
        coefficients zero and these variances.
        """
        mean, spread = np.asarray(mean, dtype=np.float64), np.asarray(spread, dtype=np.float64)
        return cls(nu, mean, nu + len(mean), nu * (np.diag(spread) if spread.ndim == 1 else spread))

    def moved(self, origin: ArrayLike, scale: ArrayLike) -> NormalWishart:
        """Return the belief about (x − origin)/scale; (n,) each."""
        scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), self.mu.shape)
        centre = (self.mu - np.asarray(origin, dtype=np.float64)) / scale
        return NormalWishart(self.nu, centre, self.alpha, self.tau / np.outer(scale, scale))

    @property
    def size(self) -> int:
        """The number of variables n."""
        return len(self.mu)

    @property
    def moments(self) -> Array:
        """The pseudo-moments T = [[ν, νμᵀ], [νμ, τ + νμμᵀ]] of z = (1, x); (n + 1, n + 1)."""
        return joined(self.nu, self.mu, self.tau)

    @property
    def surplus(self) -> float:
        """α − ν − n, which no row changes; zero in the choice α = ν + n."""
        return self.alpha - self.nu - self.size

    def dof(self, parents: int) -> float:
        """Return the degrees of freedom α − n + m + 1 of a family with so many parents, m."""
        return self.alpha - self.size + parents + 1

    def family(self, child: int, parents: Sequence[int]) -> tuple[Array, float]:
        """Return pseudo-moments of (1, parents, child) and degrees of freedom of one family."""
        return part_of(self.moments, [*parents, child]), self.dof(len(parents))

    def marginal(self, variables: Sequence[int]) -> NormalWishart:
        """Return the belief about some of the variables; α falls by the number left out."""
        index = np.asarray(variables, dtype=np.int64)
        left = self.size - len(index)
        return NormalWishart(self.nu, self.mu[index], self.alpha - left, self.tau[np.ix_(index, index)])

    def update(self, moment: ArrayLike) -> NormalWishart:
        """Return the belief after rows with these moments Σ w z zᵀ; (n + 1, n + 1).

        ν + N, α + N, (νμ + N x̄)/(ν + N), τ + scatter + νN/(ν + N) (x̄ − μ)(x̄ − μ)ᵀ (DeGroot 1970, 9.10).
        """
        count, centre, scatter = parted(np.asarray(moment, dtype=np.float64))
        nu = self.nu + float(count)
        share = float(count) / nu
        gap = centre - self.mu
        # Adding to μ and τ rather than to T keeps digits where μ is far from the origin.
        tau = self.tau + scatter + self.nu * share * np.outer(gap, gap)
        return NormalWishart(nu, self.mu + share * gap, self.alpha + float(count), tau)

    @property
    def log_normalizer(self) -> float:
        """Log ∫∫ |W|^((α − n)/2) exp(−½ tr τW − ½ ν (m − μ)ᵀW(m − μ)) dm dW.

        n/2 log(2π/ν) + αn/2 log 2 + log Γ_n(α/2) − α/2 log|τ|.
        """
        n = self.size
        log_det = 2.0 * float(np.log(np.diagonal(factor(self.tau))).sum())
        wishart = 0.5 * self.alpha * (n * math.log(2.0) - log_det) + float(
            special.multigammaln(0.5 * self.alpha, n)
        )
        return 0.5 * n * math.log(2.0 * math.pi / self.nu) + wishart

    def log_evidence(self, moment: ArrayLike) -> float:
        """Return log p(rows) of complete rows with these moments, mean and precision integrated out."""
        after = self.update(moment)
        rows = after.nu - self.nu
        return after.log_normalizer - self.log_normalizer - 0.5 * self.size * rows * math.log(2.0 * math.pi)

    @property
    def peak(self) -> tuple[Array, Array]:
        """Mean and covariance at the mode in the coordinates (mean, precision): μ and τ/(α − n)."""
        if self.alpha <= self.size:
            raise ParameterError(f"the density has no peak unless alpha exceeds {self.size}, the variables")
        return self.mu, self.tau / (self.alpha - self.size)


def _is_definite(matrix: Array) -> bool:
    """Tell whether a matrix is symmetric and positive definite, both to rounding."""
    spread = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    if not np.all(spread > 0):
        return False
    scaled = matrix / np.outer(spread, spread)
    return bool(
        np.allclose(scaled, scaled.T, rtol=0, atol=1e-9) and np.all(np.linalg.eigvalsh(scaled) > -1e-9)
    )

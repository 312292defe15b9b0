"""When a climb is over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.errors import ParameterError

__all__ = ["Stop"]


@dataclass(frozen=True)
class Stop:
    """A rule that tells from the objective alone whether a climb has converged.

    A climb has converged as soon as any bound that is set is met, and is broken off, not converged,
    after ``iterations`` sweeps over the data.

    Attributes
    ----------
    relative
        Bound on the last change over the objective's size; CH96 uses 1e-5.
    share
        Bound on the last change over the change since the start; TMCH98 uses 1e-6.
    absolute
        Bound on the last change, in nats.
    iterations
        The most sweeps.
    """

    relative: float | None = None
    share: float | None = None
    absolute: float | None = None
    iterations: int = 2000

    def __post_init__(self) -> None:
        for name in ("relative", "share", "absolute"):
            bound = getattr(self, name)
            if bound is not None and not bound >= 0:
                raise ParameterError(f"stop: {name} must not be negative, but is {bound}")
        if self.iterations < 1:
            raise ParameterError(f"stop: at least one iteration is needed, not {self.iterations}")

    def met(
        self, first: NDArray[np.float64], before: NDArray[np.float64], now: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell which climbs have converged, from their first, last-but-one and last objectives."""
        change = np.abs(now - before)
        done = change == 0.0
        if self.relative is not None:
            done |= change < self.relative * np.abs(now)
        if self.share is not None:
            done |= change < self.share * np.abs(now - first)
        if self.absolute is not None:
            done |= change < self.absolute
        return np.asarray(done)

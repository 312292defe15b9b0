"""When a climb is over."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from lacunary.errors import ParameterError, TableError

__all__ = ["Stop", "check_number", "is_enough"]


def check_number(objective: float) -> None:
    """Refuse to climb on from an objective that is no finite number."""
    if not isfinite(objective):
        raise TableError(
            f"the objective became {objective}, which is no number to climb by: some value of the table is "
            "too large or too small for its square, or so is a prior's; measure such columns in other units"
        )


def is_enough(answer: object) -> bool:
    """Whether an answer of ``watch`` is true: not just any, what a print or a write returns ends nothing."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


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

    def met(self, first: float, before: float, now: float) -> bool:
        """Tell whether a climb has converged, from its first, last-but-one and last objective."""
        if not isfinite(now) and now != -inf:  # of rows that cannot be, which a fit tells of by name
            check_number(now)
        change = abs(now - before)
        return (
            change == 0.0
            or (self.relative is not None and change < self.relative * abs(now))
            or (self.share is not None and change < self.share * abs(now - first))
            or (self.absolute is not None and change < self.absolute)
        )

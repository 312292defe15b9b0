"""The contract of leaves: any density of a number given discrete parents; see `lacunary.family.protocol`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lacunary.errors import GraphError
from lacunary.family.distribution import NormalMixture
from lacunary.family.numeric import NumericFamily
from lacunary.maths.arrays import Array, Booleans

__all__ = ["LeafFamily"]


@dataclass(frozen=True)
class LeafFamily(NumericFamily):
    """A numeric family with discrete parents only, and no children."""

    leaf: ClassVar[bool] = True
    numbers: ClassVar[tuple[int, int]]
    """How many statistics and potentials it has in each configuration."""
    foregone: ClassVar[bool] = False
    """Whether its parameters follow from the rows before any climb (`learned`), and are known in it."""

    @property
    def statistics(self) -> int:
        """Statistics in each configuration."""
        return self.numbers[0]

    @property
    def potentials(self) -> int:
        """Numbers the engine eats in each configuration."""
        return self.numbers[1]

    @classmethod
    def check_tied(cls, names: Sequence[str]) -> None:
        """Refuse to share parameters: columns may differ in scale."""
        raise GraphError(f"{cls.name} families cannot be tied: {', '.join(names)}")

    def log_values(self, x: Array, potentials: NDArray[Any]) -> NDArray[Any]:
        """Return the log-density, without `log_base`, of values; (rows,), (..., potentials) → (..., rows)."""
        raise NotImplementedError

    def log_predictive(self, x: Array, hyper: Array, surplus: float) -> Array:
        """Return the same with the parameters integrated out; (rows,) and (statistics,)."""
        raise NotImplementedError

    def mean_sd(self, potentials: Array) -> tuple[float, float]:
        """Return mean and standard deviation of the variable under potentials of a point; (potentials,)."""
        raise NotImplementedError

    def mixture(self, weights: Array, means: Array, sds: Array) -> NormalMixture:
        """Return what is known of the variable in rows; an observed one has standard deviation zero."""
        return NormalMixture(self.variable, weights, means, sds)

    def predictive_mixture(self, weights: Array, means: Array, sds: Array, hyper: Array) -> NormalMixture:
        """Return the same with the parameters integrated out; (rows, components, statistics) more."""
        return self.mixture(weights, means, sds)

    def drawn(self, potentials: Array, count: int, rng: np.random.Generator) -> Array:
        """Return so many values; (count,) and (potentials,)."""
        raise NotImplementedError

    def kl(self, mine: Array, theirs: Array) -> Array:
        """Return KL between two parameter vectors of the family; (k, parameters) each → (k,)."""
        raise NotImplementedError

    def begun(self, hyper: Array) -> Array:
        """Return parameters from which to climb, given what is believed after the rows that tell all."""
        return self.peak(hyper, 0.0)

    def start(self, known: Array, example: Array) -> Array:
        """Return parameters near the known ones, (q, parameters), that explain examples, (q,); NaN: none."""
        raise NotImplementedError

    def learned(
        self, x: Array, weights: Array, certain: Booleans, possible: Booleans, method: str
    ) -> tuple[Array, float]:
        """Return parameters that follow from the rows at once, and their log prior density if "map".

        ``x`` and ``weights`` are (rows,); ``certain`` and ``possible`` tell which rows show the variable in
        each configuration, (q, rows). Families that are ``foregone`` have it.
        """
        raise NotImplementedError

    def log_evidence_of(self, x: Array, weights: Array, certain: Booleans) -> float:
        """Return the log evidence of a column whose parents are observed, where statistics do not tell it."""
        raise NotImplementedError

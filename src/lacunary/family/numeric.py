"""The contract of families of continuous variables; see `lacunary.family.protocol`.

Numeric families have for every configuration of their discrete parents so many ``parameters``, ``statistics``
(and hyperparameters, which are added to them: learning from rows is adding their statistics) and
``potentials`` (what the engine eats). Arrays have the configurations in the last but one axis: (..., q,
parameters), and so on. ``surplus`` is that of `lacunary.infer.belief.Belief`, which regressions alone need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.data.schema import Kind
from lacunary.errors import ParameterError
from lacunary.family.protocol import Family
from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = ["NumericFamily", "Units"]


class Units(NamedTuple):
    """How columns were standardised: (x − centre)/spread of the continuous parents and, last, the variable.

    ``typical`` is the mean of the variable's column, as it was measured.
    """

    centre: Array
    spread: Array
    typical: float


@dataclass(frozen=True)
class NumericFamily(Family):
    """A family of a continuous variable."""

    kind: ClassVar[Kind] = "continuous"
    scaled: ClassVar[bool] = True
    """Whether its column is standardised for learning."""
    counts: ClassVar[bool] = False
    """Whether its values are whole numbers, and its density a probability."""
    words: ClassVar[tuple[str, ...]]
    """What its parameters in one configuration are called; coefficients apart."""
    values: ClassVar[type[Any]]
    """The class that holds its parameters for people; it has ``of`` and ``records``."""

    @property
    def parameters(self) -> int:
        """Numbers of parameters in each configuration."""
        return len(self.words) + len(self.slopes)

    @property
    def statistics(self) -> int:
        """Statistics in each configuration."""
        raise NotImplementedError

    @property
    def potentials(self) -> int:
        """Numbers the engine eats in each configuration; as many as parameters only if they are the same."""
        raise NotImplementedError

    @property
    def free(self) -> int:
        """Number of free parameters."""
        return self.configurations * self.parameters

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameters as people index them: discrete parents first."""
        return (*self.sizes, self.parameters)

    def read(self, given: Any, renormalize: bool = False) -> Array:
        """Return parameters that a caller gives, verified, as its places in a vector; (places,)."""
        records = np.asarray(self._records(given), dtype=np.float64)
        if records.shape != self.shape:
            raise ParameterError(
                f"the {self.name} of {self.variable.name} must have shape {self.shape}, not {records.shape}: "
                f"discrete parents first, then {self._last}"
            )
        self.check(records)
        return records.reshape(-1)

    @property
    def _last(self) -> str:
        return " and ".join(self.words)

    def _records(self, given: Any) -> ArrayLike:
        """Return what is given as an array; refuse values of another family's class."""
        if hasattr(given, "records"):
            if not isinstance(given, self.values):
                raise ParameterError(
                    f"the family of {self.variable.name} is {self.name}, and that is not what is given"
                )
            return np.asarray(given.records)
        array: ArrayLike = given
        return array

    def shown(self, places: Array) -> Any:
        """Return the parameters as people take them."""
        return self.values.of(places.reshape(self.shape))

    # What is believed of parameters, and learned of them: adding statistics to hyperparameters.

    def prior(self, moments: Array) -> Array:
        """Return the default hyperparameters; (statistics,).

        ``moments`` are the pseudo-moments of (1, continuous parents, variable) in standardised columns that a
        Normal–Wishart gives, for those families that take them.
        """
        raise NotImplementedError

    def check_hyper(self, hyper: Array, surplus: float) -> str:
        """Return why hyperparameters are none, in words; nothing if they are."""
        return ""

    unsound: ClassVar[str] = "expected finite numbers"
    """What a file should have had instead of hyperparameters that are none."""

    def is_sound(self, hyper: Array) -> bool:
        """Tell whether hyperparameters from a file are some that rows could have led to."""
        return bool(np.all(np.isfinite(hyper)))

    def best_in_turn(
        self, before: Sequence[Array], own: Array, surplus: float | None
    ) -> Sequence[Array] | None:
        """Return the `peak`, or without a surplus `maximum_likelihood`, of each family of a chain.

        In a chain, of which this one is the last, each is regressed on the one before it and on all that one
        is. None: they are better asked for one by one.
        """
        return None

    def peak(self, hyper: Array, surplus: float) -> Array:
        """Return the mode, in the coordinates of `log_density`."""
        raise NotImplementedError

    def maximum_likelihood(self, statistics: Array) -> Array:
        """Return the parameters of highest likelihood."""
        raise NotImplementedError

    def mean(self, hyper: Array, surplus: float) -> Array:
        """Return the expected parameters, as they are for prediction."""
        raise NotImplementedError

    def draw(self, hyper: Array, surplus: float, rng: np.random.Generator) -> Array:
        """Return parameters drawn from the belief."""
        raise NotImplementedError

    def drawn_prior(self, hyper: Array, surplus: float, rng: np.random.Generator) -> Array:
        """Return parameters drawn from a prior that may leave units to a column: as if of variance one."""
        return self.draw(hyper, surplus, rng)

    def around(
        self, statistics: Array, surplus: float, ess: float, count: int, rng: np.random.Generator
    ) -> Array:
        """Return so many draws around the best parameters for statistics, as if these were of ``ess`` rows.

        Where there are no statistics at all, anything plain; (q, statistics) → (count, q, parameters).
        """
        raise NotImplementedError

    def log_density(self, theta: Array, hyper: Array, surplus: float) -> Array:
        """Return the log-density of parameters, in the coordinates in which `peak` is its mode; (..., q)."""
        raise NotImplementedError

    def log_normalizer(self, hyper: Array, surplus: float) -> Array:
        """Return log ∫ of the density's kernel; (..., q)."""
        raise NotImplementedError

    def log_evidence(self, hyper: Array, surplus: float, statistics: Array) -> Array:
        """Return the log evidence of rows with these statistics; (..., q)."""
        raise NotImplementedError

    def log_likelihood(self, theta: Array, statistics: Array) -> Array:
        """Return log p(complete rows | parameters), given their statistics, all configurations; (...,)."""
        raise NotImplementedError

    def divergence(self, after: Array, before: Array, surplus: float) -> Array:
        """Return KL between two beliefs; (..., q)."""
        raise NotImplementedError

    # What the engine eats.

    def point(self, theta: Array) -> Array:
        """Return the potentials of known parameters."""
        raise NotImplementedError

    def expected(self, hyper: Array, surplus: float) -> Array:
        """Return the potentials whose exponential is exp E[log density] under a belief."""
        raise NotImplementedError

    def form(self, potentials: Array) -> tuple[Array, Array]:
        """Return Q, (..., m + 2, m + 2), and g of the log-density g − ½ zᵀQz of a linear family."""
        raise NotImplementedError

    def gather(self, values: Array, configuration: Integers, weights: Array, out: Array) -> None:
        """Add the statistics of rows to (..., q, statistics).

        ``values`` are the continuous parents and last the variable, (..., rows, slopes + 1); configurations
        and weights, complex ones too, are (..., rows).
        """
        raise NotImplementedError

    # Coordinates without borders, for leaps (`lacunary.learn.loop`) and curvature (Laplace).

    def unfold(self, theta: Array) -> tuple[Array, Array]:
        """Return free coordinates of parameters, and how much each matters."""
        raise NotImplementedError

    def fold(self, coordinates: Array, floor: bool) -> Array:
        """Return the parameters with such coordinates; with a floor, those that likelihood alone keeps to."""
        raise NotImplementedError

    def unfold_hyper(self, hyper: Array) -> tuple[Array, Array]:
        """Return free coordinates of hyperparameters, and how much each matters."""
        raise NotImplementedError

    def fold_hyper(self, coordinates: Array) -> Array:
        """Return the hyperparameters with such coordinates."""
        raise NotImplementedError

    def project_hyper(self, hyper: Array, least: Array) -> None:
        """Make hyperparameters, in place, worth no less than the prior's."""
        raise NotImplementedError

    def step(self, theta: NDArray[Any], which: int, length: complex) -> None:
        """Move one configuration's parameters, in place, along coordinate ``which``; (parameters,)."""
        raise NotImplementedError

    def slope(self, theta: NDArray[Any], statistics: NDArray[Any], extra: ArrayLike) -> NDArray[Any]:
        """Return the slopes of complete rows' log-likelihood along the coordinates; (..., q, parameters).

        ``extra`` is what the prior's density has beyond that of its hyperparameters taken for statistics.
        """
        raise NotImplementedError

    def extra(self, hyper: Array, surplus: float) -> Array | float:
        """Return the ``extra`` of `slope` for a prior."""
        return 0.0

    # Units.

    def inward(self, theta: Array, units: Units) -> Array:
        """Return parameters for standardised columns, given those for the data's."""
        return theta

    def outward(self, theta: Array, units: Units) -> Array:
        """Return parameters for the data's columns, given those for standardised ones."""
        return theta

    def believed_inside(self, hyper: Array, units: Units) -> Array:
        """Return hyperparameters for standardised columns, given those for the data's."""
        return hyper

    def believed_outside(self, hyper: Array, units: Units) -> Array:
        """Return hyperparameters for the data's columns, given those for standardised ones."""
        return hyper

    def log_stretch(self, units: Units) -> float:
        """Return log |∂inside/∂outside| of the coordinates of `log_density`, all configurations."""
        return 0.0

    # Values.

    def log_base(self, x: Array) -> Array:
        """Return what every value's log-density has whatever the parameters; zero for a hole; (rows,)."""
        return np.zeros(len(x))

    def check_range(self, low: float, high: float, method: str) -> str:
        """Return why a column with such a range cannot be learned from, in words; nothing if it can."""
        return ""

    def is_value(self, x: Array) -> Booleans:
        """Tell which numbers can be values of the variable; asked of families that count."""
        return np.ones(x.shape, dtype=bool)

    def no_value(self, x: float) -> str:
        """Return why a number is none of its values, in words."""
        raise NotImplementedError

    def sampled(self, records: Array, parents: Array, rng: np.random.Generator) -> Array:
        """Return a value for each row, given its parameters and continuous parents; (rows,)."""
        raise NotImplementedError

    def normal(self, theta: Array) -> Array:
        """Return the regression with the same mean and variance given the parents; (..., m + 2)."""
        return theta

    def entropy(self, theta: Array) -> Array:
        """Return the entropy of the variable given its parents, in nats; (..., q)."""
        raise NotImplementedError

    def named(self, record: Array) -> dict[str, float]:
        """Return one configuration's parameters by what they are called."""
        return dict(zip(self.words, record.tolist(), strict=True))

    def told(self, record: Array) -> str:
        """Return one configuration's parameters in words."""
        raise NotImplementedError

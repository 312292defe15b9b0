"""The contract of families: all that the rest of the house asks of a local model p(variable | parents).

A family is bound to its variable and to the sizes of its parents. There are three ways in which the engine
takes one in, and a family says which is its own:

- as a *table*: discrete variables. Tables are worked on all at once by `lacunary.model.layout.Layout`; a
  family whose table is *implied* by fewer parameters adds how (`ImpliedTable`);
- as a *linear* Gaussian: may have continuous parents and children (`NumericFamily.linear`);
- as a *leaf*: any density of one number given discrete parents, without children, so that a hole in it says
  nothing and is left out of all statistics (`LeafFamily`).

Numeric families have for every configuration of their discrete parents so many ``parameters``, ``statistics``
(and hyperparameters, which are added to them: learning from rows is adding their statistics) and
``potentials`` (what the engine eats). Arrays have the configurations in the last but one axis: (..., q,
parameters), and so on. ``surplus`` is that of `lacunary.infer.belief.Belief`, which regressions alone need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.data.schema import Kind, Variable
from lacunary.errors import GraphError, ParameterError
from lacunary.family.mixtures import NormalMixture

__all__ = ["Array", "Family", "ImpliedTable", "LeafFamily", "NumericFamily", "Units"]

Array = NDArray[np.float64]


class Units(NamedTuple):
    """How columns were standardised: (x − centre)/spread of the continuous parents and, last, the variable.

    ``typical`` is the mean of the variable's column, as it was measured.
    """

    centre: Array
    spread: Array
    typical: float


@dataclass(frozen=True)
class Family:
    """The local model of one variable.

    Attributes
    ----------
    variable
        Whose it is.
    parents
        Its discrete parents; the last moves fastest in a configuration.
    slopes
        Its continuous parents.
    """

    variable: Variable
    parents: tuple[Variable, ...] = ()
    slopes: tuple[Variable, ...] = ()

    name: ClassVar[str]
    """How it is chosen."""
    phrase: ClassVar[str]
    """How it is spoken of: its variable "is …"."""
    kind: ClassVar[Kind]
    """The kind of variables it is for."""
    conjugate: ClassVar[bool] = True
    """Whether hyperparameters plus statistics are the posterior, and have a closed-form evidence."""
    smooth: ClassVar[bool] = True
    """Whether the likelihood can be differentiated by its parameters."""
    closed: ClassVar[bool] = True
    """Whether the evidence of complete rows is known, from statistics or (`LeafFamily`) from the rows."""
    linear: ClassVar[bool] = False
    """Whether the engine takes it as a linear Gaussian."""
    implied: ClassVar[bool] = False
    """Whether it is a table that fewer parameters imply."""
    leaf: ClassVar[bool] = False
    """Whether it has neither continuous parents nor children."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of states of the discrete parents."""
        return tuple(parent.size for parent in self.parents)

    @property
    def configurations(self) -> int:
        """Number of configurations of the discrete parents."""
        return prod(self.sizes)

    @property
    def free(self) -> int:
        """Number of free parameters."""
        raise NotImplementedError

    @classmethod
    def check_variable(cls, variable: Variable) -> None:
        """Refuse a variable that cannot have this family."""
        if variable.kind != cls.kind:
            raise GraphError(
                f"{variable.name} is {variable.kind}: a {cls.name} family is for {cls.kind} variables"
            )

    @classmethod
    def check_arc(cls, name: str, other: Variable) -> None:
        """Refuse an arc, of either direction, with another variable; discrete parents are always welcome."""
        if cls.leaf and not other.discrete:
            raise GraphError(
                f"{name} is {cls.phrase}, and its arc with {other.name}, which is continuous, has no "
                f"meaning: a {cls.name} variable has discrete parents only, and no children"
            )

    @classmethod
    def check_tied(cls, names: Sequence[str]) -> None:
        """Refuse to share parameters between variables of this family."""

    def read(self, given: Any, renormalize: bool = False) -> Array:
        """Return parameters that a caller gives, verified, as its places in a vector; (places,)."""
        raise NotImplementedError

    def check(self, places: Array) -> None:
        """Refuse parameters that are none; (places,)."""

    def shown(self, places: Array) -> Any:
        """Return the parameters as people take them: a value of the family's own class, or a table."""
        raise NotImplementedError

    def refuse(self, what: str) -> NoReturn:
        """Refuse parameters, with the variable's name."""
        raise ParameterError(f"{self.variable.name}: {what}")


@dataclass(frozen=True)
class ImpliedTable(Family):
    """A discrete family whose table follows from fewer parameters, its weights.

    In vectors it stands as that table. Nothing is conjugate to it; ``sd`` is the standard deviation of its
    weights beforehand. Tables are (..., states, q), weights (..., free).
    """

    kind: ClassVar[Kind] = "discrete"
    conjugate: ClassVar[bool] = False
    closed: ClassVar[bool] = False
    implied: ClassVar[bool] = True

    def table(self, weights: Array) -> Array:
        """Return the table that weights imply."""
        raise NotImplementedError

    def weights(self, table: Array) -> Array:
        """Return the weights that imply a table."""
        raise NotImplementedError

    def best(self, counts: Array, precision: float) -> Array:
        """Return the weights of highest penalised likelihood for expected counts; precision is 1/sd²."""
        raise NotImplementedError

    @property
    def jacobian(self) -> Array:
        """∂φ/∂weights of the softmax coordinates φ = log(θ / θ_last), which is constant."""
        raise NotImplementedError

    def information(self, counts: Array) -> Array:
        """Return about how much expected counts tell of each weight; (free,)."""
        raise NotImplementedError

    def warn(self, table: Array) -> None:
        """Say so where maximum likelihood has run off."""

    def log_prior(self, table: Array, sd: float) -> Array:
        """Return the log-density of a table's weights; (...,)."""
        weights = self.weights(table)
        constant = weights.shape[-1] * np.log(sd * np.sqrt(2 * np.pi))
        return np.asarray(-0.5 * (weights**2).sum(axis=-1) / sd**2 - constant)

    def draw(self, sd: float, rng: np.random.Generator) -> Array:
        """Return a table whose weights are drawn from their prior."""
        return self.table(rng.normal(scale=sd, size=self.free))


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

    @property
    def values(self) -> type[Any]:
        """The class that holds its parameters for people; it has ``of`` and ``records``."""
        raise NotImplementedError

    def shown(self, places: Array) -> Any:
        """Return the parameters as people take them."""
        made: Any = self.values
        return made.of(places.reshape(self.shape))

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

    def gather(self, values: Array, configuration: NDArray[np.int64], weights: Array, out: Array) -> None:
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

    def settle_hyper(self, hyper: Array, least: Array) -> None:
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

    def check_column(self, x: Array, method: str) -> str:
        """Return why a column cannot be learned from, in words; nothing if it can."""
        return ""

    def sampled(self, records: Array, parents: Array, rng: np.random.Generator) -> Array:
        """Return a value for each row, given its parameters and continuous parents; (rows,)."""
        raise NotImplementedError

    def normal(self, theta: Array) -> Array:
        """Return the regression with the same mean and variance given the parents; (..., m + 2)."""
        return theta

    def entropy(self, theta: Array) -> Array:
        """Return the entropy of the variable given its parents, in nats; (..., q)."""
        raise NotImplementedError

    def told(self, record: Array) -> str:
        """Return one configuration's parameters in words."""
        raise NotImplementedError


@dataclass(frozen=True)
class LeafFamily(NumericFamily):
    """A numeric family with discrete parents only, and no children."""

    leaf: ClassVar[bool] = True
    foregone: ClassVar[bool] = False
    """Whether its parameters follow from the rows before any climb (`learned`), and are known in it."""

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

    def asked(self) -> str:
        """Return why `query` does not answer about it, in words; nothing if it does."""
        return ""

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
        self, x: Array, weights: Array, certain: NDArray[np.bool_], possible: NDArray[np.bool_], method: str
    ) -> tuple[Array, float]:
        """Return parameters that follow from the rows at once, and their log prior density if "map".

        ``x`` and ``weights`` are (rows,); ``certain`` and ``possible`` tell which rows show the variable in
        each configuration, (q, rows). Families that are ``foregone`` have it.
        """
        raise NotImplementedError

    def log_evidence_of(self, x: Array, weights: Array, certain: NDArray[np.bool_]) -> float:
        """Return the log evidence of a column whose parents are observed, where statistics do not tell it."""
        raise NotImplementedError

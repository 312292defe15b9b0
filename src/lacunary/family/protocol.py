"""The contract of families: all that the rest of the house asks of a local model p(variable | parents).

A family is bound to its variable and to the sizes of its parents. There are three ways in which the engine
takes one in, and a family says which is its own:

- as a *table*: discrete variables. Tables are worked on all at once by `lacunary.model.layout.Layout`; a
  family whose table is *implied* by fewer parameters adds how (`ImpliedTable`);
- as a *linear* Gaussian: may have continuous parents and children (`lacunary.family.numeric.NumericFamily`);
- as a *leaf*: any density of one number given discrete parents, without children, so that a hole in it says
  nothing and is left out of all statistics (`lacunary.family.leaf.LeafFamily`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np

from lacunary.data.schema import Kind, Variable
from lacunary.errors import GraphError, ParameterError
from lacunary.maths.arrays import Array

__all__ = ["Family", "ImpliedTable", "Values"]


class Values(Protocol):
    """The parameters of a numeric family as people give them, such as a `Regression`."""

    @property
    def records(self) -> Array:
        """The parameters of each configuration, in the last axis; (discrete parents, parameters)."""
        ...


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

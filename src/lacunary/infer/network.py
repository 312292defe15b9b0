"""A discrete Bayesian network: a graph with a point value for every parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError
from lacunary.infer.answers import Answers
from lacunary.infer.belief import Dirichlet, Prior
from lacunary.model.dag import Dag

__all__ = ["SUM_TOLERANCE", "Network", "check_table", "random_network"]

SUM_TOLERANCE = 1e-6
"""Printed probabilities are rounded: a distribution may miss one by this much and is then scaled."""

ROUNDING = 1e-13
"""What double arithmetic may leave of a sum of one; scaling would only disturb the last bits."""


@dataclass(frozen=True, eq=False)
class Network(Answers):
    """A graph and its probabilities, ``theta``, in the places given by ``dag.layout``."""

    dag: Dag
    theta: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.theta.shape != (self.dag.layout.size,):
            raise ParameterError(f"the network has {self.dag.layout.size} parameters, not {self.theta.shape}")
        self.theta.flags.writeable = False

    @classmethod
    def from_tables(cls, dag: Dag, tables: Mapping[str, ArrayLike], *, renormalize: bool = False) -> Network:
        """Return the network with these tables, each indexed by the parents and last by the variable.

        Every distribution must sum to one within `SUM_TOLERANCE`, and is then scaled to do so
        exactly; ``renormalize=True`` scales whatever the sum is.
        """
        theta = np.full(dag.layout.size, np.nan)
        for name in tables:
            dag.schema.index(name)
        for i, name in enumerate(dag.names):
            if name not in tables:
                raise ParameterError(f"there is no table for {name}")
            table = dag.layout.flat(check_table(dag, i, tables[name], renormalize))
            shared = theta[dag.layout.slice(i)]
            if not (np.isnan(shared) | (shared == table)).all():
                raise ParameterError(f"{name} is tied to another family, but its table is not the same")
            theta[dag.layout.slice(i)] = table
        return cls(dag, theta)

    def table(self, name: str) -> NDArray[np.float64]:
        """Return p(name | parents), indexed by the parents and last by the variable."""
        return self.dag.layout.table(self.theta, self.dag.schema.index(name))

    def parameters(self) -> NDArray[np.float64]:
        """Return ``theta``."""
        return self.theta

    @property
    def tables(self) -> dict[str, NDArray[np.float64]]:
        """All tables by name."""
        return {name: self.table(name) for name in self.dag.names}


def random_network(
    dag: Dag, prior: Prior | None = None, rng: int | np.random.Generator | None = 0
) -> Network:
    """Return a network whose distributions are drawn from the prior, by default uniformly."""
    belief = (prior or Dirichlet(1.0))(dag)
    draws = np.random.default_rng(rng).standard_gamma(belief.alpha)
    return Network(dag, dag.layout.normalize(draws))


def check_table(dag: Dag, i: int, given: ArrayLike, renormalize: bool = False) -> NDArray[np.float64]:
    """Return one table with its shape, range and sums verified."""
    name, table = dag.names[i], np.asarray(given, dtype=np.float64)
    shape = (*(dag.schema[p].size for p in dag.parents[i]), dag.schema.sizes[i])
    if table.shape != shape:
        raise ParameterError(f"the table of {name} must have shape {shape}, not {table.shape}")
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise ParameterError(f"the table of {name} holds a value that is not a probability")
    sums = table.sum(axis=-1, keepdims=True)
    miss = np.abs(sums - 1.0)
    if sums.min() <= 0:
        raise ParameterError(f"a distribution in the table of {name} holds only zeros")
    if miss.max() > SUM_TOLERANCE and not renormalize:
        worst = np.unravel_index(int(miss.argmax()), miss.shape)[:-1]
        given_parents = ", ".join(
            f"{p}={dag.schema[p].states[w]!r}" for p, w in zip(dag.parents[i], worst, strict=True)
        )
        raise ParameterError(
            f"p({name}{' | ' + given_parents if given_parents else ''}) sums to {sums[worst].item():.9g}, "
            f"which misses one by {miss.max():.3g}; pass renormalize=True to scale it"
        )
    return np.where(miss > ROUNDING, table / sums, table)

"""A Bayesian network: a graph with a point value for every parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError
from lacunary.infer.answers import Answers
from lacunary.infer.belief import Dirichlet, Prior
from lacunary.infer.bounds import drawn_bounds
from lacunary.maths import regression as maths
from lacunary.model.dag import Dag
from lacunary.model.regression import Regression
from lacunary.model.sigmoid import Sigmoid, design, table_of, weights_of
from lacunary.model.uniform import Uniform

__all__ = ["SUM_TOLERANCE", "Network", "check_family", "check_table", "random_network"]

SUM_TOLERANCE = 1e-6
"""Printed probabilities are rounded: a distribution may miss one by this much and is then scaled."""

Family = ArrayLike | Regression | Sigmoid | Uniform
"""The parameters of one variable."""

ROUNDING = 1e-13
"""What double arithmetic may leave of a sum of one; scaling would only disturb the last bits."""


@dataclass(frozen=True, eq=False)
class Network(Answers):
    """A graph and its parameters, ``theta``, in the places given by ``dag.layout``.

    They are the probabilities of discrete variables, and the intercepts, coefficients and variances of
    continuous ones. A sigmoid family stands there as the table that its weights imply.
    """

    dag: Dag
    theta: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.theta.shape != (self.dag.layout.size,):
            raise ParameterError(f"the network has {self.dag.layout.size} parameters, not {self.theta.shape}")
        for i in self.dag.layout.regressions:
            _check_records(self.dag, i, self.dag.layout.records(self.theta, i))
        for i in self.dag.sigmoids:
            _check_sigmoid(self.dag, i, self.theta)
        self.theta.flags.writeable = False

    def __repr__(self) -> str:
        arcs = len(self.dag.arcs)
        return f"<Network: {len(self.dag.names)} variables, {arcs} arcs, {self.dag.free} free parameters>"

    @classmethod
    def from_tables(cls, dag: Dag, tables: Mapping[str, Family], *, renormalize: bool = False) -> Network:
        """Return the network with these tables, each indexed by the parents and last by the variable.

        A continuous variable has a `Regression`, or an array indexed by its discrete parents whose last
        axis holds intercept, coefficients of the continuous parents in their order, and variance. A binary
        variable may have a `Sigmoid`. Every distribution of a discrete one must sum to one
        within `SUM_TOLERANCE`, and is then scaled to do so exactly; ``renormalize=True`` scales whatever the
        sum is.
        """
        theta = np.full(dag.layout.size, np.nan)
        for name in tables:
            dag.schema.index(name)
        for i, name in enumerate(dag.names):
            if name not in tables:
                raise ParameterError(f"there is no table for {name}")
            table = check_family(dag, i, tables[name], renormalize)
            shared = theta[dag.layout.slice(i)]
            if not (np.isnan(shared) | (shared == table)).all():
                raise ParameterError(f"{name} is tied to another family, but its table is not the same")
            theta[dag.layout.slice(i)] = table
        return cls(dag, theta)

    def table(self, name: str) -> NDArray[np.float64]:
        """Return p(name | parents), indexed by the parents and last by the variable.

        For a continuous variable the last axis holds intercept, coefficients and variance; see `regression`.
        """
        return self.dag.layout.table(self.theta, self.dag.schema.index(name))

    def regression(self, name: str) -> Regression:
        """Return the regression of a continuous variable on its parents."""
        if self.dag.schema[name].discrete:
            raise ParameterError(f"{name} is discrete: it has a table, not a regression")
        if self.dag.family_of(name) != "regression":
            raise ParameterError(f"{name} is {self.dag.family_of(name)}: it has bounds, not a regression")
        return Regression.of(self.table(name))

    def uniform(self, name: str) -> Uniform:
        """Return the bounds of a variable with a uniform family."""
        if self.dag.family_of(name) != "uniform":
            raise ParameterError(f"the family of {name} is not uniform but a {self.dag.family_of(name)}")
        return Uniform.of(self.table(name))

    def sigmoid(self, name: str) -> Sigmoid:
        """Return the weights of a variable with a sigmoid family."""
        i = self.dag.schema.index(name)
        if self.dag.family_of(name) != "sigmoid":
            raise ParameterError(f"the family of {name} is not a sigmoid but a {self.dag.family_of(name)}")
        return Sigmoid.of(weights_of(self.dag.layout.binary(self.theta, i), self.dag.layout.parent_sizes(i)))

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
    """Return a network whose distributions are drawn from the prior, by default uniformly.

    Regressions are by default drawn from the `NormalWishart` worth one row of mean zero and variance one, and
    the weights of sigmoid families from a normal distribution (`NormalWeights`).
    """
    belief = (prior or Dirichlet(1.0))(dag)
    random, layout = np.random.default_rng(rng), dag.layout
    theta = np.empty(layout.size)
    theta[: layout.tables] = layout.normalize(random.standard_gamma(belief.alpha[: layout.tables]))
    for i in layout.regressions:
        moments = layout.moments(belief.alpha, i)
        layout.records(theta, i)[:] = maths.draw(moments, belief.dof(i), random)
    for i in dag.uniforms:
        layout.records(theta, i)[:] = drawn_bounds(dag.schema.variables[i], layout.configurations[i], random)
    for i in dag.sigmoids:
        known = design(layout.parent_sizes(i))
        weights = random.normal(scale=belief.weight_sd, size=(known.shape[1],))
        layout.binary(theta, i)[:] = table_of(weights, known)
    return Network(dag, theta)


def check_family(dag: Dag, i: int, given: Family, renormalize: bool = False) -> NDArray[np.float64]:
    """Return one family's parameters, verified, as its places in the vector."""
    if isinstance(given, Sigmoid):
        if dag.schema.sizes[i] != 2:
            raise ParameterError(f"{dag.names[i]} is not binary: it cannot have a sigmoid family")
        return dag.layout.flat(given.table(dag.layout.parent_sizes(i)))
    if dag.schema.sizes[i]:
        if isinstance(given, Regression | Uniform):
            raise ParameterError(f"{dag.names[i]} is discrete: it needs a table, not a regression")
        return dag.layout.flat(check_table(dag, i, given, renormalize))
    name, layout = dag.names[i], dag.layout
    if isinstance(given, Regression | Uniform):
        if (i in dag.uniforms) != isinstance(given, Uniform):
            raise ParameterError(
                f"the family of {name} is {dag.family_of(name)}, and that is not what is given"
            )
        given = given.records
    records = np.asarray(given, dtype=np.float64)
    shape = (*(layout.sizes[p] for p in layout.members[i][1:]), len(layout.regressors[i]) + 2)
    if records.shape != shape:
        raise ParameterError(
            f"the regression of {name} must have shape {shape}, not {records.shape}: discrete parents first, "
            "then intercept, a coefficient for each continuous parent, and the variance"
        )
    _check_records(dag, i, records)
    return records.reshape(-1)


def _check_records(dag: Dag, i: int, records: NDArray[np.float64]) -> None:
    if i in dag.uniforms:
        try:
            Uniform.of(records)
        except ParameterError as problem:
            raise ParameterError(f"{dag.names[i]}: {problem}") from None
        return
    if not np.all(np.isfinite(records)):
        raise ParameterError(f"the regression of {dag.names[i]} holds a number that is not finite")
    if np.any(records[..., -1] <= 0):
        raise ParameterError(
            f"the regression of {dag.names[i]} has a variance that is not positive: "
            f"{records[..., -1].min():.6g}; give even a nearly exact relation a small variance"
        )


def _check_sigmoid(dag: Dag, i: int, theta: NDArray[np.float64]) -> None:
    sizes, table = dag.layout.parent_sizes(i), dag.layout.binary(theta, i)
    implied = table_of(weights_of(table, sizes), design(sizes))
    if not np.allclose(implied, table, rtol=0.0, atol=SUM_TOLERANCE):
        raise ParameterError(
            f"the family of {dag.names[i]} is a sigmoid, and no weights give this table: "
            f"p({dag.names[i]} | parents) is off by {np.abs(implied - table).max():.3g}; give a Sigmoid, "
            "or leave the family out"
        )


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

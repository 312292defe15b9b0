"""A Bayesian network: a graph with a point value for every parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.budget import budgeted
from lacunary.data.pickling import given_state
from lacunary.errors import ParameterError
from lacunary.family.protocol import Values
from lacunary.family.regression import Regression
from lacunary.family.sigmoid import Sigmoid
from lacunary.family.uniform import Uniform
from lacunary.infer.answers import Answers
from lacunary.infer.belief import Dirichlet, Prior
from lacunary.infer.cpt import LabelledTable, ParameterTable
from lacunary.infer.edit import Edits
from lacunary.model.dag import Dag
from lacunary.registry import borrow

__all__ = ["Network", "random_network"]

Family = ArrayLike | Values | Sigmoid
"""The parameters of one variable: a table, or what its family has, such as a `Regression`."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Network(Answers, Edits):
    """A graph and its parameters, ``theta``, in the places given by ``dag.layout``.

    They are the probabilities of discrete variables, and the intercepts, coefficients and variances of
    continuous ones. A sigmoid family stands there as the table that its weights imply.
    """

    dag: Dag
    theta: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not isinstance(self.theta, np.ndarray) or self.theta.dtype != np.float64:
            object.__setattr__(self, "theta", _numbers(self.theta))
        if self.theta.shape != (self.dag.layout.size,):
            raise ParameterError(f"the network has {self.dag.layout.size} parameters, not {self.theta.shape}")
        for i, family in (*self.dag.numeric, *self.dag.implied):
            family.check(self.theta[self.dag.layout.slice(i)])
        self.theta.flags.writeable = False

    def __getstate__(self) -> dict[str, object]:
        return given_state(self)

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
            table = dag.families[i].read(tables[name], renormalize)
            shared = theta[dag.layout.slice(i)]
            if not (np.isnan(shared) | (shared == table)).all():
                raise ParameterError(f"{name} is tied to another family, but its table is not the same")
            theta[dag.layout.slice(i)] = table
        return cls(dag, theta)

    def table(self, name: str) -> LabelledTable:
        """Return p(name | parents): an array, indexed by the parents and last by the variable, with labels.

        For a continuous variable the last axis holds intercept, coefficients and variance; see `regression`.

        >>> import lacunary as lac
        >>> lac.asia().table("dysp")
        p(dysp | bronc, either)
          bronc  either  yes   no
          yes    yes     0.9  0.1
          yes    no      0.8  0.2
          no     yes     0.7  0.3
          no     no      0.1  0.9
        >>> float(lac.asia().table("dysp")[0, 1, 0])
        0.8
        """
        dag = self.dag
        return LabelledTable.of(dag.layout.table(self.theta, dag.schema.index(name)), dag, name)

    def cpt(self, name: str) -> ParameterTable:
        """Return p(name | parents) as lines of labels and numbers: what `table` prints."""
        return self.table(name).labelled()

    def parameters_of(self, name: str) -> Any:
        """Return one variable's parameters as its family has them.

        A `Regression`, `Uniform`, … of a continuous variable, the weights of a sigmoid, the table of others.
        """
        i = self.dag.schema.index(name)
        return self.dag.families[i].shown(self.theta[self.dag.layout.slice(i)])

    def to_pgmpy(self) -> Any:
        """Return it as a network of pgmpy, discrete or linear Gaussian; see `lacunary.from_pgmpy`."""
        return borrow("network for pgmpy")(self)

    def to_pyagrum(self) -> Any:
        """Return it as a ``BayesNet`` of pyAgrum; `lacunary.from_pyagrum` reads it back."""
        return borrow("network for pyagrum")(self)

    def regression(self, name: str) -> Regression:
        """Return the regression of a continuous variable on its parents."""
        return self._shown(name, Regression)

    def uniform(self, name: str) -> Uniform:
        """Return the bounds of a variable with a uniform family."""
        return self._shown(name, Uniform)

    def sigmoid(self, name: str) -> Sigmoid:
        """Return the weights of a variable with a sigmoid family."""
        return self._shown(name, Sigmoid)

    def _shown(self, name: str, wanted: type[T]) -> T:
        found = self.parameters_of(name)
        if not isinstance(found, wanted):
            raise ParameterError(
                f"the family of {name} is not a {wanted.__name__.lower()} but a {self.dag.family_of(name)}; "
                "parameters_of has what it has"
            )
        return found

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def page(self, path: str | PathLike[str] | None = None, *, title: str = "Network") -> str:
        """Return a page of HTML in which states can be clicked, without a server; written if a path is given.

        Posteriors are worked out in the page, exactly; families are tables and linear regressions, and the
        network must not be too wide.
        """
        return str(borrow("network as a page")(self, path, title=title))

    def widget(self, given: Mapping[str, Any] | None = None) -> Any:
        """Return a live monitor for a notebook; its ``given`` is what is clicked. Needs anywidget."""
        return borrow("network as a widget")(self, given)

    def parameters(self) -> NDArray[np.float64]:
        """Return ``theta``."""
        return self.theta

    @property
    def tables(self) -> dict[str, NDArray[np.float64]]:
        """All tables by name."""
        return {name: self.table(name) for name in self.dag.names}


@budgeted
def _numbers(theta: object) -> NDArray[np.float64]:
    """Return parameters that were not given as an array of doubles as one."""
    try:
        return np.array(theta).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError):
        raise ParameterError(
            "a network's parameters are one vector of numbers; Network.from_tables takes tables by name"
        ) from None


def random_network(
    dag: Dag, prior: Prior | None = None, rng: int | np.random.Generator | None = 0
) -> Network:
    """Return a network whose distributions are drawn from the prior, by default uniformly.

    Regressions are by default drawn from the `NormalWishart` worth one row of mean zero and variance one, and
    the weights of sigmoid families from a normal distribution (`NormalWeights`).

    Examples
    --------
    >>> import lacunary as lac
    >>> network = lac.random_network(lac.dag("A -> B"), rng=0)
    >>> bool(abs(network.query("B").probabilities.sum() - 1) < 1e-12)
    True
    """
    belief = (prior or Dirichlet(1.0))(dag)
    random, layout = np.random.default_rng(rng), dag.layout
    theta = np.empty(layout.size)
    theta[: layout.tables] = layout.drawn(belief.alpha[: layout.tables], random)
    for i, family in dag.numeric:
        layout.records(theta, i)[:] = family.drawn_prior(belief.hyper(i), belief.surplus, random)
    for i, implied in dag.implied:
        layout.states_first(theta, i)[:] = implied.draw(belief.weight_sd, random)
    return Network(dag, theta)

"""EM as it is defined, slowly: expected counts by enumeration, one table after the other, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import dirichlet

from lacunary.data.table import Table
from lacunary.infer.network import Network, random_network
from lacunary.model.dag import Dag
from tests import naive
from tests.strategies import Case, dags, sample_codes, seeds

Tables = dict[str, NDArray[np.float64]]

EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Problem:
    """What is maximised: method, basis, one α for all parameters, and the tables that are known."""

    method: str = "map"
    basis: str = "softmax"
    alpha: float = 1.0
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pseudo(self) -> float:
        """What the M-step adds to every count."""
        if self.method == "ml":
            return 0.0
        return self.alpha if self.basis == "softmax" else self.alpha - 1.0


PROBLEMS = (
    Problem("ml"),
    Problem("map", "softmax", 0.3),
    Problem("map", "softmax", 1.0),
    Problem("map", "probability", 1.0),
    Problem("map", "probability", 1.7),
)


def leaders(dag: Dag) -> list[str]:
    """One variable for each table that is learned: the first of each tied group, and all others."""
    followers = {name for group in dag.tied for name in group[1:]}
    return [name for name in dag.names if name not in followers]


def closed_form(counts: NDArray[np.float64], pseudo: float) -> NDArray[np.float64]:
    """θ ∝ N + c, and uniform where that is nothing."""
    raised = counts + pseudo
    total = raised.sum(axis=-1, keepdims=True)
    return np.where(total > 0, raised / np.where(total > 0, total, 1.0), 1.0 / counts.shape[-1])


def step(network: Network, table: Table, problem: Problem) -> Network:
    """One iteration of EM; tied families add their counts."""
    counts = naive.expected_counts(network, table)
    for group in network.dag.tied:
        together = np.sum([counts[name] for name in group], axis=0)
        counts |= dict.fromkeys(group, together)
    tables: Tables = {name: closed_form(counts[name], problem.pseudo) for name in network.dag.names}
    for name, known in problem.fixed.items():
        tied = next((group for group in network.dag.tied if name in group), (name,))
        tables |= dict.fromkeys(tied, np.asarray(known, dtype=np.float64))
    return Network.from_tables(network.dag, tables)


def log_prior(network: Network, problem: Problem) -> float:
    """The log-density of the parameters that are learned, in the problem's coordinates."""
    if problem.method == "ml":
        return 0.0
    total = 0.0
    for name in leaders(network.dag):
        group = next((group for group in network.dag.tied if name in group), (name,))
        table = network.table(name)
        states = table.shape[-1]
        if set(group) & set(problem.fixed) or states == 1:
            continue
        for theta in table.reshape(-1, states):
            # SciPy insists on a sum of one to the last bit.
            total += dirichlet.logpdf(theta / theta.sum(), np.full(states, problem.alpha))
            if problem.basis == "softmax":
                total += np.log(theta).sum()  # the Jacobian, checked in test_em
    return total


def objective(network: Network, table: Table, problem: Problem) -> float:
    """Log-likelihood plus log prior density."""
    return naive.log_likelihood(network, table) + log_prior(network, problem)


def trace(network: Network, table: Table, problem: Problem, length: int) -> tuple[list[float], Network]:
    """The first ``length`` objectives from here, and the last network."""
    values = [objective(network, table, problem)]
    for _ in range(length - 1):
        network = step(network, table, problem)
        values.append(objective(network, table, problem))
    return values, network


def rounding(network: Network, table: Table, problem: Problem) -> float:
    """How far an objective may be off by arithmetic alone.

    A row's probability is a sum of products of at most a few hundred operations, each off by EPSILON,
    so its log is off by some hundred EPSILON, whatever its size; adding rows and the terms of the prior
    is off by EPSILON of what is added. 200 is generous for both.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(network.theta)
    terms = abs(problem.alpha) * np.abs(logs[np.isfinite(logs)]).sum() + 10.0 * network.theta.size
    return 200 * EPSILON * float(table.size + abs(naive.log_likelihood(network, table)) + terms)


@st.composite
def learnable(
    draw: st.DrawFn,
    max_variables: int = 5,
    max_hidden: int = 2,
    max_rows: int = 12,
    hole_shares: tuple[float, ...] = (0.0, 0.3, 0.6),
) -> Case:
    """A start with positive parameters, and rows in which something of every other variable is observed."""
    dag = draw(dags(1, max_variables, 1, 3, max_hidden, 2))
    rng = np.random.default_rng(draw(seeds))
    source, start = random_network(dag, rng=rng), random_network(dag, rng=rng)
    rows = draw(st.integers(1, max_rows))
    codes = sample_codes(source, rows, rng)
    holes = rng.random(codes.shape) < draw(st.sampled_from(hole_shares))
    holes[rng.integers(0, rows)] = False
    hidden = [i for i, variable in enumerate(dag.schema) if variable.hidden]
    holes[:, hidden] = True
    weights = rng.uniform(0.1, 3, size=rows) if draw(st.booleans()) else np.ones(rows)
    return start, Table(dag.schema, np.where(holes, -1, codes).astype(np.int16), weights=weights)

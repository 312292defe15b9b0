"""lacunary's side: the few calls of its public interface that the benchmarks make."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.plain import HiddenRoot
from benchmarks.rivals import Case

__all__ = ["ROOT", "binary", "cases", "em", "hidden_root", "load", "posteriors", "simulate"]

ROOT = "class"


def load(name: str) -> lac.Network:
    """Return one of the networks that come with the package."""
    return lac.load(lac.dataset_path(name))


def simulate(network: lac.Network, rows: int, holes: float, rng: int = 0) -> lac.Table:
    """Return rows drawn from the network, its hidden variables unseen and this share of the rest emptied."""
    drawn = lac.hide(network.sample(rows, rng=rng), network.dag.schema.hidden)
    return lac.make_holes(drawn, holes, rng=rng + 1)


def binary(codes: NDArray[np.int8]) -> lac.Table:
    """Return 0, 1 and −1 for a hole as a table over x1, x2, …"""
    return lac.Table(_children(codes.shape[1]), codes)


def hidden_root(parameters: HiddenRoot) -> lac.Network:
    """Return the hidden class with binary children that has these parameters."""
    weights, ones = parameters
    schema = _children(ones.shape[1])
    dag = lac.naive_bayes(schema, hidden=ROOT, states=len(weights))
    tables = {name: np.stack([1.0 - p, p], axis=-1) for name, p in zip(schema.names, ones.T, strict=True)}
    return lac.Network.from_tables(dag, {ROOT: weights, **tables})


def em(start: lac.Network, table: lac.Table) -> Callable[[int], lac.Fit]:
    """Return the run of some EM iterations, maximum likelihood, from exactly this start."""
    return lambda iterations: lac.fit(
        start.dag, table, method="ml", initial=start, starts=1, stop=lac.Stop.after(iterations)
    )


def posteriors(network: lac.Network, table: lac.Table) -> object:
    """Return p(variable | row) of all variables, all rows at once."""
    return network.posterior(table, network.dag.names)


def cases(table: lac.Table) -> list[Case]:
    """Return what is observed in each row, by name, as the peers want it."""
    states = [[str(state) for state in variable.states] for variable in table.schema]
    return [
        {
            name: states[i][code]
            for i, (name, code) in enumerate(zip(table.schema.names, row, strict=True))
            if code >= 0
        }
        for row in table.codes.tolist()
    ]


def _children(count: int) -> lac.Schema:
    return lac.Schema(tuple(lac.Variable(f"x{i + 1}", (0, 1)) for i in range(count)))

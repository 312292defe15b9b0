"""lacunary's side: the few calls of its public interface that the benchmarks make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.measure import Effort
from benchmarks.plain import HiddenRoot
from benchmarks.rivals import Case

__all__ = [
    "ROOT",
    "Timing",
    "binary",
    "cases",
    "em",
    "hidden_root",
    "log_likelihood",
    "posteriors",
    "simulate",
]

ROOT = "class"


class Timing(NamedTuple):
    """Seconds that one iteration takes, and all that goes before the first."""

    iteration: float
    preparation: float


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


def em(starts: lac.Network | Sequence[lac.Network], table: lac.Table, effort: Effort) -> Timing:
    """Time EM, maximum likelihood, from exactly these starts together, sweep by sweep."""
    ticks = [perf_counter()]

    def watch(progress: object) -> bool:
        ticks.append(perf_counter())
        return len(ticks) > effort.repeats + 1 and ticks[-1] - ticks[1] > effort.span * effort.repeats

    _fit(starts, table, iterations=1)  # compiles what is not compiled yet
    ticks[0] = perf_counter()
    _fit(starts, table, iterations=500, watch=watch)
    first, *steps = np.diff(ticks)
    iteration = median(steps)
    return Timing(iteration, first - iteration)


def log_likelihood(start: lac.Network, table: lac.Table, iterations: int) -> float:
    """Return the log-likelihood that some iterations of EM reach; one more sweep tells it."""
    return _fit(start, table, iterations=iterations + 1).log_likelihood


def _fit(
    starts: lac.Network | Sequence[lac.Network],
    table: lac.Table,
    iterations: int,
    watch: Callable[[object], object] | None = None,
) -> lac.Fit:
    first = starts if isinstance(starts, lac.Network) else starts[0]
    stop = lac.Stop(iterations=iterations)
    return lac.fit(first.dag, table, method="ml", initial=starts, stop=stop, watch=watch)


def posteriors(network: lac.Network, table: lac.Table) -> object:
    """Return p(variable | row) of all variables, all rows at once."""
    return network.posterior(table)


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

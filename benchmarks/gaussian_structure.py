"""Search for the graph of continuous variables, by BGe, beside PyBNesian's compiled hill climbing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.measure import Effort, Line, called, turns
from lacunary.maths.normal_wishart import NormalWishart

__all__ = ["TITLE", "lines"]

TITLE = (
    "Search over Gaussian networks by BGe: 64 variables, 10 000 rows; the last number is the score in nats"
)
VARIABLES, ROWS, GRAPHS = 64, 10_000, 3
RIVAL = "PyBNesian hill climbing"
METHODS: dict[str, Any] = {
    "reinsert": "reinsert",
    "greedy": "greedy",
    "greedy, 2 restarts": lac.Greedy(restarts=2),
    "greedy, 5 restarts": lac.Greedy(restarts=5),
}


def lines(effort: Effort) -> Iterator[Line]:
    """Measure on a few random graphs; each search reads its statistics off the rows itself."""
    for seed in range(GRAPHS):
        yield from _case(f"random graph {seed + 1}", simulate(VARIABLES, ROWS, seed), effort)


def simulate(variables: int, rows: int, seed: int) -> NDArray[np.float64]:
    """Return rows of a random Gaussian network; (rows, variables).

    Up to three parents each, coefficients standard normal, unit noise. Columns are shuffled, as their
    order would tell the arcs' direction, and standardised, as their variances would.
    """
    rng = np.random.default_rng(seed)
    values = np.zeros((rows, variables))
    for child in range(variables):
        parents = rng.permutation(child)[: int(rng.integers(4))]
        values[:, child] = values[:, parents] @ rng.normal(size=len(parents)) + rng.normal(size=rows)
    values = values[:, rng.permutation(variables)]
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def _case(case: str, values: NDArray[np.float64], effort: Effort) -> Iterator[Line]:
    names = [f"x{i}" for i in range(values.shape[1])]
    table = lac.read(dict(zip(names, values.T, strict=True)), kinds="continuous")
    prior = _prior(values)
    climbs: dict[str, Callable[[], Any]] = {
        f"lacunary {name}": partial(
            lac.search, table, score="bge", prior=prior, method=method, structure_prior=None
        )
        for name, method in METHODS.items()
    }
    found = {who: (climb().score, f"{len(climb().dag.arcs)} arcs") for who, climb in climbs.items()}
    rival = _pybnesian(names, values)
    if rival is not None:
        climbs[RIVAL], found[RIVAL] = rival
    for (who, (score, note)), time in zip(
        found.items(), turns(list(map(called, climbs.values())), effort), strict=True
    ):
        yield Line(case, who, time, score, note)
    if rival is None:
        yield Line(case, RIVAL, note="not installed")


def _prior(values: NDArray[np.float64]) -> NormalWishart:
    """Return PyBNesian's default prior: ν = 1, α = n + 2, τ = ν (α − n − 1)/(ν + 1) I."""
    size = values.shape[1]
    return NormalWishart(1.0, values.mean(axis=0), size + 2.0, 0.5 * np.eye(size))


def _pybnesian(
    names: list[str], values: NDArray[np.float64]
) -> tuple[Callable[[], Any], tuple[float, str]] | None:
    """Return its climb, and the score by its own BGe and the number of arcs that this ends with."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pybnesian, pandas = import_module("pybnesian"), import_module("pandas")
    except ImportError:
        return None
    frame = pandas.DataFrame(values, columns=names)

    def climb() -> Any:
        kind = pybnesian.GaussianNetworkType()
        return pybnesian.hc(frame, bn_type=kind, score="bge", operators=["arcs"])

    network = climb()
    score = float(pybnesian.BGe(frame).score(network))
    return climb, (score, f"{network.num_arcs()} arcs, its own BGe")

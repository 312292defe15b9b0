"""Estimates for networks with sigmoid families, against quadrature and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logsumexp

from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.evidence.score import METHODS, able, score
from lacunary.family.sigmoid import Sigmoid
from lacunary.infer.belief import WEIGHT_SD, NormalWeights
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.model.make import dag

PAIR = dag("A -> C", states={"A": 2}, family={"C": "sigmoid"})
CLOSE = Stop(relative=1e-12, iterations=5000)


def pair(rows: int, holes: int = 0, seed: int = 0) -> Table:
    """Rows of A -> C, in the first few of which A is a hole."""
    tables: dict[str, Any] = {"A": [0.4, 0.6], "C": Sigmoid(-0.5, [1.5])}
    codes = np.array(Network.from_tables(PAIR, tables).sample(rows, rng=seed).codes)
    codes[:holes, 0] = HOLE
    return Table(PAIR.schema, codes)


def quadrature(table: Table, sd: float, width: float, points: int = 91) -> float:
    """Log evidence of A -> C: two weights on a grid, p(A) uniform on another.

    Trapezoids on smooth functions that vanish at both ends converge faster than any power of the step; the
    grid of p(A) is in its log-odds, where its uniform density is p (1 − p).
    """
    grid = np.linspace(-width, width, points)
    step = grid[1] - grid[0]
    low, high = np.meshgrid(grid, grid, indexing="ij")  # intercept, weight
    log_normal = -0.5 * (low**2 + high**2) / sd**2 - 2 * np.log(sd * np.sqrt(2 * np.pi))
    odds = np.linspace(-8.0, 8.0, 161)  # half the least standard deviation apart, as are the weights
    parts = [_at(table, a, low, high) + log_normal + np.log(expit(a) * expit(-a)) for a in odds]
    return float(logsumexp([logsumexp(p) for p in parts]) + 2 * np.log(step) + np.log(odds[1] - odds[0]))


def _at(table: Table, a: float, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros_like(low)
    p = np.array([expit(-a), expit(a)])
    rows, counts = np.unique(table.codes, axis=0, return_counts=True)
    for (x, y), count in zip(rows, counts, strict=True):
        sign = 1 if y else -1
        states = [x] if x != HOLE else [0, 1]
        parts = sum(p[s] * expit(sign * (low + s * high)) for s in states)
        total += count * np.log(parts)
    return total


def test_annealing_against_quadrature() -> None:
    table = pair(30, holes=8)
    truth = quadrature(table, WEIGHT_SD, 9.0)
    found = score(PAIR, table, "ais", steps=768, chains=24, rng=1)
    assert found.stderr is not None
    assert found.stderr < 0.15
    assert abs(found.value - truth) < 4 * found.stderr + 0.01  # four standard errors, and the grid's
    assert found.details["trustworthy"]


def test_laplace_against_quadrature() -> None:
    """Its error shrinks like one over the number of rows: 0.02 nats at 300 are generous."""
    for rows, holes, width, most in ((40, 10, 9.0, 0.1), (300, 60, 4.5, 0.02)):
        table = pair(rows, holes)
        found = score(PAIR, table, "laplace", stop=CLOSE)
        assert found.value == pytest.approx(quadrature(table, WEIGHT_SD, width), abs=most)
        assert found.dimension == PAIR.free == 3


def test_curvature_against_differences() -> None:
    """log |A| of a network with hidden parents, by second differences of the objective in its weights."""
    graph = dag("H -> A B C", hidden="H", family=dict.fromkeys("ABC", "sigmoid"))
    table = random_network(graph, rng=3).sample(50, rng=3).codes.copy()
    table[:, graph.schema.index("H")] = HOLE
    rows = Table(graph.schema, table)
    fitted = fit(graph, rows, stop=CLOSE, starts=5)
    found = score(fitted, rows, "laplace")
    peak = [np.log(fitted.network.table("H")[0] / fitted.network.table("H")[1])]
    peak += [x for name in "ABC" for x in fitted.network.sigmoid(name).vector]

    def objective(free: NDArray[np.float64]) -> float:
        tables: dict[str, Any] = {"H": [expit(free[0]), expit(-free[0])]}
        tables |= {n: Sigmoid(free[1 + 2 * k], free[2 + 2 * k]) for k, n in enumerate("ABC")}
        network = Network.from_tables(graph, tables)
        log_prior = np.log(expit(free[0]) * expit(-free[0])) - 0.5 * np.sum(free[1:] ** 2) / WEIGHT_SD**2
        return network.log_likelihood(rows) + float(log_prior)

    d, step = len(peak), 1e-3
    eye, hessian = step * np.eye(d), np.empty((d, d))
    for i in range(d):
        for j in range(d):
            ends = [
                objective(np.array(peak) + s * eye[i] + t * eye[j]) * s * t for s in (1, -1) for t in (1, -1)
            ]
            hessian[i, j] = -sum(ends) / (4 * step**2)
    log_det = np.linalg.slogdet(hessian)[1]
    # Differences are off by step² times fourth derivatives, which are at most the counts: 5e-5 of each entry.
    assert found.terms["curvature"] == pytest.approx(-log_det / 2, abs=2e-3)
    assert found.details["slope"] < 1e-6
    constant = -6 * np.log(WEIGHT_SD * np.sqrt(2 * np.pi))
    at = objective(np.array(peak)) + constant
    assert found.terms["log-likelihood"] + found.terms["log prior density"] == pytest.approx(at, abs=1e-9)


def test_penalties_count_weights() -> None:
    table = pair(50)
    one = score(PAIR, table, "bic", at="ml")
    plain = fit(PAIR, table, method="ml").log_likelihood
    assert one.value == pytest.approx(plain - 3 / 2 * np.log(50), abs=1e-9)
    draper = score(PAIR, table, "draper", at="ml")
    assert draper.value == pytest.approx(one.value + 3 / 2 * np.log(2 * np.pi), abs=1e-9)
    three = dag("A B D -> C", family={"C": "sigmoid"})
    assert score(three, random_network(three).sample(20, rng=0), "bic").dimension == 3 + 4


def test_the_prior_density_at_the_peak() -> None:
    table, sd = pair(50), 0.7
    found = score(PAIR, table, "map", prior=NormalWeights(sd), prior_density=True)
    network = fit(PAIR, table, prior=NormalWeights(sd)).network
    w, p = network.sigmoid("C").vector, network.table("A")
    expected = -0.5 * w @ w / sd**2 - 2 * np.log(sd * np.sqrt(2 * np.pi)) + np.log(p).sum() + gammaln(2)
    assert found.terms["log prior density"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in able(PAIR)])
def test_estimates_that_need_conjugacy_refuse(method: str) -> None:
    with pytest.raises(ParameterError, match=f"'{method}' needs .*families.*, and that of C is a sigmoid"):
        score(PAIR, pair(10), method)


def test_other_refusals() -> None:
    with pytest.raises(ParameterError, match="moves='gibbs' needs conjugate"):
        score(PAIR, pair(10), "ais", moves="gibbs")
    with pytest.raises(ParameterError, match="softmax basis"):
        score(PAIR, pair(10), "laplace", basis="probability")


def test_laplace_beside_continuous_variables_and_fixed_tables() -> None:
    """A -> C, A -> X: given A observed the evidence is a product; so is Laplace's approximation of it."""
    both = dag("A -> C; A -> X", kinds={"X": "continuous"}, family={"C": "sigmoid"})
    alone = dag("A -> X", kinds={"X": "continuous"})
    rows = pair(60)
    x = np.random.default_rng(0).normal(size=60) + rows.codes[:, 0]
    schema = both.schema
    codes = np.column_stack([rows.codes, np.full(60, HOLE)]).astype(np.int8)
    table = Table(schema, codes, np.column_stack([np.full((60, 2), np.nan), x]))
    only = dag("A", states=2)
    joined = score(both, table, "laplace", stop=CLOSE).value
    parts = score(PAIR, rows, "laplace", stop=CLOSE).value + score(alone, table, "laplace", stop=CLOSE).value
    assert joined == pytest.approx(parts - score(only, table, "laplace", stop=CLOSE).value, abs=1e-6)
    held = fit(PAIR, rows, fixed={"A": [0.4, 0.6]}, stop=CLOSE)
    free = score(PAIR, rows, "laplace", stop=CLOSE).value - score(only, rows, "laplace", stop=CLOSE).value
    seen = np.bincount(rows.codes[:, 0], minlength=2) @ np.log([0.4, 0.6])
    assert score(held, rows, "laplace").value == pytest.approx(free + seen, abs=1e-6)

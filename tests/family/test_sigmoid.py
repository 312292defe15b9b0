"""Sigmoid families: their M-step and fits against a general optimiser on enumerated completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from lacunary.data.holes import make_holes
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.family.sigmoid import Sigmoid, best_weights, design, table_of
from lacunary.infer.belief import WEIGHT_SD, NormalWeights
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag
from tests import naive

CLOSE = Stop(relative=1e-13, iterations=5000)
COLLIDER = dag("A B -> C", states={"B": 3}, family={"C": "sigmoid"})
LEVELS = dag("H -> A B C; G -> A B C", hidden=["H", "G"], family="sigmoid")


def log_odds(row: Sequence[int], sizes: Sequence[int], weights: Sequence[float]) -> float:
    """Add the weights up one by one: the intercept, and that of each parent's state but the first."""
    total, at = weights[0], 1
    for state, size in zip(row, sizes, strict=True):
        total += weights[at + state - 1] if state else 0.0
        at += size - 1
    return total


def drawn(graph: Dag, rows: int, holes: float, seed: int) -> Table:
    """Rows of a random network, with holes, and without what is hidden."""
    table = make_holes(random_network(graph, rng=seed).sample(rows, rng=seed), holes, rng=seed)
    codes = np.where([v.hidden for v in graph.schema], HOLE, table.codes)
    return Table(graph.schema, codes.astype(np.int8))


def parameters(graph: Dag, free: NDArray[np.float64]) -> Network:
    """Unpack free numbers: weights of sigmoid families, log-odds against the last state of other tables."""
    tables: dict[str, Any] = {}
    at = 0
    for name in graph.names:
        sizes = [graph.schema[p].size for p in graph.parents_of(name)]
        if graph.family_of(name) == "sigmoid":
            count = 1 + sum(size - 1 for size in sizes)
            tables[name] = Sigmoid(free[at], free[at + 1 : at + count])
        else:
            shape = (*sizes, graph.schema[name].size - 1)
            count = int(np.prod(shape))
            odds = np.concatenate([free[at : at + count].reshape(shape), np.zeros((*sizes, 1))], axis=-1)
            tables[name] = np.exp(odds) / np.exp(odds).sum(axis=-1, keepdims=True)
        at += count
    assert at == len(free)
    return Network.from_tables(graph, tables)


def objective(graph: Dag, table: Table, prior: float | None, free: NDArray[np.float64]) -> float:
    """What a fit climbs, by enumeration: normal weights, and tables Dirichlet(1) in the softmax basis."""
    network = parameters(graph, free)
    value = naive.log_likelihood(network, table)
    if prior is None:
        return value
    for name in graph.names:
        if graph.family_of(name) == "sigmoid":
            w = network.sigmoid(name).vector
            value += float(-0.5 * w @ w / prior**2 - len(w) * np.log(prior * np.sqrt(2 * np.pi)))
        else:  # the softmax has the Jacobian Π θ
            rows = network.table(name).reshape(-1, graph.schema[name].size).tolist()
            value += sum(naive.log_dirichlet(row, [1.0] * len(row)) + np.log(row).sum() for row in rows)
    return value


def highest(graph: Dag, table: Table, prior: float | None) -> float:
    """The highest objective that a general optimiser finds."""
    best = minimize(
        lambda free: -objective(graph, table, prior, free), np.zeros(graph.free), options={"gtol": 1e-6}
    )
    return -float(best.fun)


@given(st.lists(st.integers(1, 4), max_size=3), st.integers(0, 99), st.sampled_from([0.0, 0.3]))
@settings(max_examples=25)
def test_best_weights_have_no_slope(sizes: list[int], seed: int, precision: float) -> None:
    """Where a concave function has no slope it is highest; the slope is added up row by row here."""
    known = design(tuple(sizes))
    counts = np.random.default_rng(seed).gamma(1.0, 5.0, size=(3, 2, len(known))) + 0.1
    for table, weights in zip(counts, best_weights(counts, known, precision), strict=True):
        slope = -precision * weights
        for j, row in enumerate(np.ndindex(*sizes)):
            odds = log_odds(row, sizes, weights.tolist())
            step = table[1, j] - table.sum(axis=0)[j] / (1.0 + np.exp(-odds))
            for k in range(len(weights)):
                unit = np.eye(len(weights))[k]
                slope[k] += step * log_odds(row, sizes, unit.tolist())
        # Newton's last step leaves the square of √(1e-12 N): rounding, then.
        np.testing.assert_allclose(slope, 0.0, atol=1e-8 * table.sum())


def test_a_table_and_its_weights() -> None:
    family = Sigmoid(-1.0, [0.5, 2.0, -3.0])
    table = family.table((2, 3))
    for row in np.ndindex(2, 3):
        odds = log_odds(row, (2, 3), [-1.0, 0.5, 2.0, -3.0])
        assert table[row][1] == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-14)
        assert table[row].sum() == pytest.approx(1.0, rel=1e-15)
    network = Network.from_tables(COLLIDER, {"A": [0.5, 0.5], "B": [0.2, 0.3, 0.5], "C": family})
    np.testing.assert_allclose(network.sigmoid("C").vector, family.vector, rtol=1e-13)
    assert COLLIDER.free == 1 + 2 + 4


@pytest.mark.parametrize("prior", [None, WEIGHT_SD, 0.5])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_a_fit_is_as_high_as_an_optimiser_gets(prior: float | None, holes: float) -> None:
    family = Sigmoid(-0.5, [1.0, 0.7, -0.8])  # so that rows are not separable
    network = Network.from_tables(COLLIDER, {"A": [0.4, 0.6], "B": [0.3, 0.3, 0.4], "C": family})
    table = make_holes(network.sample(150, rng=5), holes, rng=5)
    rule = None if prior is None else NormalWeights(prior)
    found = fit(COLLIDER, table, method="ml" if prior is None else "map", prior=rule, stop=CLOSE)
    # BFGS stops at a slope of 1e-6; both are flat there, so values agree far better.
    assert found.objective == pytest.approx(highest(COLLIDER, table, prior), abs=1e-7)
    assert found.log_likelihood == pytest.approx(naive.log_likelihood(found.network, table), abs=1e-9)


def test_hidden_parents() -> None:
    """No step falls, and where a climb ends the objective is flat and a peak along every weight."""
    table = drawn(LEVELS, 30, 0.0, seed=2)
    found = fit(LEVELS, table, starts=4, stop=CLOSE)
    for start in found.starts:
        # An M-step may miss its peak by 1e-12 nats a row, and sums are rounded.
        assert np.all(np.diff(start.trace) > -1e-9)
    peak = np.concatenate([found.network.sigmoid(name).vector for name in LEVELS.names])
    here = objective(LEVELS, table, WEIGHT_SD, peak)
    assert found.objective == pytest.approx(here, abs=1e-9)
    for step in 1e-3 * np.eye(len(peak)):
        up, down = (objective(LEVELS, table, WEIGHT_SD, peak + s * step) - here for s in (1, -1))
        # EM ends within about 1e-10 nats of the peak, whose curvature is about one: 1e-5 away from it.
        assert abs(up - down) / 2e-3 < 1e-4
        assert up + down < 0
    faster = fit(LEVELS, table, starts=4, stop=CLOSE, accelerate=True)
    assert faster.objective == pytest.approx(found.objective, abs=1e-6)
    assert np.all(np.diff(faster.trace) > -1e-9)


def test_one_binary_parent_is_a_table() -> None:
    """Two weights say as much as two probabilities: maximum likelihood is the same."""
    plain = dag("A -> B -> C", hidden="B")
    table = drawn(plain, 80, 0.2, seed=1)
    start = random_network(plain, rng=7)
    sigmoid = dag("A -> B -> C", hidden="B", family="sigmoid")
    same = Network(sigmoid, start.theta.copy())
    one = fit(plain, table, method="ml", initial=start, stop=CLOSE)
    other = fit(sigmoid, table, method="ml", initial=same, stop=CLOSE)
    assert plain.free == sigmoid.free
    assert other.iterations == one.iterations
    np.testing.assert_allclose(other.network.theta, one.network.theta, atol=1e-7)


def test_tied_families_share_their_weights() -> None:
    graph = dag("H -> A B C", hidden="H", tied=[["A", "B"]], family=dict.fromkeys("ABC", "sigmoid"))
    table = drawn(graph, 60, 0.0, seed=3)
    network = fit(graph, table, starts=3).network
    np.testing.assert_array_equal(network.table("A"), network.table("B"))
    assert graph.free == 1 + 2 + 2


def test_a_known_family_is_left_alone() -> None:
    table = drawn(COLLIDER, 40, 0.2, seed=6)
    known: Any = Sigmoid(0.5, [1.0, -1.0, 2.0])
    found = fit(COLLIDER, table, fixed={"C": known})
    np.testing.assert_allclose(found.network.sigmoid("C").vector, known.vector, rtol=1e-12)


def test_separable_rows() -> None:
    """C is A: the supremum, A's own likelihood, is not reached by any weights, but nearly by large ones."""
    graph = dag("A B -> C", family={"C": "sigmoid"})
    codes = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]] * 5, dtype=np.int8)
    table = Table(graph.schema, codes)
    with pytest.warns(UserWarning, match="parents of C separate its states"):
        found = fit(graph, table, method="ml")
    assert found.log_likelihood == pytest.approx(40 * np.log(0.5), abs=1e-8)
    assert np.all(np.isfinite(found.network.sigmoid("C").vector))
    finite = fit(graph, table, method="map").network.sigmoid("C").vector
    assert np.abs(finite).max() < 10


def test_states_never_seen_leave_their_weights_at_zero() -> None:
    graph = dag("A -> C", states={"A": 3}, family={"C": "sigmoid"})
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], dtype=np.int8)
    for method in ("ml", "map"):
        vector = fit(graph, Table(graph.schema, codes), method=method).network.sigmoid("C").vector
        assert vector[2] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(
        fit(graph, Table(graph.schema, codes), method="ml").network.sigmoid("C").vector,
        [0.0, np.log(2.0), 0.0],
        atol=1e-9,
    )


def test_weights_beside_regressions() -> None:
    """A sigmoid family does not notice continuous variables that hang on others."""
    graph = dag("A B -> C; A -> X", kinds={"X": "continuous"}, family={"C": "sigmoid"})
    table = random_network(graph, rng=1).sample(200, rng=1)
    alone = dag("A B -> C", family={"C": "sigmoid"})
    vector = fit(graph, table, method="ml").network.sigmoid("C").vector
    other = fit(alone, table.to_frame("pandas")[["A", "B", "C"]], method="ml").network.sigmoid("C").vector
    np.testing.assert_allclose(vector, other, rtol=1e-9)


def test_what_is_refused() -> None:
    table = drawn(LEVELS, 20, 0.0, seed=1)
    with pytest.raises(ParameterError, match="'variational' needs conjugate families, and that of"):
        fit(LEVELS, table, method="variational")
    with pytest.raises(ParameterError, match="select='average' is for tables"):
        fit(LEVELS, table, select="average", starts=2)
    with pytest.raises(ParameterError, match="ask the network of a fit"):
        fit(LEVELS, table, starts=1).belief.query("A")
    with pytest.raises(ParameterError, match="no weights give this table"):
        Network.from_tables(
            dag("A B -> C", family={"C": "sigmoid"}),
            {"A": [0.5, 0.5], "B": [0.5, 0.5], "C": [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]]},
        )
    with pytest.raises(ParameterError, match="need 3 weights"):
        Sigmoid(0.0, [1.0]).table((2, 3))
    with pytest.raises(ParameterError, match="not a sigmoid but a table"):
        random_network(COLLIDER).sigmoid("A")
    with pytest.raises(ParameterError, match="beyond ±700"):
        Sigmoid(800.0).table(())


def test_draws_follow_the_weights() -> None:
    """Frequencies of a sample of 40 000 are within five standard deviations of the probabilities."""
    network = random_network(COLLIDER, rng=4)
    table = network.sample(40_000, rng=0)
    for row in np.ndindex(2, 3):
        chosen = (table.codes[:, :2] == row).all(axis=1)
        share = table.codes[chosen, 2].mean()
        p = table_of(network.sigmoid("C").vector, design((2, 3)))[1, row[0] * 3 + row[1]]
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / chosen.sum())

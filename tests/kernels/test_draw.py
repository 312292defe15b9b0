"""Counts of drawn completions against their distribution, written out by enumeration."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from lacunary.data.table import HOLE, Table
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Dirichlet
from lacunary.infer.network import Network, random_network
from lacunary.kernels.draw import draw_counts, log_likelihood
from lacunary.model.make import dag
from tests import naive
from tests.evidence.small import walker
from tests.infer.test_extremes import disagreement

WIDE = 5000
RARE = 1e-4
"""One right sampler in ten thousand gives a smaller p-value; seeds are fixed."""


def draws(network: Network, rows: list[list[int]], weights: list[float], many: int) -> NDArray[np.float64]:
    """Return the counts of so many draws of completions; (draws, size)."""
    table = Table(network.dag.schema, np.array(rows, dtype=np.int8), weights=np.array(weights))
    laid = walker(Problem(network.dag, table, Dirichlet(1.0)))
    kinds, chunk = laid.rows.packed.kinds, laid.chunk
    (room, scratch), stream = laid._room(), np.array([7], dtype=np.uint64)
    out = np.tile(laid.target.constant, (many, 1))
    for counts in out:
        assert draw_counts(kinds, chunk.slab, chunk.spots, network.theta, room, scratch, stream, counts)
    return out


def counts_of(network: Network, states: naive.States) -> tuple[float, ...]:
    layout = network.dag.layout
    counts = np.zeros(layout.size)
    for members, strides, start in zip(layout.members, layout.strides, layout.start, strict=True):
        counts[start + sum(states[m] * stride for m, stride in zip(members, strides, strict=True))] += 1.0
    return tuple(counts)


@pytest.mark.parametrize(
    ("arrows", "row"),
    [
        ("H -> A B C", [HOLE, 1, HOLE, 0]),
        ("A -> B -> C -> D -> E", [HOLE, HOLE, HOLE, HOLE, 1]),
        ("A -> C <- B; C -> D; B -> D; D -> E", [HOLE, HOLE, HOLE, HOLE, 0]),
        ("A -> B; C -> D", [HOLE, 1, HOLE, 1]),
    ],
)
@pytest.mark.parametrize("potential", ["probabilities", "tempered"])
def test_completions_have_the_posterior_distribution(arrows: str, row: list[int], potential: str) -> None:
    network = random_network(dag(arrows, states=3), rng=5)
    if potential == "tempered":
        network = Network(network.dag, network.theta**0.3)
    chances: Counter[tuple[float, ...]] = Counter()
    whole = naive.evidence(network, row)
    for states in naive.completions(network, row):
        chances[counts_of(network, states)] += naive.probability(network, states) / whole  # type: ignore[assignment]
    many = 4000
    seen = Counter(tuple(counts) for counts in draws(network, [row], [1.0], many))
    assert set(seen) <= set(chances)
    likely = [key for key, p in chances.items() if p * many > 5]  # the rest goes into one bin
    observed = np.array([seen[key] for key in likely])
    expected = np.array([chances[key] * many for key in likely])
    if expected.sum() < many - 1e-6:
        observed = np.append(observed, many - observed.sum())
        expected = np.append(expected, many - expected.sum())
    assert stats.chisquare(observed, expected).pvalue > RARE


@pytest.mark.parametrize("weight", [1.0, 3.0, 40.0, 1000.0])
def test_a_row_of_weight_w_draws_a_multinomial(weight: float) -> None:
    network = random_network(dag("H -> A B; H -> G -> C", states=2), rng=1)
    row = [HOLE, 1, 0, HOLE, 1]
    many = 3000
    counts = draws(network, [row], [weight], many)
    hidden = naive.posterior(network, row, ["H"])
    place = network.dag.layout.start[0]
    for state in range(2):
        drawn, p = counts[:, place + state], hidden[state]
        law = stats.binom(int(weight), p)
        # means have deviation sd/√n; variances of a binomial about √(2/n) of themselves, more when skewed
        assert abs(drawn.mean() - law.mean()) < 4 * law.std() / np.sqrt(many)
        kurtosis = float(law.stats(moments="k"))
        assert abs(drawn.var() / law.var() - 1) < 4 * np.sqrt((2 + kurtosis) / many)


def test_repeated_rows_agree_with_weights() -> None:
    network = random_network(dag("A -> B -> C", states=2), rng=2)
    row, many = [HOLE, HOLE, 1], 3000
    weighted = draws(network, [row], [4.0], many)
    repeated = draws(network, [row] * 4, [1.0] * 4, many)
    for place in range(weighted.shape[1]):
        assert stats.ks_2samp(weighted[:, place], repeated[:, place]).pvalue > RARE


def test_observed_rows_count_as_they_are() -> None:
    network = random_network(dag("A -> B", states=2), rng=3)
    counts = draws(network, [[0, 1], [1, 1]], [2.0, 3.0], 2)
    assert np.array_equal(
        counts[0], 2 * np.array(counts_of(network, (0, 1))) + 3 * np.array(counts_of(network, (1, 1)))
    )
    assert np.array_equal(counts[0], counts[1])


def test_tiny_products_do_not_vanish() -> None:
    """Two hundred children of a hidden variable, each with probability 1e-3: their product is 1e-600."""
    names = " ".join(f"X{i}" for i in range(200))
    graph = dag(f"H -> {names}", states=2, hidden=["H"])
    tables = {name: np.array([[0.999, 0.001], [0.998998, 0.001002]]) for name in graph.names}
    tables["H"] = np.array([0.5, 0.5])
    network = Network.from_tables(graph, tables)
    row = [HOLE] + [1] * 200
    law = stats.binom(1000, 1.002**200 / (1 + 1.002**200))
    counts = draws(network, [row], [1000.0], 100)
    assert abs(counts[:, graph.layout.start[0] + 1].mean() - law.mean()) < 4 * law.std() / np.sqrt(100)


def chances_of_a_child(tables: NDArray[np.float64], row: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the posterior of a hidden root, even before, from the tables of its children, in logarithms."""
    log = np.log(tables[np.arange(len(row)), :, row]).sum(axis=0)
    chances = np.exp(log - log.max())
    return np.asarray(chances / chances.sum())


def test_thousands_of_children_of_one_hidden_variable() -> None:
    """Their product is about 2^-5000."""
    graph = dag("H -> " + " ".join(f"X{i}" for i in range(WIDE)), states=2, hidden=["H"])
    rng = np.random.default_rng(2)
    ones = rng.uniform(0.3, 0.7, WIDE)[:, None] + [0.0, 0.004]  # so near each other that neither is ruled out
    tables, row = np.stack([1 - ones, ones], axis=2), rng.integers(0, 2, WIDE)
    given = dict(zip(graph.names[1:], tables, strict=True))
    network = Network.from_tables(graph, {"H": [0.5, 0.5], **given})
    (_, p) = chances_of_a_child(tables, row)
    assert 0.05 < p < 0.95
    counts = draws(network, [[HOLE, *row.tolist()]], [1000.0], 25)
    # The mean of 25 binomials; four of its standard deviations.
    assert abs(counts[:, graph.layout.start[0] + 1].mean() - 1000 * p) < 4 * np.sqrt(1000 * p * (1 - p) / 25)


def test_a_chain_of_thousands_is_drawn_from_its_end_to_its_start() -> None:
    """Each step keeps the state with chance 0.9; both ends are the same, so the number of changes is even."""
    graph = dag(" -> ".join(f"X{i}" for i in range(WIDE)), states=2)
    tables = {name: np.array([[0.9, 0.1], [0.1, 0.9]]) for name in graph.names[1:]}
    network = Network.from_tables(graph, {"X0": [0.5, 0.5], **tables})
    counts = draws(network, [[0] + [HOLE] * (WIDE - 2) + [0]], [1.0], 40)
    steps = counts[:, graph.layout.start[1] :].reshape(40, WIDE - 1, 2, 2)  # one table a step
    changes = (steps[..., 0, 1] + steps[..., 1, 0]).sum(axis=1)
    assert np.all(changes % 2 == 0)
    # 4 999 steps that change with chance 0.1 each: 499.9, standard deviation 21.2; four of it over √40.
    assert abs(changes.mean() - 499.9) < 4 * 21.2 / np.sqrt(40)


@pytest.mark.parametrize("against", [50, 300, 2500])
def test_children_that_speak_against_each_other(against: int) -> None:
    """Each side alone rules a state out by 9^-against, both together none; a double cannot hold that."""
    network, row = disagreement(against)
    start, law = network.dag.layout.start[0], stats.binom(1000, 0.75)
    counts = draws(network, row.tolist(), [1000.0], 25)
    assert abs(counts[:, start + 1].mean() - law.mean()) < 4 * law.std() / np.sqrt(25)
    table = Table(network.dag.schema, row)
    laid = walker(Problem(network.dag, table, Dirichlet(1.0)))
    kinds, chunk, (room, scratch) = laid.rows.packed.kinds, laid.chunk, laid._room()
    given = laid.target.constant, network.theta
    found = log_likelihood(kinds, chunk.slab, chunk.spots, room, scratch, *given)
    # Thousands of logarithms are added, each rounded in its last digit.
    assert found == pytest.approx(against * np.log(0.09), rel=1e-10)


def test_log_likelihood_agrees_with_enumeration() -> None:
    network = random_network(dag("A -> C <- B; C -> D", states=3), rng=4)
    rows = [[HOLE, HOLE, HOLE, 1], [0, HOLE, 2, HOLE], [1, 1, 1, 1], [HOLE, 0, HOLE, HOLE]]
    table = Table(network.dag.schema, np.array(rows, dtype=np.int8), weights=np.array([1.0, 2.0, 3.0, 4.0]))
    laid = walker(Problem(network.dag, table, Dirichlet(1.0)))
    kinds, chunk, (room, scratch) = laid.rows.packed.kinds, laid.chunk, laid._room()
    found = log_likelihood(kinds, chunk.slab, chunk.spots, room, scratch, laid.target.constant, network.theta)
    assert found == pytest.approx(naive.log_likelihood(network, table), rel=1e-12)  # rounding of a few sums

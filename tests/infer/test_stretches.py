"""Rows laid out within a budget: some at a time, in trees of their own, the same numbers whatever it is."""

from __future__ import annotations

import pickle
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer import forest
from lacunary.infer.engine import DiscreteRows, prepare_discrete
from lacunary.infer.network import random_network
from lacunary.infer.places import Places
from tests import naive

ENOUGH = 10**9


def table() -> lac.Table:
    return lac.make_holes(lac.asia().sample(300, rng=0), 0.4, rng=1)


def swept(rows: DiscreteRows, vectors: NDArray[np.float64]) -> list[bytes]:
    found = rows.expect(vectors)
    return [found.counts.tobytes(), found.log_likelihood.tobytes(), rows.log_evidence(vectors).tobytes()]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("vectors", [1, 3])
def test_what_is_laid_out_anew_gives_the_same_bits(vectors: int) -> None:
    """150 kB hold a third of the chunks: the others are laid out by every sweep, also after a pickle."""
    graph, data = lac.asia().dag, table()
    potentials = np.array([random_network(graph, rng=seed).theta for seed in range(vectors)])
    roomy = prepare_discrete(graph, data, budget=ENOUGH)
    tight = prepare_discrete(graph, data, budget=150_000)
    assert len(roomy.packed.kept) == 1
    assert None in tight.packed.kept
    assert any(tight.packed.kept)
    assert swept(tight, potentials) == swept(roomy, potentials)
    assert swept(pickle.loads(pickle.dumps(tight)), potentials) == swept(roomy, potentials)
    weights = np.random.default_rng(2).random(len(data))
    assert swept(tight.weighed(weights), potentials) == swept(roomy.weighed(weights), potentials)


def test_the_budget_is_the_users_own() -> None:
    """What a limit of memory leaves decides; it is no less than what can always be had."""
    with lac.memory("1 kB"):
        rows = prepare_discrete(lac.asia().dag, table())
    assert rows.packed.recipe.budget == 16 * 2**20


def test_trees_of_their_own_change_nothing_but_the_rounding() -> None:
    network = lac.alarm()
    data = lac.make_holes(network.sample(40, rng=0), 0.6, rng=1)
    shared = prepare_discrete(network.dag, data).expect(network.theta[None])
    with mock.patch.multiple(forest, WIDE=0, CHEAPER=np.inf):
        own = prepare_discrete(network.dag, data).expect(network.theta[None])
    np.testing.assert_allclose(own.counts, shared.counts, atol=1e-12)  # 40 rows, each exact to 1e-15
    np.testing.assert_allclose(own.log_likelihood, shared.log_likelihood, rtol=1e-13)


def test_a_pattern_that_is_wide_in_the_shared_tree_has_its_own() -> None:
    """Rows leave one row or one column of a grid open: all 144 variables together would need 2¹² and more."""
    side = 12
    at = [[f"X{i}y{j}" for j in range(side)] for i in range(side)]
    arcs = [f"{at[i][j]} -> {at[i + 1][j]}" for i in range(side - 1) for j in range(side)]
    arcs += [f"{at[i][j]} -> {at[i][j + 1]}" for i in range(side) for j in range(side - 1)]
    network = random_network(lac.dag("; ".join(arcs), states=2), rng=0)
    data = network.sample(2, rng=1)
    holes = np.zeros(data.codes.shape, dtype=bool)
    names = network.dag.names
    for j in range(side):
        for i in range(side):
            holes[0, names.index(at[i][j])] = (i + j) % 2 == 0 or i % 3 == 0
            holes[1, names.index(at[i][j])] = (i + j) % 2 == 1 or j % 3 == 0
    codes = np.where(holes, -1, data.codes).astype(np.int8)
    both = lac.Table(network.dag.schema, codes)
    together = prepare_discrete(network.dag, both).log_evidence(network.theta[None])[0]
    apart = [
        prepare_discrete(network.dag, both.take(slice(r, r + 1))).log_evidence(network.theta[None])[0, 0]
        for r in range(2)
    ]
    np.testing.assert_allclose(together, apart, rtol=1e-12)


def test_a_hole_that_nothing_hangs_on_counts_in_proportion_to_potentials_that_do_not_sum_to_one() -> None:
    """Beside enumeration: A -> B, B a hole; φ(a) Σ_b φ(b | a), and of B's counts each its share."""
    graph = lac.dag("A -> B", states=3)
    potentials = np.random.default_rng(0).uniform(0.1, 0.9, graph.layout.size)
    data = lac.Table(graph.schema, np.array([[-1, -1], [1, -1], [-1, 2]], dtype=np.int8))
    found = prepare_discrete(graph, data).expect(potentials[None])
    a, b = graph.layout.table(potentials, 0), graph.layout.table(potentials, 1)
    joint = a[:, None] * b
    wanted = joint / joint.sum()
    wanted[1] += joint[1] / joint[1].sum()
    wanted[:, 2] += joint[:, 2] / joint[:, 2].sum()
    np.testing.assert_allclose(graph.layout.table(found.counts[0], 1), wanted, rtol=1e-13)
    np.testing.assert_allclose(graph.layout.table(found.counts[0], 0), wanted.sum(axis=1), rtol=1e-13)
    evidence = np.log(joint.sum()) + np.log(joint[1].sum()) + np.log(joint[:, 2].sum())
    np.testing.assert_allclose(found.log_likelihood, evidence, rtol=1e-13)


def test_places_of_tied_tables_are_shared() -> None:
    """Two leaves with one table have one sum between them, and what is counted there is divided once."""
    graph = lac.dag("A -> B; A -> C", states=2)
    layout = type(graph.layout).of((2, 2, 2), ((), (0,), (0,)), tied=((1, 2),))
    places = Places(layout, np.array([False, True, True]))
    vector = np.array([[0.5, 0.5, 0.2, 0.7, 0.8, 0.4]])
    wide = places.widened(vector)
    assert places.start == (0, 2, 2)
    np.testing.assert_allclose(wide, [[0.5, 0.5, 0.2, 0.7, 0.8, 0.4, 1.0, 1.1]], rtol=1e-15)
    counts = np.array([[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 2.2]])
    found = places.narrowed(counts, vector, wide)
    np.testing.assert_allclose(found, [[1.0, 2.0, 0.6, 1.4, 2.4, 0.8]], rtol=1e-14)
    assert places.shown(counts[0]).tolist() == [1.0, 2.0, 0.0, 0.0, 0.0, 0.0]


def test_wide_rows_are_swept_one_vector_at_a_time() -> None:
    network = lac.asia()
    data = table()
    thetas = np.array([random_network(network.dag, rng=seed).theta for seed in range(3)])
    wanted = prepare_discrete(network.dag, data).expect(thetas)
    with mock.patch("lacunary.infer.pack.WIDE", 0):
        rows = prepare_discrete(network.dag, data)
    assert {chunk.lanes for chunk in rows.packed.chunks} == {1}
    found = rows.expect(thetas)
    np.testing.assert_allclose(found.counts, wanted.counts, rtol=1e-12)  # sums over 300 rows, else ordered
    np.testing.assert_allclose(found.log_likelihood, wanted.log_likelihood, rtol=1e-13)


def test_enumeration_agrees_where_leaves_are_holes() -> None:
    network = lac.asia()
    data = lac.make_holes(network.sample(12, rng=3), 0.5, rng=4)
    found = prepare_discrete(network.dag, data).log_evidence(network.theta[None])[0]
    for row, log in zip(data.codes.tolist(), found, strict=True):
        assert naive.evidence(network, row) == pytest.approx(np.exp(log), rel=1e-12)

"""The waist of the house against enumeration: expected counts, evidence, derivatives, extremes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.data.schema import Schema
from lacunary.data.table import HOLE, Table
from lacunary.errors import GraphError, ImpossibleRowError
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.engine import prepare_discrete as prepare
from lacunary.infer.network import Network, random_network
from lacunary.model.dag import Dag
from lacunary.model.make import dag, random_dag
from tests import naive
from tests.strategies import Case, cases, dags, loaded_cases, networks, seeds, tables

# Every count is a sum of products of positive numbers, so what both sides round is a few hundred units in
# the last place of the count itself, however small it is.
RELATIVE = 1e-10
# Below 1e-308 a double has fewer digits, and what is made of such has no more.
TINY = 1e-300
# A probability known to 1e-13 relative has a logarithm known to 1e-13, also where that is near zero.
LOG = 1e-12

dense = cases(max_variables=9, max_states=2, max_parents=4)


def swept(rows: DiscreteRows, vectors: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Expected counts and log-likelihoods."""
    found = rows.expect(vectors)
    return found.counts, found.log_likelihood


def assert_counts(dag: Dag, counts: NDArray[np.float64], wanted: dict[str, NDArray[np.float64]]) -> None:
    for i, name in enumerate(dag.names):
        np.testing.assert_allclose(
            dag.layout.table(counts, i), wanted[name], rtol=RELATIVE, atol=TINY, err_msg=name
        )


def assert_as_enumerated(network: Network, table: Table) -> None:
    prepared = prepare(network.dag, table)
    found = prepared.expect(network.theta[None])
    counts, log_likelihood = found.counts, found.log_likelihood
    assert_counts(network.dag, counts[0], naive.expected_counts(network, table))
    np.testing.assert_allclose(
        log_likelihood, [naive.log_likelihood(network, table)], rtol=RELATIVE, atol=LOG * table.size
    )
    np.testing.assert_allclose(
        prepared.log_evidence(network.theta[None])[0],
        [naive.log_evidence(network, row) for row in table.codes.tolist()],
        rtol=RELATIVE,
        atol=LOG,
    )


# Enumeration --------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(cases())
def test_networks_with_holes(case: Case) -> None:
    assert_as_enumerated(*case)


@settings(max_examples=150)
@given(dense)
def test_dense_binary_networks(case: Case) -> None:
    assert_as_enumerated(*case)


@settings(max_examples=150)
@given(loaded_cases())
def test_many_observed_children(case: Case) -> None:
    """Cliques are then kept apart and pass messages, which small networks hardly do."""
    assert_as_enumerated(*case)


@settings(max_examples=100)
@given(dags(max_hidden=2), seeds, st.data())
def test_potentials_that_do_not_sum_to_one(dag: Dag, seed: int, data: st.DataObject) -> None:
    """Up to one, as in variational Bayes: nothing may be pruned that would sum to one in a network."""
    table = data.draw(tables(dag.schema))
    potentials = Network(dag, np.random.default_rng(seed).uniform(1e-3, 1.0, dag.layout.size))
    assert_as_enumerated(potentials, table)


@given(st.one_of(cases(min_variables=2), loaded_cases()), st.data())
def test_tied_families_add_their_counts(case: Case, data: st.DataObject) -> None:
    """All families of one shape share a table: its counts are the sums of theirs."""
    untied, table = case
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in untied.dag.names:
        groups.setdefault(untied.table(name).shape, []).append(name)
    tied = [group for group in groups.values() if len(group) > 1]
    graph = Dag(untied.dag.schema, untied.dag.parents, tuple(map(tuple, tied)))
    # Positive everywhere: rows drawn from the untied network may be impossible otherwise.
    network = random_network(graph, rng=data.draw(seeds))
    wanted = naive.expected_counts(network, table)
    for group in tied:
        together = np.sum([wanted[name] for name in group], axis=0)
        wanted.update(dict.fromkeys(group, together))
    found = prepare(graph, table).expect(network.theta[None])
    counts, log_likelihood = found.counts, found.log_likelihood
    assert_counts(graph, counts[0], wanted)
    np.testing.assert_allclose(
        log_likelihood[0], naive.log_likelihood(network, table), rtol=RELATIVE, atol=LOG * table.size
    )


@given(st.one_of(cases(), loaded_cases()), seeds)
def test_other_weights_on_the_same_rows(case: Case, seed: int) -> None:
    """As if the table had been given those weights from the start, zeros among them."""
    network, table = case
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.0, 2.0, len(table)) * (rng.random(len(table)) < 0.8)
    found = prepare(network.dag, table).weighed(weights)
    wanted = prepare(network.dag, replace(table, weights=weights))
    # The same products; weights of equal rows are added in another order.
    for one, other in zip(swept(found, network.theta[None]), swept(wanted, network.theta[None]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    np.testing.assert_allclose(found.packed.constant, wanted.packed.constant, rtol=1e-13)
    assert found.weight == wanted.weight


# Batches, chunks, threads -------------------------------------------------------------------------------


@pytest.mark.parametrize("vectors", [2, 7, 8, 9, 20])
@pytest.mark.parametrize("case", ["dense", "wide states"])
def test_a_batch_gives_what_its_vectors_give_alone(vectors: int, case: str) -> None:
    graph, table = workload(40, (2, 2) if case == "dense" else (3, 9))
    potentials = np.array([random_network(graph, rng=seed).theta for seed in range(vectors)])
    prepared = prepare(graph, table)
    found = prepared.expect(potentials)
    counts, log_likelihood = found.counts, found.log_likelihood
    log_evidence = prepared.log_evidence(potentials)
    for b in range(vectors):
        found = prepared.expect(potentials[b : b + 1])
        alone, log_alone = found.counts, found.log_likelihood
        # The same sums and products, taken in another order.
        np.testing.assert_allclose(counts[b], alone[0], rtol=1e-12)
        np.testing.assert_allclose(log_likelihood[b], log_alone[0], rtol=1e-13)
        np.testing.assert_allclose(
            log_evidence[b], prepared.log_evidence(potentials[b : b + 1])[0], rtol=1e-12
        )


def test_no_vectors_at_all() -> None:
    graph, table = workload(5)
    found = prepare(graph, table).expect(np.empty((0, graph.layout.size)))
    counts, log_likelihood = found.counts, found.log_likelihood
    assert counts.shape == (0, graph.layout.size)
    assert log_likelihood.shape == (0,)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("vectors", [1, 3])
def test_any_number_of_threads_gives_the_same_bits(vectors: int, use_threads: Callable[[int], None]) -> None:
    graph, table = workload(300)
    potentials = np.array([random_network(graph, rng=seed).theta for seed in range(vectors)])
    use_threads(1)
    prepared = prepare(graph, table)
    assert len(prepared.packed.chunks) > 16
    alone = (*swept(prepared, potentials), prepared.log_evidence(potentials))
    use_threads(7)
    for _ in range(5):
        again = prepare(graph, table)
        together = (*swept(again, potentials), again.log_evidence(potentials))
        assert all(a.tobytes() == b.tobytes() for a, b in zip(alone, together, strict=True))


def test_chunks_only_change_the_rounding(request: pytest.FixtureRequest) -> None:
    graph, table = workload(300)
    theta = random_network(graph, rng=5).theta[None]
    whole = prepare(graph, table)
    request.getfixturevalue("small_chunks")
    parts = prepare(graph, table)
    assert len(whole.packed.chunks) == 1
    assert len(parts.packed.chunks) > 16
    # Sums over 300 rows in another order.
    for one, many in zip(swept(whole, theta), swept(parts, theta), strict=True):
        np.testing.assert_allclose(one, many, rtol=1e-12)
    np.testing.assert_array_equal(whole.log_evidence(theta), parts.log_evidence(theta))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(max_rows=30))
def test_small_chunks_as_enumerated(case: Case, small_chunks: None) -> None:
    assert_as_enumerated(*case)


def workload(rows: int, states: tuple[int, int] = (2, 3)) -> tuple[Dag, Table]:
    """A random graph of twelve variables, and rows of any states with 40 % holes."""
    graph = random_dag(12, 0.3, max_parents=3, states=states, rng=3)
    rng = np.random.default_rng(4)
    codes = rng.integers(0, graph.schema.sizes, size=(rows, 12))
    codes[rng.random(codes.shape) < 0.4] = HOLE
    return graph, Table(graph.schema, codes.astype(np.int8), weights=rng.uniform(0, 2, size=rows))


# Derivatives --------------------------------------------------------------------------------------------


@given(st.one_of(cases(), loaded_cases()), st.data())
def test_complex_steps_give_the_gradient(case: Case, data: st.DataObject) -> None:
    """∂ log-likelihood / ∂ θ = expected counts / θ, for potentials in any direction."""
    shape, table = case
    rng = np.random.default_rng(data.draw(seeds))
    theta = random_network(shape.dag, rng=rng).theta
    prepared = prepare(shape.dag, table)
    step = 1e-30
    directions = rng.normal(size=(data.draw(st.integers(1, 6)), len(theta)))
    found = prepared.expect(theta + 1j * step * directions)
    counts, log_likelihood = found.counts, found.log_likelihood
    gradient = prepared.expect(theta[None]).counts[0] / theta
    # Terms of either sign are added: what is rounded is relative to their sizes.
    np.testing.assert_allclose(
        log_likelihood.imag / step,
        directions @ gradient,
        rtol=RELATIVE,
        atol=RELATIVE * (np.abs(directions) @ gradient).max() * 1e-2,
    )
    np.testing.assert_allclose(counts.real, np.tile(gradient * theta, (len(directions), 1)), rtol=RELATIVE)


@given(cases(max_variables=4, max_states=3, max_rows=5), seeds)
def test_complex_steps_give_the_hessian(case: Case, seed: int) -> None:
    """∂ counts / ∂ θ_b by complex step equals the difference quotient of enumerated counts."""
    shape, table = case
    dag = shape.dag
    rng = np.random.default_rng(seed)
    theta = dag.layout.normalize(rng.uniform(0.5, 1.0, size=dag.layout.size))
    direction = rng.normal(size=len(theta))
    found = prepare(dag, table).expect((theta + 1e-30j * direction)[None])
    counts = found.counts
    h = 1e-5
    ahead, behind = (
        naive.expected_counts(Network(dag, theta + s * h * direction), table) for s in (1.0, -1.0)
    )
    for i, name in enumerate(dag.names):
        quotient = (ahead[name] - behind[name]) / (2 * h)
        # A central difference misses by h² times the third derivative (some hundreds) and rounding / h.
        np.testing.assert_allclose(
            dag.layout.table(counts[0].imag / 1e-30, i), quotient, rtol=1e-6, atol=1e-6 * (1 + table.size)
        )


@given(cases(max_rows=6))
def test_complex_evidence_has_the_real_one_as_its_real_part(case: Case) -> None:
    network, table = case
    prepared = prepare(network.dag, table)
    both = prepared.log_evidence(np.tile(network.theta.astype(np.complex128), (5, 1)))
    np.testing.assert_allclose(
        both.real, np.tile(prepared.log_evidence(network.theta[None]), (5, 1)), rtol=1e-12, atol=LOG
    )
    assert np.all(both.imag == 0)


# Impossible rows ----------------------------------------------------------------------------------------


@given(networks(textures=("zeros",)), st.data())
def test_impossible_rows(network: Network, data: st.DataObject) -> None:
    """Rows of any states under a network with zeros: −∞ where enumeration finds nothing, and named."""
    table = data.draw(tables(network.dag.schema, weighted=False))
    prepared = prepare(network.dag, table)
    wanted = np.array([naive.log_evidence(network, row) for row in table.codes.tolist()])
    found = prepared.log_evidence(network.theta[None])[0]
    np.testing.assert_allclose(found, wanted, rtol=RELATIVE, atol=LOG)
    found = prepared.expect(network.theta[None])
    counts, log_likelihood = found.counts, found.log_likelihood
    assert np.all(np.isfinite(counts))
    if np.all(np.isfinite(wanted)):
        prepared.check_possible(network.theta)
        return
    assert log_likelihood[0] == -np.inf
    first = int(np.flatnonzero(np.isneginf(wanted))[0])
    many = int(np.isneginf(wanted).sum())
    with pytest.raises(ImpossibleRowError, match=rf"^row {first + 1} has .* \({many} such rows in all\)"):
        prepared.check_possible(network.theta)


def test_an_impossible_row_of_no_weight_does_not_count() -> None:
    graph = dag("A -> B")
    network = Network.from_tables(graph, {"A": [1.0, 0.0], "B": [[0.25, 0.75], [0.5, 0.5]]})
    rows = np.array([[1, HOLE], [1, 0], [HOLE, 0]], dtype=np.int8)
    table = Table(graph.schema, rows, weights=np.array([0.0, 0.0, 2.0]))
    found = prepare(graph, table).expect(network.theta[None])
    counts, log_likelihood = found.counts, found.log_likelihood
    assert log_likelihood[0] == pytest.approx(2 * np.log(0.25), rel=1e-14)
    assert graph.layout.table(counts[0], 1).tolist() == [[2.0, 0.0], [0.0, 0.0]]


def test_a_table_without_rows() -> None:
    graph = dag("A -> B")
    prepared = prepare(graph, Table(graph.schema, np.empty((0, 2), dtype=np.int8)))
    found = prepared.expect(np.full((3, 6), 0.5))
    counts, log_likelihood = found.counts, found.log_likelihood
    assert not counts.any()
    assert not log_likelihood.any()
    assert prepared.log_evidence(np.full((3, 6), 0.5)).shape == (3, 0)


def test_a_graph_of_no_variables_is_refused_by_name() -> None:
    empty = Schema(())
    with pytest.raises(GraphError, match="no variables"):
        prepare(Dag(empty, ()), Table(empty, np.empty((3, 0), dtype=np.int8)))


def test_rows_without_holes_are_not_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is observed is counted and multiplied: no kernel need be compiled for it."""

    def refuse(*_: object) -> None:
        raise AssertionError("there is nothing to sweep")

    network = random_network(dag("a -> b; a -> c", states={"a": 2, "b": 3, "c": 2}), rng=0)
    table = network.sample(20, rng=1)
    monkeypatch.setattr("lacunary.infer.engine.sweep", refuse)
    assert_as_enumerated(network, table)
    found = prepare(network.dag, table).marginals(network.theta, [(1,)])[0]
    np.testing.assert_array_equal(found, np.eye(3)[table.codes[:, 1]])

"""Posteriors, draws and most probable fillings of rows, against enumeration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError
from lacunary.infer import posterior
from lacunary.infer.network import Network, random_network
from lacunary.infer.posterior import filled, marginals_of
from lacunary.model.make import dag, random_dag
from tests import naive
from tests.strategies import Case, cases, loaded_cases, networks, tables

# A posterior is a ratio of sums of positive products: both sides round it in its last digits.
RELATIVE = 1e-10


def draw_targets(data: st.DataObject, network: Network) -> list[list[int]]:
    """Sets of up to three variables in any order: families or not, observed or not, some more than once."""
    variables = st.integers(0, len(network.dag.names) - 1)
    return data.draw(st.lists(st.lists(variables, min_size=1, max_size=3, unique=True), max_size=4))


def assert_posteriors(network: Network, table: Table, targets: list[list[int]]) -> None:
    found = marginals_of(network.dag, network.theta, table.codes, targets)
    names = network.dag.names
    assert len(found) == len(targets)
    for target, p in zip(targets, found, strict=True):
        wanted = [naive.posterior(network, row, [names[v] for v in target]) for row in table.codes.tolist()]
        np.testing.assert_allclose(p, np.array(wanted), rtol=RELATIVE, atol=0)


@settings(max_examples=120)
@given(st.one_of(cases(), cases(max_variables=9, max_states=2, max_parents=4)), st.data())
def test_posteriors_of_any_sets(case: Case, data: st.DataObject) -> None:
    assert_posteriors(*case, draw_targets(data, case[0]))


@given(loaded_cases(max_leaves=25), st.data())
def test_posteriors_with_many_observed_children(case: Case, data: st.DataObject) -> None:
    assert_posteriors(*case, draw_targets(data, case[0]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(max_rows=30), data=st.data())
def test_posteriors_in_small_parts(
    case: Case, data: st.DataObject, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows at once, in chunks: every row's numbers still come back to it."""
    monkeypatch.setattr(posterior, "ROWS_AT_ONCE", 20)
    assert_posteriors(*case, draw_targets(data, case[0]))


@given(networks(textures=("zeros",)), st.data())
def test_an_impossible_row_has_no_posterior(network: Network, data: st.DataObject) -> None:
    """Zeros for every target, observed or not, wherever in the row the contradiction lies."""
    table = data.draw(tables(network.dag.schema, weighted=False))
    possible = np.array([naive.evidence(network, row) > 0 for row in table.codes.tolist()])
    for p in marginals_of(
        network.dag, network.theta, table.codes, [[v] for v in range(len(network.dag.names))]
    ):
        # At most four rounded terms.
        np.testing.assert_allclose(p.sum(axis=1), possible, rtol=1e-13)


# Fillings -----------------------------------------------------------------------------------------------


@settings(max_examples=120)
@given(st.one_of(cases(), cases(max_variables=9, max_states=2), loaded_cases(max_leaves=25)))
def test_no_filling_is_more_probable(case: Case) -> None:
    """There may be ties: what counts is the probability."""
    network, table = case
    best = filled(network.dag, network.theta, table.codes, seed=None)
    for row, filling in zip(table.codes.tolist(), best.tolist(), strict=True):
        assert all(code in (HOLE, state) for code, state in zip(row, filling, strict=True))
        # The product of a few dozen numbers, in two orders.
        assert naive.probability(network, tuple(filling)) == pytest.approx(
            naive.best_probability(network, row), rel=1e-13, abs=0
        )


@given(st.one_of(cases(), loaded_cases(max_leaves=25)), st.integers(0, 2**63 - 1))
def test_draws_are_possible(case: Case, seed: int) -> None:
    network, table = case
    drawn = filled(network.dag, network.theta, table.codes, seed=seed)
    for row, filling in zip(table.codes.tolist(), drawn.tolist(), strict=True):
        assert all(code in (HOLE, state) for code, state in zip(row, filling, strict=True))
        assert naive.probability(network, tuple(filling)) > 0


@pytest.mark.parametrize("leaves", [0, 25])
def test_draws_follow_the_joint_posterior(leaves: int) -> None:
    """Of all holes together, within five standard deviations of each share; with and without messages."""
    arrows = "A -> B C; B C -> D; D -> E; " + "; ".join(
        f"{'ABCDE'[i % 5]} {'BCDEA'[i % 5]} -> L{i}" for i in range(leaves)
    )
    graph = dag(arrows, states={"A": 3, "B": 2, "C": 3, "D": 2, "E": 2})
    network = random_network(graph, rng=2)
    row = [HOLE] * len(graph.names)
    row[3] = 1
    row[5:] = [i % 2 for i in range(leaves)]
    draws = 40_000
    drawn = filled(graph, network.theta, np.tile(np.array(row, dtype=np.int8), (draws, 1)), seed=1)
    share = np.zeros((3, 2, 3, 2))
    np.add.at(share, tuple(drawn[:, [0, 1, 2, 4]].T), 1 / draws)
    p = naive.posterior(network, row, ["A", "B", "C", "E"])
    assert np.all(np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / draws))


def test_rows_are_drawn_independently() -> None:
    """Neighbouring rows, and the two holes of a row, show no correlation beyond chance (five sigma)."""
    graph = dag("A; B")
    draws = 100_000
    drawn = filled(graph, np.full(4, 0.5), np.full((draws, 2), HOLE, dtype=np.int8), seed=3) - 0.5
    bound = 5 * 0.25 / np.sqrt(draws)
    assert abs((drawn[1:, 0] * drawn[:-1, 0]).mean()) < bound
    assert abs((drawn[1:, 1] * drawn[:-1, 0]).mean()) < bound
    assert abs((drawn[:, 0] * drawn[:, 1]).mean()) < bound


def test_draws_depend_on_the_seed_alone(
    request: pytest.FixtureRequest, use_threads: Callable[[int], None]
) -> None:
    graph = random_dag(12, 0.3, max_parents=3, rng=3)
    theta = random_network(graph, rng=1).theta
    rng = np.random.default_rng(4)
    rows = rng.integers(0, graph.schema.sizes, size=(400, 12))
    rows[rng.random(rows.shape) < 0.5] = HOLE
    use_threads(1)
    first = filled(graph, theta, rows, seed=9)
    assert not np.array_equal(first, filled(graph, theta, rows, seed=10))
    request.getfixturevalue("small_chunks")
    np.testing.assert_array_equal(first, filled(graph, theta, rows, seed=9))
    use_threads(5)
    np.testing.assert_array_equal(first, filled(graph, theta, rows, seed=9))


@given(networks(textures=("zeros",)), st.data(), st.sampled_from((None, 5)))
def test_an_impossible_row_cannot_be_filled(network: Network, data: st.DataObject, seed: int | None) -> None:
    table = data.draw(tables(network.dag.schema))
    bad = [r for r, row in enumerate(table.codes.tolist()) if naive.evidence(network, row) == 0]
    if bad:
        with pytest.raises(ImpossibleRowError, match=f"^row {bad[0] + 1} has probability zero"):
            filled(network.dag, network.theta, table.codes, seed=seed)
    else:
        assert not (filled(network.dag, network.theta, table.codes, seed=seed) == HOLE).any()

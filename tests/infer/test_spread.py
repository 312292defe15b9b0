"""Expected statistics of the complete model against every configuration written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import lacunary as lac
from lacunary.errors import TooWideError
from lacunary.infer.completions import complete_statistics
from lacunary.infer.rows import prepare
from lacunary.infer.scattered import ScatteredRows
from lacunary.infer.spread import Spread
from tests import naive_mixed
from tests.strategies import Case, mixed_cases

CLOSE = 1e-8
"""Two ways through doubles: conditioning loses the digits that the covariances' condition takes."""


@settings(max_examples=40)
@given(mixed_cases())
def test_triples_are_those_of_the_dense_normals(case: Case) -> None:
    network, table = case
    kinds = [v.discrete for v in table.schema]
    found = Spread(table).under(network.dag, network.theta).triples()
    slow: dict[tuple[int, ...], np.ndarray] = {}
    for codes, reals, weight in zip(table.codes, table.reals, table.weights, strict=True):
        for share, way in naive_mixed.shares(network, codes, reals):
            z = np.concatenate([[1.0], way.mean])
            moment = np.outer(z, z)
            moment[1:, 1:] += way.covariance
            key = tuple(way.states.values())
            slow[key] = slow.get(key, 0.0) + weight * share * moment
    for codes, moment in zip(found.codes[:, kinds], found.moment, strict=True):
        expected = slow.get(tuple(codes.tolist()), np.zeros_like(moment))
        scale = max(1.0, float(np.abs(expected).max()))
        assert moment == pytest.approx(expected, rel=CLOSE, abs=CLOSE * scale)
    assert found.moment[:, 0, 0].sum() == pytest.approx(table.size, rel=CLOSE)


@settings(max_examples=25)
@given(mixed_cases(max_variables=4))
def test_families_are_read_off_and_rows_can_be_weighed(case: Case) -> None:
    network, table = case
    weights = np.asarray(np.arange(len(table)) % 3 * 0.7, dtype=np.float64)
    prepared = prepare(network.dag, table)
    swept = prepared.weighed(weights).expect(network.theta[None]).counts[0]
    read = Spread(table).under(network.dag, network.theta).triples(weights).statistics(network.dag)
    scale = max(1.0, float(np.abs(swept).max()))
    assert read == pytest.approx(swept, rel=CLOSE, abs=CLOSE * scale)


def test_too_many_ways_are_refused_by_name() -> None:
    dag = lac.dag("A; B; x", states=30, kinds={"x": "continuous"})
    table = lac.random_network(dag, rng=0).sample(50, rng=0)
    with pytest.raises(TooWideError, match="A, B can be filled"):
        Spread(lac.make_holes(table, 1.0, columns=["A", "B"], rng=0), budget=10**6)


def test_draws_have_the_expected_statistics() -> None:
    """Many copies of some rows: the average of complete statistics tends to the expected ones."""
    dag = lac.dag("A -> B; A -> x -> y; B -> y", states=2, kinds={"x": "continuous", "y": "continuous"})
    network = lac.random_network(dag, rng=3)
    table = lac.make_holes(network.sample(6, rng=1), 0.5, rng=2)
    seen = Spread(table).under(dag, network.theta)
    many = 4000
    codes, reals = seen.draw(np.tile(np.arange(6), many), np.random.default_rng(0))
    same = np.tile(table.codes, (many, 1))
    assert np.all((codes == same) | (same == -1))
    told = complete_statistics(dag, codes, reals, np.full(len(codes), 1.0 / many))
    expected = seen.triples().statistics(dag)
    # Each entry is a mean of 4000 draws; five standard errors, the spread bounded by its size and one.
    assert np.abs(told - expected).max() < 5 / np.sqrt(many) * max(1.0, float(np.abs(expected).max()))


@settings(max_examples=40)
@given(mixed_cases())
def test_rows_are_worked_on_by_configuration_or_across_them_with_the_same_result(case: Case) -> None:
    network, table = case
    spread = Spread(table)
    forms = spread.under(network.dag, network.theta).forms
    scattered = ScatteredRows(spread.rows, spread.which)
    plain = spread.rows.log_evidence(forms)[:, 0]
    assert scattered.log_evidence(forms) == pytest.approx(plain, rel=CLOSE, abs=CLOSE)
    weights = np.linspace(0.0, 1.0, len(spread.which))
    expected = spread.rows.moments(forms, weights[:, None])
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert scattered.moments(forms, weights) == pytest.approx(expected, rel=CLOSE, abs=CLOSE * scale)


def test_blocks_of_many_rows_are_not_scattered() -> None:
    table = lac.random_network(lac.dag("A -> x", states=2, kinds={"x": "continuous"}), rng=0).sample(
        200, rng=0
    )
    assert Spread(table).scattered is None
    assert Spread(table.take(np.arange(20))).scattered is not None


def wide(rows: int = 10, seed: int = 5) -> tuple[lac.Network, lac.Table]:
    """Return a network in which numbers depend on one of five discrete variables, and rows with holes."""
    kinds: Any = dict.fromkeys("xyz", "continuous")
    dag = lac.dag("A -> B -> C; B -> D; A -> E; B -> x -> y; B -> y; x -> z", states=3, kinds=kinds)
    network = lac.random_network(dag, rng=seed)
    return network, lac.make_holes(network.sample(rows, rng=seed), 0.5, rng=seed)


def test_ways_that_share_what_numbers_depend_on_share_a_matrix() -> None:
    network, table = wide()
    spread = Spread(table)
    seen = spread.under(network.dag, network.theta)
    found, weights = seen.triples(), np.zeros(len(spread.codes))
    core = spread.core((1,))
    assert core is not None
    assert len(found.squares.each) == len(np.unique(core.pair)) < len(spread.codes) / 4
    slow: dict[tuple[int, ...], np.ndarray] = {}
    for codes, reals, weight in zip(table.codes, table.reals, table.weights, strict=True):
        for share, way in naive_mixed.shares(network, codes, reals):
            z = np.concatenate([[1.0], way.mean])
            moment = np.outer(z, z)
            moment[1:, 1:] += way.covariance
            key = tuple(way.states.values())
            slow[key] = slow.get(key, 0.0) + weight * share * moment
    for k, (codes, moment) in enumerate(zip(found.codes[:, :5], found.moment, strict=True)):
        expected = slow.get(tuple(codes.tolist()), np.zeros_like(moment))
        assert moment == pytest.approx(expected, rel=CLOSE, abs=CLOSE * max(1.0, np.abs(expected).max()))
        weights[k] = expected[0, 0]
    assert found.squares.count == pytest.approx(weights, rel=CLOSE, abs=CLOSE)


def test_shared_matrices_are_taken_joined_and_added_up_as_if_each_way_had_its_own() -> None:
    network, table = wide()
    parts = [table.take(np.arange(5)), table.take(np.arange(5, 10))]
    whole = Spread(table).under(network.dag, network.theta).triples()
    first, second = (Spread(part).under(network.dag, network.theta).triples() for part in parts)
    both = first + second
    order = [np.flatnonzero((both.codes == codes).all(axis=1))[0] for codes in whole.codes]
    assert len(both.codes) == len(whole.codes)
    assert both.moment[order] == pytest.approx(whole.moment, rel=CLOSE, abs=CLOSE)
    some = np.array([5, 2, 9])
    assert whole.squares.taken(some).whole == pytest.approx(whole.moment[some], rel=CLOSE, abs=CLOSE)
    where = whole.codes[:, 2]
    added = np.stack([whole.moment[where == c].sum(axis=0) for c in range(3)])
    assert whole.squares.sums(where, 3) == pytest.approx(added, rel=CLOSE, abs=CLOSE)
    half = whole.times(0.5).statistics(network.dag)
    assert half == pytest.approx(0.5 * whole.statistics(network.dag), rel=CLOSE, abs=CLOSE)

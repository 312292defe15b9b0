"""Expected statistics of the complete model against every configuration written down."""

from __future__ import annotations

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

"""Filling holes, against enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from lacunary.data.holes import make_holes
from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError, ParameterError
from lacunary.infer.belief import Belief, Dirichlet
from lacunary.infer.impute import impute
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import fit
from lacunary.model.make import dag as make_dag
from tests import naive
from tests.strategies import Case, cases, seeds

HOLES = Table(
    make_dag("A -> B -> C; A -> C", states={"A": 2, "B": 3, "C": 2}).schema,
    np.array([[HOLE, HOLE, 1], [0, HOLE, HOLE], [1, 2, 0], [HOLE, 1, HOLE]], dtype=np.int8),
    weights=np.array([1.0, 2.5, 0.0, 3.0]),
)


def network() -> Network:
    return random_network(make_dag("A -> B -> C; A -> C", states={"A": 2, "B": 3, "C": 2}), rng=1)


def observed_kept(filled: Table, table: Table) -> bool:
    """Whether what was seen is as it was."""
    seen = ~table.holes
    return bool(np.array_equal(filled.codes[seen], table.codes[seen]))


@settings(max_examples=60)
@given(cases(max_variables=4, max_rows=6))
def test_mode_is_the_most_probable_state_of_each_hole(case: Case) -> None:
    network, table = case
    filled = impute(network, table)
    assert not filled.holes.any()
    assert not filled.schema.hidden
    assert filled.schema.names == table.schema.names
    assert observed_kept(filled, table)
    assert np.array_equal(filled.weights, table.weights)
    for row, column in np.argwhere(table.holes):
        p = naive.posterior(network, table.codes[row].tolist(), [table.schema.names[column]])
        # Ties to rounding may go either way.
        assert p[filled.codes[row, column]] >= p.max() * (1 - 1e-10)


@settings(max_examples=40)
@given(cases(max_variables=4, max_rows=6))
def test_probability_is_the_posterior_of_every_variable(case: Case) -> None:
    network, table = case
    filled = impute(network, table, how="probability")
    assert filled.schema.names == tuple(f"{v.name}={state}" for v in table.schema for state in v.states)
    assert np.array_equal(filled.weights, table.weights)
    assert not filled.holes.any()
    columns = iter(filled.reals.T)
    for variable in table.schema:
        given = np.column_stack([next(columns) for _ in variable.states])
        for row, found in zip(table.codes.tolist(), given, strict=True):
            # The engine's promise.
            assert np.allclose(found, naive.posterior(network, row, [variable.name]), rtol=1e-10, atol=1e-12)


@settings(max_examples=60)
@given(cases(max_variables=4, max_rows=6), seeds)
def test_draws_are_possible_and_reproducible(case: Case, seed: int) -> None:
    network, table = case
    filled = impute(network, table, how="draw", rng=seed)
    assert not filled.holes.any()
    assert observed_kept(filled, table)
    assert all(naive.probability(network, tuple(row)) > 0 for row in filled.codes.tolist())
    assert np.array_equal(filled.codes, impute(network, table, how="draw", rng=seed).codes)


def test_draws_follow_the_joint_posterior_of_a_row() -> None:
    copies, model = 20_000, network()
    filled = impute(model, HOLES, how="draw", copies=copies, rng=0).codes.reshape(copies, *HOLES.codes.shape)
    for number, row in enumerate(HOLES.codes.tolist()):
        p = naive.posterior(model, row, model.dag.names)
        for states in product(*map(range, p.shape)):
            share = np.mean((filled[:, number] == states).all(axis=1))
            # Five standard deviations of a share.
            assert abs(share - p[states]) <= 5 * np.sqrt(p[states] * (1 - p[states]) / copies)
    # Copies and rows are drawn independently: five standard errors of a correlation of nothing.
    first, second = filled[:, 0, 0].astype(float), filled[:, 3, 0].astype(float)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(copies)
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 5 / np.sqrt(copies)


def test_copies_follow_one_another_with_their_weights() -> None:
    filled = impute(network(), HOLES, how="draw", copies=3, rng=0)
    assert len(filled) == 12
    assert filled.weights.tolist() == [1.0, 2.5, 0.0, 3.0] * 3
    for copy in range(3):
        assert observed_kept(filled.take(slice(4 * copy, 4 * copy + 4)), HOLES)


def test_a_generator_moves_on() -> None:
    rng = np.random.default_rng(0)
    many = Table(HOLES.schema, np.repeat(HOLES.codes, 50, axis=0))
    one, other = (impute(network(), many, how="draw", rng=rng).codes for _ in range(2))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("how", ["mode", "draw"])
def test_a_table_without_holes_stays(how: Any) -> None:
    table = network().sample(7, rng=0)
    assert np.array_equal(impute(network(), table, how=how).codes, table.codes)


@pytest.mark.parametrize("how", ["mode", "draw", "probability"])
def test_hidden_variables_are_filled(how: Any) -> None:
    dag = make_dag("H -> X Y", states={"H": 3, "X": 2, "Y": 2}, hidden=["H"])
    filled = impute(random_network(dag), {"X": [0, None], "Y": [1, 1]}, how=how)
    assert not filled.holes.any()
    assert any(name.startswith("H") for name in filled.schema.names)


def test_a_belief_answers_with_its_mean() -> None:
    model = network()
    belief = Belief(model.dag, 7.0 * model.theta)
    assert np.array_equal(impute(belief, HOLES).codes, impute(model, HOLES).codes)


@pytest.mark.parametrize("how", ["mode", "draw", "probability"])
def test_a_row_of_probability_zero_is_named(how: Any) -> None:
    """Also where the zero stands in a family that is fully observed."""
    dag = make_dag("A -> B -> C", states=2)
    model = Network.from_tables(
        dag, {"A": [1, 0], "B": [[0.2, 0.8], [0.5, 0.5]], "C": [[0.2, 0.8], [0.5, 0.5]]}
    )
    with pytest.raises(ImpossibleRowError, match="row 2"):
        impute(model, {"A": [0, 1], "B": [None, None], "C": [0, 0]}, how=how)


@pytest.mark.parametrize(
    "options", [{"how": "median"}, {"copies": 0}, {"copies": 2}, {"how": "draw", "copies": -1}]
)
def test_settings_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"how must be|copies must be"):
        impute(network(), HOLES, **options)


def test_a_fit_stands_for_its_network() -> None:
    model = network()
    table = make_holes(model.sample(20, rng=1), 0.3, rng=2)
    found = fit(model.dag, table, initial=model)
    assert np.array_equal(impute(found, table).codes, impute(found.network, table).codes)


def test_what_is_no_model_is_refused() -> None:
    table = network().sample(3, rng=1)
    with pytest.raises(ParameterError, match=r"a model is needed.*not Table"):
        impute(table, table)


def test_copies_drawn_from_a_belief_differ_by_what_is_not_known_of_parameters() -> None:
    # Dirichlet(1, 1) and no rows seen: the share of a state in a long column of holes is uniform on [0, 1],
    # of mean 1/2 and variance 1/12. With known parameters its variance would be 1/(4 · 400).
    graph = make_dag("A", states=2)
    rows, copies = 400, 300
    empty = Table(graph.schema, np.full((rows, 1), HOLE))
    filled = impute(Dirichlet(1.0)(graph), empty, how="draw", copies=copies, rng=0)
    shares = filled.codes.reshape(copies, rows).mean(axis=1)
    # Five standard errors: of the mean √(1/12/300), of the variance √((1/80 − 1/144)/300).
    assert abs(shares.mean() - 0.5) < 5 * np.sqrt(1 / 12 / copies)
    assert abs(shares.var() - 1 / 12) < 5 * np.sqrt((1 / 80 - 1 / 144) / copies) + 1 / (4 * rows)

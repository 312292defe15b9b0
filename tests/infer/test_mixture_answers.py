"""Queries and imputation by mixtures, against the network in which the component is a hidden variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ImpossibleRowError

KINDS: Any = {"x": "continuous", "y": "continuous"}


@pytest.fixture(scope="module")
def pair() -> tuple[lac.Mixture, lac.Network, Table]:
    """A mixture, the same as a network with a hidden class C above all variables, and rows with holes."""
    dag = lac.dag("C -> A B x y; A -> B; A -> x; x -> y", states=2, hidden={"C": 3}, kinds=KINDS)
    network = lac.random_network(dag, rng=1)
    inner = lac.dag("A -> B; A -> x; x -> y", schema=dag.without(["C"]).schema)
    parts = []
    for c in range(3):
        tables: dict[str, Any] = {}
        for name in inner.names:
            axis = [p for p in dag.parents_of(name) if dag.schema[p].discrete].index("C")
            tables[name] = np.take(network.table(name), c, axis=axis)
        parts.append(lac.Network.from_tables(inner, tables))
    mixture = lac.Mixture(network.table("C"), tuple(parts))
    rows = lac.make_holes(network.sample(40, rng=2).select(list(inner.names)), 0.4, rng=2)
    return mixture, network, rows


def test_posteriors_are_those_of_a_hidden_class(pair: tuple[lac.Mixture, lac.Network, Table]) -> None:
    mixture, network, rows = pair
    ours = mixture.posterior(rows)
    theirs: dict[Any, Any] = dict(network.posterior(rows, rows.schema.names))
    for name in ("A", "B"):
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-10)
    for name in ("x", "y"):
        np.testing.assert_allclose(ours[name].mean, theirs[name].mean, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(ours[name].sd, theirs[name].sd, rtol=1e-6, atol=1e-8)
    both = mixture.posterior(rows, [("A", "B")])[("A", "B")]
    np.testing.assert_allclose(both, network.posterior(rows, [("A", "B")])[("A", "B")], atol=1e-10)


def test_queries_are_those_of_a_hidden_class(pair: tuple[lac.Mixture, lac.Network, Table]) -> None:
    mixture, network, _ = pair
    given: dict[str, Any] = {"x": 0.3, "B": network.dag.schema["B"].states[1]}
    np.testing.assert_allclose(
        mixture.query("A", given=given).probabilities, network.query("A", given=given).probabilities
    )
    ours, theirs = mixture.query("y", given=given), network.query("y", given=given)
    assert ours.mean == pytest.approx(float(theirs.mean))
    assert ours.log_density(0.5) == pytest.approx(float(theirs.log_density(0.5)))
    assert mixture.query("A", "B").probabilities.sum() == pytest.approx(1.0)


def test_holes_are_filled(pair: tuple[lac.Mixture, lac.Network, Table]) -> None:
    mixture, network, rows = pair
    ways: list[Any] = ["mode", "mean"]
    for how in ways:
        full = lac.impute(mixture, rows, how=how)
        assert not full.holes.any()
        assert np.array_equal(full.reals[~np.isnan(rows.reals)], rows.reals[~np.isnan(rows.reals)])
    drawn = lac.impute(mixture, rows, how="draw", copies=300, rng=0)
    mean = drawn.reals.reshape(300, len(rows), -1)[..., 2:].mean(axis=0)
    told: dict[Any, Any] = dict(network.posterior(rows, ["x", "y"]))
    for k, name in enumerate("xy"):
        # Means of 300 draws: five standard errors are passed once in a million.
        gap = np.abs(mean[:, k] - told[name].mean)
        assert np.all(gap <= 5 * told[name].sd / np.sqrt(300) + 1e-9)
    assert lac.impute(mixture, rows, how="probability").reals.shape == (40, 8)


def test_noise_fills_evenly_and_the_impossible_is_said() -> None:
    schema = lac.dag("A; x", states=2, kinds={"x": "continuous"}).schema
    network = lac.Network.from_tables(
        lac.dag("A; x", schema=schema), {"A": [1.0, 0.0], "x": lac.Regression(0.0)}
    )
    noise = lac.Noise(schema, np.array([0.0, -30.0]), np.array([1.0, 30.0]))
    mixture = lac.Mixture(np.array([0.5, 0.5]), (network,), noise)
    one, other = schema["A"].states
    far = mixture.query("A", given={"x": 29.0})
    assert far[one] == pytest.approx(0.5)  # only noise is that far out
    alone = mixture.query("x", given={"A": other})
    assert (alone.mean, alone.sd) == pytest.approx((0.0, 60 / np.sqrt(12)))  # A's second state is noise
    with pytest.raises(ImpossibleRowError, match="probability zero"):
        mixture.query("x", given={"A": other, "x": 99.0})
    full = lac.impute(mixture, {"A": [None] * 40, "x": [29.0] * 40}, how="draw", rng=0)
    assert 5 < (full.codes[:, 0] == 0).sum() < 35

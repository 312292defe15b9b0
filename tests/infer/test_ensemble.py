"""Averaged predictions, against the mixture written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.infer.ensemble import Ensemble
from tests import naive

ROUNDING = 1e-12
"""A handful of products and sums of doubles."""


def pair() -> tuple[lac.Network, lac.Network]:
    dag = lac.dag("A -> B -> C", states={"A": 2, "B": 3, "C": 2})
    return lac.random_network(dag, rng=1), lac.random_network(dag, rng=2)


def test_predictions_are_those_of_the_mixture() -> None:
    one, other = pair()
    both = Ensemble((one, other), np.array([0.25, 0.75]))
    rows = lac.make_holes(one.sample(20, rng=0), 0.4, rng=1)
    posterior = both.posterior(rows, ["B", ("A", "C")])
    for place, row in enumerate(rows.codes.tolist()):
        masses = np.array([0.25, 0.75]) * [naive.evidence(one, row), naive.evidence(other, row)]
        assert both.log_probability(rows)[place] == pytest.approx(np.log(masses.sum()), rel=ROUNDING)
        for target in ("B", ("A", "C")):
            names = [target] if isinstance(target, str) else target
            told = [naive.posterior(network, row, names) for network in (one, other)]
            expected = (masses[0] * told[0] + masses[1] * told[1]) / masses.sum()
            np.testing.assert_allclose(posterior[target][place], expected, atol=ROUNDING)


def test_what_is_given_weighs_the_models() -> None:
    one, other = pair()
    both = Ensemble((one, other), np.array([0.25, 0.75]))
    masses = np.array([0.25 * one.probability({"C": 1}), 0.75 * other.probability({"C": 1})])
    told = [network.query("A", given={"C": 1}).probabilities for network in (one, other)]
    expected = (masses[0] * told[0] + masses[1] * told[1]) / masses.sum()
    np.testing.assert_allclose(both.query("A", given={"C": 1}).probabilities, expected, atol=ROUNDING)
    assert both.probability({"C": 1}) == pytest.approx(masses.sum(), rel=ROUNDING)


def test_a_model_that_deems_a_row_impossible_is_silent_about_it() -> None:
    dag = lac.dag("A -> B", states=2)
    sure = lac.Network.from_tables(dag, {"A": [1.0, 0.0], "B": [[0.5, 0.5], [1.0, 0.0]]})
    open_ = lac.Network.from_tables(dag, {"A": [0.5, 0.5], "B": [[0.9, 0.1], [0.2, 0.8]]})
    row = lac.Table(dag.schema, np.array([[1, -1]]))
    both = Ensemble((sure, open_), np.array([0.5, 0.5]))
    np.testing.assert_allclose(both.posterior(row)["B"], [[0.2, 0.8]], atol=ROUNDING)
    with pytest.raises(lac.ImpossibleRowError, match="under every model"):
        Ensemble((sure,), np.array([1.0])).posterior(row)
    with pytest.raises(lac.ImpossibleRowError, match="probability zero"):
        Ensemble((sure,), np.array([1.0])).query("B", given={"A": 1})


def test_a_continuous_variable_is_a_mixture_of_what_all_models_say() -> None:
    kinds: Any = {"x": "continuous", "y": "continuous"}
    dag, other_dag = (lac.dag(arrows, states=2, kinds=kinds) for arrows in ("A -> x -> y", "A -> y; x"))
    table = lac.make_holes(lac.random_network(dag, rng=0).sample(30, rng=0), 0.3, rng=0)
    one = lac.fit(dag, table).belief
    other = lac.fit(lac.Dag.from_arcs(dag.schema, other_dag.arcs), table).network
    both = Ensemble((one, other), np.array([0.3, 0.7]))
    found = both.posterior(table, ["y", "A"])
    logs = np.array([model.log_probability(table) for model in (one, other)])
    share = np.array([[0.3], [0.7]]) * np.exp(logs)
    share /= share.sum(axis=0)
    told: list[Any] = [model.posterior(table, ["y"])["y"] for model in (one, other)]
    mean = share[0] * told[0].mean + share[1] * told[1].mean
    np.testing.assert_allclose(found["y"].mean, mean, rtol=1e-10)
    holes = np.isnan(table.reals[:, table.schema.index("y")])
    at = np.full(len(table), 0.4)
    density = share[0] * np.exp(told[0].log_density(at)) + share[1] * np.exp(told[1].log_density(at))
    np.testing.assert_allclose(np.exp(found["y"].log_density(at))[holes], density[holes], rtol=1e-10)


def test_an_ensemble_fills_holes() -> None:
    one, other = pair()
    turned = lac.Dag.from_arcs(
        lac.Schema(tuple(one.dag.schema[name] for name in "CAB")), [("A", "B"), ("B", "C")]
    )
    tables = {name: other.table(name) for name in "ABC"}
    both = Ensemble((one, lac.Network.from_tables(turned, tables)), np.array([0.5, 0.5]))
    rows = lac.make_holes(one.sample(4, rng=0), 0.6, rng=1)
    filled = lac.impute(both, rows)
    best = {name: posterior.argmax(axis=1) for name, posterior in both.posterior(rows).items()}
    for i, name in enumerate(rows.schema.names):
        expected = np.where(rows.codes[:, i] < 0, best[name], rows.codes[:, i])
        np.testing.assert_array_equal(filled.codes[:, i], expected)
    many = 4000
    draws = lac.impute(both, rows, how="draw", copies=many, rng=0)
    shares = draws.codes.reshape(many, 4, 3)
    for i, name in enumerate(rows.schema.names):
        for k in range(rows.schema[name].size):
            p = both.posterior(rows)[name][:, k]
            # A share of 4000 draws, within five standard errors at most.
            assert np.abs((shares[:, :, i] == k).mean(axis=0) - p).max() < 5 * 0.5 / np.sqrt(many)


def test_what_is_given_may_be_less_probable_than_a_double_can_say() -> None:
    """39 states of some 1e-10 each are 1e-390 together, yet how the models compare is known."""
    names = [f"v{i}" for i in range(40)]
    dag = lac.dag("; ".join(names), states=2)
    one, other = (
        lac.Network.from_tables(dag, {name: [1.0 - p, p] for name in names}) for p in (1e-10, 2e-10)
    )
    both = Ensemble((one, other), np.array([0.5, 0.5]))
    seen: dict[str, Any] = dict.fromkeys(names[1:], 1)
    share = 1.0 / (1.0 + 2.0**39)  # of the first model, by Bayes' rule
    expected = share * 1e-10 + (1.0 - share) * 2e-10
    assert both.query("v0", given=seen).probabilities[1] == pytest.approx(expected, rel=1e-9)


def test_soft_evidence_is_weighed_by_bayes_rule() -> None:
    one, other = pair()
    joint = [0.5 * np.asarray(model.query("A", "C").probabilities) for model in (one, other)]
    expected = np.sum(joint, axis=0) @ [0.3, 0.9]
    given: dict[str, Any] = {"C": {0: 0.3, 1: 0.9}}
    even = np.array([0.5, 0.5])
    for both in (Ensemble((one, other), even), lac.Mixture(even, (one, other))):
        found = both.query("A", given=given).probabilities
        np.testing.assert_allclose(found, expected / expected.sum(), atol=ROUNDING)

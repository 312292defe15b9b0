"""Averaged predictions, against the mixture written down."""

from __future__ import annotations

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

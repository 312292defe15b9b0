"""The classifier that learns its graph, and rows whose label is not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lacunary as lac
from lacunary.sklearn import BayesianNetworkModel
from tests import naive


def parity(rows: int) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.int64]]]:
    """Two coins and noise: the label says whether the coins agree, nineteen times in twenty."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (rows, 3))
    y = np.where(rng.random(rows) < 0.95, X[:, 0] == X[:, 1], X[:, 0] != X[:, 1]).astype(int)
    return X.astype(float), y


@pytest.mark.parametrize("graph", ["tan", "search"])
def test_a_learned_graph_sees_what_naive_bayes_cannot(graph: str) -> None:
    X, y = parity(400)
    model = BayesianNetworkModel(graph).fit(X, y)
    # Right 19 times in 20, by construction; naive Bayes sees columns that each say nothing.
    assert model.score(X, y) > 0.9
    assert BayesianNetworkModel().fit(X, y).score(X, y) < 0.65
    if graph == "tan":
        arcs = set(model.network_.dag.arcs)
        assert {("y", "x0"), ("y", "x1"), ("y", "x2")} <= arcs
        assert arcs & {("x0", "x1"), ("x1", "x0")}
        assert max(len(model.network_.dag.parents_of(name)) for name in ("x0", "x1", "x2")) == 2
    with pytest.raises(lac.ParameterError, match="hidden variables need a graph"):
        BayesianNetworkModel(graph, hidden={"H": 2}).fit(X, y)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
def test_rows_without_a_label_are_learned_from(nothing: Any) -> None:
    """It is the fit of the library where those cells of the target are holes."""
    X, y = parity(60)
    labels = np.array(["no", "yes"], dtype=object)[y]
    labels[::3] = nothing
    model = BayesianNetworkModel("y -> x0; y x0 -> x1 x2").fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    columns = {f"x{k}": X[:, k].astype(int).tolist() for k in range(3)}
    told = [None if k % 3 == 0 else label for k, label in enumerate(labels)]
    graph = lac.dag("y -> x0; y x0 -> x1 x2", schema=lac.read({**columns, "y": told}).schema)
    expected = lac.fit(graph, {**columns, "y": told}, rng=0)
    assert model.fit_.objective == pytest.approx(expected.objective, rel=1e-7)  # where both climbs stop
    with pytest.raises(ValueError, match="no label"):
        model.fit(X, [nothing] * 60)


def test_numbers_as_labels_may_be_missing() -> None:
    X, y = parity(60)
    labels = np.where(np.arange(60) % 3, y, np.nan)
    model = BayesianNetworkModel("tan").fit(X, labels)
    assert model.classes_.tolist() == [0.0, 1.0]
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_densities_sum_the_label_out() -> None:
    X, y = parity(60)
    X[0, 1] = np.nan
    model = BayesianNetworkModel("y -> x0; y x0 -> x1 x2").fit(X, y)
    schema = model.network_.dag.schema
    codes = np.full(len(schema), -1)
    codes[[schema.index("x0"), schema.index("x2")]] = X[0, [0, 2]].astype(int)
    # The sum over all that is not observed, label and hole, by enumeration.
    assert model.score_samples(X)[0] == pytest.approx(naive.log_evidence(model.network_, codes.tolist()))

"""Learning batch by batch (`partial_fit`), and what is said meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.sklearn import BayesianNetworkModel, LatentClassModel, NetworkImputer, NetworkRegressor
from lacunary.sklearn import verbose as spoken

BATCHES = [slice(0, 50), slice(50, 60), slice(60, 120)]


def coins(rows: int = 120) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    return (rng.random((rows, 4)) < 0.2 + 0.3 * y[:, None]).astype(int), y


def test_counts_of_rows_without_holes_add_up() -> None:
    X, y = coins()
    weights = np.random.default_rng(1).random(120)
    whole = BayesianNetworkModel().fit(X, y, sample_weight=weights)
    model = BayesianNetworkModel()
    for some in BATCHES:
        model.partial_fit(X[some], y[some], classes=[0, 1, 2], sample_weight=weights[some])
    np.testing.assert_allclose(model.network_.theta, whole.network_.theta, rtol=1e-12)  # rounding
    assert model.n_iter_ == 3
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    with pytest.raises(lac.StateError, match=r"y has 7.*classes="):
        model.partial_fit(X[:1], [7])
    assert not hasattr(model.fit(X, y), "stream_")


def test_labels_are_declared_before_they_come() -> None:
    X, y = coins()
    first = y < 2
    model = BayesianNetworkModel().partial_fit(X[first], y[first], classes=[2, 1, 0])
    assert model.classes_.tolist() == [0, 1, 2]
    model.partial_fit(X[~first], y[~first], sample_weight=np.arange((~first).sum()) % 2)
    assert model.predict_proba(X[:2]).shape == (2, 3)


def test_batches_of_numbers_are_one_regression() -> None:
    """Sums of squares add up, too: the least squares of all rows, whatever the first batch's units."""
    rng = np.random.default_rng(0)
    X = rng.normal([100.0, -3.0], size=(120, 2))
    y = 1.5 * X[:, 0] - X[:, 1] + rng.normal(size=120)
    model = NetworkRegressor("x0 x1 -> y", method="ml")
    for some in BATCHES:
        model.partial_fit(X[some], y[some])
    design = np.column_stack([np.ones(120), X])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8)  # moments square the numbers


@pytest.mark.parametrize("method", ["map", "variational"])
def test_classes_are_found_batch_by_batch(method: Any) -> None:
    rng = np.random.default_rng(0)
    which = rng.integers(0, 2, 1200)
    X = (rng.random((1200, 8)) < np.where(which, 0.85, 0.15)[:, None]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = LatentClassModel(2, method=method, starts=3)
    for k in range(12):
        model.partial_fit(X[100 * k : 100 * (k + 1)])
    found = model.predict(X)
    # Seven of eight cells, each right 85 times in 100: a majority errs in about 1 % of rows.
    assert max(np.mean(found == which), np.mean(found != which)) > 0.96
    whole = LatentClassModel(2, method=method, starts=3).fit(X)
    first = LatentClassModel(2, method=method, starts=3).fit(X[:100])
    # 17 parameters from 100 rows cost about 17/200 nats a row, from all of them a twelfth of that.
    assert whole.score(X) - model.score(X) < 0.25 * (whole.score(X) - first.score(X))


def test_an_imputer_learns_batch_by_batch_where_it_has_a_graph() -> None:
    X, _ = coins()
    holes = X.astype(float)
    holes[::5, 1] = np.nan
    model = NetworkImputer("x0 -> x1; x2; x3").partial_fit(holes[:60]).partial_fit(holes[60:])
    assert not np.isnan(model.transform(holes)).any()
    assert not hasattr(NetworkImputer(), "partial_fit")


def test_learning_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    X, y = coins()
    LatentClassModel(starts=1, verbose=1).fit(X)
    assert capsys.readouterr().out == ""  # it is over in a moment
    monkeypatch.setattr(spoken, "PATIENCE", 0.0)
    LatentClassModel(starts=1, verbose=1).fit(X)
    assert capsys.readouterr().out.startswith("[LatentClassModel] iteration 1, 1 starts, best -")
    holes = X.astype(float)
    holes[::5, 1] = np.nan
    NetworkImputer(verbose=1).fit(holes)
    assert "[NetworkImputer] step 1 of " in capsys.readouterr().out
    BayesianNetworkModel("search", verbose=1).fit(X, y)
    assert "[BayesianNetworkModel] search, step" in capsys.readouterr().out

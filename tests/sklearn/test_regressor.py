"""The regressor: what it predicts is a conditional mean, with whatever cells there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.sklearn import NetworkRegressor


def numbers(rows: int = 80) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    return X, X @ [2.0, -1.0, 0.5] + 0.3 * rng.normal(size=rows) + 10.0


@pytest.mark.parametrize("holes", [[], [0], [1, 2], [0, 1, 2]])
def test_predictions_are_conditional_means_of_a_normal_distribution(holes: list[int]) -> None:
    """A complete graph fitted by maximum likelihood is the normal distribution with the rows' own moments."""
    X, y = numbers()
    model = NetworkRegressor("x0 -> x1 x2 y; x1 -> x2 y; x2 -> y", method="ml").fit(X, y)
    asked = X[:5].copy()
    asked[:, holes] = np.nan
    seen = [k for k in range(3) if k not in holes]
    both = np.column_stack([X, y])
    mean, cov = both.mean(axis=0), np.cov(both.T, bias=True)
    slopes = np.linalg.solve(cov[np.ix_(seen, seen)], cov[seen, 3]) if seen else np.zeros(0)
    found, sd = model.predict(asked, return_std=True)
    # The variance of the noise has a floor of 1e-9 of the column's, far below these digits.
    np.testing.assert_allclose(found, mean[3] + (asked[:, seen] - mean[seen]) @ slopes, rtol=1e-6)
    np.testing.assert_allclose(sd, np.sqrt(cov[3, 3] - cov[3, seen] @ slopes), rtol=1e-6)


def test_the_graph_is_learned_and_holes_are_no_obstacle() -> None:
    X, y = numbers(200)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    model = NetworkRegressor().fit(X, y)
    # Noise of 0.3 leaves about 98 % of the variance to complete rows; a cell in ten is missing in learning.
    assert model.score(*numbers(200)) > 0.95
    assert any("y" in arc for arc in model.network_.dag.arcs)
    assert model.score_samples(X).shape == (200,)


def test_rows_without_a_target_and_columns_of_words() -> None:
    """It is the fit of the library where those cells of the target are holes."""
    rng = np.random.default_rng(2)
    kind = rng.choice(["a", "b"], 60)
    frame = pd.DataFrame({"kind": kind, "size": rng.normal(size=60)})
    y = np.where(kind == "a", 1.0, 5.0) + frame["size"].to_numpy() + 0.1 * rng.normal(size=60)
    y[::4] = np.nan
    model = NetworkRegressor("kind size -> y").fit(frame, y)
    whole: Any = {"kind": kind.tolist(), "size": frame["size"].tolist(), "y": y.tolist()}
    expected = lac.fit("kind size -> y", whole)
    assert model.fit_.objective == pytest.approx(expected.objective, rel=1e-7)  # where both climbs stop
    filled = lac.impute(expected, {**whole, "y": [None] * 60}, how="mean").reals[:4, 2]
    # The peak leaves the root of what it is stopped at open.
    np.testing.assert_allclose(model.predict(frame.iloc[:4]), filled, rtol=1e-4)
    with pytest.raises(ValueError, match="no label"):
        model.fit(frame, [np.nan] * 60)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(frame, [np.inf] * 60)

"""What the noise predicts, its bounds integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import lacunary as lac
from lacunary.mixture.noise import noise_of
from lacunary.structure.shares import all_of, weights_of
from tests.mixture.small import continuous, two_groups


def belief() -> lac.Pareto:
    return lac.Pareto(np.array([2.0, 3.5]), np.array([0.0, -1.0]), np.array([1.0, 2.0]))


def test_a_prediction_is_what_a_row_adds_to_the_evidence() -> None:
    rows = np.array([[0.5, 3.0], [-2.0, 0.1], [0.2, np.nan]])
    after = belief().update(rows)
    for new in ([0.3, 0.0], [9.0, -4.0], [np.nan, 7.0]):
        whole = np.vstack([rows, new])
        expected = belief().log_evidence(whole) - belief().log_evidence(rows)
        np.testing.assert_allclose(after.log_predictive([new])[0], expected, rtol=1e-12, atol=1e-14)


def test_a_prediction_is_a_density() -> None:
    def density(x: float) -> float:
        return float(np.exp(belief().log_predictive([[x, 0.0]])[0, 0]))

    parts = [quad(density, a, b)[0] for a, b in ((-np.inf, 0), (0, 1), (1, np.inf))]
    assert sum(parts) == pytest.approx(1.0, abs=1e-7)  # what quad promises


def test_noise_predicts_from_the_rows_it_owns() -> None:
    table = continuous(np.array([[0.5, 3.0], [-2.0, 0.1], [80.0, 90.0]]), np.array([2.0, 1.0, 1.0]))
    noise = noise_of(belief(), table)
    assert noise is not None
    new = continuous(np.array([[4.0, 4.0], [0.1, np.nan]]))
    shares = all_of(weights_of(table), [np.array([[1.0], [1.0], [0.0]])])
    found = noise.log_predictive(shares, new)
    owned = belief().log_evidence(table.reals[[0, 0, 1]]).sum()
    assert noise.log_evidence(shares) == pytest.approx(float(owned), rel=1e-12)
    after = belief().update(table.reals[[0, 0, 1]])
    np.testing.assert_allclose(found, after.log_predictive(new.reals).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("declared", [None, (-9.0, 9.0)])
def test_bounds_that_are_given_are_kept(declared: tuple[float, float] | None) -> None:
    schema = lac.Schema(tuple(lac.Variable(name, kind="continuous", bounds=declared) for name in "xy"))
    noise = noise_of((-5.0, 20.0), lac.read({"x": [0.5, -2.0], "y": [3.0, 0.1]}, schema=schema))
    assert noise is not None
    assert noise.belief is None
    assert noise.free == 0
    np.testing.assert_array_equal([noise.fixed.low, noise.fixed.high], [[-5.0, -5.0], [20.0, 20.0]])


def test_states_are_as_probable_as_they_are_many() -> None:
    """A state seen adds −log 3 to a density, a missing one nothing; bounds are as wide as all parts reach."""
    x = np.array([0.5, -2.0, 9.0, 1.0])
    table = lac.read({"x": x, "y": -x, "s": ["a", "b", "c", "a"]})
    parts = lac.Partitioned(table.take(slice(k, k + 2)) for k in (0, 2))
    noise, alone = noise_of(True, parts), noise_of(True, table.select(["x", "y"]))
    assert noise is not None
    assert alone is not None
    np.testing.assert_array_equal([noise.fixed.low[:2], noise.fixed.high[:2]], [[-2.0, -9.0], [9.0, 2.0]])
    owns = all_of(weights_of(parts), [np.ones((2, 1))] * 2)
    new = lac.read({"x": [4.0, 4.0], "y": [0.0, 5.0], "s": ["b", None]}, schema=table.schema)
    without = alone.log_predictive(all_of(weights_of(table), [np.ones((4, 1))]), new.select(["x", "y"]))
    np.testing.assert_allclose(noise.log_predictive(owns, new), without - [np.log(3.0), 0.0], rtol=1e-12)


def test_a_row_far_beyond_the_bounds_falls_as_a_power() -> None:
    """Draws of the bounds would have to be a thousand times wider than the data to hold it."""
    x = two_groups(rows=60)
    options: dict[str, Any] = {"components": 1, "structure": "empty", "noise": True, "rng": 0}
    fit = lac.fit_mixture(x, **options)
    low, high = x.min(axis=0), x.max(axis=0)
    far = np.stack([high + 1e3 * (high - low), high + 1e4 * (high - low)])
    nearer, farther = fit.predict(far, draws=20, burn=5).log_density
    # Each of four variables with about two rows' worth of belief falls as the cube of the width or so.
    assert np.isfinite([nearer, farther]).all()
    owned = float(fit.mixture.responsibilities(x)[:, -1].sum())
    assert nearer - farther == pytest.approx(4 * (3 + owned) * np.log(10), rel=0.25)

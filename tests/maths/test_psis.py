"""Pareto smoothing against ArviZ, and against weights whose shape is known."""

from __future__ import annotations

import numpy as np
import pytest

from lacunary.maths.psis import fit_pareto, loo_densities, smoothed, waic_densities

DRAWS = np.arange(400)[:, None]
EVEN = np.mod((DRAWS + 0.5) * 0.6180339887498949 + 0.1 * np.arange(3), 1.0)
LOGS = -1.0 - np.array([0.3, 1.0, 2.5]) * (-np.log(EVEN)) ** 1.2
"""Log-densities of three rows at 400 draws, with tails that are light, heavy and hopeless."""

ARVIZ = {
    "loo": [-1.4506748854823792, -4.263347117272454, -15.688885738292752],
    "k": [0.5277672292236864, 1.3233832065657511, 3.1377163831858246],
    "waic": [-1.433093869294477, -3.37167629492388, -12.835535936196695],
}
"""What ArviZ 0.23.4 says of them, with reff=1; its WAIC divides by the number of draws."""


def test_rows_left_out_are_those_of_arviz() -> None:
    found, shapes = loo_densities(LOGS)
    # The same formulas in another order: rounding of sums over 400 draws.
    assert found == pytest.approx(ARVIZ["loo"], abs=1e-11)
    assert shapes == pytest.approx(ARVIZ["k"], abs=1e-11)


def test_waic_is_that_of_arviz_but_for_the_divisor() -> None:
    found, spread = waic_densities(LOGS)
    assert found + spread / 400 == pytest.approx(ARVIZ["waic"], abs=1e-11)


@pytest.mark.parametrize("k", [0.1, 0.5, 0.9])
def test_the_shape_of_pareto_numbers_is_found(k: float) -> None:
    even = (np.arange(4000) + 0.5) / 4000
    x = 2.0 * np.expm1(-k * np.log1p(-even)) / k
    shape, scale = fit_pareto(x)
    assert shape == pytest.approx(k, abs=0.02)  # 1/√4000, and ten numbers' worth of a belief in ½
    assert scale == pytest.approx(2.0, rel=0.03)


def test_equal_weights_stay_equal() -> None:
    logs, shape = smoothed(np.zeros(100))
    assert logs == pytest.approx(-np.log(100))
    assert shape == -np.inf


def test_numbers_that_are_all_alike_have_a_shape() -> None:
    """Of a hundred of them a point of the grid is exactly zero: 1 + (1 − √(40 / 2.5)) / 3."""
    shape, scale = fit_pareto(np.full(100, 2.0))
    assert shape < 0.0 < scale  # lighter than an exponential tail, and bounded

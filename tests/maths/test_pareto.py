"""Beliefs about bounds, against integration and draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad

from lacunary.errors import ParameterError
from lacunary.maths.pareto import Pareto


def prior() -> Pareto:
    return Pareto(np.array([2.0, 3.5]), np.array([0.0, -1.0]), np.array([1.0, 2.0]))


def integral(belief: Pareto, i: int, rows: np.ndarray) -> float:
    """∫∫ density · Π 1[w₁ ≤ x ≤ w₂]/(w₂ − w₁), by substituting u = 1/(1 + r₁ − w₁), v = 1/(1 + w₂ − r₂)."""
    low, high, alpha = belief.low[i], belief.high[i], belief.alpha[i]

    def cell(u: float, v: float) -> float:
        w1, w2 = low - (1 / u - 1), high + (1 / v - 1)
        if np.any(rows < w1) or np.any(rows > w2):
            return 0.0
        density = alpha * (alpha + 1) * (high - low) ** alpha / (w2 - w1) ** (alpha + 2)
        return float(density / (w2 - w1) ** len(rows) / u**2 / v**2)

    least = min([low, *rows])
    most = max([high, *rows])
    ends = (1e-12, 1 / (1 + most - high), 1e-12, 1 / (1 + low - least))
    return float(dblquad(cell, *ends, epsrel=1e-9)[0])


def test_evidence_by_integration() -> None:
    """Both without rows, where it must be one, and with rows inside and outside the known bounds."""
    rows = np.array([[0.5, 2.5], [-0.3, 0.0], [0.8, 1.0]])
    for i in range(2):
        assert integral(prior(), i, np.empty(0)) == pytest.approx(1.0, rel=1e-7)
        expected = np.log(integral(prior(), i, rows[:, i]))
        assert prior().log_evidence(rows)[i] == pytest.approx(expected, abs=1e-7)


def test_density_and_peak() -> None:
    """α(α + 1)(r₂ − r₁)^α/(w₂ − w₁)^(α + 2), by hand: 2 · 3 · 1/2⁴ for bounds one wider."""
    found = prior().log_density([-0.5, -2.0], [1.5, 1.9])
    assert found[0] == pytest.approx(np.log(6 / 16), rel=1e-12)
    assert found[1] == -np.inf
    low, high = prior().peak
    assert np.all(prior().log_density(low, high) > prior().log_density(low - 0.01, high))


def test_update_widens_counts_and_passes_over_holes() -> None:
    rows = np.array([[2.0, np.nan], [-1.0, 0.5], [9.0, 9.0]])
    after = prior().update(rows, [1.5, 1.0, 0.0])
    np.testing.assert_array_equal(after.alpha, [4.5, 4.5])
    np.testing.assert_array_equal(after.low, [-1.0, -1.0])
    np.testing.assert_array_equal(after.high, [2.0, 2.0])


def test_draws_follow_the_density() -> None:
    """p(w₁ > r₁ − d) = 1 − (R/(R + d))^(α): integrating w₂ out leaves (α)R^α/(R + d)^(α + 1)."""
    rng = np.random.default_rng(0)
    many = Pareto(np.full(20_000, 2.0), np.zeros(20_000), np.ones(20_000))
    low, high = many.draw(rng)
    for distance in (0.2, 1.0):
        chance = 1 - (1 / (1 + distance)) ** 2
        bound = 5 * np.sqrt(chance * (1 - chance) / 20_000)
        assert np.mean(-low < distance) == pytest.approx(chance, abs=bound)
        assert np.mean(high - 1 < distance) == pytest.approx(chance, abs=bound)


def test_senseless_bounds_are_refused() -> None:
    with pytest.raises(ParameterError, match="lower below the upper"):
        Pareto(np.ones(1), np.ones(1), np.ones(1))
    with pytest.raises(ParameterError, match="positive"):
        Pareto(np.zeros(1), np.zeros(1), np.ones(1))

"""The M-step cut to a box, against a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from lacunary.learn.simplices import Simplices


# SciPy's solver before 1.13 says so where a step of its own leaves the bounds by rounding, and takes it back.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds during a minimize step:RuntimeWarning")
def test_filling_against_a_general_solver() -> None:
    simplices = Simplices(np.array([0, 0, 0, 1, 1]))
    rng = np.random.default_rng(4)
    counts = rng.standard_gamma(1.0, size=(5, 5)) * 10
    low = np.array([0.05, 0.2, 0.05, 0.1, 0.3]) * np.ones((5, 1))
    high = np.array([0.3, 0.9, 0.6, 0.5, 0.8]) * np.ones((5, 1))
    theta, bound = simplices.fill(counts, low, high)
    for n, top, lo, hi in zip(counts, bound, low, high, strict=True):
        found = minimize(
            lambda x, n=n: -float(n @ np.log(x)),
            [0.3, 0.35, 0.35, 0.4, 0.6],
            jac=lambda x, n=n: -n / x,
            method="SLSQP",
            bounds=list(zip(lo, hi, strict=True)),
            constraints=[{"type": "eq", "fun": lambda x: [x[:3].sum() - 1, x[3:].sum() - 1]}],
            options={"ftol": 1e-14},
        )
        assert top == pytest.approx(-found.fun, rel=1e-7)  # the solver's own accuracy
    assert simplices.total(theta) == pytest.approx(np.ones((5, 5)), abs=1e-12)


def test_nothing_counted_costs_nothing() -> None:
    theta, bound = Simplices(np.array([0, 0])).fill(np.zeros((1, 2)), np.full((1, 2), 1e-30), np.ones((1, 2)))
    assert bound[0] == 0
    assert np.isfinite(theta).all()

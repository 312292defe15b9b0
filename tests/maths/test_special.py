"""Special functions, loaded late."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import gammaln

from lacunary.maths import special


def test_a_sum_of_logs_of_gammas() -> None:
    values = np.random.default_rng(0).choice([0.01, 1.0, 1.01, 7.5, 300.0], size=1000)
    # Both are accurate to the last digit or two of each term.
    assert special.sum_log_gamma(values) == pytest.approx(gammaln(values).sum(), rel=1e-13)
    assert special.sum_log_gamma([]) == 0.0


def test_the_rest_is_scipy_s() -> None:
    assert special.gammaln is gammaln
    with pytest.raises(AttributeError):
        _ = special.no_such_function


def test_a_fit_of_tables_does_not_load_them() -> None:
    code = (
        "import sys, lacunary as lac\n"
        "votes = lac.house_votes()\n"
        "lac.fit(lac.naive_bayes(votes, hidden='bloc', states=2), votes, starts=1)\n"
        "sys.exit('scipy.special' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


SIZES = [1e-300, 1e-8, 0.3, 20.0, 999.9, 1000.0, 1e6, 1e11, 1e17, 1e300]


@pytest.mark.parametrize("a", SIZES)
@pytest.mark.parametrize("n", [0, 1, 7, 20])
def test_differences_of_log_gammas_keep_their_digits(a: float, n: int) -> None:
    """Γ(a + n)/Γ(a) = a (a + 1) … (a + n − 1)."""
    expected = math.fsum(math.log(a + k) for k in range(n))
    # A sum of a few terms of size n log a, or below LARGE the difference of log Γ's up to 6000.
    assert float(special.log_rising(a, n)) == pytest.approx(expected, rel=4e-15, abs=2e-12)


@pytest.mark.parametrize("a", SIZES)
def test_two_half_steps_are_one(a: float) -> None:
    """Γ(a + ½)/Γ(a) · Γ(a + 1)/Γ(a + ½) = a."""
    twice = special.log_rising(a, 0.5) + special.log_rising(a + 0.5, 0.5)
    assert float(twice) == pytest.approx(math.log(a), rel=4e-15, abs=2e-12)


def test_falling_is_rising_turned_round() -> None:
    """One array may hold all sizes; from a + n back by −n the sign turns."""
    a, n = np.array([[0.5], [40.0], [1e5], [1e12]]), np.array([0.0, 3.0, 11.0])
    np.testing.assert_allclose(special.log_rising(a + n, -n), -special.log_rising(a, n), rtol=1e-12)


def test_down_to_small_numbers_a_rising_factorial_keeps_its_digits() -> None:
    """Γ(1) = 1 and Γ(½) = √π, where Stirling's series does not hold."""
    a = np.array([1000.0, 5000.0])
    np.testing.assert_allclose(special.log_rising(a, 1.0 - a), -gammaln(a), rtol=1e-14)
    np.testing.assert_allclose(special.log_rising(a, 0.5 - a), 0.5 * np.log(np.pi) - gammaln(a), rtol=1e-14)

"""Gamma variates against the moments of the distributions they make, however small pseudo-counts are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lacunary
from lacunary.maths.gamma import dirichlet, log_gammas


@pytest.mark.parametrize("alpha", [2.0, 0.03, 1e-3, 1e-5, 1e-12])
def test_distributions_have_the_moments_of_a_dirichlet(alpha: float) -> None:
    """Of Dirichlet(α, α, α) means are ⅓ and variances ⅓ · ⅔ / (3α + 1): below 10⁻³ all but corners."""
    rng, draws = np.random.default_rng(0), 4000
    drawn = np.array([dirichlet(np.full(3, alpha), rng) for _ in range(draws)])
    assert np.all(drawn > 0)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
    variance = 2 / 9 / (3 * alpha + 1)
    # Five standard errors; what a number between 0 and 1 adds to those of a variance is at most its own mean.
    assert np.abs(drawn.mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(variance / draws)
    assert np.abs(drawn.var(axis=0) - variance).max() < 5 * np.sqrt(variance / draws)


def test_logs_of_variates_have_the_mean_of_their_law() -> None:
    """E[log Gamma(α)] is ψ(α), all but −1/α − 0.577 for small α, with a standard deviation of about 1/α."""
    alpha, draws = 1e-4, 10_000
    logs = log_gammas(np.full(draws, alpha), np.random.default_rng(1))
    assert abs(logs.mean() + 1 / alpha + 0.5772) < 5 / alpha / np.sqrt(draws)


SAFE = {
    "maths/gamma.py",  # the place itself
    "maths/pareto.py",  # shapes of Pareto tails, where variates are not divided by their sum
    "maths/regression.py",  # precisions, of half a row at least
    "structure/all_graphs.py",  # numbers of links, plus one
    "family/poisson.py",  # rates, which may be zero
}


def test_gamma_variates_that_are_divided_by_their_sum_have_one_source() -> None:
    root = Path(lacunary.__file__).parent
    drawing = [p.relative_to(root) for p in root.rglob("*.py") if "standard_gamma" in p.read_text()]
    found = {p.as_posix() for p in drawing if p.parts[0] != "papers"}  # which are clients of the public names
    assert found == SAFE

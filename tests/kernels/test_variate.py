"""Variates drawn in kernels against the distributions they claim, with fixed seeds.

A p-value below 1e-4 would come once in ten thousand right samplers; seeds are fixed, so a test that passes
goes on passing until the code changes.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from lacunary.kernels.variate import binomial, log_gamma_variate, normal, uniform

DRAWS = 20_000
RARE = 1e-4


def stream(seed: int) -> NDArray[np.uint64]:
    return np.array([seed], dtype=np.uint64)


def test_uniform() -> None:
    source = stream(1)
    draws = np.array([uniform(source) for _ in range(DRAWS)])
    assert stats.kstest(draws, "uniform").pvalue > RARE
    # neighbours must not be related: a correlation of independent numbers has deviation 1/√n
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4 / np.sqrt(DRAWS)
    assert draws.min() > 0.0
    assert draws.max() < 1.0


def test_streams_differ() -> None:
    one, other = stream(1), stream(2)
    assert uniform(one) != uniform(other)


def test_normal() -> None:
    source = stream(2)
    assert stats.kstest([normal(source) for _ in range(DRAWS)], "norm").pvalue > RARE


@pytest.mark.parametrize("shape", [0.01, 0.5, 1.0, 2.5, 300.0])
def test_log_gamma(shape: float) -> None:
    source = stream(3)
    draws = [log_gamma_variate(shape, source) for _ in range(DRAWS)]
    assert stats.kstest(draws, stats.loggamma(shape).cdf).pvalue > RARE


def test_log_gamma_below_what_a_double_holds() -> None:
    source = stream(4)
    draws = np.array([log_gamma_variate(1e-4, source) for _ in range(100)])
    assert np.all(np.isfinite(draws))
    assert draws.min() < -1000  # E[log g] is about −1/shape: as a double it would be zero


@pytest.mark.parametrize(
    ("trials", "p"),
    [
        (1, 0.3),
        (10, 0.5),
        (50, 0.02),
        (1000, 0.004),
        (1000, 0.5),
        (1001, 0.9),
        (100_000, 0.37),
        (10**6, 1e-6),
    ],
)
def test_binomial(trials: int, p: float) -> None:
    source = stream(5)
    draws = np.array([binomial(float(trials), p, source) for _ in range(DRAWS)])
    law = stats.binom(trials, p)
    edges = np.unique(law.ppf(np.linspace(0.01, 0.99, 25)))  # bins of about equal chance
    expected = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]])) * DRAWS
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    wide = expected > 5  # the usual rule for a χ² to be one
    observed = np.append(observed[wide], observed[~wide].sum())
    expected = np.append(expected[wide], expected[~wide].sum())
    kept = expected > 0
    assert observed[~kept].sum() == 0
    assert stats.chisquare(observed[kept], expected[kept]).pvalue > RARE


@pytest.mark.parametrize(("p", "hits"), [(0.0, 0.0), (-1e-17, 0.0), (1.0, 100.0), (1.0 + 1e-16, 100.0)])
def test_binomial_that_is_certain(p: float, hits: float) -> None:
    assert binomial(100.0, p, stream(6)) == hits

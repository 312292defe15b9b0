"""Diagnosis of chains, against processes whose autocorrelations are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lacunary.errors import ParameterError
from lacunary.maths.mixing import _integrated, chain_mean, effective_size, split_rhat

CHAINS, DRAWS = 4, 20_000


def autoregressive(phi: float, quantities: int = 6) -> NDArray[np.float64]:
    """Stationary AR(1) with mean zero and variance 1/(1 − φ²); (chains, draws, quantities)."""
    noise = np.random.default_rng(0).standard_normal((CHAINS, DRAWS, quantities))
    chain = np.empty_like(noise)
    chain[:, 0] = noise[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, DRAWS):
        chain[:, t] = phi * chain[:, t - 1] + noise[:, t]
    return chain


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression(phi: float) -> None:
    """Σ φ^|t| = (1 + φ)/(1 − φ), so S draws are worth S (1 − φ)/(1 + φ)."""
    found = chain_mean(autoregressive(phi))
    worth = (1 - phi) / (1 + phi)
    # The estimate of τ from S draws scatters by about √(2 (2M + 1)/S) with a window M of some τ: below 5 %;
    # the mean over six quantities by less than half of that.
    assert found.ess.mean() / (CHAINS * DRAWS) == pytest.approx(worth, rel=0.06)
    # Six means within four standard errors of the truth, which is zero.
    assert np.all(np.abs(found.mean) < 4 * found.stderr)
    expected = np.sqrt(1 / (1 - phi**2) / (CHAINS * DRAWS * worth))
    np.testing.assert_allclose(found.stderr, expected, rtol=0.1)


def test_rhat_of_chains_that_agree_and_that_do_not() -> None:
    chains = autoregressive(0.3)
    assert np.all(np.abs(split_rhat(chains) - 1) < 0.002)  # of the order of τ/draws
    apart = chains + np.array([0.0, 0.0, 3.0, 3.0])[:, None, None]
    assert np.all(split_rhat(apart) > 1.5)
    # Chains of which half lie elsewhere are worth hardly more than the number of chains.
    assert np.all(effective_size(apart) < 20)


def test_rhat_by_hand() -> None:
    """Halves 0 1, 2 3, 0 1, 2 3: W = 1/2, means ½ 5/2 ½ 5/2, B/n = 4/3, var⁺ = ¼ + 4/3 = 19/12."""
    draws = np.array([[0.0, 1, 2, 3], [0, 1, 2, 3]])[:, :, None]
    assert split_rhat(draws)[0] == pytest.approx(np.sqrt((19 / 12) / (1 / 2)), rel=1e-12)


def test_a_drift_is_seen_because_chains_are_split() -> None:
    """Eight halves with means 5/4 and 15/4: B/n = (5/4)² 8/7; within, W = 1 + (5/2)²/12."""
    drift = np.linspace(0, 5, DRAWS)[:, None]
    expected = np.sqrt(1 + (5 / 4) ** 2 * 8 / 7 / (1 + 2.5**2 / 12))
    # Means and variances of 10 000 draws scatter by one in a hundred.
    np.testing.assert_allclose(split_rhat(autoregressive(0.0) + drift), expected, rtol=0.03)


def test_what_never_varies_is_known() -> None:
    draws = np.full((2, 100, 1), 0.25)
    found = chain_mean(draws)
    assert (found.mean[0], found.rhat[0], found.ess[0], found.stderr[0]) == (0.25, 1.0, 200.0, 0.0)
    stuck = np.repeat([[0.25], [0.75]], 100, axis=1)[:, :, None]
    assert split_rhat(stuck)[0] == np.inf


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 4 draws"):
        chain_mean(np.zeros((4, 3, 1)))


@pytest.mark.parametrize("last", [[], [0.4]])
def test_autocorrelations_are_added_in_pairs_to_the_end(last: list[float]) -> None:
    """−1 + 2 (1.9 + 1.5 + 1.1); one that has no neighbour is left out."""
    rho = np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, *last])[:, None]
    np.testing.assert_allclose(_integrated(rho), [8.0], rtol=1e-12)

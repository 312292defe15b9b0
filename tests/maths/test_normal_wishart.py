"""Normal–Wishart beliefs, against SciPy's distributions and the families they give."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import multivariate_normal, multivariate_t, wishart

from lacunary.errors import ParameterError
from lacunary.maths import regression
from lacunary.maths.moments import joined, moments, part_of, parted
from lacunary.maths.normal_wishart import NormalWishart

Array = NDArray[np.float64]


def belief(size: int, seed: int = 0) -> NormalWishart:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size + 2))
    alpha = size + rng.uniform(-0.5, 5.0)
    return NormalWishart(
        rng.uniform(0.3, 3.0), rng.normal(size=size), alpha, root @ root.T + 0.3 * np.eye(size)
    )


def sample(size: int, rows: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, size)) @ rng.normal(size=(size, size)) + 2.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_evidence_chains_over_rows(seed: int, size: int) -> None:
    """Each row given those before is a t with α − n + 1 degrees of freedom (DeGroot 1970, 9.10 and 9.11)."""
    now = belief(size, seed)
    rows = sample(size, 5, seed)
    expected = 0.0
    for row in rows:
        free = now.alpha - size + 1
        shape = now.tau * (now.nu + 1) / (now.nu * free)
        expected += float(multivariate_t(now.mu, shape, df=free).logpdf(row))
        now = now.update(moments(row[None]))
    # Five t densities through determinants of matrices with conditions up to about 1e4.
    assert belief(size, seed).log_evidence(moments(rows)) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_update_adds_moments() -> None:
    prior, rows = belief(4), moments(sample(4, 9))
    after = prior.update(rows)
    np.testing.assert_allclose(after.moments, prior.moments + rows, rtol=1e-11)
    assert after.alpha == prior.alpha + 9
    assert after.surplus == pytest.approx(prior.surplus)


def test_families_in_every_order_give_the_joint_evidence() -> None:
    """Parameter modularity: whichever variable is regressed on whichever, the product is one number."""
    prior, rows = belief(4), moments(sample(4, 12))
    for order in permutations(range(4)):
        families = 0.0
        for place, child in enumerate(order):
            moment, dof = prior.family(child, order[:place])
            families += float(regression.log_evidence(moment, dof, part_of(rows, [*order[:place], child])))
        assert families == pytest.approx(prior.log_evidence(rows), abs=1e-9)


def test_density_of_families_is_that_of_mean_and_precision() -> None:
    """The Jacobian from (mean, precision) to the families' coordinates is one."""
    prior = belief(3, 4)
    mean, precision = np.array([0.2, -1.0, 0.5]), np.linalg.inv(np.cov(sample(3, 20).T))
    expected = wishart(prior.alpha, np.linalg.inv(prior.tau)).logpdf(precision)
    expected += multivariate_normal(prior.mu, np.linalg.inv(prior.nu * precision)).logpdf(mean)
    covariance = np.linalg.inv(precision)
    found = 0.0
    for child in range(3):
        slopes = np.linalg.solve(covariance[:child, :child], covariance[:child, child])
        variance = covariance[child, child] - slopes @ covariance[:child, child]
        theta = np.array([mean[child] - slopes @ mean[:child], *slopes, variance])
        found += float(regression.log_density(theta, *prior.family(child, range(child))))
    assert found == pytest.approx(float(expected), rel=1e-10)


def test_regressions_at_the_peak_come_from_one_covariance() -> None:
    """τ*/(N + ν) in every structure, where α = ν + n (TMCH98 section 6)."""
    base = belief(4, 2)
    after = NormalWishart(base.nu, base.mu, base.nu + 4, base.tau).update(moments(sample(4, 30)))
    mean, covariance = after.peak
    np.testing.assert_allclose(covariance, after.tau / (30 + base.nu), rtol=1e-13)
    for child, parents in [(0, ()), (2, (0,)), (1, (0, 3)), (3, (0, 1, 2))]:
        chosen = list(parents)
        slopes = np.linalg.solve(covariance[np.ix_(chosen, chosen)], covariance[chosen, child])
        variance = covariance[child, child] - slopes @ covariance[chosen, child]
        found = regression.peak(*after.family(child, parents))
        np.testing.assert_allclose(found, [mean[child] - slopes @ mean[chosen], *slopes, variance], rtol=1e-9)


def test_a_belief_about_a_peak_has_its_peak_there() -> None:
    mean, covariance = np.array([1.0, -2.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(NormalWishart.about(mean, covariance, 200.0).peak[1], covariance, rtol=1e-14)
    plain = NormalWishart.about(mean, [4.0, 9.0], 3.0)
    np.testing.assert_allclose(regression.peak(*plain.family(1, [0])), [-2.0, 0.0, 9.0], atol=1e-14)
    moved = plain.moved([1.0, 0.0], [2.0, 3.0])
    np.testing.assert_allclose(regression.peak(*moved.family(1, [0])), [-2.0 / 3, 0.0, 1.0], atol=1e-14)


def test_marginal_is_the_belief_about_some_variables() -> None:
    """Draws of the precision, marginalised one by one, have the marginal's expectation α τ⁻¹."""
    prior = belief(3, 1)
    part = prior.marginal([2, 0])
    assert part.alpha == prior.alpha - 1
    draws = wishart(prior.alpha, np.linalg.inv(prior.tau)).rvs(20_000, random_state=0)
    margins = np.linalg.inv(np.linalg.inv(draws)[:, [[2], [0]], [2, 0]])
    expected = part.alpha * np.linalg.inv(part.tau)
    error = margins.std(axis=0) / 20_000**0.5
    assert np.all(np.abs(margins.mean(axis=0) - expected) < 5 * error)


def test_moments_come_apart_and_together() -> None:
    rows = sample(3, 8)
    weights = np.random.default_rng(0).uniform(size=(8, 2))
    both = moments(rows, weights)
    np.testing.assert_allclose(both[1], moments(rows, weights[:, 1]), rtol=1e-13)
    count, mean, scatter = parted(both)
    np.testing.assert_allclose(mean[0], np.average(rows, axis=0, weights=weights[:, 0]), rtol=1e-12)
    expected = np.cov(rows.T, aweights=weights[:, 0], ddof=0) * weights[:, 0].sum()
    np.testing.assert_allclose(scatter[0], expected, rtol=1e-9)
    np.testing.assert_allclose(joined(count, mean, scatter), both, rtol=1e-12)
    np.testing.assert_array_equal(parted(np.zeros((3, 3)))[1], [0, 0])


@pytest.mark.parametrize(
    ("nu", "alpha", "tau", "words"),
    [
        (0.0, 3.0, np.eye(2), "nu must be positive"),
        (1.0, 1.0, np.eye(2), "alpha must exceed"),
        (1.0, 3.0, np.array([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (1.0, 3.0, np.array([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (1.0, 3.0, np.eye(3), "must be"),
        (1.0, 3.0, np.diag([1.0, np.inf]), "finite"),
    ],
    ids=["nu", "alpha", "indefinite", "lopsided", "shape", "infinite"],
)
def test_improper_beliefs_are_refused(nu: float, alpha: float, tau: Array, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        NormalWishart(nu, np.zeros(2), alpha, tau)


def test_no_peak_below_n_degrees_of_freedom() -> None:
    with pytest.raises(ParameterError, match="no peak"):
        _ = NormalWishart(1.0, np.zeros(2), 1.5, np.eye(2)).peak

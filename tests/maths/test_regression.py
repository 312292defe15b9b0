"""Beliefs about regressions, against SciPy's distributions, integration and draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import dblquad
from scipy.optimize import minimize
from scipy.stats import invgamma, multivariate_normal, multivariate_t, t

from lacunary.errors import ParameterError
from lacunary.maths import regression
from lacunary.maths.moments import are_moments, moments, move

Array = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def belief(parents: int, seed: int = 0) -> tuple[Array, float]:
    """Pseudo-moments of (1, parents, child), and degrees of freedom."""
    rng = np.random.default_rng(seed)
    size = parents + 1
    rows = rng.normal(size=(3 * size + 3, size)) @ rng.normal(size=(size, size)) + rng.normal(size=size)
    # The diagonal keeps the condition of T below some 1e4, so that plain formulas are good to ten digits.
    moment = moments(rows) * rng.uniform(0.3, 1.5) + 0.3 * np.diag([0.0] + [1.0] * size)
    return moment, float(size + rng.uniform(0.5, 8.0))


def parts(moment: Array) -> tuple[Array, Array, float]:
    """T_p, the regression's coefficients and the residual s, by plain linear algebra."""
    top, cross = moment[:-1, :-1], moment[:-1, -1]
    coefficients = np.linalg.solve(top, cross)
    return top, np.asarray(coefficients, dtype=np.float64), float(moment[-1, -1] - cross @ coefficients)


def rows_of(parents: int, count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, parents + 1)) @ rng.normal(size=(parents + 1, parents + 1)) + 1.0


@given(SEEDS, st.integers(0, 5), st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_evidence_is_a_multivariate_t(seed: int, parents: int, count: int) -> None:
    """Children given parents, parameters integrated out: t about Uβ̂ with shape s/dof (I + U T_p⁻¹ Uᵀ)."""
    moment, dof = belief(parents, seed)
    rows = rows_of(parents, count, seed)
    top, coefficients, rest = parts(moment)
    u = np.column_stack([np.ones(count), rows[:, :-1]])
    shape = rest / dof * (np.eye(count) + u @ np.linalg.solve(top, u.T))
    expected = multivariate_t(u @ coefficients, shape, df=dof).logpdf(rows[:, -1])
    # Both lose about log10(condition of T) of sixteen digits.
    assert regression.log_evidence(moment, dof, moments(rows)) == pytest.approx(expected, rel=1e-8, abs=1e-8)


@given(SEEDS, st.integers(0, 4))
@settings(max_examples=20, deadline=None)
def test_predictive_is_a_students_t_and_chains_to_the_evidence(seed: int, parents: int) -> None:
    moment, dof = belief(parents, seed)
    rows = rows_of(parents, 4, seed)
    expected, alone = 0.0, (moment, dof)
    for row in rows:
        location, scale = regression.predictive(moment, dof, row[:-1])
        found = regression.log_predictive(moment, dof, row[:-1], row[-1])
        assert found == pytest.approx(t(dof, location, scale).logpdf(row[-1]), rel=1e-10)
        expected += float(found)
        moment, dof = moment + moments(row[None]), dof + 1
    assert regression.log_evidence(*alone, moments(rows)) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_normalizer_by_integration() -> None:
    """Without parents: ∫∫ w^((1 + dof)/2 − 1) exp(−½ w vᵀTv) over intercept and w = 1/σ²."""
    moment, dof = np.array([[2.0, 1.0], [1.0, 3.0]]), 3.5

    def density(b: float, w: float) -> float:
        v = np.array([-b, 1.0])
        return float(w ** (0.5 * (1 + dof) - 1) * np.exp(-0.5 * w * (v @ moment @ v)))

    # Beyond w = 60 and |b| = 60 less than 1e-9 of the mass is left; the quadrature is asked for 1e-9.
    value, _ = dblquad(density, 0, 60, -60, 60, epsabs=0, epsrel=1e-9)
    assert float(regression.log_normalizer(moment, dof)) == pytest.approx(np.log(value), abs=2e-6)


@pytest.mark.parametrize("parents", [0, 1, 3])
def test_density_is_normal_times_inverse_gamma(parents: int) -> None:
    """In (intercept, coefficients/σ², 1/σ²) the volume of a cell of (β, σ²) shrinks by σ^2(m + 2)."""
    moment, dof = belief(parents)
    top, coefficients, rest = parts(moment)
    theta = np.concatenate([coefficients + 0.3, [0.7 * rest]])
    flat = multivariate_normal(coefficients, theta[-1] * np.linalg.inv(top)).logpdf(theta[:-1])
    flat += invgamma(dof / 2, scale=rest / 2).logpdf(theta[-1])
    expected = flat + (parents + 2) * np.log(theta[-1])
    assert float(regression.log_density(theta, moment, dof)) == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.parametrize("parents", [0, 2])
def test_peak_is_where_the_density_is_highest(parents: int) -> None:
    moment, dof = belief(parents, 3)
    top = regression.peak(moment, dof)

    def fall(x: Array) -> float:
        """Coordinates: intercept, coefficients/σ², log 1/σ² (a mode does not mind a map of one axis)."""
        variance = np.exp(-x[-1])
        theta = np.concatenate([x[:1], x[1:-1] * variance, [variance]])
        return -float(regression.log_density(theta, moment, dof))

    start = np.concatenate([top[:1], top[1:-1] / top[-1], [-np.log(top[-1])]])
    found = minimize(
        fall, start + 0.2, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 9999}
    )
    # Near a peak the height tells the place only to the root of its own rounding.
    np.testing.assert_allclose(found.x, start, rtol=1e-5, atol=1e-5)


def test_peak_of_alpha_nu_plus_n_divides_by_the_pseudo_count() -> None:
    """dof = ν + m + 1 (TMCH98 section 6)."""
    moment, _ = belief(3)
    found = regression.peak(moment, moment[0, 0] + 4)
    assert found[-1] == pytest.approx(parts(moment)[2] / moment[0, 0], rel=1e-10)
    with pytest.raises(ParameterError, match="no peak"):
        regression.peak(moment, 4.0)


def test_mean_of_the_belief() -> None:
    moment, dof = belief(2)
    _, coefficients, rest = parts(moment)
    found = regression.mean(moment, dof)
    np.testing.assert_allclose(found[:-1], coefficients, rtol=1e-9)
    assert found[-1] == pytest.approx(invgamma(dof / 2, scale=rest / 2).mean(), rel=1e-9)
    assert regression.mean(moment, 2.0)[-1] == np.inf


DRAWS = 40_000


@pytest.mark.parametrize("parents", [0, 2])
def test_draws_have_the_expected_form(parents: int) -> None:
    """Q and g are means over draws of vvᵀ/σ² and −½ log 2πσ²."""
    moment, dof = belief(parents, 1)
    many = np.broadcast_to(moment, (DRAWS, *moment.shape))
    theta = regression.draw(many, dof, np.random.default_rng(0))
    form, level = regression.expected_form(moment, dof)
    forms, levels = regression.point_form(theta)
    # Five standard errors for some twenty numbers.
    assert np.all(np.abs(forms.mean(axis=0) - form) < 5 * forms.std(axis=0) / DRAWS**0.5 + 1e-12)
    assert abs(levels.mean() - level) < 5 * levels.std() / DRAWS**0.5


def test_point_form_is_the_log_density_of_a_row() -> None:
    theta, row = np.array([0.5, 2.0, -1.0, 0.3]), np.array([1.0, 0.2, 0.7, 1.1])
    form, level = regression.point_form(theta)
    expected = multivariate_normal(0.5 + 2 * 0.2 - 0.7, 0.3).logpdf(1.1)
    assert float(level - 0.5 * row @ form @ row) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("parents", [0, 2])
def test_divergence_is_the_mean_difference_of_densities(parents: int) -> None:
    (moment, dof), (prior, prior_dof) = belief(parents, 1), belief(parents, 2)
    many = np.broadcast_to(moment, (DRAWS, *moment.shape))
    theta = regression.draw(many, dof, np.random.default_rng(1))
    gaps = regression.log_density(theta, moment, dof) - regression.log_density(theta, prior, prior_dof)
    found = float(regression.divergence(moment, dof, prior, prior_dof))
    assert abs(gaps.mean() - found) < 5 * gaps.std() / DRAWS**0.5
    assert float(regression.divergence(moment, dof, moment, dof)) == pytest.approx(0.0, abs=1e-10)


def test_the_evidence_is_the_bound_at_the_posterior() -> None:
    """log p(rows) = E_post[log p(rows | θ)] − KL(post ‖ prior), exactly."""
    prior, dof = belief(2, 5)
    rows = moments(rows_of(2, 20, 6))
    form, level = regression.expected_form(prior + rows, dof + 20)
    expected = 20 * level - 0.5 * np.sum(form * rows)
    expected -= regression.divergence(prior + rows, dof + 20, prior, dof)
    assert float(regression.log_evidence(prior, dof, rows)) == pytest.approx(float(expected), rel=1e-10)


def test_everything_is_vectorised() -> None:
    pairs = [belief(2, seed) for seed in range(6)]
    stack = np.stack([m for m, _ in pairs]).reshape(2, 3, 4, 4)
    dofs = np.array([d for _, d in pairs]).reshape(2, 3)
    for function in (regression.log_normalizer, regression.peak, regression.mean):
        alone = np.stack([function(m, d) for m, d in pairs])
        np.testing.assert_allclose(function(stack, dofs).reshape(alone.shape), alone, rtol=1e-12)
    form, level = regression.expected_form(stack, dofs)
    np.testing.assert_allclose(form[1, 2], regression.expected_form(*pairs[5])[0], rtol=1e-12)
    assert level.shape == (2, 3)
    assert regression.divergence(stack, dofs, stack[0, 0], dofs[0, 0]).shape == (2, 3)
    assert regression.draw(stack, dofs, np.random.default_rng(0)).shape == (2, 3, 4)


def test_maximum_likelihood_is_least_squares() -> None:
    rows = rows_of(3, 50, 0)
    u = np.column_stack([np.ones(50), rows[:, :-1]])
    coefficients, left, _, _ = np.linalg.lstsq(u, rows[:, -1], rcond=None)
    found = regression.maximum_likelihood(moments(rows), 1e-12)
    np.testing.assert_allclose(found, [*coefficients, left[0] / 50], rtol=1e-9)
    with pytest.raises(ParameterError, match="floor"):
        regression.maximum_likelihood(moments(rows), 0.0)


def test_redundant_parents_and_no_rows_stay_finite() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    rows = np.column_stack([x, x[:, 0] + x[:, 1], x[:, 0] - 2 * x[:, 1]])  # parent and child both follow
    found = regression.maximum_likelihood(np.stack([moments(rows), np.zeros((5, 5))]), 1e-6)
    np.testing.assert_allclose(found[0], [0, 1, -2, 0, 1e-6], atol=1e-7)
    np.testing.assert_array_equal(found[1], [0, 0, 0, 0, 1e-6])
    few = moments(rows[:2])  # fewer rows than coefficients
    assert np.all(np.isfinite(regression.maximum_likelihood(few, 1e-6)))
    prior = 1e-12 * np.eye(5)
    for moment in (prior + few, prior + moments(rows), moments(1e8 + rows)):
        assert np.isfinite(regression.log_normalizer(moment, 9.0))
        form, level = regression.expected_form(moment, 9.0)
        assert np.all(np.isfinite(form))
        assert np.isfinite(level)
        assert regression.peak(moment, 9.0)[-1] > 0


def test_what_is_not_a_number_stays_so() -> None:
    """Silence would be worse."""
    moment, dof = belief(2)
    moment[2, 1] = moment[1, 2] = np.nan
    assert np.isnan(regression.log_normalizer(moment, dof))


def test_units_and_origin_move_as_they_must() -> None:
    """x′ = a + b x for all columns: the evidence changes by −N log b of the child, coefficients by ratios."""
    prior, dof = belief(2, 8)
    rows = moments(rows_of(2, 15, 9))
    origin, scale = np.array([3.0, -1.0, 5.0]), np.array([2.0, 0.1, 4.0])
    before = regression.log_evidence(prior, dof, rows)
    after = regression.log_evidence(move(prior, origin, scale), dof, move(rows, origin, scale))
    assert float(after) == pytest.approx(float(before) - 15 * np.log(4.0), rel=1e-9)
    old = regression.peak(prior + rows, dof + 15)
    new = regression.peak(move(prior + rows, origin, scale), dof + 15)
    slopes = old[1:3] * 4.0 / scale[:2]
    expected = [5.0 + 4.0 * old[0] - slopes @ origin[:2], *slopes, 16.0 * old[3]]
    np.testing.assert_allclose(new, expected, rtol=1e-8)


def test_regressions_in_turn_are_those_one_by_one() -> None:
    moment = np.stack([belief(5, seed)[0] for seed in range(4)])
    found = regression.solved_in_turn(moment, 3)
    assert found is not None
    for width, each in zip((5, 6, 7), found, strict=True):
        for one, coefficients, pivot in zip(moment, *each, strict=True):
            _, expected, rest = parts(one[:width, :width])
            # The condition of T is below some 1e4, and the plain formula squares nothing.
            np.testing.assert_allclose(coefficients, expected, rtol=1e-9, atol=1e-9)
            assert pivot**2 == pytest.approx(rest, rel=1e-9)


def test_redundant_coordinates_are_not_solved_in_turn() -> None:
    rows = rows_of(2, 30, 0)
    assert regression.solved_in_turn(moments(np.column_stack([rows, rows[:, 0] - rows[:, 1]])), 2) is None
    assert regression.solved_in_turn(np.zeros((3, 3)), 2) is None


def test_moments_of_several_stacks_move_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    stacks = rng.normal(size=(2, 3, 4, 4))
    moved = move(stacks, [1.0, 2.0, -1.0], 3.0)
    assert moved[1, 2] == pytest.approx(move(stacks[1, 2], [1.0, 2.0, -1.0], 3.0), rel=1e-12)


def test_stacks_of_matrices_are_moments_if_each_is() -> None:
    good = np.array([[[2.0, 1.0], [1.0, 3.0]], [[5.0, -4.0], [-4.0, 5.0]], [[1.0, 0.0], [0.0, 0.0]]])
    assert are_moments(good)
    assert are_moments(good[:2])
    for wrong in ([[2.0, 1.0], [0.9, 3.0]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]):
        assert not are_moments(np.array([good[0], wrong]))

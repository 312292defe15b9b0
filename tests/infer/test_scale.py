"""Columns of any size, and the prior of regressions that several columns share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import norm

import lacunary as lac
from lacunary.errors import ParameterError, TableError
from lacunary.infer.scale import Scale
from lacunary.learn.stop import Stop, check_number

PAIR = lac.dag("x -> y", kinds="continuous")


def rows(reals: NDArray[np.float64]) -> lac.Table:
    return lac.Table(PAIR.schema, np.full(reals.shape, -1, np.int8), reals, np.ones(len(reals)))


@pytest.mark.parametrize("factor", [1e-170, 1e-150, 1e150, 1e160])
def test_evidence_follows_the_units_however_large(factor: float) -> None:
    """A density in units `factor` times smaller is that much lower, for each of the 60 cells."""
    reals = np.random.default_rng(0).normal(size=(30, 2))
    plain = lac.score(PAIR, rows(reals), "exact").value
    found = lac.score(PAIR, rows(reals * factor), "exact").value
    assert found + 60 * np.log(factor) == pytest.approx(plain, abs=1e-9)  # 60 logs of some hundreds
    scale, small = Scale.of(rows(reals * factor), PAIR), Scale.of(rows(reals), PAIR)
    np.testing.assert_allclose(scale.spread / factor, small.spread, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-170, 1e160])
def test_a_variance_that_no_number_holds_is_refused_by_name(factor: float) -> None:
    reals = np.random.default_rng(0).normal(size=(30, 2)) * [1.0, factor]
    with pytest.raises(TableError, match=r"y varies by about .* other units"):
        lac.fit(PAIR, rows(reals))
    for verb in (lac.search, lambda table: lac.fit_mixture(table, components=2)):
        with pytest.raises(TableError, match=r"y varies by about .* other units"):
            verb(rows(reals))


def test_an_objective_that_is_no_number_ends_a_climb() -> None:
    with pytest.raises(TableError, match="the objective became nan"):
        Stop(relative=1e-8).met(-10.0, -9.0, float("nan"))
    assert not Stop(relative=1e-8).met(-np.inf, -np.inf, -5.0)
    with pytest.raises(TableError, match="the objective became -inf"):
        check_number(-np.inf)


@pytest.mark.parametrize("order", ["x; y", "y; x"])
def test_tied_regressions_believe_what_the_prior_s_rows_tell_of_both(order: str) -> None:
    """A row of means (0, 10) and variances one is two cells of what both columns share."""
    dag = lac.dag(order, kinds="continuous", tied=[("x", "y")])
    prior = lac.NormalWishart(nu=1.0, means={"x": 0.0, "y": 10.0}, covariance=1.0)
    belief = prior(dag)
    t = np.array([[2.0, 0.0 + 10.0], [10.0, (0.0 + 1.0) + (100.0 + 1.0)]])
    np.testing.assert_allclose(dag.layout.moments(belief.alpha, 0)[0], t, rtol=1e-15)
    cells = np.random.default_rng(1).normal(4.0, 2.0, size=(15, 2))
    table = lac.Table(dag.schema, np.full(cells.shape, -1, np.int8), cells, np.ones(15))
    z = np.column_stack([np.ones(30), cells.ravel()])

    def log_z(moment: NDArray[np.float64], dof: float) -> float:
        left = moment[1, 1] - moment[0, 1] ** 2 / moment[0, 0]
        log_determinant = np.log(moment[0, 0])
        half = 0.5 * (np.log(2 * np.pi) - log_determinant)
        return float(half + gammaln(dof / 2) - dof / 2 * np.log(left / 2))

    # Two pseudo-cells and one degree of freedom for the mean: α = ν + n adds none beside.
    expected = log_z(t + z.T @ z, 33.0) - log_z(t, 3.0) - 15 * np.log(2 * np.pi)
    assert lac.score(dag, table, "exact", prior=prior).value == pytest.approx(expected, rel=1e-12)


def test_a_prior_that_is_sure_comes_to_its_limit_or_is_refused() -> None:
    """Worth many rows of mean zero and variance one, the prior makes every cell standard normal."""
    reals = np.random.default_rng(0).normal(size=(30, 2))
    prior = lac.NormalWishart(nu=1e9, means=0.0, covariance=1.0)
    found = lac.score(PAIR, rows(reals), "exact", prior=prior).value
    # What is left of the prior's doubt is about rows²/ν, and rounding ν · log s · 1e-16: below 1e-5.
    assert found == pytest.approx(norm.logpdf(reals).sum(), abs=1e-5)
    with pytest.raises(ParameterError, match=r"nu = 1e\+13 leaves no digits"):
        lac.NormalWishart(nu=1e13)

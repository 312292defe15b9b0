"""What is fixed is not learned: it has no prior density, and none is charged for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import norm

import lacunary as lac

ROWS = 20
DAG = lac.dag("x -> y", kinds="continuous")
GIVEN = {"x": [1.0, 25.0], "y": [0.0, 1.0, 50.0]}


def wide() -> lac.Table:
    """Columns far from unit scale."""
    rng = np.random.default_rng(0)
    reals = np.column_stack([rng.normal(0, 10, ROWS), rng.normal(5, 30, ROWS)])
    return lac.Table(DAG.schema, np.full((ROWS, 2), -1, np.int8), reals, np.ones(ROWS))


def log_density(theta: NDArray[np.float64], dof: float) -> float:
    """The normal–gamma density with T = I along (intercept, coefficients · w, w), w = 1/σ²; by hand.

    It is w^((m+1)/2 + dof/2 − 1) exp(−½ w vᵀv)/Z along (intercept, coefficients, w), and the change of
    coordinates divides it by w^m.
    """
    m, w, v = len(theta) - 2, 1.0 / theta[-1], np.append(-theta[:-1], 1.0)
    log_z = (m + 1) / 2 * np.log(2 * np.pi) + gammaln(dof / 2) - dof / 2 * np.log(0.5)
    return float(((m + 1) / 2 + dof / 2 - 1 - m) * np.log(w) - 0.5 * w * v @ v - log_z)


@pytest.mark.parametrize("fixed", [(), ("x",), ("y",), ("x", "y")])
def test_the_objective_has_the_density_of_what_is_learned_alone(fixed: tuple[str, ...]) -> None:
    table = wide()
    prior = lac.NormalWishart(nu=1.0, means=0.0, covariance=1.0)
    given = {name: GIVEN[name] for name in fixed}
    found = lac.fit(DAG, table, prior=prior, fixed=given)
    x, y = found.network.table("x"), found.network.table("y")
    log_likelihood = norm.logpdf(table.reals[:, 0], x[0], np.sqrt(x[1])).sum()
    log_likelihood += norm.logpdf(table.reals[:, 1], y[0] + y[1] * table.reals[:, 0], np.sqrt(y[2])).sum()
    densities = {"x": log_density(x, 2.0), "y": log_density(y, 3.0)}  # dof = α − n + m + 1, α = ν + n
    expected = log_likelihood + sum(d for name, d in densities.items() if name not in fixed)
    assert found.objective == pytest.approx(expected, rel=1e-12)  # some forty rounded terms
    again = lac.reselect(found, table, "average", prior=prior, fixed=given)
    assert again.objective == pytest.approx(expected, rel=1e-12)
    if len(fixed) == 2:
        assert found.objective == pytest.approx(found.log_likelihood, rel=1e-14)  # nothing is learned

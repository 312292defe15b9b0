"""Posterior means of regressions by sampling, against closed forms and enumeration."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import HOLE
from tests.naive import log_sum

UNIT = lac.NormalWishart(nu=1)

FAR = 5.0
"""Standard errors that none of some twenty means of a right sampler misses by; seeds are fixed."""


def test_without_holes_the_mean_is_known() -> None:
    """The prior is worth a row: σ² is inverse-gamma((N + 2)/2, (N + 1)·var/2), of mean var·(N + 1)/N."""
    x = np.array([100.0, 102.0, 104.0, 109.0, 101.0, 98.0, 99.0, 107.0])
    found = lac.posterior_mean(
        lac.dag("x", kinds="continuous"), {"x": x}, prior=UNIT, draws=250, burn=2, chains=24
    )
    expected = np.array([x.mean(), x.var() * 9 / 8])
    assert np.all(np.abs(found.network.theta - expected) < FAR * found.stderr)
    assert found.stderr[0] < 0.05
    assert found.mixed


def expectation(dag: lac.Dag, table: lac.Table) -> np.ndarray:
    """E[θ] given complete rows: the belief's mean, but s/(dof − 2) for σ² in place of its scale s/dof."""
    belief = lac.fit(dag, table, prior=UNIT).belief
    theta = belief.mean()
    for i in dag.continuous:
        dof = belief.dof(i)
        dag.layout.records(theta, i)[:, -1] *= dof / (dof - 2)
    return theta


def test_means_are_those_of_enumeration() -> None:
    """The mean over all ways to fill the holes of a discrete parent, each as probable as its evidence."""
    dag = lac.dag("A -> x -> y", kinds={"x": "continuous", "y": "continuous"}, states={"A": 2})
    table = lac.random_network(dag, rng=3).sample(14, rng=4)
    codes = table.codes.copy()
    codes[:4, 0] = HOLE
    logs, means = [], []
    for states in product((0, 1), repeat=4):
        codes_here = codes.copy()
        codes_here[:4, 0] = states
        filled = replace(table, codes=codes_here)
        logs.append(lac.score(dag, filled, "exact", prior=UNIT).value)
        means.append(expectation(dag, filled))
    expected = np.exp(np.array(logs) - log_sum(logs)) @ np.array(means)
    found = lac.posterior_mean(dag, replace(table, codes=codes), prior=UNIT, draws=300, burn=60, chains=40)
    assert np.all(np.abs(found.network.theta - expected) < FAR * found.stderr)
    assert found.mixed


def test_holes_of_a_child_tell_nothing_of_its_regression() -> None:
    """y given x follows from the rows that show both; x is known: the mean is that of these rows.

    The prior of y speaks of the column's mean and variance, so the units are those of the rows that show it.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = 3.0 + 2.0 * x + 0.5 * rng.normal(size=30)
    y[20:] = np.nan
    dag = lac.dag("x -> y", kinds="continuous")
    found = lac.posterior_mean(dag, {"x": x, "y": y}, prior=UNIT, draws=200, burn=60, chains=16)
    # Least squares of twenty rows; the prior, one row without correlation, moves it by less than 0.2.
    slope, start = np.polyfit(x[:20], y[:20], 1)
    assert found.network.regression("y").coefficients[0] == pytest.approx(slope, abs=0.2)
    assert found.network.regression("y").intercept == pytest.approx(start, abs=0.2)
    assert found.mixed


def test_classes_are_called_alike_and_in_the_data_s_units() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([500 + 10 * rng.normal(size=30), 900 + 10 * rng.normal(size=20)])
    dag = lac.naive_bayes(lac.read({"x": x, "z": -x}).schema, hidden="H", states=2)
    found = lac.posterior_mean(dag, {"x": x, "z": -x}, prior=UNIT, draws=150, burn=100, chains=6)
    large = int(found.network.table("H").argmax())
    means = found.network.regression("x").intercept
    # The prior's row at the mean of all, 660, pulls by (660 − 500)/31 and (900 − 660)/21.
    assert means[large] == pytest.approx(x[:30].mean() + (x.mean() - x[:30].mean()) / 31, abs=1.0)
    assert means[1 - large] == pytest.approx(x[30:].mean() + (x.mean() - x[30:].mean()) / 21, abs=3.0)


def test_what_has_no_mean_is_refused_by_name() -> None:
    factor = lac.dag("f -> x y", kinds="continuous", hidden="f")
    with pytest.raises(lac.SchemaError, match="f is hidden and continuous: it may change its sign"):
        lac.posterior_mean(factor, {"x": [1.0, 2.0], "y": [1.0, 3.0]})
    wait = lac.dag("x", kinds="continuous", family="uniform")
    with pytest.raises(lac.SchemaError, match="family of x is uniform"):
        lac.posterior_mean(wait, {"x": [1.0, 2.0]})

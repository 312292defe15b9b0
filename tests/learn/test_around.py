"""Starts around the fit without hidden variables, where some variables are continuous."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.infer.scale import Scale

COUNT, ESS = 3000, 200.0


def mixed() -> tuple[lac.Dag, Table]:
    """y has an observed class, a hidden class, an observed number and a hidden number above it."""
    dag = lac.dag(
        "A H x f -> y; A -> H; f -> u",
        states={"A": 2, "H": 2},
        kinds={"x": "continuous", "y": "continuous", "f": "continuous", "u": "continuous"},
        hidden=["H", "f"],
    )
    table = lac.make_holes(lac.random_network(dag, rng=1).sample(300, rng=2), 0.1, rng=3)
    return dag, table.align(dag.schema)


def points(dag: lac.Dag, table: Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    scale = Scale.of(table)
    prior = lac.Dirichlet(1.0)
    inside = scale.table(table)
    return lac.Around(COUNT, ESS).points(prior(dag), prior, inside, np.random.default_rng(0))


def test_regressions_are_drawn_around_the_fit_without_hidden_variables() -> None:
    dag, table = mixed()
    theta, scale = points(dag, table), Scale.of(table)
    seen = lac.dag("A x -> y; u", states={"A": 2}, kinds=dict.fromkeys("xyu", "continuous"))
    simple = lac.fit(seen, scale.table(table), stop=lac.Stop(relative=1e-13)).network
    records = dag.layout.records(theta, dag.schema.index("y")).reshape(COUNT, 2, 2, 4)
    order = [*(p for p in dag.parents_of("y") if not dag.schema[p].discrete)]
    x, f = order.index("x") + 1, order.index("f") + 1
    peak = simple.table("y")[:, None, :]
    variance = peak[..., -1]
    # σ² is inverse-gamma((ess + m + 1)/2, ess·peak/2), m = 2: its mean and its variance.
    mean = ESS * variance / (ESS + 3 - 2)
    spread = mean * np.sqrt(2 / (ESS + 3 - 4))
    drawn = records[..., -1]
    # Five standard errors, and what the inner fit's own stop leaves.
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5 * spread / np.sqrt(COUNT) + 2e-3)
    assert np.allclose(drawn.std(axis=0) / spread, 1.0, atol=0.1)
    assert np.all(np.abs(records[..., 0].mean(axis=0) - peak[..., 0]) < 0.01)
    assert np.all(np.abs(records[..., x].mean(axis=0) - peak[..., 1]) < 0.01)
    # Of a hidden parent with variance one nothing is known but that it says nothing: sd σ/√ess.
    assert np.allclose(records[..., f].std(axis=0), np.sqrt(mean / ESS), rtol=0.1)
    assert np.all(np.abs(records[..., f].mean(axis=0)) < 5 * np.sqrt(mean / ESS / COUNT))
    one, other = records[:, 0, 0, 0], records[:, 0, 1, 0]
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(COUNT)  # drawn anew for every configuration


def test_hidden_variables_start_even() -> None:
    dag, table = mixed()
    theta = points(dag, table)
    hidden = dag.layout.records(theta, dag.schema.index("f"))
    assert np.array_equal(hidden, np.broadcast_to([0.0, 1.0], hidden.shape))
    assert np.all(theta[:, dag.layout.slice(dag.schema.index("H"))] == 0.5)


@pytest.mark.parametrize(
    "prior", [None, lac.NormalWishart(2.0, {"x": 1.0, "y": 0.0, "f": 0.0, "u": 0.0}, 2.0)]
)
def test_climbs_begin_there(prior: Any) -> None:
    dag, table = mixed()
    found = lac.fit(dag, table, prior=prior, starts=lac.Around(3), stop=lac.Stop(iterations=40))
    assert len({start.trace[0] for start in found.starts}) == 3
    assert all(np.all(np.diff(start.trace) > -1e-8) for start in found.starts)
    assert found.objective > found.starts[0].trace[0]


def test_uniform_and_tied_families_and_pure_gaussians() -> None:
    dag = lac.dag(
        "H -> x w; A -> w",
        states={"A": 2, "H": 2},
        kinds={"x": "continuous", "w": "continuous"},
        hidden="H",
        family={"w": "uniform"},
    )
    rows = {"A": [0, 1] * 20, "x": np.sin(np.arange(40.0)), "w": np.arange(40.0)}
    assert np.isfinite(lac.fit(dag, rows, starts=lac.Around(2)).objective)
    free = lac.dag("H -> x y", kinds={"x": "continuous", "y": "continuous"}, hidden="H")
    tied = lac.Dag(free.schema, free.parents, (("x", "y"),))
    z = np.random.default_rng(1).normal(size=200)
    found = lac.fit(tied, {"x": z + 1, "y": -z - 1}, starts=lac.Around(2), stop=lac.Stop(iterations=1))
    assert np.all(np.abs([s.network.regression("x").intercept for s in found.starts]) < 0.5)  # between ±1
    factor = lac.dag("f -> x y z", kinds="continuous", hidden="f")
    rows = {name: z + np.random.default_rng(k).normal(size=200) for k, name in enumerate("xyz", start=2)}
    around, drawn = (
        lac.fit(factor, rows, fixed={"f": [0.0, 1.0]}, starts=starts) for starts in (lac.Around(2), 3)
    )
    assert around.objective == pytest.approx(drawn.objective, abs=1e-3)

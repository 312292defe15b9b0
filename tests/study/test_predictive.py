"""Posterior predictive checks: statistics are SciPy's, a true model passes, a wrong one does not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats.contingency import association
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app
from lacunary.study.predictive import _usual


def mixed_rows(size: int = 200) -> lac.Table:
    """Return rows of two discrete and two continuous columns, some of whose cells are missing."""
    schema = lac.Schema(
        (
            lac.Variable("a", ("0", "1", "2")),
            lac.Variable("b", ("0", "1")),
            lac.Variable("x", kind="continuous"),
            lac.Variable("y", kind="continuous"),
        )
    )
    truth = lac.random_network(lac.Dag.from_parents(schema, {"b": ["a"], "x": ["a"], "y": ["x"]}), rng=3)
    return lac.make_holes(truth.sample(size, rng=4), 0.1, rng=5)


def test_statistics_are_those_of_scipy() -> None:
    rows = mixed_rows()
    frame: Any = rows.to_frame("pandas")
    told = dict(_usual(rows))
    both = frame[["a", "b"]].dropna()
    counts = np.array(
        [[((both.a == i) & (both.b == j)).sum() for j in both.b.unique()] for i in both.a.unique()]
    )
    # Sums of some hundred terms: 1e-12 is a thousand times their rounding.
    assert told["a, b"] == pytest.approx(association(counts, method="cramer"), abs=1e-12)
    xy = frame[["x", "y"]].dropna()
    assert told["x, y"] == pytest.approx(stats.pearsonr(xy.x, xy.y).statistic, abs=1e-12)
    assert told["skewness of x"] == pytest.approx(stats.skew(frame.x.dropna()), abs=1e-12)
    ax = frame[["a", "x"]].dropna()
    groups = [part.x.to_numpy() for _, part in ax.groupby("a", observed=True)]
    f, n, k = stats.f_oneway(*groups).statistic, len(ax), len(groups)
    ratio = np.sqrt(f * (k - 1) / (f * (k - 1) + n - k))  # η² = SSB / (SSB + SSW)
    assert told["a, x"] == pytest.approx(ratio, abs=1e-12)


def test_a_weight_counts_as_so_many_rows() -> None:
    rows = mixed_rows(60)
    weights = np.arange(60) % 3
    weighed = lac.Table(rows.schema, rows.codes, rows.reals, weights.astype(float))
    repeated = rows.take(np.repeat(np.arange(60), weights))
    one, other = dict(_usual(weighed)), dict(_usual(repeated))
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value == pytest.approx(other[name], abs=1e-12)


def test_what_the_model_leaves_out_is_found() -> None:
    rows = mixed_rows()
    alone = lac.predictive_check(lac.Dag.from_parents(rows.schema, {}), rows, tables=40)
    # Whatever hangs together in the rows does so more than in any table of a model without arcs.
    assert {one.name for one in alone.statistics if one.p == 1 / 41} & {"a, b", "x, y"}
    assert {"a, x"} <= {one.name for one in alone.statistics if one.beyond}
    right = lac.predictive_check("a -> b; a -> x; x -> y", rows, tables=40)
    # In 95 % intervals of seven statistics of a true model more than two miss in 0.4 % of tables.
    assert sum(one.beyond for one in right.statistics) <= 2
    assert "beyond 95 %" in str(right)
    assert list(right.to_frame("polars").columns)[:2] == ["name", "observed"]


def test_statistics_of_ones_own() -> None:
    rows = mixed_rows()[["a", "x"]]
    found = lac.predictive_check("a -> x", rows, {"most": lambda t: float(np.nanmax(t.reals))}, tables=8)
    assert [one.name for one in found.statistics] == ["most"]
    with pytest.raises(lac.ParameterError, match="nothing to compare"):
        lac.predictive_check("a -> x", rows, {"never": lambda t: float("nan")}, tables=8)
    with pytest.raises(lac.ParameterError, match="at least one table"):
        lac.predictive_check("a -> x", rows, tables=0)


def test_at_the_prompt(tmp_path: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(mixed_rows()[["a", "b"]].to_frame("polars").write_csv(), encoding="utf-8")
    words = "--classes 1 --starts 1 --checks 9 --json --kinds a=discrete --kinds b=discrete"
    done = CliRunner().invoke(app, ["report", str(path), *words.split()])
    assert done.exit_code == 0, done.output
    assert [one["name"] for one in json.loads(done.stdout)["checks"]] == ["a, b"]

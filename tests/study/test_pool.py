"""Rubin's rules beside numbers of R's mice, Little's test beside naniar's, shifts beside their sums."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.study.pool import Estimates, pooled_estimates

Q = np.array([1.2, 1.5, 0.9, 1.1, 1.4])
U = np.array([0.04, 0.05, 0.045, 0.038, 0.05])

AIR = Path(__file__).parent / "airquality.csv"
"""New York air quality, May to September 1973 (Chambers et al. 1983), as R has it in ``datasets``."""


def estimates(dof: float) -> list[Estimates]:
    return [Estimates(("q",), np.array([q]), np.sqrt([u]), dof) for q, u in zip(Q, U, strict=True)]


@pytest.mark.parametrize(
    ("dof", "df", "fmi"),
    # mice 3.x, pool.scalar(Q, U, n = 60, k = 3) and pool.scalar(Q, U).
    [(57.0, 7.26837122818, 0.68218468512), (np.inf, 10.917034301152, 0.662030190459)],
)
def test_scalars_are_pooled_as_mice_does(dof: float, df: float, fmi: float) -> None:
    [found] = pooled_estimates(estimates(dof))
    assert found.estimate == pytest.approx(1.22)
    assert found.error**2 == pytest.approx(0.113)
    assert found.increase == pytest.approx(1.533632287)
    assert found.dof == pytest.approx(df)
    assert found.missing_information == pytest.approx(fmi)


def test_an_interval_and_a_p_value() -> None:
    """mice: chl ~ age + bmi on four filled nhanes tables, the line of bmi."""
    m, w, b = 4, 2.867281053, 1.344851599
    spread = np.sqrt(b * (m - 1) / m) * np.array([1.0, 1.0, -1.0, -1.0])
    given = [Estimates(("bmi",), np.array([6.512025929 + s]), np.array([np.sqrt(w)]), 22.0) for s in spread]
    [found] = pooled_estimates(given)
    assert (found.error, found.dof) == pytest.approx((2.132685057, 8.070463371))
    assert (found.low, found.high) == pytest.approx((1.60150946, 11.42254240))
    assert found.p == pytest.approx(0.015575744857)
    assert found.missing_information == pytest.approx(0.4834879147)


def test_where_nothing_is_missing_nothing_is_added() -> None:
    same = [Estimates(("q",), np.array([2.0]), np.array([0.5]), 30.0)] * 3
    [found] = pooled_estimates(same)
    assert (found.error, found.missing_information) == pytest.approx((0.5, 0.0))
    assert found.dof == pytest.approx(31 / 33 * 30)  # Barnard and Rubin's, with nothing missing


def numbers(frame: Any) -> dict[str, tuple[float, float]]:
    x = np.asarray(frame["x"], dtype=np.float64)
    return {"mean": (float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))))}


def test_every_way_to_give_tables_pools_alike() -> None:
    rng = np.random.default_rng(0)
    parts = [lac.read({"x": rng.normal(size=30), "g": ["a", "b"] * 15}) for _ in range(3)]
    frames = [part.to_frame("pandas") for part in parts]
    import pandas as pd
    import polars as pl

    stacked = pd.concat([frame.assign(copy=k) for k, frame in enumerate(frames)])
    whole = lac.read(stacked.drop(columns="copy"))
    wanted = lac.pool(parts, numbers)["mean"]
    ways: list[Any] = [
        lac.pool(frames, numbers), lac.pool(stacked, numbers), lac.pool(whole, numbers, copies=3),
        lac.pool(pl.from_pandas(stacked), numbers), lac.pool(whole, numbers, copies=3, library="dict"),
    ]  # fmt: skip
    for found in ways:
        assert found["mean"].estimate == pytest.approx(wanted.estimate)
        assert found["mean"].error == pytest.approx(wanted.error)
    assert "missing at random" in str(ways[0])
    assert list(ways[0].to_frame("dict")["name"]) == ["mean"]


def test_fitted_models_and_covariances_are_taken() -> None:
    import pandas as pd

    def model(frame: Any) -> Any:
        q = float(np.mean(frame["x"]))
        return SimpleNamespace(params=pd.Series({"q": q}), bse=pd.Series({"q": 0.2}), df_resid=57)

    frames = [pd.DataFrame({"x": [q]}) for q in Q]
    found = lac.pool(frames, model)["q"]
    other = lac.pool(frames, lambda f: (np.mean(f["x"]), [[0.04]]), dof=57)["q1"]
    assert (found.estimate, found.dof) == pytest.approx((other.estimate, other.dof))


@pytest.mark.parametrize(
    ("filled", "analysis", "words"),
    [
        ([{"x": [1.0]}], numbers, "at least two"),
        ([{"x": [1.0, 2.0]}, {"x": [3.0, 4.0]}], lambda f: {"m": 1.0}, "standard error"),
        ([{"x": [1.0, 2.0]}, {"x": [3.0, 4.0]}], lambda f: {f"m{f['x'][0]}": (1.0, 1.0)}, "same names"),
        ([{"x": [1.0, 2.0]}, {"x": [3.0, 4.0]}], lambda f: {"m": (np.nan, 1.0)}, "finite"),
    ],
)
def test_what_cannot_be_pooled_is_refused(filled: Any, analysis: Any, words: str) -> None:
    with pytest.raises(lac.ParameterError, match=words):
        lac.pool(filled, analysis)


def test_what_was_estimated_before_is_pooled() -> None:
    done = [{"a": (1.0, 0.5)}, {"a": (1.4, 0.6)}, {"a": (0.9, 0.4)}]
    tables = [{"row": [k]} for k in range(3)]
    assert lac.pool(done) == lac.pool(tables, lambda frame: done[frame["row"][0]])
    with pytest.raises(lac.ParameterError, match="what was estimated in a list"):
        lac.pool({"copy": [1, 2], "x": [1.5, 2.5]})


def test_copies_are_numbered_and_hidden_columns_left_out() -> None:
    rows = lac.make_holes(lac.asia().sample(20, rng=0), 0.2, rng=0)
    filled = lac.impute(rows, how="draw", copies=3, copy_column="copy", rng=0)
    assert filled.schema.names[0] == "copy"
    assert filled.to_frame("dict")["copy"] == [1] * 20 + [2] * 20 + [3] * 20
    with pytest.raises(lac.ParameterError, match="already"):
        lac.impute(lac.asia(), rows, how="draw", copies=2, copy_column="smoke")
    graph = lac.naive_bayes(rows.schema, hidden="h", states=2)
    model = lac.random_network(graph)
    assert "h" in lac.impute(model, rows).schema
    assert "h" not in lac.impute(model, rows, hidden_columns=False).schema
    shares = lac.impute(model, rows, how="probability", hidden_columns=False)
    assert not [name for name in shares.schema.names if name.startswith("h=")]
    numbers = lac.impute(lac.read({"x": [1.0, None, 2.5, 3.1], "y": [1.5, 2.0, None, 4.0]}), how="draw",
                         copies=2, copy_column="copy", rng=0)  # fmt: skip
    assert numbers.to_frame("dict")["x"][0] == 1.0


# Little's test


def test_littles_test_of_the_air_in_new_york() -> None:
    """naniar's manual, mcar_test(airquality): 35.1 with 14 degrees of freedom, p = 0.00142, four patterns."""
    found = lac.mcar_test(air())
    assert (found.dof, found.patterns) == (14, 4)
    assert found.statistic == pytest.approx(35.1, abs=0.05)
    assert found.p == pytest.approx(0.00142, abs=5e-6)
    assert "35.1" in str(found)


def air() -> lac.Table:
    names = AIR.read_text(encoding="utf-8").splitlines()[0].replace('"', "").split(",")
    return lac.read(AIR, kinds=dict.fromkeys(names, "continuous"))


def test_littles_test_refuses_states_and_equal_patterns() -> None:
    with pytest.raises(lac.SchemaError, match="is discrete"):
        lac.mcar_test(lac.house_votes())
    with pytest.raises(lac.ParameterError, match="same holes"):
        lac.mcar_test({"x": [1.0, 2.5, 3.5], "y": [2.0, 1.5, 4.5]})


def test_what_predicts_holes_is_found() -> None:
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 400))
    y[x > 0.5] = np.nan
    found = lac.missingness(lac.read({"x": x, "y": y, "z": z}))
    first = found.predictors[0]
    assert (first.missing, first.by, first.test) == ("y", "x", "Welch's t")
    from scipy import stats

    gone = np.isnan(y)
    test = stats.ttest_ind(x[gone], x[~gone], equal_var=False)
    assert (first.statistic, first.p) == pytest.approx((test.statistic, test.pvalue))
    other = next(one for one in found if one.by == "z")
    assert other.adjusted == pytest.approx(stats.ttest_ind(z[gone], z[~gone], equal_var=False).pvalue)
    assert found.shares == {"y": pytest.approx(gone.mean())}


def test_adjusted_p_values_are_those_of_scipy() -> None:
    from scipy import stats

    found = lac.missingness(lac.house_votes())
    p = np.array([one.p for one in found])
    assert [one.adjusted for one in found] == pytest.approx(stats.false_discovery_control(p))
    party = [one for one in found if one.by == "party" and one.test == "χ²"]
    assert party
    assert len(found.to_frame("dict")["p"]) == len(p)


# Shifts


def test_a_shift_moves_a_mean_by_the_share_that_was_filled() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=120)
    rows = lac.make_holes(lac.read({"x": x, "y": 2 * x + rng.normal(size=120)}), 0.25, rng=1)

    def mean(frame: Any) -> dict[str, tuple[float, float]]:
        return {"y": (float(np.mean(frame["y"])), 0.1)}

    found = lac.delta_adjusted(rows, mean, "y", [-1.0, 0.0, 2.0], copies=3, library="dict")
    told = [one["y"].estimate for one in found.pooled]
    share = rows.holes[:, 1].mean()
    assert np.diff(told) == pytest.approx([share, 2 * share])
    half = np.arange(120) < 60
    some = lac.delta_adjusted(rows, mean, "y", [0.0, 1.0], where=half, copies=3, library="dict")
    moved = some.pooled[1]["y"].estimate - some.pooled[0]["y"].estimate
    assert moved == pytest.approx((rows.holes[:, 1] & half).mean())
    assert "missing at random" in str(found)


def test_a_shift_multiplies_the_odds_of_a_state() -> None:
    graph = lac.dag("a -> b c")
    rows = lac.make_holes(lac.random_network(graph, rng=3).sample(600, rng=3), 0.4, rng=3)
    holes = rows.holes[:, rows.schema.index("b")]

    def odds(frame: Any) -> dict[str, tuple[float, float]]:
        p = float(np.mean([s == 1 for s, gone in zip(frame["b"], holes, strict=True) if gone]))
        return {"log-odds": (float(np.log(p / (1 - p))), 0.1)}

    deltas = [0.0, 1.0, -1.0]
    found = lac.delta_adjusted(rows, odds, "b", deltas, state=1, copies=2, library="dict")
    told = np.array([one["log-odds"].estimate for one in found.pooled])
    p = 1 / (1 + np.exp(-np.abs(told).max()))
    # So many cells change by independent chances: five standard errors of a log-odds.
    assert told[1:] - told[0] == pytest.approx([1.0, -1.0], abs=5 / np.sqrt(2 * holes.sum() * p * (1 - p)))
    with pytest.raises(lac.ParameterError, match="state=…"):
        lac.delta_adjusted(rows, odds, "b", [0.0])


def test_regressions_of_filled_tables_are_those_of_r() -> None:
    """mice on the nhanes tables beside this file: chl ~ age + bmi, pool() of lm()."""
    from lacunary.study.simple import simple_estimates

    path = Path(__file__).parent / "nhanes_filled.csv"
    kinds: dict[str, Any] = dict.fromkeys(("age", "bmi", "hyp", "chl"), "continuous")
    table = lac.read(path, kinds={**kinds, "copy": "discrete"})
    found = simple_estimates(table, "copy", ["bmi"], [], {"chl": ["age", "bmi"]})
    assert found["chl on bmi"].estimate == pytest.approx(6.512025929)
    assert found["chl on bmi"].error == pytest.approx(2.132685057)
    assert found["chl on bmi"].dof == pytest.approx(8.070463371)
    assert found["chl on age"].p == pytest.approx(0.004401729565)


def filled(**columns: Any) -> lac.Table:
    """Two filled tables one after the other."""
    rows = len(next(iter(columns.values()))) // 2
    return lac.read({"copy": ["1"] * rows + ["2"] * rows, **columns})


def test_means_shares_and_regressions_have_degrees_of_freedom_of_their_own() -> None:
    """Tables that agree: nothing is missing, so each is an analysis of one table; numpy's own by hand."""
    from lacunary.study.simple import simple_estimates

    x = [1.0, 2.5, 4.0, 4.5, 7.25, 8.0]
    y = [2.0, 1.5, 5.0, 4.0, 9.0, 7.5]
    s = ["a", "b", "c", "a", "b", "c"]
    found = simple_estimates(
        filled(x=x * 2, y=y * 2, s=s * 2), "copy", ["x"], [("s", "a")], {"y": ["x", "s"]}
    )
    design = np.column_stack([np.ones(6), x, [k == "b" for k in s], [k == "c" for k in s]])
    slopes, (rest,), _, _ = np.linalg.lstsq(design, np.array(y), rcond=None)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rest / 2)
    names = ["y on intercept", "y on x", "y on s=b", "y on s=c"]
    assert [found[name].estimate for name in names] == pytest.approx(slopes)
    assert [found[name].error for name in names] == pytest.approx(errors)

    def seen(dof: float) -> float:
        return (dof + 1) / (dof + 3) * dof  # Barnard and Rubin, where nothing is missing

    assert found["y on x"].dof == pytest.approx(seen(2))
    assert found["mean of x"].dof == pytest.approx(seen(5))
    assert found["mean of x"].error == pytest.approx(np.std(x, ddof=1) / np.sqrt(6))


@pytest.mark.parametrize("shift", [1e6, 1e9])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e120])
def test_a_regression_far_from_zero_keeps_its_digits(shift: float, unit: float) -> None:
    from lacunary.study.simple import simple_estimates

    rng = np.random.default_rng(3)
    x = (np.round(1024 * rng.normal(size=12)) / 1024 + shift) * unit
    y = rng.normal(size=12)
    kinds: dict[str, Any] = {"x": "continuous", "y": "continuous"}
    copies = {"copy": ["1"] * 12 + ["2"] * 12, "x": [*x, *x], "y": [*y, *y]}
    found = simple_estimates(lac.read(copies, kinds=kinds), "copy", [], [], {"y": ["x"]})
    from mpmath import mp, mpf

    with mp.workdps(60):
        xs, ys = [mpf(float(v)) for v in x], [mpf(float(v)) for v in y]
        mx, my = sum(xs) / 12, sum(ys) / 12
        slope = sum((a - mx) * (b - my) for a, b in zip(xs, ys, strict=True)) / sum((a - mx) ** 2 for a in xs)
    # x itself has lost log10(shift) of its sixteen digits.
    assert found["y on x"].estimate == pytest.approx(float(slope), rel=1e-14 * shift)


@pytest.mark.parametrize(
    ("columns", "asked", "message"),
    [
        ({"b": [1.5, None, 2.5, 3.0]}, {"means": ["b"]}, "b has holes"),
        ({"b": ["u", None, "v", "u"]}, {"shares": [("b", "u")]}, "b has holes"),
        ({"y": [1.5, 2.5] * 2, "b": ["u", None, "v", "u"]}, {"regressions": {"y": ["b"]}}, "b has holes"),
        ({"y": [1.5, 2.5, 0.0, 1.0] * 3, "x": [1.5, 2.5, 0.0, 1.0] * 3, "z": [3.0, 5.0, 0.0, 2.0] * 3},
         {"regressions": {"y": ["x", "z"]}}, "z is made up of"),
        ({"y": [1.5, 2.5, 0.1, 1.0], "x": [1.5, 2.5, 0.2, 1.0]}, {"regressions": {"y": ["x"]}}, "too few"),
    ],
)  # fmt: skip
def test_what_is_not_filled_or_not_told_is_refused(columns: Any, asked: Any, message: str) -> None:
    from lacunary.study.simple import simple_estimates

    with pytest.raises(lac.SchemaError, match=message):
        simple_estimates(filled(**columns), "copy", **{"means": [], "shares": [], "regressions": {}, **asked})


@pytest.mark.parametrize(
    ("numbers", "message"),
    [(["1", None, "2", "2"], "is a hole in some rows"), (["1", "1", "1", "2"], "have 1 to 3 rows")],
)
def test_what_numbers_no_filled_tables_is_refused(numbers: list[str | None], message: str) -> None:
    columns = {"copy": numbers, "x": [1.5, 2.5, 3.25, 4.0]}
    for given in (lac.read(columns), columns):
        with pytest.raises(lac.ParameterError, match=message):
            lac.pool(given, lambda part: {"x": (1.0, 1.0)})


def test_tables_numbered_by_a_continuous_column() -> None:
    table = lac.read({"copy": [0.0, 0.0, 1.0, 1.0], "x": [1.0, 2.0, 3.0, 5.0]}, kinds={"copy": "continuous"})
    found = lac.pool(table, lambda part: {"x": (float(part["x"].mean()), 1.0)})
    assert (found.copies, found["x"].estimate) == (2, 2.75)

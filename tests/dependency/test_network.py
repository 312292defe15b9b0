"""Tables filled from themselves: what stays, what is refused, and what theory says of the filling."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lacunary as lac


def frame(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    """Return numbers, a skewed one among them, and states that depend on them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(rows)
    made = pd.DataFrame(
        {
            "x": x,
            "y": 2 * x + 0.2 * rng.standard_normal(rows),
            "skewed": np.exp(x + 0.3 * rng.standard_normal(rows)),
            "sign": np.where(x > 0, "plus", "minus"),
        }
    )
    for name in ("y", "skewed", "sign"):
        made.loc[rng.random(rows) < 0.2, name] = None
    return made


def test_every_hole_is_filled_and_nothing_else_changes() -> None:
    table = lac.read(frame())
    filled = lac.impute(table)
    assert not filled.holes.any()
    assert filled.schema == table.schema
    seen = ~table.holes
    numbers = seen & np.array([not v.discrete for v in table.schema])
    assert filled.reals[numbers].tobytes() == table.reals[numbers].tobytes()
    assert (filled.codes[seen] == table.codes[seen]).all()
    assert any("normal scores" in said and "'skewed'" in said for said in filled.decisions)


def test_draws_beyond_what_was_observed_are_said() -> None:
    """On its own scale a column that spreads by more than its mean is drawn below its least value, zero."""
    table = lac.read(frame())
    filled = lac.impute(table, how="draw", copies=5, rng=1)
    assert filled["skewed"].min() < 0 < np.nanmin(table["skewed"])
    assert [said for said in filled.decisions if "beyond what was observed" in said and "'skewed'" in said]
    assert not any("'y'" in said or "normal scores" in said for said in filled.decisions)


def test_states_follow_numbers_and_numbers_each_other() -> None:
    """The sign of x is all that the state says, and y is 2x but for noise of 0.2."""
    whole = frame()
    table = lac.read(whole)
    filled = lac.impute(table)
    lost = table.holes[:, 3]
    truth = np.where(whole["x"] > 0, "plus", "minus")
    # A row whose x is within 0.1 of zero, one in twelve, may be told wrongly; so may one more.
    assert np.mean(filled["sign"][lost] == truth[lost]) > 0.85
    lost = table.holes[:, 1]
    error = filled["y"][lost] - 2 * whole["x"].to_numpy()[lost]
    assert np.sqrt(np.mean(error**2)) < 0.2  # the error of the regression alone, not of the noise


def test_copies_are_reproducible_and_differ() -> None:
    table = lac.read(frame(60))
    first = lac.impute(table, how="draw", copies=2, rng=4)
    again = lac.impute(table, how="draw", copies=2, rng=4)
    assert first.reals.tobytes() == again.reals.tobytes()
    assert len(first) == 120
    assert not first.holes.any()
    one, other = first.reals[:60], first.reals[60:]
    assert (one[table.holes[:, 1], 1] != other[table.holes[:, 1], 1]).all()


def test_draws_follow_the_posterior_of_a_regression() -> None:
    """Where one column alone has holes the copies' slopes average to that of the rows without.

    Given flat priors the filled table's slope is that slope plus noise, and with a share f of rows lost its
    variance between copies is about f times the variance that the slope has by the rows without.
    """
    rng = np.random.default_rng(5)
    x = rng.standard_normal(150)
    y = np.where(rng.random(150) < 0.4, np.nan, 0.2 * x + rng.standard_normal(150))
    copies = 120
    drawn = lac.impute(lac.read({"x": x, "y": y}), how="draw", copies=copies, rng=0)
    slopes = np.array([np.polyfit(x, part, 1)[0] for part in drawn["y"].reshape(copies, 150)])
    seen = ~np.isnan(y)
    (slope, _), spread = np.polyfit(x[seen], y[seen], 1, cov=True)
    lost = float((~seen).mean())
    wide = float(np.sqrt(lost * spread[0, 0]))
    assert slopes.mean() == pytest.approx(slope, abs=5 * wide / np.sqrt(copies))
    assert slopes.std() == pytest.approx(wide, rel=0.35)  # five errors of a deviation of 120 draws: 5/√240


def test_probabilities_are_given_for_states_and_moments_for_numbers() -> None:
    table = lac.read(frame(60))
    told = lac.impute(table, how="probability")
    assert told.schema.names == (
        "x mean", "x sd", "y mean", "y sd", "skewed mean", "skewed sd", "sign=minus", "sign=plus",
    )  # fmt: skip
    assert told["sign=minus"] + told["sign=plus"] == pytest.approx(np.ones(60))
    assert (told["y sd"][~table.holes[:, 1]] == 0).all()
    assert (told["y sd"][table.holes[:, 1]] > 0).all()


def test_other_rows_are_told_too() -> None:
    known = lac.learn_dependencies(lac.read(frame(100)), chains=2, trees=10)
    other = lac.read(frame(40, seed=9), schema=known.schema)
    assert not lac.impute(known, other, how="mean").holes.any()
    drawn = lac.impute(known, other, how="draw", copies=3, rng=0)
    assert len(drawn) == 120
    posterior = known.posterior(other, ["x", "sign"])
    assert posterior["sign"].sum(axis=1) == pytest.approx(np.ones(40))
    assert posterior["x"].mean.tolist() == other["x"].tolist()


def test_columns_without_holes_at_first_are_learned_when_they_have_some() -> None:
    whole = pd.DataFrame({"a": [0.1, 1.2, 2.1, 2.9, 4.2], "b": [0.0, 1.0, 2.1, 3.2, 3.9]})
    known = lac.learn_dependencies(whole, chains=2, trees=5)
    row = lac.read({"a": [np.nan], "b": [2.0]}, schema=known.schema)
    assert known.posterior(row)["a"].mean[0] == pytest.approx(2.1, abs=1.0)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1.5, None, 2.5]},
        {"a": ["u", "v", None]},
        {"a": [3.0, 3.0, None, 3.0], "b": ["u", "u", "u", None]},
        {"a": [1.0, None], "b": [None, "u"]},
    ],
    ids=["one number", "one label", "constants", "one cell each"],
)
def test_small_tables_are_filled(columns: Any) -> None:
    kinds: Any = {name: "discrete" if "u" in cells else "continuous" for name, cells in columns.items()}
    table = lac.read(columns, kinds=kinds)
    hows: Any = ("mean", "draw", "mode")
    for how in hows:
        filled = lac.impute(table, how=how, rng=0)
        assert not filled.holes.any()
        for variable in table.schema:
            assert variable.discrete or np.isfinite(filled[variable.name]).all()


def test_weights_count_rows() -> None:
    """A row that counts a hundred times is all but alone."""
    table = lac.read({"a": ["u", "v", None], "n": [100, 1, 1]}, weights="n")
    assert lac.impute(table, how="probability")["a=u"][2] > 0.9


def test_what_cannot_be_filled_is_refused() -> None:
    with pytest.raises(lac.TableError, match="b has no observed cell"):
        lac.impute(lac.read({"a": [1.0, 2.0], "b": [None, None]}, kinds={"b": "continuous"}))
    with pytest.raises(lac.SchemaError, match="is hidden"):
        lac.learn_dependencies(lac.hide(lac.asia().sample(5, rng=0), ["smoke"]))
    with pytest.raises(lac.ParameterError, match="needs the rows"):
        lac.impute(lac.asia())
    with pytest.raises(lac.ParameterError, match="copies"):
        lac.impute(frame(30), copies=2)
    with pytest.raises(lac.ParameterError, match="chains"):
        lac.learn_dependencies(frame(30), chains=0)


def test_it_says_how_far_it_is() -> None:
    seen: list[tuple[int, int]] = []
    lac.impute(frame(30), watch=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == list(range(seen[0][1]))


def test_it_can_be_copied(tmp_path: Path) -> None:
    import pickle

    known = lac.learn_dependencies(frame(40), chains=1, trees=5)
    again = pickle.loads(pickle.dumps(known))
    rows = lac.read(frame(20, seed=3), schema=known.schema)
    assert again.posterior(rows)["y"].mean.tobytes() == known.posterior(rows)["y"].mean.tobytes()


@pytest.mark.parametrize("how", ["mean", "draw"])
@pytest.mark.parametrize("value", [0.0, 5.0, 3e-9, -1e100])
def test_a_column_of_one_value_is_filled_with_it(value: float, how: Any) -> None:
    x, y = np.full(60, value), np.random.default_rng(0).normal(size=60)
    x[-3:] = np.nan
    rows = lac.read({"x": x, "y": y}, kinds={"x": "continuous"})
    found = lac.impute(rows, how=how, rng=0).reals[:, 0]
    np.testing.assert_allclose(found, value, rtol=1e-15, atol=0)  # means of five equal numbers round


def test_numbers_that_differ_in_their_last_digits_are_drawn_as_wide_as_they_are() -> None:
    rng = np.random.default_rng(0)
    x, y = 1e6 + 1e-7 * rng.normal(size=200), rng.normal(size=200)  # a thousand of the last digit's units
    x[100:] = np.nan
    found = lac.impute({"x": x, "y": y}, how="draw", rng=0).reals[100:, 0]
    assert 0.6 < found.std() / np.nanstd(x) < 1.6  # of a hundred draws, and parameters from as many


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-151, 1e151, 1e160, 1e307])
def test_numbers_whose_squares_are_none_are_refused(size: float) -> None:
    rng = np.random.default_rng(0)
    x, y = size * rng.normal(size=40), rng.normal(size=40)
    for holes in (x, y):
        holes[-1] = np.nan
    for how in ("mean", "draw"):
        with pytest.raises(lac.TableError, match=r"x varies by about .* in other units"):
            lac.impute({"x": x, "y": y}, how=how, rng=0)


def test_answers_do_not_depend_on_which_copy_is_asked_nor_on_what_was_asked_before() -> None:
    table = lac.read(frame())
    known = lac.learn_dependencies(table, chains=2, trees=5)
    again = copy.deepcopy(known)
    fresh = pickle.loads(pickle.dumps(known))
    other = lac.read(frame())
    holes = lac.make_holes(table, 0.2, rng=3)  # x has holes now, which it had not when this was learned
    wanted = known.posterior(table, ["sign"])["sign"]
    first = known.posterior(holes, ["x"])["x"].mean
    for one in (known, again, fresh):
        np.testing.assert_array_equal(one.posterior(holes, ["x"])["x"].mean, first)
        np.testing.assert_array_equal(one.posterior(other, ["sign"])["sign"], wanted)


def test_holes_where_there_were_none_are_told_alike_whoever_asks_first() -> None:
    rows = {name: column for name, column in frame(80).items() if name != "sign"}
    whole = lac.read({**rows, "z": np.arange(80) % 7 * 1.5 + rows["x"], "w": np.arange(80) % 5 + 0.5})
    known = lac.learn_dependencies(whole, chains=2, trees=5)
    z, w = (lac.make_holes(whole, 0.3, columns=[name], rng=1) for name in "zw")
    other = copy.deepcopy(known)
    first = [known.posterior(table, [name])[name].mean for name, table in (("z", z), ("w", w))]
    second = [other.posterior(table, [name])[name].mean for name, table in (("w", w), ("z", z))]
    np.testing.assert_array_equal(first, second[::-1])

"""Uniform families: densities, bounds, draws and evidence against what the definition says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad

import lacunary as lac
from lacunary.data.holes import make_holes
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import GraphError, ImpossibleRowError, LacunaryError, ParameterError, TableError
from lacunary.evidence.score import METHODS, able, score
from lacunary.family.regression import Regression
from lacunary.family.uniform import Uniform
from lacunary.infer.impute import impute
from lacunary.infer.network import Network, random_network
from lacunary.infer.prior import NormalWishart
from lacunary.learn.fit import fit
from lacunary.model.make import dag

LONE = dag("X", kinds="continuous", family="uniform")
FORK = dag("A -> X; A -> Y", kinds={"X": "continuous", "Y": "continuous"}, family={"X": "uniform"})
KNOWN: dict[str, Any] = {
    "A": [0.4, 0.6],
    "X": Uniform([0.0, 3.0], [4.0, 9.0]),
    "Y": Regression([0.0, 1.0], None, [1.0, 2.0]),
}
TRUTH = Network.from_tables(FORK, KNOWN)


def density(a: int, x: float, y: float) -> float:
    """p(a, x, y) of TRUTH by definition; a cell that is NaN is integrated out."""
    low, high = ((0.0, 4.0), (3.0, 9.0))[a]
    p = (0.4, 0.6)[a]
    if not np.isnan(x):
        p *= (low <= x <= high) / (high - low)
    if not np.isnan(y):
        variance = (1.0, 2.0)[a]
        p *= float(np.exp(-0.5 * (y - a) ** 2 / variance) / np.sqrt(2 * np.pi * variance))
    return p


def test_rows_with_holes_of_both_kinds() -> None:
    table = make_holes(TRUTH.sample(200, rng=1), 0.3, rng=1)
    reals = table.reals.copy()
    reals[0, 1], reals[1, 1] = -1.0, 10.0  # outside of all bounds
    rows = Table(table.schema, table.codes, reals)
    with np.errstate(divide="ignore"):
        expected = [
            np.log(sum(density(a, x, y) for a in ((0, 1) if code == HOLE else (code,))))
            for (code, *_), (_, x, y) in zip(rows.codes, rows.reals, strict=True)
        ]
    np.testing.assert_allclose(TRUTH.log_probability(rows), expected, atol=1e-10)
    assert np.isneginf(expected[:2]).all()


def test_an_impossible_row_that_does_not_count() -> None:
    """Zero times a log-density of −∞ is zero: weight 1, 2 and 0 of density ¼, ¼ and none."""
    lone = Network.from_tables(LONE, {"X": Uniform(0.0, 4.0)})
    table = Table(LONE.schema, np.full((3, 1), HOLE, dtype=np.int8), np.array([[1.0], [2.0], [9.0]]))
    assert lone.log_likelihood(replace(table, weights=np.array([1.0, 2.0, 0.0]))) == pytest.approx(
        3 * np.log(0.25), rel=1e-12
    )
    assert lone.log_likelihood(table) == -np.inf
    rows = TRUTH.sample(50, rng=1)
    reals = np.where(np.arange(150).reshape(50, 3) == 148, 99.0, rows.reals)  # X of the last row
    rows = replace(rows, reals=reals, weights=np.append(np.ones(49), 0.0))
    assert np.isfinite(TRUTH.log_likelihood(rows))
    assert np.isfinite(fit(FORK, rows, fixed={"X": KNOWN["X"]}).log_likelihood)
    assert np.isfinite(fit(FORK, rows).log_likelihood)


def test_a_value_tells_of_its_parents() -> None:
    """x = 2 is possible with a = 0 alone, x = 3.5 with both: Bayes' rule."""
    assert TRUTH.query("A", given={"X": 2.0})[0] == pytest.approx(1.0, abs=1e-12)
    share = 0.4 / 4.0 / (0.4 / 4.0 + 0.6 / 6.0)
    assert TRUTH.query("A", given={"X": 3.5})[0] == pytest.approx(share, abs=1e-12)
    with pytest.raises(LacunaryError, match="probability zero"):
        TRUTH.query("A", given={"X": 20.0})


def test_an_answer_is_a_mixture_of_uniform_densities() -> None:
    """0.4 of 1/4 from 0 to 4, and 0.6 of 1/6 from 3 to 9."""
    answer = TRUTH.query("X")
    at = np.array([-0.1, 0.0, 2.0, 3.5, 8.0, 9.0, 9.1])
    heights = np.array([0.0, 0.1, 0.1, 0.2, 0.1, 0.1, 0.0])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(answer.log_density(at), np.log(heights), atol=1e-12)
    below = np.array([0.0, 0.0, 0.2, 0.4, 0.9, 1.0, 1.0])
    np.testing.assert_allclose(answer.probability_below(at), below, atol=1e-12)
    assert [float(answer.quantile(p)) for p in (0.2, 0.4, 0.9)] == pytest.approx([2.0, 3.5, 8.0], abs=1e-9)
    assert float(answer.mean) == pytest.approx(0.4 * 2.0 + 0.6 * 6.0)
    assert float(TRUTH.query("X", given={"A": 1}).sd) == pytest.approx(np.sqrt(3.0))
    rows: Any = TRUTH.posterior({"A": [0], "X": [None], "Y": [1.0]}, ["X"])["X"]
    np.testing.assert_allclose(rows.log_density([1.0]), np.log([0.25]))
    assert set(TRUTH.engine({"Y": 0.5}).marginals()) == {"A", "X", "Y"}


def test_evidence_that_cannot_be_is_refused_whatever_is_asked() -> None:
    """Numbers outside of all bounds, whose parents are observed, open, or none."""
    graph = dag(
        "A -> X; B -> Z; W", kinds=dict.fromkeys("XZW", "continuous"), family={"X": "uniform", "W": "uniform"}
    )
    tables: dict[str, Any] = {"A": [0.4, 0.6], "B": [0.5, 0.5], "Z": Regression([0.0, 1.0])}
    tables |= {"X": Uniform([0.0, 3.0], [4.0, 9.0]), "W": Uniform(0.0, 1.0)}
    network = Network.from_tables(graph, tables)
    for known in ({"X": 20.0}, {"A": 0, "X": 7.0}, {"W": 2.0}, {"A": {0}, "X": 7.0}):
        assert network.probability(known) == 0.0
        for name in graph.names:
            with pytest.raises(ImpossibleRowError):
                network.query(name, given=known)
            with pytest.raises(ImpossibleRowError):
                network.engine(known).query(name)
    row = {"A": [None], "X": [20.0], "B": [None], "Z": [None], "W": [None]}
    for name in graph.names:
        with pytest.raises(ImpossibleRowError, match="it has a value of X"):
            network.posterior(row, [name])


def test_draws_are_uniform() -> None:
    """Means and extremes of 20 000 draws; the mean of n draws has standard deviation width/√(12 n)."""
    x = TRUTH.sample(20_000, rng=0)
    for a, (low, high) in enumerate(((0.0, 4.0), (3.0, 9.0))):
        mine = x.reals[x.codes[:, 0] == a, 1]
        assert low <= mine.min() < low + 0.01
        assert high - 0.01 < mine.max() <= high
        assert abs(mine.mean() - (low + high) / 2) < 5 * (high - low) / np.sqrt(12 * len(mine))
    empty = Table(x.schema, x.codes[:2000], np.full((2000, 3), np.nan))
    drawn = impute(TRUTH, empty, how="draw", rng=0)
    for a, (low, high) in enumerate(((0.0, 4.0), (3.0, 9.0))):
        mine = drawn.reals[drawn.codes[:, 0] == a, 1]
        assert low <= mine.min() < low + 0.1
        assert high - 0.1 < mine.max() <= high
    mean = impute(TRUTH, empty, how="mean").reals[:, 1]
    np.testing.assert_allclose(mean, np.where(empty.codes[:, 0] == 0, 2.0, 6.0), atol=1e-9)


def test_bounds_of_highest_likelihood() -> None:
    table = make_holes(TRUTH.sample(300, rng=2), 0.2, columns=["X", "Y"], rng=2)
    found = fit(FORK, table, method="ml")
    for a in (0, 1):
        x = table.reals[(table.codes[:, 0] == a), 1]
        assert found.network.uniform("X").low[a] == pytest.approx(np.nanmin(x), abs=1e-9)
        assert found.network.uniform("X").high[a] == pytest.approx(np.nanmax(x), abs=1e-9)
    assert found.log_likelihood == pytest.approx(found.network.log_likelihood(table), abs=1e-8)


def test_a_missing_parent_does_not_blur_bounds() -> None:
    table = make_holes(TRUTH.sample(400, rng=3), 0.2, rng=3)
    found = fit(FORK, table, method="ml")
    assert found.network.uniform("X").high[0] <= 4.0
    assert found.network.uniform("X").low[1] >= 3.0
    assert np.all(np.isfinite(found.network.log_probability(table)))
    assert np.all(np.diff(found.trace) > -1e-9)


def test_declared_and_given_bounds_are_kept() -> None:
    schema = Schema((Variable("X", kind="continuous", bounds=(-1.0, 3.0)),))
    graph = dag("X", schema=schema, family="uniform")
    table = Table(schema, np.full((4, 1), HOLE, dtype=np.int8), np.array([[0.0], [1.0], [np.nan], [2.0]]))
    for method in ("ml", "map"):
        assert fit(graph, table, method=method).log_likelihood == pytest.approx(-3 * np.log(4.0), abs=1e-9)
    assert (graph.free, LONE.free) == (0, 2)
    assert score(graph, table, "exact").value == pytest.approx(-3 * np.log(4.0), abs=1e-12)
    given: Any = Uniform(-5.0, 5.0)
    rows = Table(LONE.schema, table.codes, table.reals)
    assert fit(LONE, rows, fixed={"X": given}).log_likelihood == pytest.approx(-3 * np.log(10.0), abs=1e-9)


def column(values: list[float]) -> Table:
    return Table(LONE.schema, np.full((len(values), 1), HOLE, dtype=np.int8), np.array(values)[:, None])


def test_the_peak_and_the_evidence_of_bounds() -> None:
    """The Pareto prior worth one row on mean ± sd/2, its peak, and its integral by quadrature."""
    table = column([1.0, 2.0, 4.0, 5.0])
    mean, sd = 3.0, np.sqrt(2.5)
    low, high = mean - sd / 2, mean + sd / 2

    def joint(w1: float, w2: float) -> float:  # α(α + 1)(r₂ − r₁)^α / (w₂ − w₁)^(α + 2), α = 1, times p(rows)
        return float(2 * (high - low) / (w2 - w1) ** 3 / (w2 - w1) ** 4)

    found = fit(LONE, table)
    np.testing.assert_allclose(found.network.table("X"), [1.0, 5.0], atol=1e-12)
    assert found.objective == pytest.approx(np.log(joint(1.0, 5.0)), abs=1e-10)
    # Bounds hold both the rows and [low, high]; the tails beyond 2000 are below 1e-15 of the whole.
    total, _ = dblquad(lambda w2, w1: joint(w1, w2), -2000.0, 1.0, 5.0, 2000.0, epsabs=0.0, epsrel=1e-9)
    assert score(LONE, table, "exact").value == pytest.approx(np.log(total), abs=1e-7)
    bic = score(LONE, table, "bic")
    assert bic.value == pytest.approx(-4 * np.log(4.0) - np.log(4.0), abs=1e-9)


def test_exact_evidence_beside_other_variables() -> None:
    """Given its parent a uniform variable is independent of the rest: evidences multiply."""
    table = make_holes(TRUTH.sample(50, rng=4), 0.3, columns=["X"], rng=4)
    rest = dag("A -> Y", kinds={"Y": "continuous"})
    frame = table.to_frame("pandas")
    unit = NormalWishart(nu=1.0)  # the default looks at all columns, and there are more of them in one table
    expected = score(rest, frame[["A", "Y"]], "exact", prior=unit).value
    middle, spread = np.nanmean(table.reals[:, 1]), np.nanstd(table.reals[:, 1])
    for a in (0, 1):
        x = table.reals[table.codes[:, 0] == a, 1]
        x = x[~np.isnan(x)]
        r1, r2 = middle - spread / 2, middle + spread / 2
        w1, w2 = min(r1, x.min()), max(r2, x.max())
        alpha = 1.0 + len(x)  # normalisers of the Pareto before and after
        expected += np.log(2 * (r2 - r1)) - np.log(alpha * (alpha + 1)) - alpha * np.log(w2 - w1)
    assert score(FORK, table, "exact", prior=unit).value == pytest.approx(expected, abs=1e-8)


def test_hidden_classes_above_uniform_and_normal() -> None:
    """A class that tells uniform noise from nothing: the climb does not fall and every row stays possible."""
    graph = dag("H -> X Y", kinds={"X": "continuous", "Y": "continuous"}, hidden="H", family={"X": "uniform"})
    table = random_network(graph, rng=1).sample(100, rng=1)
    found = fit(graph, table, starts=3)
    assert all(np.all(np.diff(start.trace) > -1e-8) for start in found.starts)
    assert np.isfinite(found.objective)


def test_what_is_refused() -> None:
    with pytest.raises(GraphError, match="X is uniform, and its arc with Y"):
        dag("X -> Y", kinds="continuous", family={"X": "uniform"})
    with pytest.raises(GraphError, match="X is uniform, and its arc with Y"):
        dag("Y -> X", kinds="continuous", family={"X": "uniform"})
    with pytest.raises(GraphError, match="A is discrete: a uniform"):
        dag("A", family="uniform")
    with pytest.raises(TableError, match="fewer than two values"):
        fit(LONE, column([1.0, 1.0]), method="ml")
    with pytest.raises(ParameterError, match="'variational' needs conjugate"):
        fit(LONE, column([1.0, 2.0]), method="variational")
    with pytest.raises(ParameterError, match="X: the bounds of a uniform family"):
        Network.from_tables(LONE, {"X": [2.0, 1.0]})
    with pytest.raises(ParameterError, match="a parent of X, which is uniform, is a hole"):
        score(FORK, make_holes(TRUTH.sample(50, rng=0), 0.2, columns=["A"], rng=0), "exact")


@pytest.mark.parametrize("method", [m for m in METHODS if m not in able(LONE)])
def test_other_estimates_refuse(method: str) -> None:
    with pytest.raises(ParameterError, match=f"'{method}' needs .*families.*, and that of X is uniform"):
        score(LONE, column([1.0, 2.0]), method)


def test_exact_evidence_beside_completions_multiplies() -> None:
    """What is uniform has no part in the sum over the holes of others."""
    rng = np.random.default_rng(3)
    rows = {
        "A": [0, 1] * 4,
        "X": rng.uniform(2.0, 5.0, 8).tolist(),
        "B": [0, None, 1, 0, None, 1, 1, 0],
        "C": [0, 1, 1, None, 0, 1, 0, 0],
    }
    shape: Any = {"kinds": {"X": "continuous"}, "family": {"X": "uniform"}}
    uniform, open_ = ({name: rows[name] for name in names} for names in ("AX", "BC"))
    apart = [
        score(dag("A -> X", **shape), lac.read(uniform), "exact"),
        score(dag("B -> C"), lac.read(open_), "exact"),
    ]
    whole = score(dag("A -> X; B -> C", **shape), lac.read(rows), "exact")
    assert whole.value == pytest.approx(sum(one.value for one in apart), rel=1e-12)


def test_what_is_within_bounds_does_not_depend_on_units() -> None:
    """A thousandth of the width beyond is outside, what rounding may do is not; in all units."""
    family: Any = LONE.number(0)
    for unit in (1e-9, 1.0, 1e9):
        x = unit * np.array([-0.001, -1e-12, 0.5, 1.0 + 1e-12, 1.001])
        found = family.log_values(x, unit * np.array([0.0, 1.0]))
        np.testing.assert_array_equal(found > -np.inf, [False, True, True, True, False])
        np.testing.assert_allclose(found[1:4], -np.log(unit), rtol=1e-12)


def test_how_much_wider_bounds_are_that_hold_others() -> None:
    mine = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    theirs = np.array([[-1.0, 3.0], [0.5, 2.0], [-1.0, 0.5], [0.0, 1.0]])
    family: Any = LONE.number(0)
    np.testing.assert_allclose(family.kl(mine, theirs), [np.log(4.0), np.inf, np.inf, 0.0])
    for unit in (1e-9, 1e9):  # what rounding may do is not outside, in all units
        beyond = unit * np.array([[-1e-12, 1.0 + 1e-12], [0.0, 1.001]])
        np.testing.assert_allclose(family.kl(beyond, unit * theirs[[3, 3]]), [0.0, np.inf], atol=1e-11)


def test_the_evidence_of_declared_bounds_passes_over_rows_that_do_not_count() -> None:
    schema = Schema((Variable("X", kind="continuous", family="uniform", bounds=(0.0, 4.0)),))
    family: Any = lac.Dag.from_parents(schema, {}).number(0)
    x, weights = np.array([1.0, 9.0, 3.0]), np.array([1.0, 0.0, 2.0])
    assert family.log_evidence_of(x, weights, np.ones((1, 3), dtype=bool)) == pytest.approx(-3 * np.log(4.0))


def test_bounds_have_a_distance() -> None:
    with pytest.raises(LacunaryError):
        Uniform(1.0, 1.0)

"""Poisson counts: densities, fits, evidence and answers against enumeration, quadrature and scipy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import gamma, nbinom, poisson

import lacunary as lac
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import FileError, GraphError, ParameterError, TableError
from lacunary.evidence.score import METHODS, able
from lacunary.family.poisson import PoissonFamily
from lacunary.infer.belief import Belief, PriorBelief
from lacunary.infer.divergence import kl
from lacunary.learn.stop import Stop
from tests.naive_mixed import gamma_poisson, leaf_log_evidence

LONE = lac.dag("X", kinds="continuous", family="poisson")
FORK = lac.dag(
    "A -> X; A -> B; B -> Y",
    kinds={"X": "continuous", "Y": "continuous"},
    family={"X": "poisson", "Y": "poisson"},
)
KNOWN: dict[str, Any] = {
    "A": [0.4, 0.6],
    "B": [[0.2, 0.8], [0.7, 0.3]],
    "X": lac.Poisson([2.0, 7.0]),
    "Y": lac.Poisson([0.5, 11.0]),
}
TRUTH = lac.Network.from_tables(FORK, KNOWN)
CLOSE = Stop(relative=1e-13, iterations=5000)


def column(values: list[float]) -> Table:
    return Table(LONE.schema, np.full((len(values), 1), HOLE, dtype=np.int8), np.array(values)[:, None])


def holed(rows: int, share: float = 0.25, seed: int = 0) -> Table:
    return lac.make_holes(TRUTH.sample(rows, rng=seed), share, rng=seed)


def test_rows_with_holes_of_both_kinds() -> None:
    table = holed(200)
    expected = [leaf_log_evidence(TRUTH, c, r) for c, r in zip(table.codes, table.reals, strict=True)]
    # Sums of a few logs of order one in double arithmetic.
    np.testing.assert_allclose(TRUTH.log_probability(table), expected, rtol=1e-12)


def test_what_is_no_count_is_impossible() -> None:
    lone = lac.Network.from_tables(LONE, {"X": lac.Poisson(2.0)})
    assert np.isneginf(lone.log_probability(column([1.5, -1.0]))).all()
    assert lone.log_probability(column([3.0]))[0] == pytest.approx(poisson.logpmf(3, 2.0), rel=1e-13)


def test_a_count_tells_of_its_parents() -> None:
    share = 0.4 * poisson.pmf(3, 2.0) / (0.4 * poisson.pmf(3, 2.0) + 0.6 * poisson.pmf(3, 7.0))
    assert TRUTH.query("A", given={"X": 3})[0] == pytest.approx(share, rel=1e-12)


def test_a_query_answers_with_a_mixture_of_poissons() -> None:
    found = TRUTH.query("X")
    x = np.arange(0, 60)
    mass = 0.4 * poisson.pmf(x, 2.0) + 0.6 * poisson.pmf(x, 7.0)
    np.testing.assert_allclose(np.exp([float(found.log_density(k)) for k in x]), mass, rtol=1e-11)
    np.testing.assert_allclose([float(found.probability_below(k)) for k in x], np.cumsum(mass), rtol=1e-11)
    assert float(found.mean) == pytest.approx(5.0)
    assert float(found.sd) == pytest.approx(np.sqrt(mass @ x**2 - 25.0), rel=1e-9)
    for p in (0.05, 0.5, 0.95):
        assert float(found.quantile(p)) == int(np.searchsorted(np.cumsum(mass), p))
    assert float(found.mode) == 7.0
    assert np.isneginf(found.log_density(2.5))


def test_a_belief_answers_with_negative_binomials() -> None:
    belief = Belief(LONE, np.array([3.0, 12.0]))  # Gamma(12, 3)
    found, x = belief.query("X"), np.arange(0, 200)
    mass = nbinom.pmf(x, 12.0, 3.0 / 4.0)
    np.testing.assert_allclose(np.exp([float(found.log_density(k)) for k in x[:40]]), mass[:40], rtol=1e-10)
    np.testing.assert_allclose(
        [float(found.probability_below(k)) for k in x[:40]], np.cumsum(mass)[:40], rtol=1e-10
    )
    assert float(found.sd) == pytest.approx(nbinom.std(12.0, 0.75), rel=1e-12)
    np.testing.assert_allclose(
        belief.log_probability(column([0.0, 5.0, 9.0])), nbinom.logpmf([0, 5, 9], 12.0, 0.75), rtol=1e-12
    )


def test_a_belief_answers_for_each_row_by_the_parent_it_has() -> None:
    """Gamma(1, 1) with 2, 4 under a and 9 under b: shapes 7 and 10, means 7/3 and 5."""
    schema = lac.Schema(
        (lac.Variable("g", ("a", "b")), lac.Variable("x", kind="continuous", family="poisson"))
    )
    dag = lac.Dag.from_parents(schema, {"x": ["g"]})
    belief = Belief(dag, np.array([3.0, 2.0, 3.0, 7.0, 2.0, 10.0]))
    rows = lac.read({"g": ["a", "b", None], "x": [None, None, None]}, schema=schema)
    found: Any = belief.posterior(rows, ["x"])["x"]
    np.testing.assert_allclose(found.mean, [7 / 3, 5.0, 0.6 * 7 / 3 + 0.4 * 5.0], rtol=1e-12)
    three = [nbinom.pmf(3, 7, 3 / 4), nbinom.pmf(3, 10, 2 / 3)]
    np.testing.assert_allclose(np.exp(found.log_density(3)), [*three, 0.6 * three[0] + 0.4 * three[1]])


def test_draws_are_poisson() -> None:
    """Means of n draws of variance λ are within 5 √(λ/n) of λ."""
    x = TRUTH.sample(20_000, rng=0)
    for a, rate in enumerate((2.0, 7.0)):
        mine = x.reals[x.codes[:, 0] == a, 1]
        assert abs(mine.mean() - rate) < 5 * np.sqrt(rate / len(mine))
        assert abs(mine.var() - rate) < 5 * rate * np.sqrt(2.5 / len(mine))  # Var of s² ≈ (2λ² + λ)/n
        assert np.all(mine == np.floor(mine))
    empty = Table(x.schema, x.codes[:4000], np.full((4000, 4), np.nan))
    drawn = lac.impute(TRUTH, empty, how="draw", rng=0)
    for a, rate in enumerate((2.0, 7.0)):
        mine = drawn.reals[drawn.codes[:, 0] == a, 1]
        assert abs(mine.mean() - rate) < 5 * np.sqrt(rate / len(mine))
    best = lac.impute(TRUTH, empty, how="mode").reals[:, 1]
    np.testing.assert_array_equal(best, np.where(empty.codes[:, 0] == 0, 2.0, 7.0))


@pytest.mark.parametrize("method", ["ml", "map"])
def test_complete_rows_have_their_means(method: Any) -> None:
    """ML is Σx/N; MAP in log λ is (1 + Σx)/(1/mean + N), the prior exponential with the column's mean."""
    table = TRUTH.sample(300, rng=1)
    rate = lac.fit(FORK, table, method=method).network.parameters_of("X").rate
    for a in (0, 1):
        x = table.reals[table.codes[:, 0] == a, 1]
        extra = (0.0, 0.0) if method == "ml" else (1.0, 1 / table.reals[:, 1].mean())
        assert rate[a] == pytest.approx((x.sum() + extra[0]) / (len(x) + extra[1]), rel=1e-12)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("method", ["ml", "map", "variational"])
def test_fits_climb_to_a_stationary_point(method: Any, accelerate: bool) -> None:
    table = holed(300, seed=2)
    found = lac.fit(FORK, table, method=method, stop=CLOSE, accelerate=accelerate)
    assert np.all(np.diff(found.trace) > -1e-9)
    assert found.log_likelihood == pytest.approx(found.network.log_likelihood(table), rel=1e-12)
    if method == "ml":  # no nearby rate is better
        for factor in (0.98, 1.02):
            moved = {**found.network.tables, "X": found.network.table("X") * factor}
            assert lac.Network.from_tables(FORK, moved).log_likelihood(table) < found.log_likelihood


def test_hidden_classes_above_counts_and_others() -> None:
    graph = lac.dag(
        "H -> X Y Z W", hidden={"H": 2}, states={"W": 2},
        kinds={"X": "continuous", "Y": "continuous", "Z": "continuous"},
        family={"X": "poisson", "Y": "poisson"},
    )  # fmt: skip
    tables: dict[str, Any] = {
        "H": [0.5, 0.5], "X": lac.Poisson([1.0, 12.0]), "Y": lac.Poisson([20.0, 3.0]),
        "Z": lac.Regression([0.0, 3.0], None, [1.0, 1.0]), "W": [[0.9, 0.1], [0.2, 0.8]],
    }  # fmt: skip
    table = lac.Network.from_tables(graph, tables).sample(400, rng=3)
    codes = table.codes.copy()
    codes[:, 0] = HOLE
    rows = lac.make_holes(Table(graph.schema, codes, table.reals), 0.1, columns=list("XYZW"), rng=0)
    for starts in (5, lac.Around(5)):
        found = lac.fit(graph, rows, starts=starts).network.parameters_of("X").rate
        np.testing.assert_allclose(sorted(found), [1.0, 12.0], rtol=0.15)  # sd of 12 from 200 rows: 2 %


def test_exact_evidence_is_a_product_of_negative_binomials() -> None:
    values = [0.0, 3.0, 4.0, 1.0, 9.0]
    mean = float(np.mean(values))
    assert float(lac.score(LONE, column(values), "exact")) == pytest.approx(
        gamma_poisson(np.array(values), 1.0, 1.0 / mean), rel=1e-12
    )
    # The same as the integral of likelihood times prior, and a hole says nothing.
    given = PriorBelief(Belief(LONE, np.array([0.5, 2.5])))
    integral, _ = quad(
        lambda rate: np.exp(poisson.logpmf(values, rate).sum()) * gamma.pdf(rate, 2.5, scale=2.0), 0, 60
    )
    assert float(lac.score(LONE, column([*values, np.nan]), "exact", prior=given)) == pytest.approx(
        np.log(integral), abs=1e-8
    )


def test_exact_evidence_sums_over_holes_of_parents() -> None:
    """A -> X with A a hole in two rows: Σ over completions of Dirichlet times Gamma–Poisson evidence."""
    graph = lac.dag("A -> X", kinds={"X": "continuous"}, family={"X": "poisson"})
    codes, x = (
        np.array([[0, HOLE], [1, HOLE], [HOLE, HOLE], [HOLE, HOLE]], dtype=np.int8),
        [1.0, 6.0, 0.0, 4.0],
    )
    table = Table(graph.schema, codes, np.column_stack([np.full(4, np.nan), x]))
    mean, logs = float(np.mean(x)), []
    for a in range(2):
        for b in range(2):
            states = np.array([0, 1, a, b])
            n = np.bincount(states, minlength=2)
            tables = gammaln(2) - gammaln(6) + gammaln(1 + n).sum()
            logs.append(tables + sum(gamma_poisson(np.array(x)[states == s], 1.0, 1 / mean) for s in (0, 1)))
    assert float(lac.score(graph, table, "exact")) == pytest.approx(float(logsumexp(logs)), rel=1e-12)


def test_every_estimate_is_made() -> None:
    assert able(FORK) == tuple(METHODS)


@pytest.mark.parametrize(
    "method", ["cheeseman-stutz", "variational", "mled", "ais", "path", "bridge", "chib"]
)
def test_estimates_are_exact_without_holes(method: str) -> None:
    table = TRUTH.sample(60, rng=4)
    exact = float(lac.score(FORK, table, "exact"))
    assert float(lac.score(FORK, table, method)) == pytest.approx(exact, rel=1e-9)


def test_estimates_with_holes_agree_with_enumeration() -> None:
    """Few holes of A: the sum over all completions; bounds below it, samplers within five errors."""
    graph = lac.dag("A -> X", kinds={"X": "continuous"}, family={"X": "poisson"})
    truth = lac.Network.from_tables(graph, {"A": [0.5, 0.5], "X": lac.Poisson([2.0, 6.0])})
    table = truth.sample(40, rng=5)
    codes = table.codes.copy()
    codes[:8, 0] = HOLE
    rows = Table(graph.schema, codes, table.reals)
    exact = float(lac.score(graph, rows, "exact"))
    assert float(lac.score(graph, rows, "variational")) <= exact
    assert float(lac.score(graph, rows, "cheeseman-stutz", plain=True)) <= exact
    # Laplace's error falls like 1/N: a twentieth of a nat at 40 rows and three parameters.
    assert float(lac.score(graph, rows, "laplace")) == pytest.approx(exact, abs=0.1)
    for method in ("ais", "path", "bridge", "chib"):
        found = lac.score(graph, rows, method)
        assert found.stderr is not None
        assert abs(found.value - exact) < 5 * found.stderr + 0.05


def test_laplace_of_one_rate_against_its_formula() -> None:
    """In log λ: a log λ − bλ at λ = a/b has curvature a, for a = 1 + Σx, b = 1/mean + N."""
    values = np.array([3.0, 4.0, 8.0, 5.0, 2.0])
    a, b = 1 + values.sum(), 1 / values.mean() + len(values)
    peak = a * np.log(a / b) - a - gammaln(values + 1).sum() + np.log(1 / values.mean())
    expected = peak + 0.5 * np.log(2 * np.pi / a)
    assert float(lac.score(LONE, column(values.tolist()), "laplace")) == pytest.approx(expected, rel=1e-10)


def test_the_evidence_does_not_depend_on_how_rows_are_told() -> None:
    table = TRUTH.sample(50, rng=6)
    twice = table.take(np.tile(np.arange(50), 2))
    heavy = Table(table.schema, table.codes, table.reals, np.full(50, 2.0))
    one, other = (float(lac.score(FORK, rows, "exact")) for rows in (twice, heavy))
    assert one == pytest.approx(other, rel=1e-12)


def test_files_keep_it(tmp_path: Path) -> None:
    found = lac.fit(FORK, holed(100), method="map")
    for thing in (TRUTH, found):
        lac.save(thing, tmp_path / "x.json")
        again: Any = lac.load(tmp_path / "x.json")
        network = again.network if hasattr(again, "network") else again
        mine = found.network if thing is found else TRUTH
        np.testing.assert_array_equal(network.theta, mine.theta)
        assert network.dag == FORK
    np.testing.assert_allclose(again.belief.alpha, found.belief.alpha)
    for suffix in ("bif", "net", "xml"):
        with pytest.raises(FileError, match="X"):
            lac.save(TRUTH, tmp_path / f"x.{suffix}")


def test_divergence_and_dimension() -> None:
    other = lac.Network.from_tables(FORK, {**KNOWN, "X": lac.Poisson([3.0, 7.0])})
    expected = 0.4 * (2.0 * np.log(2.0 / 3.0) - 2.0 + 3.0)
    assert kl(TRUTH, other) == pytest.approx(expected, rel=1e-12)
    assert lac.dimension(FORK).rank == FORK.free == 7
    two = lac.dag(
        "H -> X Y",
        hidden={"H": 2},
        kinds={"X": "continuous", "Y": "continuous"},
        family={"X": "poisson", "Y": "poisson"},
    )
    assert lac.dimension(two).rank == two.free == 5  # a mixture of two products of Poissons is identified


def test_the_entropy_is_that_of_scipy() -> None:
    family = FORK.families[FORK.schema.index("X")]
    assert isinstance(family, PoissonFamily)
    rates = np.array([[0.0], [0.3], [4.0], [250.0]])
    np.testing.assert_allclose(family.entropy(rates)[1:], poisson.entropy(rates[1:, 0]), rtol=1e-9)
    assert family.entropy(rates)[0] == 0.0
    np.testing.assert_allclose(family.entropy(rates[1:2]), poisson.entropy(0.3), rtol=1e-9)  # by itself


def test_what_is_refused() -> None:
    with pytest.raises(GraphError, match="X is a Poisson count, and its arc with Y"):
        lac.dag("X -> Y", kinds="continuous", family={"X": "poisson"})
    with pytest.raises(GraphError, match="A is discrete: a poisson family is for continuous"):
        lac.dag("A", family="poisson")
    with pytest.raises(GraphError, match="poisson families cannot be tied"):
        lac.dag("X; Y", kinds="continuous", family="poisson", tied=[("X", "Y")])
    with pytest.raises(TableError, match=r"X holds 1\.5, and a Poisson family is for counts"):
        lac.fit(LONE, column([1.0, 1.5]))
    with pytest.raises(TableError, match="X holds -2, and a Poisson family is for counts"):
        lac.fit(LONE, column([1.0, -2.0]))
    with pytest.raises(ParameterError, match="X: the rates of a Poisson family"):
        lac.Network.from_tables(LONE, {"X": [-1.0]})
    with pytest.raises(ParameterError, match="a Gamma of positive shape and rate"):
        Belief(LONE, np.array([0.0, 1.0]))
    with pytest.raises(ParameterError, match="the family of X is not a regression but a poisson"):
        TRUTH.regression("X")


def test_a_column_of_zeros() -> None:
    table = column([0.0, 0.0, 0.0])
    assert lac.fit(LONE, table, method="ml").network.parameters_of("X").rate == 0.0
    assert 0.0 < lac.fit(LONE, table).network.parameters_of("X").rate < 1.0
    assert np.isfinite(float(lac.score(LONE, table, "exact")))


def test_bounds_of_a_declared_column_are_kept_to() -> None:
    schema = Schema((Variable("X", kind="continuous", bounds=(0.0, 5.0)),))
    graph = lac.dag("X", schema=schema, family="poisson")
    with pytest.raises(TableError, match="outside the declared bounds"):
        lac.fit(graph, Table(schema, np.full((1, 1), HOLE, dtype=np.int8), np.array([[7.0]])))


def search_rows(share: float = 0.0) -> Table:
    kinds: Any = {"X": "continuous", "Z": "continuous"}
    graph = lac.dag("A -> X; A -> B; B -> Z", kinds=kinds, family={"X": "poisson"})
    tables = {name: KNOWN[name] for name in "ABX"} | {"Z": lac.Regression([0.0, 2.0], None, [1.0, 1.0])}
    table = lac.Network.from_tables(graph, tables).sample(400, rng=7)
    return lac.make_holes(table, share, rng=7) if share else table


@pytest.mark.parametrize("score", [None, "bic"])
def test_a_search_scores_graphs_by_their_evidence(score: str | None) -> None:
    found = lac.search(search_rows(), family={"X": "poisson"}, score=score)
    assert found.dag.family == (("X", "poisson"),)
    assert found.dag.parents_of("X") == ("A",)
    exact = lac.score(
        found.dag, search_rows(), "exact" if score is None else "bic", prior=lac.bdeu(1), at="ml"
    )
    assert found.score == pytest.approx(float(exact), rel=1e-9)


def test_a_search_with_holes_finds_the_arcs_and_goes_on_from_a_start() -> None:
    rows = search_rows(0.1)
    found = lac.search(rows, family={"X": "poisson"})
    assert found.dag.parents_of("X") == ("A",)
    again = lac.search(rows, family={"X": "poisson"}, start=found.dag)
    assert again.score >= found.score - 1e-6
    with pytest.raises(GraphError, match="has the family 'poisson' in the start, and not in the search"):
        lac.search(search_rows(), start=found.dag)


def test_no_arc_leaves_a_count() -> None:
    with pytest.raises(GraphError, match="X"):
        lac.search(search_rows(), family={"X": "poisson"}, required="X -> Z")
    with pytest.raises(ParameterError, match="X is uniform, and a search weighs conjugate families alone"):
        lac.search(search_rows(), family={"X": "uniform"})


def counts_of_two_groups(share: float) -> Table:
    rng = np.random.default_rng(0)
    x = np.vstack([rng.poisson([2, 20, 5], size=(200, 3)), rng.poisson([12, 3, 5], size=(200, 3))])
    schema = Schema(tuple(Variable(name, kind="continuous") for name in "xyz"))
    table = Table(schema, np.full((400, 3), HOLE, dtype=np.int8), x.astype(np.float64))
    return lac.make_holes(table, share, rng=0) if share else table


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_mixtures_of_counts(share: float) -> None:
    """Two groups of 200 rows, whose rates are told within 3 standard errors, √(20/200) at most."""
    table = counts_of_two_groups(share)
    found = lac.fit_mixture(table, structure="empty", family="poisson")
    assert len(found.mixture.components) == 2
    rates = sorted(tuple(component.parameters()) for component in found.mixture.components)
    np.testing.assert_allclose(rates, [(2, 20, 5), (12, 3, 5)], atol=1.0)
    rows, weights = found.mixture.log_probability(table), found.mixture.weights
    logs = np.array([component.log_probability(table) for component in found.mixture.components])
    np.testing.assert_allclose(rows, logsumexp(logs + np.log(weights)[:, None], axis=0))
    asked, x = found.mixture.query("x"), np.arange(80)
    rate = np.array([component.theta[0] for component in found.mixture.components])
    mass = poisson.pmf(x[:, None], rate) @ weights
    np.testing.assert_allclose(np.exp([float(asked.log_density(k)) for k in x]), mass, rtol=1e-9, atol=1e-300)
    filled = lac.impute(found, table, how="draw", rng=0).reals
    assert np.all(filled == np.floor(filled))


def test_a_mixture_is_a_hidden_class(tmp_path: Path) -> None:
    """One component's evidence is exact: that of independent counts."""
    table = counts_of_two_groups(0.0)
    found = lac.fit_mixture(table, structure="empty", family="poisson", components=1)
    exact = sum(
        gamma_poisson(table.reals[:, i], 1.0, 1.0 / float(table.reals[:, i].mean())) for i in range(3)
    )
    assert float(found.estimate) == pytest.approx(exact, rel=1e-9)
    lac.save(found, tmp_path / "x.json")
    again: Any = lac.load(tmp_path / "x.json")
    np.testing.assert_array_equal(again.mixture.components[0].theta, found.mixture.components[0].theta)


def test_reports_tell_the_rate() -> None:
    from lacunary.report.regressions import equations, measures, regressions_text

    assert [str(each) for each in equations(TRUTH, "X")] == ["rate 2", "rate 7"]
    assert "rate 11" in regressions_text(TRUTH)
    assert measures(TRUTH)[0]["equations"][1].parameters == {"rate": 7.0}

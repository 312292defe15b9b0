"""Mixed networks against every configuration written down and a dense multivariate normal for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.integrate import trapezoid

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.errors import ParameterError, TooWideError
from lacunary.exactness import exactly
from lacunary.family.regression import Regression
from lacunary.infer.expect import expect
from lacunary.infer.mixed import prepare_mixed
from lacunary.infer.mixed_complex import complex_log_evidence
from lacunary.infer.rows import prepare
from tests import naive_mixed
from tests.strategies import Case, mixed_cases

CLOSE = 1e-8
"""Two ways through doubles: conditioning loses the digits that the covariances' condition takes."""


@settings(max_examples=60)
@given(mixed_cases())
def test_log_evidence_is_that_of_the_dense_normals(case: Case) -> None:
    network, table = case
    slow = [naive_mixed.log_evidence(network, c, r) for c, r in zip(table.codes, table.reals, strict=True)]
    assert network.log_probability(table) == pytest.approx(slow, rel=CLOSE, abs=CLOSE)
    assert network.log_likelihood(table) == pytest.approx(table.weights @ slow, rel=CLOSE, abs=CLOSE)


@settings(max_examples=60)
@given(mixed_cases())
def test_expected_statistics_are_those_of_the_dense_normals(case: Case) -> None:
    network, table = case
    found = expect(network, table)
    for name, slow in naive_mixed.statistics(network, table).items():
        scale = max(1.0, float(np.abs(slow).max()))
        assert found.table(name) == pytest.approx(slow, rel=CLOSE, abs=CLOSE * scale)


@settings(max_examples=20)
@given(mixed_cases(max_variables=4))
def test_several_vectors_are_swept_as_each_alone(case: Case) -> None:
    network, table = case
    prepared = prepare(network.dag, table)
    other = np.array(network.theta)
    for i in network.dag.layout.numeric:
        network.dag.layout.records(other, i)[:] *= 1.5
    both = np.array([network.theta, other])
    swept = prepared.expect(both)
    counts, log = swept.counts, swept.log_likelihood
    for k in range(2):
        swept = prepared.expect(both[k : k + 1])
        alone, log_alone = swept.counts, swept.log_likelihood
        assert np.allclose(counts[k], alone[0], rtol=1e-12, atol=1e-12)
        assert log[k] == pytest.approx(log_alone[0], rel=1e-12)


def test_an_impossible_favourite_does_not_hide_what_is_possible() -> None:
    """Given x = 1000, state 0 would be likelier by 500,000 nats, but it has probability zero."""
    dag = lac.dag("H -> x", hidden="H", kinds={"x": "continuous"})
    network = lac.Network.from_tables(dag, {"H": [0.0, 1.0], "x": [[1000.0, 1.0], [0.0, 1.0]]})
    log = network.log_probability({"x": [1000.0, 0.0]})
    assert log == pytest.approx([-0.5 * 1000.0**2 - 0.5 * np.log(2 * np.pi), -0.5 * np.log(2 * np.pi)])
    counts = expect(network, {"x": [1000.0, 0.0]})
    assert counts.table("H") == pytest.approx([0.0, 2.0])
    assert counts.table("x")[1] == pytest.approx(np.array([[2.0, 1000.0], [1000.0, 1e6]]))


def test_an_outlier_has_a_finite_log_density() -> None:
    dag = lac.dag("H -> x -> y", hidden="H", kinds={"x": "continuous", "y": "continuous"})
    network = lac.Network.from_tables(
        dag, {"H": [0.5, 0.5], "x": [[0.0, 1.0], [1.0, 1.0]], "y": [0.0, 1.0, 1e-12]}
    )
    log = network.log_probability({"x": [1e200, 0.0, np.nan], "y": [-1e200, 1e30, 3e15]})
    assert np.all(np.isfinite(log))
    counts = expect(network, {"x": [1e100, 0.0, np.nan], "y": [-1e100, 1e30, 3e15]}).counts
    assert np.all(np.isfinite(counts))


def test_a_nearly_exact_relation_conditions_well() -> None:
    """y = x with noise of 1e-8: seeing y gives x to 1e-8, and the variance is never below zero."""
    dag = lac.dag("x -> y", kinds="continuous")
    network = lac.Network.from_tables(dag, {"x": [5.0, 1.0], "y": [0.0, 1.0, 1e-16]})
    found = expect(network, {"x": [np.nan], "y": [7.0]}).table("x")
    assert found[0, 1] == pytest.approx(7.0, abs=1e-7)
    log = network.log_probability({"x": [np.nan], "y": [7.0]})
    assert log == pytest.approx([-2.0 - 0.5 * np.log(2 * np.pi)], abs=1e-9)


def test_families_that_are_not_open_stay_apart() -> None:
    """A thousand children of a class, none with a hole, must not become one matrix of a thousand columns."""
    dag = lac.dag(
        "H -> " + " ".join(f"x{i}" for i in range(300)), hidden="H", kinds="continuous", states={"H": 2}
    )
    table = lac.random_network(dag).sample(5, 0)
    units = prepare_mixed(dag, table.align(dag.schema)).stand_ins[0].units
    assert len(units) == 300


def test_too_many_open_configurations_are_refused() -> None:
    parents = [f"d{i}" for i in range(11)]
    dag = lac.dag(f"{' '.join(parents)} -> x", kinds={"x": "continuous"}, states=dict.fromkeys(parents, 4))
    rows = lac.Table(dag.schema.hide(parents), np.full((5, 12), -1, dtype=np.int8), np.ones((5, 12)))
    with exactly(), pytest.raises(TooWideError, match=r"d0, d1"):
        prepare(lac.Dag(rows.schema, dag.parents), rows)


def test_bad_regressions_are_refused() -> None:
    dag = lac.dag("d -> x; y -> x", kinds={"x": "continuous", "y": "continuous"})
    good = {"d": [0.5, 0.5], "y": [0.0, 1.0]}
    with pytest.raises(ParameterError, match=r"regression of x must have shape \(2, 3\)"):
        lac.Network.from_tables(dag, {**good, "x": [0.0, 1.0, 1.0]})
    with pytest.raises(ParameterError, match="variance that is not positive"):
        lac.Network.from_tables(dag, {**good, "x": Regression([0.0, 1.0], [[1.0], [2.0]], [1.0, 0.0])})
    with pytest.raises(ParameterError, match="not finite"):
        lac.Network.from_tables(dag, {**good, "x": [[0.0, np.nan, 1.0]] * 2})
    with pytest.raises(ParameterError, match="d is discrete"):
        lac.Network.from_tables(dag, {**good, "d": Regression(0.0)})
    network = lac.Network.from_tables(dag, {**good, "x": Regression([0.0, 1.0], [[1.0], [2.0]], [1.0, 4.0])})
    assert network.regression("x").sd.tolist() == [1.0, 2.0]
    assert network.regression("x").coefficients.tolist() == [[1.0], [2.0]]


@settings(max_examples=40)
@given(mixed_cases(max_rows=5))
def test_posteriors_are_those_of_the_dense_normals(case: Case) -> None:
    """Probabilities of states; mean and variance of continuous variables, mixed over configurations."""
    network, table = case
    found = network.posterior(table)
    continuous = [v.name for v in table.schema if not v.discrete]
    for row, (codes, reals) in enumerate(zip(table.codes, table.reals, strict=True)):
        ways = naive_mixed.shares(network, codes, reals)
        for variable in table.schema:
            answer = found[variable.name]
            if variable.discrete:
                slow = np.zeros(variable.size)
                for share, way in ways:
                    slow[way.states[variable.name]] += share
                assert answer[row] == pytest.approx(slow, abs=CLOSE)
                continue
            assert not isinstance(answer, np.ndarray)
            i = continuous.index(variable.name)
            mean = sum(share * way.mean[i] for share, way in ways)
            second = sum(share * (way.mean[i] ** 2 + way.covariance[i, i]) for share, way in ways)
            assert answer.mean[row] == pytest.approx(mean, rel=CLOSE, abs=CLOSE)
            assert answer.sd[row] ** 2 == pytest.approx(second - mean**2, rel=1e-6, abs=1e-7 * max(1, second))


def test_what_is_drawn_has_the_posterior_s_moments() -> None:
    """Given y alone, draws of the class and of x agree with the answer; 4 standard errors of 20,000 draws."""
    dag = lac.dag("H -> x -> y; H -> y", hidden="H", kinds={"x": "continuous", "y": "continuous"})
    network = lac.Network.from_tables(
        dag,
        {"H": [0.3, 0.7], "x": [[0.0, 1.0], [2.0, 0.5]], "y": [[0.0, 1.0, 0.5], [1.0, -0.5, 1.0]]},
    )
    answer = network.query("x", given={"y": 0.7})
    state = network.query("H", given={"y": 0.7})
    drawn = network.sample(20_000, 0, given={"y": 0.7})
    x = drawn.reals[:, dag.schema.index("x")]
    assert x.mean() == pytest.approx(answer.mean, abs=4 * float(answer.sd) / 141)
    assert x.std() == pytest.approx(answer.sd, rel=0.03)
    h = drawn.codes[:, dag.schema.index("H")]
    assert h.mean() == pytest.approx(state[1], abs=4 * 0.5 / 141)
    for k in (0, 1):  # jointly, not one by one
        assert x[h == k].mean() == pytest.approx(
            answer.means[k], abs=4 * answer.sds[k] / (h == k).sum() ** 0.5
        )
    grid = np.linspace(-8, 8, 4001)
    density = np.exp([answer.log_density(v) for v in grid])
    assert trapezoid(density, grid) == pytest.approx(1.0, abs=1e-6)
    assert trapezoid(density * grid, grid) == pytest.approx(answer.mean, abs=1e-6)


def test_imputation_fills_both_kinds() -> None:
    dag = lac.dag("d -> x -> y", kinds={"x": "continuous", "y": "continuous"}, states={"d": ["no", "yes"]})
    network = lac.Network.from_tables(
        dag, {"d": [0.1, 0.9], "x": [[-5.0, 1.0], [5.0, 1.0]], "y": [1.0, 2.0, 0.25]}
    )
    table = {"d": [None, "no", None], "x": [np.nan, np.nan, -4.0], "y": [np.nan, np.nan, np.nan]}
    mean = lac.impute(network, table, how="mean")
    assert mean.reals[:, 1] == pytest.approx([0.1 * -5 + 0.9 * 5, -5.0, -4.0])
    assert mean.reals[:, 2] == pytest.approx([1 + 2 * 4.0, -9.0, -7.0])
    mode = lac.impute(network, table)
    assert mode.reals[:, 1] == pytest.approx([5.0, -5.0, -4.0])
    assert mode.codes[:, 0].tolist() == [1, 0, 0]
    wide = lac.impute(network, table, how="probability")
    assert wide.schema.names == ("d=no", "d=yes", "x mean", "x sd", "y mean", "y sd")
    assert wide.reals[2, 3:] == pytest.approx([0.0, -7.0, 0.5])
    drawn = lac.impute(network, table, how="draw", copies=2000, rng=0)
    assert not drawn.holes.any()
    y = drawn.reals[2::3, 2]  # the third row's copies
    assert y.mean() == pytest.approx(-7.0, abs=4 * 0.5 / 2000**0.5)
    assert y.std() == pytest.approx(0.5, rel=0.07)
    best = network.explain({"x": -4.0})
    assert (best["d"], best["x"]) == ("no", -4.0)
    assert best["y"] == pytest.approx(-7.0)


def test_a_prior_in_the_data_s_units_is_the_default_moved_there() -> None:
    """`NormalWishart` at the columns' means and variances is that of one row, said aloud."""
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(50.0, 3.0, 40), "y": rng.normal(-2.0, 0.1, 40)}
    dag = lac.dag("x -> y", kinds="continuous")
    means = {name: float(column.mean()) for name, column in table.items()}
    said = lac.NormalWishart(means=means, covariance=np.diag([table["x"].var(), table["y"].var()]))
    one, other = lac.fit(dag, table, prior=lac.NormalWishart(nu=1)), lac.fit(dag, table, prior=said)
    assert other.objective == pytest.approx(one.objective, abs=1e-9)
    assert other.belief.alpha == pytest.approx(one.belief.alpha, rel=1e-9)
    heavy = lac.fit(dag, table, prior=lac.NormalWishart(nu=1e6)).network.regression("y")
    assert heavy.coefficients == pytest.approx([0.0], abs=1e-4)
    with pytest.raises(ParameterError, match="both"):
        lac.NormalWishart(means=means)


def test_the_last_configuration_may_be_one_that_no_row_allows() -> None:
    """p and q are both open, yet no row allows (1, 1): the configurations are the graph's, not the rows'."""
    dag = lac.dag("p q -> x", states=2, kinds={"x": "continuous"})
    records = [[[0.0, 1.0], [1.0, 2.0]], [[-1.0, 0.5], [9.0, 1.0]]]
    network = lac.Network.from_tables(dag, {"p": [0.3, 0.7], "q": [0.4, 0.6], "x": records})
    table = lac.Table(
        dag.schema,
        np.array([[HOLE, 0, HOLE], [0, HOLE, HOLE], [0, 0, HOLE]], dtype=np.int16),
        np.array([[np.nan, np.nan, x] for x in (0.5, -0.5, 2.0)]),
    )
    slow = [naive_mixed.log_evidence(network, c, r) for c, r in zip(table.codes, table.reals, strict=True)]
    assert network.log_probability(table) == pytest.approx(slow, rel=CLOSE)
    step = complex_log_evidence(prepare_mixed(dag, table), network.theta[None].astype(np.complex128))
    assert step[0].real == pytest.approx(slow, rel=CLOSE)


def test_what_is_kept_of_a_vector_is_of_no_other_and_no_other_weights() -> None:
    """Log-densities of the last vector are kept: answers must not depend on what was asked before."""
    dag = lac.dag("H -> x y; d -> x; x -> y", hidden="H", kinds={"x": "continuous", "y": "continuous"})
    table = lac.random_network(dag).sample(40, 1).align(dag.schema)
    first, second = (lac.random_network(dag, rng=k).theta for k in (2, 3))
    weights = np.random.default_rng(4).random(40)
    rows = prepare_mixed(dag, table)
    rows.log_evidence(first[None])
    asked = rows.weighed(weights).expect(first[None]), rows.weighed(weights).expect(second[None])
    for theta, found in zip((first, second), asked, strict=True):
        fresh = prepare_mixed(dag, table).weighed(weights).expect(theta[None])
        assert np.array_equal(found.counts, fresh.counts)
        assert np.array_equal(found.log_likelihood, fresh.log_likelihood)
    theta = second.copy()
    rows.log_evidence(theta[None])
    theta[:] = first  # the caller's own vector changes under what is kept
    assert np.array_equal(rows.log_evidence(theta[None]), prepare_mixed(dag, table).log_evidence(first[None]))


def test_the_density_of_what_is_observed_stands_at_its_value() -> None:
    graph = lac.dag("k -> x", kinds={"x": "continuous"})
    network = lac.Network.from_tables(graph, {"k": [0.4, 0.6], "x": lac.Regression([0.0, 2.0])})
    known = network.query("x", given={"x": 1.5})
    assert known.log_density([1.4, 1.5, 1.6]).tolist() == [-np.inf, np.inf, -np.inf]
    assert known.probability_below([1.4, 1.5]).tolist() == [0.0, pytest.approx(1.0)]

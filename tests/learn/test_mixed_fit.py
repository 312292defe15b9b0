"""Learning with continuous variables: theory, scikit-learn, and the laws that every climb keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.decomposition import FactorAnalysis
from sklearn.mixture import GaussianMixture

import lacunary as lac
from lacunary.errors import TableError
from lacunary.infer.rows import prepare
from lacunary.infer.scale import Scale
from lacunary.learn import em
from lacunary.learn.em import maximize_rule
from lacunary.model.dag import Dag
from tests.strategies import Case, mixed_cases

TIGHT = lac.Stop(relative=1e-14, iterations=3000)


def mixture(n: int, classes: int) -> Dag:
    """A hidden class above n continuous variables, each of which is a parent of all that follow."""
    names = [f"x{i}" for i in range(n)]
    arcs = [f"{a} -> {b}" for i, a in enumerate(names) for b in names[i + 1 :]]
    return lac.dag(
        "; ".join([f"H -> {' '.join(names)}", *arcs]),
        hidden={"H": classes},
        kinds=dict.fromkeys(names, "continuous"),
    )


def columns(x: NDArray[np.float64], letter: str = "x") -> dict[str, NDArray[np.float64]]:
    return {f"{letter}{i}": x[:, i] for i in range(x.shape[1])}


def blobs(rows: int = 300) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, 3))
    return np.concatenate([first[: rows // 2] + 2, first[rows // 2 :] * [1.0, 2.0, 0.5] - [1.0, 3.0, 2.0]])


def as_network(dag: Dag, model: GaussianMixture) -> lac.Network:
    """The mixture's weights, means and covariances as a class and regressions."""
    tables: dict[str, NDArray[np.float64]] = {"H": model.weights_}
    for i in range(model.means_.shape[1]):
        before = model.covariances_[:, :i, :i]
        slope = np.linalg.solve(before, model.covariances_[:, :i, i : i + 1])[..., 0]
        intercept = model.means_[:, i] - (slope * model.means_[:, :i]).sum(axis=1)
        variance = model.covariances_[:, i, i] - (slope * model.covariances_[:, :i, i]).sum(axis=1)
        tables[f"x{i}"] = np.column_stack([intercept, slope, variance])
    return lac.Network.from_tables(dag, tables)


def test_a_mixture_of_gaussians_goes_where_scikit_learn_goes() -> None:
    """Both begin at the same parameters and climb to the end; scikit-learn's tolerance is per row."""
    x = blobs()
    start = GaussianMixture(2, max_iter=1, reg_covar=0.0, random_state=3)
    with pytest.warns(Warning, match="converge"):
        start.fit(x)
    dag = mixture(3, 2)
    begin = as_network(dag, start)
    assert begin.log_likelihood(columns(x)) == pytest.approx(start.score(x) * len(x), rel=1e-10)
    theirs = GaussianMixture(
        2,
        tol=1e-13,
        max_iter=3000,
        reg_covar=0.0,
        weights_init=start.weights_,
        means_init=start.means_,
        precisions_init=start.precisions_,
    ).fit(x)
    ours = lac.fit(dag, columns(x), method="ml", initial=begin, stop=TIGHT)
    assert ours.log_likelihood == pytest.approx(theirs.score(x) * len(x), abs=1e-6)
    assert ours.network.log_likelihood(columns(x)) == pytest.approx(ours.log_likelihood, rel=1e-12)


@pytest.mark.parametrize("method", ["ml", "map"])
def test_regressions_of_a_chain_are_the_same_together_and_one_by_one(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dag = mixture(3, 2)
    rows = prepare(dag, lac.read(columns(blobs())).align(dag.schema))
    belief = lac.NormalWishart(means=0.0, covariance=1.0)(dag)
    counts = rows.expect(np.array(lac.random_network(dag, rng=1).theta)[None]).counts
    found = []
    for least in (2, 100):
        monkeypatch.setattr(em, "TOGETHER", least)
        found.append(maximize_rule(belief, method, "softmax", None).improve(counts))
    together, alone = found
    np.testing.assert_allclose(together, alone, rtol=1e-11)  # factors of matrices of conditions below 1e4
    assert not np.array_equal(together, alone), "they have been solved one by one"


def test_random_starts_find_the_classes() -> None:
    found = lac.fit(mixture(3, 2), columns(blobs()), method="ml", starts=3, rng=1)
    best = GaussianMixture(2, n_init=5, reg_covar=0.0, tol=1e-9, random_state=0).fit(blobs())
    assert found.log_likelihood >= best.score(blobs()) * 300 - 1e-3


def test_factor_analysis_reaches_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 5)) + 0.5 * rng.normal(size=(200, 5)) + 10.0
    dag = lac.dag("f g -> y0 y1 y2 y3 y4", kinds="continuous", hidden=["f", "g"])
    fixed = {"f": [0.0, 1.0], "g": [0.0, 1.0]}
    found = lac.fit(dag, columns(y, "y"), method="ml", fixed=fixed, starts=1, stop=lac.Stop(relative=1e-10))
    theirs = FactorAnalysis(2, tol=1e-12, max_iter=20_000, svd_method="lapack").fit(y)
    assert found.log_likelihood == pytest.approx(theirs.score(y) * 200, abs=1e-3)
    assert np.all(np.diff(found.trace) > -1e-8)


@pytest.mark.parametrize("method", ["ml", "map", "variational"])
def test_acceleration_reaches_the_same_top_in_fewer_sweeps(method: Any) -> None:
    """Two factors of ten variables with holes: plain EM creeps, as factors and coefficients move together."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 10)) + rng.normal(size=(150, 10)) + 10.0
    y[rng.random(y.shape) < 0.05] = np.nan
    factors = lac.dag("f g -> " + " ".join(columns(y, "y")), kinds="continuous", hidden=["f", "g"])
    options: Any = {"method": method, "starts": 1, "stop": lac.Stop(relative=1e-10)}
    options["fixed"] = {"f": [0.0, 1.0], "g": [0.0, 1.0]}
    plain, fast = (lac.fit(factors, columns(y, "y"), accelerate=a, **options) for a in (False, True))
    assert np.all(np.diff(fast.trace) > -1e-9)
    # 1e-10 of about 2600 is what a last step may gain; near the top some hundred such steps are left.
    assert fast.objective > plain.objective - 1e-5
    assert fast.iterations < plain.iterations / 1.5


def test_accelerated_classes_reach_the_same_top() -> None:
    """A class above full Gaussians, from one start of known basin: variances must stay positive."""
    start = lac.fit(
        mixture(3, 2), columns(blobs()), method="ml", starts=1, rng=1, stop=lac.Stop(iterations=3)
    )
    options: Any = {"method": "ml", "initial": start.network, "stop": TIGHT}
    plain, fast = (lac.fit(mixture(3, 2), columns(blobs()), accelerate=a, **options) for a in (False, True))
    assert fast.objective == pytest.approx(plain.objective, abs=1e-6)
    assert fast.iterations < plain.iterations


def test_no_leap_goes_below_the_floor_of_variances() -> None:
    """y = x to the last digit: the likelihood would have no end, and a leap must not run after it."""
    x = np.random.default_rng(0).normal(size=40)
    y = np.where(np.arange(40) % 3 == 0, np.nan, x)
    found = lac.fit(lac.dag("x -> y", kinds="continuous"), {"x": x, "y": y}, method="ml", accelerate=True)
    assert found.network.regression("y").variance / np.nanvar(y) >= 1e-8 * (1 - 1e-9)


def test_one_gaussian_with_holes_is_fitted_as_its_markov_equivalents() -> None:
    """The three complete graphs are one model, so they reach one maximum of likelihood and of density."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + [1e6, 0.0, -5.0]
    x[rng.random(x.shape) < 0.3] = np.nan
    graphs = ["a -> b -> c; a -> c", "c -> b -> a; c -> a", "b -> a -> c; b -> c"]
    table = {name: x[:, i] for i, name in enumerate("abc")}
    for method in ("ml", "map"):
        found = [lac.fit(lac.dag(g, kinds="continuous"), table, method=method, stop=TIGHT) for g in graphs]
        top = [f.objective for f in found]
        # At the top the objective is flat: what the climb still lacks enters by its square.
        assert top == pytest.approx([top[0]] * 3, abs=1e-9)


def least_variance(found: lac.Fit, table: lac.Table) -> float:
    """The smallest variance of a regression's noise, beside the observed variance of its column."""
    dag, shares = found.network.dag, [1.0]
    for i, family in dag.numeric:
        seen = table.reals[~table.holes[:, i], i]
        if family.linear and len(seen) and seen.var() > 0:
            shares.append(float(dag.layout.records(found.network.theta, i)[..., -1].min() / seen.var()))
    return min(shares)


@settings(max_examples=25, deadline=None)
@given(mixed_cases(max_rows=12), st.booleans(), st.sampled_from([None, lac.NormalWishart(nu=1)]))
def test_no_objective_ever_falls(case: Case, accelerate: bool, prior: lac.NormalWishart | None) -> None:
    """But for rounding, which costs as many digits as variances are below the columns' own."""
    network, table = case
    empty = np.asarray(table.holes.all(axis=0))
    if not table.size > 0 or any(empty[i] and not v.hidden for i, v in enumerate(table.schema)):
        return
    for method in ("map", "variational"):
        stop = lac.Stop(iterations=12)
        found = lac.fit(
            network.dag,
            table,
            method=method,
            prior=prior,
            starts=2,
            stop=stop,
            accelerate=accelerate,
        )
        for start in found.starts:
            scale = max(1.0, abs(start.objective))  # of sums over rows
            lost = 1e-9 * scale + table.size * np.finfo(np.float64).eps / least_variance(found, table)
            assert np.all(np.diff(start.trace) >= -lost)
        assert np.isfinite(found.objective)


def test_complete_rows_give_the_posterior_mode_in_closed_form() -> None:
    """α = ν + n: mean (Σx + νμ)/(N + ν), variance from τ* with divisor N + ν (TMCH98 section 6)."""
    x = np.array([1.0, 2.0, 4.0, 9.0])
    unit = lac.NormalWishart(nu=1)  # one row at the mean, of the column's variance
    found = lac.fit(lac.dag("x", kinds="continuous"), {"x": x}, prior=unit).network.regression("x")
    centre, spread = x.mean(), x.var()
    assert found.intercept == pytest.approx(centre)
    assert found.variance == pytest.approx((4 * spread + spread) / 5)


def test_units_do_not_matter() -> None:
    """Other units change log-densities by the Jacobian alone and parameters as they must."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=50)
    y = 2 * x + rng.normal(size=50)
    dag = lac.dag("x -> y", kinds="continuous")
    for method in ("ml", "map", "variational"):
        plain = lac.fit(dag, {"x": x, "y": y}, method=method)
        moved = lac.fit(dag, {"x": 1e9 + 1e3 * x, "y": -7 + 1e-3 * y}, method=method)
        assert moved.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-4)
        slope = [f.network.regression("y").coefficients[0] for f in (plain, moved)]
        assert slope[1] == pytest.approx(slope[0] * 1e-6, rel=1e-5)


def test_the_bound_of_complete_rows_is_the_evidence() -> None:
    """Nothing is hidden: variational Bayes is exact, and the evidence is a ratio of normalisers."""
    rng = np.random.default_rng(4)
    dag = lac.dag("d -> x -> y; d -> y", kinds={"x": "continuous", "y": "continuous"})
    table = lac.random_network(dag, rng=1).sample(30, rng)
    unit = lac.NormalWishart(nu=1)
    found = lac.fit(dag, table, method="variational", prior=unit)
    prior = Scale.of(table).believed_outside(unit(dag))
    cells = 2 * 30
    exact = prior.log_normalizer - found.belief.log_normalizer - 0.5 * cells * np.log(2 * np.pi)
    assert found.objective == pytest.approx(exact, rel=1e-9)


def test_awkward_columns_are_learned_all_the_same() -> None:
    """Collinear, constant, more variables than rows, one far outlier: the prior carries it."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=6)
    table = {"a": x, "b": 2 * x + 1, "c": np.full(6, 3.0), "d": np.append(x[:5], 1e12)}
    table |= {f"e{i}": rng.normal(size=6) for i in range(4)}
    names = list(table)
    arcs = "; ".join(f"{p} -> {q}" for i, p in enumerate(names) for q in names[i + 1 :])
    for method in ("map", "variational"):
        found = lac.fit(lac.dag(arcs, kinds="continuous"), table, method=method)
        assert np.isfinite(found.objective)
        assert all(found.network.regression(name).variance > 0 for name in names)


def test_bad_tables_are_refused() -> None:
    dag = lac.dag("x -> y", kinds="continuous")
    with pytest.raises(TableError, match="x is constant"):
        lac.fit(dag, {"x": [1.0, 1.0], "y": [1.0, 2.0]}, method="ml")
    with pytest.raises(TableError, match="infinite"):
        lac.fit(dag, {"x": [1.0, np.inf], "y": [1.0, 2.0]})
    bounded = lac.Schema((lac.Variable("x", kind="continuous", bounds=(0.0, 1.0)),))
    table = lac.Table(bounded, np.full((2, 1), -1, dtype=np.int8), np.array([[0.5], [1.5]]))
    with pytest.raises(TableError, match=r"x, row 2: 1.5 lies outside the declared bounds 0 to 1"):
        lac.fit(lac.Dag(bounded, ((),)), table)


def test_tied_regressions_are_one_regression_in_the_data_s_units() -> None:
    """Two columns of different spread that share a family: mean and variance of all their values."""
    z = np.random.default_rng(1).normal(size=200)
    rows = {"x": z + 1, "y": -3 * z - 1}
    free = lac.dag("x; y", kinds="continuous")
    tied = lac.Dag(free.schema, free.parents, (("x", "y"),))
    both = np.concatenate(list(rows.values()))
    found = lac.fit(tied, rows, method="ml")
    assert found.network.regression("y").intercept == pytest.approx(both.mean(), rel=1e-12)
    assert found.network.regression("x").variance == pytest.approx(both.var(), rel=1e-12)
    for method in ("ml", "map", "variational"):
        found = lac.fit(tied, rows, method=method)
        assert found.network.log_likelihood(rows) == pytest.approx(found.log_likelihood, rel=1e-12)
    # A chain in time: what follows x follows y as it does x, so all three are measured alike.
    chain = lac.dag("x -> y -> v", kinds="continuous")
    steps = lac.Dag(chain.schema, chain.parents, (("y", "v"),))
    rows["v"] = 2 * rows["y"] + 40.0
    above, below = (np.concatenate([rows[a], rows[b]]) for a, b in ("xy", "yv"))
    slope, start = np.polyfit(above, below, 1)
    found = lac.fit(steps, rows, method="ml")
    assert found.network.regression("v").coefficients[0] == pytest.approx(slope, rel=1e-10)
    assert found.network.regression("v").intercept == pytest.approx(start, rel=1e-10)


def test_entropy_of_a_regression_is_that_of_its_noise() -> None:
    family = lac.dag("x -> y", kinds="continuous").number(1)
    theta = np.array([[1.0, 2.0, 0.25], [0.0, 0.0, 9.0]])
    assert family.entropy(theta) == pytest.approx(norm.entropy(scale=[0.5, 3.0]), rel=1e-12)

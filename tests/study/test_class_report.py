"""Reports on latent classes beside published numbers of poLCA and LEM, and beside StepMix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import lacunary as lac
from lacunary.study.class_fit import class_fit
from lacunary.study.class_logit import Columns
from lacunary.study.class_steps import _errors
from lacunary.study.class_tests import absolute_fit

HERE = Path(__file__).parent


def carcinoma() -> lac.Table:
    return lac.read(HERE / "carcinoma.csv", kinds=dict.fromkeys("ABCDEFG", "discrete"))


def bakk(name: str, last: str) -> lac.Table:
    kinds: dict[str, Any] = {f"i{k}": "discrete" for k in range(6)}
    return lac.read(HERE / f"bakk_{name}.csv", kinds={**kinds, last: "continuous"})


@pytest.fixture(scope="module")
def three() -> lac.ClassReport:
    return lac.class_report(3, carcinoma(), starts=20)


def test_carcinoma_is_reported_as_by_polca(three: lac.ClassReport) -> None:
    """Linzer and Lewis, J. Stat. Soft. 42(10), 2011, section 5.1: three classes."""
    fit = three.fit
    assert fit.parameters == 23
    assert fit.log_likelihood == pytest.approx(-293.705, abs=5e-4)
    assert fit.criteria["AIC"] == pytest.approx(633.41, abs=5e-3)
    assert fit.criteria["BIC"] == pytest.approx(697.1357, abs=5e-4)
    assert three.absolute["L2"] == pytest.approx(15.26171, abs=5e-4)
    assert three.absolute["X2"] == pytest.approx(20.50336, abs=2e-3)
    assert fit.network.table("class") == pytest.approx([0.4447, 0.3736, 0.1817], abs=2e-4)


def test_two_classes_of_carcinoma() -> None:
    found = lac.class_report(2, carcinoma(), starts=5)
    assert found.fit.log_likelihood == pytest.approx(-317.2568, abs=5e-4)
    assert found.absolute["L2"] == pytest.approx(62.36543, abs=5e-4)
    assert found.absolute["X2"] == pytest.approx(92.64814, abs=5e-3)


def test_pleural_thickening_as_by_lem() -> None:
    """Dayton (1998), table 3.2, by LEM: −891.14280, shares 0.9455 and 0.0545, p(A = 1) 0.9900 and 0.2510."""
    counts = [1513, 23, 59, 12, 21, 19, 11, 34]
    patterns = np.array([[a, b, c] for a in (1, 2) for b in (1, 2) for c in (1, 2)])
    columns = {name: patterns[:, k].tolist() for k, name in enumerate("ABC")}
    rows = lac.read({**columns, "n": counts}, weights="n", kinds=dict.fromkeys("ABC", "discrete"))
    found = lac.class_report(2, rows, starts=5)
    assert found.fit.log_likelihood == pytest.approx(-891.14280, abs=2e-4)
    assert found.fit.criteria["BIC"] == pytest.approx(1834.3213, abs=5e-4)
    assert found.fit.network.table("class") == pytest.approx([0.9455, 0.0545], abs=3e-4)
    assert found.fit.network.table("A")[:, 0] == pytest.approx([0.9900, 0.2510], abs=2e-3)


def test_errors_are_those_of_a_numeric_hessian() -> None:
    """Second differences of the log-likelihood in log-odds, and the delta method, by the definition."""
    rows = bakk("covariate", "z").select([f"i{k}" for k in range(4)])
    report = lac.class_report(2, rows, starts=3)
    network = report.fit.network
    tables = np.concatenate(
        [[network.table("class")[1]], *(network.table(n)[:, 1] for n in rows.schema.names)]
    )
    at = np.log(tables / (1 - tables))

    def likelihood(u: Any) -> float:
        p = 1 / (1 + np.exp(-u))
        given = {"class": [1 - p[0], p[0]]}
        for k, name in enumerate(rows.schema.names):
            given[name] = [[1 - q, q] for q in p[1 + 2 * k : 3 + 2 * k]]
        return lac.Network.from_tables(network.dag, given).log_likelihood(rows.align(network.dag.schema))

    h, many = 1e-3, len(at)
    bent, unit = np.empty((many, many)), np.eye(many) * h
    for a in range(many):
        for b in range(many):
            signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            parts = [s * t * likelihood(at + s * unit[a] + t * unit[b]) for s, t in signs]
            bent[a, b] = -sum(parts) / (4 * h * h)
    errors = np.sqrt(np.diag(np.linalg.inv(bent))) * tables * (1 - tables)
    told = [one.error for one in report.parameters if (one.variable, one.group) == ("class", "B")]
    told += [
        one.error
        for n in rows.schema.names
        for one in report.parameters
        if one.variable == n and one.label == "1"
    ]
    # Second differences of step 1e-3 are exact to about 1e-6 relative, amplified by the inverse.
    assert told == pytest.approx(errors, rel=2e-3)


def test_robust_errors_are_the_sandwich_by_rows() -> None:
    """One class: the robust error of a weighted share is that of a weighted mean (Binder 1983)."""
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 2, 300), rng.uniform(0.5, 2.0, 300)
    rows = lac.read({"x": x, "y": 1 - x, "w": w}, weights="w", kinds={"x": "discrete", "y": "discrete"})
    found = lac.class_report(1, rows, errors="robust", starts=1)
    p = w @ x / w.sum()
    pull = w * (x - p) / w.sum()
    told = next(one for one in found.parameters if one.variable == "x" and one.label == "1")
    assert told.error == pytest.approx(np.sqrt(300 / 299 * (pull**2).sum()))
    clusters = np.arange(300) // 3
    grouped = lac.class_report(1, rows, errors="robust", starts=1, clusters=list(clusters))
    totals = np.bincount(clusters, weights=pull)
    told = next(one for one in grouped.parameters if one.variable == "x" and one.label == "1")
    assert told.error == pytest.approx(np.sqrt(100 / 99 * (totals**2).sum()))
    with pytest.raises(lac.ParameterError, match="one cluster"):
        lac.class_report(1, rows, errors="robust", starts=1, clusters=[0] * 300)


def test_bootstrap_and_posterior_errors_agree_with_curvature() -> None:
    rows = bakk("covariate", "z").select([f"i{k}" for k in range(5)])
    known = lac.class_report(2, rows, starts=3)
    again = lac.class_report(known.fit.network, rows, errors="bootstrap", draws=60, rng=1)
    drawn = lac.class_report(known.fit.network, rows, errors="posterior", draws=150, rng=1)
    wanted = np.array([one.error for one in known.parameters])
    for other in (again, drawn):
        ratio = np.array([one.error for one in other.parameters]) / wanted
        # 60 resamples tell an error to 9 %, and the three notions agree to first order alone.
        assert 0.7 < np.median(ratio) < 1.4


def test_l2_with_holes_is_that_of_the_saturated_likelihood() -> None:
    rows = lac.make_holes(carcinoma().select(["A", "B", "E", "G"]), 0.15, rng=1)
    found = lac.class_report(2, rows, starts=4)
    assert "X2" not in found.absolute
    assert found.absolute["L2"] >= 0
    names = rows.schema.names
    whole = lac.Dag.from_parents(rows.schema, {n: names[:k] for k, n in enumerate(names)})
    saturated = lac.fit(whole, rows, method="ml", stop=lac.Stop(relative=1e-12)).log_likelihood
    assert found.absolute["L2"] == pytest.approx(2 * (saturated - found.fit.log_likelihood), abs=1e-3)


def test_classification_adds_up(three: lac.ClassReport) -> None:
    table = three.fit.classification
    assert table.sum() == pytest.approx(118)
    assert table.sum(axis=1) == pytest.approx(118 * three.fit.network.table("class"), abs=1e-3)
    assert three.fit.classification_error == pytest.approx(1 - three.fit.posterior.max(axis=1).mean())
    assert three.fit.average_posterior.sum(axis=1) == pytest.approx([1, 1, 1])
    p = three.fit.posterior
    terms = -(p[p > 0] * np.log(p[p > 0])).sum()
    assert three.fit.entropy_r2 == pytest.approx(1 - terms / (118 * np.log(3)))
    assert three.fit.criteria["ICL"] == pytest.approx(three.fit.criteria["BIC"] + 2 * terms)
    assert three.fit.criteria["SABIC"] == pytest.approx(2 * 293.705 + 23 * np.log(120 / 24), abs=1e-3)


def test_bivariate_residuals_are_their_definition(three: lac.ClassReport) -> None:
    rows, network = carcinoma(), three.fit.network
    one = next(r for r in three.residuals if {r.first, r.second} == {"D", "F"})
    counts = np.zeros((2, 2))
    np.add.at(counts, tuple(rows.codes[:, [3, 5]].T), 1.0)
    expected = 118 * network.query("D", "F").probabilities
    assert one.value == pytest.approx(((counts - expected) ** 2 / expected).sum())


def test_bootstrap_p_values_and_the_likelihood_ratio(three: lac.ClassReport) -> None:
    """Two classes of carcinoma fit badly and three well, as Agresti (2002, section 13.1.2) finds."""
    bad = lac.class_report(2, carcinoma(), replicates=19, starts=3, rng=1)
    assert bad.p_values["L2"] == pytest.approx(0.05)  # no replicate is as far off
    fine = lac.class_report(three.fit.network, carcinoma(), replicates=19, rng=1)
    assert fine.p_values["L2"] > 0.05
    test = lac.bootstrap_lrt(carcinoma(), 2, replicates=9, starts=5, refits=2)
    assert test.statistic == pytest.approx(2 * (-293.705 + 317.2568), abs=5e-3)
    assert test.p == pytest.approx(0.1)
    assert "2 against 3" in str(test)


def test_csv_and_latex_hold_the_estimates(three: lac.ClassReport) -> None:
    lines = three.to_csv().splitlines()
    assert lines[0] == "variable,state,class,estimate,error,low,high"
    assert len(lines) == 1 + 3 + 7 * 2 * 3
    latex = three.to_latex()
    assert latex.startswith(r"\begin{tabular}{lrrr}")
    assert "0.4447" in latex
    assert len(three.to_frame("dict")["estimate"]) == 45
    assert "entropy R²" in str(three)


# Covariates and outcomes: StepMix 3.0.0, modal assignment, tolerances 1e-10.

COVARIATES = {
    (1, "ml"): ([[0.430853, 0.017394], [-3.366797, 1.037382], [2.940557, -1.047782]], (2, 1, 0)),
    (3, "none"): ([[0.235406, -0.084596], [-1.748451, 0.524924], [1.515007, -0.444314]], (2, 1, 0)),
    (3, "bch"): ([[0.089766, -0.464113], [-2.509232, 0.329158], [2.27563, -1.142164]], (2, 1, 0)),
    (3, "ml"): ([[0.238121, -0.039278], [-2.818805, 0.867266], [2.587797, -0.805794]], (2, 1, 0)),
}


@pytest.mark.parametrize(("how", "given"), COVARIATES.items(), ids=str)
def test_covariates_as_by_stepmix(how: tuple[Any, Any], given: tuple[Any, Any]) -> None:
    found = lac.class_covariates(3, bakk("covariate", "z"), ["z"], steps=how[0], correction=how[1], starts=5)
    beta = np.array(given[0])[list(given[1])]
    told = [[found[g, "intercept"].estimate, found[g, "z"].estimate] for g in "BC"]
    # StepMix stops when its likelihood does; ours differ by some 1e-4 in flat directions.
    assert np.array(told) == pytest.approx(beta[1:] - beta[0], abs=2e-3)


@pytest.mark.parametrize(
    ("correction", "means"),
    [("none", [-0.839266, 0.790628, 0.058743]), ("bch", [-1.090644, 1.151327, -0.01692])],
)
def test_outcomes_as_by_stepmix(correction: Any, means: list[float]) -> None:
    found = lac.class_outcome(3, bakk("outcome", "y"), "y", correction=correction, starts=5)
    assert [one.estimate for one in found] == pytest.approx(means, abs=5e-4)


def test_the_ml_outcome_is_the_best_of_its_likelihood() -> None:
    """By another optimiser; errors by its second differences. (StepMix keeps the first step's shares.)"""
    found = lac.class_outcome(3, bakk("outcome", "y"), "y", correction="ml", starts=5)
    rows = bakk("outcome", "y")
    y = rows.reals[:, rows.schema.index("y")]
    wrong = _errors(found.fit)[:, found.fit.assigned].T

    def minus(u: Any) -> float:
        share = np.exp(np.concatenate([[0], u[:2]]))
        normal = np.exp(-0.5 * ((y[:, None] - u[2:5]) ** 2 / np.exp(u[5:]) + u[5:])) / np.sqrt(2 * np.pi)
        return -float(np.log((wrong * share / share.sum() * normal).sum(axis=1)).sum())

    best = optimize.minimize(
        minus, np.array([0, 0, -1.0, 1.1, 0, 0, 0, 0]), method="BFGS", options={"gtol": 1e-7}
    )
    assert [one.estimate for one in found] == pytest.approx(best.x[2:5], abs=1e-4)


def test_one_step_is_the_best_of_its_likelihood() -> None:
    """No covariate: the logit's intercepts are the log-odds of the shares."""
    rows = bakk("covariate", "z")
    noise = np.random.default_rng(0).normal(size=len(rows))
    frame: Any = rows.to_frame("dict")
    flat = lac.read({**{k: v for k, v in frame.items() if k != "z"}, "z": noise.tolist()},
                    kinds={f"i{k}": "discrete" for k in range(6)})  # fmt: skip
    found = lac.class_covariates(3, flat, ["z"], starts=5)
    assert abs(found["B", "z"].estimate) < 4 * found["B", "z"].error
    density = Columns.of(found.fit.network, "class", found.fit.table).log_density()
    joint = np.exp(density) * found.fit.network.table("class")
    assert np.log(joint.sum(axis=1)).sum() == pytest.approx(found.fit.log_likelihood)


def test_errors_of_three_steps_grow_when_they_carry_the_first() -> None:
    rows = bakk("outcome", "y")
    plain = lac.class_outcome(3, rows, "y", starts=5)
    whole = lac.class_outcome(plain.fit, rows, "y", draws=30, rng=0)
    assert np.mean([one.error for one in whole]) > np.mean([one.error for one in plain])


def test_what_cannot_be_related_is_refused() -> None:
    rows = bakk("outcome", "y")
    with pytest.raises(lac.ParameterError, match="at least two classes"):
        lac.class_outcome(1, rows, "y")
    with pytest.raises(lac.ParameterError, match="steps must be 1 or 3"):
        lac.class_covariates(2, rows, ["y"], steps=2)  # type: ignore[arg-type]
    with pytest.raises(lac.ParameterError, match="one hidden class"):
        class_fit(lac.asia(), lac.asia().sample(5, rng=0), "smoke")
    assert absolute_fit(lac.class_report(2, rows, starts=2).fit) == {}


@pytest.mark.parametrize(("steps", "correction"), [(1, "none"), (3, "ml"), (3, "bch")])
def test_a_continuous_covariate_of_classes_that_are_plain_to_see_is_a_logistic_regression(
    steps: Any, correction: Any
) -> None:
    """Twelve items, each right 19 times in 20, leave no row in doubt: the logit is that of the true class."""
    rng = np.random.default_rng(0)
    x = rng.normal(3.0, 2.0, size=400)
    z = rng.random(400) < 1 / (1 + np.exp(-0.8 * (x - 3.0)))
    items = (rng.random((400, 12)) < np.where(z, 0.95, 0.05)[:, None]).astype(int)
    rows = {**{f"i{k}": items[:, k].tolist() for k in range(12)}, "x": x.tolist()}
    found = lac.class_covariates(2, rows, ["x"], steps=steps, correction=correction, starts=2)
    design, beta = np.column_stack([np.ones(400), x]), np.zeros(2)
    for _ in range(20):  # Newton's steps; one class is as good a reference as the other
        p = 1 / (1 + np.exp(-design @ beta))
        curvature = design.T @ (design * (p * (1 - p))[:, None])
        beta = beta + np.linalg.solve(curvature, design.T @ (z - p))
    told = np.array([found["B", name].estimate for name in ("intercept", "x")])
    assert np.sign(told[1]) * told == pytest.approx(beta, abs=1e-3)  # what doubt there is moves no more
    if correction == "ml":
        expected = np.sqrt(np.diag(np.linalg.inv(curvature)))
        assert [found["B", n].error for n in ("intercept", "x")] == pytest.approx(expected, rel=0.01)

"""Estimates for continuous and mixed networks, against closed forms, enumeration and printed formulas."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import t as student

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.evidence.compare import compare
from lacunary.evidence.exact import complete_log_evidence, complete_log_likelihood, exact
from lacunary.evidence.problem import Problem
from lacunary.evidence.score import METHODS, estimate, pose
from lacunary.infer.belief import BDeu, Dirichlet
from lacunary.infer.prior import NormalWishart
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.learn.vbem import update_rule
from lacunary.model.dag import Dag
from lacunary.structure.conditional_gaussian import ConditionalGaussian
from lacunary.structure.gaussian import BGe
from tests import naive_mixed
from tests.evidence.mixed_small import drawn, mixed, posed
from tests.evidence.small import table_of

ROUNDING = 1e-9  # relative: sums of log-gammas and log-determinants of size about 1e3


def total(score: BGe | ConditionalGaussian, graph: Dag) -> float:
    """Return the sum over families."""
    return sum(score.family(child, parents) for child, parents in enumerate(graph.parent_indices))


@pytest.mark.parametrize(
    "graphs",
    [("X -> Y -> Z", "Y -> X; Y -> Z", "Z -> Y -> X"), ("X -> Y; X Y -> Z", "Z -> Y -> X; Z -> X")],
    ids=["chain", "complete"],
)
def test_the_evidence_of_complete_gaussian_data_is_bge_and_equal_on_equivalent_graphs(
    graphs: tuple[str, ...],
) -> None:
    table, values = drawn(mixed("X -> Y -> Z"), 40), []
    for arrows in graphs:
        graph = mixed(arrows)
        rows = table.align(graph.schema)
        values.append(exact(pose(graph, rows)).value)
        assert values[-1] == pytest.approx(total(BGe.of(rows), graph), rel=ROUNDING)
    assert values == pytest.approx([values[0]] * len(values), rel=ROUNDING)


def test_the_evidence_of_complete_mixed_data_is_that_of_the_structure_score() -> None:
    table, values = drawn(mixed("A -> B; A B -> X; A X -> Y"), 60, seed=2), []
    for arrows in (
        "A -> B; A B -> X; A X -> Y",
        "B -> A; A B -> X; A X -> Y",
        "A; B; X; Y",
        "A -> B Y; Y -> X",
    ):
        graph = mixed(arrows)
        rows = table.align(graph.schema)
        problem = pose(graph, rows, prior=BDeu(1.0))
        values.append(exact(problem).value)
        assert values[-1] == pytest.approx(total(ConditionalGaussian.of(rows), graph), rel=ROUNDING)
    assert values[0] == pytest.approx(values[1], rel=ROUNDING)


def test_one_column_is_a_product_of_student_t_densities() -> None:
    # Normal–Wishart with ν = 2, mean 30, τ = 2 · 9, α = ν + n = 3: each next value is Student t.
    graph, nu, mean, tau, alpha = mixed("X"), 2.0, 30.0, 18.0, 3.0
    table = drawn(graph, 15)
    prior = NormalWishart(nu, {"X": mean}, [[9.0]])
    value = 0.0
    for x in table.reals[:, 0]:
        scale = np.sqrt(tau * (nu + 1) / (nu * alpha))
        value += student(df=alpha, loc=mean, scale=scale).logpdf(x)
        tau += nu / (nu + 1) * (x - mean) ** 2
        mean, nu, alpha = (nu * mean + x) / (nu + 1), nu + 1, alpha + 1
    assert exact(pose(graph, table, prior=prior)).value == pytest.approx(value, rel=ROUNDING)


def completions(table: Table) -> list[Table]:
    """Return all tables that agree with one that has discrete holes; its rows must weigh one."""
    where = [(r, c) for r, c in np.argwhere(table.codes == HOLE) if table.schema.variables[c].discrete]
    sizes = [table.schema.sizes[c] for _, c in where]
    found = []
    for states in product(*map(range, sizes)):
        codes = table.codes.copy()
        for (r, c), state in zip(where, states, strict=True):
            codes[r, c] = state
        found.append(replace(table, schema=table.schema.reveal(), codes=codes))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_discrete_holes_are_summed_out_over_all_completions(seed: int) -> None:
    problem = posed("A -> B; A B -> X; B X -> Y", 8, discrete=0.25, seed=seed)
    graphs = mixed("A -> B; A B -> X; B X -> Y")
    logs = [
        total(ConditionalGaussian.of(full, NormalWishart(), dirichlet=Dirichlet(1.0)), graphs)
        for full in completions(table_of(problem))
    ]
    assert len(logs) > 2
    assert exact(problem).value == pytest.approx(logsumexp(logs), rel=ROUNDING)


def test_a_row_that_counts_twice_has_two_completions() -> None:
    one = posed("C -> X", 6, hidden="C")
    both = Table(
        table_of(one).schema, np.repeat(table_of(one).codes, 2, 0), np.repeat(table_of(one).reals, 2, 0)
    )
    twice = Problem(one.dag, both, one.prior)
    weighed = Problem(one.dag, replace(table_of(one), weights=np.full(6, 2.0)), one.prior)
    assert exact(weighed).value == pytest.approx(exact(twice).value, rel=ROUNDING)


def test_continuous_holes_cannot_be_enumerated() -> None:
    with pytest.raises(ParameterError, match=r"Y is continuous and has holes.*'ais'"):
        exact(posed("Y -> X", hidden="Y"))


def test_bic_draper_mled_and_cheeseman_stutz_are_as_printed() -> None:
    problem = posed("C -> X; C X -> Y; F -> Y", 25, hidden="C F", continuous=0.2, seed=4)
    network, graph = problem.network("map"), problem.dag
    logs = [
        naive_mixed.log_evidence(network, codes, reals)
        for codes, reals in zip(table_of(problem).codes, table_of(problem).reals, strict=True)
    ]
    log, log_n = sum(logs), np.log(25)
    d = 1 + 2 * 2 + 2 * 4 + 2
    found = {m: estimate(problem, m, {}, {}) for m in ("map", "bic", "draper", "mled", "cheeseman-stutz")}
    assert found["map"].value == pytest.approx(log, rel=ROUNDING)
    assert found["bic"].value == pytest.approx(log - d / 2 * log_n, rel=ROUNDING)
    assert found["draper"].value == pytest.approx(log - d / 2 * (log_n - np.log(2 * np.pi)), rel=ROUNDING)
    # D′ from the textbook's moments, moved to standardised columns by writing z′ = Bz.
    counts = _inside(problem, naive_mixed.statistics(network, table_of(problem)))
    imaginary = complete_log_evidence(problem.belief, counts)
    seen = ~np.isnan(table_of(problem).reals)
    jacobian = -float((seen @ np.log(problem.scale.spread)).sum())
    assert found["mled"].value == pytest.approx(imaginary + jacobian, rel=ROUNDING)
    fitted = complete_log_likelihood(graph, problem.scale.inward(graph, network.theta), counts)
    assert found["cheeseman-stutz"].value == pytest.approx(imaginary - fitted + log, rel=ROUNDING)


def _inside(problem: Problem, stats: dict[str, np.ndarray]) -> np.ndarray:
    """Return statistics of the data as those of standardised columns."""
    layout, scale = problem.dag.layout, problem.scale
    out = np.zeros(layout.statistics_size)
    for i, name in enumerate(problem.dag.names):
        if layout.sizes[i]:
            out[layout.slice(i)] = layout.flat(stats[name])
            continue
        family = [*layout.regressors[i], i]
        b = np.diag([1.0, *(1 / scale.spread[family])])
        b[1:, 0] = -scale.centre[family] / scale.spread[family]
        layout.moments(out, i)[:] = b @ stats[name].reshape(-1, len(b), len(b)) @ b.T
    return out


@pytest.mark.parametrize("hidden", ["C", "F", "C F", ""])
def test_the_bound_after_one_update_is_the_plain_cheeseman_stutz(hidden: str) -> None:
    problem = posed("C -> X; C X -> Y; F -> X Y", 20, hidden=hidden, discrete=0.1, continuous=0.2, seed=1)
    point, layout = problem.point("map"), problem.dag.layout
    rule = update_rule(problem.belief, None)
    posterior = rule.improve(point.counts[None])
    potentials = rule.potentials(posterior)[0]
    expected = float(point.counts[: layout.tables] @ np.log(potentials[: layout.tables]))
    for i in layout.numeric:
        form, constant = problem.dag.number(i).form(layout.potentials(potentials, i))
        moments = layout.moments(point.counts, i)
        expected += float(moments[:, 0, 0] @ constant - 0.5 * np.sum(form * moments))
    entropy = point.log_likelihood - complete_log_likelihood(problem.dag, point.theta, point.counts)
    bound = expected + entropy - float(rule.divergence(posterior)[0])
    plain = estimate(problem, "cheeseman-stutz", {}, {"plain": True})
    assert plain.kind == "lower bound"
    assert plain.value == pytest.approx(bound, rel=ROUNDING)
    assert estimate(problem, "variational", {}, {"start": "map"}).value >= bound - 1e-9 * abs(bound)


@pytest.mark.parametrize("seed", range(3))
def test_the_bounds_never_exceed_the_evidence(seed: int) -> None:
    problem = posed("C -> X; C X -> Y", 9, hidden="C", seed=seed)
    true = exact(problem).value
    assert estimate(problem, "variational", {}, {}).value <= true
    assert estimate(problem, "cheeseman-stutz", {}, {"plain": True}).value <= true


def test_the_bound_of_complete_data_is_the_evidence_and_it_never_falls() -> None:
    whole = posed("A -> X; A X -> Y", 30)
    for method in ("variational", "cheeseman-stutz", "mled"):
        assert estimate(whole, method, {}, {}).value == pytest.approx(exact(whole).value, rel=ROUNDING)
    holed = posed("C -> X; C X -> Y; F -> X Y", 30, hidden="C F", continuous=0.2)
    found = fit(holed.dag, holed.table, method="variational", prior=holed.prior, starts=2, stop=holed.stop)
    # The trace is a difference of terms of size 1e2 to 1e3.
    assert all(np.min(np.diff(start.trace)) > -1e-9 * abs(start.trace[0]) for start in found.starts)
    assert estimate(holed, "variational", {}, {}).value == pytest.approx(found.objective, rel=ROUNDING)


DRAWN = ("sampled", "wbic", "ais", "path", "bridge", "chib")


@pytest.mark.parametrize("at", ["map", "ml"])
def test_other_units_change_every_estimate_by_the_jacobian_of_the_observed_cells(at: str) -> None:
    one = posed("C -> X; C X -> Y", 40, hidden="C", continuous=0.2)
    units = np.array([1.0, 4.0, 2.0**-7])  # powers of two: standardised columns stay the same, bit for bit
    other = replace(one, table=replace(table_of(one), reals=table_of(one).reals * units), _points={})
    shift = -float(((~np.isnan(table_of(one).reals)).sum(axis=0) * np.log(units)).sum())
    for method in set(METHODS) - {"exact", "laplace", "sandwich", *DRAWN}:
        before, after = (estimate(p, method, {"at": at}, {}).value for p in (one, other))
        assert after - before == pytest.approx(shift, rel=ROUNDING), method


def test_a_given_fit_is_where_estimates_are_worked_out() -> None:
    problem = posed("C -> X; C X -> Y", 25, hidden="C")
    found = fit(problem.dag, table_of(problem), starts=2, rng=3)
    given = pose(found, table_of(problem))
    assert estimate(given, "map", {}, {}).value == pytest.approx(found.log_likelihood, rel=ROUNDING)
    density = estimate(given, "map", {}, {"prior_density": True})
    assert density.value == pytest.approx(found.objective, rel=ROUNDING)
    bound = estimate(given, "variational", {}, {"start": "map"})
    assert sum(bound.terms.values()) == pytest.approx(bound.value, rel=ROUNDING)
    assert bound.terms["divergence from the prior"] < 0


@pytest.mark.parametrize("methods", [["bic"], ["bic", "variational"]], ids=["networks", "beliefs"])
def test_models_are_averaged_by_their_evidence(methods: list[str]) -> None:
    table = drawn(mixed("C -> X; C X -> Y", "C"), 30).select(["X", "Y"])
    graphs = {"arc": mixed("X -> Y"), "class": mixed("C -> X Y", "C")}
    found = compare(graphs, table, methods, starts=2, stop=Stop(iterations=40))
    average, shares = found.average("bic"), found.probabilities("bic")
    x = float(table.reals[0, 0])
    answer = average.query("Y", given={"X": x})
    assert answer.weights.sum() == pytest.approx(1.0)
    # p(y | x) = Σ share p(x, y | model) / Σ share p(x | model)
    joint = sum(s * m.probability({"X": x, "Y": 41.0}) for m, s in zip(average.models, shares, strict=True))
    alone = sum(s * m.probability({"X": x}) for m, s in zip(average.models, shares, strict=True))
    if methods == ["bic"]:
        assert np.exp(answer.log_density(41.0)) == pytest.approx(joint / alone, rel=1e-9)
    assert np.isfinite(answer.mean)


@pytest.mark.parametrize("arrows", ["x -> y", "y -> x", "x; y"])
def test_a_constant_column_is_called_constant(arrows: str) -> None:
    """A bound needs its posterior's variance, of which the column's own units keep no digit."""
    rows = {"x": np.full(20, 2.5), "y": np.arange(20.0) % 7 + 0.5}
    with pytest.raises(
        lac.NoEstimateError, match=r"^x is constant \(2.5 in every row\).*leave it out, or use"
    ):
        lac.score(arrows, rows, "variational")
    rows["x"] = 1e9 + 0.25 * np.arange(20.0)
    with pytest.raises(lac.NoEstimateError, match=r"varies too little beside its mean.*subtract its mean"):
        lac.score(arrows, rows, "variational")
    for method in ("cheeseman-stutz", "sampled"):
        assert np.isfinite(lac.score(arrows, rows, method).value)

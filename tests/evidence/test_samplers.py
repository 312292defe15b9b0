"""Path sampling, bridge sampling and Chib's estimate against enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lacunary.data.holes import hide
from lacunary.data.table import Table
from lacunary.evidence.chib import chib, relabellings
from lacunary.evidence.count_tables import count_tables
from lacunary.evidence.diagnostics import jackknife
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.exact import complete_log_evidence, complete_log_evidences, exact
from lacunary.evidence.ladder import _integral, _log_ratio, _log_ratios, bridge, ladders, path
from lacunary.evidence.movers import TableMover
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Belief, Dirichlet
from lacunary.infer.network import random_network
from lacunary.model.dag import Dag
from lacunary.model.make import dag
from tests.evidence.small import classes, complete, holey

SAMPLERS: list[Callable[..., Estimate]] = [path, bridge, chib]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_within_three_standard_errors_of_enumeration(sampler: Callable[..., Estimate]) -> None:
    """Of 10 problems one may be off: a right sampler misses by 3 errors about once in a hundred."""
    off = 0
    for seed in range(10):
        problem = classes(seed, rows=8) if seed % 2 == 0 else holey(seed, rows=5)
        estimate = sampler(problem)
        assert estimate.stderr is not None
        assert estimate.stderr < 0.2
        assert estimate.kind == "Monte Carlo"
        assert estimate.value == pytest.approx(sum(estimate.terms.values()))
        off += abs(estimate.value - exact(problem).value) > 3 * estimate.stderr
    assert off <= 1


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_without_holes_it_is_the_closed_form(sampler: Callable[..., Estimate]) -> None:
    problem = complete()
    estimate = sampler(problem)
    closed = complete_log_evidence(problem.belief, problem.prepared.observed)
    # ratios do not vary then, and Chib's density is the posterior's own: nothing but rounding is left
    assert estimate.value == pytest.approx(closed, rel=1e-11)
    assert estimate.stderr == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_reproducible_and_honest_about_few_chains(sampler: Callable[..., Estimate]) -> None:
    problem = classes(0)
    assert sampler(problem, draws=10).value == sampler(problem, draws=10).value
    few = sampler(problem, draws=10, chains=2)
    assert not few.details["trustworthy"]
    assert "too few" in few.details["note"]
    assert sampler(problem, draws=10, chains=1).stderr is None


def test_labels_that_never_switch_are_corrected_for() -> None:
    """With clear classes every chain sees one labelling of three: 3! equal modes, log 6 = 1.79 nats."""
    graph = dag("H -> A B C", states=3, hidden={"H": 3})
    rows = [[0, 0, 0]] * 5 + [[1, 1, 1]] * 5 + [[2, 2, 2]] * 5
    network = random_network(graph, rng=0)
    table = hide(network.sample(15, rng=0), ["H"]).align(graph.schema)
    codes = table.codes.copy()
    codes[:, [graph.names.index(name) for name in "ABC"]] = rows
    problem = Problem(graph, replace(table, codes=codes), Dirichlet(0.1))
    estimate = chib(problem)
    assert estimate.details["relabellings"] == 6
    assert abs(estimate.value - exact(problem).value) < 0.1  # beside 1.79


@pytest.mark.parametrize(
    ("arrows", "hidden", "expected"),
    [
        ("H -> A B", {"H": 3}, 6),
        ("H -> A B; G -> B", {"H": 2, "G": 3}, 2 * 6),
        ("H -> A B; G -> A B", {"H": 2, "G": 2}, 2 * 2 * 2),  # the two may change places as well
        ("H -> A B; G -> A C", {"H": 2, "G": 2}, 2 * 2),  # B and C are not the same
        ("H -> G -> A", {"H": 2, "G": 2}, 2 * 2),
        ("A -> B", {}, 1),
    ],
)
def test_relabellings_leave_the_likelihood_as_it_is(
    arrows: str, hidden: dict[str, int], expected: int
) -> None:
    graph = dag(arrows, states=2, hidden=hidden)
    network = random_network(graph, rng=1)
    problem = Problem(
        graph, hide(network.sample(20, rng=2), list(hidden)).align(graph.schema), Dirichlet(1.0)
    )
    orders, everything = relabellings(problem, 5040, np.random.default_rng(0))
    assert everything
    assert len(orders) == len({tuple(order) for order in orders.tolist()}) == expected
    logs = problem.prepared.expect(network.theta[orders]).log_likelihood
    assert logs == pytest.approx(logs[0], rel=1e-12)


def test_relabellings_keep_the_prior() -> None:
    def lopsided(dag: Dag) -> Belief:
        return Belief(dag, np.arange(1.0, dag.layout.size + 1))

    problem = replace(classes(0), prior=lopsided)
    orders, _ = relabellings(problem, 5040, np.random.default_rng(0))
    assert orders.tolist() == [list(range(problem.dag.layout.size))]


def test_relabellings_keep_shared_tables() -> None:
    """Two hidden variables with one table between them must be renamed together."""
    graph = dag("G -> A; H -> B", states=2, hidden=["G", "H"], tied=[("G", "H"), ("A", "B")])
    network = random_network(graph, rng=0)
    problem = Problem(graph, hide(network.sample(9, rng=0), ["G", "H"]).align(graph.schema), Dirichlet(1.0))
    orders, _ = relabellings(problem, 5040, np.random.default_rng(0))
    assert len(orders) == 2
    logs = problem.prepared.expect(network.theta[orders]).log_likelihood
    assert logs == pytest.approx(logs[0], rel=1e-12)


def test_too_many_relabellings_are_drawn_and_it_is_said() -> None:
    estimate = chib(classes(0, states=4), draws=20, most=10)
    assert estimate.details["relabellings"] == 10
    assert "at random" in estimate.details["note"]


def test_each_ladder_leads_to_its_part_of_the_posterior() -> None:
    """Enumerated tables of counts, each shared out among the bases by their densities in all labellings.

    With three classes and pseudo-counts of 0.05 a part of the posterior lies beside all variational optima,
    where a large cell is split between two classes: the ladder from the prior, the last, finds it.
    """
    graph = dag("H -> A; H -> B; A -> B", states={"A": 3, "B": 2}, hidden={"H": 3})
    rows = np.array([[-1, 0, 0]] * 2 + [[-1, 1, 0]] * 14 + [[-1, 1, 1]] * 2)
    problem = Problem(graph, Table(graph.schema, rows), Dirichlet(0.05), rng=0)
    parts = ladders(problem, 32, 64, 4, 16).parts
    mover = parts[0].mover
    assert isinstance(mover, TableMover)
    bases, labels = mover.bases, len(mover.bases.level) // len(parts)
    joint = np.zeros(len(parts))
    for counts, ways in count_tables(problem):
        density = np.exp(counts @ bases.label.T + bases.level)
        share = density.reshape(-1, labels, len(parts)).sum(axis=1) / density.sum(axis=1, keepdims=True)
        joint += np.exp(ways + complete_log_evidences(problem.belief, counts)) @ share
    assert np.log(joint.sum()) == pytest.approx(exact(problem).value)
    assert joint[-1] > 0.03 * joint.sum()
    for one, part in zip(parts, joint, strict=True):
        value, error, _ = jackknife(_log_ratios(one), 16, 16 * 8)
        assert error is not None
        # Four errors: of some six parts one is off by chance once in two hundred seeds, of which this is one.
        assert abs(value - np.log(part)) < 4 * error


def test_bridge_equation() -> None:
    """Between N(0, 1) and c · N(1, 1) the log ratio is log c; the difference of log densities is x − 1/2."""
    rng = np.random.default_rng(0)
    below, above = rng.standard_normal(4000), rng.standard_normal(4000) + 1.0
    log_c = 3.7
    found = _log_ratio(below - 0.5 + log_c, above - 0.5 + log_c)
    # the bridge's error is at most that of plain importance sampling, √((e − 1)/n)
    assert abs(found - log_c) < 4 * np.sqrt((math.e - 1) / 4000)
    assert _log_ratio(np.full(3, 2.0), np.full(3, 2.0)) == 2.0


def test_path_between_normals() -> None:
    """Between N(0, 1) and c · N(m, 1), l = m x − m²/2 + log c has means ∓m²/2 and equal variances."""
    rng = np.random.default_rng(0)
    draws, log_c = rng.standard_normal((1, 4000)), 3.7
    rises = [(0.5 * draws - 0.125 + log_c, 0.5 * (draws + 0.5) - 0.125 + log_c)]
    # both ends use the same draws: only their mean, halved, is left
    assert _integral(rises, np.array([0])) == pytest.approx(log_c + 0.5 * draws.mean(), abs=1e-9)


def test_path_lies_between_its_bounds() -> None:
    """On few rungs, between which the bounds are farther apart than the draws' errors."""
    problem = classes(3, rows=8)
    low, high = path(problem, temperatures=4).details["bounds"]
    assert low < exact(problem).value < high


@pytest.mark.parametrize(("temperatures", "told"), [(2, False), (7, False), (8, True)])
def test_an_integral_over_few_temperatures_has_no_error(temperatures: int, told: bool) -> None:
    found = path(classes(3, rows=8), temperatures=temperatures)
    assert found.details["trustworthy"] == told
    assert ("too few to tell the error of the integral" in found.details["note"]) != told


def test_jackknife_of_a_mean_is_its_standard_error() -> None:
    numbers = np.array([1.0, 4.0, 2.0, 7.0])
    value, error, bias = jackknife(lambda which: float(numbers[which].mean()), 4, 10**6)
    assert value == 3.5
    assert error == pytest.approx(numbers.std(ddof=1) / 2)
    assert bias == pytest.approx(0.0)
    _, wider, _ = jackknife(lambda which: float(numbers[which].mean()), 4, 2)  # what one draw in two may miss
    assert wider == pytest.approx(np.hypot(numbers.std(ddof=1) / 2, 0.5))


def test_jackknife_tells_the_bias_of_a_squared_mean() -> None:
    """Of the square of a mean the bias is σ²/n, and its estimate is unbiased: s²/n."""
    numbers = np.array([1.0, 4.0, 2.0, 7.0])
    _, _, bias = jackknife(lambda which: float(numbers[which].mean() ** 2), 4, 10**6)
    assert bias == pytest.approx(numbers.var(ddof=1) / 4)


def test_chib_terms() -> None:
    """Dirichlet(1) over two states has density 1, and no draw is likelier than the likeliest point."""
    problem = classes(1)
    estimate = chib(problem, draws=50)
    assert estimate.terms["log prior density"] == pytest.approx(0.0, abs=1e-12)
    assert estimate.terms["log-likelihood"] < problem.point("ml").log_likelihood
    assert estimate.details["points"] == 16

"""The Gibbs moves leave the right distribution as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from lacunary.data.holes import hide, make_holes
from lacunary.data.table import Table
from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.exact import exact
from lacunary.evidence.gibbs import gibbs
from lacunary.evidence.ladder import ladders
from lacunary.evidence.movers import Particles, TableMover
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Dirichlet
from lacunary.infer.network import Network, random_network
from lacunary.model.make import dag
from tests import naive
from tests.evidence.small import classes, complete, holey, table_of, walker

RARE = 1e-4
"""One right sampler in ten thousand gives a smaller p-value; seeds are fixed."""


def completed(problem: Problem) -> list[tuple[float, NDArray[np.float64]]]:
    """Return the log-probability of every completion of the table, θ integrated out, and its counts."""
    uniform = Network(problem.dag, np.ones(problem.dag.layout.size))
    options = [list(naive.completions(uniform, row)) for row in table_of(problem).codes.tolist()]
    layout, alpha = problem.dag.layout, problem.belief.alpha
    out = []
    for rows in product(*options):
        counts = np.zeros(layout.size)
        for states in rows:
            for members, strides, start in zip(layout.members, layout.strides, layout.start, strict=True):
                counts[start + sum(states[m] * s for m, s in zip(members, strides, strict=True))] += 1
        log = sum(
            naive.log_dirichlet(np.full(len(which), 0.5).tolist(), alpha[which].tolist())
            - naive.log_dirichlet(np.full(len(which), 0.5).tolist(), (alpha + counts)[which].tolist())
            - counts[which].sum() * np.log(2.0)  # the densities at one half differ by this much
            for which in (np.flatnonzero(layout.group == g) for g in range(layout.groups))
        )
        out.append((log, counts))
    return out


def test_joint_distribution() -> None:
    """Geweke 2004: parameters from the prior, rows from them, holes, Gibbs moves: still the prior.

    One wrong chance or shape anywhere in the moves would show.
    """
    graph = dag("H -> A B; A -> B", states={"A": 2, "B": 3}, hidden=["H"])
    prior, rng = Dirichlet(0.8), np.random.default_rng(1)
    moved = []
    for seed in range(1500):
        network = random_network(graph, prior, rng=rng)
        table = make_holes(hide(network.sample(8, rng=rng), ["H"]), 0.3, columns=["A", "B"], rng=rng)
        laid = walker(Problem(graph, table.align(graph.schema), prior))
        # completions under the very parameters the rows came from, then three moves at τ = 1
        walks = laid.walk(np.ones(4), [seed], start=network.theta, keep=("log_theta",))
        moved.append(np.exp(walks.log_theta[0, -1]))
    theta = np.array(moved)
    layout = graph.layout
    for place in range(layout.size):
        states = layout.states[layout.variable[place]]
        marginal = stats.beta(0.8, 0.8 * (states - 1))
        assert stats.kstest(theta[:, place], marginal.cdf).pvalue > RARE
    # distributions stay independent of one another: a correlation of independent draws has deviation 1/√n
    across = np.corrcoef(theta.T)[layout.group[:, None] != layout.group]
    assert np.abs(across).max() < 4.5 / np.sqrt(len(theta))


def test_posterior_means_agree_with_enumeration() -> None:
    problem = holey(1, rows=5)
    every = completed(problem)
    logs = np.array([log for log, _ in every])
    chance = np.exp(logs - naive.log_sum(logs.tolist()))
    layout, alpha = problem.dag.layout, problem.belief.alpha
    means = [(alpha + counts) / layout.total(alpha + counts)[layout.group] for _, counts in every]
    expected = chance @ np.array(means)
    draws = gibbs(problem, 1000, burn=200, chains=10)
    by_chain = draws.mean(axis=1)
    error = by_chain.std(axis=0, ddof=1) / np.sqrt(10)
    assert np.all(np.abs(by_chain.mean(axis=0) - expected) < 5 * error)  # t with 9 degrees, some 20 places


@pytest.mark.parametrize("tau", [0.0, 0.3, 0.7])
def test_tempered_completions_agree_with_enumeration(tau: float) -> None:
    """At any temperature completions have the chances ∝ ∫ p(θ) p(x, y | θ)^τ dθ."""
    problem = classes(2, rows=3)
    laid = walker(problem)
    every = np.array([counts for _, counts in completed(problem)])
    logs = laid.log_tempered(tau, every)
    chance = np.exp(logs - naive.log_sum(logs.tolist()))
    steps = 2000
    walks = laid.walk(np.full(steps + 1, tau), list(range(8)), keep=("counts",))
    means = walks.counts[:, 100:].mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(8)
    assert np.all(np.abs(means.mean(axis=0) - chance @ every) < 5 * error + 1e-12)


def test_tempered_density_at_both_ends() -> None:
    """At τ = 1 it is the probability of the completed rows, at τ = 0 that of a uniform completion."""
    problem = classes(2, rows=3)
    laid = walker(problem)
    for log, counts in completed(problem):
        # up to the log number of completions, which is 3 log 2
        assert laid.log_tempered(1.0, counts) - 3 * np.log(2) == pytest.approx(log, abs=1e-12)
        assert laid.log_tempered(0.0, counts) == 0.0


def test_without_holes_draws_come_from_the_closed_form() -> None:
    problem = complete()
    draws = gibbs(problem, 500, burn=2, chains=4).reshape(-1, problem.dag.layout.size)
    posterior = problem.belief.alpha + problem.prepared.observed
    total = problem.dag.layout.total(posterior)[problem.dag.layout.group]
    for place in range(problem.dag.layout.size):
        law = stats.beta(posterior[place], total[place] - posterior[place])
        assert stats.kstest(draws[:, place], law.cdf).pvalue > RARE


def test_shapes_thinning_and_sums() -> None:
    problem = classes(0)
    draws = gibbs(problem, 7, burn=5, chains=3, thin=2)
    assert draws.shape == (3, 7, problem.dag.layout.size)
    assert problem.dag.layout.total(draws) == pytest.approx(1.0)
    every = gibbs(problem, 15, burn=5, chains=3)
    assert np.array_equal(draws[:, 0], every[:, 2])  # burn of 5 is rounded up to 6; then the second after


def test_draws_are_reproducible(use_threads: Callable[[int], None]) -> None:
    problem = classes(0)
    use_threads(1)
    alone = gibbs(problem, 20, rng=3)
    use_threads(4)
    assert np.array_equal(gibbs(problem, 20, rng=3), alone)
    assert not np.array_equal(gibbs(problem, 20, rng=4), alone)


def test_ladders_begin_at_variational_optima_and_end_at_the_posterior() -> None:
    """How unlike two classes are in size does not depend on their names: its mean is that of enumeration."""
    problem = classes(0, rows=8)
    climbed = ladders(problem, 17, 200, 2, 16)
    place = problem.dag.layout.start[problem.dag.schema.index("H")]
    logs, counts = zip(*completed(problem), strict=True)
    wanted = np.exp(np.array(logs) - np.logaddexp.reduce(logs)) @ [abs(own[place] - 4) for own in counts]
    worth, sums = np.zeros(16), np.zeros(16)
    for one in climbed.parts:
        assert one.tau[0] == 0.0
        assert one.tau[-1] == 1.0
        assert len(one.states) == 17
        assert one.counts.shape[::2] == (16, problem.dag.layout.size)
        assert isinstance(one.mover, TableMover)
        assert one.mover.log_constant == pytest.approx(np.log(2))  # two states have two names
        part = np.exp(one.log_z[:, -1] - np.logaddexp.reduce(logs))
        worth, sums = worth + part, sums + part * np.abs(one.counts[:, :, place] - 4).mean(axis=1)
    mean = sums.sum() / worth.sum()
    error = np.sqrt(((sums - mean * worth) ** 2).sum()) / worth.sum()
    assert error < 0.1
    assert abs(mean - wanted) < 4 * error  # normal, by the delta method


def test_parts_of_optima_do_not_compete() -> None:
    """Flat sums of a hidden cause: some optima have little of the path's middle and more of its end.

    On one ladder for all most islands have lost these by then: of 800 islands that had drawn them anew
    together three said 9 to 20 times the evidence, the others 3 % too little. With a ladder of each their
    evidences have a deviation of 0.08.
    """
    graph = dag("H -> A B", states={"A": 2, "B": 3}, hidden={"H": 2})
    rows = np.repeat([[0, 0], [0, 2], [1, 0], [1, 2]], [5, 24, 53, 118], axis=0)
    codes = np.column_stack([np.full(len(rows), -1), rows]).astype(np.int32)
    problem = Problem(graph, Table(graph.schema, codes), Dirichlet(0.1))
    evidence = exact(problem, budget=10**6).value
    climbed = ladders(problem, 32, 32, 4, 64)
    assert len(climbed.parts) > 4
    for k, one in enumerate(climbed.parts):
        assert all(isinstance(state, Particles) and np.all(state.which == k) for state in one.states)
    logs = [one.log_z[:, -1] + one.mover.log_constant - evidence for one in climbed.parts]
    worth = np.exp(logs).sum(axis=0)
    assert worth.std(ddof=1) < 0.2
    assert abs(worth.mean() - 1.0) < 4 * worth.std(ddof=1) / 8  # islands' mean is unbiased


def test_what_cannot_be() -> None:
    with pytest.raises(ParameterError, match="draws must be at least one"):
        gibbs(classes(0), 0)
    with pytest.raises(ParameterError, match="temperatures must be at least two"):
        ladders(classes(0), 1, 1, 1, 1)
    with pytest.raises(TooWideError, match="fewer draws"):
        gibbs(classes(0), 10**9)


def test_zero_weight_rows_draw_nothing() -> None:
    problem = classes(0)
    weights = np.zeros(len(table_of(problem)))
    table: Table = replace(table_of(problem), weights=weights)
    walks = walker(replace(problem, table=table)).walk(np.ones(3), [0], keep=("counts",))
    assert np.all(walks.counts == 0.0)

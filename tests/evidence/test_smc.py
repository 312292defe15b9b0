"""Sequential Monte Carlo: against enumeration, and its second opinion and twin."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, digamma, gammaln, logsumexp
from scipy.stats import t as student

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.errors import ParameterError
from lacunary.evidence.arriving import rows_mover
from lacunary.evidence.bases import optima
from lacunary.evidence.exact import exact
from lacunary.evidence.hamiltonian import Hamiltonian, Pace
from lacunary.evidence.imputation import sequence
from lacunary.evidence.laplace import laplace
from lacunary.evidence.movers import from_prior
from lacunary.evidence.peaks import peak_mover
from lacunary.evidence.population import Annealed, Mover, Weights, anneal, finer, schedule
from lacunary.evidence.problem import Problem
from lacunary.evidence.sampler import Sampler, apart, double, until
from lacunary.evidence.sandwich import Twin, both_ends, sandwich, twin_of
from lacunary.evidence.score import pose
from lacunary.evidence.smc import sampled, samplers
from lacunary.infer.belief import Dirichlet
from lacunary.maths.psis import pareto_shape
from tests.evidence.mixed_small import posed
from tests.evidence.small import classes, holey, table_of, walker

FAR = 4.5
"""Standard errors, t distributed with 15 degrees of freedom: one run in 2 500 is farther off."""


def small(seed: int, alpha: float) -> Problem:
    """Rows of a hidden class with a prior that makes modes lie apart."""
    problem = classes(seed, rows=10)
    return replace(problem, prior=Dirichlet(alpha), rng=seed)


@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_sampled_agrees_with_enumeration(alpha: float) -> None:
    for problem in (small(1, alpha), replace(holey(2), prior=Dirichlet(alpha))):
        found, true = sampled(problem), exact(problem).value
        assert found.stderr is not None
        assert abs(found.value - true) <= FAR * found.stderr + 1e-9
        assert found.stderr <= 0.11  # what was asked for, but for a tenth
        assert found.details["trustworthy"], found.details["note"]


@pytest.mark.parametrize("share", [0.0, 0.15])
def test_what_does_not_vary_is_not_doubted_for_its_rounding(share: float) -> None:
    """Without arcs rows are exchangeable and islands exact: bounds and runs differ by rounding."""
    rng = np.random.default_rng(3)
    columns = {f"X{i}": rng.integers(2 + i % 2, size=80).tolist() for i in range(5)}
    table = lac.make_holes(lac.read(columns, kinds="discrete"), share, rng=1) if share else lac.read(columns)
    graph = lac.Dag(table.schema, ((),) * 5)
    for method in ("sampled", "sandwich"):
        found = lac.score(graph, table, method)
        assert found.details["note"] == ""
        assert found.value == pytest.approx(lac.score(graph, table, "exact").value, rel=1e-12)
        assert " ± 0 nats" in str(found)


@pytest.mark.parametrize("many", [3e4, 1e6])
def test_of_many_rows_that_do_not_tell_the_classes_it_is_the_closed_form(many: float) -> None:
    """Two classes above one item: no number of rows tells them, and the posterior has arms, not a peak.

    Of three uniform parameters q = t p + (1 − t) p′ has the density 2 H(q), H the entropy in nats: given p
    and p′ it is uniform between them. Under Beta(a, b) E[q log q] = a/(a + b) (ψ(a + 1) − ψ(a + b + 1)).
    """
    dag = lac.dag("H -> A", states=2, hidden=["H"])
    rows = np.array([[HOLE, 0], [HOLE, 1]], dtype=np.int16)
    table = lac.Table(dag.schema, rows, weights=np.array([2 * many, many]))
    beta = np.array([2 * many, many]) + 1
    entropy = -(beta / beta.sum() * (digamma(beta + 1) - digamma(beta.sum() + 1))).sum()
    true = betaln(*beta) + np.log(2 * entropy)
    found = lac.score(dag, table, "sampled", stderr=0.2)
    assert "random walk" in found.details["sampler"]
    assert found.stderr is not None
    assert found.stderr < 0.3
    assert abs(found.value - true) < FAR * found.stderr


def test_rows_that_all_differ_come_in_one_by_one() -> None:
    """Hamiltonian steps have to look at all of them at every leap, sequential imputation now and then.

    Nothing ties the columns together, so that no peak tells what the hidden class does.
    """
    names = [f"x{k}" for k in range(12)]
    dag = lac.dag(f"H -> {' '.join(names)}", states=2, hidden=["H"])
    table = lac.random_network(lac.dag("; ".join(names), states=2), rng=1).sample(8000, rng=1)
    ways, _ = samplers(pose(dag, table, prior=Dirichlet(1.0)), np.random.default_rng(0))
    assert "imputation" in ways[0].name


def test_of_a_million_rows_it_is_laplace_of_both_labellings() -> None:
    """Laplace's error shrinks like 1/N, and rows that come in one by one would take minutes."""
    dag = lac.dag("H -> a b c d", states=2, hidden="H")
    kinds = np.array(list(product((0, 1), repeat=4)))
    first, second = (np.prod(np.where(kinds == 1, p, 1 - p), axis=1) for p in (0.8, 0.3))
    rows = np.insert(kinds, dag.schema.index("H"), HOLE, axis=1)
    table = lac.Table(dag.schema, rows, weights=np.round(1e6 * (0.4 * first + 0.6 * second)))
    problem = pose(dag, table, prior=Dirichlet(1.0))
    found, true = sampled(problem), laplace(problem, symmetry=True).value
    assert "peaks" in found.details["sampler"]
    assert found.details["trustworthy"], found.details["note"]
    assert found.stderr is not None
    assert abs(found.value - true) <= FAR * found.stderr
    assert found.stderr <= 0.11


def test_annealing_from_variational_optima_counts_every_labelling_once() -> None:
    problem, rng = small(3, 1.0), np.random.default_rng(0)
    laid, true = walker(problem), exact(problem).value
    mover = optima(problem, rng).mover(laid)
    assert mover is not None
    assert mover.log_constant == pytest.approx(np.log(2))
    near, along = peak_mover(optima(problem, rng), rng), rows_mover(optima(problem, rng), rng)
    assert near is not None
    assert along is not None
    paths: list[Mover[Any]] = [mover, from_prior(laid), near, along]
    for path in paths:
        tau = finer(schedule(path, rng), 1.0 if isinstance(path, Hamiltonian) else 4.0)
        if isinstance(path, Hamiltonian):
            path.seeking = False
        log_z = anneal(path, tau, 32, 32, rng).log_z
        error = np.exp(log_z - true).std(ddof=1) / np.sqrt(32)
        assert abs(logsumexp(log_z) - np.log(32) - true) <= 5 * error + 0.02


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_slopes_of_paths_are_those_of_their_densities(alpha: float) -> None:
    """By central differences: h² |f‴| / 6 and rounding ε |f| / h are far below the tolerance."""
    problem, rng, h = small(3, alpha), np.random.default_rng(1), 1e-4
    near, along = peak_mover(optima(problem, rng), rng), rows_mover(optima(problem, rng), rng)
    assert near is not None
    assert along is not None
    for path in (near, along):
        state = path.begin(5, rng)
        for tau in (0.0, 0.3, 1.0):
            slope = state.base_slope + tau * state.log_slope
            for i in range(state.counts.shape[1]):
                step = np.zeros_like(state.counts)
                step[:, i] = h
                above, below = (path.height(tau, path.at(state.counts + sign * step)) for sign in (1, -1))
                np.testing.assert_allclose((above - below) / (2 * h), slope[:, i], rtol=1e-5, atol=1e-5)


def test_hamiltonian_steps_leave_the_posterior_as_it_is() -> None:
    """Two rows of one cell: Beta(3, 1) has log θ and log (1 − θ) of known means, from wherever steps began.

    E log θ = ψ(3) − ψ(4) and E log (1 − θ) = ψ(1) − ψ(4).
    """
    dag = lac.dag("A", states=2)
    problem = pose(dag, lac.Table(dag.schema, np.zeros((2, 1), dtype=np.int16)), prior=Dirichlet(1.0))
    path = rows_mover(optima(problem, np.random.default_rng(3)), np.random.default_rng(0))
    assert path is not None
    schedule(path, np.random.default_rng(1), 128)
    path.seeking = False
    state = path.begin(20_000, np.random.default_rng(2))
    path.move(state, 1.0, 20)
    error = state.counts.std(axis=0) / np.sqrt(len(state.counts))
    assert np.all(np.abs(state.counts.mean(axis=0) - (digamma([3.0, 1.0]) - digamma(4.0))) <= 5 * error)


def test_leaps_in_one_labelling_leave_the_posterior_as_it_is() -> None:
    """Draws from the prior, drawn anew by their likelihoods, are draws from the posterior.

    What is the same in all labellings keeps its mean, whatever leaps would be in another labelling.
    """
    problem, rng = small(3, 1.0), np.random.default_rng(4)
    path = rows_mover(optima(problem, rng), rng)
    assert path is not None
    size = problem.dag.layout.size
    path.seeking, path.paces = False, {1.0: Pace(0.4, 4, np.diag(2.0 ** rng.uniform(-3, 1, size)), path.home)}
    state = path.begin(400_000, rng)
    weights = np.exp(state.log - state.log.max())
    state = state.take(rng.choice(len(weights), 40_000, p=weights / weights.sum()))
    before = np.stack([state.log, state.base, state.log**2])
    for _ in range(8):
        path.move(state, 1.0, 1)
    after = np.stack([state.log, state.base, state.log**2])
    assert (after != before).mean() > 0.9
    changed = (after - before).mean(axis=1) / ((after - before).std(axis=1) / np.sqrt(40_000))
    assert np.all(np.abs(changed) <= 5)


def test_leaps_follow_the_mean_curvature_where_many_would_be_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacunary.evidence.arriving.ACROSS", 20.0)
    problem, rng = small(3, 1.0), np.random.default_rng(4)
    true, path = exact(problem).value, rows_mover(optima(problem, rng), rng)
    assert path is not None
    tau = schedule(path, rng)
    path.seeking = False
    assert path.known(1.0).root.ndim == 2
    log_z = anneal(path, tau, 32, 32, rng).log_z
    error = np.exp(log_z - true).std(ddof=1) / np.sqrt(32)
    assert abs(logsumexp(log_z) - np.log(32) - true) <= 5 * error


@pytest.mark.parametrize("first", [1, 6])
def test_rows_that_arrive_after_the_first_agree_with_enumeration(first: int) -> None:
    """From rows that came in one by one: islands are unbiased, and so is their mean."""
    problem, rng = small(3, 1.0), np.random.default_rng(5)
    true, path = exact(problem).value, rows_mover(optima(problem, rng), rng, first)
    assert path is not None
    tau = finer(schedule(path, rng), 2.0)
    path.seeking = False
    begun, steps = path.arrive(48, 16, rng)
    assert steps > 0
    log_z = anneal(path, tau, 48, 16, rng, begun=begun).log_z
    error = np.exp(log_z - true).std(ddof=1) / np.sqrt(48)
    assert abs(logsumexp(log_z) - np.log(48) - true) <= 5 * error
    assert error < 0.1


def test_first_rows_are_some_of_all_at_even_distances() -> None:
    problem = small(3, 1.0)
    path = rows_mover(optima(problem, np.random.default_rng(0)), np.random.default_rng(0), 5)
    assert path is not None
    assert path.first is not None
    codes, _, weights = problem.rows("sampling")
    some = {row.tobytes(): w for row, w in zip(*path.first.rows("sampling")[::2], strict=True)}
    share = 5 / weights.sum()
    assert sum(some.values()) == 5
    for row, weight in zip(codes, weights, strict=True):
        assert abs(some.get(row.tobytes(), 0.0) - share * weight) <= 1.0


def test_imputation_weighs_rows_by_the_urn() -> None:
    """With one particle and every row completed as given, the weight is a ratio of closed forms."""
    problem = small(4, 0.3)
    rows = sequence(problem)
    assert rows is not None
    one = rows.run(4, 1, np.random.default_rng(1))
    # Σ over rows of log p(cells | earlier completions) is the log weight; its mean over runs is the evidence.
    many = rows.run(4096, 1, np.random.default_rng(2)).log_z
    relative = np.exp(many - exact(problem).value)
    assert abs(relative.mean() - 1.0) <= 5 * relative.std() / 64
    assert np.all(one.log_z < 0.0)


def test_tied_tables_are_drawn_from_one_urn() -> None:
    graph = lac.dag("A -> B -> C", states=2)
    tied = replace(graph, tied=(("B", "C"),)) if hasattr(graph, "tied") else graph
    codes = np.array([[0, HOLE, 1], [HOLE, 1, 1], [1, HOLE, HOLE], [0, 0, 0]], dtype=np.int16)
    problem = Problem(tied, lac.Table(graph.schema, codes), Dirichlet(0.5))
    logs = []
    for filling in product((0, 1), repeat=4):
        full = codes.copy()
        full[codes == HOLE] = filling
        first = np.bincount(full[:, 0], minlength=2)
        shared = np.zeros((2, 2))
        np.add.at(shared, (full[:, 0], full[:, 1]), 1)
        np.add.at(shared, (full[:, 1], full[:, 2]), 1)
        alpha = problem.belief.alpha
        a, b = alpha[:2], alpha[2:6].reshape(2, 2).T  # the child's state comes first
        logs.append(
            sum(
                gammaln(x.sum()) - gammaln((x + n).sum()) + (gammaln(x + n) - gammaln(x)).sum()
                for x, n in ((a, first), (b[0], shared[0]), (b[1], shared[1]))
            )
        )
    found = sampled(problem)
    assert abs(found.value - logsumexp(logs)) <= FAR * (found.stderr or 0.0) + 1e-9


def test_fixed_tables_are_held() -> None:
    graph = lac.dag("H -> A B", states=2, hidden={"H": 2})
    table = lac.random_network(graph, rng=0).sample(12, rng=1).select(["A", "B"])
    known = lac.fit(graph, table, fixed={"A": [[0.9, 0.1], [0.2, 0.8]]}, starts=2)
    true = lac.score(known, table, "exact").value
    found = lac.score(known, table, "sampled", rng=1)
    assert found.stderr is not None
    assert abs(found.value - true) <= FAR * found.stderr + 1e-6  # the known table is held to 1e-7


def normal_logs(conditional: bool) -> Sampler:
    """Return a sampler whose islands' logs are normal, and the mean of exp(logs), or of exp(−logs), one."""

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        spread = 1.0 / np.sqrt(effort)
        logs = rng.normal(-(spread**2) / 2, spread, islands) * (-1.0 if conditional else 1.0)
        return Annealed(logs, np.zeros((islands, 1)), np.zeros((islands, 1000)), islands)

    return Sampler("normal logs", attempt, 1.0, conditional)


def offs(twin: Twin, rng: np.random.Generator) -> tuple[float, float]:
    """Return how far the ends that islands find are from the twin's exact evidence, in standard errors."""
    true = exact(twin.problem).value
    for way in (twin.there, twin.back):
        way.run(16, 0.5, rng)
    low, high = ((way.value - true) / way.stderr for way in (twin.there, twin.back))
    return low, high


def test_the_twin_lies_between_its_ends() -> None:
    """Both ends have t distributed errors; a mean over six twins is within its own of zero."""
    problem, rng = small(5, 1.0), np.random.default_rng(3)
    off = [offs(twin_of(problem, rng), rng) for _ in range(6)]
    assert np.all(np.abs(np.mean(off, axis=0)) <= 4.0 / np.sqrt(6))


def test_a_twin_is_not_run_until_its_ends_happen_to_be_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends with normal logs: their differences are nearly as far from zero as their errors say.

    Run until they look close, as was done once, all would lie within what is wanted. Only the one in twenty
    that lie beyond are doubled: their square is 5.9 on average, and half of that is kept by all islands
    together, less by those that go on. 1 − 0.05 · 5.9 · 2/3 is 0.8, of which the deviation is the root.
    """
    rng, z, problem = np.random.default_rng(4), [], small(5, 1.0)

    def twin(problem: Problem, rng: np.random.Generator) -> Twin:
        return Twin(problem, normal_logs(conditional=False), normal_logs(conditional=True))

    monkeypatch.setattr("lacunary.evidence.sandwich.twin_of", twin)
    for _ in range(800):
        there, back = both_ends(problem, 0.2, 1e9, 16, rng)
        z.append((back.value - there.value) / np.hypot(there.stderr, back.stderr))
        assert max(there.stderr, back.stderr) <= 0.1
    deviation = 1.0 / np.sqrt(2 * len(z))
    assert np.sqrt(0.8) - 4 * deviation < np.std(z) < np.sqrt(29 / 27) + 4 * deviation
    assert abs(np.mean(z)) < 0.15 + 4 / np.sqrt(len(z))  # the log of a mean is low by half its variance


def test_sandwich_tells_the_gap_and_both_runs() -> None:
    found = sandwich(small(6, 1.0))
    assert abs(found.details["gap"]) <= 0.1 + 3 * found.details["gap_error"]
    assert len(found.details["runs"]) == 2
    assert found.method == "sandwich"
    assert {found.details["doubled"], found.details["twin_doubled"]} <= {0, 1, 2, 3}


def test_the_twin_of_a_mixed_network_lies_between_its_ends() -> None:
    """Hidden classes are summed out one by one; a mean over six twins is within its error of zero."""
    problem, rng = posed("C -> X; C X -> Y", 6, hidden="C", seed=1), np.random.default_rng(3)
    off = [offs(twin_of(problem, rng), rng) for _ in range(6)]
    assert np.all(np.abs(np.mean(off, axis=0)) <= 4.0 / np.sqrt(6))


@pytest.mark.parametrize("hidden", ["", "F"])
def test_sandwich_of_continuous_holes_and_factors(hidden: str) -> None:
    problem = posed("F -> X Y Z", 8, hidden=hidden, continuous=0.2, seed=2)
    found = sandwich(problem, stderr=0.2)
    assert abs(found.details["gap"]) <= 4 * found.details["gap_error"]
    assert len(found.details["runs"]) == 2
    assert found.details["apart"] <= 4.0


def test_conditional_runs_of_a_random_walk() -> None:
    """A sigmoid's twin: the ends of annealing from the prior and back to the point behind the rows."""
    graph = lac.dag("A -> C", states={"A": 2}, family={"C": "sigmoid"})
    table = lac.random_network(graph, rng=0).sample(12, rng=0)
    rng, off = np.random.default_rng(1), []
    for _ in range(4):
        twin = twin_of(pose(graph, table), rng)
        for way in (twin.there, twin.back):
            way.run(16, 1, rng)
        off.append((twin.back.value - twin.there.value) / np.hypot(twin.back.stderr, twin.there.stderr))
    assert abs(np.mean(off)) <= 2.0  # a mean of four, each of deviation one


def test_rows_that_count_twice_have_two_twins() -> None:
    problem = small(5, 1.0)
    heavy = replace(problem, table=replace(table_of(problem), weights=np.full(10, 2.0)))
    twin = twin_of(heavy, np.random.default_rng(0))
    assert len(table_of(twin.problem)) == 20
    half = replace(problem, table=replace(table_of(problem), weights=np.full(10, 0.5)))
    with pytest.raises(ParameterError, match="use 'sampled'"):
        sandwich(half)


def test_mixed_networks_and_sigmoids_are_sampled() -> None:
    graph = lac.dag("A -> X", states={"A": 2}, kinds={"X": "continuous"})
    table = lac.random_network(graph, rng=0).sample(8, rng=0)
    codes = table.codes.copy()
    codes[:3, 0] = HOLE
    holed = replace(table, codes=codes)
    found, true = lac.score(graph, holed, "sampled"), lac.score(graph, holed, "exact").value
    assert abs(found.value - true) <= FAR * (found.stderr or 0.0) + 1e-9


def test_rows_of_fractional_weight_are_walked() -> None:
    """Half a row counts half in the log-likelihood: here of one coin with a uniform prior, B(2, 1.5)."""
    graph = lac.dag("A -> B", states=2)
    codes = np.array([[0, HOLE], [1, HOLE]], dtype=np.int16)
    table = lac.Table(graph.schema, codes, weights=np.array([1.0, 0.5]))
    found = lac.score(graph, table, "sampled", stderr=0.2)
    true = gammaln(2.0) + gammaln(1.5) - gammaln(3.5)
    assert abs(found.value - true) <= FAR * (found.stderr or 0.0)


def test_an_interrupted_run_returns_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, calls = small(7, 0.3), []

    def stop(what: str, part: float | None) -> None:
        calls.append(what)
        if "wanted" in what:
            raise KeyboardInterrupt

    problem.tell = stop
    found = sampled(problem, stderr=1e-4)
    assert "interrupted" in found.details["note"]
    assert found.stderr is not None
    assert calls


def test_more_islands_than_can_be_paid_are_not_run() -> None:
    """An error of 0.001 asks for some 10⁵ islands; the budget pays for fewer, each with as many particles."""
    problem = replace(classes(1, rows=40), prior=Dirichlet(0.05))
    found = sampled(problem, stderr=0.001, budget=2.0**22)
    assert found.stderr is not None
    assert abs(found.value - exact(problem).value) < 4 * found.stderr
    assert "was not reached within the budget" in found.details["note"]
    assert 16 <= len(found.details["log_z"]) < 10_000


def test_an_error_is_settled_before_its_islands_are_run() -> None:
    """Normal logs, of a spread that asks for 16 to 30 islands: errors hold, whatever first runs looked like.

    With islands added until the error looks small, which was done before, z had a deviation of 1.2 and two
    runs were more than two errors apart in a tenth of all cases, as simulation has it.
    """
    rng, z = np.random.default_rng(3), []
    problem = classes(0, rows=8)
    for _ in range(1500):
        way = normal_logs(conditional=False)
        way.run(16, 1.0, rng)
        until(problem, way, 16, 0.1, 1e9, rng)
        assert way.stderr <= 0.1
        z.append(way.value / way.stderr)
    deviation = 1.0 / np.sqrt(2 * len(z))
    assert np.std(z) < np.sqrt(29 / 27) + 4 * deviation  # that of a t distribution with 29 degrees of freedom


def test_a_run_too_dear_to_be_forgotten_counts_and_has_all_that_is_left() -> None:
    """Islands that differ by two nats, whatever the effort: the budget pays for 100 of the first 16."""
    rng, runs = np.random.default_rng(9), []

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        runs.append((islands, effort))
        log_z = 2.0 * rng.standard_normal(islands)
        return Annealed(log_z, np.zeros((islands, 1)), np.zeros((islands, 1)), round(100 * islands * effort))

    way = Sampler("", attempt, 1.0)
    way.run(16, 1.0, rng)
    until(small(5, 1.0), way, 16, 0.1, 100 * 16 * 7.0, rng)
    (islands, effort), *added = runs[1:]
    assert effort > 2.0
    assert islands * effort == pytest.approx(16 * 6.0, rel=0.1)
    assert len(way.log_z) == islands + sum(more for more, _ in added)


def missing(nats: float) -> tuple[Sampler, Sampler]:
    """Return two samplers with normal logs, the first of which misses so much of the evidence, run."""
    whole, rng = normal_logs(conditional=False), np.random.default_rng(6)

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        found = whole.attempt(islands, effort, rng)
        return replace(found, log_z=found.log_z - nats)

    pair = replace(whole, attempt=attempt), normal_logs(conditional=True)
    for way in pair:
        way.run(23, 6.0, rng)
    return pair


def test_what_a_sampler_misses_is_reported_however_often_islands_are_doubled() -> None:
    """Half a nat, four errors: twice the islands show it better, and all of them count."""
    pair = missing(0.5)
    double(classes(0, rows=8), pair, lambda: apart(*pair) > 2.0, 0.1, 1e9, np.random.default_rng(7))
    assert [way.doubled for way in pair] == [3, 3]
    assert [len(way.log_z) for way in pair] == [184, 184]
    assert abs(pair[0].value + 0.5) <= 4.0 * pair[0].stderr
    assert apart(*pair) > 8.0  # 0.5 nats are 12 errors of 0.03 on either side


def test_doubling_that_cannot_be_paid_is_not_begun() -> None:
    """A budget that pays for half as many islands again as each sampler has."""
    pair = missing(0.5)
    double(classes(0, rows=8), pair, lambda: True, 0.1, 35.0, np.random.default_rng(7))
    assert [way.doubled for way in pair] == [0, 0]


def test_the_one_that_can_be_paid_is_doubled() -> None:
    """The second has spent all; the first, which has cost 23 multiplications, goes on while 160 pay."""
    pair = missing(0.5)
    pair[1].spent = 160.0
    double(classes(0, rows=8), pair, lambda: True, 0.5, 160.0, np.random.default_rng(7))
    assert [way.doubled for way in pair] == [2, 0]
    assert [len(way.log_z) for way in pair] == [92, 23]


def test_pairs_that_chance_has_put_apart_are_doubled_and_errors_hold() -> None:
    """Normal logs: one pair in twenty is beyond two errors before, one in a hundred at most after.

    Who stops where runs agree stops where their errors are small, not where they look so: the value is within
    its t interval at least as often as it would be without. By simulation of 40 000 pairs it is outside in
    3.6 %, the pairs in 0.2 %, where they were 4.7 % both.
    """
    problem, rng, z, far, times = classes(0, rows=8), np.random.default_rng(8), [], [], []
    for _ in range(1500):
        pair = normal_logs(conditional=False), normal_logs(conditional=True)
        for way in pair:
            way.run(23, 6.0, rng)
        double(problem, pair, lambda pair=pair: apart(*pair) > 2.0, 0.1, 1e9, rng)  # type: ignore[misc]
        main = pair[0]
        z.append(main.value / main.stderr / student.ppf(0.975, len(main.log_z) - 1))
        far.append(apart(*pair) > 2.0)
        times.append(main.doubled)
    chance = 4 * np.sqrt(0.05 * 0.95 / len(z))
    assert np.mean(np.abs(z) > 1.0) <= 0.05 + chance
    assert abs(np.mean(np.array(times) > 0) - 0.05) <= chance
    assert np.mean(far) <= 0.01


def test_islands_that_settle_apart_give_way_to_those_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Effort brings islands of the first sampler no nearer: a quarter of the budget is enough for it."""

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        logs = rng.normal(-4.5, 3.0, islands)
        return Annealed(logs, np.zeros((islands, 1)), np.zeros((islands, 1000)), round(islands * effort))

    stuck, agreeing = Sampler("stuck", attempt, 1.0, points=True), normal_logs(conditional=False)
    ways = [stuck, replace(agreeing, points=True)]
    monkeypatch.setattr("lacunary.evidence.smc.samplers", lambda problem, rng: (ways, None))
    found = sampled(classes(0, rows=8), budget=1e5)
    assert found.stderr is not None
    assert found.details["sampler"] == "normal logs"
    assert found.details["trustworthy"]
    assert abs(found.value) <= FAR * found.stderr
    assert stuck.spent < 1e5 / 2


def test_a_cheap_sampler_that_has_missed_most_of_the_posterior_is_not_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Annealing that agrees with itself eleven nats low, beside rows that come in, by two apart.

    Markov's inequality: that those are eleven nats too high has a probability of e⁻¹¹ at most. A budget that
    cannot pay for their error says so, with their value.
    """

    def rough(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        spread = 2.0 / effort**0.25
        logs = rng.normal(-(spread**2) / 2, spread, islands)
        return Annealed(logs, np.zeros((islands, 1)), np.zeros((islands, 1000)), round(islands * effort))

    def low(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        logs = rng.normal(-11.0, 0.3, islands)
        return Annealed(logs, np.zeros((islands, 1)), np.zeros((islands, 1000)), islands)

    ways = [Sampler("dear", rough, 1.0, points=True), Sampler("low", low, 1.0, points=True)]
    monkeypatch.setattr("lacunary.evidence.smc.samplers", lambda problem, rng: (ways, None))
    found = sampled(classes(0, rows=8), budget=400.0)
    assert found.stderr is not None
    assert found.details["sampler"] == "dear"
    assert abs(found.value) <= 3.0 + FAR * found.stderr
    assert "was not reached within the budget" in found.details["note"]


def test_systematic_draws_follow_the_weights() -> None:
    logs = np.log(np.array([[0.7, 0.1, 0.1, 0.1]]))
    who = Weights(logs, 1.0).drawn(np.random.default_rng(0))
    assert 2 <= (who == 0).sum() <= 3  # 4 · 0.7 = 2.8


def test_paretos_shape_is_found() -> None:
    rng = np.random.default_rng(0)
    for shape in (0.3, 0.9):
        logs = np.log((rng.random(20_000) ** -shape - 1) / shape + 1)
        assert pareto_shape(logs) == pytest.approx(
            shape, abs=0.15
        )  # about √((1 + k)² / 424) and the pull to ½
    assert pareto_shape(np.zeros(100)) == 0.0


def test_enumerated_rows_are_those_of_the_table() -> None:
    problem = holey(5)
    rows = sequence(problem)
    assert rows is not None
    open_ = (table_of(problem).codes == HOLE).any(axis=1)
    assert rows.length == open_.sum()

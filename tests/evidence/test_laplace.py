"""Laplace's approximation: closed forms, the evidence it nears as rows are added, what it refuses."""

from __future__ import annotations

from itertools import product
from math import log, pi

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, xlogy

from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.evidence.bic import bic
from lacunary.evidence.charge import Charge
from lacunary.evidence.exact import exact
from lacunary.evidence.hessian import curvature
from lacunary.evidence.laplace import laplace
from lacunary.evidence.problem import At, Problem
from lacunary.infer.belief import Belief, Dirichlet
from lacunary.infer.covariance import free_places
from lacunary.infer.network import Network
from lacunary.learn.em import Basis
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag

TIGHT = Stop(absolute=1e-12, iterations=100_000)
"""The peak to about 1e-6 in θ: the objective is flat there, and Laplace's value nearly so."""

PRIORS: tuple[tuple[Basis, float], ...] = (("softmax", 1.0), ("probability", 2.0))


def pose(
    graph: Dag, codes: ArrayLike, weights: ArrayLike, alpha: float = 1.0, basis: Basis = "softmax"
) -> Problem:
    table = Table(graph.schema, np.array(codes, dtype=np.int16), weights=np.array(weights, dtype=np.float64))
    return Problem(graph, table, Dirichlet(alpha), basis=basis, stop=TIGHT, starts=5)


def one_distribution(counts: NDArray[np.float64], alpha: float, basis: Basis) -> float:
    """Eq. 8 for a single distribution of complete data, worked out by hand.

    At the peak θ = n/n₊ with n = N + α (softmax; N + α − 1 in θ), |A| = n₊^(r−1) Π θ, over (Π θ)² in θ.
    """
    held = counts + alpha - (basis == "probability")
    theta, r = held / held.sum(), len(held)
    log_det = (r - 1) * log(held.sum()) + (1 if basis == "softmax" else -1) * np.log(theta).sum()
    constant = gammaln(r * alpha) - r * gammaln(alpha)
    return float(xlogy(held, theta).sum() + constant + (r - 1) / 2 * log(2 * pi) - log_det / 2)


@pytest.mark.parametrize(("basis", "alpha"), [*PRIORS, ("softmax", 0.3), ("probability", 1.01)])
def test_complete_data_in_closed_form(basis: Basis, alpha: float) -> None:
    graph = dag("A -> B", states={"B": 3})
    weights = np.array([[3.0, 2.0, 4.0], [1.0, 5.0, 2.0]])
    problem = pose(graph, list(product(range(2), range(3))), weights.ravel(), alpha, basis)
    parts = [one_distribution(counts, alpha, basis) for counts in (weights.sum(axis=1), *weights)]
    found = laplace(problem)
    # The peak is in closed form without holes: what is left is rounding in sums near 30.
    assert found.value == pytest.approx(sum(parts), abs=1e-11)
    assert found.value == pytest.approx(sum(found.terms.values()), abs=1e-12)
    assert set(found.terms) == {"log-likelihood", "log prior density", "volume", "curvature"}
    assert found.dimension == 5
    assert found.kind == "approximation"


@pytest.mark.parametrize("at", ["map", "ml"])
@pytest.mark.parametrize(("basis", "alpha"), PRIORS)
@pytest.mark.parametrize("holes", [False, True])
def test_error_halves_when_the_rows_double(basis: Basis, alpha: float, at: At, holes: bool) -> None:
    graph = dag("A -> B")
    codes = [[0, 0], [0, 1], [1, 0], [1, 1], [HOLE, 0], [HOLE, 1]][: 6 if holes else 4]
    weights = np.array([4, 2, 1, 3, 2, 2])[: len(codes)]
    errors, flats = [], []
    for times in (8, 16):
        problem = pose(graph, codes, weights * times, alpha, basis)
        evidence = exact(problem).value
        errors.append(laplace(problem, at=at).value - evidence)
        flats.append(bic(problem).value - evidence)
    # The error is c₁/N + c₂/N² + …, with c₂/c₁ of the order of the rows of one period (14): at 8 periods
    # the second term can shift the ratio from 1/2 by about 1/16.
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.07)
    assert abs(errors[1]) < 0.03  # c₁/N with c₁ of the order of d = 3, N ≥ 160
    # BIC leaves out terms that do not depend on N: what it lacks stays.
    assert flats[1] / flats[0] == pytest.approx(1.0, abs=0.02)
    assert abs(flats[1]) > 1.0


def test_enumeration_is_what_it_says() -> None:
    """The oracle above, once more, by adding up every completion of every single row."""
    graph = dag("A -> B")
    rows = [(0, 0), (0, 1), (1, 1), (HOLE, 0), (HOLE, 0), (HOLE, 1)]
    logs = []
    for filling in product(range(2), repeat=3):
        full = [(filling[i - 3], b) if a == HOLE else (a, b) for i, (a, b) in enumerate(rows)]
        counts = np.zeros((2, 2))
        np.add.at(counts, tuple(np.array(full).T), 1.0)
        tables = (counts.sum(axis=1), *counts)
        logs.append(sum(gammaln(n + 1).sum() - gammaln(n.sum() + 2) for n in tables))
    # Rounding of a sum of eight terms.
    assert exact(pose(graph, rows, np.ones(6))).value == pytest.approx(logsumexp(logs), abs=1e-12)


def hidden_root_evidence(problem: Problem, weights: NDArray[np.float64], alpha: float) -> tuple[float, float]:
    """The evidence of a binary class over three binary variables, by importance sampling, and its error.

    Parameters are drawn from a t-distribution around the peak, in log-odds; whatever its shape, the mean
    weight is unbiased. Classes are told apart by their first child and counted twice, as both orders are
    equally likely.
    """
    graph, samples, nu = problem.dag, 200_000, 7
    theta = problem.point("map").theta
    free = free_places(graph.layout)
    bend = curvature(problem.prepared, theta).information(np.full(graph.layout.size, alpha), "softmax")
    root = np.linalg.cholesky(np.linalg.inv(bend))
    rng, d = np.random.default_rng(1), len(free)
    z = rng.standard_normal((samples, d)) * np.sqrt(nu / rng.chisquare(nu, samples))[:, None]
    log_q = gammaln((nu + d) / 2) - gammaln(nu / 2) - d / 2 * log(nu * pi) - np.log(np.diag(root)).sum()
    log_q = log_q - (nu + d) / 2 * np.log1p((z**2).sum(axis=1) / nu)
    first = 1 / (
        1 + np.exp(-(np.log(theta[free] / (1 - theta[free])) + z @ root.T))
    )  # p(state 0); (samples, 7)
    both = np.stack([first, 1 - first])
    log_p = d * (gammaln(2 * alpha) - 2 * gammaln(alpha)) + alpha * np.log(both).sum(axis=(0, 2))
    for x, weight in zip(product(range(2), repeat=3), weights, strict=True):
        classes = [
            both[h, :, 0] * np.prod([both[s, :, 1 + 2 * c + h] for c, s in enumerate(x)], axis=0)
            for h in (0, 1)
        ]
        log_p += weight * np.log(classes[0] + classes[1])
    mine = (first[:, 1] > first[:, 2]) == (theta[free[1]] > theta[free[2]])
    log_w = np.where(mine, log_p - log_q, -np.inf)
    mean = logsumexp(log_w) - log(samples)
    return mean + log(2), float(np.exp(log_w - mean).std() / np.sqrt(samples))


@pytest.mark.parametrize(("basis", "alpha"), PRIORS)
def test_hidden_root_with_its_two_labellings(basis: Basis, alpha: float) -> None:
    graph = dag("H -> A B C", hidden=["H"])
    codes = [(HOLE, *x) for x in product(range(2), repeat=3)]
    errors = []
    for times in (20, 40):  # as if drawn from classes of one half that err in a tenth of the cells
        weights = times * np.array([8, 1, 1, 1, 1, 1, 1, 8])
        problem = pose(graph, codes, weights, alpha, basis)
        evidence, spread = hidden_root_evidence(problem, weights, alpha)
        assert spread < 0.002
        found = laplace(problem, symmetry=True)
        assert found.terms["log symmetry"] == pytest.approx(log(2), rel=1e-12)
        assert laplace(problem).value == pytest.approx(found.value - log(2), abs=1e-12)
        errors.append(found.value - evidence)
    # c/N at N = 440 and 880, c of some tens as the class is weakly known; without log 2 it would be 0.7.
    assert abs(errors[1]) < 0.06
    # Half, give or take three standard errors of the samples, 0.004, over the first error, above 0.025,
    # and a next term that is at most a tenth of the first.
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize(("basis", "alpha"), PRIORS)
def test_the_order_of_states_changes_nothing(basis: Basis, alpha: float) -> None:
    graph = dag("A -> B -> C", states={"A": 3, "B": 3})
    rng = np.random.default_rng(8)
    codes = rng.integers(0, graph.schema.sizes, size=(40, 3))
    holes = rng.random(codes.shape) < 0.2
    turned = np.stack(
        [
            np.array(turn)[column]
            for turn, column in zip(((2, 0, 1), (1, 2, 0), (1, 0)), codes.T, strict=True)
        ],
        axis=1,
    )
    values = [
        laplace(pose(graph, np.where(holes, HOLE, rows), np.ones(40), alpha, basis)).value
        for rows in (codes, turned)
    ]
    # Both fits stop within 1e-12 of the peak's height, 1e-6 of its place; the determinant follows.
    assert values[0] == pytest.approx(values[1], abs=1e-5)


def test_tied_families_are_one_family_with_all_the_rows() -> None:
    tied = pose(dag("A; B", states=3, tied=[("A", "B")]), [[0, 1], [2, 1], [0, 2]], [2, 3, 4])
    single = pose(dag("A", states=3), [[0], [1], [2]], [6, 5, 7])
    assert laplace(tied).value == pytest.approx(laplace(single).value, abs=1e-12)  # the same sums
    assert laplace(tied).dimension == 2


def test_a_class_of_one_state_is_no_class() -> None:
    codes = [[0, 1], [1, 1], [0, 0], [1, HOLE]]
    plain = pose(dag("A; B"), codes, [3, 1, 2, 4])
    classed = pose(dag("A; B; H -> A B", hidden={"H": 1}), [[a, b, HOLE] for a, b in codes], [3, 1, 2, 4])
    # Two climbs that end within 1e-12 of the peak's height, 1e-6 of its place; the determinant follows.
    assert laplace(classed, symmetry=True).value == pytest.approx(laplace(plain).value, abs=1e-5)


def test_a_variable_nobody_sees_costs_its_prior_alone() -> None:
    """The evidence does not change; Laplace's own error on the leaf's Beta(1, 1) in log-odds is by hand."""
    codes = [[0, 1], [1, 1], [0, 0], [1, 0]]
    plain = laplace(pose(dag("A -> B"), codes, [3, 1, 2, 4])).value
    leafed = laplace(pose(dag("A -> B -> C", hidden=["C"]), [[a, b, HOLE] for a, b in codes], [3, 1, 2, 4]))
    leaf = one_distribution(np.zeros(2), 1.0, "softmax")
    # The climb ends within 1e-6 of the leaf's place; the determinant follows.
    assert leafed.value == pytest.approx(plain + 2 * leaf, abs=1e-5)
    assert leafed.details["log symmetry"] == 0.0


def test_the_basis_can_be_chosen_and_moves_the_peak() -> None:
    graph, codes, weights = dag("A -> B"), [[0, 0], [0, 1], [1, 1], [HOLE, 0]], [3, 2, 4, 2]
    softmax = pose(graph, codes, weights, 2.0)
    probability = pose(graph, codes, weights, 2.0, "probability")
    expected = laplace(probability)
    found = laplace(softmax, basis="probability")
    assert found.value == pytest.approx(expected.value, abs=1e-9)  # the same fit from the same start
    assert found.where == "map (probability basis)"
    assert found.details["basis"] == "probability"
    assert abs(laplace(softmax).value - expected.value) > 0.01  # two approximations, not one


def test_away_from_the_peak_the_slope_is_a_term() -> None:
    """For one binary variable everything can be written down: b = α(1 − 2θ), A = (N + 2α) θ(1 − θ)."""
    problem = pose(dag("A"), [[0], [1]], [6, 14], 1.5)
    found, theta = laplace(problem, at="ml"), 0.3
    bend = 23.0 * theta * (1 - theta)
    slope = (1.5 * (1 - 2 * theta)) ** 2 / bend / 2
    assert found.terms["slope"] == pytest.approx(slope, rel=1e-9)  # a few operations
    value = 7.5 * log(theta) + 15.5 * log(1 - theta) + gammaln(3.0) - 2 * gammaln(1.5)
    value += log(2 * pi) / 2 - log(bend) / 2 + slope
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.where == "ml"


def test_a_given_fit_is_taken_as_it_is() -> None:
    graph = dag("A -> B")
    table = Table(graph.schema, np.array([[0, 0], [0, 1], [1, 1], [HOLE, 0]], dtype=np.int16))
    prior = Dirichlet(2.0)
    peak = fit(graph, table, prior=prior, basis="softmax", stop=TIGHT)
    own = Problem(graph, table, prior, given=peak)
    assert "slope" not in laplace(own).terms
    assert laplace(own).details["slope"] < 1e-9  # (1e-6)² times the rows, at the peak
    other = laplace(own, basis="probability")  # a peak in softmax is none in θ
    assert other.terms["slope"] > 0.01
    assert other.where == "the given fit by map"


def ridge() -> Problem:
    """A class over one variable, two states each: only p = Σ π_h θ_h shows, and the prior is next to none."""
    graph, prior = dag("H -> A", hidden=["H"]), Dirichlet(1e-14)
    table = Table(
        graph.schema, np.array([[HOLE, 0], [HOLE, 1]], dtype=np.int16), weights=np.array([6.0, 14.0])
    )
    start = Network.from_tables(graph, {"H": [0.4, 0.6], "A": [[0.2, 0.8], [0.7, 0.3]]})
    return Problem(graph, table, prior, given=fit(graph, table, prior=prior, initial=start, stop=TIGHT))


def test_a_ridge_is_named() -> None:
    with pytest.raises(ParameterError, match=r"on a ridge.* flat along 2 of 3.* effective dimension is 1;"):
        laplace(ridge())


def test_a_ridge_has_the_curvature_of_its_effective_dimension() -> None:
    """There A = N / (p(1 − p)) · ∇p ∇pᵀ, whose one eigenvalue is that of its length."""
    problem = ridge()
    (share, _), (low, high) = problem.point("map").theta[:2], problem.point("map").theta[2:4]
    p = share * low + (1 - share) * high
    slope = [share * (1 - share) * (low - high), share * low * (1 - low), (1 - share) * high * (1 - high)]
    found = laplace(problem, dimension="effective")
    assert found.dimension == 1
    assert found.terms["volume"] == pytest.approx(log(2 * pi) / 2, rel=1e-12)
    # p is at its best to about 1e-7 when the climb ends, and A with it.
    curved = 20 / (p * (1 - p)) * np.sum(np.square(slope))
    assert found.terms["curvature"] == pytest.approx(-log(curved) / 2, abs=1e-6)


@pytest.mark.parametrize(("basis", "alpha"), PRIORS)
def test_where_all_parameters_show_the_effective_dimension_changes_nothing(
    basis: Basis, alpha: float
) -> None:
    graph = dag("H -> A B C", hidden=["H"])
    codes = [(HOLE, *x) for x in product(range(2), repeat=3)]
    problem = pose(graph, codes, [8, 1, 1, 1, 1, 1, 1, 8], alpha, basis)
    full, effective = laplace(problem), laplace(problem, dimension="effective")
    assert effective.dimension == full.dimension == 7
    # Eigenvalues and pivots of one matrix of condition below 1e4.
    assert effective.value == pytest.approx(full.value, abs=1e-9)
    assert effective.details["slope"] == pytest.approx(full.details["slope"], abs=1e-9)


@pytest.mark.parametrize("dimension", ["parameters", "effective"])
def test_a_saddle_is_named(dimension: Charge) -> None:
    """Classes that start alike stay alike, though telling them apart would fit better."""
    graph = dag("H -> A B C", hidden=["H"])
    codes = np.array([(HOLE, *x) for x in product(range(2), repeat=3)], dtype=np.int16)
    table = Table(graph.schema, codes, weights=np.array([8.0, 1, 1, 1, 1, 1, 1, 8]))
    alike = Network(graph, np.full(graph.layout.size, 0.5))
    problem = Problem(graph, table, Dirichlet(1.0), given=fit(graph, table, initial=alike))
    with pytest.raises(ParameterError, match=r"a saddle.* upwards along 1 of 7"):
        laplace(problem, dimension=dimension)


def test_symmetry_needs_a_prior_that_does_not_tell_states_apart() -> None:
    def uneven(dag: Dag) -> Belief:
        return Belief(dag, np.arange(1.0, dag.layout.size + 1))

    graph = dag("H -> A B C", hidden=["H"])
    codes = np.array([(HOLE, *x) for x in product(range(2), repeat=3)], dtype=np.int16)
    problem = Problem(graph, Table(graph.schema, codes), uneven)
    with pytest.raises(ParameterError, match="states of H apart"):
        laplace(problem, symmetry=True)


@pytest.mark.parametrize("bad", [1.0, 0.5])
def test_probability_basis_needs_alpha_above_one(bad: float) -> None:
    problem = pose(dag("A -> B"), [[0, 0], [1, 1]], [1, 1], bad)
    with pytest.raises(ParameterError, match="above 1"):
        laplace(problem, basis="probability")


def test_the_border_is_refused() -> None:
    problem = pose(dag("A"), [[0], [0]], [1, 1])
    with pytest.raises(ParameterError, match="is zero; on the border"):
        laplace(problem, at="ml")


@pytest.mark.parametrize("option", [{"basis": "log"}, {"dimension": "all"}, {"at": "mean"}])
def test_unknown_options_are_refused(option: dict[str, str]) -> None:
    problem = pose(dag("A"), [[0], [1]], [1, 1])
    with pytest.raises(ParameterError, match=f"{next(iter(option))} must be"):
        laplace(problem, **option)  # type: ignore[arg-type]

"""Laplace's approximation for continuous and mixed networks, and the derivatives it stands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from lacunary.errors import ParameterError
from lacunary.evidence.exact import exact
from lacunary.evidence.hessian import curvature
from lacunary.evidence.laplace import laplace
from lacunary.evidence.problem import Problem
from lacunary.evidence.symmetry import check_symmetric, log_symmetry
from lacunary.infer.belief import Dirichlet
from lacunary.infer.covariance import free_places
from lacunary.infer.network import Network
from lacunary.infer.prior import NormalWishart
from lacunary.learn.em import maximize_rule
from lacunary.learn.stop import Stop
from lacunary.model.layout import Layout
from tests import naive_mixed
from tests.evidence.mixed_small import drawn, mixed, posed
from tests.evidence.small import table_of

TIGHT = Stop(relative=1e-13, iterations=20_000)

CASES = [
    ("X -> Y", "", 0.0, 0.3),
    ("F -> X Y Z", "F", 0.0, 0.0),
    ("C -> X; C X -> Y", "C", 0.0, 0.2),
    ("A -> B; A B -> X; A X -> Y; F -> X Y", "F", 0.3, 0.2),
]

SYMMETRIC = {
    ("C -> X; C X -> Y", "C"): 2,  # two names
    ("C -> X; D -> Y", "C D"): 4,  # they stand at different variables
    ("C D -> X Y", "C D"): 8,  # and here they do not
    ("F -> X Y Z", "F"): 2,  # two signs
    ("F G -> X Y Z", "F G"): 8,
    ("C -> X; F -> X", "C F"): 4,
    ("X -> F", "F"): 1,  # nobody sees it at all
}
"""Graphs with what is hidden, and how many parameter vectors say the same."""


def coordinates(layout: Layout, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (φ, η) of parameters: log-odds against the last state; intercept, coefficients/σ², 1/σ²."""
    places = free_places(layout)
    last = np.zeros(layout.groups, dtype=int)
    last[layout.group] = np.arange(layout.tables)  # the last place of each distribution is its last state
    phi = np.log(theta[places] / theta[last[layout.group[places]]])
    eta = [
        np.concatenate([r[:1], r[1:-1] / r[-1], [1 / r[-1]]])
        for i in layout.numeric
        for r in layout.records(theta, i)
    ]
    return np.concatenate([phi, *eta])


def parameters(layout: Layout, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parameters from (φ, η)."""
    places, theta = free_places(layout), np.ones(layout.size)
    theta[places] = np.exp(at[: len(places)])
    theta = layout.normalize(theta)
    eta = at[len(places) :]
    for i in layout.numeric:
        for r in layout.records(theta, i):
            width = len(r)
            own, eta = eta[:width], eta[width:]
            r[:] = [own[0], *(own[1:-1] / own[-1]), 1 / own[-1]]
    return theta


def differences(
    f: Callable[[NDArray[np.float64]], float], at: NDArray[np.float64], step: float
) -> NDArray[np.float64]:
    """Return second derivatives by central differences, extrapolated twice (Richardson): error ~ step⁶."""
    d = len(at)

    def plain(h: float) -> NDArray[np.float64]:
        out = np.empty((d, d))
        for a in range(d):
            for b in range(a, d):
                s, t = np.eye(d)[a] * h, np.eye(d)[b] * h
                out[a, b] = (f(at + s + t) - f(at + s - t) - f(at - s + t) + f(at - s - t)) / (4 * h * h)
                out[b, a] = out[a, b]
        return out

    one, two, four = plain(step), plain(step / 2), plain(step / 4)
    first, second = (4 * two - one) / 3, (4 * four - two) / 3
    return (16 * second - first) / 15


@pytest.mark.parametrize(("arrows", "hidden", "discrete", "continuous"), CASES, ids=[c[0] for c in CASES])
def test_second_derivatives_are_those_of_the_textbook_likelihood(
    arrows: str, hidden: str, discrete: float, continuous: float
) -> None:
    problem = posed(arrows, 6, hidden=hidden, discrete=discrete, continuous=continuous, seed=3)
    prepared, layout, theta = problem.prepared, problem.dag.layout, problem.point("map").theta
    table = problem.scale.table(table_of(problem))

    def log_likelihood(at: NDArray[np.float64]) -> float:
        network = Network(problem.dag, parameters(layout, at))
        rows = zip(table.codes, table.reals, strict=True)
        return sum(naive_mixed.log_evidence(network, codes, reals) for codes, reals in rows)

    found = -curvature(prepared, theta).information(np.zeros(layout.tables), "softmax")
    at = coordinates(layout, theta)
    few = np.random.default_rng(0).choice(len(at), min(len(at), 4), replace=False)  # the textbook is slow

    def along(some: NDArray[np.float64]) -> float:
        whole = at.copy()
        whole[few] = some
        return log_likelihood(whole)

    part = differences(along, at[few], 0.04)
    # Differences lose ε · |log-likelihood| / step² to rounding and step⁶ times eighth derivatives.
    np.testing.assert_allclose(found[np.ix_(few, few)], part, rtol=1e-5, atol=1e-6 * np.abs(part).max())


@pytest.mark.parametrize(("arrows", "hidden", "discrete", "continuous"), CASES, ids=[c[0] for c in CASES])
def test_complex_parameters_without_an_imaginary_part_are_real_ones(
    arrows: str, hidden: str, discrete: float, continuous: float
) -> None:
    problem = posed(arrows, 9, hidden=hidden, discrete=discrete, continuous=continuous)
    prepared, theta = problem.prepared, problem.point("map").theta
    found, plain = prepared.expect(theta[None].astype(complex)), prepared.expect(theta[None])
    np.testing.assert_allclose(found.counts, plain.counts, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.log_likelihood, plain.log_likelihood, rtol=1e-12)
    rows = prepared.log_evidence(theta[None].astype(complex))
    # The log of a row that is all holes is zero, to rounding.
    np.testing.assert_allclose(rows, prepared.log_evidence(theta[None]), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("basis", ["softmax", "probability"])
def test_the_gradient_vanishes_at_the_peak(basis: str) -> None:
    problem = replace(
        posed("C -> X; C X -> Y", 30, hidden="C", continuous=0.2, prior=Dirichlet(1.5)),
        stop=TIGHT,
        basis=basis,  # type: ignore[arg-type]
    )
    prepared, point = problem.prepared, problem.point("map")
    pseudo = maximize_rule(problem.belief, "map", problem.basis, None).pseudo
    bent = curvature(prepared, point.theta, problem.belief)
    # EM stops when the objective changes by 1e-13 of about 1e2: a slope of about the root of that.
    assert np.abs(bent.gradient(pseudo)).max() < 1e-3


@pytest.mark.parametrize("arrows", ["X -> Y -> Z", "A -> X; A X -> Y"])
def test_the_error_on_complete_data_falls_like_one_over_the_rows(arrows: str) -> None:
    graph, errors = mixed(arrows), []
    table = drawn(graph, 40, seed=1)
    for times in (1, 4, 16):
        rows = replace(table, weights=np.full(40, float(times)))
        problem = Problem(graph, rows, NormalWishart(), stop=TIGHT)
        errors.append(abs(laplace(problem).value - exact(problem).value))
    assert errors[0] < 0.3
    for more, less in pairwise(errors):
        assert more / less == pytest.approx(4.0, rel=0.15)  # the next term falls like 1/N²


def test_the_bases_agree_where_nothing_is_discrete_and_units_do_not_matter() -> None:
    problem = replace(posed("X -> Y", 25, continuous=0.2), stop=TIGHT)
    found = laplace(problem)
    assert laplace(problem, basis="probability").value == pytest.approx(found.value, rel=1e-10)
    units = np.array([4.0, 2.0**-7])
    other = replace(
        problem, table=replace(table_of(problem), reals=table_of(problem).reals * units), _points={}
    )
    shift = -float(((~np.isnan(table_of(problem).reals)).sum(axis=0) * np.log(units)).sum())
    assert laplace(other).value - found.value == pytest.approx(shift, rel=1e-9)
    assert sum(found.terms.values()) == pytest.approx(found.value, rel=1e-12)
    assert found.dimension == 5


def test_both_bases_find_the_evidence_of_a_class() -> None:
    # Two groups far apart: one peak up to the names of the two states.
    graph = mixed("C -> X Y", "C")
    rng = np.random.default_rng(0)
    side = np.repeat([-5.0, 5.0], 6)
    rows = drawn(mixed("X; Y"), 12)
    table = replace(rows, reals=side[:, None] + 0.5 * rng.normal(size=(12, 2))).align(graph.schema)
    problem = Problem(graph, table, NormalWishart(tables=Dirichlet(2.0)), stop=TIGHT, starts=4)
    true = exact(problem).value
    for basis in ("softmax", "probability"):
        value = laplace(problem, basis=basis, symmetry=True).value
        assert abs(value - true) < 0.5  # six rows a class, and errors of 1/12 for each of nine dimensions


def test_peaks_that_are_alike_are_counted() -> None:
    count = np.exp([log_symmetry(mixed(*case)) for case in SYMMETRIC])
    assert count == pytest.approx(list(SYMMETRIC.values()))
    told_apart = mixed("C -> X", "C")
    belief = Dirichlet(1.0)(told_apart)
    alpha = belief.alpha.copy()
    told_apart.layout.moments(alpha, 1)[0, 1, 1] *= 2
    check_symmetric(belief)
    with pytest.raises(ParameterError, match="states of C apart"):
        check_symmetric(replace(belief, alpha=alpha))
    factor = mixed("F -> X", "F")
    belief = NormalWishart(1.0, {"F": 1.0, "X": 0.0}, 1.0)(factor)
    with pytest.raises(ParameterError, match="F from its mirror image"):
        check_symmetric(belief)


def test_a_basis_that_does_not_exist_is_refused() -> None:
    problem = posed("A -> X", 12)
    with pytest.raises(ParameterError, match="basis"):
        laplace(problem, basis="tables")  # type: ignore[arg-type]

"""The certified maximum, against grids and against many starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError, TooWideError
from lacunary.infer.belief import Belief, Dirichlet, bdeu
from lacunary.infer.network import Network, random_network
from lacunary.learn.em import maximize_rule
from lacunary.learn.global_map import global_map
from lacunary.learn.select import Chosen
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from tests import naive
from tests.learn.small import Small, bn1, with_holes

POLISHED = Stop(relative=1e-13, iterations=5000)


def certified(problem: Small, *, method: Any = "map", starts: int = 1, **options: Any) -> Chosen:
    fit = problem.fit(starts=starts, method=method, stop=Stop(iterations=3))
    return global_map(fit, problem.prepared, problem.belief, fixed=problem.fixed, **options)


def grid(problem: Small, networks: list[Network]) -> NDArray[np.float64]:
    """The objective, constants included, at each of some networks, by enumeration."""
    rule = maximize_rule(problem.belief, "map", "softmax", problem.fixed)
    return np.array(
        [naive.log_likelihood(n, problem.table) + float(rule.log_prior(n.theta)) for n in networks]
    )


def check(found: Chosen, tolerance: float = 1e-6) -> None:
    details = found.details
    assert details["certified"]
    assert 0 <= details["gap"] <= tolerance
    assert details["upper"] == pytest.approx(details["objective"] + details["gap"], rel=1e-15)


def parity(ones: float, prior: tuple[float, float]) -> Small:
    """Two coins with one common bias, of which only whether they agree is seen.

    p(agree) = θ² + (1 − θ)²: one parameter, with a maximum near each end if they mostly agree.
    """
    free = make_dag("A -> C <- B", states=2, hidden=["A", "B"])
    tied = Dag(free.schema, free.parents, (("A", "B"),))
    differ = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    codes = np.full((2, 3), HOLE)
    codes[:, tied.schema.index("C")] = [0, 1]
    table = Table(tied.schema, codes, weights=np.array([50.0, ones]))

    def asymmetric(dag: Dag) -> Belief:
        alpha = np.ones(dag.layout.size)
        alpha[dag.layout.slice(dag.schema.index("A"))] = prior
        return Belief(dag, alpha)

    return Small(tied, table, asymmetric, {"C": differ})


def coin(problem: Small, p: float) -> Network:
    tables = {"A": [p, 1 - p], "B": [p, 1 - p], "C": problem.fixed["C"]}
    return Network.from_tables(problem.dag, tables)


class TestOneParameter:
    @pytest.mark.parametrize("prior", [(1.0, 1.2), (3.0, 1.0)])
    @pytest.mark.parametrize("ones", [3.0, 10.0, 40.0])
    def test_two_maxima(self, ones: float, prior: tuple[float, float]) -> None:
        problem = parity(ones, prior)
        found = certified(problem)
        check(found)
        points = np.linspace(0.0005, 0.9995, 2000)
        values = grid(problem, [coin(problem, p) for p in points])
        # On the grid nothing is higher; its best is half a cell from the maximum, with a curvature of at
        # most (rows + prior) / θ² there, where θ > 1/60.
        assert values.max() <= found.details["upper"]
        assert found.details["objective"] <= values.max() + 0.5 * 100 * 3600 * (0.00025) ** 2
        assert found.network.table("A")[0] == pytest.approx(points[values.argmax()], abs=0.001)

    def test_em_from_a_bad_start_ends_lower(self) -> None:
        problem = parity(3.0, (3.0, 1.0))
        lost = problem.fit(initial=coin(problem, 0.05), stop=POLISHED)
        assert lost.converged
        found = global_map(lost, problem.prepared, problem.belief, fixed=problem.fixed)
        check(found)
        assert found.details["objective"] > lost.objective + 1  # the prior counts two tosses, at odds of 15
        assert found.network.table("A")[0] > 0.9 > 0.1 > lost.network.table("A")[0]

    def test_a_cause_seen_through_a_known_table(self) -> None:
        """A mixture of known distributions: concave, so one box is enough."""
        dag = make_dag("A -> B", states=3, hidden=["A"])
        b = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
        codes = np.array([[HOLE, 0], [HOLE, 1], [HOLE, 2]])
        table = Table(dag.schema, codes, weights=np.array([11.0, 7.0, 4.0]))
        problem = Small(dag, table, Dirichlet(0.5), {"B": b})
        found = certified(problem)
        check(found)
        assert found.details["nodes"] <= 3
        steps = np.linspace(0.01, 0.98, 98)
        networks = [
            Network.from_tables(dag, {"A": [p, q, 1 - p - q], "B": b})
            for p in steps
            for q in steps
            if p + q < 0.995
        ]
        values = grid(problem, networks)
        assert values.max() <= found.details["upper"]
        # Within 0.005 of the maximum in two directions; curvature at most (22 + 1.5) / 0.1².
        assert found.details["objective"] <= values.max() + 2350 * 0.005**2


def test_complete_rows_need_no_search() -> None:
    problem = with_holes(make_dag("A -> B -> C", states=3), 30, 0.0, 1)
    found = certified(problem)
    check(found)
    assert found.details["nodes"] == found.details["parts"] == 0
    assert found.network.theta == pytest.approx(problem.fit().network.theta, abs=1e-12)  # the closed form


@pytest.mark.parametrize(
    ("problem", "starts"),
    [(bn1(100, 1), 2000), (bn1(200, 4), 2000), (bn1(100, 3, both=True), 500)],
    ids=["bn1, 100 rows", "bn1, 200 rows", "both parents each"],
)
def test_no_start_is_higher(problem: Small, starts: int) -> None:
    many = problem.fit(starts=starts, stop=POLISHED, accelerate=True)
    found = certified(problem)
    check(found)
    objectives = np.array([start.objective for start in many.starts])
    # Rounding of sums of a few hundred logarithms; the certificate's own tolerance is not drawn on.
    assert found.details["objective"] >= objectives.max() - 1e-9
    assert found.details["upper"] >= objectives.max() - 1e-9


@pytest.mark.parametrize("prior", [bdeu(1.0), Dirichlet(1.0)], ids=["bdeu", "uniform"])
def test_a_hidden_class(prior: Any) -> None:
    problem = with_holes(make_dag("H -> X Y", states=2, hidden=["H"]), 200, 0.0, 5, prior=prior)
    many = problem.fit(starts=100, stop=POLISHED, accelerate=True)
    found = certified(problem)
    check(found)
    assert found.details["objective"] >= many.objective - 1e-9  # as above
    assert found.details["upper"] >= many.objective - 1e-9


def test_states_that_a_prior_tells_apart_are_not_put_in_order() -> None:
    """The prior wants the second hidden state to be the frequent one; in descending order it could not be."""

    def second(dag: Dag) -> Belief:
        alpha = np.ones(dag.layout.size)
        alpha[dag.layout.slice(dag.schema.index("H"))] = [1.0, 30.0]
        return Belief(dag, alpha)

    problem = with_holes(make_dag("H -> X", states=2, hidden=["H"]), 20, 0.0, 1, prior=second)
    found = certified(problem)
    check(found)
    assert found.network.table("H")[1] > 0.5
    assert found.details["objective"] >= problem.fit(starts=50, stop=POLISHED).objective - 1e-9  # as above


def test_maximum_likelihood_on_the_border() -> None:
    """A probability of zero is the maximum: B is never 1 where A is 0, and rows without A leave it so."""
    dag = make_dag("A -> B", states=2)
    codes = np.array([[0, 0], [1, 1], [1, 0], [HOLE, 0]])
    table = Table(dag.schema, codes, weights=np.array([6.0, 5.0, 2.0, 3.0]))
    problem = Small(dag, table)
    found = certified(problem, method="ml")
    check(found)
    assert found.network.table("B")[0, 1] == 0
    many = problem.fit(method="ml", starts=50, stop=POLISHED)
    assert found.details["upper"] >= many.objective - 1e-9  # as above
    assert found.details["objective"] >= many.objective - 1e-9


def test_a_budget_that_ends_returns_the_gap() -> None:
    problem = bn1(100, 1)
    best = problem.fit(starts=50, stop=POLISHED).objective
    found = certified(problem, nodes=1)
    assert not found.details["certified"]
    assert found.details["gap"] > 1e-6
    assert found.details["upper"] >= best
    more = certified(problem, nodes=40)
    assert best <= more.details["upper"] <= found.details["upper"]
    late = certified(problem, seconds=0.0)
    assert late.details["upper"] >= best
    assert late.details["nodes"] == 1


def test_known_tables_stay() -> None:
    problem = bn1(100, 2)
    found = certified(problem)
    for name, table in problem.fixed.items():
        assert np.array_equal(found.network.table(name), table)


def test_a_better_start_is_not_lost() -> None:
    """What comes out is at least as high as every start, also when there is no budget to search."""
    problem = with_holes(make_dag("A -> B -> C", states=3), 60, 0.4, 7)
    fit = problem.fit(starts=20, stop=POLISHED)
    found = global_map(fit, problem.prepared, problem.belief, nodes=1)
    assert found.details["objective"] >= fit.objective - 1e-9  # as above


def test_what_is_refused() -> None:
    problem = bn1(50, 1)
    with pytest.raises(ParameterError, match="variational"):
        certified(Small(problem.dag, problem.table), method="variational")
    with pytest.raises(ParameterError, match="tolerance"):
        certified(problem, tolerance=0.0)
    with pytest.raises(TooWideError, match="written out"):
        certified(problem, terms=3)


def test_the_starts_do_not_matter() -> None:
    """The certificate does not lean on the starts: from any of them the same maximum is found."""
    problem = bn1(100, 5)
    thetas = []
    for seed in range(3):
        start = problem.fit(initial=random_network(problem.dag, rng=seed), stop=Stop(iterations=1))
        found = global_map(start, problem.prepared, problem.belief, fixed=problem.fixed)
        check(found)
        thetas.append(found.network.theta)
    # The gap of 1e-6 over the weakest curvature, that of pseudo-counts of a sixth.
    assert np.ptp(thetas, axis=0).max() < 5e-3

"""Maximum entropy under a bound on the score, against grids, enumeration and the first-order conditions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import xlogy

from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.files.shipped import alarm, asia
from lacunary.infer.belief import Dirichlet, bdeu
from lacunary.infer.network import Network, random_network
from lacunary.learn.em import maximize_rule
from lacunary.learn.max_entropy import Bounded, Climb, max_entropy
from lacunary.learn.select import Chosen, local_entropy
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from tests import naive
from tests.learn.small import Small, bn1, with_holes

FINE = Stop(relative=1e-12)


def chosen(problem: Small, *, starts: int = 5, **options: Any) -> Chosen:
    return max_entropy(
        problem.fit(starts=starts, stop=FINE),
        problem.prepared,
        problem.belief,
        fixed=problem.fixed,
        **options,
    )


def naive_score(problem: Small, network: Network) -> float:
    """Log-likelihood by enumeration, plus Σ α log θ over the tables that are learned, tied ones once."""
    dag, alpha = problem.dag, problem.belief.alpha
    free = np.ones(dag.layout.size, dtype=bool)
    for name in problem.fixed:
        free[dag.layout.slice(dag.schema.index(name))] = False
    return naive.log_likelihood(network, problem.table) + float(xlogy(alpha, network.theta)[free].sum())


def grid_best(
    problem: Small, network: Callable[..., Network], axes: int, threshold: float, steps: int
) -> float:
    """The highest entropy on a grid of points whose score reaches the threshold."""
    points = (np.arange(steps) + 0.5) / steps
    best = -np.inf
    for point in itertools.product(points, repeat=axes):
        candidate = network(*point)
        if naive_score(problem, candidate) >= threshold:
            best = max(best, float(local_entropy(problem.dag, candidate.theta)))
    return best


class TestGrids:
    """The grid's best is feasible, so it cannot be higher; and it comes within a cell of the true maximum."""

    def test_a_coin(self) -> None:
        dag = make_dag("A", states=2)
        problem = Small(
            dag, Table(dag.schema, np.array([[0], [1], [HOLE]]), weights=np.array([9.0, 31.0, 4.0]))
        )
        found = chosen(problem, starts=2)
        best = grid_best(
            problem,
            lambda p: Network.from_tables(dag, {"A": [p, 1 - p]}),
            1,
            found.details["threshold"],
            4000,
        )
        # Above: rounding. Below: half a cell of a slope below 2 nats, and the solver's margin.
        assert best - 1e-12 <= found.details["entropy"] + 1e-6
        assert found.details["entropy"] <= best + 2 / 4000

    @pytest.mark.parametrize("c", [0.9, 0.99])
    def test_a_cause_partly_missing(self, c: float) -> None:
        """A → B with the table of A known: two parameters, and rows in which A is not seen."""
        dag = make_dag("A -> B", states=2)
        codes = np.array([[0, 0], [0, 1], [1, 1], [HOLE, 0], [HOLE, 1]])
        table = Table(dag.schema, codes, weights=np.array([4.0, 1.0, 5.0, 7.0, 9.0]))
        problem = Small(dag, table, fixed={"A": [0.4, 0.6]})
        found = chosen(problem, c=c)
        make = lambda p, q: Network.from_tables(dag, {"A": [0.4, 0.6], "B": [[p, 1 - p], [q, 1 - q]]})  # noqa: E731
        best = grid_best(problem, make, 2, found.details["threshold"], 80)
        # The margin above the threshold costs about 1e-8 nats of entropy times the multiplier.
        assert best <= found.details["entropy"] + 1e-6
        # Half a cell in two directions, along a slope of at most log 160 < 6 nats.
        assert found.details["entropy"] <= best + 2 * 6 / 160

    def test_a_hidden_cause_with_known_tables(self) -> None:
        dag = make_dag("H -> X Y", states=2, hidden=["H"])
        x, y = [[0.9, 0.1], [0.3, 0.7]], [[0.8, 0.2], [0.1, 0.9]]
        codes = np.array([[HOLE, 0, 0], [HOLE, 0, 1], [HOLE, 1, 1]])
        table = Table(dag.schema, codes, weights=np.array([20.0, 5.0, 3.0]))
        problem = Small(dag, table, fixed={"X": x, "Y": y})
        found = chosen(problem)
        make = lambda p: Network.from_tables(dag, {"H": [p, 1 - p], "X": x, "Y": y})  # noqa: E731
        best = grid_best(problem, make, 1, found.details["threshold"], 3000)
        assert best <= found.details["entropy"] + 1e-6  # as above
        assert found.details["entropy"] <= best + 9 / 3000  # slope below log 6000 < 9


def coordinates(problem: Small) -> tuple[Bounded, NDArray[np.float64]]:
    rule = maximize_rule(problem.belief, "map", "softmax", problem.fixed)
    theta = rule.project(random_network(problem.dag, rng=5).theta[None])[0]
    return Bounded(problem.prepared, rule, 0.0), np.log(np.maximum(theta, 1e-12))


TIED = Dag(make_dag("A -> B; C -> D", states=3).schema, ((), ("A",), (), ("C",)), (("B", "D"),))

PROBLEMS = {
    "hidden": with_holes(make_dag("H -> X Y; X -> Y", states=2, hidden=["H"]), 12, 0.3, 1),
    "tied": with_holes(TIED, 12, 0.4, 2),
    "known": bn1(20, 3),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_gradients_by_finite_differences_of_enumeration(problem: Small) -> None:
    bounded, eta = coordinates(problem)
    theta = bounded.theta(eta)
    score, uphill = bounded.score(theta)
    entropy, wider = bounded.entropy(theta)

    def at(point: NDArray[np.float64]) -> tuple[float, float]:
        network = Network(problem.dag, bounded.theta(point))
        return naive_score(problem, network), float(local_entropy(problem.dag, network.theta))

    # A few sums of some dozens of logarithms.
    assert at(eta) == pytest.approx((score, entropy), rel=1e-12)
    width = 1e-5
    free = np.flatnonzero(np.isnan(bounded.rule.known))
    for k in free:
        step = width * (np.arange(len(eta)) == k)
        slopes = (np.array(at(eta + step)) - at(eta - step)) / (2 * width)
        # Central differences: width² of a third derivative of some dozens, and rounding of 1e-14 / width.
        assert slopes == pytest.approx([uphill[k], wider[k]], abs=1e-7)
    known = ~np.isnan(bounded.rule.known)
    assert not uphill[known].any()
    assert not wider[known].any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_step_too_long_for_probabilities_has_a_value_to_turn_back_from(problem: Small) -> None:
    """A line search may try η 1 300 apart, as in ENT's BN1: θ = 0 made the score −∞ and the slope 0 · ∞."""
    bounded, eta = coordinates(problem)
    climb = Climb(bounded, 1.0, bounded.score(bounded.theta(eta))[0], 1e-5, 100)
    far = 1000.0 * np.random.default_rng(0).choice([-1.0, 1.0], len(eta))
    value, slope = climb._lagrangian(eta + far)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    assert value > climb._lagrangian(eta)[0]
    free = np.isnan(bounded.rule.known)
    assert bounded.theta(eta + far)[free].min() > 0
    assert climb.highest is None or climb.highest[0] <= bounded.entropy(bounded.theta(eta))[0]


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
@pytest.mark.parametrize("c", [0.9, 0.99])
def test_feasible_and_stationary(problem: Small, c: float) -> None:
    found = chosen(problem, c=c)
    details = found.details
    score = naive_score(problem, found.network)
    assert score == pytest.approx(details["score"], rel=1e-12)  # sums of logarithms
    assert score >= details["threshold"] - 1e-12 * abs(score)  # as the line above
    assert details["slack"] == details["score"] - details["threshold"] >= 0
    assert details["entropy"] == pytest.approx(
        float(local_entropy(problem.dag, found.network.theta)), rel=1e-12
    )
    assert details["converged"]
    # First-order conditions: λ ≥ 0, λ · slack = 0 up to the margin, and no direction gains entropy for free.
    bounded, _ = coordinates(problem)
    theta = found.network.theta
    slope = bounded.entropy(theta)[1] + details["multiplier"] * bounded.score(theta)[1]
    assert np.abs(slope).max() <= 1e-5
    assert np.abs(slope).max() == pytest.approx(details["stationarity"])
    assert details["multiplier"] >= 0
    assert details["multiplier"] * details["slack"] <= 1e-5


def test_no_feasible_neighbour_is_more_entropic() -> None:
    """Random steps along the simplices from what is found: those that gain entropy lose feasibility."""
    problem = PROBLEMS["hidden"]
    found = chosen(problem)
    bounded, _ = coordinates(problem)
    rng = np.random.default_rng(0)
    eta = np.log(found.network.theta)
    for length in (1e-1, 1e-2, 1e-3):
        for _ in range(200):
            theta = bounded.theta(eta + length * rng.normal(size=len(eta)))
            if bounded.score(theta)[0] >= found.details["threshold"]:
                # The margin above the threshold, about 1e-7 nats, times the multiplier.
                assert bounded.entropy(theta)[0] <= found.details["entropy"] + 1e-5


@pytest.mark.parametrize("seed", range(2))
def test_never_less_entropic_than_the_entropy_pick(seed: int) -> None:
    problem = with_holes(make_dag("A -> B -> C; A -> C", states=3), 40, 0.6, seed)
    fit = problem.fit(starts=8)
    for c in (0.8, 0.99, 1.0):
        scores = np.array([naive_score(problem, start.network) for start in fit.starts])
        # The best start itself must pass at c = 1, whatever the last digit.
        good = scores >= scores.max() - (1 - c) * abs(scores.max()) - 1e-9
        pick = max(
            float(local_entropy(problem.dag, s.network.theta))
            for s, g in zip(fit.starts, good, strict=True)
            if g
        )
        found = max_entropy(fit, problem.prepared, problem.belief, c=c)
        # Starts within 1e-9 of the threshold, and the last digits.
        assert found.details["entropy"] >= pick - 1e-6
        assert found.details["slack"] >= 0


def test_uniform_where_that_is_feasible() -> None:
    dag = make_dag("A -> B", states=3)
    problem = Small(dag, Table(dag.schema, np.array([[0, 0], [1, 1], [2, HOLE], [0, 2]])))
    found = chosen(problem, c=0.1)
    assert found.network.theta == pytest.approx(np.full(dag.layout.size, 1 / 3))
    assert found.details["multiplier"] == 0
    assert found.details["slack"] > 0
    assert found.details["stationarity"] <= 1e-15  # rounding of 1/3 log 3


def test_known_tables_stay_and_their_zeros_do_no_harm() -> None:
    problem = bn1(100, 0)
    found = chosen(problem)
    for name, table in problem.fixed.items():
        assert np.array_equal(found.network.table(name), table)
    assert found.details["converged"]


def test_maximum_likelihood_leaves_the_border() -> None:
    """Under ML starts end at probabilities of zero; entropy pulls them inside, and S is the likelihood."""
    dag = make_dag("A -> B", states=2)
    problem = Small(dag, Table(dag.schema, np.array([[0, 0]] * 9 + [[1, 1]] * 9 + [[HOLE, 1]] * 3)))
    fit = problem.fit(method="ml", starts=3)
    found = max_entropy(fit, problem.prepared, problem.belief)
    assert fit.network.theta.min() == 0
    assert found.network.theta.min() > 0
    assert naive.log_likelihood(found.network, problem.table) == pytest.approx(found.details["score"])
    assert found.details["converged"]


def test_a_budget_that_ends_leaves_a_feasible_point_and_says_so() -> None:
    problem = PROBLEMS["tied"]
    found = chosen(problem, evaluations=1, climbs=1)
    assert not found.details["converged"]
    assert found.details["slack"] >= 0
    assert "feasible" in found.details["outcome"] or "most entropic start" in found.details["outcome"]


@pytest.mark.parametrize(("network", "rows"), [(asia(), 100), (alarm(), 100)], ids=["asia", "alarm"])
def test_real_networks_with_many_holes(network: Network, rows: int) -> None:
    problem = with_holes(network.dag, rows, 0.6, 4, prior=bdeu(1.0))
    fit = problem.fit(starts=3)
    found = max_entropy(fit, problem.prepared, problem.belief, climbs=1)
    assert found.details["converged"]
    assert found.details["slack"] >= 0
    assert found.details["entropy"] > max(
        float(local_entropy(network.dag, s.network.theta)) for s in fit.starts
    )


@pytest.mark.parametrize("options", [{"c": 0.0}, {"c": 1.01}, {"c": float("nan")}, {"climbs": 0}], ids=str)
def test_settings_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        chosen(Small(PROBLEMS["hidden"].dag, PROBLEMS["hidden"].table, Dirichlet(1.0)), **options)

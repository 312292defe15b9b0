"""Where Laplace's approximation holds: the slope, Stirling's remainders and the curvature, by theory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.evidence.domain import ENOUGH, SLOPE, remainders
from lacunary.evidence.exact import exact
from lacunary.evidence.laplace import laplace
from lacunary.evidence.normal import Curvatures
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Dirichlet
from lacunary.learn.em import Basis
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.model.make import dag

TIGHT = Stop(absolute=1e-12, iterations=100_000)


def complete(weights: NDArray[np.float64], alpha: float, basis: Basis = "softmax") -> Problem:
    """A -> B, with so many rows of every kind."""
    graph = dag("A -> B", states={"A": weights.shape[0], "B": weights.shape[1]})
    codes = np.array(list(product(*map(range, weights.shape))), dtype=np.int16)
    table = Table(graph.schema, codes, weights=weights.ravel())
    return Problem(graph, table, Dirichlet(alpha), basis=basis, stop=TIGHT)


@pytest.mark.parametrize(
    ("basis", "alpha"), [("softmax", 1.0), ("softmax", 0.6), ("probability", 2.0), ("probability", 1.01)]
)
def test_of_complete_rows_the_remainders_are_all_that_is_missed(basis: Basis, alpha: float) -> None:
    """Every Dirichlet's integral is known: formula plus remainders is the evidence, to rounding."""
    problem = complete(np.array([[3.0, 2.0, 4.0], [1.0, 5.0, 2.0]]), alpha, basis)
    missed, lost = remainders(problem, problem.point("map").counts, basis)
    assert lost == 0.0
    assert laplace(problem, plain=True).value + missed == pytest.approx(exact(problem).value, abs=1e-9)


def test_large_remainders_are_a_term() -> None:
    """Twenty-four cells of one or two posterior rows: some 1/12 of a nat each, less those of the sums."""
    problem = complete(np.tile([0.0, 1.0, 0.0, 1.0], (6, 1)), 1.0)
    found = laplace(problem)
    assert found.terms["Stirling's remainders"] > ENOUGH
    assert found.value == pytest.approx(exact(problem).value, abs=1e-9)
    assert abs(laplace(problem, plain=True).value - exact(problem).value) > ENOUGH


def test_the_probability_basis_is_left_where_it_misses_much() -> None:
    problem = complete(np.tile([0.0, 1.0, 0.0, 1.0], (6, 1)), 1.01, "probability")
    found = laplace(problem)
    assert found.details["basis"] == "softmax"
    assert "in the probability basis Stirling's remainders are" in (found.where or "")
    assert found.value == pytest.approx(exact(problem).value, abs=1e-9)


def test_counts_too_small_for_stirling_are_refused() -> None:
    problem = complete(np.tile([0.0, 3.0, 0.0, 0.0], (6, 1)), 0.05)
    with pytest.raises(ParameterError, match=r"posterior counts .* so small .* use 'sampled'"):
        laplace(problem)


def hidden() -> tuple[lac.Dag, Table, Dirichlet]:
    """Two classes that three items tell apart, one item without an exception: its likelihood peaks at 0."""
    graph = dag("H -> A B C", hidden=["H"])
    codes = np.array([(HOLE, *x) for x in product(range(2), repeat=3)], dtype=np.int16)
    weights = np.array([20.0, 3.0, 4.0, 0.0, 0.0, 2.0, 3.0, 20.0])
    return graph, Table(graph.schema, codes, weights=weights), Dirichlet(1.0)


def test_a_fit_that_stopped_early_is_climbed_on_from() -> None:
    graph, table, prior = hidden()
    told: list[str] = []
    early = fit(graph, table, prior=prior, starts=1, stop=Stop(iterations=1))
    problem = Problem(graph, table, prior, given=early, tell=lambda what, part: told.append(what))
    found = laplace(problem)
    assert "climbed on to the peak" in (found.where or "")
    assert any("climbing on" in what for what in told)
    assert found.details["slope"] <= SLOPE
    tight = laplace(
        Problem(graph, table, prior, given=fit(graph, table, prior=prior, initial=early, stop=TIGHT))
    )
    # Where the slope is worth s nats, the expansion about the point misses about s^1.5: here 1e-6 and less.
    assert found.value == pytest.approx(tight.value, abs=1e-3)


def test_the_likelihoods_peak_on_the_border_is_refused_however_near_em_came() -> None:
    """EM leaves 1e-13 and less where the likelihood peaks at zero: a slope term of any size."""
    graph, table, prior = hidden()
    for stop in (None, Stop(relative=1e-15, iterations=3000)):
        with pytest.raises(ParameterError, match="on the border"):
            laplace(Problem(graph, table, prior, stop=stop), at="ml")


def test_near_the_border_the_peak_is_climbed_to() -> None:
    graph, table, prior = hidden()
    problem = Problem(graph, table, prior, stop=Stop(iterations=8))
    assert 1e-8 < problem.point("ml").theta.min() < 0.05  # where the slope would be worth many nats
    found, at_map = laplace(problem, at="ml"), laplace(Problem(graph, table, prior, stop=TIGHT))
    assert "climbed on to the peak" in (found.where or "")
    assert found.value == pytest.approx(at_map.value, abs=1e-2)


def test_a_model_of_hundreds_of_parameters_is_climbed_on_after_a_default_fit() -> None:
    """Six classes of thirty items: 545 parameters, of which a default fit leaves some short of the peak."""
    items = [f"x{i}" for i in range(30)]
    graph = lac.dag("h -> " + " ".join(items), states=4, hidden={"h": 6})
    truth = lac.random_network(graph, lac.Dirichlet(0.5), rng=1)
    table = truth.sample(600, rng=2).select(items)
    told: list[str] = []
    found = lac.score(graph, table, "laplace", starts=2, watch=lambda what, part: told.append(what))
    assert found.dimension == 5 + 6 * 30 * 3
    assert found.details["slope"] <= SLOPE
    assert np.isfinite(found.value)
    again = lac.score(graph, table, "laplace", starts=2, stop=Stop(relative=1e-12))
    # Both end at one peak: what is left of the slope is all that may differ.
    assert found.value == pytest.approx(again.value, abs=SLOPE)


def test_a_charge_for_fewer_dimensions_leaves_the_domain_as_it_is() -> None:
    """Near the border, where the slope would be worth any number of nats, and where a fit hardly began."""
    graph, table, prior = hidden()
    wanted = laplace(Problem(graph, table, prior, stop=TIGHT)).value
    for stop in (Stop(iterations=1), Stop(iterations=8)):
        for at in ("ml", "map"):
            problem = Problem(graph, table, prior, stop=stop)
            found = laplace(problem, at=at, dimension="generic")
            assert found.value == pytest.approx(
                wanted, abs=1e-2
            )  # one peak, to within what is left of the slope


def ridges() -> tuple[lac.Dag, Table]:
    """A class of two states above two binary items: the rows tell 3 dimensions of 5."""
    graph = dag("H -> A B", hidden=["H"])
    codes = np.array([(HOLE, *x) for x in product(range(2), repeat=2)], dtype=np.int16)
    return graph, Table(graph.schema, codes, weights=np.array([5.0, 2.0, 2.0, 4.0]))


def test_where_the_prior_bends_a_ridge_no_direction_is_left_out() -> None:
    """The evidence by enumeration is the judge: with the flat prior the formula is off by less than a nat."""
    graph, table = ridges()
    problem = Problem(graph, table, Dirichlet(1.0))
    found, truth = laplace(problem, dimension="generic"), exact(problem).value
    assert found.dimension == 5
    assert found.value == pytest.approx(truth, abs=1.0)  # 13 rows for 5 parameters
    assert abs(laplace(problem, dimension="generic", plain=True).value - truth) > 2.0


def test_the_probability_basis_is_left_where_a_ridge_leads_out_of_the_simplex() -> None:
    graph, table = ridges()
    problem = Problem(graph, table, Dirichlet(1.03), basis="probability", stop=TIGHT)
    found, truth = laplace(problem), exact(problem).value
    assert found.details["basis"] == "softmax"
    assert "one standard deviation is" in (found.where or "")
    assert found.value == pytest.approx(truth, abs=1.0)
    assert abs(laplace(problem, plain=True).value - truth) > 1.5


def test_standard_deviations_are_those_of_a_dirichlet() -> None:
    """Of complete rows with counts a, along φ: var log θ_k = 1/a_k − 1/Σa."""
    problem = complete(np.array([[3.0, 2.0, 4.0], [1.0, 5.0, 2.0]]), 2.0, "probability")
    point = problem.point("map")
    held = point.counts + 1.0  # pseudo-counts α − 1
    total = problem.dag.layout.total(held)[problem.dag.layout.group]
    wanted = float(np.sqrt(1 / held - 1 / total).max())
    assert Curvatures(problem).reach(problem, point) == pytest.approx(wanted, abs=1e-9)

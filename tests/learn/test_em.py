"""The M-step and the objective's constants."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import dirichlet

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, bdeu, prior_network
from lacunary.infer.network import random_network
from lacunary.learn.em import Basis, maximize_rule
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag


def softmax(free: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution with these coordinates; that of the last state is zero."""
    raised = np.exp(np.append(free, 0.0))
    return np.asarray(raised / raised.sum())


@pytest.mark.parametrize("alpha", [(0.2, 0.7), (1.0, 1.0, 1.0), (3.0, 0.5, 1.2, 2.0)], ids=str)
def test_softmax_density_by_finite_differences(alpha: tuple[float, ...]) -> None:
    """log Dirichlet(θ) + log |∂θ/∂η|, with the Jacobian of the free coordinates taken numerically."""
    states, width = len(alpha), 1e-5
    graph = make_dag("A", states=states)
    free = np.random.default_rng(states).normal(size=states - 1)
    columns = [
        (softmax(free + width * unit) - softmax(free - width * unit))[:-1] / (2 * width)
        for unit in np.eye(states - 1)
    ]
    log_jacobian = np.log(abs(np.linalg.det(np.array(columns))))
    theta = softmax(free)
    rule = maximize_rule(Belief(graph, np.array(alpha)), "map", "softmax", None)
    expected = dirichlet.logpdf(theta, alpha) + log_jacobian
    # Central differences are off by width² of the third derivative, and by rounding over width.
    assert rule.objective(theta[None], np.zeros(1))[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("basis", ["softmax", "probability"])
@pytest.mark.parametrize("method", ["ml", "map"])
def test_known_tables_have_no_prior_and_stay(basis: Basis, method: str) -> None:
    graph = make_dag("A -> B", states=3)
    known = np.eye(3)
    belief = bdeu(30.0)(graph)
    rule = maximize_rule(belief, method, basis, {"B": known})  # type: ignore[arg-type]
    theta = rule.project(np.ones((1, graph.layout.size)))
    assert np.array_equal(graph.layout.table(theta[0], 1), known)
    alone = 0.0
    if method == "map":
        alone = dirichlet.logpdf([1 / 3] * 3, [10.0] * 3) + (basis == "softmax") * 3 * np.log(1 / 3)
    # A handful of logarithms.
    assert rule.objective(theta, np.array([-7.0]))[0] == pytest.approx(-7.0 + alone, abs=1e-12)


def test_a_tied_table_has_one_prior() -> None:
    free = make_dag("A -> B; C -> D", states=2)
    tied = Dag(free.schema, free.parents, (("B", "D"),))
    theta = random_network(tied, rng=2).theta
    rule = maximize_rule(bdeu(4.0)(tied), "map", "probability", None)
    tables = [tied.layout.table(theta, tied.schema.index(name)) for name in "ABC"]
    alphas = [2.0, 1.0, 2.0]
    expected = sum(
        dirichlet.logpdf(row, [alpha] * 2)
        for alpha, table in zip(alphas, tables, strict=True)
        for row in table.reshape(-1, 2)
    )
    # A handful of logarithms.
    assert rule.objective(theta[None], np.zeros(1))[0] == pytest.approx(expected, abs=1e-12)


def test_different_hyperparameters_are_added_place_by_place() -> None:
    graph = make_dag("A -> B", states=2)
    prior = prior_network(random_network(graph, rng=1), 50.0)
    belief = prior(graph)
    counts = np.random.default_rng(0).uniform(0, 5, size=graph.layout.size)
    rule = maximize_rule(belief, "map", "softmax", None)
    for i in range(2):
        raised = graph.layout.table(belief.alpha + counts, i)
        expected = raised / raised.sum(axis=-1, keepdims=True)
        # One sum and one division.
        assert np.allclose(graph.layout.table(rule.improve(counts[None])[0], i), expected, atol=1e-15)


def test_alpha_below_one_has_no_peak_in_the_probability_basis() -> None:
    graph = make_dag("A -> B", states=2)
    with pytest.raises(ParameterError, match=r"on the border.*basis='softmax'"):
        maximize_rule(bdeu(1.0)(graph), "map", "probability", None)
    # Neither where that prior is not used, nor in the families that are known.
    maximize_rule(bdeu(1.0)(graph), "ml", "probability", None)
    maximize_rule(bdeu(2.0)(graph), "map", "probability", {"B": np.eye(2)})


@pytest.mark.parametrize("method", ["ml", "map"])
def test_unknown_basis(method: str) -> None:
    with pytest.raises(ParameterError, match="basis must be"):
        maximize_rule(bdeu()(make_dag("A", states=2)), method, "logit", None)  # type: ignore[arg-type]


def test_contradictory_tables_of_tied_families() -> None:
    free = make_dag("A; B", states=2)
    tied = Dag(free.schema, free.parents, (("A", "B"),))
    with pytest.raises(ParameterError, match="B is tied"):
        maximize_rule(bdeu()(tied), "ml", "softmax", {"A": [0.5, 0.5], "B": [0.4, 0.6]})
    rule = maximize_rule(bdeu()(tied), "ml", "softmax", {"B": [0.4, 0.6]})
    assert rule.improve(np.array([[3.0, 1.0]])).tolist() == [[0.4, 0.6]]

"""WBIC against closed forms, and against draws from the prior weighed by a power of the likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import digamma

import lacunary as lac
from lacunary.evidence import powered as module
from lacunary.evidence.score import pose
from lacunary.evidence.wbic import wbic


def weighed(graph: lac.Dag, table: lac.Table, prior: Any, count: int = 5_000) -> tuple[float, float]:
    """Return the mean log-likelihood under the power of the posterior, by weighing draws from the prior."""
    rng, problem = np.random.default_rng(3), pose(graph, table, prior=prior)
    logs = np.concatenate(
        [
            problem.prepared.expect(
                np.array([lac.random_network(graph, prior, rng=rng).theta for _ in range(250)])
            ).log_likelihood
            for _ in range(count // 250)
        ]
    )
    power = logs / np.log(table.size)
    weights = np.exp(power - power.max())
    weights /= weights.sum()
    mean = float(weights @ logs)
    return mean, float(np.sqrt((weights**2) @ (logs - mean) ** 2))


def test_of_a_coin_it_is_known_in_closed_form() -> None:
    graph = lac.dag("X", states=2)
    table = lac.Table(graph.schema, np.array([[0]] * 30 + [[1]] * 10))
    a, b = 1 + 30 / np.log(40), 1 + 10 / np.log(40)
    expected = 30 * digamma(a) + 10 * digamma(b) - 40 * digamma(a + b)
    found = lac.score(graph, table, "wbic", stderr=0.02)
    assert found.stderr is not None
    assert found.stderr <= 0.02
    assert abs(found.value - expected) < 4 * found.stderr
    assert found.details["acceptance"] == 1.0  # without holes every draw is one of the posterior's power
    assert found.kind == "approximation"


def test_what_was_fixed_is_held() -> None:
    """A known coin above a learned one: its log-likelihood, and the digammas of the other's counts."""
    graph = lac.dag("A -> B", states=2)
    counts = np.array([[18, 6], [5, 11]])
    codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], counts.ravel(), axis=0)
    table = lac.Table(graph.schema, codes.astype(np.int16))
    known = lac.fit(graph, table, fixed={"A": [0.7, 0.3]})
    posterior = 1 + counts / np.log(40)
    expected = counts.sum(axis=1) @ np.log([0.7, 0.3]) + (
        (counts * digamma(posterior)).sum() - counts.sum(axis=1) @ digamma(posterior.sum(axis=1))
    )
    found = lac.score(known, table, "wbic", stderr=0.02)
    assert found.stderr is not None
    assert abs(found.value - expected) < 4 * found.stderr
    assert found.details["acceptance"] == 1.0


def test_of_a_normal_column_it_is_known_in_closed_form() -> None:
    graph = lac.dag("X", kinds="continuous")
    x = 40.0 + 3.0 * np.random.default_rng(0).normal(size=50)
    table = lac.Table(graph.schema, np.full((50, 1), -1), x[:, None])
    problem = pose(graph, table)
    z = (x - problem.scale.centre[0]) / problem.scale.spread[0]
    tau = 1 / np.log(50)
    moment = problem.belief.hyper(0)[0].reshape(2, 2) + tau * np.array(
        [[50, z.sum()], [z.sum(), (z**2).sum()]]
    )
    dof = moment[0, 0] + problem.belief.surplus + 1
    mean, left = moment[0, 1] / moment[0, 0], moment[1, 1] - moment[0, 1] ** 2 / moment[0, 0]
    log_variance = np.log(left / 2) - digamma(dof / 2)
    squares = ((z - mean) ** 2).sum() * dof / left + 50 / moment[0, 0]
    expected = -25 * (np.log(2 * np.pi) + log_variance) - squares / 2 - 50 * np.log(problem.scale.spread[0])
    found = wbic(problem, draws=500, stderr=0.2)
    assert abs(found.value - expected) < 4 * float(found.stderr or 0)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_with_hidden_classes_it_agrees_with_draws_from_the_prior(alpha: float) -> None:
    graph = lac.dag("H -> A B C", states=2, hidden=["H"])
    table = lac.make_holes(
        lac.random_network(graph, rng=5).sample(30, rng=5).select(["A", "B", "C"]), 0.2, rng=1
    )
    expected, error = weighed(graph, table, lac.Dirichlet(alpha))
    found = lac.score(graph, table, "wbic", prior=lac.Dirichlet(alpha), stderr=0.2)
    assert abs(found.value - expected) < 4 * np.hypot(error, float(found.stderr or 0))


def test_rows_may_count_in_part() -> None:
    graph = lac.dag("H -> A B", states=2, hidden=["H"])
    table = lac.Table(
        lac.Schema(graph.schema.variables[1:]),
        np.array([[0, 0], [1, 1], [0, 1]]),
        weights=np.array([9.5, 7.25, 3.0]),
    )
    expected, error = weighed(graph, table, lac.Dirichlet(1))
    found = lac.score(graph, table, "wbic", stderr=0.2)
    assert abs(found.value - expected) < 4 * np.hypot(error, float(found.stderr or 0))


def test_sigmoid_families_walk_in_their_weights() -> None:
    graph = lac.dag("A -> C <- B", states=2, family={"C": "sigmoid"})
    table = lac.random_network(graph, rng=2).sample(25, rng=2)
    expected, error = weighed(graph, table, lac.Dirichlet(1))
    found = lac.score(graph, table, "wbic", stderr=0.2)
    assert abs(found.value - expected) < 4 * np.hypot(error, float(found.stderr or 0))


def test_an_interrupted_walk_says_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = lac.dag("H -> A B", states=2, hidden=["H"])
    table = lac.random_network(graph, rng=0).sample(20, rng=0).select(["A", "B"])
    steps = module._Walking.step
    left = iter(range(100 + 40))

    def stopped(self: Any, *given: Any, **options: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        steps(self, *given, **options)

    monkeypatch.setattr(module._Walking, "step", stopped)
    found = lac.score(graph, table, "wbic", burn=100, draws=1000)
    assert found.details["log_likelihoods"].shape == (8, 40)
    assert "interrupted after 40 draws" in str(found)


def test_too_few_rows_are_refused_with_what_can() -> None:
    graph = lac.dag("X", states=2)
    with pytest.raises(lac.ParameterError, match=r"at least three rows.*'ais'"):
        lac.score(graph, lac.Table(graph.schema, np.array([[0], [1]])), "wbic")


def test_holes_that_stick_are_not_trusted() -> None:
    graph = lac.dag("H -> A B", states=2, hidden="H")
    table = lac.random_network(graph, rng=1).sample(8, rng=1).select(["A", "B"])
    found = lac.score(graph, table, "wbic", prior=lac.Dirichlet(1e-6))
    assert not found.trustworthy
    assert "stick to each other" in str(found)
    assert lac.score(graph, table, "wbic").trustworthy

"""Samplers for continuous and mixed networks, against closed forms, enumeration and quadrature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, norm

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ParameterError, TableError, TooWideError
from lacunary.evidence.ais import ais
from lacunary.evidence.chains import NumericChains, lay_out
from lacunary.evidence.chib import chib
from lacunary.evidence.exact import exact
from lacunary.evidence.ladder import bridge, path
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Dirichlet
from lacunary.infer.completions import completions_of
from lacunary.infer.network import random_network
from lacunary.model.make import dag
from tests import naive_mixed
from tests.evidence.mixed_small import mixed, posed
from tests.evidence.small import table_of

SIGMAS = 4.5  # a true error leaves as many standard errors once in 1e5


def test_without_holes_every_weight_is_the_closed_form() -> None:
    problem = posed("A -> X; A X -> Y", 30)
    found = ais(problem, steps=3, chains=2, schedule="straight")
    assert found.details["log_weights"] == pytest.approx(exact(problem).value, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_annealing_agrees_with_enumeration(seed: int) -> None:
    problem = posed("C -> X; C X -> Y", 8, hidden="C", seed=seed)
    found = ais(problem, steps=100, chains=64)
    assert found.stderr is not None
    assert found.stderr < 0.1
    assert abs(found.value - exact(problem).value) < SIGMAS * found.stderr


def test_annealing_agrees_with_quadrature_over_continuous_holes() -> None:
    # One hole in X: the evidence is the integral of the closed form over what it could hold.
    problem = posed("A -> X; A X -> Y", 6, seed=1)
    reals = table_of(problem).reals.copy()
    x, column = reals[3, 1], 1

    def filled(value: float) -> float:
        full = reals.copy()
        full[3, column] = value
        table = Table(table_of(problem).schema, table_of(problem).codes, full)
        inside = Problem(problem.dag, table, problem.prior)
        inside.scale = scale  # the prior stands for the table with the hole
        return float(np.exp(exact(inside).value - top))

    reals[3, column] = np.nan
    holed = Problem(
        problem.dag, Table(table_of(problem).schema, table_of(problem).codes, reals), problem.prior
    )
    scale, top = holed.scale, 0.0
    top = float(np.log(filled(x)))
    spread = scale.spread[column]
    area, _ = quad(filled, x - 60 * spread, x + 60 * spread, points=[x], limit=200, epsabs=1e-6)
    found = ais(holed, steps=64, chains=64)
    assert found.stderr is not None
    assert found.stderr < 0.1
    # Tails beyond 60 deviations of a Student t are far below the standard error.
    assert abs(found.value - (top + np.log(area))) < SIGMAS * found.stderr


def test_ladders_agree_with_enumeration() -> None:
    problem = posed("C -> X; C X -> Y", 6, hidden="C", seed=1)
    true = exact(problem).value
    for found in (
        path(problem, temperatures=16, draws=12, burn=3, chains=32),
        bridge(problem, temperatures=8, draws=24, burn=4, chains=32),
    ):
        assert found.stderr is not None
        assert found.stderr < 0.1
        assert abs(found.value - true) < SIGMAS * found.stderr, found.method


def test_holes_are_drawn_from_their_posterior() -> None:
    # One row, many chains at one θ: draws of X against the normals of the textbook, of C against its share.
    graph = mixed("C -> X; C X -> Y; F -> Y", "C F")
    network = random_network(graph, rng=5)
    row = network.sample(1, rng=5)
    reals = np.where([v.hidden or v.name == "X" for v in graph.schema], np.nan, row.reals)
    table = Table(graph.schema, np.full_like(row.codes, -1), reals)
    problem = Problem(graph, table, Dirichlet(1.0))
    inside = problem.scale.inward(graph, network.theta)
    laid = completions_of(problem.dag, problem.rows("a test"))
    drawn = laid.draw(np.repeat(inside[None], 4000, axis=0), 1.0, np.random.default_rng(0))
    layout, c, x = graph.layout, graph.schema.index("C"), graph.schema.index("X")
    shares = naive_mixed.shares(network, table.codes[0], table.reals[0])
    counts = drawn[:, layout.start[c] : layout.start[c] + 2]
    for share, way in shares:
        state = way.states["C"]
        mine = counts[:, state] == 1
        assert abs(mine.mean() - share) < SIGMAS * np.sqrt(share * (1 - share) / 4000)
        place = [v.name for v in graph.schema if not v.discrete].index("X")
        deviation = np.sqrt(way.covariance[place, place])
        values = layout.moments(drawn[:, :-1], x)[mine, state, 0, 1]
        assert kstest(values, norm(way.mean[place], deviation).cdf).pvalue > 1e-5


def test_the_tempered_family_ends_at_the_prior_and_the_complete_evidence() -> None:
    problem = posed("C -> X; C X -> Y; F -> Y", 5, hidden="C F", continuous=0.3)
    laid = lay_out(problem)
    assert isinstance(laid, NumericChains)
    states = laid.walk(np.array([0.0, 0.5, 1.0]), [1, 2], keep=("counts",)).counts[:, -1]
    assert laid.log_tempered(0.0, states) == pytest.approx(states[:, -1], rel=1e-12)


def test_rows_that_count_twice_are_completed_twice() -> None:
    one = posed("C -> X; C X -> Y", 5, hidden="C", seed=2)
    heavy = replace(one, table=replace(table_of(one), weights=np.full(5, 2.0)), _points={})
    found = ais(heavy, steps=64, chains=64)
    assert found.stderr is not None
    assert abs(found.value - exact(heavy).value) < SIGMAS * found.stderr
    half = replace(one, table=replace(table_of(one), weights=np.full(5, 0.5)), _points={})
    with pytest.raises(ParameterError, match="whole weights"):
        ais(half)


def test_what_is_not_for_mixed_networks_is_refused() -> None:
    problem = posed("C -> X", 5, hidden="C")
    with pytest.raises(ParameterError, match="metropolis"):
        ais(problem, moves="metropolis")
    wide = dag(
        "; ".join(f"H{i} -> X{i}" for i in range(18)),
        states={f"H{i}": 4 for i in range(18)},
        kinds={f"X{i}": "continuous" for i in range(18)},
        hidden=[f"H{i}" for i in range(18)],
    )
    table = random_network(wide, rng=0).sample(2, rng=0)
    with pytest.raises(TooWideError, match="completions"):
        ais(Problem(wide, replace(table, codes=np.full_like(table.codes, -1)), Dirichlet(1.0)))


@pytest.mark.parametrize(
    ("arrows", "hidden"), [("C -> X; C X -> Y", "C"), ("C D -> X", "C D"), ("A -> X; A X -> Y", "")]
)
def test_chib_agrees_with_enumeration(arrows: str, hidden: str) -> None:
    """Two exchangeable hidden parents have eight equal modes; without holes every draw says the same."""
    problem = posed(arrows, 7, hidden=hidden, seed=2)
    found = chib(problem, draws=150, burn=60, chains=32)
    assert found.stderr is not None
    assert found.stderr < 0.1
    assert abs(found.value - exact(problem).value) < SIGMAS * found.stderr + 1e-9
    assert found.details["relabellings"] == {"C": 2, "C D": 8, "": 1}[hidden]


def test_chib_refuses_what_has_too_many_mirrors() -> None:
    with pytest.raises(ParameterError, match="sign and rotation of F"):
        chib(posed("F -> X Y", hidden="F"))


@pytest.mark.parametrize("method", ["ais", "path", "bridge"])
def test_rows_of_weight_zero_say_nothing(method: str) -> None:
    """With the same seed a table without the row gives the same chains, whose value enumeration confirms."""
    graph = lac.dag("H -> x", kinds={"x": "continuous"}, states={"H": 2}, hidden=["H"])
    reals = np.column_stack([np.full(4, np.nan), np.arange(4.0)])
    table = lac.Table(graph.schema, np.full((4, 2), -1, np.int8), reals, np.array([1.0, 1.0, 1.0, 0.0]))
    options: dict[str, Any] = {"steps": 64} if method == "ais" else {"temperatures": 8}
    found = lac.score(graph, table, method, **options)
    assert found.value == lac.score(graph, table.take(np.arange(3)), method, **options).value
    assert found.value == pytest.approx(
        lac.score(graph, table, "exact").value, abs=SIGMAS * (found.stderr or 0.0)
    )
    with pytest.raises(TableError, match="weight zero"):
        lac.score(graph, table.take(np.array([3])), method)
    with pytest.raises(TableError, match="no rows"):
        lac.score(graph, table.take(np.arange(0)), method)

"""Scores of a fit: at its point, with its prior, and of what it learned alone."""

from __future__ import annotations

from itertools import product
from math import log, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import norm

import lacunary as lac
from lacunary.data.schema import Kind
from lacunary.errors import ParameterError

ARC = lac.dag("A -> B", states=2)
PAIR = lac.dag("x -> y", kinds="continuous")


def coins(rows: int = 200) -> lac.Table:
    codes = np.random.default_rng(0).integers(0, 2, (rows, 2)).astype(np.int8)
    return lac.Table(ARC.schema, codes, np.empty((rows, 0)), np.ones(rows))


def counted(table: lac.Table) -> list[tuple[float, float]]:
    """How often each of the three distributions, of A and of B given A, shows its two states."""
    a, b = table.codes.T
    rows = [a, b[a == 0], b[a == 1]]
    return [(float((r == 0).sum()), float((r == 1).sum())) for r in rows]


def expanded(n: tuple[float, float], alpha: float, p: float) -> float:
    """∫ of the second-order expansion of log-likelihood + log prior about log-odds of p, all by hand.

    g(φ) = (n₀ + α) log σ + (n₁ + α) log(1 − σ) − log B(α, α), b = n₀ + α − (N + 2α) σ,
    A = (N + 2α) σ (1 − σ); g + ½ log 2π − ½ log A + ½ b²/A.
    """
    weight = n[0] + n[1] + 2 * alpha
    g = (n[0] + alpha) * log(p) + (n[1] + alpha) * log(1 - p) - betaln(alpha, alpha)
    b, a = n[0] + alpha - weight * p, weight * p * (1 - p)
    return float(g + 0.5 * log(2 * pi) - 0.5 * log(a) + 0.5 * b * b / a)


@pytest.mark.parametrize("wanted", [1.0, 200.0])
def test_laplace_away_from_the_peak_has_the_slope(wanted: float) -> None:
    """At the peak under one prior, the expansion of the posterior under another."""
    table = coins()
    found = lac.fit(ARC, table, prior=lac.Dirichlet(200.0))
    estimate = lac.score(found, table, "laplace", prior=lac.Dirichlet(wanted), plain=True)
    network = found.network
    points = [network.table("A")[0], *network.table("B")[:, 0]]
    expected = sum(expanded(n, wanted, p) for n, p in zip(counted(table), points, strict=True))
    assert estimate.value == pytest.approx(expected, rel=1e-12)
    assert ("slope" in estimate.terms) == (wanted != 200.0)


def test_a_fit_is_weighed_with_its_own_prior() -> None:
    table, prior = coins(), lac.Dirichlet(3.0)
    found = lac.fit(ARC, table, prior=prior)
    closed = {a: sum(betaln(n + a, m + a) - betaln(a, a) for n, m in counted(table)) for a in (3.0, 0.5)}
    for method in ("exact", "variational", "cheeseman-stutz"):  # one without holes
        assert lac.score(found, table, method).value == pytest.approx(closed[3.0], rel=1e-12)
    other = lac.score(found, table, "exact", prior=lac.Dirichlet(0.5))
    assert other.value == pytest.approx(closed[0.5], rel=1e-12)
    both = lac.compare({"fit": found, "graph": ARC}, table, ["exact"])
    ones = sum(betaln(n + 1, m + 1) for n, m in counted(table))
    assert both.values("exact") == pytest.approx([closed[3.0], ones], rel=1e-12)


def test_what_was_fixed_is_known_and_not_charged_for() -> None:
    """p(D) = p(A | its table) · p(B | A): the first a likelihood, the second two Beta integrals."""
    table = coins()
    found = lac.fit(ARC, table, fixed={"A": [0.7, 0.3]})
    a, *b = counted(table)
    known = a[0] * log(0.7) + a[1] * log(0.3)
    closed = known + sum(betaln(n + 1, m + 1) for n, m in b)
    for method in ("exact", "variational", "cheeseman-stutz", "mled"):
        assert lac.score(found, table, method).value == pytest.approx(closed, rel=1e-12)
    points = found.network.table("B")[:, 0]
    normal = known + sum(expanded(n, 1.0, p) for n, p in zip(b, points, strict=True))
    laplace = lac.score(found, table, "laplace")
    assert laplace.value == pytest.approx(normal, rel=1e-12)
    fit = sum(n * log(p) + m * log(1 - p) for (n, m), p in zip(b, points, strict=True))
    bic = lac.score(found, table, "bic")
    assert bic.value == pytest.approx(known + fit - log(200.0), rel=1e-12)  # two parameters
    assert (bic.dimension, laplace.dimension) == (2, 2)
    density = lac.score(found, table, "map", prior_density=True).terms["log prior density"]
    assert density == pytest.approx(sum(log(p * (1 - p)) for p in points), rel=1e-12)  # softmax, α = 1


def test_holes_beside_what_was_fixed_are_enumerated() -> None:
    """Every completion of a hidden cause, one by one; a zero that is given forbids some of them."""
    dag = lac.dag("H -> A B", states=2, hidden=["H"])
    seen = np.random.default_rng(2).integers(0, 2, (6, 2)).astype(np.int8)
    codes = np.column_stack([np.full(6, -1, np.int8), seen])
    table = lac.Table(dag.schema, codes, np.empty((6, 0)), np.ones(6))
    given = np.array([[1.0, 0.0], [0.25, 0.75]])
    found = lac.fit(dag, table, fixed={"A": given}, starts=3)
    logs = []
    for hidden in product((0, 1), repeat=6):
        h = np.array(hidden)
        p = given[h, seen[:, 0]].prod()
        if p > 0:
            n = [h, *(seen[h == k, 1] for k in (0, 1))]
            logs.append(log(p) + sum(betaln((r == 0).sum() + 1.0, (r == 1).sum() + 1.0) for r in n))
    exact = lac.score(found, table, "exact").value
    assert exact == pytest.approx(float(logsumexp(logs)), rel=1e-12)
    bounds = [
        lac.score(found, table, "variational"),
        lac.score(found, table, "cheeseman-stutz", plain=True),
    ]
    assert max(bound.value for bound in bounds) <= exact + 1e-12  # rounding of some ten terms
    assert lac.score(found, table, "laplace").dimension == 3


def test_a_regression_that_was_fixed() -> None:
    """Of x the likelihood at what was given, of y its own part of the closed form: p(x, y) / p(x)."""
    rng = np.random.default_rng(0)
    reals = np.column_stack([rng.normal(0, 10, 20), rng.normal(5, 30, 20)])
    table = lac.Table(PAIR.schema, np.full((20, 2), -1, np.int8), reals, np.ones(20))
    prior = lac.NormalWishart(nu=1.0, means=0.0, covariance=1.0)
    found = lac.fit(PAIR, table, prior=prior, fixed={"x": [1.0, 25.0]})
    alone = lac.dag("x; y", kinds="continuous")
    # Both graphs have the same prior of x, and the second's y stands alone: by difference with a third.
    flipped = lac.fit(PAIR, table, prior=prior, fixed={"y": [0.0, 1.0, 50.0]})
    likelihood = {
        "x": norm.logpdf(reals[:, 0], 1.0, 5.0).sum(),
        "y": norm.logpdf(reals[:, 1], reals[:, 0], 50.0**0.5).sum(),
    }
    whole = lac.score(PAIR, table, "exact", prior=prior).value
    learned_y = lac.score(found, table, "exact").value - likelihood["x"]
    learned_x = lac.score(flipped, table, "exact").value - likelihood["y"]
    assert learned_x + learned_y == pytest.approx(whole, rel=1e-12)
    two = lac.fit(alone, table, prior=prior, fixed={"y": [0.0, 50.0]})
    alone_y = norm.logpdf(reals[:, 1], 0.0, 50.0**0.5).sum()
    assert lac.score(two, table, "exact").value - alone_y == pytest.approx(learned_x, rel=1e-12)
    assert lac.score(found, table, "variational").value == pytest.approx(
        learned_y + likelihood["x"], rel=1e-10
    )
    assert lac.score(found, table, "bic").dimension == 3
    laplace = lac.score(found, table, "laplace")
    assert laplace.dimension == 3
    whole_laplace = lac.score(PAIR, table, "laplace", prior=prior)  # the Hessian falls apart in two blocks
    other = lac.score(flipped, table, "laplace")
    parts = laplace.value - likelihood["x"] + other.value - likelihood["y"]
    assert parts == pytest.approx(whole_laplace.value, rel=1e-9)  # EM's own tolerance


HELD: dict[str, tuple[str, dict[str, Any]]] = {
    "a table": ("H -> A B", {"A": [[1.0, 0.0], [0.25, 0.75]]}),
    "the classes": ("H -> A B", {"H": [0.05, 0.95]}),
    "classes that may change names": ("H -> A B", {"H": [0.5, 0.5]}),
    "a regression": ("H -> x; H -> B", {"x": [[0.0, 1.0], [2.0, 1.0]]}),
    "a table beside a regression": ("H -> x; H -> B", {"B": [[0.9, 0.1], [0.2, 0.8]]}),
}


SHORT: dict[str, dict[str, Any]] = {
    "sampled": {},
    "ais": {"steps": 256, "chains": 64},
    "path": {"temperatures": 24, "draws": 16},
    "bridge": {"temperatures": 12, "draws": 16},
    "chib": {"draws": 64, "burn": 64},
}


@pytest.mark.parametrize("method", SHORT)
@pytest.mark.parametrize("what", HELD)
def test_samplers_hold_what_was_fixed(method: str, what: str) -> None:
    """Against the sum over all classes of eight rows, within errors that none of these misses by."""
    arrows, given = HELD[what]
    kinds: dict[str, Kind] = {"x": "continuous"} if "x" in arrows else {}
    dag = lac.dag(arrows, states={"H": 2, "B": 2} | ({} if kinds else {"A": 2}), kinds=kinds, hidden=["H"])
    drawn = lac.random_network(dag, rng=4).sample(8, rng=4)
    table = lac.Table(dag.schema, np.where([v.hidden for v in dag.schema], -1, drawn.codes), drawn.reals)
    found = lac.fit(dag, table, fixed=given, starts=1)
    exact = lac.score(found, table, "exact").value
    assert abs(exact - lac.score(dag, table, "exact", prior=found.prior).value) > 0.1  # it makes a difference
    estimate = lac.score(found, table, method, **SHORT[method])
    assert estimate.stderr is not None
    assert estimate.stderr < 0.2
    assert abs(estimate.value - exact) < 4.5 * estimate.stderr + 1e-9


def test_metropolis_moves_hold_what_was_fixed() -> None:
    dag = lac.dag("H -> A B", states=2, hidden=["H"])
    drawn = lac.random_network(dag, rng=3).sample(8, rng=3)
    table = lac.Table(dag.schema, np.where([v.hidden for v in dag.schema], -1, drawn.codes).astype(np.int8))
    found = lac.fit(dag, table, fixed={"A": [[0.9, 0.1], [0.25, 0.75]]}, starts=1)
    estimate = lac.score(found, table, "ais", moves="metropolis", steps=512)
    assert estimate.stderr is not None
    assert estimate.stderr < 0.2
    assert abs(estimate.value - lac.score(found, table, "exact").value) < 4.5 * estimate.stderr


def test_options_that_cannot_know_what_was_fixed_are_refused() -> None:
    found = lac.fit(ARC, coins(20), fixed={"A": [0.7, 0.3]})
    with pytest.raises(ParameterError, match=r"dimension='effective'.* A was fixed"):
        lac.score(found, coins(20), "bic", dimension="effective")
    with pytest.raises(ParameterError, match=r"symmetry=True.* A, fixed"):
        lac.score(found, coins(20), "laplace", symmetry=True)


@pytest.mark.parametrize("prior", [lac.Dirichlet(3.0), lac.bdeu(2.0), lac.Dirichlet(1.0)])
def test_a_saved_fit_remembers_its_prior_and_what_was_fixed(prior: lac.Prior, tmp_path: Path) -> None:
    table = coins(20)
    found = lac.fit(ARC, table, prior=prior, fixed={"A": [0.7, 0.3]})
    lac.save(found, tmp_path / "fit.json")
    again = lac.load(tmp_path / "fit.json")
    assert isinstance(again, lac.Fit)
    assert again.fixed == ("A",)
    assert again.prior(ARC).alpha.tobytes() == prior(ARC).alpha.tobytes()
    for method in ("exact", "laplace", "bic"):
        assert lac.score(again, table, method).value == lac.score(found, table, method).value
    if prior != lac.Dirichlet(1.0):
        with pytest.raises(ParameterError, match="one graph alone"):
            again.prior(PAIR)


def test_a_saved_prior_of_regressions_speaks_of_the_same_units(tmp_path: Path) -> None:
    reals = np.random.default_rng(0).normal(3.0, 8.0, (20, 2))
    table = lac.Table(PAIR.schema, np.full((20, 2), -1, np.int8), reals, np.ones(20))
    for prior in (lac.NormalWishart(nu=2.0), lac.NormalWishart(nu=2.0, means=1.0, covariance=4.0)):
        found = lac.fit(PAIR, table, prior=prior)
        lac.save(found, tmp_path / "fit.json")
        again = lac.load(tmp_path / "fit.json")
        expected = lac.score(PAIR, table, "exact", prior=prior).value
        assert lac.score(again, table, "exact").value == pytest.approx(expected, rel=1e-14)


def test_the_likelihood_at_the_peak_is_called_no_estimate() -> None:
    found = lac.score(ARC, coins(20), "map")
    assert found.kind == "no estimate"
    assert "no estimate of the evidence" in str(found)


@pytest.mark.parametrize("verb", [lac.fit, lac.score])
def test_what_is_no_graph_is_refused_with_advice(verb: object) -> None:
    assert callable(verb)
    table = coins(20)
    with pytest.raises(ParameterError, match=r"\(graph, table\): these are swapped"):
        verb("A -> B", ARC)
    with pytest.raises(ParameterError, match=r"\(graph, table\): these are swapped"):
        verb(table, ARC)
    with pytest.raises(ParameterError, match=r"expects a graph.* not a Table"):
        verb(table, table)
    with pytest.raises(ParameterError, match="expects a graph"):
        verb(None, table)
    with pytest.raises(ParameterError, match="not a Network; its graph is its attribute dag"):
        verb(lac.random_network(ARC), table)

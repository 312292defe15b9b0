"""Moves along what rows cannot tell: the likelihood stays, and so does what they are to leave as it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma, polygamma

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.evidence.ridges import along, ridges
from lacunary.infer.rows import prepare
from lacunary.model.dag import Dag

GRAPHS = {
    "one child": ("H -> A", {"H": 3}),
    "one child beside another parent": ("H K -> A; K -> B C D", {"H": 2}),
    "two children": ("H -> A B", {"H": 3}),
    "two children that share a parent": ("H K -> A B; K -> C", {"H": 2}),
    "two children, one beside another parent": ("H K -> A; H -> B; K -> C D", {"H": 2}),
    "two hidden roots": ("H K -> A B; K -> C", {"H": 2, "K": 2}),
}


def drawn(name: str, alpha: float, many: int) -> tuple[Dag, np.ndarray, np.ndarray, np.ndarray]:
    """Return a graph, its codes with hidden columns open, hyperparameters, and draws from the prior."""
    arrows, hidden = GRAPHS[name]
    dag = lac.dag(arrows, states=3, hidden=hidden)
    rng = np.random.default_rng(1)
    sizes = np.array(dag.layout.sizes)
    codes = rng.integers(sizes, size=(30, len(sizes)))
    codes[:, [dag.names.index(h) for h in hidden]] = HOLE
    hyper = np.full(dag.layout.size, alpha)
    gammas = rng.standard_gamma(hyper + 1.0, (many, len(hyper))) * rng.random((many, len(hyper))) ** (
        1 / hyper
    )
    return dag, codes.astype(np.int16), hyper, dag.layout.normalize(gammas)


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_observed_is_as_probable_as_before(name: str) -> None:
    """But for rounding: probabilities down to 1e-4 are differences of numbers near one."""
    dag, codes, hyper, theta = drawn(name, 1.0, 200)
    rows = prepare(dag, lac.Table(dag.schema, codes))
    moved = along(ridges(dag, codes), theta, hyper, np.random.default_rng(2))
    np.testing.assert_allclose(dag.layout.total(moved), 1.0, rtol=1e-9)
    before, after = (rows.expect(point).log_likelihood for point in (theta, moved))
    np.testing.assert_allclose(after, before, rtol=1e-9)
    assert (np.abs(moved - theta).max(axis=1) > 1e-3).mean() > 0.8


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_prior_is_left_as_it_is(name: str, alpha: float) -> None:
    """Without rows every θ is Beta(α, (r − 1) α): E log θ = ψ(α) − ψ(rα), var log θ = ψ′(α) − ψ′(rα).

    Of a few hundred means one in 600 000 each is beyond five errors.
    """
    many = 20_000
    dag, codes, hyper, theta = drawn(name, alpha, many)
    rng, found = np.random.default_rng(3), ridges(dag, codes)
    for _ in range(3):
        theta = along(found, theta, hyper, rng)
    whole = dag.layout.total(hyper)[dag.layout.group]
    mean, var = digamma(hyper) - digamma(whole), polygamma(1, hyper) - polygamma(1, whole)
    logs = np.log(theta)
    assert np.all(np.abs(logs.mean(axis=0) - mean) <= 5 * np.sqrt(var / many))
    square = (logs - mean) ** 2
    assert np.all(np.abs(square.mean(axis=0) - var) <= 5 * square.std(axis=0) / np.sqrt(many))


@pytest.mark.parametrize(
    ("arrows", "hidden"),
    [("H -> A B C", ["H"]), ("K -> H -> A B", ["H"]), ("H -> A B; A -> B", ["H"]), ("H -> A B", [])],
)
def test_what_rows_may_tell_is_no_ridge(arrows: str, hidden: list[str]) -> None:
    """Three children, a parent, children that are married, and a root that is seen."""
    dag = lac.dag(arrows, states=2, hidden=hidden)
    codes = np.zeros((3, len(dag.names)), dtype=np.int64)
    codes[:, [dag.names.index(h) for h in hidden]] = HOLE
    assert not ridges(dag, codes)

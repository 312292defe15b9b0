"""The effective dimension of networks with continuous variables, against counts by hand and exact ranks."""

from __future__ import annotations

import pytest

from lacunary.data.schema import Kind
from lacunary.errors import ParameterError
from lacunary.evidence.score import score
from lacunary.infer.network import Network, random_network
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag
from lacunary.rank.dimension import dimension

# Continuous variables are U to Z, discrete ones have two states.
BY_HAND = {
    # a mixture of two normals is known up to the names of its classes: 1 + 2 · 2
    ("H -> X", "H"): (5, 5),
    ("H -> X Y", "H"): (9, 9),
    # p(A) has one number whatever H; X has two regressions of two: 1 + 4 of 3 + 4
    ("H -> A -> X", "H"): (5, 7),
    # given A: X has mean, variance and covariance with Y of its own; Y has a mean and a variance; p(A)
    ("A -> X; U -> X Y", "U"): (9, 12),
    # nothing hidden
    ("A -> X; A X -> Y", ""): (11, 11),
    # nobody sees H nor U
    ("X -> U; A -> H; A -> X", "H U"): (5, 10),
    # one hidden normal adds to variances only: mean and variance of X for each A, and p(A)
    ("A -> X; U -> X", "U"): (5, 9),
}

GAUSSIAN = [
    ("A -> C; H -> C D; B -> D", "H"),
    ("H -> A B C", "H"),
    ("H -> A B", "H"),
    ("G H -> A B C D E", "G H"),
    ("A -> H -> B C", "H"),
]


def graph(arrows: str, hidden: str, kind: Kind | None = None) -> Dag:
    names = set(arrows.replace("->", " ").replace(";", " ").split())
    kinds: dict[str, Kind] = {n: "continuous" for n in names if n >= "U"}
    return dag(arrows, kinds=kind or kinds, hidden=hidden.split())


@pytest.mark.parametrize(("arrows", "hidden"), BY_HAND, ids=[arrows for arrows, _ in BY_HAND])
def test_mixed_networks_have_the_dimension_counted_by_hand(arrows: str, hidden: str) -> None:
    found = dimension(graph(arrows, hidden))
    assert (found.rank, found.parameters) == BY_HAND[arrows, hidden]
    assert found.gap is not None
    assert found.gap > 1e3  # what is zero is rounding, far below what is not


@pytest.mark.parametrize(("arrows", "hidden"), GAUSSIAN, ids=[arrows for arrows, _ in GAUSSIAN])
def test_at_random_parameters_the_rank_is_that_of_exact_arithmetic(arrows: str, hidden: str) -> None:
    model = graph(arrows, hidden, "continuous")
    found = dimension(model, at=random_network(model, rng=1))
    assert found.rank == dimension(model).rank


def test_a_factor_that_does_nothing_has_fewer_dimensions() -> None:
    model = graph("U -> X Y Z", "U")
    network = random_network(model, rng=0)
    theta = network.theta.copy()
    for name in ("X", "Y", "Z"):
        model.layout.records(theta, model.schema.index(name))[:, 1] = 0.0
    # Three means and variances, and no covariance has a slope: each is a product of two coefficients, zero.
    assert dimension(model, at=Network(model, theta)).rank == 6
    assert dimension(model).rank == 9


def test_the_effective_dimension_can_be_charged_for() -> None:
    model = graph("A -> X; U -> X Y", "U")
    table = random_network(model, rng=0).sample(40, rng=0).select(["A", "X", "Y"])
    short = Stop(iterations=20)
    full = score(model, table, "bic", starts=2, stop=short)
    less = score(model, table, "bic", starts=2, stop=short, dimension="effective")
    assert (full.dimension, less.dimension) == (12, 9)
    assert less.value > full.value


def test_where_nothing_is_left_out_no_gap_is_printed() -> None:
    found = dimension(graph("A -> X; A X -> Y", ""))
    assert found.gap == float("inf")
    assert str(found) == "rank 11, parameters 11"


def test_what_does_not_fit_is_refused() -> None:
    model = graph("A -> X", "")
    with pytest.raises(ParameterError, match="X is continuous"):
        dimension(model, family="sigmoid")
    with pytest.raises(ParameterError, match="same graph"):
        dimension(model, at=random_network(graph("H -> X", "H"), rng=0))

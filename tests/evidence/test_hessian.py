"""Second derivatives, against differences taken with forty digits of a sum over completions."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import lacunary as lac
from lacunary import budget
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError, TooWideError
from lacunary.evidence.hessian import Curvature, curvature
from lacunary.infer import louis
from lacunary.infer.covariance import free_places, score_covariance
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.engine import prepare_discrete as prepare
from lacunary.infer.network import Network
from lacunary.learn.em import Basis
from lacunary.model.dag import Dag
from lacunary.model.make import dag, naive_bayes
from tests.strategies import Case, cases

BASES: tuple[Basis, ...] = ("softmax", "probability")

LONE = naive_bayes(
    Schema(tuple(Variable(name, tuple(range(k))) for name, k in zip("ABC", (2, 3, 2), strict=True))), "H", 3
)
GRAPHS = {
    "hidden root": (LONE, 0.0),
    "hidden root, holes": (LONE, 0.3),
    "W": (dag("A -> C <- H -> D <- B", hidden=["H"]), 0.2),
    "hidden middle": (dag("A -> H -> B; H -> C; A -> C", states={"A": 3}, hidden=["H"]), 0.0),
    "two hidden roots": (dag("H -> A B; G -> A B", states={"A": 3}, hidden=["H", "G"]), 0.1),
    "chain": (dag("A -> B -> C -> D", states={"B": 3}), 0.4),
    "tied children": (dag("H -> A B C; A -> D", hidden={"H": 3}, tied=[("A", "B")]), 0.2),
    "tied across": (
        dag("H -> A; G -> B; H -> C; G -> C", hidden=["H", "G"], tied=[("A", "B"), ("H", "G")]),
        0.1,
    ),
    "one state": (dag("H -> A B; A -> C", states={"A": 1, "C": 3}, hidden=["H"]), 0.3),
    "complete": (dag("A -> C <- B", states={"A": 3, "C": 3}), 0.0),
}


def case(name: str, rows: int = 6) -> tuple[DiscreteRows, NDArray[np.float64], NDArray[np.float64]]:
    """Some rows of a graph, parameters away from the border, and some whole pseudo-counts."""
    graph, holes = GRAPHS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    codes = rng.integers(0, graph.schema.sizes, size=(rows, len(graph.schema)))
    codes[rng.random(codes.shape) < holes] = HOLE
    codes[:, [graph.schema.index(hidden) for hidden in graph.schema.hidden]] = HOLE
    table = Table(graph.schema, codes.astype(np.int16), weights=rng.integers(1, 5, rows) / 2.0)
    theta = graph.layout.normalize(rng.gamma(2.0, size=graph.layout.size) + 0.1)
    return prepare(graph, table), theta, rng.integers(1, 4, graph.layout.size).astype(np.float64)


def by_steps(rows: DiscreteRows, theta: NDArray[np.float64]) -> Curvature:
    """Derivatives by complex steps alone."""
    return Curvature(rows.dag, theta, *score_covariance(rows, theta, products=False))


Completions = list[tuple[Decimal, list[list[int]]]]
"""For each row its weight, and the places of the parameters whose product each completion is."""


def completions(prepared: DiscreteRows) -> Completions:
    layout, packed = prepared.dag.layout, prepared.packed
    families = list(zip(layout.members, layout.strides, layout.start, strict=True))
    rows = []
    for row, weight in zip(packed.codes.tolist(), packed.weights.tolist(), strict=True):
        options = [range(s) if x == HOLE else (x,) for x, s in zip(row, layout.sizes, strict=True)]
        places = [
            [
                start + sum(x[m] * s for m, s in zip(ms, strides, strict=True))
                for ms, strides, start in families
            ]
            for x in product(*options)
        ]
        rows.append((Decimal(weight), places))
    return rows


def objective(rows: Completions, theta: list[Decimal], pseudo: NDArray[np.float64]) -> Decimal:
    """log-likelihood + Σ pseudo · log θ, by summing over all completions of every row."""
    total = prod((t ** int(c) for c, t in zip(pseudo, theta, strict=True)), start=Decimal(1)).ln()
    for weight, places in rows:
        sums = [prod((theta[a] for a in factors), start=Decimal(1)) for factors in places]
        total += weight * sum(sums, Decimal(0)).ln()
    return total


def normalized(graph: Dag, theta: NDArray[np.float64]) -> list[Decimal]:
    """The parameters, with distributions that sum to one to all digits."""
    exact, groups = [Decimal(t) for t in theta.tolist()], graph.layout.group.tolist()
    totals = [Decimal(0)] * graph.layout.groups
    for t, j in zip(exact, groups, strict=True):
        totals[j] += t
    return [t / totals[j] for t, j in zip(exact, groups, strict=True)]


def at(graph: Dag, theta: list[Decimal], basis: Basis, moves: dict[int, Decimal]) -> list[Decimal]:
    """The parameters after moving some free coordinates of the basis."""
    places, groups = free_places(graph.layout).tolist(), graph.layout.group.tolist()
    moved = theta.copy()
    for coordinate, step in moves.items():
        a = places[coordinate]
        mates = [b for b, j in enumerate(groups) if j == groups[a]]
        if basis == "probability":
            moved[a] += step
            moved[mates[-1]] -= step
            continue
        moved[a] *= step.exp()
        total = sum((moved[b] for b in mates), Decimal(0))
        for b in mates:
            moved[b] /= total
    return moved


def differences(
    prepared: DiscreteRows, theta: NDArray[np.float64], pseudo: NDArray[np.float64], basis: Basis
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """First and second central differences: off by h² = 1e-20 times fourth derivatives of at most 1e8."""
    free = prepared.dag.layout.free
    slope, bend = np.zeros(free), np.zeros((free, free))
    with localcontext() as context:
        context.prec = 40
        h, centre, rows = Decimal("1e-10"), normalized(prepared.dag, theta), completions(prepared)

        def g(**moves: Any) -> Decimal:
            steps: dict[int, Decimal] = {}
            for coordinate, step in moves.values():
                steps[coordinate] = steps.get(coordinate, Decimal(0)) + step
            return objective(rows, at(prepared.dag, centre, basis, steps), pseudo)

        for a in range(free):
            slope[a] = float((g(a=(a, h)) - g(a=(a, -h))) / (2 * h))
            for b in range(a + 1):
                corners = g(a=(a, h), b=(b, h)) + g(a=(a, -h), b=(b, -h))
                corners -= g(a=(a, h), b=(b, -h)) + g(a=(a, -h), b=(b, h))
                bend[a, b] = bend[b, a] = float(corners / (4 * h * h))
    return slope, bend


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("name", GRAPHS)
def test_equals_high_precision_differences(name: str, basis: Basis) -> None:
    prepared, theta, pseudo = case(name)
    found = curvature(prepared, theta)
    slope, bend = differences(prepared, theta, pseudo, basis)
    # The numbers are sums of a few hundred terms of the matrix's own size: 1e-12 is rounding.
    scale = np.abs(bend).max()
    np.testing.assert_allclose(found.information(pseudo, basis), -bend, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(found.gradient(pseudo, basis), slope, rtol=0, atol=1e-12 * scale)


@settings(max_examples=150, deadline=None)
@given(cases(max_variables=6, max_hidden=2))
def test_products_equal_complex_steps(drawn: Case) -> None:
    network, table = drawn
    prepared = prepare(network.dag, table)
    fast, slow = curvature(prepared, network.theta), by_steps(prepared, network.theta)
    pseudo = np.zeros(network.dag.layout.size)
    # Covariances of counts are at most the rows' weight; both sums round at that size.
    bound = 1e-11 * max(1.0, table.size)
    np.testing.assert_allclose(
        fast.softmax_information(pseudo, "softmax"),
        slow.softmax_information(pseudo, "softmax"),
        rtol=0,
        atol=bound,
    )
    np.testing.assert_allclose(fast.gradient(pseudo), slow.gradient(pseudo), rtol=0, atol=bound)


def test_large_hidden_root_both_ways() -> None:
    schema = Schema(tuple(Variable(f"X{i}", tuple(range(2 + i % 2))) for i in range(12)))
    graph = naive_bayes(schema, "H", 5)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, graph.schema.sizes, size=(300, 13))
    codes[rng.random(codes.shape) < 0.15] = HOLE
    codes[:, 12] = HOLE
    prepared = prepare(graph, Table(graph.schema, codes.astype(np.int16)))
    theta = graph.layout.normalize(rng.gamma(1.0, size=graph.layout.size) + 0.01)
    fast, slow = curvature(prepared, theta), by_steps(prepared, theta)
    pseudo = np.ones(graph.layout.size)
    expected = slow.information(pseudo, "softmax")
    # Relative to the largest entry: both are sums over 300 rows, in different order.
    np.testing.assert_allclose(
        fast.information(pseudo, "softmax"), expected, rtol=0, atol=1e-12 * expected.max()
    )


def test_parts_of_the_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, theta, _ = case("hidden root, holes", rows=40)
    whole = curvature(prepared, theta).covariance
    monkeypatch.setattr(louis, "ROOM", 100)  # a few rows at a time
    # Only the order of the additions differs.
    np.testing.assert_allclose(curvature(prepared, theta).covariance, whole, rtol=0, atol=1e-12)


def test_complete_data_have_the_closed_form() -> None:
    """−∇² is diag(N_ijk/θ_ijk²) + N_ijr/θ_ijr² · 11ᵀ for each distribution, and zero between them."""
    prepared, theta, pseudo = case("complete", rows=30)
    graph, codes, weights = prepared.dag, prepared.packed.codes, prepared.packed.weights
    layout = graph.layout
    counts = pseudo.copy()
    for row, weight in zip(codes, weights, strict=True):
        for members, strides, start in zip(layout.members, layout.strides, layout.start, strict=True):
            counts[start + row[list(members)] @ np.array(strides)] += weight
    expected = np.zeros((layout.free, layout.free))
    places = free_places(layout)
    for i in range(len(graph.schema)):
        r, q = layout.states[i], layout.configurations[i]
        for j in range(q):
            ratio = (counts / theta**2)[layout.start[i] + q * np.arange(r) + j]
            here = np.searchsorted(places, layout.start[i] + q * np.arange(r - 1) + j)
            expected[np.ix_(here, here)] = np.diag(ratio[:-1]) + ratio[-1]
    found = curvature(prepared, theta)
    assert not found.covariance.any()
    # Sums of two terms.
    np.testing.assert_allclose(found.information(pseudo, "probability"), expected, rtol=1e-13, atol=0)


def test_unseen_leaves_bend_nothing() -> None:
    """An open variable without observed descendants leaves only its prior's curvature behind."""
    graph = dag("A -> B -> C", hidden=["C"])
    table = Table(graph.schema, np.array([[0, 1, HOLE], [1, 1, HOLE], [HOLE, 0, HOLE]], dtype=np.int16))
    theta = graph.layout.normalize(np.random.default_rng(0).gamma(2.0, size=graph.layout.size))
    information = curvature(prepare(graph, table), theta).information(np.ones(graph.layout.size), "softmax")
    c = np.searchsorted(free_places(graph.layout), graph.layout.start[2])
    shares = theta[graph.layout.slice(2)][:2]
    expected = np.diag(2 * shares * (1 - shares))  # (α_1 + α_2) θ(1 − θ) for each state of B
    np.testing.assert_allclose(information[c:, c:], expected, rtol=1e-13, atol=1e-15)  # a few operations
    assert not information[:c, c:].any()


def test_zero_parameters_do_not_stop_the_derivatives() -> None:
    graph = dag("A -> B")
    theta = Network(graph, graph.layout.normalize(np.array([0.5, 0.5, 1.0, 0.5, 0.0, 0.5]))).theta
    prepared = prepare(graph, Table(graph.schema, np.array([[HOLE, 0], [HOLE, 1]], dtype=np.int16)))
    assert np.all(np.isfinite(curvature(prepared, theta).covariance))
    impossible = prepare(graph, Table(graph.schema, np.array([[0, 1]], dtype=np.int16)))
    with pytest.raises(ImpossibleRowError):
        curvature(impossible, theta)


def test_too_many_parameters_are_refused() -> None:
    graph = dag("A", states=20_000)
    table = Table(graph.schema, np.zeros((1, 1), dtype=np.int16))
    with lac.memory(budget._resident() + 2**28), pytest.raises(TooWideError, match="19999 parameters"):
        curvature(prepare(graph, table), np.full(20_000, 1 / 20_000))


def test_stretch_is_the_jacobian_between_the_bases() -> None:
    _, theta, _ = case("W")
    graph, layout = GRAPHS["W"][0], GRAPHS["W"][0].layout
    flat = Curvature(graph, theta, np.zeros(layout.size), np.zeros((layout.free, layout.free)))
    # |A| in θ is |A| in φ over the square of |∂θ/∂φ|; the prior's curvature alone shows it.
    pseudo = theta * 3.0
    ratio = np.linalg.slogdet(flat.information(pseudo, "softmax"))[1]
    ratio -= np.linalg.slogdet(flat.information(pseudo, "probability"))[1]
    assert ratio == pytest.approx(2 * flat.log_stretch(), abs=1e-10)  # two sums of a dozen logs

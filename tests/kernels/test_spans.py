"""Large cells by spans, beside the same cells one configuration at a time, and beside enumeration."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.infer import shape
from lacunary.infer.engine import DiscreteRows, prepare_discrete
from lacunary.infer.network import random_network
from lacunary.infer.shape import _spans
from lacunary.kernels.spans import BLOCK
from tests import naive

ROUNDING = 1e-11
"""Sums of some thousand positive numbers, each from a dozen operations, in another order."""

GRAPH = "A -> B C; B C -> D; A D -> E; B E -> F; C F -> G"
SIZES = {"A": 3, "B": 2, "C": 9, "D": 4, "E": 11, "F": 2, "G": 8}

LIMITS = [(1, 1, 16), (1, 2, 8), (1, 2, 40), (1, 1, BLOCK), (12, 2, 32)]
"""Cells of so many configurations, a last variable of so many states, blocks of so many at most."""


def rows_of(network: lac.Network, holes: float, rows: int = 12) -> Table:
    codes = np.array(network.sample(rows, rng=2).codes)
    codes[np.random.default_rng(3).random(codes.shape) < holes] = HOLE
    return Table(network.dag.schema, codes)


def set_limits(monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int, int]) -> None:
    for name, limit in zip(("LARGE", "RUN", "BLOCK"), limits, strict=True):
        monkeypatch.setattr(shape, name, limit)


def is_spanned(rows: DiscreteRows) -> bool:
    return all(len(chunk.kinds.span) > 0 for chunk in rows.packed.chunks)


def one_by_one(monkeypatch: pytest.MonkeyPatch, network: lac.Network, table: Table) -> DiscreteRows:
    set_limits(monkeypatch, (10**9, 1, 1))
    rows = prepare_discrete(network.dag, table)
    assert not is_spanned(rows)
    return rows


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("holes", [0.5, 0.9])
def test_spans_and_configurations(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int, int], holes: float
) -> None:
    """Counts and evidence, with zeros among the parameters, and potentials that sum to less than one."""
    network = random_network(lac.dag(GRAPH, states=SIZES), rng=1)
    table = rows_of(network, holes)
    potentials: NDArray[np.float64] = network.theta[None] * 0.7
    potentials[0, np.random.default_rng(4).random(potentials.shape[1]) < 0.05] = 0.0
    twin = one_by_one(monkeypatch, network, table)
    set_limits(monkeypatch, limits)
    rows = prepare_discrete(network.dag, table)
    assert is_spanned(rows)
    found, wanted = rows.expect(potentials), twin.expect(potentials)
    np.testing.assert_allclose(found.counts, wanted.counts, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(found.log_likelihood, wanted.log_likelihood, rtol=ROUNDING)
    logs = rows.log_evidence(potentials), twin.log_evidence(potentials)
    np.testing.assert_allclose(*logs, rtol=ROUNDING)


@pytest.mark.parametrize("limits", LIMITS[1:3])
def test_spans_and_enumeration(monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int, int]) -> None:
    """Small enough to add up all completions, and to run as plain Python."""
    network = random_network(lac.dag("A -> B C; B C -> D", states={"A": 2, "B": 3, "C": 9, "D": 2}), rng=1)
    table = rows_of(network, 0.6, 5)
    set_limits(monkeypatch, limits)
    rows = prepare_discrete(network.dag, table)
    assert is_spanned(rows)
    found = rows.expect(network.theta[None])
    np.testing.assert_allclose(found.log_likelihood, naive.log_likelihood(network, table), rtol=ROUNDING)
    for i, (name, wanted) in enumerate(naive.expected_counts(network, table).items()):
        table_of = network.dag.layout.table(found.counts[0], i)
        np.testing.assert_allclose(table_of, wanted, atol=ROUNDING, err_msg=name)


@pytest.mark.parametrize("scale", [1e-40, 1e-90])
def test_products_that_vanish(monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    """Tiny potentials everywhere: sums far below the least double, so that cells take care or logs."""
    network = random_network(lac.dag(GRAPH, states=SIZES), rng=1)
    table = rows_of(network, 0.7)
    set_limits(monkeypatch, (1, 2, 40))
    rows = prepare_discrete(network.dag, table)
    assert is_spanned(rows)
    plain, tiny = rows.expect(network.theta[None]), rows.expect(network.theta[None] * scale)
    families = len(network.dag.names) * len(table)
    wanted = plain.log_likelihood + families * np.log(scale)
    np.testing.assert_allclose(tiny.log_likelihood, wanted, rtol=ROUNDING)
    np.testing.assert_allclose(tiny.counts, plain.counts, rtol=1e-9, atol=1e-9)  # logs lose a digit or two
    np.testing.assert_allclose(rows.log_evidence(network.theta[None] * scale).sum(), wanted[0], rtol=ROUNDING)


def test_weights_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that counts for nothing, as in a component of a mixture, adds nothing."""
    network = random_network(lac.dag(GRAPH, states=SIZES), rng=1)
    table = rows_of(network, 0.7)
    set_limits(monkeypatch, (1, 2, 40))
    weights = np.ones(len(table))
    weights[::2] = 0.0
    found = prepare_discrete(network.dag, table).weighed(weights).expect(network.theta[None])
    wanted = prepare_discrete(network.dag, table.take(slice(1, None, 2))).expect(network.theta[None])
    np.testing.assert_allclose(found.counts, wanted.counts, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(found.log_likelihood, wanted.log_likelihood, rtol=ROUNDING)


def test_stretches_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last variable is a run; others join a block while it has room, and one more makes a stretch."""
    set_limits(monkeypatch, (128, 4, 2**13))
    assert _spans([4, 100, 33, 61]) == [
        201_300,
        2013,
        2013,
        61,
    ]  # 33 runs, each filled up to 64; 100 would be too many
    assert _spans([100, 28, 100]) == [280_000, 2800, 2800, 100]
    assert _spans([10, 12]) == []
    assert _spans([2000, 3]) == []
    assert _spans([3, 9000, 17]) == []  # so many runs in a stretch have no room
    assert _spans([3, 900, 17]) == [15_300, 17, 17, 17]  # and 900 runs, each filled up to 24, no block
    assert _spans([2, BLOCK + 1]) == []
    assert _spans([200]) == []


@pytest.mark.parametrize("order", ["B C D", "D C B", "C D B"])
def test_turned_tables(monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    """Tables whose parents are in another order than in cliques, beside those that are not turned."""
    states = {"A": 5, "B": 6, "C": 4, "D": 7, "E": 3, "F": 2}
    graph = lac.dag(f"A -> B; A B -> C; B C -> D; {order} -> E; E A -> F", states=states)
    network = random_network(graph, rng=1)
    table = rows_of(network, 0.5)
    set_limits(monkeypatch, (10**9, 1, 1))
    plain = prepare_discrete(graph, table)
    assert not plain.packed.recipe.places.turned
    set_limits(monkeypatch, (100, 2, BLOCK))
    graph = copy.deepcopy(graph)  # which keeps no recipe
    rows = prepare_discrete(graph, table)
    turned = {graph.names[i] for i, _ in rows.packed.recipe.places.turned}
    assert ("E" in turned) == (order != "D C B")  # parents come last where they are first in the graph
    for vectors in (
        network.theta[None] * 0.9,
        network.theta[None] * (1 + 1e-3j),
        np.tile(network.theta, (9, 1)),
    ):
        found, wanted = rows.expect(vectors), plain.expect(vectors)
        np.testing.assert_allclose(found.counts, wanted.counts, rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_allclose(found.log_likelihood, wanted.log_likelihood, rtol=ROUNDING)
    np.testing.assert_allclose(rows.observed, plain.observed, rtol=0, atol=0)
    np.testing.assert_allclose(
        rows.log_evidence(network.theta[None]), plain.log_evidence(network.theta[None]), rtol=ROUNDING
    )

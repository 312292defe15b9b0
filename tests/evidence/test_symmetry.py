"""Relabellings, counted against trying every one of them on a joint distribution."""

from __future__ import annotations

from itertools import permutations, product
from math import exp, factorial, lgamma, log

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.schema import Schema, Variable
from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.symmetry import (
    _check_mirrored,
    _log_renamings,
    _occupied,
    check_symmetric,
    log_symmetry,
)
from lacunary.infer.belief import Belief, Dirichlet, bdeu
from lacunary.infer.network import Network
from lacunary.model import swaps
from lacunary.model.dag import Dag
from lacunary.model.make import dag, naive_bayes

GRAPHS = [
    dag("H -> A B C", hidden={"H": 3}),
    dag("A -> C <- H -> D <- B", hidden={"H": 2}),
    dag("H -> A B C; G -> A B C", hidden=["H", "G"]),
    dag("H -> A B; G -> A B C", hidden=["H", "G"]),
    dag("H -> A B; G -> A B", hidden={"H": 2, "G": 3}),
    dag("H -> A; G -> A; H -> G", hidden=["H", "G"]),
    dag("F -> G H; G -> A B; H -> A B", hidden=["F", "G", "H"]),
    dag("F -> A; G -> A; H -> A", hidden=["F", "G", "H"]),
    dag("F -> A; G -> B; H -> A B", hidden=["F", "G", "H"]),
    dag("F -> G -> A; H -> E -> A", hidden=["E", "F", "G", "H"]),
    dag("A -> H -> B", hidden={"H": 3}),
    dag("H -> A B; G -> A B", hidden={"H": 1, "G": 2}),  # one state has nothing to rename
    dag("H -> A B; G -> A B", hidden={"H": 1, "G": 1}),
    dag("H -> A; G -> A", hidden=["H", "G"], tied=[("H", "G")]),  # renamed together or not at all
    dag("H -> A; G -> B; H -> C; G -> C", hidden=["H", "G"], tied=[("A", "B")]),
    dag("H -> A; G -> A; H -> B; G -> B", hidden=["H", "G"], tied=[("A", "B")]),
    dag("H G -> A; G H -> B", hidden=["H", "G"], tied=[("A", "B")]),  # the axes are crossed
    dag("H -> A B; C -> D", hidden=["H"], tied=[("A", "D")]),  # A's table is held by an observed parent
    dag("F -> A; G -> A; E -> A; D -> A", hidden=["D", "E", "F", "G"], tied=[("D", "E"), ("F", "G")]),
]


def joint(network: Network) -> np.ndarray:
    """p(x) over all states, one axis for each variable."""
    graph, sizes = network.dag, network.dag.schema.sizes
    p = np.ones(sizes)
    for i, name in enumerate(graph.names):
        members = [*graph.parent_indices[i], i]
        order = np.argsort(members)
        shape = [sizes[v] if v in members else 1 for v in range(len(sizes))]
        p = p * network.table(name).transpose(order).reshape(shape)
    return p


def conditionals(graph: Dag, p: np.ndarray) -> list[np.ndarray]:
    """Every variable's table given its parents, parents first, read off a joint distribution."""
    tables = []
    for i, parents in enumerate(graph.parent_indices):
        others = tuple(v for v in range(p.ndim) if v not in (*parents, i))
        family = p.sum(axis=others)
        kept = sorted((*parents, i))
        family = family.transpose([kept.index(v) for v in (*parents, i)])
        tables.append(family / family.sum(axis=-1, keepdims=True))
    return tables


def count_relabellings(graph: Dag) -> int:
    """Try every permutation of hidden variables and of their states; keep what the graph can still say."""
    hidden = [graph.schema.index(name) for name in graph.schema.hidden]
    sizes, n = graph.schema.sizes, len(graph.schema)
    theta = np.random.default_rng(5).gamma(2.0, size=graph.layout.size)
    network = Network(graph, graph.layout.normalize(theta))
    p, found = joint(network), set()
    for images in permutations(hidden):
        if any(sizes[v] != sizes[w] for v, w in zip(hidden, images, strict=True)):
            continue
        axes = list(range(n))
        for v, w in zip(hidden, images, strict=True):
            axes[v] = w
        moved = p.transpose(axes)
        for renamings in product(*(permutations(range(sizes[v])) for v in hidden)):
            q = moved
            for v, names in zip(hidden, renamings, strict=True):
                q = np.take(q, names, axis=v)
            point = _point(graph, q)
            # Turning an arc between two hidden variables makes new numbers: that is no relabelling.
            if point is not None and np.allclose(np.sort(point), np.sort(network.theta)):
                found.add(point)
    return len(found)


def _point(graph: Dag, p: np.ndarray) -> tuple[float, ...] | None:
    """The parameters that give a joint distribution, rounded; None if the graph has none."""
    tables = conditionals(graph, p)
    for group in graph.tied:
        first, *rest = (tables[graph.schema.index(name)] for name in group)
        if any(not np.allclose(first, other) for other in rest):
            return None
    flat = np.zeros(graph.layout.size)
    for i, table in enumerate(tables):
        flat[graph.layout.slice(i)] = graph.layout.flat(table)
    if not np.allclose(joint(Network(graph, graph.layout.normalize(flat))), p):
        return None
    return tuple(np.round(flat, 9))


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_counts_every_relabelling(graph: Dag) -> None:
    # The count is a whole number below 1000: its log is exact to far better than one part in it.
    assert exp(log_symmetry(graph)) == pytest.approx(count_relabellings(graph), rel=1e-9)


def test_hidden_variables_without_observed_descendants_do_not_count() -> None:
    graph = dag("H -> A B; A -> G; G -> F", hidden={"H": 2, "G": 3, "F": 4})
    assert log_symmetry(graph) == pytest.approx(log(2), rel=1e-12)


def test_nothing_hidden_has_one_labelling() -> None:
    assert log_symmetry(dag("A -> B -> C")) == 0.0


def test_many_exchangeable_variables_are_counted_without_listing_them() -> None:
    names = [f"H{i}" for i in range(12)]
    graph = dag("; ".join(f"{name} -> A" for name in names), hidden=names)
    # 12! · 2^12 is about 2·10^12: no list of them would end.
    assert log_symmetry(graph) == pytest.approx(lgamma(13) + 12 * log(2), rel=1e-12)


def test_large_state_spaces() -> None:
    schema = Schema(tuple(Variable(f"X{i}", (0, 1)) for i in range(64)))
    assert log_symmetry(naive_bayes(schema, "H", 32)) == pytest.approx(log(factorial(32)), rel=1e-12)


def test_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swaps, "BUDGET", 3)
    with pytest.raises(TooWideError, match="3 hidden variables"):
        log_symmetry(dag("F -> A; G -> A; H -> A", hidden=["F", "G", "H"]))


def test_priors_that_tell_states_apart_are_refused() -> None:
    graph = dag("H -> A B", hidden=["H"])
    check_symmetric(Dirichlet(0.7)(graph))
    check_symmetric(bdeu(3.0)(graph))
    uneven = np.ones(graph.layout.size)
    uneven[graph.layout.slice(graph.schema.index("B"))] = graph.layout.flat(
        np.array([[1.0, 2.0], [3.0, 4.0]])
    )
    with pytest.raises(ParameterError, match="states of H apart"):
        check_symmetric(Belief(graph, uneven))


def test_priors_may_tell_observed_states_apart() -> None:
    graph = dag("H -> A B", hidden=["H"])
    alpha = np.ones(graph.layout.size)
    alpha[graph.layout.slice(graph.schema.index("B"))] = graph.layout.flat(np.array([[1.0, 2.0], [1.0, 2.0]]))
    check_symmetric(Belief(graph, alpha))


@pytest.mark.parametrize("occupied", [1, 2, 3, 4])
def test_empty_states_are_all_alike(occupied: int) -> None:
    graph = dag("H -> A B", states=2, hidden={"H": 4})
    counts = np.zeros(graph.layout.size)
    shares = [7.0, 5.0, 3.0, 2.0][:occupied] + [0.0] * (4 - occupied)
    counts[graph.layout.slice(graph.schema.index("H"))] = shares
    different = len(set(permutations(shares)))  # labellings that can be told apart, listed
    assert exp(log_symmetry(graph, counts)) == pytest.approx(different, rel=1e-9)


def test_the_bound_can_count_the_labellings_of_occupied_classes() -> None:
    """Rows of two kinds, far apart: of four classes with a small prior two stay empty."""
    codes = np.array([[0] * 6] * 12 + [[1] * 6] * 8)
    schema = Schema(tuple(Variable(f"x{i}", (0, 1)) for i in range(6)))
    graph, table = naive_bayes(schema, "c", 4), lac.Table(schema, codes)
    plain = lac.score(graph, table, "variational", prior=Dirichlet(0.1))
    counted = lac.score(graph, table, "variational", prior=Dirichlet(0.1), symmetry=True)
    assert plain.kind == "lower bound"
    assert counted.kind == "approximation"
    assert counted.value - plain.value == pytest.approx(log(4 * 3))
    # Rows so far apart leave other divisions of them next to nothing: what is missing is log 12, not log 4!.
    truth = lac.score(graph, table, "exact", prior=Dirichlet(0.1)).value
    assert counted.value == pytest.approx(truth, abs=0.05)


def test_states_of_a_variable_with_parents_that_rows_are_in() -> None:
    graph = dag("A -> H -> B", states={"A": ["x", "y"], "H": ["u", "v", "w"], "B": ["x", "y"]}, hidden=["H"])
    counts = np.zeros(graph.layout.size)
    h = graph.schema.index("H")
    graph.layout.states_first(counts, h)[[0, 2], [1, 0]] = 3.0
    assert _occupied(graph, counts, h) == 2


def test_a_prior_that_knows_the_sign_of_a_hidden_number_is_refused() -> None:
    graph = dag("H -> X", kinds="continuous", hidden=["H"])
    _check_mirrored(lac.NormalWishart(nu=2.0, means=0.0, covariance=1.0)(graph))
    _check_mirrored(lac.NormalWishart(nu=2.0, means={"H": 0.0, "X": 3.0}, covariance=1.0)(graph))
    with pytest.raises(ParameterError, match="tells H from its mirror image"):
        _check_mirrored(lac.NormalWishart(nu=2.0, means={"H": 1.0, "X": 0.0}, covariance=1.0)(graph))


def test_hidden_variables_that_a_tie_holds_together_are_renamed_together() -> None:
    """In as many ways as the one of them has that rows are in most states of: 3!/(3 − 2)!."""
    names = {"H": 3, "K": 3, "A": 2, "B": 2}
    graph = swaps.Swaps(dag("H -> A; K -> B", states=names, hidden=["H", "K"], tied=[["H", "K"], ["A", "B"]]))
    hidden = sorted(graph.hidden)
    assert _log_renamings(graph, dict(zip(hidden, (1, 2), strict=True))) == pytest.approx(log(6))

"""Rows laid out as cells, and what fills or doubts them, beside enumeration and plain Python."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.infer.engine import DiscreteRows, prepare_discrete
from lacunary.infer.network import Network
from lacunary.kernels.complete import complete
from lacunary.kernels.normalize import normalize
from lacunary.kernels.sweep import sweep
from lacunary.kernels.underflow import FAR, NEAR, find_underflow
from tests import naive, naive_kernels
from tests.infer.test_extremes import disagreement
from tests.strategies import Case, cases, loaded_cases

RARE = 1e-4
"""One right sampler in ten thousand gives a smaller p-value; seeds are fixed."""


@given(st.one_of(cases(), loaded_cases()))
@settings(max_examples=40, deadline=None)
def test_cells_multiply_to_the_probability_of_every_completion(case: Case) -> None:
    """Whichever way its holes are filled, a row's cells name the parameters of each family with a hole."""
    network, table = case
    rows, layout, sizes = prepare_discrete(network.dag, table).whole(), network.dag.layout, table.schema.sizes
    packed = rows.packed
    for chunk in packed.chunks:
        slab, kinds = chunk.slab, packed.kinds
        for r, row in enumerate(packed.codes[chunk.rows].tolist()):
            known = [0 if size == 1 else code for size, code in zip(sizes, row, strict=True)]
            for states in list(naive.completions(network, known))[:50]:
                at = {}
                for root in slab.root[slab.root_start[r] : slab.root_start[r + 1]].tolist():
                    at[root] = naive_kernels.configuration(packed, sizes, slab.kind[root], states)
                    for child, parent, above in naive_kernels.below(chunk, root):
                        kind = slab.kind[child]
                        at[child] = naive_kernels.configuration(packed, sizes, kind, states)
                        # Seen from above and from below, the two share the same configuration.
                        shared = naive_kernels.led(packed, int(kinds.own[kind]), at[child])
                        assert naive_kernels.led(packed, above, at[parent]) == shared
                found = Counter(f for c, i in at.items() for f in naive_kernels.factors(packed, chunk, c, i))
                wanted = Counter(
                    int(start + sum(states[m] * by for m, by in zip(members, strides, strict=True)))
                    for members, strides, start in zip(
                        layout.members, layout.strides, layout.start, strict=True
                    )
                    if any(known[m] == HOLE for m in members)
                )
                assert found == wanted


def filled(rows: DiscreteRows, theta: NDArray[np.float64], seed: int | None) -> NDArray[np.int32]:
    """Run `complete` on rows that fit into one chunk."""
    (chunk,) = rows.packed.chunks
    out = rows.packed.codes.astype(np.int32)
    room = rows.room(chunk, 1, np.dtype(np.float64))
    sizes = np.array(rows.dag.schema.sizes, dtype=np.int64)
    cells = (rows.packed.kinds, chunk.slab, chunk.spots)
    with np.errstate(divide="ignore"):
        log = np.log(theta)
    assert complete(*cells, sizes, log, room, np.uint64(seed or 0), 0, seed is not None, out) == -1
    return out


@pytest.fixture(scope="module")
def network() -> Network:
    return lac.random_network(lac.dag("H -> A B; A B -> C; C -> D; E", states=3), rng=4)


def test_complete_finds_the_most_probable(network: Network) -> None:
    codes = np.array(network.sample(40, rng=1).codes)
    codes[np.random.default_rng(2).random(codes.shape) < 0.6] = HOLE
    rows = prepare_discrete(network.dag, Table(network.dag.schema, codes)).whole()
    out = filled(rows, network.theta, None)
    for row, states in zip(rows.packed.codes.tolist(), out.tolist(), strict=True):
        best = naive.best_probability(network, row)
        # Products of six numbers on either side.
        assert naive.probability(network, states) == pytest.approx(best, rel=1e-12)
        assert all(code in (HOLE, state) for code, state in zip(row, states, strict=True))


def test_complete_draws_from_the_posterior(network: Network) -> None:
    codes = np.array([[HOLE, HOLE, 1, HOLE, 0, HOLE]], dtype=np.int8)
    rows = prepare_discrete(network.dag, Table(network.dag.schema, codes)).whole()
    seen = Counter(tuple(filled(rows, network.theta, seed)[0].tolist()) for seed in range(1, 4001))
    whole = naive.evidence(network, codes[0].tolist())
    chances = {
        states: naive.probability(network, states) / whole
        for states in naive.completions(network, codes[0].tolist())
    }
    assert set(seen) <= set(chances)
    likely = [states for states, p in chances.items() if p * 4000 > 5]  # the rest goes into one bin
    observed = np.array([seen[states] for states in likely])
    expected = np.array([chances[states] * 4000 for states in likely])
    observed, expected = (
        np.append(observed, 4000 - observed.sum()),
        np.append(expected, 4000 - expected.sum()),
    )
    assert stats.chisquare(observed[expected > 1e-6], expected[expected > 1e-6]).pvalue > RARE


@pytest.mark.parametrize("seed", range(3))
def test_normalize(seed: int) -> None:
    layout = lac.random_dag(6, 0.5, 3, states=(2, 4), rng=seed).layout
    points = np.random.default_rng(seed).gamma(0.5, size=(3, layout.size))
    tables = []
    for i in range(len(layout.start)):
        size = layout.table(points[0], i).size
        states = layout.states[i]
        tables.append((layout.start[i], states, size // states))
    out, total = np.empty_like(points), np.empty(max(q for _, _, q in tables))
    assert normalize(points, np.array(tables, dtype=np.int64), total, out)
    for start, states, q in tables:
        block = points[:, start : start + states * q].reshape(3, states, q)
        wanted = (block / block.sum(axis=1, keepdims=True)).reshape(3, -1)
        # A few additions in another order, and one division.
        np.testing.assert_allclose(out[:, start : start + states * q], wanted, rtol=1e-14)
    points[1, tables[-1][0] :] = 0.0
    assert not normalize(points, np.array(tables, dtype=np.int64), total, out)


def long_chain(length: int) -> tuple[Network, NDArray[np.int8]]:
    """A chain of hidden variables, each with a child that is unlikely in any case: nothing is ruled out."""
    names = [f"H{i}" for i in range(length)]
    graph = lac.dag(
        "; ".join([" -> ".join(names), *(f"{name} -> X{name}" for name in names)]), states=2, hidden=names
    )
    tables = {name: np.array([[0.6, 0.4], [0.3, 0.7]]) for name in names}
    tables |= {f"X{name}": np.array([[0.9, 0.1], [0.8, 0.2]]) for name in names} | {
        "H0": np.array([0.5, 0.5])
    }
    row = [HOLE if name in names else 1 for name in graph.names]
    return Network.from_tables(graph, tables), np.array([row], dtype=np.int8)


def relay(against: int, end: int, near: int) -> tuple[Network, NDArray[np.int8]]:
    """Seven hidden variables in a row that must agree; children of an end and of one near it do not.

    What is lost at the end weighs more once the other has spoken, and nothing is said from there on.
    """
    hidden = [f"H{i}" for i in range(7)]
    children = {f"X{i}n{n}": f"H{i}" for i in (end, near) for n in range(against)}
    graph = lac.dag(
        "; ".join([" -> ".join(hidden), *(f"{above} -> {name}" for name, above in children.items())]),
        states=2,
        hidden=hidden,
    )
    tables = dict.fromkeys(hidden, np.eye(2)) | {"H0": np.array([0.25, 0.75])}
    for name, above in children.items():
        tables[name] = np.array([[0.9, 0.1], [0.1, 0.9]])[:, :: 1 if above == f"H{end}" else -1]
    row = [HOLE if name in hidden else 0 for name in graph.names]
    return Network.from_tables(graph, tables), np.array([row], dtype=np.int8)


CASES = {f"against {n}": disagreement(n) for n in (50, 150, 195, 205, 210, 230, 300)}
CASES |= {f"relay from {i} {n}": relay(n, i, j) for n in (150, 215) for i, j in ((0, 2), (6, 4))} | {
    "a long chain": long_chain(300)
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_find_underflow(case: tuple[Network, NDArray[np.int8]]) -> None:
    """A sweep is doubted just where plain logarithms say that more than e^-40 of a root may be missing."""
    network, codes = case
    rows = prepare_discrete(network.dag, Table(network.dag.schema, codes)).whole()
    (chunk,), packed = rows.packed.chunks, rows.packed
    room, cells = rows.room(chunk, 1, np.dtype(np.float64)), len(chunk.weight)
    numbers, doubt, counts = (
        np.zeros((cells + 2, 1)),
        np.zeros(1, dtype=np.bool_),
        np.zeros(network.theta.size),
    )
    given = (packed.arena, chunk.arena, chunk.weight, network.theta.copy(), *room, counts)
    logs, total, scale = numbers[:cells], numbers[cells], numbers[cells + 1]
    far = sweep(*given, logs, total, scale, doubt, (0,))
    assert bool(far) == bool(doubt[0])
    left = far and find_underflow(*given[:-1], logs, doubt)
    with np.errstate(divide="ignore"):
        log_theta = np.log(network.theta).tolist()
    roots = naive_kernels.may_be_lost(packed, chunk, log_theta)
    wanted = any(not log > FAR and lack > -math.inf and not lack < NEAR for log, lack in roots.values())
    assert bool(left) == bool(doubt[0]) == wanted
    if not wanted:  # then what was swept is right
        for root, (log, _) in roots.items():
            assert numbers[root, 0] == pytest.approx(log, rel=1e-10)  # hundreds of logs are added


def test_both_answers_are_asked_for() -> None:
    """Among the cases are some that lost what matters and some that are only unlikely."""
    verdicts = set()
    for network, codes in CASES.values():
        rows = prepare_discrete(network.dag, Table(network.dag.schema, codes)).whole()
        with np.errstate(divide="ignore"):
            log_theta = np.log(network.theta).tolist()
        roots = naive_kernels.may_be_lost(rows.packed, rows.packed.chunks[0], log_theta)
        verdicts.add(tuple(sorted((not log > FAR, not lack < NEAR) for log, lack in roots.values())))
    assert {((True, True),), ((True, False),)} <= verdicts

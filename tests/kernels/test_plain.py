"""Each kernel file beside enumeration, on inputs small enough to run as plain Python too.

``make test`` runs this file compiled, and once more with ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.evidence.problem import Problem
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.islands import chart
from lacunary.infer.posterior import filled
from lacunary.infer.rows import prepare
from lacunary.kernels.draw import draw_counts, log_likelihood
from lacunary.kernels.normalize import normalize
from tests import naive, naive_structure
from tests.evidence.small import walker

TOLERANCE = 1e-10
"""Sums of at most some dozen numbers near one, each from a few dozen operations."""


@pytest.fixture(scope="module")
def network() -> lac.Network:
    """A hidden variable of nine states, which takes runs of vectors and a rest; a loop; a chain."""
    return lac.random_network(
        lac.dag("H -> A B; A B -> C; C -> D", states={**dict.fromkeys("ABCD", 2), "H": 9}), rng=1
    )


@pytest.fixture(scope="module")
def table(network: lac.Network) -> Table:
    rows = np.array(network.sample(6, rng=2).codes)
    rows[:, network.dag.names.index("H")] = HOLE
    rows[np.random.default_rng(3).random(rows.shape) < 0.3] = HOLE
    return Table(network.dag.schema, rows)


@pytest.mark.parametrize("vectors", [1, 3])
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("scale", [1.0, 1e-90])
def test_sweeps(network: lac.Network, table: Table, vectors: int, kind: Any, scale: float) -> None:
    """Potentials that are all scaled scale every row's evidence by a power, and change no count."""
    prepared = prepare(network.dag, table)
    potentials: NDArray[Any] = np.repeat(network.theta[None] * scale, vectors, axis=0).astype(kind)
    swept = prepared.expect(potentials)
    counts, log = swept.counts, swept.log_likelihood
    families = len(network.dag.names) * len(table)
    expected = naive.log_likelihood(network, table) + families * np.log(scale)
    np.testing.assert_allclose(log.real, expected, rtol=TOLERANCE)
    plain = prepare(network.dag, Table(table.schema, table.codes)).expect(network.theta[None]).counts
    np.testing.assert_allclose(counts.real, np.repeat(plain, vectors, axis=0), atol=TOLERANCE)
    for i, (name, wanted) in enumerate(naive.expected_counts(network, table).items()):
        here = network.dag.layout.table(counts[0].real, i)
        np.testing.assert_allclose(here, wanted, atol=TOLERANCE, err_msg=name)


@pytest.mark.parametrize("states", [8, 31])
def test_lone_rows(states: int) -> None:
    """Rows enough for sums side by side and some more, of configurations in pieces of every length."""
    network = lac.random_network(
        lac.dag("H -> A B C", states={**dict.fromkeys("ABC", 2), "H": states}), rng=1
    )
    codes = np.array(network.sample(40, rng=2).codes)
    codes[np.random.default_rng(3).random(codes.shape) < 0.3] = HOLE
    codes[:, network.dag.names.index("H")] = HOLE
    table = Table(network.dag.schema, codes)
    prepared = prepare(network.dag, table)
    assert isinstance(prepared, DiscreteRows)
    assert all(chunk.lone for chunk in prepared.packed.chunks)
    swept = prepared.expect(network.theta[None])
    np.testing.assert_allclose(swept.log_likelihood[0], naive.log_likelihood(network, table), rtol=TOLERANCE)
    for i, (name, wanted) in enumerate(naive.expected_counts(network, table).items()):
        here = network.dag.layout.table(swept.counts[0], i)
        np.testing.assert_allclose(here, wanted, atol=TOLERANCE, err_msg=name)


def test_completions(network: lac.Network, table: Table) -> None:
    best = filled(network.dag, network.theta, table.codes, seed=None)
    drawn = filled(network.dag, network.theta, table.codes, seed=1)
    for row, most, some in zip(table.codes.tolist(), best.tolist(), drawn.tolist(), strict=True):
        assert naive.probability(network, most) == pytest.approx(
            naive.best_probability(network, row), rel=1e-12
        )
        assert naive.probability(network, some) > 0
        assert all(code in (HOLE, state) for code, state in zip(row, some, strict=True))


def test_chains(network: lac.Network, table: Table) -> None:
    laid = walker(Problem(network.dag, table, lac.Dirichlet(1.0)))
    kinds, chunk, (room, scratch) = laid.rows.packed.kinds, laid.chunk, laid._room()
    cells = (kinds, chunk.slab, chunk.spots)
    log = log_likelihood(*cells, room, scratch, laid.target.constant, network.theta)
    assert log == pytest.approx(naive.log_likelihood(network, table), rel=TOLERANCE)
    counts, stream = laid.target.constant.copy(), np.array([7], dtype=np.uint64)
    assert draw_counts(*cells, network.theta, room, scratch, stream, counts)
    assert counts.sum() == len(network.dag.names) * len(table)
    sampled = lac.posterior_mean(network.dag, table, draws=4, burn=1, rng=0)
    assert np.isfinite(sampled.draws).all()


@pytest.mark.parametrize(("cap", "limit"), [(1, 1), (2, 40), (128, 10**9)])
def test_islands(network: lac.Network, table: Table, cap: int, limit: int) -> None:
    islands = chart(network.dag, table.codes, cap=cap, limit=limit).under(network.theta, table.weights)
    for members in ([0, 3], [1, 2]):
        expected = naive.joint_counts(network, table, members)
        np.testing.assert_allclose(islands.counts(members), expected, atol=TOLERANCE)


def _share(cells: int, configurations: int) -> float:
    return 1.0 / cells


def test_searches() -> None:
    """The score that is climbed is that of the definition, worth 1 over all cells of a family."""
    seen = lac.random_network(lac.dag("A -> B -> C; A -> D", states=2), rng=3).sample(80, rng=4)
    found = lac.search(seen, prior=lac.bdeu(1.0))
    assert found.dag.arcs
    sizes, total = seen.schema.sizes, 0.0
    for i, above in enumerate(found.dag.parents):
        parents = tuple(found.dag.names.index(name) for name in above)
        cells = sizes[i] * int(np.prod([sizes[p] for p in parents]))
        total += naive_structure.bd(seen, i, parents, partial(_share, cells))
    assert found.score == pytest.approx(total, rel=TOLERANCE)


def test_normalize() -> None:
    points, out = np.array([[1.0, 3.0, 3.0, 1.0, 5.0, 5.0]]), np.empty((1, 6))
    tables = np.array([[0, 2, 2], [4, 2, 1]])  # start, states, configurations
    assert normalize(points, tables, np.empty(2), out)
    assert out.tolist() == [[0.25, 0.75, 0.75, 0.25, 0.5, 0.5]]
    points[0, :] = 0.0
    assert not normalize(points, tables, np.empty(2), out)

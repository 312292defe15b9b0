"""Rows that are one cell each beside the general sweep, and beside enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.infer.engine import DiscreteRows, prepare_discrete
from lacunary.infer.network import Network
from lacunary.infer.posterior import Reader
from lacunary.kernels.lone import TOGETHER
from tests import naive

ROUNDING = 1e-12
"""Sums of at most 2 000 positive numbers, each a product of at most 30, that are added in another order."""

SIZES = (2, 3, 7, 8, 9, 16, 31, 32, TOGETHER + 5)
"""Configurations of pieces of one length, of several, of each; and more than rows together have."""


def problem(states: int, rows: int, children: int = 5, seed: int = 0) -> tuple[Network, Table]:
    """A class that is never seen, above variables with holes, and weights some of which are zero."""
    names = [f"x{i}" for i in range(children)]
    dag = lac.dag("H -> " + " ".join(names), states={"H": states, **dict.fromkeys(names, 3)})
    network, rng = lac.random_network(dag, rng=seed), np.random.default_rng(seed)
    codes = np.array(network.sample(rows, rng=seed).codes)
    codes[rng.random(codes.shape) < 0.3] = HOLE
    codes[:, dag.names.index("H")] = HOLE
    return network, Table(dag.schema, codes, weights=rng.integers(0, 3, rows).astype(float))


def plainly(rows: DiscreteRows) -> DiscreteRows:
    """The same rows, all of which go the way of all others."""
    (chunks,) = rows.packed.kept
    assert chunks is not None
    assert all(chunk.lone for chunk in chunks)
    kept = (tuple(replace(chunk, lone=False) for chunk in chunks),)
    return replace(rows, packed=replace(rows.packed, kept=kept), _spare=[])


def agree(rows: DiscreteRows, potentials: NDArray[np.float64]) -> None:
    one, other = rows.expect(potentials), plainly(rows).expect(potentials)
    np.testing.assert_allclose(one.counts, other.counts, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=ROUNDING)
    found, wanted = rows.log_evidence(potentials), plainly(rows).log_evidence(potentials)
    np.testing.assert_allclose(found, wanted, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("states", SIZES)
@pytest.mark.parametrize("rows", [1, 7, 300])
def test_sweeps_as_all_other_rows(states: int, rows: int) -> None:
    network, table = problem(states, rows)
    prepared = prepare_discrete(network.dag, table)
    vectors = np.stack([network.theta, lac.random_network(network.dag, rng=9).theta])
    agree(prepared, network.theta[None])
    agree(prepared, vectors)


def test_many_vectors_go_one_by_one_where_that_is_faster() -> None:
    """Then each is swept to the bits of its own sweep."""
    few, many = (
        prepare_discrete(network.dag, table) for network, table in (problem(8, 90), problem(8, 3000, 9))
    )
    assert [chunk.lanes for chunk in few.packed.chunks] == [8]
    assert {chunk.lanes for chunk in many.packed.chunks} == {1}
    vectors = np.stack([lac.random_network(many.dag, rng=k).theta for k in range(5)])
    together = many.expect(vectors)
    for k, alone in enumerate(vectors):
        assert np.array_equal(many.expect(alone[None]).counts[0], together.counts[k])
    agree(many, vectors)


@pytest.mark.parametrize("states", [2, 5, 8, 17])
def test_counts_what_enumeration_counts(states: int) -> None:
    network, table = problem(states, 9, children=3)
    swept = prepare_discrete(network.dag, table).expect(network.theta[None])
    assert swept.log_likelihood[0] == pytest.approx(naive.log_likelihood(network, table), rel=ROUNDING)
    for i, wanted in enumerate(naive.expected_counts(network, table).values()):
        here = network.dag.layout.table(swept.counts[0], i)
        np.testing.assert_allclose(here, wanted, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("states", [5, 8])
def test_rows_that_need_care_sum_to_what_all_others_do(states: int) -> None:
    """One row as unlikely as 1e-300, or impossible, behind enough ordinary ones that some are counted."""
    network, table = problem(states, 2000, children=7)
    seen, codes = [i for i, name in enumerate(table.schema.names) if name != "H"], np.array(table.codes)
    codes[codes == 0] = 1
    codes[:, table.schema.names.index("H")] = HOLE
    codes[0, seen] = 0
    prepared = prepare_discrete(network.dag, Table(table.schema, codes))
    (place,) = np.flatnonzero((prepared.packed.codes[:, seen] == 0).all(axis=1))
    assert place >= TOGETHER // states
    for scale in (1e-43, 0.0):
        theta = network.theta.copy()
        for i in seen:
            network.dag.layout.states_first(theta[None], i)[0][0] *= scale
        agree(prepared, theta[None])
    assert np.isneginf(prepared.log_evidence(theta[None])).sum() == 1
    agree(prepared, network.theta[None] * 1e-43)


@pytest.mark.parametrize("states", [2, 8, 9])
def test_many_columns_are_summed_as_logarithms_are(states: int) -> None:
    """Every row is less likely than doubles can hold, and classes are many orders apart."""
    network, table = problem(states, 30, children=1500)
    rows = prepare_discrete(network.dag, table)
    assert all(chunk.lone for chunk in rows.packed.chunks)
    swept, layout = rows.expect(network.theta[None]), network.dag.layout
    tables = [layout.states_first(network.theta[None], i)[0] for i in range(len(network.dag.names))]
    root = network.dag.names.index("H")
    log = np.zeros((30, states)) + np.log(tables[root][:, 0])
    for i in set(range(len(tables))) - {root}:
        seen = table.codes[:, i] != HOLE
        log[seen] += np.log(tables[i])[table.codes[seen, i]]
    top = log.max(axis=1)
    each = np.exp(log - top[:, None])
    wanted = top + np.log(each.sum(axis=1))
    assert wanted.max() < -750  # e^-745 is the least that a double can hold
    # 1 050 logarithms, each rounded to 1e-16 of at most 30, and their sums, of up to 1 000, to 1e-13 each.
    np.testing.assert_allclose(rows.log_evidence(network.theta[None])[0], wanted, atol=1e-9)
    assert swept.log_likelihood[0] == pytest.approx(table.weights @ wanted, abs=1e-9 * table.size)
    shares = table.weights @ (each / each.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(
        layout.states_first(swept.counts, root)[0, :, 0], shares, atol=1e-9 * table.size
    )


def test_reads_rows_into_places_of_their_own() -> None:
    network, table = problem(8, 50)
    reader = Reader.of(network.dag, table.codes, [[network.dag.names.index("H")]])
    found = reader.posteriors(network.theta)
    for row, codes in zip(found, table.codes.tolist(), strict=True):
        wanted = naive.posterior(network, codes, ["H"])
        np.testing.assert_allclose(row, wanted.ravel(), rtol=ROUNDING, atol=ROUNDING)


def test_no_other_rows_are_taken_for_lone() -> None:
    """Rows with an arc between holes, of two islands, or of two kinds."""
    for arcs in ("H -> A B; A -> B C; C -> D", "H -> A B; G -> C D", "H -> A; H -> B; A -> B"):
        dag = lac.dag(arcs, states=2)
        network = lac.random_network(dag, rng=1)
        codes = np.array(network.sample(60, rng=2).codes)
        codes[np.random.default_rng(3).random(codes.shape) < 0.4] = HOLE
        prepared = prepare_discrete(dag, Table(dag.schema, codes))
        assert not any(chunk.lone for chunk in prepared.packed.chunks)
        swept = prepared.expect(network.theta[None])
        for i, wanted in enumerate(naive.expected_counts(network, Table(dag.schema, codes)).values()):
            np.testing.assert_allclose(dag.layout.table(swept.counts[0], i), wanted, atol=1e-10)

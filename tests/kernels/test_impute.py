"""Rows completed by urns, particles side by side, against an urn that is asked for one particle at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.evidence.imputation import Sequence, sequence
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Dirichlet
from lacunary.kernels.herd import herd
from lacunary.kernels.impute import CHUNK, SIDE, copy, impute, renew
from lacunary.maths.arrays import Array, Integers
from tests.evidence.small import classes

FREE = np.zeros(0, dtype=np.int32)


def urns() -> list[Sequence]:
    """Rows of a hidden class, of a chain whose two links share a table, and of one whose links do not."""
    chain = lac.dag("A -> B -> C", states=2)
    tied = replace(chain, tied=(("B", "C"),))
    codes = np.array([[0, HOLE, 1], [HOLE, 1, 1], [1, HOLE, HOLE], [0, 0, 0]], dtype=np.int16)
    problems = (
        replace(classes(1, rows=12), prior=Dirichlet(1e-8)),
        Problem(tied, lac.Table(chain.schema, codes), Dirichlet(0.5)),
        Problem(chain, lac.Table(chain.schema, codes), Dirichlet(0.5)),
    )
    return [rows for rows in map(sequence, problems) if rows is not None]


def plain(rows: Sequence, counts: Array, row: int) -> list[float]:
    """Return the probability of every completion of a row, one value after the other."""
    urn, size, out = rows.urn, rows.layout.size, []
    for c in range(urn.ways[row]):
        n, v = counts.copy(), 1.0
        at = urn.start[row] + c * (urn.width[row] + urn.sums[row])
        for place in urn.link[at : at + urn.width[row]] // SIDE:
            group = rows.layout.group[place]
            v *= (urn.own[place] + n[place]) / (urn.own[size + group] + rows.layout.total(n)[group])
            n[place] += 1.0
        out.append(v)
    return out


def counted(rows: Sequence, chosen: Integers) -> Array:
    """Return the counts of rows completed so."""
    counts = rows.constant.copy()
    for row, c in zip(rows.rows, chosen, strict=False):
        at = rows.urn.start[row] + c * (rows.urn.width[row] + rows.urn.sums[row])
        np.add.at(counts, rows.urn.link[at : at + rows.urn.width[row]] // SIDE, 1.0)
    return counts


@pytest.mark.parametrize("which", [0, 1, 2])
def test_logs_and_states_are_those_of_one_urn(which: int) -> None:
    rows = urns()[which]
    crowd = rows._gathered(rows.constant[None], 2 * SIDE, np.random.default_rng(1))
    impute(rows.urn, rows.rows, 0, rows.length, FREE, *crowd)
    renewed = crowd.chosen.copy()
    before = rows.layout.total(rows.alpha + rows.constant)
    left_out = sum(math.lgamma(a + n) - math.lgamma(a) for a, n in zip(before, rows.certain, strict=True))
    for number, chosen in enumerate(crowd.completions(2 * SIDE)):
        log = 0.0
        for k, row in enumerate(rows.rows):
            log += math.log(sum(plain(rows, counted(rows, chosen[:k]), row)))
        assert crowd.logs.ravel()[number] == pytest.approx(log + left_out, rel=1e-12)
    renew(rows.urn, rows.rows, rows.length, False, crowd.state, renewed, crowd.stream)
    # Counts are whole, so that a pseudo-count of 1e-8 survives any number of draws and returns.
    after = crowd._replace(chosen=renewed)
    for chosen, counts in zip(after.completions(2 * SIDE), after.counts(rows.layout), strict=True):
        np.testing.assert_array_equal(counts, counted(rows, chosen))
        state = rows._state(counts)
    kept = np.append(np.ones(rows.layout.size, dtype=bool), rows.certain == 0.0)
    np.testing.assert_array_equal(after.state.reshape(2, -1, SIDE)[1, kept, -1], state[kept])


def test_sums_are_left_out_where_every_row_uses_them_or_none() -> None:
    """A hidden class divides all rows alike, and B does where A, its parent, is known in all of them."""
    hidden, tied, chain = urns()
    assert hidden.certain.max() == hidden.certain.sum() == 12.0
    assert not tied.certain.any()  # a row that draws twice from one table divides by what it drew first
    assert chain.certain.sum() == 1.0  # A, a hole once; that hole leaves open which tables of B are used
    graph, codes = lac.dag("A -> B -> C", states=2), [[0, HOLE, 1], [1, HOLE, 0], [0, HOLE, 0]]
    rows = sequence(Problem(graph, lac.Table(graph.schema, np.array(codes, dtype=np.int16)), Dirichlet(0.5)))
    assert rows is not None
    b = graph.names.index("B")
    used = rows.layout.group[rows.layout.start[b] : rows.layout.start[b] + 2]
    assert rows.certain[used].tolist() == [2.0, 1.0]
    assert rows.certain.sum() == 3.0


def test_no_more_sums_are_left_out_than_doubles_can_hold() -> None:
    graph = lac.dag("; ".join(f"A{k} -> B{k}" for k in range(12)), states=2)
    codes = np.tile(np.array([0, HOLE] * 12, dtype=np.int16), (3, 1))
    order = [graph.names.index(f"{side}{k}") for k in range(12) for side in "AB"]
    table = lac.Table(graph.schema, codes[:, np.argsort(order)])
    rows = sequence(Problem(graph, table, Dirichlet(0.5)))
    assert rows is not None
    assert (rows.urn.width - rows.urn.sums).max() == CHUNK
    # Every A is 0 in three rows: 1/2 · 3/4 · 5/6; what is never seen of B adds nothing.
    exact = 12 * math.log(0.5 * 0.75 * 2.5 / 3)
    np.testing.assert_allclose(rows.run(2, SIDE, np.random.default_rng(0)).log_z, exact, rtol=1e-12)


def test_rows_come_in_so_that_they_resemble_all_rows_at_any_time() -> None:
    """Of rows of two cells beside a hidden class, each kind is at any time within one row of its share."""
    graph = lac.dag("H -> A; H -> B", states=2)
    kinds = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int16)
    full = np.full((64, 3), HOLE, dtype=np.int16)
    a, b = graph.names.index("A"), graph.names.index("B")
    full[:, [a, b]] = np.repeat(kinds, [8, 8, 16, 32], axis=0)
    rows = sequence(Problem(graph, lac.Table(graph.schema, full), Dirichlet(1.0)))
    assert rows is not None
    for seed in range(5):
        order = rows._order(np.random.default_rng(seed))
        np.testing.assert_array_equal(np.sort(order), np.arange(64))
        came = np.cumsum(rows.rows[order][:, None] == np.arange(4), axis=0)
        share = np.bincount(rows.rows) / 64
        assert np.abs(came - share * np.arange(1, 65)[:, None]).max() <= 1.0


def test_herding_takes_the_row_that_most_is_wanted_of() -> None:
    """As written down: all rows' mean resemblance, times how many were taken, less what these resemble it."""
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 3, (9, 4))
    often, alike, first = rng.integers(1, 4, 9), 3.0 ** np.arange(-4, 1), rng.random(9)

    def resembles(d: int, e: int) -> float:
        return float(3.0 ** (sum(x == y >= 0 for x, y in zip(codes[d], codes[e], strict=True)) - 4))

    usual = np.array([sum(often[e] * resembles(d, e) for e in range(9)) for d in range(9)]) / often.sum()
    taken: list[int] = []
    for t in range(int(often.sum())):
        open_ = [d for d in range(9) if taken.count(d) < often[d]]
        taken.append(max(open_, key=lambda d: first[d] + t * usual[d] - sum(resembles(d, e) for e in taken)))
    columns = np.ascontiguousarray(codes.T, dtype=np.int32)
    assert herd(columns, often, usual, alike, first.copy(), len(taken)).tolist() == taken


def test_islands_have_orders_of_their_own() -> None:
    """With pseudo-counts of 1e-8 an order leads to one peak, from which no move leads away."""
    graph = lac.dag("H -> A B C", states=2, hidden=["H"])
    codes = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(np.int8)
    codes[:, 0] = HOLE
    problem = Problem(graph, lac.Table(graph.schema, codes, np.empty((20, 0)), np.ones(20)), Dirichlet(1e-8))
    rows = sequence(problem)
    assert rows is not None
    assert (
        rows.run(16, SIDE, np.random.default_rng(0)).log_z.std() > 2.0
    )  # peaks are multiples of log 1e8 apart


def test_rows_that_cannot_all_be_compared_come_in_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = urns()[0]
    monkeypatch.setattr("lacunary.evidence.imputation.COMPARED", 3 * rows.codes.size)
    order = rows._order(np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), np.arange(rows.length))
    monkeypatch.setattr("lacunary.evidence.imputation.COMPARED", 0)
    np.testing.assert_array_equal(np.sort(rows._order(np.random.default_rng(0))), np.arange(rows.length))


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_row_is_renewed_by_its_probabilities(which: int) -> None:
    """With all others held, the last row's completions come as often as the urn says: 5 deviations."""
    rows, draws = urns()[which], 400 * SIDE
    others = np.zeros(rows.length, dtype=np.int64)
    chance = np.array(plain(rows, counted(rows, others[:-1]), rows.rows[-1]))
    crowd = rows._gathered(counted(rows, others)[None], draws, np.random.default_rng(2))
    # Led back from the last row on, it is the first to be renewed; the first sweep's draw is looked at.
    order = rows.rows[::-1].copy()
    impute(rows.urn, order, 0, 0, FREE, *crowd)
    alone = crowd.chosen[:, :1].copy()
    renew(rows.urn, order, 1, False, crowd.state, alone, crowd.stream)
    often = np.bincount(alone.ravel(), minlength=len(chance)) / draws
    expected = chance / chance.sum()
    assert np.all(np.abs(often - expected) <= 5 * np.sqrt(expected * (1 - expected) / draws) + 1e-9)


def test_the_first_particle_takes_what_it_is_given() -> None:
    rows = urns()[0]
    given = np.arange(rows.length, dtype=np.int32) % 2
    crowd = rows._gathered(rows.constant[None], SIDE, np.random.default_rng(3))
    impute(rows.urn, rows.rows, 0, rows.length, given, *crowd)
    np.testing.assert_array_equal(crowd.completions(1)[0], given)


def test_particles_are_copied_as_asked() -> None:
    source = np.arange(2 * 3 * SIDE, dtype=np.float64).reshape(2, 3, SIDE)
    who = np.random.default_rng(4).integers(0, 2 * SIDE, SIDE)
    out = np.zeros((1, 3, SIDE))
    copy(who, source, 2, out)
    flat = source.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(out[0, :2].T, flat[who][:, :2])
    assert not out[0, 2].any()

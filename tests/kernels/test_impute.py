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
from lacunary.kernels.impute import SIDE, copy, impute, renew
from lacunary.maths.arrays import Array, Integers
from tests.evidence.small import classes

FREE = np.zeros(0, dtype=np.int32)


def urns() -> list[Sequence]:
    """Rows of a hidden class, and of a chain whose two links share a table."""
    chain = lac.dag("A -> B -> C", states=2)
    tied = replace(chain, tied=(("B", "C"),))
    codes = np.array([[0, HOLE, 1], [HOLE, 1, 1], [1, HOLE, HOLE], [0, 0, 0]], dtype=np.int16)
    problems = (
        replace(classes(1, rows=12), prior=Dirichlet(1e-8)),
        Problem(tied, lac.Table(chain.schema, codes), Dirichlet(0.5)),
    )
    return [rows for rows in map(sequence, problems) if rows is not None]


def plain(rows: Sequence, counts: Array, row: int) -> list[float]:
    """Return the probability of every completion of a row, one value after the other."""
    urn, size, out = rows.urn, rows.layout.size, []
    for c in range(urn.ways[row]):
        n, v = counts.copy(), 1.0
        at = 2 * (urn.start[row] + c * urn.width[row])
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
        at = 2 * (rows.urn.start[row] + c * rows.urn.width[row])
        np.add.at(counts, rows.urn.link[at : at + rows.urn.width[row]] // SIDE, 1.0)
    return counts


@pytest.mark.parametrize("which", [0, 1])
def test_logs_and_states_are_those_of_one_urn(which: int) -> None:
    rows = urns()[which]
    crowd = rows._gathered(rows.constant[None], 2 * SIDE, np.random.default_rng(1))
    impute(rows.urn, rows.rows, 0, rows.length, FREE, *crowd)
    renewed = crowd.chosen.copy()
    for number, chosen in enumerate(crowd.completions(2 * SIDE)):
        log = 0.0
        for k, row in enumerate(rows.rows):
            log += math.log(sum(plain(rows, counted(rows, chosen[:k]), row)))
        assert crowd.logs.ravel()[number] == pytest.approx(log, rel=1e-12)
    renew(rows.urn, rows.rows, rows.length, False, crowd.state, renewed, crowd.stream)
    # Counts are whole, so that a pseudo-count of 1e-8 survives any number of draws and returns.
    after = crowd._replace(chosen=renewed)
    for chosen, counts in zip(after.completions(2 * SIDE), after.counts(rows.layout), strict=True):
        np.testing.assert_array_equal(counts, counted(rows, chosen))
        state = rows._state(counts)
    np.testing.assert_array_equal(after.state.reshape(2, -1, SIDE)[1, :, -1], state)


@pytest.mark.parametrize("which", [0, 1])
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

"""Samplers whose chains cannot have mixed say so."""

from __future__ import annotations

import numpy as np
import pytest

import lacunary as lac
from lacunary.evidence.diagnostics import mixing_note
from lacunary.evidence.score import pose

CLASSES = lac.dag("H -> A B C", states=2, hidden=["H"])


def coins() -> lac.Table:
    codes = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(np.int8)
    codes[:, 0] = -1
    return lac.Table(CLASSES.schema, codes, np.empty((20, 0)), np.ones(20))


@pytest.mark.parametrize("method", ["chib", "bridge", "path"])
def test_estimates_with_tiny_pseudo_counts_are_near_and_not_called_trustworthy(method: str) -> None:
    """With pseudo-counts of 1e-8 moves lead nowhere: weights alone find the modes, as chance has it."""
    table, wild = coins(), lac.Dirichlet(1e-8)
    found = lac.score(CLASSES, table, method, prior=wild)
    assert abs(found.value - lac.score(CLASSES, table, "exact", prior=wild).value) < 5.0
    assert not found.details["trustworthy"]
    assert "as small as 1e-08" in found.details["note"]
    usual = lac.score(CLASSES, table, method)
    assert usual.details["trustworthy"]
    exact = lac.score(CLASSES, table, "exact").value
    assert usual.value == pytest.approx(exact, abs=4.5 * (usual.stderr or 0.0))  # once in 1e5 by chance


@pytest.mark.parametrize("alpha", [1e-8, 1e-4, 0.01])
def test_sampled_finds_what_few_orders_of_the_rows_lead_to(alpha: float) -> None:
    """Islands that agree because their rows came in in one order were 15 nats low, and nothing said so."""
    exact = lac.score(CLASSES, coins(), "exact", prior=lac.Dirichlet(alpha)).value
    for seed in range(3):
        found = lac.score(CLASSES, coins(), "sampled", prior=lac.Dirichlet(alpha), rng=seed, budget=1e9)
        assert found.value == pytest.approx(exact, abs=5 * (found.stderr or 0.0) + 1e-6)  # peaks of 1e-7


def test_chains_that_were_apart_are_told_by_their_heights() -> None:
    """Independent draws have R̂ near one; chains at two heights five deviations apart have about 2.7."""
    problem = pose(CLASSES, coins())
    drawn = np.random.default_rng(1).normal(size=(16, 50))
    assert not mixing_note(problem, drawn)
    apart = drawn + 5.0 * (np.arange(16) % 2)[:, None]
    assert "chains did not mix" in mixing_note(problem, apart)
    assert not mixing_note(problem, apart[:, :3])  # of which no variance can be told


def test_without_holes_nothing_can_stick() -> None:
    table = lac.asia().sample(30, rng=0)
    small = pose(lac.asia().dag, table, prior=lac.Dirichlet(1e-8))
    assert not mixing_note(small, np.zeros((16, 50)))

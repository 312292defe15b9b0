"""Holes of numbers that a chain draws, against the normals they are drawn from, and BGe on complete rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.infer.completions import complete_statistics
from lacunary.maths.moments import moments
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.gaussian import BGe
from lacunary.structure.numbers import Numbers
from tests import naive_mixed

KINDS: Any = dict.fromkeys("xyz", "continuous")


def test_draws_have_the_means_and_covariances_of_the_dense_normals() -> None:
    """The mean over draws of Σ z zᵀ tends to the expected one; five standard errors of 4 000 draws."""
    dag = lac.dag("x -> y; x -> z; y -> z", kinds=KINDS)
    network = lac.random_network(dag, rng=2)
    table = lac.make_holes(network.sample(6, rng=1), 0.5, rng=4)
    about, rng = NormalWishart(1.0, np.zeros(3), 4.0, np.eye(3)), np.random.default_rng(0)
    rows, expected = Numbers(table.reals, about), np.zeros((4, 4))
    for codes, reals in zip(table.codes, table.reals, strict=True):
        [(share, way)] = naive_mixed.shares(network, codes, reals)
        z = np.concatenate([[1.0], way.mean])
        expected += share * np.outer(z, z)
        expected[1:, 1:] += share * way.covariance
    drawn = np.array([rows.drawn(dag, network.theta, rng).moment for _ in range(4000)])
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - expected) < 5 * error + 1e-9)
    assert np.any(error > 0)


def test_rows_without_holes_say_what_a_table_says() -> None:
    dag = lac.dag("x -> y; x -> z; y -> z", kinds=KINDS)
    network = lac.random_network(dag, rng=2)
    table = network.sample(20, rng=1)
    about = NormalWishart(1.0, np.zeros(3), 4.0, np.eye(3))
    full = Numbers(table.reals, about).drawn(dag, network.theta, np.random.default_rng(0))
    told = complete_statistics(dag, table.codes, table.reals, table.weights)
    assert full.statistics(dag) == pytest.approx(told, rel=1e-10)  # sums in another order
    own = BGe(moments(table.reals, table.weights), about)
    assert full.score().family(2, (0, 1)) == pytest.approx(own.family(2, (0, 1)), rel=1e-10)

"""Posterior means by sampling, against enumeration and closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import lacunary as lac
from lacunary.errors import ParameterError
from tests import naive
from tests.evidence.small import complete, holey
from tests.evidence.test_gibbs import completed

FAR = 5.0
"""Standard errors that none of some fifty means of a right sampler misses by; seeds are fixed."""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_means_are_those_of_enumeration(seed: int) -> None:
    """E[θ] is the mean over completions of (α + N) / Σ (α + N), each as probable as its evidence."""
    problem = holey(seed, rows=5)
    every = completed(problem)
    logs = np.array([log for log, _ in every])
    chance = np.exp(logs - naive.log_sum(logs.tolist()))
    layout, alpha = problem.dag.layout, problem.belief.alpha
    expected = chance @ np.array([layout.normalize(alpha + counts) for _, counts in every])
    found = lac.posterior_mean(problem.dag, problem.table, prior=problem.prior, draws=2000, burn=200)
    assert found.mixed
    assert np.all(np.abs(found.network.theta - expected) < FAR * found.stderr)
    assert found.stderr.max() < 0.01  # so that the line above says something


def test_without_holes_the_mean_is_known() -> None:
    problem = complete()
    expected = problem.dag.layout.normalize(problem.belief.alpha + problem.prepared.observed)
    found = lac.posterior_mean(problem.dag, problem.table, prior=problem.prior, draws=500, burn=2)
    assert np.all(np.abs(found.network.theta - expected) < FAR * found.stderr)
    # Draws are independent then; an estimate of how many they are worth scatters.
    assert found.ess.min() > 1000


def blocks(sizes: Sequence[int]) -> lac.Table:
    """Return rows of seven columns that are all 0, or all 1."""
    return lac.read({f"X{i}": np.repeat([0, 1], sizes).tolist() for i in range(7)})


def test_hidden_states_are_called_alike_in_all_chains() -> None:
    """Two kinds of rows that share nothing: their classes are certain, so E[θ] is that of known classes."""
    table = blocks([30, 20])
    dag = lac.naive_bayes(table.schema, hidden="H", states=2)
    found = lac.posterior_mean(dag, table, draws=500, burn=200, chains=6)
    large = int(found.network.table("H").argmax())
    assert found.mixed
    # A row of the wrong class would need seven cells against odds of 1 : 20 each: beyond 1e-8.
    sizes = {large: 31 / 52, 1 - large: 21 / 52}
    ones = {large: 1 / 32, 1 - large: 21 / 22}
    for k in (0, 1):
        assert found.network.table("H")[k] == pytest.approx(sizes[k], abs=FAR * found.stderr.max())
        assert found.network.table("X3")[k, 1] == pytest.approx(ones[k], abs=FAR * found.stderr.max())
    assert found.stderr.max() < 0.005


def test_names_come_from_the_map_fit() -> None:
    table = blocks([30, 20])
    dag = lac.naive_bayes(table.schema, hidden="H", states=2)
    best = lac.fit(dag, table, rng=0).network
    found = lac.posterior_mean(dag, table, draws=50, burn=50, chains=4)
    assert (best.table("X0")[0] > 0.5).tolist() == (found.network.table("X0")[0] > 0.5).tolist()


def test_it_says_how_far_it_can_be_trusted() -> None:
    table = blocks([30, 20])
    dag = lac.naive_bayes(table.schema, hidden="H", states=2)
    hasty = lac.posterior_mean(dag, table, draws=10, burn=10)
    assert not hasty.mixed
    assert "do not agree" in str(hasty)
    again = lac.posterior_mean(dag, table, draws=10, burn=10)
    assert np.array_equal(again.draws, hasty.draws)
    assert hasty.draws.shape == (4, 10, dag.layout.size)


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(ParameterError, match="draws"):
        lac.posterior_mean(lac.dag("A", states=2), lac.read({"A": [0, 1]}), draws=2)

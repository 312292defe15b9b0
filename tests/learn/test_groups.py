"""Starts from groups of rows, and maximum likelihood that has no maximum."""

from __future__ import annotations

import numpy as np
import pytest

import lacunary as lac
from lacunary.learn.groups import has_classes
from tests.mixture.test_shared import MCLUST, three_groups


def full_classes(states: int) -> lac.Dag:
    """Return the graph of classes with full covariances over four columns."""
    names = [f"x{i}" for i in range(4)]
    variables = [lac.Variable(name, kind="continuous") for name in names]
    schema = lac.Schema((*variables, lac.Variable("k", tuple(range(states)), hidden=True)))
    arcs = [("k", name) for name in names] + [(a, b) for i, b in enumerate(names) for a in names[:i]]
    return lac.Dag.from_arcs(schema, arcs)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_single_start_reaches_the_maximum_of_mclust(seed: int) -> None:
    x, _ = three_groups()
    table = lac.read({f"x{i}": x[:, i] for i in range(4)}, kinds="continuous")
    found = lac.fit(full_classes(3), table, method="ml", starts=1, rng=seed)
    # A relative change below 1e-8 ends the climb.
    assert found.log_likelihood == pytest.approx(MCLUST["VVV"][0], abs=1e-2)


def test_starts_without_a_maximum_are_left_out_and_said() -> None:
    x, _ = three_groups()
    table = lac.read({f"x{i}": x[:60, i] for i in range(4)}, kinds="continuous")
    found = lac.fit(full_classes(9), table, method="ml", starts=6, rng=0)
    floored = [start.degenerate for start in found.starts]
    assert any(floored)
    chosen = next(start for start in found.starts if start.network is found.network)
    assert chosen.degenerate == all(floored) == found.degenerate
    assert "degenerate" in str(found)
    assert not lac.fit(full_classes(9), table, starts=2).degenerate  # a prior keeps variances up


def test_groups_serve_discrete_classes_and_holes() -> None:
    votes = lac.house_votes().select(["crime", "immigration", "mx_missile", "el_salvador_aid"])
    dag = lac.naive_bayes(votes.schema, hidden="bloc", states=2)
    assert has_classes(dag)
    groups, draws = (lac.fit(dag, votes, starts=rule) for rule in (lac.Groups(3), lac.Draws(20)))
    assert groups.objective >= draws.objective - 1e-6 * abs(draws.objective)
    factor = lac.dag("F -> a b", kinds="continuous", hidden=["F"])
    assert not has_classes(factor)


def test_no_start_is_refused() -> None:
    with pytest.raises(lac.ParameterError, match="at least one start"):
        lac.Groups(0)
    assert np.isfinite(lac.Groups(2).count)

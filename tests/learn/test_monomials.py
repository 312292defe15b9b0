"""The likelihood written out, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacunary.data.table import HOLE, Table
from lacunary.errors import TooWideError
from lacunary.infer.belief import bdeu
from lacunary.infer.network import Network, random_network
from lacunary.infer.rows import prepare
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.learn.interval_bounds import IntervalBounds
from lacunary.learn.monomials import LogSums, write_out
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from tests import naive
from tests.learn.small import AND, bn1, with_holes
from tests.strategies import Case, cases, seeds


def difference(
    rule: Maximize, sums: LogSums, table: Table, one: Network, two: Network
) -> tuple[float, float]:
    """How much two networks differ in the objective, and in the objective as it is written out.

    The second is added up over the parts into which it falls.
    """
    scores = [
        naive.log_likelihood(n, table) + float((rule.pseudo * np.log(np.maximum(n.theta, 1e-300))).sum())
        for n in (one, two)
    ]
    written = 0.0
    for part in sums.parts():
        values = IntervalBounds(part).value(np.array([one.theta[part.places], two.theta[part.places]]))
        written += float(values[0] - values[1])
    return scores[0] - scores[1], written


@given(cases(max_variables=5, max_states=3, max_rows=6), seeds)
@settings(max_examples=40, deadline=None)
def test_objective_by_enumeration(case: Case, seed: int) -> None:
    dag, table = case[0].dag, case[1]
    rule = maximize_rule(bdeu(2.0)(dag), "map", "softmax", None)
    sums = write_out(prepare(dag, table), rule)
    one, two = (random_network(dag, rng=seed + k) for k in range(2))
    expected, written = difference(rule, sums, table, one, two)
    # Sums of some hundred logarithms of sums, none far from one hundred in size.
    assert written == pytest.approx(expected, abs=1e-9)


def test_known_tables_and_tied_families() -> None:
    tied = Dag(make_dag("A -> B; C -> D", states=2).schema, ((), ("A",), (), ("C",)), (("B", "D"),))
    for problem in (bn1(30, 1), bn1(30, 2, both=True), with_holes(tied, 15, 0.5, 3)):
        rule = maximize_rule(problem.belief, "map", "softmax", problem.fixed)
        sums = write_out(problem.prepared, rule)
        one, two = (
            Network(problem.dag, rule.project(random_network(problem.dag, rng=k).theta[None])[0])
            for k in range(2)
        )
        expected, written = difference(rule, sums, problem.table, one, two)
        assert written == pytest.approx(expected, abs=1e-9)  # as above


def test_whole_distributions_are_summed() -> None:
    """In BN1 p(T false | a, b) = 1 − p(u) p(e) = p(not u) + p(u) p(not e): two terms, not three."""
    problem = bn1(200, 0)
    sums = write_out(problem.prepared, maximize_rule(problem.belief, "map", "softmax", problem.fixed))
    assert sums.offset.shape == (6, 2)
    assert len(list(sums.parts())) == 1


def test_what_shares_nothing_falls_apart() -> None:
    """With both parents each, U and E meet under one configuration of the parents at a time."""
    problem = bn1(200, 0, both=True)
    sums = write_out(problem.prepared, maximize_rule(problem.belief, "map", "softmax", problem.fixed))
    assert [part.group.max() + 1 for part in sums.parts() if len(part.weight)] == [2] * 6


def test_holes_without_observed_descendants_and_complete_rows_need_no_sums() -> None:
    dag = make_dag("A -> B -> C", states=3)
    table = Table(dag.schema, np.array([[0, 1, 2], [1, HOLE, HOLE], [2, 2, HOLE]]))
    sums = write_out(prepare(dag, table), maximize_rule(bdeu(1.0)(dag), "map", "softmax", None))
    assert not len(sums.weight)
    # Six families are fully observed, and each of three tables has pseudo-counts worth one row.
    assert sums.linear.sum() == pytest.approx(6 + 3)


@given(cases(max_variables=5, max_states=3, max_rows=8), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_events_of_a_cell_exclude_each_other(case: Case, seed: int) -> None:
    """Their probabilities sum to at most one, and events make up the objective."""
    dag, table = case[0].dag, case[1]
    sums = write_out(prepare(dag, table), maximize_rule(bdeu(2.0)(dag), "map", "softmax", None))
    phi = np.log(random_network(dag, rng=seed).theta[sums.places])
    events = sums.events
    logs = np.append(IntervalBounds(sums)._log_sums(phi[None])[0], 0.0)[events.sum]
    log_probability = events.offset + events.power @ phi + logs
    for cell in set(events.cell.tolist()):
        assert np.exp(log_probability[events.cell == cell]).sum() <= 1 + 1e-12  # rounding
    whole = events.outside @ phi + events.weight @ (log_probability - events.offset)
    assert whole == pytest.approx(
        float(IntervalBounds(sums).value(np.exp(phi)[None])[0]), abs=1e-9
    )  # as above


def test_too_many_ways_are_refused() -> None:
    problem = with_holes(make_dag("A -> B -> C -> D", states=3), 20, 0.6, 0)
    with pytest.raises(TooWideError, match="ways, more than the 10"):
        write_out(problem.prepared, maximize_rule(problem.belief, "map", "softmax", None), terms=10)


def test_impossible_completions_are_left_out() -> None:
    """T true leaves one way to fill U and E: a product, no sum."""
    dag = make_dag("U -> T <- E", states=2)
    assert dag.parents[dag.schema.index("T")] == ("U", "E")
    codes = np.full((1, 3), HOLE)
    codes[0, dag.schema.index("T")] = 1
    table = Table(dag.schema, codes)
    sums = write_out(prepare(dag, table), maximize_rule(bdeu(1.0)(dag), "map", "softmax", {"T": AND}))
    assert not len(sums.weight)

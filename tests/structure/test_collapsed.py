"""Chains with parameters integrated out, against their definition and all fillings written down."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data.table import Table
from lacunary.structure.all_graphs import AllGraphs, family_terms, sum_of_graphs
from lacunary.structure.chain import Chain, Setting
from lacunary.structure.collapsed import Collapsed, walkers
from lacunary.structure.constraints import Constraints
from lacunary.structure.discrete import BD
from lacunary.structure.going import Going
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import total
from tests.structure.small import chain, complete, rules

PRIORS = [lac.bdeu(1), lac.Dirichlet(0.7)]


def begun(table: Table, limits: Constraints, prior: Any, kind: Any, chains: int = 2) -> list[Collapsed]:
    setting = Setting.of(table, prior, StructurePrior.of(kind, limits), limits)
    found = walkers(setting, np.random.default_rng(0).spawn(chains))
    assert all(isinstance(each, Collapsed) for each in found)
    return found  # type: ignore[return-value]


def holed(table: Table, share: float = 0.2) -> Table:
    return lac.make_holes(Table(table.schema, table.codes), share, rng=3)


@settings(max_examples=15)
@given(data=st.data(), prior=st.sampled_from(PRIORS), kind=st.sampled_from(["uniform", "links", 2.0]))
def test_a_step_scores_the_rows_as_it_filled_them(data: st.DataObject, prior: Any, kind: Any) -> None:
    """What is seen stays; terms, arcs and the height are those of the filled table by slow ways."""
    whole = data.draw(complete(min_variables=1, max_variables=4).filter(lambda rows: len(rows) > 0))
    table, limits = holed(whole), data.draw(rules(whole.schema))
    graphs = StructurePrior.of(kind, limits)
    for walker in begun(table, limits, prior, kind):
        for _ in range(2):
            arcs, height = walker.walk(1)
            codes = np.array(table.codes)
            codes[table.holes.any(axis=1)] = walker.moving.codes
            assert (codes[~table.holes] == table.codes[~table.holes]).all()
            score = BD(Table(table.schema, codes), prior)
            every = AllGraphs(family_terms(score, limits), graphs.counted, walker.fixed.charge)
            np.testing.assert_allclose(walker.room.terms, every.terms, atol=1e-9)
            np.testing.assert_allclose(arcs[0], every.arcs(), atol=1e-9)
            graph = walker.structure
            assert height[0] == pytest.approx(total(score, graph) + graphs.log_probability(graph), abs=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_holes_and_graphs_come_as_often_as_they_are_probable(prior: Any) -> None:
    """Two holes in one row and one in another: every filling by the sum over all graphs given it."""
    table = chain(3, 12, states=2)
    codes = np.array(table.codes)
    codes[0, :2] = codes[5, 2] = -1
    limits = Constraints.of(table.schema)
    graphs, logs, arcs = StructurePrior.of("beta-binomial", limits), [], []
    fillings = list(product(range(2), repeat=3))
    for filling in fillings:
        full = codes.copy()
        full[0, :2], full[5, 2] = filling[:2], filling[2]
        log, chances = sum_of_graphs(family_terms(BD(Table(table.schema, full), prior), limits), graphs)
        logs.append(log)
        arcs.append(chances)
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    walker, *_ = begun(Table(table.schema, codes), limits, prior, "beta-binomial")
    walker.walk(100)
    seen, mean, draws = np.zeros(8), np.zeros((3, 3)), 20_000
    for _ in range(draws):
        mean += walker.walk(1)[0][0] / draws
        own = walker.moving.codes
        seen[fillings.index((own[0, 0], own[0, 1], own[1, 2]))] += 1 / draws
    # Four standard deviations of a share of 20 000 draws worth a fifth as many that are independent.
    np.testing.assert_allclose(seen, shares, atol=4 * np.sqrt(0.25 / 4000))
    np.testing.assert_allclose(mean, np.tensordot(shares, arcs, 1), atol=4 * np.sqrt(0.25 / 4000))


def test_what_it_is_not_meant_for_is_walked_with_parameters() -> None:
    rows = holed(chain(3, 20))
    limits = Constraints.of(rows.schema)
    other = Setting.of(rows, lambda dag: lac.bdeu(1)(dag), StructurePrior.of(None, limits), limits)
    assert isinstance(walkers(other, [np.random.default_rng(0)])[0], Chain)
    many = holed(chain(9, 20))
    limits = Constraints.of(many.schema)
    wide = Setting.of(many, None, StructurePrior.of(None, limits), limits)
    assert isinstance(walkers(wide, [np.random.default_rng(0)])[0], Chain)


class _Counting:
    """A chain whose k-th step says k."""

    burn, least, seconds = 5, 1, 1e-3
    done = 0

    def walk(self, steps: int, climbing: bool = False) -> tuple[Any, Any]:
        numbers = np.arange(self.done, self.done + steps, dtype=np.float64)
        self.done += steps
        return numbers[:, None, None], -numbers


@pytest.mark.parametrize("most", [20, 512, 513, 3000])
def test_all_steps_count_once_however_they_are_paired(most: int) -> None:
    told: list[tuple[int, int]] = []
    walking: Any = [_Counting(), _Counting()]
    going = Going(walking, most, lambda done, steps: told.append((done, steps)))
    going.begin()
    while not going.over:
        going.go_on()
        assert going.logs.shape[1] < 512
    assert most - going.each < going.steps <= most
    expected = 5 + np.arange(going.steps).reshape(-1, going.each).mean(axis=1)
    np.testing.assert_array_equal(going.arcs[..., 0, 0], [expected, expected])
    np.testing.assert_array_equal(going.logs, [-expected, -expected])
    assert told[0] == (0, 2 * (5 + most))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] < told[-1][1]


def test_the_same_bits_on_any_number_of_threads() -> None:
    rows = holed(chain(4, 40))
    with lac.threads(1):
        one = lac.arc_probabilities(rows, draws=300, error=1e-6)
    with lac.threads(3):
        other = lac.arc_probabilities(rows, draws=300, error=1e-6)
    np.testing.assert_array_equal(one.arcs, other.arcs)

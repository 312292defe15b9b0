"""Priors over graphs: what they say, and that every search maximises the score and them together."""

from __future__ import annotations

from itertools import combinations
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.errors import ParameterError
from lacunary.structure.board import Board
from lacunary.structure.cache import Cache
from lacunary.structure.constraints import Constraints
from lacunary.structure.discrete import BD
from lacunary.structure.exact import Exact
from lacunary.structure.method import run
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import total
from lacunary.structure.tree import best_forest
from tests import naive_structure as naive
from tests.structure.small import chain, complete, rules
from tests.structure.test_board import Graph, all_moves, allowed, moved
from tests.structure.test_search import HEURISTICS

GIVEN: list[Any] = [None, "links", "beta-binomial", 2.5]
each = pytest.mark.parametrize("given_prior", GIVEN)


def naive_log(given: Any, graph: Graph, limits: Constraints) -> float:
    """The log prior by its definition: pairs that may be linked, and those that are."""
    n = len(graph)
    pairs = [
        (i, j)
        for i, j in combinations(range(n), 2)
        if (limits.free[i, j] or limits.free[j, i]) and not (limits.required[i, j] or limits.required[j, i])
    ]
    links = sum(i in graph[j] or j in graph[i] for i, j in pairs)
    if given is None:
        return 0.0
    if given == "beta-binomial":
        return -log(len(pairs) + 1) - log(comb(len(pairs), links))
    share = 1 / n if given == "links" else 1 / (1 + exp(given))
    if n == 1:
        return 0.0
    share = 0.5 if given == "links" and n == 2 else share
    return links * log(share) + (len(pairs) - links) * log(1 - share)


@each
@pytest.mark.parametrize("n", [1, 2, 4])
def test_probabilities_of_all_sets_of_links_add_up_to_one(given_prior: Any, n: int) -> None:
    schema = chain(n, 1).schema
    prior = StructurePrior.of(given_prior, Constraints.of(schema))
    pairs = n * (n - 1) // 2
    sum_of_all = sum(comb(pairs, links) * exp(prior.logs[links]) for links in range(pairs + 1))
    assert sum_of_all == pytest.approx(2**pairs if given_prior is None else 1.0, rel=1e-12)


@settings(max_examples=30)
@given(data=st.data())
def test_moves_gain_what_score_and_prior_say(data: st.DataObject) -> None:
    table = data.draw(complete(min_variables=2))
    limits, given = data.draw(rules(table.schema)), data.draw(st.sampled_from(GIVEN))
    score, prior = BD(table), StructurePrior.of(given, limits)
    board = Board(Cache(score), limits, limits.start(None), prior)
    for _ in range(3):
        kept, found = board.copy(), dict(board.moves())
        assert set(found) == set(all_moves(board.parents, limits))
        before = total(score, board.parents) + naive_log(given, board.parents, limits)
        assert board.value == pytest.approx(before, abs=1e-8)  # rounding of sums below 1000, as below
        for move, gain in found.items():
            there = moved(board.parents, move)
            after = total(score, there) + naive_log(given, there, limits)
            assert gain == pytest.approx(after - before, abs=1e-8)
            assert board.delta(move) == gain
        best, gain = board.best()
        if best is None:
            break
        assert gain == pytest.approx(max(found.values()), abs=1e-8)
        assert board.apply(best) == pytest.approx(gain, abs=1e-8)
        board = kept  # which has not moved
        assert dict(board.moves()) == found
        board.apply(data.draw(st.sampled_from(list(found))))


@settings(max_examples=15)
@given(data=st.data())
def test_exact_search_finds_the_best_of_all_graphs(data: st.DataObject) -> None:
    table = data.draw(complete(max_variables=4, max_rows=20))
    limits = data.draw(rules(table.schema))
    score = Cache(BD(table))
    graphs = [graph for graph in naive.all_dags(len(table.schema)) if allowed(graph, limits)]
    scores = [total(score, graph) for graph in graphs]
    for asked in GIVEN:
        prior = StructurePrior.of(asked, limits)
        values = [s + naive_log(asked, graph, limits) for s, graph in zip(scores, graphs, strict=True)]
        found = tuple(run(Exact(), score, limits, prior=prior)[0].best)
        value = total(score, found) + naive_log(asked, found, limits)
        assert value == pytest.approx(max(values), abs=1e-8)


@settings(max_examples=15)
@given(data=st.data())
def test_the_best_forest_is_the_best_of_all_forests(data: st.DataObject) -> None:
    table = data.draw(complete(max_variables=4))
    limits = Constraints.of(table.schema)
    score = Cache(BD(table, lac.k2()))  # not the same on equivalent graphs: the direction of arcs counts
    forests = [graph for graph in naive.all_dags(len(table.schema)) if max(map(len, graph)) <= 1]
    for asked in GIVEN:
        found = tuple(best_forest(score, limits, StructurePrior.of(asked, limits)))
        values = [total(score, graph) + naive_log(asked, graph, limits) for graph in (*forests, found)]
        assert values[-1] == pytest.approx(max(values), abs=1e-8)


@each
def test_no_heuristic_beats_exact_search(given_prior: Any) -> None:
    table = chain(7, 60, 1)
    how = {"structure_prior": given_prior}
    best = lac.search(table, method="exact", **how)
    top = best.score + best.log_structure_prior
    assert best.score == pytest.approx(lac.score(best.dag, table, "exact", prior=lac.bdeu(1)).value, abs=1e-7)
    graph = tuple(tuple(sorted(parents)) for parents in best.dag.parent_indices)
    limits = Constraints.of(table.schema)
    assert best.log_structure_prior == pytest.approx(naive_log(given_prior, graph, limits), abs=1e-9)
    for method in HEURISTICS:
        found = lac.search(table, method=method, **how)
        value = found.score + found.log_structure_prior
        assert value <= top + 1e-7
        assert max((step.score for step in found.path), default=value) == pytest.approx(value, abs=1e-7)


def test_more_variables_that_nothing_joins_leave_fewer_false_links() -> None:
    """Independent columns: the uniform prior finds links by their number, the others hardly any."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 25)).astype(str)
    table = {f"V{i}": column for i, column in enumerate(rows.T)}
    links = {
        name: len(lac.search(table, method="greedy", structure_prior=name).dag.arcs)
        for name in ("uniform", "links", "beta-binomial")
    }
    # Under independence an arc between two coins gains more than 0 with chance about 4 %, of 300 pairs.
    assert links["uniform"] >= 5
    assert links["links"] <= 1
    assert links["beta-binomial"] <= 1


def test_links_of_hidden_variables_are_free() -> None:
    table = lac.make_holes(chain(4, 50), 0.1, rng=0).align(
        chain(4, 1).schema.extend([lac.Variable("H", (0, 1), hidden=True)])
    )
    prior = StructurePrior.of("beta-binomial", Constraints.of(table.schema))
    assert len(prior.logs) == 4 * 3 // 2 + 1
    assert prior.log_probability(((4,), (4,), (4,), (4,), ())) == pytest.approx(-log(7))


def test_structural_em_chooses_by_estimate_and_prior() -> None:
    table = lac.make_holes(chain(6, 80, 2), 0.15, rng=1)
    free = lac.search(table)
    found = lac.search(table, structure_prior="beta-binomial")
    assert found.structure_prior == "beta-binomial"
    assert len(found.dag.arcs) <= len(free.dag.arcs)
    values = [each.cheeseman_stutz + each.log_structure_prior for each in found.rounds]
    # Estimates of equal graphs differ by where EM stops, a millionth of its climb.
    assert found.score + found.log_structure_prior == pytest.approx(max(values), abs=1e-3)
    limits = Constraints.of(table.schema)
    graph = tuple(tuple(sorted(parents)) for parents in found.dag.parent_indices)
    assert found.log_structure_prior == pytest.approx(naive_log("beta-binomial", graph, limits), abs=1e-9)


def test_components_have_the_prior_each() -> None:
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(60, 3)), rng.normal(8.0, 1.0, size=(60, 3))])
    found = lac.fit_mixture(x, components=2, structure_prior="beta-binomial")
    limits = Constraints.of(found.mixture.schema)
    graphs = [tuple(tuple(sorted(ps)) for ps in c.dag.parent_indices) for c in found.mixture.components]
    expected = sum(naive_log("beta-binomial", graph, limits) for graph in graphs)
    assert found.log_structure_prior == pytest.approx(expected, abs=1e-9)
    free = lac.fit_mixture(x, components=2, structure="empty", structure_prior="beta-binomial")
    assert free.log_structure_prior == 0.0


@pytest.mark.parametrize("wrong", ["sparse", -1.0, float("nan"), True])
def test_what_is_no_prior(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="beta-binomial"):
        lac.search(chain(3, 20), structure_prior=wrong)

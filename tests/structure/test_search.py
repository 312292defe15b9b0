"""Searches: the best graph there is, or close to it, within the rules; stopped and taken up again."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import Table
from lacunary.errors import ParameterError, TableError, TooWideError
from lacunary.structure.cache import Room
from lacunary.structure.constraints import Constraints
from lacunary.structure.default import default_method
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.exact import Exact, asked_sets
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import total
from lacunary.structure.search import METHODS, run
from lacunary.structure.tree import best_branching, best_forest
from lacunary.structure.walk import dag_of
from tests import naive_structure as naive
from tests.structure.small import chain, complete, rules
from tests.structure.test_board import allowed

HEURISTICS: list[Any] = [
    "reinsert",
    "greedy",
    lac.Greedy(restarts=3),
    lac.Tabu(restarts=2),
    lac.BestFirst(width=4, patience=10),
    lac.Anneal(moves=400),
    "tree",
]
NAMES = ["reinsert", "greedy", "restarts", "tabu", "best-first", "anneal", "tree"]
each = pytest.mark.parametrize("method", HEURISTICS, ids=NAMES)


@settings(max_examples=12)
@given(data=st.data())
def test_exact_search_finds_the_best_of_all_graphs(data: st.DataObject) -> None:
    table = data.draw(complete(max_variables=4))
    limits = data.draw(rules(table.schema))
    for score in (BD(table), BIC(table)):
        found = tuple(run(Exact(), score, limits)[0].best)
        assert allowed(found, limits)
        n = len(table.schema)
        terms: dict[tuple[int, tuple[int, ...]], float] = {}
        best = -np.inf
        for graph in naive.all_dags(n):
            if allowed(graph, limits):
                for family in enumerate(graph):
                    terms.setdefault(family, score.family(*family))
                best = max(best, sum(terms[family] for family in enumerate(graph)))
        assert total(score, found) == pytest.approx(best, abs=1e-8)  # rounding of sums below 1000


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_heuristic_beats_exact_search(seed: int) -> None:
    table = chain(7, 300, seed)
    best = lac.search(table, method="exact")
    assert best.score == pytest.approx(total(BD(table), best.dag.parent_indices), abs=1e-7)
    scores = [lac.search(table, method=method).score for method in HEURISTICS]
    assert max(scores) <= best.score + 1e-7


@settings(max_examples=15)
@given(data=st.data())
def test_the_default_finds_the_best_of_all_graphs(data: st.DataObject) -> None:
    """By enumeration, with the rules a user may give; one parent at most is a forest, found as such."""
    table = data.draw(complete(min_variables=3, max_variables=4).filter(lambda rows: rows.size > 0))
    order = data.draw(st.permutations(table.schema.names))
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    given: dict[str, Any] = {
        "required": data.draw(st.lists(st.sampled_from(pairs), max_size=1)),
        "max_parents": data.draw(st.sampled_from([None, 1, 2])),
        "tiers": data.draw(st.sampled_from([None, [order[:1], order[1:]]])),
    }
    found = lac.search(table, structure_prior=data.draw(st.sampled_from([None, "beta-binomial"])), **given)
    assert found.method == ("tree" if given["max_parents"] == 1 else "exact")
    limits, score = Constraints.of(table.schema, **given), BD(table)
    prior = StructurePrior.of(None if found.structure_prior == "uniform" else "beta-binomial", limits)
    graphs = [graph for graph in naive.all_dags(len(table.schema)) if allowed(graph, limits)]
    best = max(total(score, graph) + prior.log_probability(graph) for graph in graphs)
    assert found.score + found.log_structure_prior == pytest.approx(best, abs=1e-8)  # rounding of sums


def test_arcs_that_data_cannot_turn_run_from_earlier_columns_to_later_ones() -> None:
    rows = lac.asia().sample(5000, rng=1)
    for method in ("exact", "tree"):
        assert ("asia", "tub") in lac.search(rows, method=method, structure_prior=None).dag.arcs
        other = rows.select([*rows.schema.names[1:], "asia"])
        assert ("tub", "asia") in lac.search(other, method=method, structure_prior=None).dag.arcs


@given(many=st.integers(0, 9), most=st.integers(0, 9))
def test_every_set_of_parents_is_asked_for_or_differs_by_one(many: int, most: int) -> None:
    candidates = [2 * k + 1 for k in range(many)]
    met = {
        frozenset(parents) ^ {other}
        for parents, others in asked_sets(candidates, most)
        for other in [*others, None]
    }
    met = {frozenset(s - {None}) for s in met}
    wanted = {frozenset(s) for k in range(min(many, most) + 1) for s in combinations(candidates, k)}
    assert wanted <= met


def test_the_default_is_exact_where_that_is_cheap() -> None:
    """By an estimate alone, so that the same call finds the same graph on any machine."""

    def chosen(n: int, rows: int, states: int = 2, **limits: Any) -> str:
        schema = Schema(tuple(Variable(f"V{i}", tuple(range(states))) for i in range(n)))
        table = Table(schema, np.zeros((rows, n), dtype=np.int8))
        return default_method(table, Constraints.of(schema, **limits)).name

    assert chosen(12, 1000) == chosen(14, 1000) == chosen(16, 300, max_parents=2) == "exact"
    # Four seconds of the processor; reinsertion ended 12 nats below the best of such a table.
    assert chosen(15, 400, states=3) == chosen(16, 1000, states=3, max_parents=4) == "exact"
    assert chosen(20, 100) == chosen(15, 10_000, states=9) == "reinsert"
    assert chosen(500, 10, max_parents=1) == "tree"


@settings(max_examples=25)
@given(data=st.data())
def test_the_best_forest_is_the_best_of_all_forests(data: st.DataObject) -> None:
    table = data.draw(complete(max_variables=4))
    limits = Constraints.of(table.schema, forbidden=data.draw(_some_pairs(table)))
    score = BD(table, lac.k2())  # not the same on equivalent graphs: the direction of arcs counts
    forests = [g for g in naive.all_dags(len(table.schema)) if max(map(len, g)) <= 1 and allowed(g, limits)]
    found = best_forest(score, limits)
    assert tuple(found) in forests
    assert total(score, found) == pytest.approx(max(total(score, g) for g in forests), abs=1e-8)


@st.composite
def _some_pairs(draw: st.DrawFn, table: Table) -> list[tuple[str, str]]:
    names = table.schema.names
    pairs = [(a, b) for a, b in product(names, names) if a != b]
    return draw(st.lists(st.sampled_from(pairs), max_size=3, unique=True)) if pairs else []


@settings(max_examples=60)
@given(data=st.data())
def test_the_best_branching_is_the_best_of_all(data: st.DataObject) -> None:
    """Small whole weights make many ties and cycles within cycles."""
    n = data.draw(st.integers(1, 4))
    numbers = data.draw(st.lists(st.integers(0, 6), min_size=(n + 1) ** 2, max_size=(n + 1) ** 2))
    weights = np.array(numbers, dtype=np.float64).reshape(n + 1, n + 1)
    best = max(
        sum(weights[p, j] for j, p in enumerate(parents))
        for parents in product(range(n + 1), repeat=n)
        if naive.acyclic([*((p,) for p in parents), ()])
    )
    found = best_branching(weights)
    assert naive.acyclic([*((int(p),) for p in found[:n]), ()])
    assert sum(weights[found[j], j] for j in range(n)) == best


@each
def test_every_search_keeps_the_rules(method: Any) -> None:
    table = chain(7, 200)
    given: dict[str, Any] = {
        "required": "V5 -> V2",
        "forbidden": ["V0 -> V1", ("V1", "V0")],
        "max_parents": 2,
        "tiers": [["V0", "V4"], ["V6"]],
    }
    found = lac.search(table, method=method, **given)
    assert allowed(
        tuple(tuple(sorted(p)) for p in found.dag.parent_indices), Constraints.of(table.schema, **given)
    )
    assert ("V6", "V0") not in found.dag.arcs
    assert ("V6", "V4") not in found.dag.arcs


@each
def test_the_path_adds_up(method: Any) -> None:
    table = chain(6, 200)
    found = lac.search(table, method=method)
    score = BD(table)
    assert found.score == pytest.approx(total(score, found.dag.parent_indices), abs=1e-7)
    value = found.score + found.log_structure_prior
    assert value == pytest.approx(max(step.score for step in found.path), abs=1e-7)
    for arc in found.dag.arcs:
        without = lac.Dag.from_arcs(table.schema, [a for a in found.dag.arcs if a != arc])
        loss = found.score - total(score, without.parent_indices)
        assert found.strengths[arc] == pytest.approx(loss, abs=1e-7)
    if method == "greedy":
        gains = [step.gain for step in found.path]
        assert min(gains) > 0
        empty = total(score, [()] * 6) - np.log(16)  # of no links to 15 the prior gives each a sixteenth
        assert value == pytest.approx(empty + sum(gains), abs=1e-7)
        again = lac.Dag.from_arcs(table.schema, [])
        arcs: set[tuple[str, str]] = set()
        for step in found.path:
            arcs ^= {(step.tail, step.head)}
            arcs |= {(step.head, step.tail)} if step.action == "reverse" else set()
        again = lac.Dag.from_arcs(table.schema, sorted(arcs))
        assert set(again.arcs) == set(found.dag.arcs)


@each
def test_the_order_of_rows_does_not_matter(method: Any) -> None:
    table = chain(6, 150)
    mixed = table.take(np.random.default_rng(0).permutation(len(table)))
    one, other = lac.search(table, method=method), lac.search(mixed, method=method)
    assert one.dag == other.dag
    assert one.score == pytest.approx(other.score, abs=1e-8)


def test_weights_are_repeated_rows() -> None:
    table = chain(5, 60)
    twice = table.take(np.repeat(np.arange(60), 2))
    weighted = Table(table.schema, table.codes, weights=np.full(60, 2.0))
    one, other = lac.search(twice), lac.search(weighted)
    assert one.dag == other.dag
    assert one.score == pytest.approx(other.score, abs=1e-8)


class Stopped:
    """A watch that keeps the search as it stands at some step, in a file, and ends it there."""

    def __init__(self, at: int, path: Path) -> None:
        self.at, self.path, self.calls = at, path, 0

    def __call__(self, progress: lac.SearchProgress) -> bool:
        self.calls += 1
        if self.calls < self.at:
            return False
        lac.save(progress.trail(), self.path)
        return True


@pytest.mark.parametrize("at", [1, 4, 9, 17])
@each
def test_a_search_taken_up_again_ends_where_it_would_have(method: Any, at: int, tmp_path: Path) -> None:
    table = chain(7, 250)
    whole = lac.search(table, method=method, rng=3)
    stopped = lac.search(table, method=method, rng=3, watch=Stopped(at, tmp_path / "trail.json"))
    if not stopped.interrupted:
        assert stopped.dag == whole.dag  # it was over before
        return
    trail = lac.load(tmp_path / "trail.json")
    resumed = lac.search(table, method=method, rng=99, start=trail)
    assert resumed.dag == whole.dag
    assert resumed.score == whole.score  # and so on, bit for bit
    assert resumed.path == whole.path
    assert resumed.first == whole.first
    assert resumed.strengths == whole.strengths


def test_another_method_cannot_go_on(tmp_path: Path) -> None:
    table = chain(5, 100)
    lac.search(table, method="greedy", watch=Stopped(2, tmp_path / "trail.json"))
    with pytest.raises(ParameterError, match="to go on from is 'greedy', not 'tabu'"):
        lac.search(table, method="tabu", start=lac.load(tmp_path / "trail.json"))


def test_checkpoints_are_written_and_read(tmp_path: Path) -> None:
    table, path = chain(6, 100), tmp_path / "trail.json.gz"
    keep = lac.Checkpoint(path, seconds=0.0)
    found = lac.search(table, method="greedy", watch=keep)
    assert keep.writings == len(found.path)
    trail = lac.load(path)
    assert trail.best == trail.dag == found.dag
    assert trail.path == found.path


def test_an_interrupt_returns_the_best_so_far() -> None:
    def watch(progress: lac.SearchProgress) -> None:
        if progress.steps == 3:
            raise KeyboardInterrupt

    found = lac.search(chain(6, 200), method="reinsert", watch=watch)
    assert found.interrupted
    assert len(found.path) == 3
    assert len(found.dag.arcs) == 3


def test_the_network_is_the_fit_of_the_graph() -> None:
    table = chain(5, 100)
    found = lac.search(table, prior=lac.bdeu(4.0))
    expected = lac.fit(found.dag, table, prior=lac.bdeu(4.0)).network
    np.testing.assert_array_equal(found.network.theta, expected.theta)


def test_starts() -> None:
    table = chain(6, 200)
    top = lac.search(table, method="tabu")
    assert lac.search(table, method="greedy", start=top.dag).path == ()
    tree = lac.search(table, method="tree")
    assert lac.search(table, start="tree").score >= tree.score
    with pytest.raises(ParameterError, match="start is a Dag"):
        lac.search(table, start="bush")


def test_what_is_not_known_is_refused_with_what_is() -> None:
    table = chain(3, 20)
    with pytest.raises(ParameterError, match=r"method is one of 'reinsert', 'greedy'.*not 'hill'"):
        lac.search(table, method="hill")
    with pytest.raises(ParameterError, match=r"for discrete variables score is one of 'bdeu'.*not 'bge'"):
        lac.search(table, score="bge")
    with pytest.raises(ParameterError, match="bic has no prior"):
        lac.search(table, score="bic", prior=lac.bdeu(1.0))
    with pytest.raises(ParameterError, match="bdeu takes a prior"):
        lac.search(table, score="bdeu", prior=lac.k2())
    with pytest.raises(ParameterError, match="patience must be 1 or more"):
        lac.Tabu(patience=0)
    with pytest.raises(TableError, match="no rows"):
        lac.search(table.take(np.array([], dtype=np.int64)))


def test_exact_search_says_what_is_too_much() -> None:
    with pytest.raises(TooWideError, match=r"30 variables would take .*[GT]B"):
        lac.search(chain(30, 10), method="exact")
    # 19 variables, each with 2¹⁸ sets of others.
    with pytest.raises(TooWideError, match=r"would score 4,980,736 families; give max_parents"):
        lac.search(chain(19, 10), method="exact")


def test_scores_by_name() -> None:
    table = chain(4, 80)
    assert lac.search(table).score == lac.search(table, score="bdeu", prior=lac.bdeu(1.0)).score
    k2 = lac.search(table, score="k2")
    assert k2.score == pytest.approx(total(BD(table, lac.Dirichlet(1.0)), k2.dag.parent_indices))
    bic = lac.search(table, score="bic")
    assert bic.score == pytest.approx(
        lac.score(bic.dag, table, "bic", prior=lac.Dirichlet(1e-9)).value, abs=0.01
    )
    ready = lac.search(table, score=BIC(table))
    assert ready.dag == bic.dag


@pytest.mark.parametrize("method", list(METHODS))
def test_one_variable_and_constant_columns(method: str) -> None:
    one = lac.search(chain(1, 20), method=method)
    assert one.dag.arcs == ()
    constant = lac.read({"a": ["x"] * 9, "b": ["x", "y", "x"] * 3})
    found = lac.search(constant, method=method)
    assert found.dag.arcs == ()
    assert np.isfinite(found.score)


def test_a_variable_put_back_undoes_a_first_arc_that_ran_the_wrong_way() -> None:
    """Where greedy search makes up for a wrong arc with further ones, no single change helps."""
    rows = lac.asia().sample(2000, rng=1)
    greedy, tabu0 = lac.search(rows, method="greedy"), lac.search(rows, method=lac.Tabu(restarts=0))
    found, best = lac.search(rows, method="reinsert"), lac.search(rows)
    assert best.method == "exact"
    assert greedy.score < found.score - 1.0
    assert tabu0.score <= found.score + 1e-6  # it goes on from there
    assert found.score == pytest.approx(best.score, abs=1e-6)  # of sums of a thousand terms
    assert len(found.dag.arcs) < len(greedy.dag.arcs)


@settings(max_examples=15)
@given(data=st.data())
def test_what_is_required_stays_when_variables_are_taken_out(data: st.DataObject) -> None:
    table = data.draw(complete(max_variables=5))
    limits = data.draw(rules(table.schema))
    walk, _ = run(lac.Reinsert(patience=data.draw(st.sampled_from([0, 3]))), BD(table), limits)
    assert allowed(walk.best, limits)
    assert walk.top == pytest.approx(total(BD(table), walk.best), abs=1e-8)
    start, _ = run(lac.Greedy(), BD(table), limits)
    assert walk.top >= start.top - 1e-8
    # No variable taken out and put back leads higher: what it promises.
    again, _ = run(lac.Reinsert(patience=0), BD(table), limits, dag_of(table.schema, walk.best))
    assert again.top >= walk.top - 1e-8


def test_structural_em_is_asked_for_by_its_settings() -> None:
    rows = lac.make_holes(lac.asia().sample(300, rng=2), 0.1, rng=3)
    stop = lac.Stop(share=1e-4, iterations=50)
    settings_of: dict[str, Any] = {"until": "structure", "escapes": 0, "starts": 3, "stop": stop}
    found = lac.search(rows, **settings_of)
    direct = lac.structural_em(rows, **settings_of)
    assert isinstance(found, lac.StructuralResult)
    assert found.dag == direct.dag
    assert found.rounds == direct.rounds
    assert isinstance(lac.search(lac.asia().sample(100, rng=2), escapes=0), lac.StructuralResult)
    with pytest.raises(ParameterError, match="until is 'score' or 'structure'"):
        lac.search(rows, until="dawn")  # type: ignore[arg-type]


def test_variables_are_taken_out_for_as_many_moves_as_there_is_time_for() -> None:
    """With none it is the climb before; with few it ends soon after, and no lower."""
    table = lac.asia().sample(2000, rng=1)
    climbed = lac.search(table, method=lac.Tabu(restarts=0))
    none, some, whole = (lac.search(table, method=lac.Reinsert(moves=m)) for m in (0, 5, None))
    assert none.score == pytest.approx(climbed.score, abs=1e-6)
    assert len(none.path) <= len(some.path) < len(whole.path)
    assert none.score <= some.score <= whole.score


def test_no_family_grows_larger_than_it_can_be_fitted() -> None:
    """Twelve columns of forty states: four parents would make 10⁸ cells, more than any fit has room for."""
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Variable(f"V{i}", tuple(range(40))) for i in range(12)))
    codes = np.repeat(rng.integers(40, size=(300, 1)), 12, axis=1).astype(np.int8)
    found = lac.search(Table(schema, codes), method="greedy", score="k2")
    room = Room(schema)
    cells = [40 ** (1 + len(parents)) for parents in found.dag.parents]
    assert max(cells) <= np.exp(room.most) * (1 + 1e-9)
    assert found.network.theta.size == sum(cells)
    full = room.full(0, (1, 2, 3))
    assert full is not None
    assert full[4:].all()
    assert not full[[1, 2, 3]].any()
    # What is required is not refused by the search, but no fit takes it.
    wide = lac.Dag.from_arcs(schema, [(f"V{i}", "V0") for i in range(1, 8)])
    for verb in (lac.fit, lac.score):
        with pytest.raises(TooWideError, match="the largest is V0 given V1, V2"):
            verb(wide, Table(schema, codes))

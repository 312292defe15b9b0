from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import Table
from lacunary.errors import SchemaError, TableError
from lacunary.infer.network import Network
from lacunary.structure import counter, discrete
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.score import FamilyScore, toggle, total
from tests import naive_structure as naive
from tests.strategies import dags
from tests.structure.small import chain, complete

# Sums of some hundred terms of size 100 at most, each to a few units in the last place.
RTOL, ATOL = 1e-11, 1e-10


def naive_of(name: str, table: Table, child: int, parents: tuple[int, ...]) -> float:
    if name == "bic":
        return naive.bic(table, child, parents)
    rule = {"bdeu": lambda cells: 3.5 / cells, "k2": lambda cells: 1.0}[name]
    return naive.bd(table, child, parents, rule)


def score_of(name: str, table: Table) -> FamilyScore:
    return BIC(table) if name == "bic" else BD(table, lac.bdeu(3.5) if name == "bdeu" else lac.k2())


@pytest.mark.parametrize("name", ["bdeu", "k2", "bic"])
@settings(max_examples=25)
@given(data=st.data())
def test_terms_are_those_of_the_definition(name: str, data: st.DataObject) -> None:
    table = data.draw(complete())
    score, n = score_of(name, table), len(table.schema)
    child = data.draw(st.integers(0, n - 1))
    parents = tuple(sorted(data.draw(st.sets(st.integers(0, n - 1))) - {child}))
    np.testing.assert_allclose(
        score.family(child, parents), naive_of(name, table, child, parents), rtol=RTOL, atol=ATOL
    )
    expected = [-np.inf if j == child else naive_of(name, table, child, toggle(parents, j)) for j in range(n)]
    np.testing.assert_allclose(score.toggled(child, parents), expected, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize(
    ("word", "cells", "room"), [(0.0, 2**22, 4), (1e9, 2**22, 4), (1e9, 5, 4), (0.6, 2**22, 0), (1e9, 5, 0)]
)
@pytest.mark.parametrize("states", [2, 5])
def test_every_way_of_counting_counts_the_same(
    word: float, cells: int, room: int, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By bits, row by row, a block of variables at a time, and with configurations renumbered."""
    monkeypatch.setattr(counter, "WORD", word)
    monkeypatch.setattr(counter, "CELLS", cells)
    monkeypatch.setattr(counter, "ROOM", room)
    table = chain(6, 130, states=states)  # more rows than two words of bits
    score = BD(table, lac.bdeu(2.0))
    for parents in [(), (0,), (0, 2), (0, 2, 4), (0, 1, 2, 4, 5)]:
        alone = naive.bd(table, 3, parents, lambda c: 2.0 / c)
        found = [score.family(3, parents), score.terms(3, parents)[-1]]
        np.testing.assert_allclose(found, [alone, alone], rtol=RTOL, atol=ATOL)
        expected = [
            -np.inf if j == 3 else naive.bd(table, 3, toggle(parents, j), lambda c: 2.0 / c) for j in range(6)
        ]
        np.testing.assert_allclose(score.toggled(3, parents), expected, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("name", ["bdeu", "k2", "bic"])
@pytest.mark.parametrize(("slots", "most"), [(1, 5), (2, 1000), (127, 0), (3, 40)])
def test_what_is_remembered_changes_nothing(
    name: str, slots: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of other sizes take each other's slots, and counts are above what is remembered."""
    monkeypatch.setattr(discrete, "SLOTS", slots)
    monkeypatch.setattr(discrete, "REMEMBERED", most)
    rng = np.random.default_rng(1)
    sizes = (2, 3, 4, 2, 5)
    schema = Schema(tuple(Variable(f"v{i}", states=tuple(range(size))) for i, size in enumerate(sizes)))
    table = Table(schema, np.stack([rng.integers(0, size, 150) for size in sizes], axis=1))
    score = score_of(name, table)
    for child, parents in [(0, ()), (1, (0, 2)), (3, (1, 4)), (1, (0, 2))]:
        expected = [
            -np.inf if j == child else naive_of(name, table, child, toggle(parents, j)) for j in range(5)
        ]
        np.testing.assert_allclose(score.toggled(child, parents), expected, rtol=RTOL, atol=ATOL)


def test_counts_are_asked_for_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three variables of five states beside the 30 states of all: 125 · 30 numbers of eight bytes."""
    asked: list[float] = []
    monkeypatch.setattr(counter, "SMALL", 0)
    monkeypatch.setattr(counter, "reserve", lambda needed, *told: asked.append(needed))
    BD(chain(6, 130, states=5)).terms(3, (0, 2))
    assert asked == [8.0 * 125 * 30]


def test_weights_that_are_no_whole_numbers() -> None:
    whole = chain(4, 60, states=3)
    twice = Table(whole.schema, np.concatenate([whole.codes, whole.codes]))
    halves = Table(whole.schema, twice.codes, weights=np.full(120, 0.5))
    mixed = Table(whole.schema, twice.codes, weights=np.repeat([0.25, 0.75], 60))
    for child, parents in [(0, ()), (2, (0, 1)), (1, (0, 2, 3))]:
        expected = BD(whole).toggled(child, parents)
        for table in (halves, mixed):
            np.testing.assert_allclose(BD(table).toggled(child, parents), expected, rtol=RTOL, atol=ATOL)


def test_more_configurations_than_memory_could_hold() -> None:
    table = chain(30, 200, states=4)  # 4²⁹ configurations
    parents = tuple(j for j in range(30) if j != 3)
    found = BD(table, lac.bdeu(1.0)).family(3, parents)
    np.testing.assert_allclose(found, naive.bd(table, 3, parents, lambda c: 1.0 / c), rtol=1e-9)


def test_example_in_print() -> None:
    """Cooper & Herskovits 1992, section 2: P(D | x1 → x2 → x3) = 2.23e-9, P(D | x2 ← x1 → x3) = 2.23e-10."""
    cases = ["100", "111", "001", "111", "000", "011", "111", "000", "111", "000"]
    schema = Schema(tuple(Variable(f"x{i}", (0, 1)) for i in (1, 2, 3)))
    score = BD(Table(schema, np.array([[int(c) for c in case] for case in cases])), lac.k2())
    # Three digits are printed.
    assert math.exp(total(score, [(), (0,), (1,)])) == pytest.approx(2.23e-9, rel=3e-3)
    assert math.exp(total(score, [(), (0,), (0,)])) == pytest.approx(2.23e-10, rel=3e-3)


@settings(max_examples=30)
@given(data=st.data())
def test_the_sum_is_the_exact_evidence(data: st.DataObject) -> None:
    """`score(…, "exact")` gets there by another road: counts over a layout, and normalisers of beliefs."""
    dag = data.draw(dags(max_variables=4))
    table = lac.random_network(dag, rng=0).sample(20, rng=data.draw(st.integers(0, 99)))
    found = total(BD(table, lac.bdeu(2.0)), dag.parent_indices)
    assert found == pytest.approx(lac.score(dag, table, "exact", prior=lac.bdeu(2.0)).value, abs=1e-8)


@settings(max_examples=30)
@given(data=st.data())
def test_equivalent_graphs_score_alike(data: st.DataObject) -> None:
    table = data.draw(complete(min_variables=3, max_variables=3))
    graphs = [lac.Dag.from_arcs(table.schema, _arcs(table, parents)) for parents in naive.all_dags(3)]
    for score in (BD(table, lac.bdeu(1.0)), BIC(table)):
        by_class: dict[object, list[float]] = {}
        for dag in graphs:
            by_class.setdefault(lac.cpdag(dag), []).append(total(score, dag.parent_indices))
        assert len(by_class) == 11  # of the 25 graphs on three variables
        for values in by_class.values():
            assert max(values) - min(values) < 1e-9  # rounding of a few terms below 100


def _arcs(table: Table, parents: tuple[tuple[int, ...], ...]) -> list[tuple[str, str]]:
    names = table.schema.names
    return [(names[p], names[i]) for i, ps in enumerate(parents) for p in ps]


def test_a_rule_with_its_own_hyperparameters() -> None:
    """Rows drawn from the uniform network are what BDeu supposes; scored cell by cell they must agree."""
    table = chain(4, 60, states=3)
    empty = lac.Dag.from_arcs(table.schema, [])
    uniform = Network(empty, empty.layout.normalize(np.ones(empty.layout.size)))
    one, other = BD(table, lac.prior_network(uniform, 7.0)), BD(table, lac.bdeu(7.0))
    for child, parents in [(0, ()), (1, (0, 3)), (2, (0, 1, 3))]:
        assert one.family(child, parents) == pytest.approx(other.family(child, parents), abs=1e-9)
        np.testing.assert_allclose(one.toggled(child, parents), other.toggled(child, parents), atol=1e-9)


def test_holes_and_continuous_columns_are_refused_by_name() -> None:
    table = chain(3, 10)
    codes = np.array(table.codes)
    codes[2, 1] = codes[5, 1] = -1
    with pytest.raises(TableError, match=r"V1 has 2 missing values.*structural EM"):
        BD(Table(table.schema, codes))
    mixed = lac.read({"a": [0.5, 1.5, 2.25], "b": ["x", "y", "x"]})
    with pytest.raises(SchemaError, match="a is continuous"):
        BIC(mixed)

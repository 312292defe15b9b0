"""Places in the flat vector, against explicit loops over states and configurations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.model.dag import Dag
from lacunary.model.layout import Layout
from lacunary.model.make import dag as make_dag
from tests.strategies import dags, seeds


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Dag, Layout]:
    """Any graph; families with tables of one shape are tied now and then, in any order."""
    dag = draw(dags(max_hidden=2))
    shapes: dict[tuple[int, ...], list[str]] = {}
    for name in dag.names:
        shape = tuple(dag.schema[member].size for member in (name, *dag.parents_of(name)))
        shapes.setdefault(shape, []).append(name)
    alike = [names for names in shapes.values() if len(names) > 1]
    groups = draw(st.lists(st.sampled_from(alike), unique_by=tuple)) if alike else []
    tied = tuple(tuple(draw(st.permutations(group))) for group in groups)
    tied_dag = Dag(dag.schema, dag.parents, tied)
    return tied_dag, tied_dag.layout


def place(layout: Layout, i: int, states: tuple[int, ...]) -> int:
    """start + Σ state · stride, over the variable and its parents."""
    return layout.start[i] + sum(s * d for s, d in zip(states, layout.strides[i], strict=True))


@given(layouts())
def test_every_table_has_places_of_its_own_unless_tied(case: tuple[Dag, Layout]) -> None:
    dag, layout = case
    taken: dict[int, set[str]] = {}
    for i, name in enumerate(dag.names):
        places = [
            place(layout, i, states)
            for states in product(*(range(layout.sizes[m]) for m in layout.members[i]))
        ]
        assert sorted(places) == list(range(*layout.slice(i).indices(layout.size)))
        for position in places:
            taken.setdefault(position, set()).add(name)
    assert sorted(taken) == list(range(layout.size))
    together = {frozenset(group) for group in dag.tied}
    assert all(len(names) == 1 or frozenset(names) in together for names in taken.values())
    assert together <= {frozenset(names) for names in taken.values()}


@given(layouts())
def test_groups_are_the_distributions(case: tuple[Dag, Layout]) -> None:
    """Places share a group if and only if they differ in the child's state alone."""
    _, layout = case
    distributions: dict[int, set[int]] = {}
    for i in layout.blocks:
        for states in product(*(range(layout.sizes[m]) for m in layout.members[i])):
            root = place(layout, i, (0, *states[1:]))
            distributions.setdefault(root, set()).add(place(layout, i, states))
            assert layout.variable[place(layout, i, states)] == i
    found: dict[int, set[int]] = {}
    for position, group in enumerate(layout.group.tolist()):
        found.setdefault(group, set()).add(position)
    assert sorted(found) == list(range(layout.groups))
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, distributions.values()))
    assert layout.free == sum(len(places) - 1 for places in distributions.values())


@given(layouts(), seeds)
def test_table_and_flat(case: tuple[Dag, Layout], seed: int) -> None:
    dag, layout = case
    vector = np.random.default_rng(seed).random(layout.size)
    for i, parents in enumerate(dag.parent_indices):
        table = layout.table(vector, i)
        assert table.shape == (*(layout.sizes[p] for p in parents), layout.sizes[i])
        for states in np.ndindex(table.shape):
            assert table[states] == vector[place(layout, i, (states[-1], *states[:-1]))]
        assert np.array_equal(layout.flat(table), vector[layout.slice(i)])


@pytest.mark.parametrize("lead", [(), (1,), (3,), (0,), (2, 3)])
@settings(max_examples=25)
@given(layouts(), seeds)
def test_total_and_normalize(lead: tuple[int, ...], case: tuple[Dag, Layout], seed: int) -> None:
    _, layout = case
    rng = np.random.default_rng(seed)
    vector = rng.random((*lead, layout.size)) * (rng.random((*lead, layout.size)) < 0.5)
    total, scaled = layout.total(vector), layout.normalize(vector)
    assert total.shape == (*lead, layout.groups)
    assert scaled.shape == vector.shape
    for where in np.ndindex(*lead):
        for group in range(layout.groups):
            members = np.flatnonzero(layout.group == group)
            part: NDArray[np.float64] = vector[where][members]
            # A sum of at most four numbers, in any order.
            assert total[where][group] == pytest.approx(part.sum(), rel=1e-15)
            expected = part / part.sum() if part.sum() > 0 else np.full(len(part), 1 / len(part))
            assert np.allclose(scaled[where][members], expected, rtol=1e-15, atol=0)


def test_the_printed_order() -> None:
    """θ_ijk stands at start + k·q + j, and in j the last parent moves fastest."""
    graph = make_dag("B C -> A", states={"A": 2, "B": 3, "C": 2})
    layout = graph.layout
    a = graph.schema.index("A")
    assert [graph.names[m] for m in layout.members[a]] == ["A", "B", "C"]
    assert layout.strides[a] == (6, 2, 1)
    assert layout.configurations[a] == 6
    assert layout.size == 3 + 2 + 12
    assert layout.free == 2 + 1 + 6


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.019, 0.3])
def test_draws_are_of_dirichlets_however_small_the_pseudo_counts(alpha: float) -> None:
    """Of two states with α each a probability has mean ½ and variance 1/(4 (2 α + 1))."""
    layout, draws = make_dag("A -> B", states=2).layout, 4000
    drawn = layout.drawn(np.full((draws, 6), alpha), np.random.default_rng(0))
    np.testing.assert_allclose(layout.total(drawn), 1.0, rtol=1e-12)
    # Five errors: of a mean of draws with deviation ½ at most, and of their squares, at most ⅛.
    np.testing.assert_allclose(drawn.mean(axis=0), 0.5, atol=5 * 0.5 / np.sqrt(draws))
    np.testing.assert_allclose(drawn.var(axis=0), 0.25 / (2 * alpha + 1), atol=5 * 0.125 / np.sqrt(draws))

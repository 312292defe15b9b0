"""Adjustment sets beside all sets tried one by one, and beside sets known from print."""

from __future__ import annotations

from itertools import chain, combinations, permutations
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.causal.adjustment import adjusts
from lacunary.model.separators import minimal_separators
from tests import naive_causal
from tests.causal.random_graphs import questions


def subsets(names: list[str]) -> list[frozenset[str]]:
    every = chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))
    return [frozenset(names) for names in every]


def minimal(sets: list[frozenset[str]]) -> set[frozenset[str]]:
    return {one for one in sets if not any(other < one for other in sets)}


def test_minimal_separators_are_all_of_them() -> None:
    for question in questions(80, seed=1):
        dag = question.network.dag
        one, two, *rest = dag.names
        allowed = [name for name in rest if name not in question.hidden]
        found = list(minimal_separators(dag, [one], [two], allowed))
        assert len(found) == len(set(found))
        wanted = minimal([s for s in subsets(allowed) if lac.d_separated(dag, one, two, s)])
        assert set(found) == wanted, str(dag)


def test_back_doors_are_all_sets_that_give_the_effect() -> None:
    """By the numbers: a set is valid if adjusting for it gives the truncated product's answer."""
    for question in questions(50, seed=2):
        network, y, x = question.network, question.outcome[:1], list(question.do)
        dag = network.dag
        if len(dag.names) > 8:
            continue
        rest = [n for n in dag.names if n not in {*question.hidden, *y, *x}]
        truth = naive_causal.asked(network, y, question.do, {})
        valid = []
        for names in subsets(rest):
            told = _adjusted(network, y[0], question.do, sorted(names))
            by_numbers = bool(np.abs(told - truth).max() < 1e-9)
            # For almost all parameters, and so for these, the criterion and the numbers say the same.
            assert by_numbers == adjusts(dag, x, y, names), (str(dag), names)
            if by_numbers:
                valid.append(names)
        found = lac.adjustment(dag, x, y)
        assert {frozenset(s) for s in found.back_door} == minimal(valid)


def _adjusted(network: lac.Network, y: str, do: dict[str, int], z: list[str]) -> np.ndarray:
    at: Any = (..., *do.values())
    joint = network.query(y, *z, *do).probabilities[at]
    p_z = network.query(*z).probabilities if z else np.ones(())
    return np.asarray((joint / joint.sum(axis=0) * p_z).reshape(joint.shape[0], -1).sum(axis=1))


def test_front_doors_give_the_effect() -> None:
    found = 0
    for question in questions(40, seed=6):
        network, seen = question.network, [v.name for v in question.network.dag.schema if not v.hidden]
        for x, y in permutations(seen, 2):
            for m in lac.adjustment(network.dag, x, y).front_door:
                found += 1
                truth = naive_causal.asked(network, [y], {x: 1}, {})
                sizes = (network.dag.schema[x].size, -1, len(truth))
                joint = network.query(x, *m, y).probabilities.reshape(sizes)
                p_x, p_m = joint.sum(axis=(1, 2)), joint.sum(axis=2)
                inner = np.einsum("xmy,x->my", joint / p_m[:, :, None], p_x)
                told = (p_m[1] / p_x[1]) @ inner
                assert told == pytest.approx(truth, abs=1e-10), (str(network.dag), x, y, m)
    assert found > 10


def test_the_m_graph_needs_no_adjustment() -> None:
    """M-bias: adjusting for m opens a path (Greenland, Pearl and Robins 1999)."""
    graph = lac.dag("a -> x m; b -> m y; x -> y", hidden=["a", "b"])
    found = lac.adjustment(graph, "x", "y")
    assert found.back_door == ((),)
    assert not adjusts(graph, ["x"], ["y"], ["m"])
    assert "nothing needs to be adjusted for" in str(found)


def test_nothing_below_the_way_is_adjusted_for() -> None:
    graph = lac.dag("x -> m -> y; m -> d; c -> x y")
    assert lac.adjustment(graph, "x", "y").back_door == (("c",),)
    assert not adjusts(graph, ["x"], ["y"], ["c", "d"])
    no_effect = lac.adjustment(graph, "y", "x")
    assert not no_effect.effect
    assert "there is no effect" in str(no_effect)


def test_a_bow_has_neither() -> None:
    found = lac.adjustment(lac.dag("u -> x y; x -> y", hidden=["u"]), "x", "y")
    assert (found.back_door, found.front_door) == ((), ())
    assert "no set of observed columns" in str(found)
    with pytest.raises(lac.GraphError, match="no variable in both"):
        lac.adjustment(lac.dag("x -> y"), "x", "x")


def test_independencies_are_those_of_the_graph() -> None:
    for question in questions(60, seed=3):
        dag = question.network.dag
        found = {(one, two): given for one, two, given in lac.independencies(dag)}
        seen = [n for n in dag.names if n not in question.hidden]
        for one, two in combinations(seen, 2):
            rest = [n for n in seen if n not in (one, two)]
            sets = [s for s in subsets(rest) if lac.d_separated(dag, one, two, s)]
            assert ((one, two) in found) == bool(sets)
            if sets:
                assert lac.d_separated(dag, one, two, found[one, two])
                assert len(found[one, two]) == min(map(len, sets))


def test_relatives() -> None:
    dag = lac.asia().dag
    assert dag.ancestors_of("either") == ("asia", "tub", "smoke", "lung")
    assert dag.descendants_of("smoke") == ("lung", "bronc", "either", "xray", "dysp")
    assert dag.markov_blanket_of("bronc") == ("smoke", "either", "dysp")

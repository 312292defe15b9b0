"""Edited networks keep the distribution of what is left, or say why not."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.infer.edit import _order
from tests.causal.test_do import gaussian
from tests.reference.agrum import pyagrum
from tests.strategies import networks, seeds

TOLERANCE = 1e-11
"""Sums and ratios of at most some hundred products of a dozen numbers."""


def same(one: lac.Network, two: lac.Network, names: list[str]) -> None:
    for pair in combinations(names, min(2, len(names))):
        assert one.query(*pair).probabilities == pytest.approx(two.query(*pair).probabilities, abs=TOLERANCE)
    assert one.query(*names).probabilities == pytest.approx(two.query(*names).probabilities, abs=TOLERANCE)


@given(networks(min_variables=2, max_variables=5, textures=("even", "random")), seeds)
@settings(max_examples=40, deadline=None)
def test_turning_adding_and_summing_out_keep_the_distribution(network: lac.Network, seed: int) -> None:
    rng, names = np.random.default_rng(seed), list(network.dag.names)
    for tail, head in network.dag.arcs:
        try:
            turned = network.turn_arc(tail, head)
        except lac.GraphError:  # another path leads the same way
            assert set(network.dag.ancestors_of(head)) & set(network.dag.descendants_of(tail))
            continue
        same(network, turned, names)
    gone = str(rng.choice(names))
    left = [name for name in names if name != gone]
    same(network, network.sum_out(gone), left)
    first, last = network.dag.order[0], network.dag.order[-1]
    if first not in network.dag.parents_of(last):
        same(network, network.add_arc(first, last), names)


@given(networks(min_variables=3, max_variables=5, textures=("even", "random")), st.data())
@settings(max_examples=30, deadline=None)
def test_merging_keeps_the_distribution(network: lac.Network, data: st.DataObject) -> None:
    one, two = data.draw(st.permutations(network.dag.names))[:2]
    try:
        merged = network.merge([one, two], "both")
    except lac.GraphError:
        assume(False)
    left = [name for name in network.dag.names if name not in (one, two)]
    joint = network.query(one, two, *left).probabilities
    told = merged.query("both", *left).probabilities
    assert told.reshape(joint.shape) == pytest.approx(joint, abs=TOLERANCE)


def test_removing_an_arc_keeps_the_conditional_on_the_rest() -> None:
    asia = lac.asia()
    cut = asia.remove_arc("bronc", "dysp")
    joint = asia.query("either", "dysp").probabilities
    assert cut.table("dysp") == pytest.approx(joint / joint.sum(axis=1, keepdims=True))
    with pytest.raises(lac.GraphError, match="no arc"):
        asia.remove_arc("asia", "dysp")


def test_gaussian_networks_are_edited_too() -> None:
    network = gaussian("z -> x; z x -> y")
    turned = network.turn_arc("z", "x")
    left = network.sum_out("z")
    for name in ("x", "y"):
        for other in (turned, left):
            assert float(other.query(name).mean) == pytest.approx(float(network.query(name).mean))
            assert float(other.query(name).sd) == pytest.approx(float(network.query(name).sd))
    seen = network.query("y", given={"x": 0.7})
    assert float(left.query("y", given={"x": 0.7}).mean) == pytest.approx(float(seen.mean))
    wider = gaussian("x; y").add_arc("x", "y")
    assert wider.regression("y").coefficients.tolist() == [0.0]


def test_names_and_tables() -> None:
    asia = lac.asia()
    named = asia.rename({"dysp": "dyspnoea", "lung": "cancer"})
    assert named.query("dyspnoea", given={"cancer": "yes"}).probabilities == pytest.approx(
        asia.query("dysp", given={"lung": "yes"}).probabilities
    )
    assert asia.with_table("smoke", [0.2, 0.8]).query("smoke")["yes"] == pytest.approx(0.2)
    tied = lac.random_network(lac.dag("a -> x; b -> y", tied=[["x", "y"]]))
    assert tied.rename({"x": "u"}).dag.tied == (("u", "y"),)
    assert tied.remove_arc("a", "x").dag.tied == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda n: n.rename({"dysp": "lung"}), "same name"),
        (lambda n: n.add_arc("smoke", "lung"), "already"),
        (lambda n: n.add_arc("dysp", "smoke"), "cycle"),
        (lambda n: n.merge(["lung"], "x"), "at least two"),
        (lambda n: n.merge(["smoke", "dysp"], "x"), "cycle"),
        (lambda n: n.sum_out(*n.dag.names), "one variable at least"),
        (lambda n: n.rename({"nobody": "x"}), "nobody"),
    ],
)
def test_edits_that_make_no_sense_are_refused(change: Any, words: str) -> None:
    with pytest.raises(lac.LacunaryError, match=words):
        change(lac.asia())


def test_round_trips_through_other_libraries() -> None:
    network = lac.asia()
    back = lac.from_pyagrum(network.to_pyagrum())
    assert back.query("dysp", "lung").probabilities == pytest.approx(
        network.query("dysp", "lung").probabilities
    )
    engine = pyagrum.LazyPropagation(network.to_pyagrum())
    engine.setEvidence({"smoke": "yes"})
    engine.makeInference()
    theirs = engine.posterior("dysp").toarray()
    assert network.query("dysp", given={"smoke": "yes"}).probabilities == pytest.approx(theirs, abs=1e-6)
    assert set(lac.from_networkx(network.dag.to_networkx()).arcs) == set(network.dag.arcs)
    assert lac.from_networkx(network.dag.to_networkx()).schema == network.dag.schema
    text = network.dag.to_modelstring()
    assert set(lac.from_modelstring(text).arcs) == set(network.dag.arcs)
    states = {v.name: v.states for v in network.dag.schema}
    assert lac.from_modelstring(text, states).schema["dysp"].states == ("yes", "no")


@pytest.mark.parametrize("text", ["", "[A", "[A]B", "[A|B]", "[A][A]", "[A|B][B|A]", "[A||B][B]"])
def test_model_strings_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(lac.GraphError):
        lac.from_modelstring(text)


def test_pgmpy_keeps_everything() -> None:
    pytest.importorskip("pgmpy")
    network = lac.asia()
    back = lac.from_pgmpy(network.to_pgmpy())
    assert back.dag == network.dag
    assert all((back.table(n) == network.table(n)).all() for n in network.dag.names)
    numbers = gaussian("z -> x; z x -> y")
    assert lac.from_pgmpy(numbers.to_pgmpy()).theta == pytest.approx(numbers.theta)


def test_parents_come_before_children_and_else_the_first_comes_first() -> None:
    """By what an order is: at every place the first variable whose parents all stand before it."""
    rng = np.random.default_rng(0)
    for many in (1, 2, 5, 9, 14):
        turn = rng.permutation(many)
        parents = {
            f"v{i}": tuple(f"v{j}" for j in range(many) if turn[j] < turn[i] and rng.random() < 0.4)
            for i in range(many)
        }
        left, wanted = dict(parents), list[str]()
        while left:
            wanted.append(next(n for n, above in left.items() if set(above) <= set(wanted)))
            del left[wanted[-1]]
        assert _order(parents) == wanted

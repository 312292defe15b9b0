"""Average effects, ranges over equivalence classes, information, value of observations, parameters."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from tests import naive, naive_causal
from tests.causal.test_do import gaussian


def test_an_effect_of_a_network_is_a_difference_of_truncated_products() -> None:
    asia = lac.asia()
    found = lac.average_effect(asia, "smoke", "dysp", low="no", high="yes", state="yes")
    truth = [naive_causal.asked(asia, ["dysp"], {"smoke": k}, {})[0] for k in (1, 0)]
    assert found.estimate == pytest.approx(truth[1] - truth[0])
    assert found.interval is None
    assert found.none is None


def test_an_interval_covers_what_parameters_leave_open() -> None:
    """y | x is Beta in each arm: the effect's posterior is a difference of two Betas, known by simulation."""
    graph = lac.dag("x -> y")
    alpha = graph.layout.flat(np.array([[30.0, 10.0], [15.0, 25.0]]))
    belief = lac.Belief(graph, np.concatenate([[5.0, 5.0], alpha]))
    found = lac.average_effect(belief, "x", "y", draws=400, rng=1)
    assert found.estimate == pytest.approx(25 / 40 - 10 / 40)
    rng = np.random.default_rng(7)
    other = rng.beta(25, 15, 200_000) - rng.beta(10, 30, 200_000)
    # The standard error of a 2.5 % quantile of 400 draws of sd 0.1 is about 0.013; four of these.
    assert found.interval == pytest.approx(np.quantile(other, [0.025, 0.975]), abs=0.052)
    assert "95 % interval" in str(found)


def test_graphs_without_a_path_have_no_effect() -> None:
    apart, joined = lac.dag("x; y"), lac.dag("x -> y")
    both = lac.Ensemble((lac.bdeu(4.0)(apart), lac.bdeu(4.0)(joined)), np.array([0.5, 0.5]))
    found = lac.average_effect(both, "x", "y", draws=200, rng=0)
    assert found.none == pytest.approx(0.5, abs=0.15)  # four standard errors of 200 draws
    assert found.estimate == pytest.approx(0.0)


def test_what_an_effect_needs_is_asked_for() -> None:
    graph = lac.dag("x -> y", states={"x": 3, "y": 3})
    network = lac.random_network(graph)
    with pytest.raises(lac.ParameterError, match="low=…, high=…"):
        lac.average_effect(network, "x", "y")
    with pytest.raises(lac.ParameterError, match="name the one whose probability"):
        lac.average_effect(network, "x", "y", low=0, high=1)
    with pytest.raises(lac.ParameterError, match="leave state out"):
        lac.average_effect(gaussian("x -> y"), "x", "y", low=0, high=1, state=1)
    change = lac.average_effect(gaussian("x -> y"), "x", "y", low=0, high=1)
    assert change.estimate == pytest.approx(float(gaussian("x -> y").regression("y").coefficients[0]))


def all_members(dag: lac.Dag) -> list[lac.Dag]:
    """Every graph of an equivalence class: all directions of all arcs, kept if equivalent."""
    found = []
    for turned in product([False, True], repeat=len(dag.arcs)):
        arcs = [arc[::-1] if turn else arc for arc, turn in zip(dag.arcs, turned, strict=True)]
        try:
            other = lac.Dag.from_arcs(dag.schema, arcs)
        except lac.GraphError:
            continue
        if lac.equivalent(other, dag):
            found.append(other)
    return found


def factored(network: lac.Network, dag: lac.Dag) -> lac.Network:
    tables = {}
    for name in dag.names:
        joint = network.query(*dag.parents_of(name), name).probabilities
        tables[name] = joint / joint.sum(axis=-1, keepdims=True)
    return lac.Network.from_tables(dag, tables, renormalize=True)


@pytest.mark.parametrize("seed", range(12))
def test_a_class_answers_as_all_its_members_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag = lac.random_dag(5, arc_probability=0.5, rng=seed)
    network = lac.random_network(dag, rng=seed)
    x, other, y = (str(name) for name in rng.permutation(dag.names)[:3])
    do = {x: 1} if seed % 2 else {x: 1, other: 0}
    truth = [naive_causal.asked(factored(network, one), [y], do, {}) for one in all_members(dag)]
    found = lac.query_class(network, y, do=do)
    assert found.low == pytest.approx(np.min(truth, axis=0), abs=1e-9)
    assert found.high == pytest.approx(np.max(truth, axis=0), abs=1e-9)
    distinct = {tuple(np.round(one, 7)) for one in truth}
    assert len(found.answers) == len(distinct)
    own = naive_causal.asked(network, [y], do, {})
    assert found.answers[0].answer.probabilities == pytest.approx(own, abs=1e-11)


def test_a_class_of_gaussian_networks() -> None:
    """x and y joined by one arc: under the other direction y does not move with x."""
    network = gaussian("x -> y", rng=4)
    found = lac.query_class(network, "y", do={"x": 3.0})
    x, y = network.regression("x"), network.regression("y")
    still = float(y.intercept + y.coefficients[0] * x.intercept)
    moved = float(y.intercept + y.coefficients[0] * 3.0)
    assert sorted(float(one.answer.mean) for one in found.answers) == pytest.approx(sorted([still, moved]))
    assert "mean between" in str(found)


def test_a_class_keeps_discrete_parents_of_numbers() -> None:
    schema = lac.Schema((lac.Variable("c", (0, 1)), lac.Variable("x", kind="continuous")))
    network = lac.random_network(lac.dag("c -> x", schema=schema), rng=0)
    found = lac.query_class(network, "x", do={"c": 1})
    assert len(found.answers) == 1
    assert "all graphs" in str(found)


def test_mutual_information_is_its_definition() -> None:
    asia = lac.asia()
    joint = asia.query("lung", "bronc", given={"dysp": "yes"}).probabilities
    parts = [p * np.log(p / (joint[i].sum() * joint[:, j].sum())) for (i, j), p in np.ndenumerate(joint)]
    assert lac.mutual_information(asia, "lung", "bronc", {"dysp": "yes"}) == pytest.approx(sum(parts))
    assert lac.mutual_information(asia, "asia", ["smoke", "bronc"]) == pytest.approx(0.0, abs=1e-14)
    with pytest.raises(lac.SchemaError, match="both sides"):
        lac.mutual_information(asia, "lung", "lung")


def test_value_of_observation() -> None:
    asia = lac.asia()
    found = {one.name: one for one in lac.value_of_observation(asia, "lung", {"dysp": "yes"})}
    joint = asia.query("lung", "xray", given={"dysp": "yes"}).probabilities
    assert found["xray"].information == pytest.approx(
        lac.mutual_information(asia, "lung", "xray", {"dysp": "yes"})
    )
    assert found["xray"].gain == pytest.approx(joint.max(axis=0).sum() - joint.sum(axis=1).max())
    # Treat or not: treating a healthy one costs 1, not treating a sick one 10.
    costs = np.array([[0.0, -1.0], [-10.0, 0.0]])
    told = {one.name: one for one in lac.value_of_observation(asia, "lung", {"dysp": "yes"}, utility=costs)}
    gain = (costs @ joint).max(axis=0).sum() - (costs @ joint.sum(axis=1)).max()
    assert told["xray"].gain == pytest.approx(gain)
    assert set(found) == set(asia.dag.names) - {"lung", "dysp"}
    with pytest.raises(lac.ParameterError, match="a row for each choice"):
        lac.value_of_observation(asia, "lung", utility=[1.0, 0.0])


@pytest.mark.parametrize("seed", range(4))
def test_parameter_sensitivity_is_what_changed_networks_answer(seed: int) -> None:
    graph = lac.random_dag(5, arc_probability=0.5, rng=seed + 20)
    network = lac.random_network(graph, rng=seed)
    target, *_, seen = graph.names
    found = lac.parameter_sensitivity(network, target, 1, {seen: 0})
    assert len(found.effects) == network.theta.size
    for one in found.effects[:12]:
        for value in (0.02, 0.6):
            other = moved(network, one, value)
            truth = naive.posterior(other, [0 if n == seen else -1 for n in graph.names], [target])[1]
            assert one.at(value) == pytest.approx(truth, abs=1e-10)
        assert one.needed(one.at(0.6)) == pytest.approx(0.6) or abs(one.derivative) < 1e-12
        step = 1e-6
        slope = (one.at(one.value + step) - one.at(one.value - step)) / (2 * step)
        assert one.derivative == pytest.approx(slope, rel=1e-4, abs=1e-8)


def moved(network: lac.Network, one: Any, value: float) -> lac.Network:
    """The network with one probability set and the others of its distribution in proportion."""
    tables = {name: np.array(table) for name, table in network.tables.items()}
    row = tables[one.variable][tuple(one.parents.values())]
    k = one.state
    scale = (1 - value) / (1 - row[k])
    row *= scale
    row[k] = value
    return lac.Network.from_tables(network.dag, tables)


def test_what_is_printed_names_what_it_is() -> None:
    found = lac.parameter_sensitivity(lac.asia(), "lung", "yes", {"xray": "yes"})
    assert "p(xray=yes | either=no)" in str(found)
    assert "less steep" in str(found)
    assert "xray" in str(lac.value_of_observation(lac.asia(), "lung"))


def test_a_labelled_table() -> None:
    table = lac.asia().cpt("dysp")
    assert table.to_frame("dict") == {
        "bronc": ["yes", "yes", "no", "no"],
        "either": ["yes", "no", "yes", "no"],
        "yes": pytest.approx([0.9, 0.8, 0.7, 0.1]),
        "no": pytest.approx([0.1, 0.2, 0.3, 0.9]),
    }
    assert "<td>0.9</td>" in table._repr_html_()
    numbers = gaussian("z x -> y").cpt("y")
    assert numbers.columns == ("intercept", "slope of z", "slope of x", "variance") or numbers.columns == (
        "intercept", "slope of x", "slope of z", "variance"
    )  # fmt: skip
    assert "p(y)" in str(numbers)

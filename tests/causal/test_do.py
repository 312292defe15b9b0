"""`query(..., do=...)` beside the truncated product, for networks, beliefs, mixtures and ensembles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from tests import naive_causal
from tests.strategies import networks, seeds

TOLERANCE = 1e-11
"""Sums of at most some hundred products of a dozen numbers, relative to one."""


@given(networks(min_variables=2, max_variables=5, textures=("even", "random")), seeds, st.data())
@settings(max_examples=60, deadline=None)
def test_do_is_the_truncated_product(network: lac.Network, seed: int, data: st.DataObject) -> None:
    rng, names = np.random.default_rng(seed), list(network.dag.names)
    order = data.draw(st.permutations(names))
    cut = data.draw(st.integers(1, len(names) - 1))
    state = {v.name: int(rng.integers(v.size)) for v in network.dag.schema}
    do = {name: state[name] for name in order[1 : 1 + cut]}
    seen = {name: state[name] for name in order[1 + cut : 2 + cut]}
    truth = naive_causal.asked(network, [order[0]], do, seen)
    assert network.query(order[0], do=do, given=seen).probabilities == pytest.approx(truth, abs=TOLERANCE)
    joint = naive_causal.truncated(network, do)
    at = tuple(seen.get(name, slice(None)) for name in names)
    assert network.probability(seen, do=do) == pytest.approx(joint[at].sum(), abs=TOLERANCE)
    both = network.query(order[0], order[1], do=do, given=seen).probabilities  # what is set is in the answer
    assert both[:, state[order[1]]] == pytest.approx(truth, abs=TOLERANCE)
    assert both.sum() == pytest.approx(1.0)


def test_soft_evidence_and_sets_are_seen_after_what_is_set() -> None:
    asia = lac.asia()
    joint = naive_causal.truncated(asia, {"lung": 0})
    place = {name: k for k, name in enumerate(asia.dag.names)}
    soft = np.moveaxis(joint, [place["smoke"], place["dysp"]], [0, 1]).sum(axis=tuple(range(2, 8))) @ [
        0.7,
        0.1,
    ]
    found = asia.query("smoke", do={"lung": "yes"}, given={"dysp": {"yes": 0.7, "no": 0.1}})
    assert found.probabilities == pytest.approx(soft / soft.sum(), abs=TOLERANCE)


def gaussian(text: str, rng: int = 0) -> lac.Network:
    names = sorted(set("".join(c if c.isalnum() else " " for c in text).split()))
    schema = lac.Schema(tuple(lac.Variable(n, kind="continuous") for n in names))
    return lac.random_network(lac.dag(text, schema=schema), rng=rng)


def test_a_continuous_treatment_takes_its_parents_path_away() -> None:
    """z -> x, z x -> y: E y under do(x) is a + b E z + c x; given x, E z moves as well."""
    network = gaussian("z -> x; z x -> y")
    z, y = network.regression("z"), network.regression("y")
    mean = float(y.intercept + y.coefficients @ [float(z.intercept), 2.0])
    spread = float(y.coefficients[0] ** 2 * z.variance + y.variance)
    found = network.query("y", do={"x": 2.0})
    assert (float(found.mean), float(found.sd) ** 2) == pytest.approx((mean, spread))
    density = float(found.log_density(0.3))
    assert network.log_density({"y": 0.3}, do={"x": 2.0}) == pytest.approx(density)
    assert abs(float(network.query("y", given={"x": 2.0}).mean) - mean) > 0.01
    drawn: Any = network.sample(20_000, rng=1, do={"x": 2.0}).to_frame("dict")
    assert set(drawn["x"]) == {2.0}
    # Five standard errors of a mean of 20 000 draws.
    assert np.mean(drawn["y"]) == pytest.approx(mean, abs=5 * np.sqrt(spread / 20_000))


def test_mixed_networks_and_beliefs() -> None:
    schema = lac.Schema(
        (
            lac.Variable("c", (0, 1)),
            lac.Variable("x", kind="continuous"),
            lac.Variable("y", kind="continuous"),
        )
    )
    graph = lac.dag("c -> x y; x -> y", schema=schema)
    network = lac.random_network(graph, rng=2)
    weights = network.table("c")
    y = network.regression("y")
    mean = float(weights @ (y.intercept + y.coefficients[:, 0] * 1.5))
    assert float(network.query("y", do={"x": 1.5}).mean) == pytest.approx(mean)
    rows = network.sample(200, rng=3)
    belief = lac.fit(graph, rows, rng=0).network
    assert float(belief.query("y", do={"x": 1.5}).mean) == pytest.approx(
        float(
            belief.table("c")
            @ (belief.regression("y").intercept + belief.regression("y").coefficients[:, 0] * 1.5)
        )
    )


def test_a_belief_answers_with_its_parameters_averaged_out() -> None:
    """For one row the mean of the truncated product is that of the means: families are independent."""
    graph = lac.dag("z -> x y; x -> y")
    belief = lac.bdeu(4.0)(graph)
    random = np.random.default_rng(0)
    belief = lac.Belief(graph, belief.alpha + random.gamma(2.0, size=belief.alpha.shape))
    truth = naive_causal.asked(lac.Network(graph, belief.mean()), ["y"], {"x": 1}, {})
    assert belief.query("y", do={"x": 1}).probabilities == pytest.approx(truth, abs=TOLERANCE)


def test_a_mixture_keeps_its_weights() -> None:
    """Setting x tells nothing of the component: p(y | do(x)) = Σ weight · p(y | do(x), component)."""
    graph = lac.dag("x -> y")
    parts = tuple(lac.random_network(graph, rng=k) for k in range(2))
    mixture = lac.Mixture(np.array([0.3, 0.7]), parts)
    truth = sum(
        w * part.query("y", do={"x": 1}).probabilities for w, part in zip([0.3, 0.7], parts, strict=True)
    )
    assert mixture.query("y", do={"x": 1}).probabilities == pytest.approx(truth, abs=TOLERANCE)
    seen = mixture.query("y", given={"x": 1}).probabilities
    assert np.abs(seen - truth).max() > 0.01
    both = mixture.query("x", "y", do={"x": 1}).probabilities
    assert both[1] == pytest.approx(truth, abs=TOLERANCE)
    ensemble = lac.Ensemble(parts, np.array([0.3, 0.7]))
    assert ensemble.query("y", do={"x": 1}).probabilities == pytest.approx(truth, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("do", "seen", "words"),
    [
        ({"lung": "yes"}, {"lung": "yes"}, "set by do and given as well"),
        ({"lung": {"yes", "no"}}, {}, "one state or value"),
        ({"lungs": "yes"}, {}, "did you mean 'lung'"),
        ({"lung": "yes"}, {"either": "no"}, "probability zero once"),
    ],
)
def test_what_cannot_be_set_is_refused(do: dict[str, Any], seen: dict[str, Any], words: str) -> None:
    with pytest.raises(lac.LacunaryError, match=words):
        lac.asia().query("smoke", do=do, given=seen)


def test_a_count_can_be_set_and_changes_nothing_else() -> None:
    schema = lac.Schema((lac.Variable("c", (0, 1)), lac.Variable("n", kind="continuous")))
    graph = lac.dag("c -> n", schema=schema, family={"n": "poisson"})
    network = lac.random_network(graph, rng=0)
    assert network.query("c", do={"n": 3}).probabilities == pytest.approx(network.table("c"))
    with pytest.raises(lac.SchemaError, match="no effects"):
        network.sample(3, do={"n": 3})


def test_explain_and_tied_families() -> None:
    twice = lac.dag("r -> a b; a -> b", tied=[])
    network = lac.random_network(twice, rng=1)
    joint = naive_causal.truncated(network, {"a": 1})
    best = np.unravel_index(int(joint.argmax()), joint.shape)
    assert list(network.explain(do={"a": 1}).values()) == list(best)
    tied = lac.random_network(lac.dag("a -> x; b -> y", tied=[["x", "y"], ["a", "b"]]), rng=1)
    assert tied.query("y", do={"x": 0}).probabilities == pytest.approx(tied.query("y").probabilities)

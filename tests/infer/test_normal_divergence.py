"""Distances between networks with continuous variables, against joint normals and by integration."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import lacunary as lac
from tests import naive_mixed
from tests.strategies import mixed_networks, seeds

EXACT = 1e-8
"""Relative and absolute: the oracle inverts covariances whose standard deviations span four decades."""


def divergence(p: lac.Network, q: lac.Network) -> float:
    """KL by its definition: over all discrete states, with the textbook's KL of two joint normals."""
    schema = p.dag.schema
    discrete = [v for v in schema if v.discrete]
    reals = [v.name for v in schema if not v.discrete]
    swap = [[v.name for v in q.dag.schema if not v.discrete].index(name) for name in reals]
    total = 0.0
    for chosen in product(*(range(v.size) for v in discrete)):
        states = dict(zip((v.name for v in discrete), chosen, strict=True))
        a, b = (_probability(model, states) for model in (p, q))
        if a == 0:
            continue
        if b == 0:
            return math.inf
        mean, cov = naive_mixed.joint(p, states)
        other, wide = naive_mixed.joint(q, states)
        other, wide = other[swap], wide[np.ix_(swap, swap)]
        inverse = np.linalg.inv(wide)
        trace = np.trace(inverse @ cov) + (mean - other) @ inverse @ (mean - other) - len(reals)
        logs = np.linalg.slogdet(wide)[1] - np.linalg.slogdet(cov)[1]
        total += a * (math.log(a / b) + 0.5 * (trace + logs))
    return total


def _probability(network: lac.Network, states: dict[str, int]) -> float:
    return math.prod(
        float(network.table(name)[(*(states[p] for p in network.dag.parents_of(name)), state)])
        for name, state in states.items()
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[lac.Network, lac.Network]:
    """Two mixed networks over the same variables, with graphs and orders of variables of their own."""
    p = draw(mixed_networks(max_variables=5))
    schema = lac.Schema(tuple(draw(st.permutations(p.dag.schema.variables))))
    order = sorted(draw(st.permutations(schema.names)), key=lambda name: not schema[name].discrete)
    parents = {
        child: draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=3))
        for place, child in enumerate(order)
        if place
    }
    dag = p.dag if draw(st.booleans()) else lac.Dag.from_parents(schema, parents)
    return p, lac.random_network(dag, rng=draw(seeds))


@given(pairs())
@settings(max_examples=40, deadline=None)
def test_kl_equals_that_of_joint_normals(pair: tuple[lac.Network, lac.Network]) -> None:
    p, q = pair
    assert lac.kl(p, q) == pytest.approx(divergence(p, q), rel=EXACT, abs=EXACT)
    # Nothing cancels where the families are the same.
    assert lac.kl(p, p) <= 1e-13


def test_close_networks_far_from_zero_keep_their_digits() -> None:
    """An intercept off by δ = 1e-6 adds δ²/2σ² = 5e-13, though values are a million."""
    dag = lac.dag("A -> B", kinds="continuous")
    p = lac.Network.from_tables(dag, {"A": [1e6, 1.0], "B": [3.0, 0.5, 1.0]})
    q = lac.Network.from_tables(dag, {"A": [1e6, 1.0], "B": [3.0 + 1e-6, 0.5, 1.0]})
    assert lac.kl(p, q) == pytest.approx(0.5e-12, rel=1e-6)  # 3 + 1e-6 keeps ten digits of the difference


def test_a_large_mixed_network_agrees_with_draws() -> None:
    names = [f"x{i}" for i in range(20)]
    kinds: dict[str, Literal["discrete", "continuous"]] = dict.fromkeys(names, "continuous")
    chain = "; ".join(f"{a} -> {b}" for a, b in pairwise(names))
    p = lac.random_network(lac.dag(f"c -> {' '.join(names[:5])}; {chain}", kinds=kinds, states=3), rng=1)
    back = "; ".join(f"{b} -> {a}" for a, b in pairwise(names))
    q = lac.fit(lac.dag(f"c -> x7; {back}", kinds=kinds, states=3), p.sample(500, rng=2)).network
    rows = p.sample(20000, rng=3)
    ratio = p.log_probability(rows) - q.log_probability(rows)
    # Four standard errors: one seeded run, which may miss by chance once in 15 000 seeds.
    assert lac.kl(p, q) == pytest.approx(ratio.mean(), abs=4 * ratio.std() / math.sqrt(len(rows)))


def uniform(low: list[float], high: list[float], family: str = "uniform") -> lac.Network:
    dag = lac.dag("c -> x", kinds={"x": "continuous"}, family={"x": family})
    return lac.Network.from_tables(dag, {"c": [0.25, 0.75], "x": lac.Uniform(low, high)})


def test_uniform_families() -> None:
    p, q = uniform([0, 1], [2, 3]), uniform([0, 0], [4, 3])
    assert lac.kl(p, q) == pytest.approx(0.25 * math.log(2) + 0.75 * math.log(1.5), rel=1e-12)
    assert lac.kl(q, p) == math.inf
    normal = lac.Network.from_tables(
        lac.dag("c -> x", kinds={"x": "continuous"}),
        {"c": [0.25, 0.75], "x": lac.Regression([1.0, 0.0], variance=[1.0, 4.0])},
    )
    parts = [
        quad(lambda x, a=a, m=m, s=s: 0.5 * (math.log(0.5) - norm(m, s).logpdf(x)), a, a + 2)[0]
        for a, m, s in ((0, 1, 1), (1, 0, 2))
    ]
    assert lac.kl(p, normal) == pytest.approx(0.25 * parts[0] + 0.75 * parts[1], rel=1e-10)
    assert lac.kl(normal, p) == math.inf


@given(pairs(), st.data())
@settings(max_examples=25, deadline=None)
def test_marginals_of_the_continuous_with_all_discrete_named(
    pair: tuple[lac.Network, lac.Network], data: st.DataObject
) -> None:
    p, q = pair
    assert lac.marginal_kl(p, q, p.dag.names) == pytest.approx(divergence(p, q), rel=EXACT, abs=EXACT)
    name = data.draw(st.sampled_from([v.name for v in p.dag.schema if not v.discrete]))
    some = [name, *(v.name for v in p.dag.schema if v.discrete)]
    assert lac.marginal_kl(p, q, some) <= lac.kl(p, q) * (1 + EXACT) + EXACT


def test_mixtures_of_normals_and_beliefs_are_refused_by_name() -> None:
    dag = lac.dag("c -> x", kinds={"x": "continuous"})
    p = lac.random_network(dag, rng=0)
    with pytest.raises(lac.ParameterError, match="x: summed over c the density is a mixture of normals"):
        lac.marginal_kl(p, p, ["x"])
    assert lac.marginal_kl(p, lac.random_network(dag, rng=1), ["c"]) >= 0.0
    belief = lac.fit(dag, p.sample(30, rng=0)).belief
    with pytest.raises(lac.ParameterError, match="Student t"):
        lac.kl(p, belief)
    with pytest.raises(lac.ParameterError, match="tables, and x is continuous"):
        lac.family_distances(p, p)
    with pytest.raises(lac.SchemaError, match="x is continuous in one model and discrete in the other"):
        lac.kl(p, lac.random_network(lac.dag("c -> x")))

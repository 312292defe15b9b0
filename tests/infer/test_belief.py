"""Dirichlet beliefs: their normalisers, their means, and the priors that start them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import dirichlet

from lacunary.errors import ParameterError
from lacunary.infer.belief import BDeu, Belief, Dirichlet, bdeu, k2, prior_network
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import fit
from lacunary.model.dag import Dag
from lacunary.model.make import dag
from tests import naive
from tests.strategies import dags, networks, seeds, tables

positive = st.floats(1e-3, 1e3)


def random_belief(dag: Dag, seed: int) -> Belief:
    return Belief(dag, np.random.default_rng(seed).uniform(0.1, 5.0, dag.layout.size))


@given(dags(), seeds)
def test_density(dag: Dag, seed: int) -> None:
    """log p(θ) = normaliser + Σ (α − 1) log θ, the sum of all distributions' Dirichlet densities."""
    belief = random_belief(dag, seed)
    theta = random_network(dag, rng=seed)
    found = belief.log_normalizer + float((belief.alpha - 1) @ np.log(theta.theta))
    wanted = 0.0
    for i, name in enumerate(dag.names):
        alphas = dag.layout.table(belief.alpha, i).reshape(-1, dag.schema.sizes[i])
        for alpha, p in zip(alphas, theta.table(name).reshape(alphas.shape), strict=True):
            wanted += naive.log_dirichlet(p.tolist(), alpha.tolist())
    # Up to a few hundred terms of size ten cancel.
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-10)


def test_density_as_in_scipy() -> None:
    alpha, p = [0.3, 2.0, 5.5], [0.2, 0.5, 0.3]
    assert naive.log_dirichlet(p, alpha) == pytest.approx(float(dirichlet(alpha).logpdf(p)), rel=1e-13)


@given(dags(), seeds)
def test_mean(dag: Dag, seed: int) -> None:
    belief = random_belief(dag, seed)
    for i in range(len(dag.names)):
        alpha = dag.layout.table(belief.alpha, i)
        np.testing.assert_allclose(
            dag.layout.table(belief.mean(), i), alpha / alpha.sum(axis=-1, keepdims=True), rtol=1e-14
        )


@given(dags(max_variables=4), seeds, st.data())
def test_a_belief_predicts_with_its_mean(dag: Dag, seed: int, data: st.DataObject) -> None:
    """p(next row) = ∫ p(row | θ) p(θ) dθ = p(row | E[θ]), as a row is linear in each distribution."""
    belief = random_belief(dag, seed)
    table = data.draw(tables(dag.schema))
    mean = Network(dag, belief.mean())
    wanted = [naive.log_evidence(mean, row) for row in table.codes.tolist()]
    np.testing.assert_allclose(belief.log_probability(table), wanted, rtol=1e-10, atol=1e-12)


# Priors -------------------------------------------------------------------------------------------------


@given(dags(), positive)
def test_the_same_everywhere(dag: Dag, alpha: float) -> None:
    assert np.all(Dirichlet(alpha)(dag).alpha == alpha)
    assert np.all(k2()(dag).alpha == 1)


@given(dags(), positive)
def test_bdeu_spreads_its_rows_evenly(dag: Dag, ess: float) -> None:
    alpha = bdeu(ess)(dag).alpha
    for i in range(len(dag.names)):
        table = dag.layout.table(alpha, i)
        np.testing.assert_allclose(table, ess / table.size, rtol=1e-14)


@settings(max_examples=40)
@given(networks(max_variables=5, textures=("even", "random")), positive, st.data())
def test_a_prior_network_is_worth_its_rows_in_every_family(
    network: Network, ess: float, data: st.DataObject
) -> None:
    """α of a family is ess · p(family), for the network's own graph and any other over its variables."""
    order = data.draw(st.permutations(network.dag.names))
    parents = {
        child: data.draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=2))
        for place, child in enumerate(order)
        if place
    }
    for graph in (network.dag, Dag.from_parents(network.dag.schema, parents)):
        alpha = prior_network(network, ess)(graph).alpha
        row = [-1] * len(graph.names)
        for i, name in enumerate(graph.names):
            table = graph.layout.table(alpha, i)
            wanted = ess * naive.posterior(network, row, [*graph.parents_of(name), name])
            np.testing.assert_allclose(table, wanted, rtol=1e-10)
            assert table.sum() == pytest.approx(ess, rel=1e-10)


@settings(max_examples=40)
@given(dags(), positive)
def test_an_even_prior_network_is_bdeu(dag: Dag, ess: float) -> None:
    even = Network(dag, dag.layout.normalize(np.ones(dag.layout.size)))
    np.testing.assert_allclose(prior_network(even, ess)(dag).alpha, bdeu(ess)(dag).alpha, rtol=1e-12)


def test_priors_that_cannot_be() -> None:
    graph = dag("A -> B")
    for bad in (0.0, -1.0, math.inf, math.nan):
        for prior in (Dirichlet, BDeu, lambda ess: prior_network(random_network(graph), ess)):
            with pytest.raises(ParameterError, match="positive and finite"):
                prior(bad)
        with pytest.raises(ParameterError, match="positive and finite"):
            Belief(graph, np.array([1, 1, 1, 1, 1, bad]))
    with pytest.raises(ParameterError, match="parameters"):
        Belief(graph, np.ones(5))
    zero = Network.from_tables(graph, {"A": [1.0, 0.0], "B": [[0.5, 0.5], [0.5, 0.5]]})
    with pytest.raises(ParameterError, match="probability zero"):
        prior_network(zero, 1.0)(graph)
    for stranger in (dag("A -> C"), dag("A -> B", states=3)):
        with pytest.raises(ParameterError, match="does not have the variable"):
            prior_network(random_network(graph), 1.0)(stranger)


def test_parameters_are_drawn_from_the_belief() -> None:
    graph = dag("x -> y", states=3, kinds={"y": "continuous"})
    table = random_network(graph, rng=0).sample(200, rng=0)
    belief: Belief = fit(graph, table).belief
    rng = np.random.default_rng(0)
    many = np.array([belief.draw(rng) for _ in range(500)])
    error = many.std(axis=0) / np.sqrt(len(many))
    # Means of 500 draws within five standard errors; the mean of a variance is not what `mean` holds.
    layout = graph.layout
    places = [*range(layout.tables), *(layout.tables + 2 * np.arange(3)).tolist()]
    assert np.all(np.abs(many.mean(axis=0) - belief.mean())[places] < 5 * error[places] + 1e-12)

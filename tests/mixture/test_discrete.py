"""Mixtures of discrete networks: against a network with a hidden class, a plain search, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.mixture.learner import MixtureLearner
from lacunary.mixture.noise import noise_of
from lacunary.structure.networks import Networks


@pytest.fixture(scope="module")
def rows() -> Table:
    """Two groups with different graphs over four variables, a tenth of the cells missing."""
    schema = lac.dag("A; B; C; D", states=2).schema
    graphs = [lac.dag(text, schema=schema) for text in ("A -> B; C; D", "C -> D; A; B")]
    strong = np.array([[0.95, 0.05], [0.05, 0.95]])
    first = lac.Network.from_tables(
        graphs[0], {"A": [0.5, 0.5], "B": strong, "C": [0.9, 0.1], "D": [0.9, 0.1]}
    )
    last = lac.Network.from_tables(
        graphs[1], {"C": [0.5, 0.5], "D": strong, "A": [0.1, 0.9], "B": [0.1, 0.9]}
    )
    mixture = lac.Mixture(np.array([0.5, 0.5]), (first, last))
    return lac.make_holes(mixture.sample(800, rng=1), 0.1, rng=1)


def test_without_arcs_it_is_a_network_with_a_hidden_class(rows: Table) -> None:
    found = lac.fit_mixture(
        rows, components=3, structure="empty", prior=lac.k2(), stop=lac.Stop(iterations=20)
    ).mixture
    dag = lac.naive_bayes(rows.schema, hidden="class", states=3)
    tables = {n: np.stack([c.table(n) for c in found.components]) for n in rows.schema.names}
    network = lac.Network.from_tables(dag, {**tables, "class": found.weights})
    # The same sums in another order.
    np.testing.assert_allclose(found.log_probability(rows), network.log_probability(rows), rtol=1e-12)
    expected = network.posterior(rows, ["class"])["class"]
    np.testing.assert_allclose(found.responsibilities(rows), expected, atol=1e-12)


def test_a_step_never_loses(rows: Table) -> None:
    learner = MixtureLearner(Networks(rows), noise_of(True, rows))
    structures = [((), (0,), (), ()), ((), (), (0, 1), (2,))]
    model = learner.begin(structures, 20.0, np.random.default_rng(0))
    before = -np.inf
    for _ in range(30):
        completed = learner.expect(model)
        now = completed.log_likelihood + learner.log_prior(model)
        assert now >= before - 1e-9 * abs(now)  # rounding of a sum over rows
        model, before = learner.maximize(completed, structures), now


def test_one_component_is_structural_em(rows: Table) -> None:
    plain = lac.search(rows, method="greedy", structure_prior=None, escapes=0)
    found = lac.fit_mixture(rows, components=1, method="greedy", structure_prior=None)
    assert lac.equivalent(found.mixture.components[0].dag, plain.dag)
    # Both climb to the same maximum, and stop a little before it, by rules of 1e-6 and 1e-8.
    assert found.estimate.value == pytest.approx(plain.score, abs=1e-3)


def test_groups_and_their_graphs_are_found(rows: Table) -> None:
    found = lac.fit_mixture(rows, components=(1, 2, 3))
    assert len(found.mixture.components) == 2
    truth = [lac.dag(text, schema=rows.schema) for text in ("A -> B; C; D", "C -> D; A; B")]
    # Group and graph can stand for each other where a variable has two states: what counts is the evidence.
    schedule = "((EM)^10 Ec S* M)*"
    drawn = lac.fit_mixture(rows, components=2, starts=lac.Around(3), schedule=schedule)
    assert found.estimate.value >= drawn.estimate.value
    assert {frozenset(arc) for c in found.mixture.components for arc in c.dag.arcs} <= {
        frozenset(arc) for dag in truth for arc in dag.arcs
    }


def test_hidden_variables_inside_components() -> None:
    dag = lac.dag("H -> A B C D E", states=2, hidden=["H"])
    strong = np.array([[0.9, 0.1], [0.1, 0.9]])
    network = lac.Network.from_tables(dag, {"H": [0.5, 0.5], **dict.fromkeys("ABCDE", strong)})
    seen = network.sample(500, rng=0).select(list("ABCDE"))
    found = lac.fit_mixture(seen, components=1, hidden={"H": 2})
    component = found.mixture.components[0]
    assert component.dag.schema.hidden == ("H",)
    assert found.mixture.log_probability(seen).shape == (500,)
    assert found.estimate.value > lac.fit_mixture(seen, components=1, structure="empty").estimate.value


def test_gibbs_predicts_as_the_belief_does() -> None:
    table = lac.asia().sample(60, rng=0)
    found = lac.fit_mixture(table, components=1, structure="empty", prior=lac.k2())
    new = lac.asia().sample(20, rng=1)
    told = found.predict(new, draws=200, burn=0)
    dag = found.mixture.components[0].dag
    counts = lac.expect(lac.random_network(dag), table).counts
    exact = lac.Belief(dag, 1.0 + counts).log_probability(new)
    # With one component draws are independent; five standard errors are passed once in a million.
    assert told.score == pytest.approx(exact.mean(), abs=5 * told.stderr + 1e-6)


def test_priors_of_the_wrong_kind_are_refused(rows: Table) -> None:
    with pytest.raises(ParameterError, match="bdeu"):
        lac.fit_mixture(rows, prior=3)  # type: ignore[arg-type]

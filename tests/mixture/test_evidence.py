"""Laplace and annealed importance sampling of mixtures beside enumeration and beside networks."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

import lacunary as lac
from lacunary.errors import ParameterError, SchemaError
from lacunary.mixture.engine import engine_of
from lacunary.mixture.evidence import _log_permanent, _slope, annealed, laplace
from lacunary.mixture.learner import Completed, MixtureLearner, Parameters
from lacunary.mixture.noise import noise_of
from lacunary.structure.score import Structure
from tests.mixture.small import continuous, owned, two_groups

GRAPHS: tuple[Structure, ...] = (((), (0,), ()), ((), (), (1,)))
"""Two components with different graphs over three variables."""


ALIKE: tuple[Structure, ...] = (((), (0,), ()), ((), (0,), ()))
"""Two components whose names may be exchanged."""


def learner_of(
    table: lac.Table, noise: bool = False, graphs: tuple[Structure, ...] = GRAPHS
) -> tuple[MixtureLearner, Parameters]:
    bounds = noise_of((-20.0, 20.0), table) if noise else None
    learner = MixtureLearner(engine_of(table, None), bounds)
    return learner, learner.begin(graphs, 50.0, np.random.default_rng(0))


def summed(
    table: lac.Table, learner: MixtureLearner, model: Parameters, graphs: tuple[Structure, ...] = GRAPHS
) -> float:
    """The evidence as a sum over the owners of all rows, by the evidence of the rows of each component."""
    many, logs = len(model.weights), []
    for owner in product(range(many), repeat=len(table)):
        shares = (np.array(owner)[:, None] == np.arange(many)).astype(np.float64)
        known = owned(learner.engine, shares)
        completed = Completed(known, shares.sum(axis=0), learner.engine.statistics(model.models, known), 0.0)
        units = np.log(table.reals.std(axis=0)).sum() * shares[:, : len(GRAPHS)].sum()
        logs.append(learner.log_evidence(completed, graphs) - units)
    return float(logsumexp(logs))


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("graphs", [GRAPHS, ALIKE])
def test_annealing_is_the_sum_over_all_owners(graphs: tuple[Structure, ...], noise: bool) -> None:
    table = continuous(np.random.default_rng(3).normal(size=(4, 3)))
    learner, model = learner_of(table, noise, graphs)
    found = annealed(learner, model, graphs, [1], longest=100)
    assert found.stderr is not None
    # Five standard errors, which are themselves known from sixteen chains to a fifth of their size.
    assert abs(found.value - summed(table, learner, model, graphs)) < 5.0 * found.stderr
    assert found.stderr < 0.5


def test_annealing_counts_every_name_of_groups_far_apart() -> None:
    """Owners are certain: the evidence is k! times that of the completed rows, which the bound has."""
    rng = np.random.default_rng(0)
    table = continuous(np.concatenate([rng.normal(size=(30, 3)) + 20.0 * k for k in range(3)]))
    found = lac.fit_mixture(table, components=3, structure="empty")
    annealed_, bound = (lac.score(found, table, method) for method in ("ais", "variational"))
    assert annealed_.trustworthy
    assert annealed_.details["steps"] <= 100
    assert abs(annealed_.value - bound.value - np.log(6.0)) < 4 * (annealed_.stderr or 0.0) + 0.02


def test_the_permanent_is_the_sum_over_all_orders() -> None:
    logs = np.random.default_rng(1).normal(size=(4, 4)) * 5.0
    every = [sum(logs[i, j] for i, j in enumerate(order)) for order in permutations(range(4))]
    assert _log_permanent(logs) == pytest.approx(logsumexp(every), rel=1e-13)


def test_the_slope_of_a_regression_s_likelihood() -> None:
    """That of dof/2 log w − ½ w vᵀMv, v = (−intercept, −β/w, 1), by differences on both sides."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 9))
    moment, own, dof, step = root @ root.T, np.array([0.3, -0.7, 1.1, 0.8]), 5.0, 1e-6

    def height(at: NDArray[np.float64]) -> float:
        v = np.concatenate([[-at[0]], -at[1:-1] / at[-1], [1.0]])
        return float(0.5 * dof * np.log(at[-1]) - 0.5 * at[-1] * (v @ moment @ v))

    expected = [(height(own + step * e) - height(own - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(_slope(moment, own, dof), expected, rtol=1e-7)


def test_laplace_of_one_graph_is_that_of_the_network() -> None:
    x = two_groups(60)[:, :3]
    table = continuous(x)
    prior = lac.NormalWishart(nu=1.0)
    graph = "x0 -> x1; x2"
    found = lac.fit_mixture(table, components=2, structure=graph, prior=prior, choose="laplace")
    assert found.estimate.method == "laplace"
    # The same peak and curvature, differentiated by other means; differences err by 1e-6 of a width.
    dag = lac.dag("c -> x0; c -> x1; c -> x2; x0 -> x1", schema=_classes(table))
    network = lac.score(
        dag, table, "laplace", prior=lac.NormalWishart(nu=1.0, tables=lac.Dirichlet(0.5)), starts=4
    )
    assert found.estimate.value == pytest.approx(network.value, abs=1e-3)
    assert lac.score(found, table, "laplace", prior=prior).value == pytest.approx(network.value, abs=1e-3)


def _classes(table: lac.Table) -> lac.Schema:
    return lac.Schema((lac.Variable("c", (0, 1), hidden=True), *table.schema))


def test_a_mixture_of_one_graph_has_what_its_network_has() -> None:
    rng = np.random.default_rng(0)
    table = lac.read({"a": rng.choice(["u", "v"], 7), "b": rng.choice(["u", "v", "w"], 7)})
    found = lac.fit_mixture(table, components=2, structure="a -> b", weights=2.0)
    assert found.chosen.origin is not None
    learner, model = found.chosen.origin.learner, found.chosen.origin.model
    graphs, logs = found.chosen.origin.structures, []
    for owner in product(range(2), repeat=len(table)):
        shares = np.eye(2)[list(owner)]
        known = owned(learner.engine, shares)
        completed = Completed(known, shares.sum(axis=0), learner.engine.statistics(model.models, known), 0.0)
        logs.append(learner.log_evidence(completed, graphs))
    # The network sums over its hidden class in its own way; both are sums of exact numbers.
    assert lac.score(found, table, "exact", weights=2.0).value == pytest.approx(logsumexp(logs), abs=1e-9)
    numbers = continuous(two_groups(30)[:, :3])
    groups = lac.fit_mixture(numbers, components=2, structure="empty", prior=lac.NormalWishart(nu=1.0))
    assert lac.score(groups, numbers, "map", prior=lac.NormalWishart(nu=1.0)).method == "map"


def test_laplace_needs_no_complete_rows() -> None:
    table = continuous(two_groups(60, holes=0.2)[:, :3])
    found = lac.fit_mixture(table, components=2, structure=["x0 -> x1; x2", "x1 -> x2; x0"], choose="laplace")
    close = lac.score(found, table, "cheeseman-stutz").value
    # Both are O(1/N) from the evidence of one peak; a mistake in a unit or a constant is larger.
    assert found.estimate.value == pytest.approx(close, abs=5.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"choose": "ais"}, "rows without holes"),
        ({"choose": "laplace", "noise": True}, "give the bounds"),
        ({"choose": "laplace", "shared": "EEE"}, "no evidence in closed form"),
        ({"choose": "loud"}, "choose must be"),
    ],
)
def test_what_cannot_be_chosen_by_is_said(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        lac.fit_mixture(two_groups(20, holes=0.2), components=2, **settings)  # type: ignore[arg-type]


def test_methods_of_networks_are_refused_where_graphs_differ() -> None:
    table = continuous(two_groups(20)[:, :3])
    found = lac.fit_mixture(table, components=2, structure=["x0 -> x1; x2", "x1 -> x2; x0"])
    with pytest.raises(ParameterError, match="different graphs"):
        lac.score(found, table, "chib")
    with pytest.raises(ParameterError, match="there is no method"):
        lac.score(found, table, "loud")


def test_laplace_is_worked_out_at_a_peak() -> None:
    table = continuous(two_groups(60)[:, :3])
    learner, model = learner_of(table)
    found = laplace(learner, model, GRAPHS)
    assert found.dimension == learner.dimension(GRAPHS)
    assert found.value == pytest.approx(sum(found.terms.values()))


def test_mixtures_are_compared_with_networks() -> None:
    table = continuous(two_groups(40)[:, :3])
    prior = lac.NormalWishart(nu=1.0)
    found = lac.fit_mixture(table, components=2, structure="empty", prior=prior)
    one = lac.Dag.from_arcs(table.schema, [("x0", "x1")])
    compared = lac.compare({"groups": found, "one": one}, table, ["cheeseman-stutz", "bic"], prior=prior)
    assert compared.best() == "groups"  # six standard deviations apart
    own = lac.score(found, table, "cheeseman-stutz", prior=prior).value
    assert compared.estimates["groups"]["cheeseman-stutz"].value == own
    assert compared.estimates["one"]["bic"].value == lac.score(one, table, "bic", prior=prior).value
    assert {each["bic"].where for each in compared.estimates.values()} == {"ml"}
    assert "groups" in str(compared)
    assert {row["parameters"] for row in compared.rows()} == {13, 7}
    with pytest.raises(ParameterError, match="averages are of networks"):
        compared.average()
    others = lac.fit_mixture(continuous(two_groups(40)), components=1, structure="empty")
    with pytest.raises(SchemaError, match="not comparable"):
        lac.compare([found, others], table)

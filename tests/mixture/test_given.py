"""Given graphs, a mixture to start from, maximum likelihood, hidden states by trial, and what is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.errors import GraphError, LacunaryError, ParameterError
from tests.mixture.small import continuous, two_groups
from tests.mixture.test_shared import MCLUST, three_groups

GRAPHS = ["x3 -> x0; x1; x2", "x0 -> x1 -> x2; x3"]


def test_given_graphs_are_fitted_and_go_to_the_groups_they_fit() -> None:
    table = continuous(two_groups(60))
    found = lac.fit_mixture(table, structure=GRAPHS)
    assert {str(c.dag) for c in found.mixture.components} == {"x3 -> x0; x1; x2", "x0 -> x1; x1 -> x2; x3"}
    shares = found.mixture.responsibilities(table)
    chain = next(c for c, part in enumerate(found.mixture.components) if len(part.dag.arcs) == 2)
    assert shares[:60, chain].mean() > 0.95  # the first group is the chain's
    turned = lac.fit_mixture(table, structure=GRAPHS[::-1])
    assert turned.estimate.value == pytest.approx(
        found.estimate.value, rel=1e-7
    )  # EM ends just below the top
    one = lac.fit_mixture(table, structure="x0 -> x1", components=2)
    assert [c.dag.arcs for c in one.mixture.components] == [(("x0", "x1"),)] * 2


def test_a_given_graph_is_worth_what_its_network_is() -> None:
    """One component on a complete table is a network, whose evidence is known."""
    table, prior = continuous(two_groups(30)), lac.NormalWishart()
    dag = lac.Dag.from_arcs(table.schema, [("x0", "x1"), ("x1", "x2")])
    found = lac.fit_mixture(table, structure=dag, components=1, prior=prior)
    assert found.estimate.value == pytest.approx(lac.score(dag, table, "exact", prior=prior).value, rel=1e-9)


def test_a_mixture_to_start_from() -> None:
    table = continuous(two_groups(60, holes=0.1))
    found = lac.fit_mixture(table, components=2)
    again = lac.fit_mixture(table, initial=found)
    assert again.path[0].how == "the mixture given"
    assert again.estimate.value >= found.estimate.value - 1e-6 * abs(found.estimate.value)
    bare = lac.fit_mixture(table, initial=found.mixture, structure="empty")
    assert bare.path[0].components == 2
    with pytest.raises(ParameterError, match="over other variables"):
        lac.fit_mixture(continuous(two_groups(20)[:, :3]), initial=found)


def test_score_weighs_a_mixture_as_it_was_weighed() -> None:
    table = continuous(two_groups(60, holes=0.1))
    found = lac.fit_mixture(table, components=2, noise=(-1000.0, 1000.0))
    for model in (found, found.mixture):
        # Where the fit ended EM has converged: a millionth of its way is left.
        assert lac.score(model, table).value == pytest.approx(found.estimate.value, rel=1e-6)
    bound = lac.score(found, table, "variational")
    assert bound.kind == "lower bound"
    with pytest.raises(ParameterError, match="not known of this mixture"):
        lac.score(found, table, "chib")


def test_maximum_likelihood_reaches_mclust() -> None:
    """Three unlike groups: full covariances, begun from k-means and hierarchical merging as mclust's are."""
    x, _ = three_groups()
    found = lac.fit_mixture(x, components=3, structure="complete", method="ml")
    likelihood = found.estimate.terms["log-likelihood"]
    # EM stops a billionth of the objective before the top.
    assert likelihood == pytest.approx(MCLUST["VVV"][0], abs=1e-3)
    assert found.estimate.method == "bic"
    assert found.estimate.value == pytest.approx(likelihood - 0.5 * 44 * np.log(len(x)))


def test_a_likelihood_without_maximum_is_said_to_be_degenerate() -> None:
    found = lac.fit_mixture(two_groups(12), components=12, structure="complete", method="ml")
    assert found.degenerate
    assert "degenerate" in str(found)
    fine = lac.fit_mixture(two_groups(60), components=[2], structure="empty", method="ml")
    assert not fine.degenerate


def test_a_multinet_with_every_label_known_is_exact() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=60)
    x = rng.normal(3.0 * group, 1.0)
    table = lac.read({"s": np.where(group == 1, "v", "u"), "x": x, "y": x * group + rng.normal(size=60)})
    found = lac.fit_mixture(table, given="s")
    assert found.estimate.kind == "exact"
    # By hand: a Dirichlet of one row over two labels, and each group's own regressions.
    prior = lac.NormalWishart()
    whole = lac.fit_mixture(table, given="s", structure="empty", prior=prior)
    scale = table.select(["x", "y"])
    counts = np.bincount(group)
    from scipy.special import gammaln

    labels = gammaln(1.0) - gammaln(61.0) + (gammaln(0.5 + counts) - gammaln(0.5)).sum()
    means = {n: float(np.mean(scale[n])) for n in ("x", "y")}
    about = lac.NormalWishart(means=means, covariance=np.diag([np.var(scale[n]) for n in ("x", "y")]))
    parts = [
        lac.score(lac.Dag.from_arcs(scale.schema, []), scale.take(group == g), "exact", prior=about).value
        for g in range(2)
    ]
    assert whole.estimate.value == pytest.approx(labels + sum(parts), rel=1e-9)


def test_numbers_of_hidden_states_are_tried() -> None:
    votes = lac.house_votes().select(["party", "crime", "immigration", "mx_missile"])
    found = lac.fit_mixture(votes, components=1, hidden={"H": [1, 2]}, max_parents=2)
    assert found.hidden_trials is not None
    assert set(found.hidden_trials) == {(("H", 1),), (("H", 2),)}
    assert found.chosen.value == max(found.hidden_trials.values())


@pytest.mark.parametrize("search", ["best-first", "anneal", lac.Greedy(restarts=2)])
def test_searches_that_are_the_step_itself(search: Any) -> None:
    table = continuous(two_groups(60))
    found = lac.fit_mixture(table, components=2, search=search, tiers=[["x3"], ["x0", "x1", "x2"]])
    assert all(tick.phase != "refine" for tick in found.chosen.ticks)
    assert all(arc[1] != "x3" for c in found.mixture.components for arc in c.dag.arcs)


def test_weights_can_begin_at_draws() -> None:
    table = continuous(two_groups(40))
    drawn = lac.fit_mixture(table, components=2, starts=lac.Around(2), begin_weights="draws")
    equal = lac.fit_mixture(table, components=2, starts=lac.Around(2))
    assert drawn.path[0].ticks[0] != equal.path[0].ticks[0]


def test_what_structures_leave_out_is_said() -> None:
    table = continuous(two_groups(40))
    found = lac.fit_mixture(table, components=2, shared=["volume"])
    assert "as if every component had parameters of its own" in found.approximation
    assert not lac.fit_mixture(table, components=2, shared="EEE").approximation


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"structure": ["x0 -> z"]}, LacunaryError, "'z'"),
        ({"structure": lac.dag("a -> b", kinds="continuous")}, GraphError, "has a, which the table has not"),
        ({"structure": []}, ParameterError, "no graph"),
        ({"structure": GRAPHS, "components": 3}, ParameterError, "2 graphs are given"),
        ({"hidden": {"H": []}}, ParameterError, "the states of a hidden variable"),
        ({"method": "ml", "choose": "variational"}, ParameterError, "choose='bic'"),
        ({"method": "ml", "prior": lac.NormalWishart()}, ParameterError, "takes no prior"),
        ({"initial": 3}, ParameterError, "initial is a mixture"),
        ({"components": 2.5}, ParameterError, "whole number of at least one, not 2.5"),
        ({"weights": 0.0}, ParameterError, "weights.* must be positive"),
        ({"weights": float("nan")}, ParameterError, "weights.* must be positive"),
        ({"noise": True, "noise_share": -1.0}, ParameterError, "between 0 and 1"),
        ({"begin_weights": "random"}, ParameterError, "'equal' or 'draws'"),
    ],
)
def test_bad_wishes(options: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        lac.fit_mixture(continuous(two_groups(10)), **options)


def test_a_mixture_to_start_from_keeps_its_number_of_components() -> None:
    table = continuous(two_groups(20))
    found = lac.fit_mixture(table, components=2, structure="empty")
    assert len(lac.fit_mixture(table, initial=found, components=2).mixture.components) == 2
    with pytest.raises(ParameterError, match="has 2 components"):
        lac.fit_mixture(table, initial=found, components=3)


def test_an_estimate_that_a_mixture_has_not_leaves_the_others() -> None:
    table = continuous(two_groups(20))
    found = lac.fit_mixture(table, structure=GRAPHS)
    one = lac.search(table).dag
    both = lac.compare({"groups": found, "one": one}, table, ["exact", "cheeseman-stutz"])
    assert both.estimated("exact") == ("one",)
    assert "not known of this mixture" in both.refused["groups"]["exact"]
    assert both.best() == "groups"

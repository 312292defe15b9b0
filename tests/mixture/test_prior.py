"""One prior for fits, searches and mixtures: the public rule and the belief it stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lacunary as lac
from lacunary.errors import ParameterError
from lacunary.maths.normal_wishart import NormalWishart
from tests.mixture.small import continuous, two_groups

TABLE = continuous(two_groups(30))
BELIEF = NormalWishart(2.0, np.array([1.0, 480.0, 2.0, 0.0]), 7.0, np.diag([1.0, 300.0, 1e-4, 9.0]))
RULE = lac.NormalWishart(
    2.0, {"x0": 1.0, "x1": 480.0, "x2": 2.0, "x3": 0.0}, np.diag([1.0, 300.0, 1e-4, 9.0]) / 2.0, alpha=7.0
)


def test_the_rule_and_its_belief_are_one_prior() -> None:
    search = [lac.search(TABLE, prior=prior) for prior in (RULE, BELIEF)]
    assert search[0].dag == search[1].dag
    assert search[0].score == pytest.approx(search[1].score, rel=1e-12)
    np.testing.assert_allclose(search[0].network.theta, search[1].network.theta, rtol=1e-9)
    mixtures = [lac.fit_mixture(TABLE, components=2, prior=prior) for prior in (RULE, BELIEF)]
    assert mixtures[0].estimate.value == pytest.approx(mixtures[1].estimate.value, rel=1e-12)


def test_the_tables_own_is_the_default() -> None:
    said = lac.fit_mixture(TABLE, components=2, prior=lac.NormalWishart())
    own = lac.empirical_prior(TABLE)
    assert lac.search(TABLE, prior=own).score == lac.search(TABLE).score
    heavier = lac.fit_mixture(TABLE, components=2, prior=lac.NormalWishart(nu=10))
    assert heavier.estimate.value != said.estimate.value


def test_the_priors_of_the_paper_can_be_said() -> None:
    """TMCH98 section 6.1: ν = 2, μ = 64, α = 66, τ = I for 64 pixels."""
    names = [f"p{i}" for i in range(64)]
    about = lac.NormalWishart(nu=2, means=64, covariance=0.5).about(names)
    assert (about.nu, about.alpha) == (2.0, 66.0)
    np.testing.assert_array_equal(about.mu, np.full(64, 64.0))
    np.testing.assert_array_equal(about.tau, np.eye(64))


def test_mixed_tables_take_the_rule_too() -> None:
    rng = np.random.default_rng(0)
    table = lac.read({"a": list("uv" * 20), "x": rng.normal(size=40), "y": rng.normal(size=40)})
    one = lac.search(table, prior=lac.NormalWishart(tables=lac.bdeu(1)))
    assert one.score == lac.search(table).score
    assert lac.search(table, prior=lac.NormalWishart(tables=lac.bdeu(9))).score != one.score


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        (3, "NormalWishart"),
        (lac.NormalWishart(means={"x0": 1.0}, covariance=1.0), "no mean for x1"),
        (lac.NormalWishart(means=0.0, covariance=np.eye(3)), r"must be \(4, 4\)"),
    ],
    ids=["number", "means", "covariance"],
)
def test_what_makes_no_prior_is_refused(prior: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        lac.fit_mixture(TABLE, components=1, prior=prior)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=said):
        lac.search(TABLE, prior=prior)


def test_results_say_which_priors_they_stand_on(tmp_path: Path) -> None:
    table = lac.random_network(lac.dag("x -> y", kinds={"x": "continuous", "y": "continuous"})).sample(40)
    own = lac.fit_mixture(table, components=1)
    assert "prior of parameters: the table's own Normal-Wishart" in str(own)
    assert "of graphs: beta-binomial" in str(own)
    lac.save(own, tmp_path / "own.json")
    assert lac.load(tmp_path / "own.json").prior == own.prior
    named = lac.fit_mixture(table, components=1, prior=lac.NormalWishart(nu=1), structure_prior=None)
    assert "prior of parameters: NormalWishart(nu=1" in str(named)
    assert "of graphs: uniform" in str(named)
    likely = lac.fit_mixture(table, components=1, method="ml")
    assert str(likely).count("prior") == 1  # that of graphs counts, one of parameters there is none
    assert f"log prior of the graphs {likely.log_structure_prior:.2f}" in str(likely)
    rows = lac.asia().sample(20, rng=0).select(["smoke", "lung"])
    assert "prior of parameters: BDeu(ess=1.0); of graphs: beta-binomial" in str(lac.search(rows))
    charged = lac.search(rows, prior=flat, structure_prior=2)
    assert "prior of parameters: flat; of graphs: 2 nats a link" in str(charged)


def flat(graph: lac.Dag) -> lac.Belief:
    return lac.Dirichlet(1.0)(graph)


def test_of_mixed_tables_the_prior_of_states_is_said_too() -> None:
    table = lac.random_network(lac.dag("x; a", kinds={"x": "continuous"}), rng=1).sample(30, rng=1)
    assert "means worth 1, tables BDeu(ess=1.0); of graphs" in str(lac.search(table))
    assert "tables BDeu(ess=7); of graphs" in str(lac.search(table, prior=lac.bdeu(7)))
    assert str(lac.search(table, prior=lac.NormalWishart(nu=1))).count("tables") == 1
    assert "tables BDeu(ess=1.0); of graphs" in str(lac.fit_mixture(table, components=1))

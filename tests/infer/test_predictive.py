"""What a belief says of a row: the parameters integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import lacunary as lac
from lacunary.data.schema import Kind
from lacunary.family.distribution import StudentMixture
from lacunary.infer.belief import Belief
from tests.strategies import mixed_networks

MEANS, SPREAD = {"x": 1.0, "y": -2.0, "z": 0.5}, np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.7]])
PRIOR = lac.NormalWishart(nu=1.5, means=MEANS, covariance=SPREAD, alpha=5.0, tables=lac.Dirichlet(0.7))
ROUNDING = 1e-10
"""Absolute, of logarithms: sums of a dozen log-gammas and logarithms of determinants of size 4."""


def learned(dag: lac.Dag, table: lac.Table) -> Belief:
    """Return the exact posterior after complete rows: their moments added, one after the other."""
    belief = PRIOR(dag)
    network = lac.Network(dag, belief.mean())
    return Belief(dag, belief.alpha + lac.expect(network, table).counts, belief.surplus)


@pytest.fixture(scope="module")
def gaussian() -> tuple[lac.Dag, lac.Table]:
    dag = lac.dag("x -> y z; y -> z", kinds="continuous")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, 3)) @ rng.normal(size=(3, 3)) + [1.0, -2.0, 0.5]
    return dag, lac.read(dict(zip("xyz", rows.T, strict=True)), kinds="continuous")


def test_a_complete_graph_predicts_a_multivariate_t(gaussian: tuple[lac.Dag, lac.Table]) -> None:
    """DeGroot 1970, section 9.10: after N rows, t with α − n + 1 degrees of freedom about the mean."""
    dag, table = gaussian
    x, n = table.reals, 3
    nu, mu = 1.5 + len(x), (1.5 * np.array([1.0, -2.0, 0.5]) + x.sum(axis=0)) / (1.5 + len(x))
    apart = x - x.mean(axis=0)
    gap = x.mean(axis=0) - [1.0, -2.0, 0.5]
    tau = 1.5 * SPREAD + apart.T @ apart + 1.5 * len(x) / nu * np.outer(gap, gap)
    dof = 5.0 + len(x) - n + 1
    new = np.array([[0.0, 0.0, 0.0], [1.0, -5.0, 30.0]])
    expected = stats.multivariate_t(mu, tau * (nu + 1) / (nu * dof), dof).logpdf(new)
    found = learned(dag, table).log_probability(dict(zip("xyz", new.T, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING)


def test_a_row_s_density_is_a_ratio_of_evidences(gaussian: tuple[lac.Dag, lac.Table]) -> None:
    dag, table = gaussian
    fewer, last = table.take(np.arange(8)), table.take(np.array([8]))
    ratio = (
        lac.score(dag, table, "exact", prior=PRIOR).value - lac.score(dag, fewer, "exact", prior=PRIOR).value
    )
    assert learned(dag, fewer).log_probability(last)[0] == pytest.approx(ratio, abs=ROUNDING)


def test_so_it_is_with_discrete_parents() -> None:
    kinds: dict[str, Kind] = dict.fromkeys("xyz", "continuous")
    dag = lac.dag("d -> x y; x -> y z", kinds=kinds, states={"d": ["a", "b"]})
    rows = lac.random_network(dag, PRIOR, rng=3).sample(12, rng=1)
    fewer, last = rows.take(np.arange(11)), rows.take(np.array([11]))
    ratio = (
        lac.score(dag, rows, "exact", prior=PRIOR).value - lac.score(dag, fewer, "exact", prior=PRIOR).value
    )
    assert learned(dag, fewer).log_probability(last)[0] == pytest.approx(ratio, abs=ROUNDING)


def test_holes_that_nothing_depends_on_integrate_to_one(gaussian: tuple[lac.Dag, lac.Table]) -> None:
    dag, table = gaussian
    belief = learned(dag, table)
    whole = integrate.quad(
        lambda z: float(belief.probability({"x": 0.3, "y": 1.0, "z": z})), -np.inf, np.inf, epsabs=1e-12
    )[0]
    assert belief.probability({"x": 0.3, "y": 1.0}) == pytest.approx(whole, rel=1e-6)  # of the quadrature


def test_an_open_state_is_summed_out() -> None:
    """p(x) = Σ_d E[p(d)] t(x | d), and the state by Bayes' rule."""
    dag = lac.dag("d -> x", kinds={"x": "continuous"}, states={"d": ["a", "b"]})
    table = lac.read({"d": ["a", "a", "b", "b", "b"], "x": [0.1, 0.4, 3.0, 3.5, 2.0]})
    prior = lac.NormalWishart(nu=1.0, means=0.0, covariance=1.0)
    belief = Belief(dag, prior(dag).alpha + lac.expect(lac.random_network(dag), table).counts)
    heights = {}
    for state, share, x in (("a", 3 / 7, [0.1, 0.4]), ("b", 4 / 7, [3.0, 3.5, 2.0])):
        count = 1 + len(x)
        centre = sum(x) / count
        tau = 1 + sum((v - centre) ** 2 for v in x) + centre**2
        dof = 1.0 + len(x) + 1.0
        scale = np.sqrt(tau / dof * (1 + 1 / count))
        heights[state] = share * stats.t(dof, centre, scale).pdf(2.5)
    assert belief.probability({"x": 2.5}) == pytest.approx(sum(heights.values()), rel=ROUNDING)
    found = belief.query("d", given={"x": 2.5})
    assert found["b"] == pytest.approx(heights["b"] / sum(heights.values()), rel=ROUNDING)


def test_answers_are_student_t(gaussian: tuple[lac.Dag, lac.Table]) -> None:
    dag, table = gaussian
    belief = learned(dag, table)
    answer = belief.query("z", given={"x": 0.3, "y": 1.0})
    assert isinstance(answer, StudentMixture)
    twin = stats.t(answer.dofs[0], answer.means[0], answer.sds[0])
    assert answer.log_density(0.7) == pytest.approx(twin.logpdf(0.7), abs=ROUNDING)
    joint = belief.probability({"x": 0.3, "y": 1.0, "z": 0.7}) / belief.probability({"x": 0.3, "y": 1.0})
    assert np.exp(answer.log_density(0.7)) == pytest.approx(joint, rel=1e-9)
    assert answer.quantile(0.9) == pytest.approx(twin.ppf(0.9), rel=1e-9)
    assert answer.probability_below(0.2) == pytest.approx(twin.cdf(0.2), rel=1e-9)
    assert float(answer.mean) == pytest.approx(twin.mean())
    assert float(answer.sd) == pytest.approx(twin.std())
    assert "dof" in answer.to_dict()["components"][0]


def test_where_a_hole_is_depended_on_normals_stand_in(gaussian: tuple[lac.Dag, lac.Table]) -> None:
    dag, table = gaussian
    belief = learned(dag, table)
    plain = lac.Network(dag, belief.mean())
    case = {"z": 0.7}
    assert belief.log_density(case) == pytest.approx(plain.log_density(case), abs=ROUNDING)
    answer = belief.query("y", given=case)
    assert np.isinf(answer.dofs).all()
    assert answer.mean == pytest.approx(float(plain.query("y", given=case).mean))


@settings(max_examples=40, deadline=None)
@given(network=mixed_networks(max_hidden=0), rows=st.integers(1, 4))
def test_many_rows_make_a_belief_a_network(network: lac.Network, rows: int) -> None:
    """A belief worth 1e9 rows of mean zero and variance one is as good as the network that it expects.

    The t and the normal differ by a share of about x⁴/dof, here less than 1e-4 where |x| < 10.
    """
    dag = network.dag
    belief = lac.NormalWishart(nu=1e9, means=0.0, covariance=1.0)(dag)
    table = lac.random_network(dag, lambda _: belief, rng=0).sample(rows, rng=1)
    plain = lac.Network(dag, belief.mean())
    np.testing.assert_allclose(belief.log_probability(table), plain.log_probability(table), atol=1e-4)
    assert belief.log_likelihood(table) == pytest.approx(float(belief.log_probability(table).sum()), rel=1e-9)


def test_impossible_components_leave_a_density_alone() -> None:
    """Of two open states one is impossible in each row: its normal has neither mean nor spread."""
    dag = lac.dag(
        "d -> x -> y; d -> y", kinds={"x": "continuous", "y": "continuous"}, states={"d": ["a", "b"]}
    )
    network = lac.Network.from_tables(
        dag, {"d": [0.5, 0.5], "x": [[0.0, 1.0], [3.0, 1.0]], "y": [[1.0, 2.0, 0.25], [0.0, 1.0, 1.0]]}
    )
    table = {"d": ["a", "b", None], "x": [1.0, 1.0, 1.0], "y": [np.nan] * 3}
    density: Any = network.posterior(table, ["y"])["y"]
    found = density.log_density([2.5, 2.5, 2.5])
    a, b = stats.norm(3.0, 0.5).pdf(2.5), stats.norm(1.0, 1.0).pdf(2.5)
    share = stats.norm(0, 1).pdf(1) / (stats.norm(0, 1).pdf(1) + stats.norm(3, 1).pdf(1))
    np.testing.assert_allclose(np.exp(found), [a, b, share * a + (1 - share) * b], rtol=1e-9)


def test_moments_of_several_tables_at_once_are_those_of_each(gaussian: tuple[lac.Dag, lac.Table]) -> None:
    family, rng = gaussian[0].number(1), np.random.default_rng(0)
    values, weights = rng.normal(size=(2, 5, 2)), rng.uniform(0.5, 3.0, (2, 5))
    together, alone = np.zeros((2, 1, 9)), np.zeros((2, 1, 9))
    family.gather(values, np.zeros((2, 5), dtype=np.int64), weights, together)
    for k in range(2):
        family.gather(values[k], np.zeros(5, dtype=np.int64), weights[k], alone[k])
    np.testing.assert_allclose(together, alone, rtol=1e-12)

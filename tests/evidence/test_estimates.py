"""The estimates that stand on one fit, against their printed formulas and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from lacunary.data.datasets import house_votes
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.evidence.exact import exact
from lacunary.evidence.score import METHODS, pose
from lacunary.evidence.score import score as weigh
from lacunary.infer.belief import Dirichlet
from lacunary.infer.expect import expect
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.learn.vbem import update_rule
from lacunary.model.make import dag, naive_bayes

ROUNDING = 1e-9  # sums of log-gammas and logs of size about 1e3


@pytest.fixture(scope="module")
def votes() -> Table:
    return house_votes().select(house_votes().schema.names[1:9])


def closed_form(counts: dict[str, np.ndarray], alpha: float) -> float:
    """Return CH96 eq. 5 from tables indexed by the parents and last by the variable."""
    total = 0.0
    for table in counts.values():
        n, r = table.sum(axis=-1), table.shape[-1]
        total += (gammaln(r * alpha) - gammaln(r * alpha + n)).sum()
        total += (gammaln(alpha + table) - gammaln(alpha)).sum()
    return float(total)


def test_bic_draper_mled_and_cheeseman_stutz_are_as_printed(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=3)
    found = fit(graph, votes, prior=Dirichlet(1.01), basis="probability", starts=5)
    stats = expect(found.network, votes)
    d, log_n = 2 + 8 * 3, np.log(435)
    counts = {name: stats.table(name) for name in graph.names}
    fitted = sum(float(xlogy(counts[n], found.network.table(n)).sum()) for n in graph.names)
    imaginary = closed_form(counts, 1.01)
    expected = {
        "bic": stats.log_likelihood - d / 2 * log_n,
        "draper": stats.log_likelihood - d / 2 * log_n + d / 2 * np.log(2 * np.pi),
        "mled": imaginary,
        "cheeseman-stutz": imaginary - fitted + stats.log_likelihood,  # d′ = d: the terms in log N cancel
        "map": stats.log_likelihood,
    }
    for method, value in expected.items():
        estimate = weigh(found, votes, method, prior=Dirichlet(1.01))
        assert estimate.value == pytest.approx(value, abs=ROUNDING), method
        assert sum(estimate.terms.values()) == pytest.approx(estimate.value, abs=ROUNDING), method


def test_the_bound_after_one_update_is_the_plain_cheeseman_stutz(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=3)
    problem = pose(graph, votes, prior=Dirichlet(0.8), starts=3, stop=Stop(iterations=15))
    point = problem.point("map")
    rule = update_rule(problem.belief, None)
    # F(q(x), q(θ)) with q(x) the responsibilities at θ and q(θ) updated from them:
    # E[log p(x, y | θ)] + entropy of q(x) − KL(q(θ) ‖ p(θ)); the entropy is log p(y | θ) − Σ E[N] log θ.
    posterior = rule.improve(point.counts[None])
    expected_log = np.log(rule.potentials(posterior))[0]
    entropy = point.log_likelihood - float(xlogy(point.counts, point.theta).sum())
    bound = float(point.counts @ expected_log) + entropy - float(rule.divergence(posterior)[0])
    plain = weigh(
        graph, votes, "cheeseman-stutz", prior=Dirichlet(0.8), starts=3, stop=Stop(iterations=15), plain=True
    )
    assert plain.kind == "lower bound"
    assert plain.value == pytest.approx(bound, abs=ROUNDING)


@pytest.mark.parametrize("seed", range(12))
def test_exact_is_above_the_bound_is_above_cheeseman_stutz(seed: int) -> None:
    graph = dag("H -> A B C; A -> B", states={"H": 2, "A": 2, "B": 2, "C": 3}, hidden=["H"])
    rng = np.random.default_rng(seed)
    codes = random_network(graph, rng=seed).sample(5, rng=seed).codes.copy()
    codes[rng.random(codes.shape) < 0.2] = HOLE
    codes[:, graph.names.index("H")] = HOLE
    codes[0, graph.names.index("A")] = 0
    table = Table(graph.schema, codes)
    true = exact(pose(graph, table)).value
    bound = weigh(graph, table, "variational", start="map").value
    plain = weigh(graph, table, "cheeseman-stutz", plain=True).value
    assert true >= bound - ROUNDING
    assert bound >= plain - ROUNDING
    assert true >= weigh(graph, table, "variational").value - ROUNDING


def test_without_holes_the_estimates_that_need_none_agree() -> None:
    graph = dag("A -> B <- C", states=3)
    table = random_network(graph, rng=3).sample(40, rng=4)
    true = exact(pose(graph, table)).value
    for method in ("mled", "cheeseman-stutz", "variational"):
        assert weigh(graph, table, method).value == pytest.approx(true, abs=ROUNDING), method


def test_the_bound_never_falls_and_its_parts_add_up(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=4)
    found = fit(graph, votes, method="variational", starts=6, rng=2)
    for start in found.starts:
        # Rounding of a sum of 435 logs and of log-gammas, about 1e3 in size.
        assert np.diff(start.trace).min(initial=0.0) > -1e-9
    estimate = weigh(graph, votes, "variational", starts=6, rng=2)
    assert estimate.value == pytest.approx(found.objective, abs=ROUNDING)
    assert sum(estimate.terms.values()) == pytest.approx(estimate.value, abs=ROUNDING)


def test_acceleration_reaches_the_same_bound(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=3)
    start = random_network(graph, rng=5)
    tight = Stop(absolute=1e-9, iterations=5000)
    plain = fit(graph, votes, method="variational", initial=start, stop=tight)
    fast = fit(graph, votes, method="variational", initial=start, stop=tight, accelerate=True)
    # Stopping at changes of 1e-9 leaves a distance of that over one minus the rate of convergence.
    assert fast.objective == pytest.approx(plain.objective, abs=1e-5)
    assert fast.iterations < plain.iterations


def test_the_variational_posterior_predicts_with_its_mean(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=2)
    found = fit(graph, votes, method="variational", starts=3)
    by_mean = Network(graph, found.belief.mean())
    rows = votes.take(np.arange(10))
    assert found.belief.log_probability(rows) == pytest.approx(by_mean.log_probability(rows), abs=1e-12)
    assert found.network.theta == pytest.approx(found.belief.mean(), abs=1e-15)


def test_fixed_families_have_no_posterior() -> None:
    graph = dag("H -> X Y", states=2, hidden=["H"])
    table = random_network(graph, rng=0).sample(60, rng=0)
    found = fit(graph, table, method="variational", fixed={"H": [0.25, 0.75]}, starts=2)
    assert found.network.table("H") == pytest.approx([0.25, 0.75], abs=0)


def test_unknown_methods_and_options_are_named(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=2)
    with pytest.raises(ParameterError, match="known ones are " + ", ".join(METHODS)):
        weigh(graph, votes, "waic")
    with pytest.raises(ParameterError, match="'bic' has no option steps"):
        weigh(graph, votes, "bic", steps=3)
    with pytest.raises(ParameterError, match="at must be"):
        weigh(graph, votes, "bic", at="mean")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="N ≥ 1"):
        weigh(graph, Table(votes.schema, votes.codes[:1], weights=np.full(1, 0.5)), "bic")

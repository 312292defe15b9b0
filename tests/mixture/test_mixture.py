"""Mixtures of Gaussian networks: the steps against plain formulas, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import GraphError, ParameterError, SchemaError, TableError
from lacunary.infer.network import Network
from lacunary.maths import regression
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.mixture.fit import fit_mixture
from lacunary.mixture.gaussian import Gaussian
from lacunary.mixture.learner import MixtureLearner
from lacunary.mixture.noise import noise_of
from lacunary.structure.search import search
from tests.mixture.small import continuous, two_groups

STRUCTURES = [((), (0,), (0, 1), ()), ((3,), (), (0, 1), (1,))]
"""Two graphs on four variables."""


def dense(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a Gaussian network, by substituting parents, in topological order."""
    names = network.dag.names
    n = len(names)
    mean, weights = np.zeros(n), np.zeros((n, n))
    for i in network.dag.order_indices:
        record = network.dag.layout.records(network.theta, i)[0]
        parents = network.dag.parent_indices[i]
        mean[i] = record[0] + sum(b * mean[p] for b, p in zip(record[1:-1], parents, strict=True))
        weights[i] = sum((b * weights[p] for b, p in zip(record[1:-1], parents, strict=True)), np.zeros(n))
        weights[i, i] += np.sqrt(record[-1])
    return mean, weights @ weights.T


def naive_log_density(network: Network, x: np.ndarray) -> np.ndarray:
    """The marginal normal density of what is observed in each row."""
    mean, covariance = dense(network)
    out = []
    for row in x:
        seen = ~np.isnan(row)
        part = multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)], allow_singular=True)
        out.append(part.logpdf(row[seen]) if seen.any() else 0.0)
    return np.array(out)


@pytest.fixture(params=[0.0, 0.3], ids=["complete", "holes"])
def table(request: pytest.FixtureRequest) -> Table:
    return continuous(two_groups(40, holes=request.param))


def test_rows_have_the_density_of_the_networks(table: Table) -> None:
    engine = Gaussian(table)
    models = engine.draw(STRUCTURES, 50.0, np.random.default_rng(1))
    found = engine.log_evidence(models)
    for c, network in enumerate(engine.networks(models)):
        expected = naive_log_density(network, table.reals)
        # A draw around the fit is conditioned like the data: 1e-9 leaves room for the change of units.
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-9, atol=1e-9)


def test_the_prior_density_is_that_of_the_families(table: Table) -> None:
    engine = Gaussian(table)
    models = engine.draw(STRUCTURES, 50.0, np.random.default_rng(2))
    expected = 0.0
    for c, structure in enumerate(STRUCTURES):
        for child, parents in enumerate(structure):
            row = models.root[c, child]
            precision = row[child + 1]
            theta = np.array([*(-row[[0, *(p + 1 for p in parents)]] / precision), precision**-2])
            expected += float(regression.log_density(theta, *engine.belief.family(child, parents)))
    assert engine.log_prior(models) == pytest.approx(expected, rel=1e-12)


def test_a_step_never_loses(table: Table) -> None:
    learner = MixtureLearner(Gaussian(table), noise_of(True, table))
    model = learner.begin(STRUCTURES, 200.0, np.random.default_rng(3))
    before = -np.inf
    for _ in range(60):
        completed = learner.expect(model)
        now = completed.log_likelihood + learner.log_prior(model)
        assert now >= before - 1e-9 * abs(now)  # rounding of a sum over rows
        model, before = learner.maximize(completed, STRUCTURES), now


def test_one_component_without_holes_is_weighed_exactly() -> None:
    table = continuous(two_groups(30))
    prior = NormalWishart(2.0, np.array([1.0, 480.0, 2.0, 0.0]), 7.0, np.diag([1.0, 300.0, 1e-4, 9.0]))
    found = fit_mixture(table, components=1, structure="complete", prior=prior)
    z = np.column_stack([np.ones(len(table)), table.reals])
    # All that is expected is observed, so the estimate is the evidence itself: that of the Normal–Wishart.
    assert found.estimate.value == pytest.approx(prior.log_evidence(z.T @ z), rel=1e-10)


def test_one_component_is_a_plain_search() -> None:
    table = continuous(two_groups(100)[:100])
    prior = lac.NormalWishart(nu=1)
    plain = search(table, prior=prior)
    found = fit_mixture(table, components=1, prior=prior)
    assert found.log_structure_prior == pytest.approx(plain.log_structure_prior)
    assert lac.equivalent(found.mixture.components[0].dag, plain.dag)
    assert found.estimate.value == pytest.approx(plain.score, rel=1e-10)


def test_the_estimate_is_the_sum_of_its_terms_by_hand() -> None:
    table = continuous(two_groups(40))
    found = fit_mixture(table, components=2, noise=True)
    mixture, noise = found.mixture, found.mixture.noise
    assert noise is not None
    logs = np.column_stack([naive_log_density(c, table.reals) for c in mixture.components])
    logs = np.column_stack([logs, np.full(len(table), -np.log(noise.high - noise.low).sum())])
    likelihood = float(logsumexp(logs + np.log(mixture.weights), axis=1).sum())
    assert found.estimate.terms["log-likelihood"] == pytest.approx(likelihood, rel=1e-9)
    assert mixture.log_likelihood(table) == pytest.approx(likelihood, rel=1e-9)
    assert found.estimate.value == pytest.approx(sum(found.estimate.terms.values()))


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_groups_and_their_graphs_are_found(holes: float) -> None:
    found = fit_mixture(continuous(two_groups(200, holes=holes)), max_parents=3)
    assert len(found.mixture.components) == 2
    truth = [lac.dag(text, kinds="continuous") for text in ("x0 -> x1 -> x2; x3", "x3 -> x0; x1; x2")]
    skeletons = {frozenset(map(frozenset, c.dag.arcs)) for c in found.mixture.components}
    for dag in truth:
        assert any(frozenset(map(frozenset, dag.arcs)) <= skeleton for skeleton in skeletons)
    shares = found.mixture.responsibilities(continuous(two_groups(200, seed=9)))
    assert np.abs(shares[:200].mean(axis=0) - shares[200:].mean(axis=0)).max() > 0.9


def test_the_order_of_rows_changes_nothing() -> None:
    x = two_groups(60, holes=0.1)
    shuffled = x[np.random.default_rng(5).permutation(len(x))]
    one, two = (fit_mixture(continuous(rows), components=2) for rows in (x, shuffled))
    assert [c.dag for c in one.mixture.components] == [c.dag for c in two.mixture.components]
    # EM stops at a millionth of its way up; what rounding moves on the way is far below that.
    assert one.estimate.value == pytest.approx(two.estimate.value, rel=1e-7)


def test_weights_count_rows() -> None:
    x = two_groups(40)
    twice = fit_mixture(continuous(np.vstack([x, x])), components=2)
    weighted = fit_mixture(continuous(x, np.full(len(x), 2.0)), components=2)
    assert weighted.estimate.value == pytest.approx(twice.estimate.value, rel=1e-9)


def test_rows_beyond_the_bounds_are_no_noise() -> None:
    x = two_groups(40)
    table = continuous(x)
    noise = noise_of((-1e3, 1e3), table)
    assert noise is not None
    inside = noise.fixed.log_density(table)
    np.testing.assert_allclose(inside, -4 * np.log(2e3))
    narrow = noise_of({"x0": (-1e-3, 1e-3), "x1": (0, 1), "x2": (0, 1), "x3": (0, 1)}, table)
    assert narrow is not None
    assert np.isneginf(narrow.fixed.log_density(table)).all()


def test_empty_components_are_taken_out_and_said() -> None:
    rng = np.random.default_rng(0)
    found = fit_mixture(continuous(rng.normal(size=(12, 2))), components=10, structure="empty")
    trial = found.path[0]
    removed = any(tick.phase == "remove" for tick in trial.ticks)
    assert removed == (trial.components < trial.asked)
    assert "of the 10 asked for lost all rows" in str(found)
    assert found.mixture.weights.sum() == pytest.approx(1.0)


def test_watching_and_ending() -> None:
    table = continuous(two_groups(40))
    seen: list[int] = []

    def watch(progress: lac.MixtureProgress) -> bool:
        seen.append(progress.asked)
        return progress.asked == 3

    found = fit_mixture(table, watch=watch, structure="empty")
    assert found.interrupted
    assert list(dict.fromkeys(trial.asked for trial in found.path)) == [1, 2]
    assert seen[-1] == 3


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"components": 0}, ParameterError, "at least one"),
        ({"components": 1000}, ParameterError, "no more than rows"),
        ({"components": "many"}, ParameterError, "'auto'"),
        ({"structure": "ring"}, ParameterError, "structure must be"),
        ({"noise": (1.0, 1.0)}, ParameterError, "low < high"),
        ({"noise": {"x0": (0, 1)}}, ParameterError, "no bounds for x1"),
        ({"required": "x0 -> x1", "forbidden": "x0 -> x1"}, GraphError, "both required and forbidden"),
    ],
)
def test_bad_wishes(options: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        fit_mixture(continuous(two_groups(10)), **options)  # type: ignore[arg-type]


def test_bad_tables() -> None:
    with pytest.raises(TableError, match="no rows"):
        fit_mixture(continuous(np.empty((0, 2))))
    x = two_groups(10)
    x[:, 1] = np.nan
    with pytest.raises(TableError, match="nothing is observed of x1"):
        fit_mixture(continuous(x))
    x[:, 1] = 3.0
    with pytest.raises(TableError, match="x1 does not vary"):
        fit_mixture(continuous(x), noise=True)
    assert np.isfinite(fit_mixture(continuous(x), components=2).estimate.value)


def test_a_mixture_is_checked() -> None:
    found = fit_mixture(continuous(two_groups(20)), components=1).mixture
    with pytest.raises(ParameterError, match="sum to one"):
        lac.Mixture(np.array([0.5]), found.components)
    other = fit_mixture(continuous(two_groups(20)[:, :3]), components=1).mixture
    with pytest.raises(SchemaError, match="same variables"):
        lac.Mixture(np.array([0.5, 0.5]), (*found.components, *other.components))
    drawn = found.sample(50, rng=0, component=0)
    assert drawn.reals.shape == (50, 4)


def test_gibbs_predicts_as_the_belief_does() -> None:
    table, new = continuous(two_groups(15)), continuous(two_groups(2, seed=7))
    prior = NormalWishart(2.0, np.array([1.0, 480.0, 2.0, 0.0]), 9.0, np.diag([1.0, 300.0, 1e-4, 9.0]))
    found = fit_mixture(table, components=1, structure="complete", prior=prior)
    told = found.predict(new, draws=600, burn=0)
    z = np.column_stack([np.ones(len(table)), table.reals])
    known = prior.log_evidence(z.T @ z)
    exact = []
    for row in new.reals:
        more = np.concatenate([[1.0], row])
        exact.append(prior.log_evidence(z.T @ z + np.outer(more, more)) - known)
    # With one component draws are independent; five standard errors are passed once in a million.
    assert told.score == pytest.approx(np.mean(exact), abs=5 * told.stderr + 1e-6)
    assert told.stderr < 0.1


def test_gibbs_fills_holes_and_keeps_its_distance_small() -> None:
    found = fit_mixture(continuous(two_groups(150, holes=0.2)), components=2, noise=True)
    new = continuous(two_groups(100, seed=3, holes=0.1))
    told, plugged = found.predict(new, draws=60, burn=20), found.predict(new, how="plug-in")
    # 300 rows leave about d/2N of a nat between the point and the average, d = 25 parameters or so.
    assert abs(told.score - plugged.score) < 0.15
    assert np.isfinite(told.log_density).all()


@pytest.mark.parametrize(
    "schedule", ["((EM)* Ec S* M)*", "((EM)^{1,10} Ec S^2 M)*", "((EM)^10 Ec S* M)^3 (EM)*"]
)
def test_schedules_lead_to_the_same_groups(schedule: str) -> None:
    table = continuous(two_groups(100))
    usual = fit_mixture(table, components=2)
    other = fit_mixture(table, components=2, schedule=schedule)
    assert other.converged
    # Different ways up to the same two well-separated groups; a different arc costs about a nat.
    assert other.estimate.value == pytest.approx(usual.estimate.value, abs=5.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_by_the_second_rule_the_estimate_ends_above_the_first_round(seed: int) -> None:
    found = fit_mixture(continuous(two_groups(50, seed=seed, holes=0.1)), components=2, until="score")
    rounds = [t.cheeseman_stutz for t in found.path[0].ticks if t.phase == "round"]
    assert found.estimate.value >= max(r for r in rounds if r is not None) - 1e-6 * abs(found.estimate.value)
    assert found.estimate.value >= (rounds[0] or np.inf) - 1e-6 * abs(found.estimate.value)


@pytest.mark.parametrize("moves", [1, 2])
def test_a_schedule_counts_the_moves_of_every_component(moves: int) -> None:
    """x0 → x1 → x2 has two arcs to find, so that neither one move nor two come to the top too early."""
    table = continuous(two_groups(100)[:100])
    found = fit_mixture(table, components=1, schedule=f"(EM)^2 Ec S^{moves} M")
    assert [tick.arcs for tick in found.path[0].ticks if tick.phase == "search"] == [moves]
    assert len(found.mixture.components[0].dag.arcs) == moves


def test_a_bracket_of_em_alone_ends() -> None:
    table, stop = continuous(two_groups(20)), lac.Stop(share=1e-6, iterations=40)
    found = fit_mixture(table, components=2, schedule="((EM)^2 (EM)^1)*", stop=stop)
    assert len(found.path[0].ticks) <= 3 * 40


def test_equally_good_trees_do_not_follow_each_other_forever() -> None:
    table = continuous(two_groups(60, holes=0.15))
    found = fit_mixture(table, components=2, structure="tree", stop=lac.Stop(share=1e-3))
    assert found.converged
    assert all(len(parents) <= 1 for c in found.mixture.components for parents in c.dag.parents)


def test_another_search_goes_on_once_where_climbing_ends() -> None:
    """Two causes of one effect, and a column order that turns the first arcs the wrong way."""
    rng = np.random.default_rng(3)
    cause = rng.normal(size=(400, 2))
    effect = cause.sum(axis=1) + rng.normal(size=400)
    later = effect + cause[:, 0] + rng.normal(size=400)
    table = lac.read(dict(zip("abcd", (effect, later, *cause.T), strict=True)), kinds="continuous")
    greedy, found, exact = (
        lac.fit_mixture(table, components=1, method=method) for method in ("greedy", "reinsert", "exact")
    )
    phases = [[tick.phase for tick in fit.path[0].ticks] for fit in (greedy, found)]
    assert [each.count("refine") for each in phases] == [0, 1]
    assert greedy.estimate.value < found.estimate.value - 0.1
    assert found.estimate.value == pytest.approx(exact.estimate.value, abs=1e-6)
    with pytest.raises(ParameterError, match="method is one of"):
        lac.fit_mixture(table, method="hill")


def test_graphs_of_many_variables_have_a_last_search_from_random_graphs() -> None:
    """With too many variables for the best of all graphs; where a search is named, it is the last."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(120, 17)) @ (np.eye(17) + 0.5 * rng.normal(size=(17, 17)))
    x[60:] += 8.0
    table = lac.read({f"x{i}": x[:, i] for i in range(17)}, kinds="continuous")
    default, named = (lac.fit_mixture(table, components=2, search=search) for search in (None, "reinsert"))
    assert default.chosen.value > named.chosen.value + 0.1
    phases = [tick.phase for tick in default.chosen.ticks]
    assert phases[: len(named.chosen.ticks)] == [tick.phase for tick in named.chosen.ticks]

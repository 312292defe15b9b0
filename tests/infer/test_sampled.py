"""Rows by chains against exact inference: equal where islands are gone through, else within errors."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ApproximationWarning, TooWideError
from lacunary.exactness import exactly
from lacunary.infer import filled, rows
from lacunary.infer.asking import Eliminator
from lacunary.infer.chains import Chains, Effort
from lacunary.infer.engine import prepare_discrete
from lacunary.infer.filled import FilledRows
from lacunary.infer.network import random_network
from lacunary.infer.rows import prepare
from lacunary.infer.sampled import prepare_sampled
from lacunary.infer.spread import Spread
from lacunary.learn.vbem import update_rule
from lacunary.model.dag import Dag
from tests.strategies import Case, mixed_cases
from tests.test_cli import Result

CLOSE = 1e-7
"""Two ways through doubles; the kernel squares residuals, which takes half the digits of their condition."""

QUANTILE = 1.645
"""Of a normal distribution: 95 %, for intervals of 90 %; errors know that few chains tell them."""

ALL = Effort(ways=2**20)
"""Every island is gone through."""

NONE = Effort(ways=1)
"""Every island is left to chains."""


def problem(
    seed: int, discrete: int = 6, continuous: int = 3, count: int = 20, holes: float = 0.4
) -> tuple[lac.Network, lac.Table]:
    """Return a random network, and rows drawn from it with holes at random."""
    random = np.random.default_rng(seed)
    kinds = [lac.Variable(f"d{i}", tuple(range(int(random.integers(2, 4))))) for i in range(discrete)]
    kinds += [lac.Variable(f"x{i}", kind="continuous") for i in range(continuous)]
    parents = [
        tuple(
            kinds[int(j)].name
            for j in sorted(random.choice(i, min(i, int(random.integers(4))), replace=False))
        )
        for i in range(len(kinds))
    ]
    network = random_network(Dag(lac.Schema(tuple(kinds)), tuple(parents)), rng=seed)
    return network, lac.make_holes(network.sample(count, rng=seed), holes, rng=seed)


@pytest.fixture
def too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no rows fit exact inference."""

    def refuse(*_: object, **__: object) -> None:
        raise TooWideError("all is too wide here")

    monkeypatch.setattr("lacunary.infer.sampled.Effort", partial(Effort, ways=1))
    monkeypatch.setattr(rows, "prepare_discrete", refuse)
    monkeypatch.setattr("lacunary.infer.mixed.prepare_mixed", refuse)
    monkeypatch.setattr("lacunary.infer.posterior.marginals_of", refuse)


@pytest.mark.parametrize(("least", "weight", "wide"), [(8, 1.0, False), (7, 1.0, True), (7, 0.0, False)])
def test_what_is_sampled_is_told_without_chains(
    least: int, weight: float, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three binary holes below one cell make an island of eight ways; a row without weight has none."""

    def refuse(*_: object) -> None:
        raise AssertionError("the kernel of chains takes ten seconds to compile")

    monkeypatch.setattr("lacunary.infer.chains.visit", refuse)
    graph = lac.dag("a b c -> d", states=dict.fromkeys("abcd", 2))
    table = Table(graph.schema, np.array([[0, 1, 0, 1], [-1, -1, -1, 0]]), weights=np.array([1.0, weight]))
    assert prepare_sampled(graph, table, "", Effort(ways=least)).sampled == wide


@settings(max_examples=40)
@given(mixed_cases())
def test_islands_that_are_gone_through_are_exact(case: Case) -> None:
    network, table = case
    exact, theta = prepare(network.dag, table), network.theta
    tried = prepare_sampled(network.dag, table, "", ALL)
    known, found = exact.expect(theta[None])[0], tried.expect(theta[None])[0]
    np.testing.assert_allclose(found.counts, known.counts, rtol=CLOSE, atol=CLOSE * max(table.size, 1.0))
    np.testing.assert_allclose(
        tried.log_evidence(theta[None]), exact.log_evidence(theta[None]), rtol=CLOSE, atol=CLOSE
    )
    np.testing.assert_allclose(tried.observed, exact.observed)
    assert list(tried.open_columns) == list(exact.open_columns)
    assert found.log_error is None
    assert not tried.sampled
    sets = [(v,) for v, size in enumerate(network.dag.schema.sizes) if size]
    for mine, (theirs, error) in zip(
        exact.marginals(theta, sets), tried.posteriors(theta, sets), strict=True
    ):
        np.testing.assert_allclose(theirs[tried.inverse], mine, atol=CLOSE)
        assert error.max(initial=0.0) < CLOSE


def test_potentials_of_variational_bayes_are_taken_as_they_are() -> None:
    network, table = problem(3)
    rule = update_rule(lac.Dirichlet(1.0)(network.dag), None)
    exact, tried = prepare(network.dag, table), prepare_sampled(network.dag, table, "", ALL)
    potentials = rule.potentials(rule.begin(exact, network.theta[None]))
    known, found = exact.expect(potentials), tried.expect(potentials)
    np.testing.assert_allclose(found.counts, known.counts, rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(found.log_likelihood, known.log_likelihood, rtol=CLOSE)


def test_the_stated_errors_cover_what_is_exact() -> None:
    """Over 24 problems, in 90 % intervals; what no chain met is a statistic like others."""
    covered, logs = [], []
    for seed in range(24):
        network, table = problem(seed, continuous=3 * (seed % 2))
        known = prepare(network.dag, table).expect(network.theta[None])[0]
        tried = prepare_sampled(network.dag, table, "", Effort(ways=1, seed=seed))
        found = tried.expect(network.theta[None])[0]
        assert found.error is not None
        assert found.log_error is not None
        off = np.abs(found.counts - known.counts)
        noisy = (found.error > 1e-9) | (off > CLOSE * table.size)
        covered.append(np.mean(off[noisy] <= QUANTILE * found.error[noisy]))
        logs.append(abs(found.log_likelihood - known.log_likelihood) <= QUANTILE * found.log_error)
    assert np.mean(covered) > 0.9
    assert np.mean(logs) > 0.85  # of 24: two more misses than one in ten would be by chance once in ten times


def test_what_no_chain_can_meet_is_none_and_what_none_met_has_an_error() -> None:
    """A state of 1 in 10⁶ is met by no draw, and its error is more than what is told; one of 0 has none."""
    rare = np.array([1.0 - 1e-6, 1e-6, 0.0])
    dag = lac.dag("a b c -> d", states={**dict.fromkeys("abc", 3), "d": 2})
    above = np.full((3, 3, 3, 2), 0.5)
    network = lac.Network.from_tables(dag, {"a": rare, "b": rare, "c": rare, "d": above})
    table = Table(dag.schema, np.array([[-1, -1, -1, 1]]))
    found = prepare_sampled(dag, table, "", NONE).expect(network.theta[None])[0]
    assert found.error is not None
    assert found.table("a") == pytest.approx(rare, abs=1e-9)  # their own probabilities, not those of draws
    error = dag.layout.table(found.error, 0)
    assert 1e-6 < error[1] < 0.1
    assert error[2] == 0.0


def test_sets_beyond_the_size_of_a_block_are_drawn_by_turns() -> None:
    """Nine binary holes below one cell have 512 joint states, of which a block draws 64 at a time."""
    names = "abcdefghi"
    dag = lac.dag(f"{' '.join(names)} -> z", states=dict.fromkeys([*names, "z"], 2))
    network = random_network(dag, rng=5)
    table = Table(dag.schema, np.array([[-1] * 9 + [1]]))
    where = tuple(range(9))
    tried = prepare_sampled(dag, table, "", Effort(ways=1, sweeps=64))
    (found,) = tried.marginals(network.theta, [where])
    (known,) = prepare(dag, table).marginals(network.theta, [where])
    assert found.sum() == pytest.approx(1.0)
    error: Any = getattr(found, "error", None)
    assert np.mean(np.abs(np.asarray(found) - known) <= QUANTILE * error) > 0.9
    exact = prepare(dag, table).expect(network.theta[None])[0]
    drawn = tried.expect(network.theta[None])[0]
    assert drawn.error is not None
    assert np.mean(np.abs(drawn.counts - exact.counts) <= QUANTILE * drawn.error + CLOSE) > 0.9


def test_bits_do_not_depend_on_threads() -> None:
    network, table = problem(5)
    tried = prepare_sampled(network.dag, table, "", NONE)
    with lac.threads(1):
        alone = tried.expect(network.theta[None])
    with lac.threads(3):
        together = tried.expect(network.theta[None])
    assert np.array_equal(alone.counts, together.counts)
    assert np.array_equal(alone.log_likelihood, together.log_likelihood)


def test_draws_and_normals_are_those_of_the_posterior() -> None:
    network, table = problem(2, count=6)
    exact, tried = prepare(network.dag, table), prepare_sampled(network.dag, table, "", NONE)
    theta, real = network.theta, list(network.dag.continuous)
    drawn = Chains(network.dag, tried.rows, Effort(ways=2**20)).drawn(theta, 4000)[0]
    for v, known in zip(range(6), exact.marginals(theta, [(v,) for v in range(6)]), strict=True):
        share = np.stack([(drawn[:, :, v] == s).mean(axis=1) for s in range(known.shape[1])], axis=1)
        # Four standard errors of a share of 4000 draws.
        assert np.abs(share[tried.inverse] - known).max() < 4 * np.sqrt(0.25 / 4000)
    for mine, theirs in zip(tried.normals(theta, real), exact.normals(theta, real), strict=True):
        assert np.abs(mine.mean - theirs.mean).max() < 1.5 * max(theirs.sd.max(), 0.1)
    codes, reals = tried.completed(theta, np.random.default_rng(0))
    assert (codes[:, :6] >= 0).all()
    assert not np.isnan(reals[:, real]).any()
    assert tried.completed(theta, None)[0][:, :6].min() >= 0


def test_counts_that_were_drawn_are_a_mixture_of_counts() -> None:
    """p(n) = Σ over draws of λⁿe^−λ / n!, of the rates that draws met."""
    dag = lac.dag("h -> n; h -> a", kinds={"n": "continuous"}, family={"n": "poisson"}, hidden={"h": 3})
    given: dict[str, Any] = {"h": [0.2, 0.3, 0.5], "n": lac.Poisson([1.0, 6.0, 30.0])}
    network = lac.Network.from_tables(dag, {**given, "a": [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]})
    table = network.sample(6, rng=1)
    table = lac.Table(table.schema, table.codes, np.where(np.arange(6)[:, None] < 3, np.nan, table.reals))
    tried = prepare_sampled(dag, table.align(dag.schema), "", NONE)
    (found,) = tried.normals(network.theta, [dag.schema.index("n")])
    assert found.weights.shape == found.means.shape
    log = found.weights[:3] * np.exp(4 * np.log(found.means[:3]) - found.means[:3]) / 24
    np.testing.assert_allclose(found.log_density(4.0)[:3], np.log(log.sum(axis=1)), rtol=1e-12)
    np.testing.assert_allclose(found.mean[3:], table.reals[3:, table.schema.index("n")])


@pytest.mark.usefixtures("too_wide")
def test_a_fit_that_does_not_fit_climbs_as_high_as_the_exact_one() -> None:
    network, table = problem(7, count=150, holes=0.3, continuous=0)
    known = _exactly_fitted(network, table)
    with pytest.warns(ApproximationWarning, match="Gibbs chains"):
        found = lac.fit(network.dag, table)
    assert found.error > 0
    assert "±" in str(found)
    # What its parameters are worth, exactly: no further below the top than its noise.
    assert known.log_likelihood - found.error * 4 < _log_likelihood(found.network, table)
    assert abs(found.log_likelihood - _log_likelihood(found.network, table)) < 4 * found.error
    with pytest.raises(TooWideError, match="all is too wide"):
        lac.fit(network.dag, table, exact=True)


@pytest.mark.usefixtures("too_wide")
def test_the_announcement_names_what_forbids_it_where_it_was_said() -> None:
    network, table = problem(7, count=20)
    with pytest.warns(ApproximationWarning, match="exact=True forbids"):
        lac.fit(network.dag, table, stop=lac.Stop(iterations=1))
    with pytest.warns(ApproximationWarning, match=r'simplefilter\("error"') as told:
        network.prepared(table)  # which has no such option
    assert not any("exact=True" in str(each.message) for each in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        with pytest.raises(ApproximationWarning):
            network.prepared(table)


@pytest.mark.parametrize(
    "verb",
    [
        lac.Network.query,
        lac.Network.posterior,
        lac.Network.explain,
        lac.Network.sample,
        lac.Network.engine,
        lac.Network.log_density,
        lac.Network.probability,
        lac.Network.log_probability,
        lac.Network.log_likelihood,
        lac.Mixture.query,
        lac.Mixture.posterior,
        lac.Mixture.probability,
        lac.Mixture.responsibilities,
        lac.Mixture.log_probability,
        lac.Mixture.log_likelihood,
        lac.Ensemble.log_probability,
        lac.fit,
        lac.search,
        lac.score,
        lac.fit_mixture,
        lac.classes,
        lac.impute,
    ],
)
def test_exact_is_given_by_name_alone(verb: Callable[..., object]) -> None:
    """Given by its place it would be heard by nobody: approximations are forbidden before a verb begins."""
    assert signature(verb).parameters["exact"].kind is Parameter.KEYWORD_ONLY


@pytest.mark.usefixtures("too_wide")
@pytest.mark.filterwarnings("ignore::lacunary.errors.ApproximationWarning")
def test_a_fit_broken_off_where_chains_grow_says_how_high_it_was() -> None:
    network, table = problem(7, count=30, holes=0.3, continuous=0)
    sweeps = [lac.fit(network.dag, table, stop=lac.Stop(iterations=n)) for n in range(2, 10)]
    assert all(np.isfinite(found.objective) for found in sweeps)
    assert any(found.converged for found in sweeps)  # with the first chains: more have taken over


def _exactly_fitted(network: lac.Network, table: lac.Table) -> lac.Fit:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "prepare_discrete", _prepare_discrete)
        return lac.fit(network.dag, table)


def _log_likelihood(network: lac.Network, table: lac.Table) -> float:
    exact = _prepare_discrete(network.dag, table)
    return float(exact.expect(network.theta[None]).log_likelihood[0])


@pytest.mark.usefixtures("too_wide")
def test_an_engine_answers_by_chains_where_no_tables_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    given, network = {"dysp": "yes", "xray": "no"}, lac.asia()
    exact: Any = network.engine(given).marginals()
    likeliest, log = network.explain(given), network.log_density(given)

    def refuse(*_: object, **__: object) -> None:
        raise TooWideError("it is wide")

    monkeypatch.setattr("lacunary.infer.elimination.Families.plan", refuse)
    engine = network.engine(given)
    with pytest.warns(ApproximationWarning, match="it is wide"):
        found = engine.marginals()
    for name, answer in found.items():
        drawn: Any = answer
        assert np.abs(drawn.probabilities - exact[name].probabilities).max() < 4 * drawn.error.max() + 1e-12
    assert network.explain(given) == likeliest  # rows are completed by themselves
    with pytest.warns(ApproximationWarning):
        assert network.log_density(given) == pytest.approx(log, abs=0.1)  # of sixteen chains
    wide = lac.dag("; ".join(f"A{i} B{j} -> C{i}_{j}" for i in range(40) for j in range(40)))
    seen = {f"C{i}_{j}": 1 for i in range(40) for j in range(40)}
    monkeypatch.undo()
    with pytest.raises(TooWideError, match="open together"):
        lac.random_network(wide, rng=0).explain(seen, exact=True)


_prepare_discrete: Callable[..., rows.Rows] = prepare_discrete


@pytest.mark.usefixtures("too_wide")
def test_what_no_tables_fit_is_asked_of_chains_and_says_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    network, table = lac.asia(), lac.make_holes(lac.asia().sample(5, rng=1), 0.4, rng=1)
    given = {"dysp": "yes", "xray": "no"}
    known: Any = network.query("lung", "bronc", given=given)
    joint = Eliminator.joint

    def refuse(*_: object) -> None:
        raise TooWideError("it is wide")

    monkeypatch.setattr(Eliminator, "joint", refuse)
    monkeypatch.setattr("lacunary.infer.posterior.marginals_of", refuse)
    with pytest.warns(ApproximationWarning, match="it is wide"):
        found: Any = network.query("lung", "bronc", given=given)
    assert found.error is not None
    assert "±" in str(found)
    assert found.probabilities.sum() == pytest.approx(1.0)
    assert np.abs(found.probabilities - known.probabilities).max() < 4 * found.error.max()  # of 512 chains
    with pytest.raises(TooWideError, match="it is wide"):
        network.query("lung", given=given, exact=True)
    with pytest.warns(ApproximationWarning):
        posteriors = network.posterior(table)
    monkeypatch.setattr(Eliminator, "joint", joint)
    for r in range(len(table)):
        seen = {v.name: v.states[c] for v, c in zip(table.schema, table.codes[r], strict=True) if c >= 0}
        for name in set(network.dag.names) - set(seen):
            exact: Any = network.query(name, given=seen)
            assert (
                np.abs(posteriors[name][r] - exact.probabilities).max() < 0.1
            )  # four errors of 512 chains, at most


@pytest.mark.usefixtures("too_wide")
@pytest.mark.filterwarnings("ignore::lacunary.errors.ApproximationWarning")
def test_what_is_drawn_has_its_error_beside_it() -> None:
    network, table = problem(7, count=12, holes=0.3, continuous=0)
    known = _prepare_discrete(network.dag, table)
    log: Any = network.log_probability(table)
    assert log.error.shape == (12,)
    assert log[2:4].error.tolist() == log.error[2:4].tolist()
    assert pickle.loads(pickle.dumps(log)).error.tolist() == log.error.tolist()
    assert (2 * log).error is None  # which nobody worked out
    exact = known.log_evidence(network.theta[None])[0]
    assert np.all(np.abs(np.asarray(log) - exact) <= 5 * log.error + CLOSE)
    total: Any = network.log_likelihood(table)
    assert abs(total - exact.sum()) < 4 * total.error
    assert "±" in str(total)
    assert pickle.loads(pickle.dumps(total)).error == total.error
    told: Any = network.posterior(table, ["d0", ("d0", "d1")])
    pair = told["d0", "d1"]
    assert pair.error.shape == pair.shape == (12, *network.dag.schema.sizes[:2])
    assert told["d0"].error[table.codes[:, 0] >= 0].max(initial=0.0) == 0.0  # what is seen is certain


@pytest.mark.usefixtures("too_wide")
def test_mixtures_say_how_far_off_what_they_mix_may_be() -> None:
    """The errors of a mixture of twins are those of one: their shares are equal, and what they say."""
    network, table = problem(7, count=12, holes=0.3, continuous=0)
    both = lac.Mixture(np.array([0.5, 0.5]), (network, network))
    with pytest.warns(ApproximationWarning) as announced:
        log: Any = both.log_probability(table)
    assert len(announced) == 1  # once, by whomever it was
    with pytest.warns(ApproximationWarning) as announced:
        told: Any = both.posterior(table, ["d0"])
    assert len(announced) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        one: Any = network.log_probability(table)
        alone: Any = network.posterior(table, ["d0"])
        total: Any = both.log_likelihood(table)
        shares: Any = both.responsibilities(table)
        ensemble: Any = lac.Ensemble((network, network), np.array([0.5, 0.5])).log_probability(table)
    # Each counts half, with an error of its own: √2 less than one of them would have.
    np.testing.assert_allclose(log.error, one.error / np.sqrt(2), rtol=1e-9)
    np.testing.assert_allclose(ensemble.error, log.error, rtol=1e-9)
    np.testing.assert_allclose(shares.error[:, 0], one.error * np.sqrt(0.125), rtol=1e-9)
    np.testing.assert_allclose(told["d0"].error, alone["d0"].error / np.sqrt(2), rtol=1e-9)
    np.testing.assert_allclose(told["d0"], alone["d0"], rtol=1e-12)
    assert total.error > 0
    asked: tuple[Callable[..., object], ...] = (
        both.log_probability,
        both.log_likelihood,
        both.posterior,
        both.responsibilities,
    )
    for ask in asked:
        with pytest.raises(TooWideError, match="all is too wide"):
            ask(table, exact=True)


@pytest.mark.usefixtures("too_wide")
@pytest.mark.filterwarnings("ignore::lacunary.errors.ApproximationWarning")
@pytest.mark.parametrize("method", ["bic", "cheeseman-stutz", "variational", "map"])
def test_estimates_from_drawn_statistics_have_a_standard_error(method: str) -> None:
    network, table = problem(7, count=30, holes=0.3, continuous=0)
    found = lac.score(network.dag, table, method, starts=1)
    assert found.stderr is not None
    assert 0 < found.stderr < 2  # of 30 rows, each told to 0.2 or so
    assert "±" in str(found)


@pytest.mark.filterwarnings("default::lacunary.errors.ApproximationWarning")
def test_answers_about_one_row_say_their_error_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise TooWideError("it is wide")

    for name in ("joint", "log_evidence", "explanation"):
        monkeypatch.setattr(Eliminator, name, refuse)
    monkeypatch.setattr(rows, "prepare_discrete", refuse)
    monkeypatch.setattr("lacunary.infer.posterior.marginals_of", refuse)
    monkeypatch.setattr("lacunary.infer.sampled.Effort", partial(Effort, ways=1))
    asked = ["query", "asia", "lung", "--given", "dysp=yes"]
    told = json.loads(Result(*asked, "--json").out)
    assert told["probability_of_given_error"] > 0
    assert all(one["error"] > 0 for one in told["distribution"])
    said = Result(*asked)
    assert "±" in said.out
    assert "it is wide" in said.err
    assert "it is wide" in Result(*asked, "--exact").err
    engine = lac.asia().engine({"dysp": "yes"}, exact=True)
    with pytest.raises(TooWideError, match="it is wide"):
        engine.query("lung")
    with pytest.raises(TooWideError, match="it is wide"):
        _ = engine.log_probability


def test_rows_with_many_ways_are_drawn_where_families_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    network, table = problem(4, count=60)
    known = Spread(table).under(network.dag, network.theta).triples()
    monkeypatch.setattr(filled, "WAYS", 0)
    monkeypatch.setattr(filled, "FEW", 4)
    with pytest.warns(ApproximationWarning, match="drawn completions"):
        some = FilledRows(table)
    assert 0 < len(some.many) < len(table)
    found = some.triples(network.dag, network.theta, table.weights)
    mine, theirs = (each.statistics(network.dag)[: network.dag.layout.tables] for each in (found, known))
    # A count over at most 60 rows, each a share of 32 draws: five standard errors.
    assert np.abs(mine - theirs).max() < 5 * np.sqrt(60 * 0.25 / 32)
    assert mine.sum() == pytest.approx(theirs.sum())
    with exactly():
        assert not len(FilledRows(table).many)


def test_what_needs_exact_rows_is_refused_by_name() -> None:
    network, table = problem(1)
    tried = prepare_sampled(network.dag, table, "it is wide")
    for asked in (
        lambda: tried.expect(network.theta[None] + 0j),
        lambda: tried.score_covariance(network.theta),
        lambda: tried.walker("annealing", network.theta),
    ):
        with pytest.raises(TooWideError, match=r"needs exact inference.*it is wide"):
            asked()


def test_an_impossible_row_has_no_evidence_and_no_posterior() -> None:
    dag = lac.dag("a -> b", states={"a": 2, "b": 2})
    network = lac.Network.from_tables(dag, {"a": [0.5, 0.5], "b": [[1.0, 0.0], [1.0, 0.0]]})
    table = lac.Table(dag.schema, np.array([[-1, 1], [-1, 0]], dtype=np.int8), np.empty((2, 0)), np.ones(2))
    for effort in (ALL, NONE):
        tried = prepare_sampled(dag, table, "", effort)
        assert tried.log_evidence(network.theta[None])[0, 0] == -np.inf
        assert tried.log_evidence(network.theta[None])[0, 1] == pytest.approx(0.0)
        assert tried.marginals(network.theta, [(0,)])[0][0].sum() == 0.0

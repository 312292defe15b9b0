"""Selecting parameters from many starts."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lacunary as lac
from lacunary.infer.divergence import kl
from lacunary.learn.fit import reselect
from lacunary.learn.select import local_entropy
from tests import naive
from tests.learn.test_align import renamed

ROUNDING = 1e-10
"""Relative: sums over some hundred rows."""


@pytest.fixture(scope="module")
def table() -> lac.Table:
    return lac.make_holes(lac.random_network(lac.asia().dag, rng=1).sample(60, rng=2), 0.5, rng=3)


@pytest.fixture(scope="module")
def found(table: lac.Table) -> lac.Fit:
    """Starts that were stopped early, so that they differ."""
    return fitted(table)


def fitted(table: lac.Table, **options: Any) -> lac.Fit:
    options = {"starts": 12, "prior": lac.bdeu(1), "stop": lac.Stop(iterations=4), **options}
    return lac.fit(lac.asia().dag, table, **options)


def score(network: lac.Network, table: lac.Table) -> float:
    """S of ENT section 2: log-likelihood + Σ α log θ with α = 1/(r q), nothing else."""
    penalty = sum(np.log(t).sum() / t.size for t in network.tables.values())
    return naive.log_likelihood(network, table) + float(penalty)


def test_scores_and_entropies_are_those_of_the_paper(found: lac.Fit, table: lac.Table) -> None:
    for start, s, h in zip(found.starts[:3], found.scores, found.entropies, strict=False):
        assert s == pytest.approx(score(start.network, table), rel=ROUNDING)
        expected = -sum(float((t * np.log(t)).sum()) for t in start.network.tables.values())
        assert h == pytest.approx(expected, rel=ROUNDING)
        assert start.entropy == h


def test_entropy_of_even_and_of_sure_distributions() -> None:
    dag = lac.dag("A -> B", states={"A": 2, "B": 4})
    even = dag.layout.normalize(np.ones(dag.layout.size))
    assert local_entropy(dag, even) == pytest.approx(log(2) + 2 * log(4), rel=ROUNDING)
    sure = lac.Network.from_tables(dag, {"A": [1.0, 0.0], "B": [[1.0, 0.0, 0.0, 0.0]] * 2})
    assert local_entropy(dag, sure.theta) == 0.0


def test_a_tied_table_counts_for_each_family() -> None:
    free = lac.dag("H -> A B", states=2)
    tied = lac.dag("H -> A B", states=2, tied=[("A", "B")])
    one, other = (d.layout.normalize(np.ones(d.layout.size)) for d in (free, tied))
    assert local_entropy(tied, other) == pytest.approx(float(local_entropy(free, one)), rel=ROUNDING)


def test_average_is_the_mean_of_each_distribution(found: lac.Fit, table: lac.Table) -> None:
    average = fitted(table, select="average")
    for name in average.dag.names:
        expected = np.mean([start.network.table(name) for start in found.starts], axis=0)
        np.testing.assert_allclose(average.network.table(name), expected, rtol=ROUNDING)
    assert average.selection.name == "average"
    assert average.log_likelihood == pytest.approx(naive.log_likelihood(average.network, table), rel=ROUNDING)
    assert average.objective - average.constant == pytest.approx(score(average.network, table), rel=ROUNDING)
    assert "average of 12 starts" in str(average)


def test_weights(found: lac.Fit, table: lac.Table) -> None:
    def shares(weights: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        chosen = reselect(found, table, "average", prior=lac.bdeu(1), select_options={"weights": weights})
        share = np.array(chosen.selection.details["shares"])
        mean = share @ np.array([start.network.theta for start in found.starts])
        np.testing.assert_allclose(chosen.network.theta, mean, rtol=ROUNDING)
        return share

    np.testing.assert_allclose(shares("uniform"), 1 / 12, rtol=ROUNDING)
    np.testing.assert_allclose(shares("score"), found.scores / found.scores.sum(), rtol=ROUNDING)
    # Scores are negative, so the printed rule gives the worst start the greatest weight.
    assert shares("score").argmax() == found.scores.argmin()
    density = np.exp(found.scores - found.scores.max())
    np.testing.assert_allclose(shares("posterior"), density / density.sum(), rtol=1e-9)
    assert shares("posterior").argmax() == found.scores.argmax()


@pytest.mark.parametrize("c", [1.0, 0.999, 0.99, 0.95, 0.5])
def test_entropy_picks_the_most_entropic_of_the_good(found: lac.Fit, table: lac.Table, c: float) -> None:
    chosen = reselect(found, table, "entropy", prior=lac.bdeu(1), select_options={"c": c})
    scores = [score(start.network, table) for start in found.starts]
    top = max(scores)
    good = [start for start, s in zip(found.starts, scores, strict=True) if s >= top - (1 - c) * abs(top)]
    expected = max(good, key=lambda start: start.entropy)
    assert chosen.network is expected.network
    assert chosen.selection.details["candidates"] == len(good)
    assert chosen.trace == expected.trace
    assert chosen.objective == expected.objective


def test_some_threshold_makes_a_difference(found: lac.Fit, table: lac.Table) -> None:
    assert reselect(found, table, "entropy", prior=lac.bdeu(1)).network is not found.network


def test_best_can_be_had_back(found: lac.Fit, table: lac.Table) -> None:
    there = reselect(found, table, "average", prior=lac.bdeu(1))
    back = reselect(there, table, "best", prior=lac.bdeu(1))
    assert back.network is found.network
    assert (back.objective, back.trace) == (found.objective, found.trace)
    np.testing.assert_allclose(back.belief.alpha, found.belief.alpha, rtol=ROUNDING)


def test_belief_holds_the_counts_at_the_chosen_parameters(found: lac.Fit, table: lac.Table) -> None:
    chosen = reselect(found, table, "average", prior=lac.bdeu(1))
    counts = naive.expected_counts(chosen.network, table)
    for i, name in enumerate(chosen.dag.names):
        alpha = chosen.dag.layout.table(chosen.belief.alpha, i)
        np.testing.assert_allclose(alpha, counts[name] + 1 / counts[name].size, rtol=1e-8)


def test_ensemble_averages_predictions(table: lac.Table) -> None:
    chosen = fitted(table, select="ensemble")
    assert chosen.network is max(chosen.starts, key=lambda start: start.objective).network
    told = [start.network.query("dysp", "xray").probabilities for start in chosen.starts]
    both = chosen.ensemble.query("dysp", "xray").probabilities
    np.testing.assert_allclose(both, np.mean(told, axis=0), rtol=ROUNDING)
    # The local average keeps each table's mean but not every prediction's.
    local = reselect(chosen, table, "average", prior=lac.bdeu(1)).network.query("dysp", "xray").probabilities
    assert np.abs(both - local).max() > 1e-6


def test_distances_are_from_the_chosen_one(found: lac.Fit) -> None:
    assert found.distances.min() == 0.0
    assert found.distances[found.scores.argmax()] == 0.0
    assert found.distances[3] == kl(found.network, found.starts[3].network)


@pytest.mark.parametrize("select", ["average", "entropy", "ensemble"])
def test_one_start_is_the_best(table: lac.Table, select: str) -> None:
    chosen, best = fitted(table, starts=1, select=select), fitted(table, starts=1)
    assert chosen.network.theta.tobytes() == best.network.theta.tobytes()
    assert "same as 'best'" in chosen.selection.details["note"]
    assert (chosen.objective, chosen.trace) == (best.objective, best.trace)


def test_permuted_starts_average_to_themselves() -> None:
    """Whatever the labels, the classes found are the same, and so is their mean."""
    dag = lac.naive_bayes(lac.dag("A B C D", states=3).schema, hidden="H", states=3)
    truth = lac.random_network(dag, rng=3)
    rows = lac.hide(truth.sample(400, rng=0), ["H"])
    peak = lac.fit(dag, rows, starts=8).network
    orders = [(0, 1, 2), (1, 2, 0), (2, 1, 0)]
    copies = [renamed(peak, {"H": order}) for order in orders]
    chosen = lac.fit(dag, rows, initial=copies, select="average", stop=lac.Stop(iterations=1))
    best = max(chosen.starts, key=lambda start: start.objective)
    np.testing.assert_allclose(chosen.network.theta, best.network.theta, rtol=1e-9)
    assert np.abs(np.mean([c.theta for c in copies], axis=0) - best.network.theta).max() > 0.1


def test_variational_posteriors_are_averaged_too(table: lac.Table) -> None:
    chosen = fitted(table, method="variational", select="average")
    # A bound belongs to some posterior, so no start that went on from here would end below it.
    onward = lac.fit(chosen.dag, table, method="variational", prior=lac.bdeu(1), initial=chosen.network)
    assert onward.objective >= chosen.objective - 1e-9 * abs(chosen.objective)
    assert chosen.objective < 0
    np.testing.assert_allclose(
        chosen.network.theta, np.mean([s.network.theta for s in chosen.starts], axis=0), rtol=ROUNDING
    )


@pytest.mark.parametrize("select", ["average", "entropy", "ensemble"])
def test_a_selection_survives_a_file(table: lac.Table, tmp_path: Path, select: str) -> None:
    chosen = fitted(table, select=select)
    lac.save(chosen, tmp_path / "fit.json")
    again = lac.load(tmp_path / "fit.json")
    assert again.selection.name == select
    assert again.selection.details == chosen.selection.details
    assert again.constant == chosen.constant
    np.testing.assert_array_equal(again.scores, chosen.scores)
    given = {"smoke": "yes"}
    np.testing.assert_array_equal(
        again.ensemble.query("lung", given=given).probabilities,
        chosen.ensemble.query("lung", given=given).probabilities,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"select": "median"}, "select must be one of 'best', 'average'"),
        ({"select": "entropy", "select_options": {"c": 0.0}}, "c must lie above 0"),
        ({"select": "entropy", "select_options": {"c": 1.01}}, "c must lie above 0"),
        ({"select": "entropy", "select_options": {"c": float("nan")}}, "c must lie above 0"),
        ({"select": "entropy", "select_options": {"weights": "score"}}, "its options are c"),
        ({"select": "best", "select_options": {"c": 0.9}}, "it has none"),
        ({"select": "average", "select_options": {"weights": "best"}}, "weights must be 'uniform'"),
        ({"select": "average", "starts": lac.Tournament(4)}, "climb to the end"),
    ],
)
def test_bad_wishes_are_refused(table: lac.Table, options: dict[str, Any], message: str) -> None:
    with pytest.raises(lac.ParameterError, match=message):
        fitted(table, **options)


def test_a_regression_has_the_entropy_of_its_normal_distribution() -> None:
    dag = lac.dag("A -> X; X -> Y", states=2, kinds={"X": "continuous", "Y": "continuous"})
    network = lac.random_network(dag, rng=2)
    expected = stats.entropy(network.table("A"))
    for name in ("X", "Y"):
        variances = network.table(name)[..., -1].ravel()
        expected += sum(stats.norm(scale=np.sqrt(v)).entropy() for v in variances)
    assert local_entropy(dag, network.theta) == pytest.approx(expected, rel=1e-12)
    rows = network.sample(20, rng=0)
    wrong: list[Any] = ["max-entropy", "global"]
    for select in wrong:
        with pytest.raises(lac.ParameterError, match="for discrete networks"):
            lac.fit(dag, rows, starts=2, select=select)
    averaged = lac.fit(dag, rows, starts=2, select="average")
    assert averaged.selection.name == "average"

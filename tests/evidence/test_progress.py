"""What long estimates tell of their progress, and what they return if they are interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import lacunary as lac
from lacunary.evidence.ais import ais
from lacunary.evidence.chib import chib
from lacunary.evidence.exact import exact
from lacunary.evidence.imputation import Sequence
from lacunary.evidence.ladder import bridge, path
from lacunary.evidence.sandwich import sandwich
from lacunary.evidence.smc import sampled
from lacunary.infer.completions import Completions
from lacunary.infer.walker import Walker
from tests.evidence.small import classes
from tests.interrupting import stop_after


def listener(stop: Callable[[str, float | None], bool] | None = None) -> tuple[list[Any], Any]:
    """Return a list of what was told, and who listens; it interrupts where it is told to."""
    told: list[tuple[str, float | None]] = []

    def tell(what: str, part: float | None) -> None:
        told.append((what, part))
        if stop is not None and stop(what, part):
            raise KeyboardInterrupt

    return told, tell


def test_walks_forecasts_and_densities_tell_how_far_they_are() -> None:
    problem = classes(1, rows=12)
    short: dict[str, dict[str, Any]] = {"wbic": {"draws": 60, "burn": 60, "chains": 2}, "prequential": {}}
    for method, options in short.items():
        told, tell = listener()
        lac.score(problem.dag, problem.table, method, watch=tell, **options)
        parts = [part for _, part in told if part is not None]
        assert len(parts) >= 2
        assert 0.0 == min(parts) < max(parts) <= 1.0
    told, tell = listener()
    lac.loo(problem.dag, problem.table, draws=40, burn=10, watch=tell)
    assert len([what for what, _ in told if "log-densities" in what]) == 3  # 160 draws, 64 at a time


def test_an_interrupted_annealing_returns_the_chains_it_has() -> None:
    problem = classes(2, rows=12)
    whole = ais(problem, steps=64, chains=16)
    _, problem.tell = listener(lambda what, part: "annealing" in what and (part or 0.0) >= 0.5)
    with lac.threads(2):
        found = ais(problem, steps=64, chains=16)
    assert "interrupted" in found.details["note"]
    assert not found.details["trustworthy"]
    # The first eight of the same chains: each depends on its number alone.
    np.testing.assert_array_equal(found.details["log_weights"], whole.details["log_weights"][:8])


def test_annealing_that_has_nothing_yet_is_interrupted() -> None:
    problem = classes(2, rows=12)
    _, problem.tell = listener(lambda what, part: "annealing" in what)
    with pytest.raises(KeyboardInterrupt):
        ais(problem, steps=64, chains=16)


def test_an_interrupted_ladder_is_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacunary.evidence.ladder.EVEN", 0.0)  # every ladder asks for a longer one
    problem = classes(3, rows=12)
    _, problem.tell = listener(lambda what, part: "128" in what)
    found = bridge(problem, draws=8, chains=8)
    assert found.details["tau"].shape[1] == 32
    assert found.stderr is not None
    assert "interrupted" in found.details["note"]
    assert not found.trustworthy


@pytest.mark.parametrize(
    "where", ["the twin, sequential imputation from", "the twin, sequential imputation b"]
)
def test_a_sandwich_interrupted_at_its_twin_returns_the_value(where: str) -> None:
    """What was found of the data is that of `sampled`, which gives its second opinion as long a run."""
    problem = classes(2, rows=12)
    _, problem.tell = listener(lambda what, part: where in what)
    found, whole = sandwich(problem), sampled(problem, both=True)
    assert (found.value, found.stderr) == (whole.value, whole.stderr)
    assert abs(found.value - exact(problem).value) <= 4 * (found.stderr or 0.0)
    assert len(found.details["runs"]) == 2
    assert "gap" not in found.details
    assert "interrupted before the twin's ends were found" in found.details["note"]
    assert not found.trustworthy


def test_a_sandwich_interrupted_at_its_last_end_has_a_gap() -> None:
    problem = classes(2, rows=12)
    _, problem.tell = listener(lambda what, part: what.startswith("sequential imputation back"))
    found = sandwich(problem, stderr=1e-3, budget=2.0**24)
    assert found.details["gap_error"] > 1e-3
    assert abs(found.details["gap"]) <= 4 * found.details["gap_error"]
    assert "the twin's gap is" in found.details["note"]


def test_a_sandwich_interrupted_at_the_data_asks_no_twin() -> None:
    problem = classes(2, rows=12)
    told, problem.tell = listener(lambda what, part: "wanted" in what)
    found = sandwich(problem, stderr=1e-3)
    assert not any("twin" in what for what, _ in told)
    assert found.details["interrupted"]
    assert "interrupted" in found.details["note"]


def test_an_interrupted_walk_leaves_fewer_draws_to_predict_from() -> None:
    graph = lac.dag("A -> C", states={"A": 2}, family={"C": "sigmoid"})
    table = lac.random_network(graph, rng=0).sample(12, rng=0)
    _, tell = listener(lambda what, part: "draws from" in what and (part or 0.0) >= 0.5)
    found = lac.loo(graph, table, draws=100, burn=10, watch=tell)
    assert found.log_density.shape == (4, 50, 12)


@pytest.mark.parametrize("done", [2, 3, 7, 11])
def test_chib_interrupted_says_what_its_islands_do(done: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An honest error: within four standard errors of the exact value, and not to be trusted."""
    problem = classes(2, rows=12)
    truth = exact(problem).value
    stop_after(monkeypatch, Sequence, "_island", 1 + done)  # the first is a pilot
    with lac.threads(1):
        found = chib(problem)
    assert found.details["points"] <= done
    assert found.details["freedom"] == done - 1
    assert "interrupted" in found.details["note"]
    assert found.interrupted
    assert not found.trustworthy
    assert found.stderr is not None
    assert abs(found.value - truth) <= student.isf(0.001, done - 1) * found.stderr + 0.1  # few: not trusted


def test_the_error_of_an_interrupted_chib_is_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a quarter of the islands, errors are twice as large in the mean: larger over eight problems."""
    ratios = []
    for seed in range(8):
        problem = classes(seed, rows=12)
        whole = chib(problem, draws=100).stderr
        with monkeypatch.context() as patched, lac.threads(1):
            stop_after(patched, Sequence, "_island", 1 + 4)
            ratios.append(np.log((chib(problem, draws=100).stderr or 0.0) / (whole or 1.0)))
    assert np.mean(ratios) > 0.0


def test_chib_without_two_islands_names_what_is_sooner_had(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = classes(2, rows=12)
    stop_after(monkeypatch, Sequence, "_island", 1 + 1)
    with lac.threads(1), pytest.raises(KeyboardInterrupt, match=r"'chib' had found nothing.*'variational'"):
        lac.score(problem.dag, problem.table, "chib")


def test_chib_interrupted_among_its_points_takes_those_it_has() -> None:
    problem = classes(2, rows=12)
    _, problem.tell = listener(lambda what, part: "density at points" in what and (part or 0.0) >= 0.5)
    found = chib(problem)
    assert found.details["points"] == 8
    assert found.details["freedom"] == 15
    assert found.interrupted
    assert abs(found.value - exact(problem).value) <= 4 * (found.stderr or 0.0)


def gaussian() -> tuple[lac.Dag, lac.Table]:
    """Return two continuous columns with holes, which have chains that go side by side."""
    graph = lac.dag("X -> Y", kinds={"X": "continuous", "Y": "continuous"})
    return graph, lac.make_holes(lac.random_network(graph, rng=0).sample(15, rng=0), 0.2, rng=0)


@pytest.mark.parametrize("kept", [0, 7, 8, 60])
def test_chains_side_by_side_leave_the_draws_they_have(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight draws of a chain are the fewest that say anything."""
    graph, table = gaussian()
    stop_after(
        monkeypatch, Completions, "draw", 1 + 50 + kept
    )  # 25 steps anneal and 25 stay before the first
    if kept < 8:
        with pytest.raises(KeyboardInterrupt):
            lac.score(graph, table, "chib", draws=100, burn=50)
    else:
        found = lac.score(graph, table, "chib", draws=100, burn=50)
        assert found.interrupted
        assert np.isfinite(found.value)
        assert not found.trustworthy


@pytest.mark.parametrize("kept", [7, 8, 60])
def test_predictions_from_chains_side_by_side(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, table = gaussian()
    stop_after(monkeypatch, Completions, "draw", 1 + 50 + kept)  # the first of them begins
    if kept < 8:
        with pytest.raises(KeyboardInterrupt):
            lac.loo(graph, table, draws=100, burn=50)
        return
    found = lac.loo(graph, table, draws=100, burn=50)
    assert found.log_density.shape == (4, kept, 15)
    assert found.interrupted
    assert not found.trustworthy
    assert f"interrupted, and this is what had been found by then: {kept} draws of 4 chains" in str(found)


def test_predictions_interrupted_among_chains_have_those_that_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = classes(1, rows=12)
    whole = lac.loo(problem.dag, problem.table, draws=40, burn=10)
    stop_after(monkeypatch, Walker, "_trail", 3)
    with lac.threads(1):
        found = lac.loo(problem.dag, problem.table, draws=40, burn=10)
    np.testing.assert_array_equal(found.log_density, whole.log_density[:3])  # chains have seeds of their own
    assert found.interrupted
    assert not whole.interrupted
    monkeypatch.undo()
    stop_after(monkeypatch, Walker, "_trail", 0)
    with lac.threads(1), pytest.raises(KeyboardInterrupt):
        lac.loo(problem.dag, problem.table, draws=40, burn=10)


@pytest.mark.parametrize(("part", "kept"), [(0.2, 16), (0.4, 16), (0.8, 32)])
def test_predictions_interrupted_among_densities_have_the_first_draws(part: float, kept: int) -> None:
    """160 draws, 64 at a time: those of all chains, sixteen each; eight of a chain are the fewest."""
    problem = classes(1, rows=12)
    _, tell = listener(lambda what, at: "log-densities" in what and (at or 0.0) >= part)
    ask: dict[str, Any] = {"draws": 40, "burn": 10}
    whole = lac.loo(problem.dag, problem.table, **ask)
    found = lac.loo(problem.dag, problem.table, watch=tell, **ask)
    np.testing.assert_array_equal(found.log_density, whole.log_density[:, :kept])
    assert found.interrupted


def test_predictions_without_any_density_are_interrupted() -> None:
    problem = classes(1, rows=12)
    _, tell = listener(lambda what, part: "log-densities" in what)
    with pytest.raises(KeyboardInterrupt):
        lac.loo(problem.dag, problem.table, draws=40, burn=10, watch=tell)


@pytest.mark.parametrize("method", [bridge, path])
def test_a_ladder_that_is_missing_leaves_a_floor(method: Callable[..., Any]) -> None:
    """What the first ladders lead to is a part of the evidence, and never called a proven bound."""
    problem = classes(3, rows=12)
    told, problem.tell = listener()
    whole = method(problem, draws=8, chains=8)
    many = max(int(what.split(" of ")[1]) for what, _ in told if what.startswith("ladder "))
    assert many > 1
    _, problem.tell = listener(lambda what, part: what.startswith("ladder 2 of"))
    found = method(problem, draws=8, chains=8)
    assert found.details["tau"].shape[0] == 1
    assert f"1 of {many} ladders stand" in found.details["note"]
    assert "a floor" in found.details["note"]
    assert found.kind == "Monte Carlo"
    assert found.interrupted
    assert not found.trustworthy
    assert found.value <= exact(problem).value + 4 * found.stderr
    assert found.value < whole.value + 4 * np.hypot(found.stderr, whole.stderr)


@pytest.mark.parametrize("method", ["bridge", "path"])
def test_without_a_ladder_there_is_nothing(method: str) -> None:
    problem = classes(3, rows=12)
    _, tell = listener(lambda what, part: what.startswith("ladder 1 of"))
    with pytest.raises(KeyboardInterrupt, match=r"had found nothing yet.*sooner had: 'cheeseman-stutz'"):
        lac.score(problem.dag, problem.table, method, watch=tell)

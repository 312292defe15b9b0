"""What long estimates tell of their progress, and what they return if they are interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.evidence.ais import ais
from lacunary.evidence.exact import exact
from lacunary.evidence.ladder import bridge
from lacunary.evidence.sandwich import sandwich
from lacunary.evidence.smc import sampled
from tests.evidence.small import classes


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

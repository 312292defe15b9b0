"""What long estimates tell of their progress, and what they return if they are interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.evidence.ais import ais
from lacunary.evidence.ladder import bridge
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
    assert len(found.details["tau"]) == 32
    assert found.stderr is not None

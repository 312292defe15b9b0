"""Campaigns themselves: they go on where they stopped, say what failed, and notice what they look for."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.campaign import calibration, exactness, fuzz, mutants
from tests.campaign.run import Campaign, Found, page, run


def work(rng: np.random.Generator, index: int) -> Found:
    if index == 1:
        raise ValueError("the one that fails")
    if index == 2:
        os._exit(7)
    return Found(2, {"drawn": [rng.random()], "piece": [index]})


NOTED = Campaign("noted", "Counts.", (3, 5), work)


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    run(NOTED, tmp_path, 1, 2, print)
    state = run(NOTED, tmp_path, 1, 5, print)
    assert state.values["piece"] == [0, 3, 4]
    assert (state.done, state.checks) == ([0, 1, 2, 3, 4], 6)
    assert "piece 1: ValueError at work" in state.failures[0]
    assert state.failures[1:] == ["piece 2: the process ended, exit code 7"]
    told = page({"noted": (NOTED, state)}, long=False)
    assert "| noted | 1 | 5 | 6 | 2 |" in told
    assert "the one that fails" in told
    other = run(NOTED, tmp_path, 2, 1, print)
    assert other.done == [0]
    assert other.values["drawn"] != state.values["drawn"][:1]


def test_pieces_find_the_same_in_several_processes(tmp_path: Path) -> None:
    states = []
    for many in (1, 3):
        (tmp_path / str(many)).mkdir()
        states.append(run(NOTED, tmp_path / str(many), 1, 9, print, many))
    assert sorted(states[0].values["drawn"]) == sorted(states[1].values["drawn"])
    assert sorted(states[0].failures) == sorted(states[1].failures)


def test_every_kind_of_model_is_compared() -> None:
    for index in range(len(exactness.KINDS)):
        assert exactness.work(np.random.default_rng([5, index]), index).checks > 20


def test_a_wrong_evidence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactness, "_log", lambda *given: 0.1)
    with pytest.raises(AssertionError):
        exactness.work(np.random.default_rng(0), 0)


def test_an_unnamed_error_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def target(data: bytes, folder: Path) -> None:
        raise KeyError("no such thing")

    monkeypatch.setattr(fuzz, "targets", lambda: {"one": ([b"x"], target)})
    with pytest.raises(AssertionError, match="one: KeyError: 'no such thing'; input b"):
        fuzz.work(np.random.default_rng(0), 0)


def test_what_is_surer_than_right_is_noticed() -> None:
    rng = np.random.default_rng(0)
    good: dict[str, Any] = {
        "rank of a probability": rng.integers(0, calibration.DRAWS + 1, 400).astype(float),
        "arc": np.full(400, 0.3),
        "arc is there": (np.arange(400) < 120).astype(float),
        "interval holds": (np.arange(400) < 378).astype(float),
        "errors of AIS": rng.normal(size=400),
    }
    assert not calibration.judge(good)[0]
    bad: dict[str, Any] = {
        "rank of a probability": np.minimum(good["rank of a probability"], 20),
        "arc": np.full(400, 0.5),
        "arc is there": good["arc is there"],
        "interval holds": (np.arange(400) < 330).astype(float),
        "errors of AIS": 3 * good["errors of AIS"],
    }
    assert len(calibration.judge(bad)[0]) == 4


def test_mutants_differ_from_the_original_in_one_place() -> None:
    assert len(mutants.chosen("maths")) > 100
    original = ast.unparse(ast.parse(Path(mutants._source("maths.special")).read_text()))
    for mutant, make in mutants.made("maths.special"):
        lines = zip(original.splitlines(), ast.unparse(make()).splitlines(), strict=True)
        assert sum(one != two for one, two in lines) == 1, mutant


def test_every_reason_is_of_a_mutant_there_is() -> None:
    modules = {line.split()[0] for line in mutants.survivors()}
    made = {str(mutant) for module in modules for mutant in mutants._mutants(module)}
    assert mutants.survivors() <= made, mutants.survivors() - made

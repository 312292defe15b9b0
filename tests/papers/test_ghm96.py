from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from lacunary.cli import app
from lacunary.papers import Record, Results
from lacunary.papers.claims import judge
from lacunary.papers.ghm96.answers import ERRORS, Cell, answers, slope_of
from lacunary.papers.ghm96.work import CASES, counted, truth
from lacunary.papers.outcome import claims_of


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("ghm96")
    result = CliRunner().invoke(app, ["reproduce", "ghm96", "--size", "tiny", "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    [told] = json.loads(result.stdout)
    assert told["done"] == told["units"]
    for name in ("index.html", "map.svg", "map.png", "growth.svg", "ranks.txt", "map.csv", "growth.csv"):
        assert (Path(out) / "ghm96" / name).stat().st_size > 0
    again = CliRunner().invoke(app, ["reproduce", "ghm96", "--size", "tiny", "--out", str(out), "--json"])
    assert json.loads(again.stdout)[0]["seconds"] == told["seconds"], "finished work is not done again"
    found: dict[str, str] = told["verdicts"]
    return found


def test_the_two_numbers_that_are_wrong_and_no_other(verdicts: dict[str, str]) -> None:
    """Both have a one-line proof, in docs/papers.md."""
    ranks = [k for k in verdicts if k.startswith(("fan-", "w-", "autoclass", "gaussian", "sigmoid"))]
    assert [k for k in ranks if verdicts[k] == "wrong"] == ["w-5", "gaussian-w"]
    assert all(verdicts[k] == "reproduced" for k in ranks if k not in ("w-5", "gaussian-w"))


def test_conjectures_and_map(verdicts: dict[str, str]) -> None:
    for claim in ("conjecture-1-2n", "theorem-2", "formula", "ten-points"):
        assert verdicts[claim] == "reproduced"
    assert verdicts["only-one"] == "noted"


def test_kinds_of_cells() -> None:
    """Naive Bayes with two features is a matrix of bounded rank: k (2b − k) − 1 dimensions."""
    assert Cell(2, 4, 3, 13, 14).kind == 2
    assert Cell(2, 3, 3, 7, 11).kind == 1
    assert Cell(2, 3, 2, 7, 7).kind == 0


def test_slopes_are_those_of_straight_lines() -> None:
    records = [
        Record(
            "grow",
            {"kind": "regular", "n": 4, "k": 2, "rows": rows},
            {"evidence": 1.0, "certain": True, "plain": value},
            0.0,
        )
        for rows in (10, 100, 300, 1000)
        for value in (5.0 - 0.5 * np.log(rows) if rows > 10 else 99.0,) * 2
    ]
    slope = slope_of(Results(tuple(records)), ("regular", 4, 2), "plain")
    assert slope is not None
    assert slope.value == pytest.approx(-0.5)
    assert slope.error == pytest.approx(0.0, abs=1e-9)


def grown(**slopes: float) -> Results:
    """Return samples on which each score's error has a slope; unless given, zero."""
    records = []
    for (kind, n, k), rows, jitter in product(CASES, (10**5, 10**6), (-0.01, 0.01)):
        gaps = {name: slopes.get(f"{name}_{kind}_{k}", 0.0) * np.log(rows) + jitter for name in ERRORS}
        where = {"kind": kind, "n": n, "k": k, "rows": rows}
        value = {**gaps, "log_likelihood": 0.0, "evidence": 0.0, "certain": True}
        records.append(Record("grow", where, value, 0.0))
        # what is not certain must not count
        records.append(Record("grow", where, {**value, "plain": 99.0 * rows, "certain": False}, 0.0))
    return Results(tuple(records))


def test_slopes_decide_section_6() -> None:
    claims = {claim.id: claim for claim in claims_of("ghm96")[1]}
    right = answers(grown(plain_regular_3=-0.5, **{"bic-rank_independent_2": -2.0}))
    got = {name: judge(claims[name], found).verdict for name, found in right.items()}
    told = ("cs-two-classes", "cs-fails", "cs-corrected", "flat", "repair")
    assert [got[name] for name in told] == ["reproduced", "reproduced", "reproduced", "wrong", "answered"]
    level = answers(grown())
    assert judge(claims["cs-fails"], level["cs-fails"]).verdict == "not"
    assert judge(claims["flat"], level["flat"]).verdict == "reproduced"


def test_singular_truths_are_what_they_are_called() -> None:
    """Independent features: the joint is the product of its margins; a pair: only the first two depend."""
    for kind, dependent in (("independent", set()), ("pair", {(0, 1)})):
        joint = truth(kind, 4, 2).query("X1", "X2", "X3", "X4").probabilities
        for i in range(4):
            for j in range(i + 1, 4):
                rest = tuple(set(range(4)) - {i, j})
                pair = joint.sum(axis=rest)
                far = np.abs(pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))).max()
                assert (far > 1e-3) == ((i, j) in dependent), (kind, i, j)


def test_counted_samples_have_their_size() -> None:
    assert counted(truth("regular", 4, 2), 1234, 0).size == 1234

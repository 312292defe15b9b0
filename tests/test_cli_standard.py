"""``-`` for standard output, sets of states, old names of options, and classes that were interrupted."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import lacunary as lac
from lacunary.cli import show
from tests.test_cli_score import run


@pytest.fixture
def coins(tmp_path: Path) -> Path:
    path = tmp_path / "coins.csv"
    path.write_text("x,y\n" + "a,u\n" * 3 + "b,u\nb,v\n,v\n")
    return path


def test_a_model_goes_to_standard_output(coins: Path, tmp_path: Path) -> None:
    code, out, err = run("fit", coins, "x -> y", "--out", "-")
    assert code == 0
    (tmp_path / "m.json").write_text(out)
    assert lac.load(tmp_path / "m.json").network.dag.arcs == (("x", "y"),)
    assert "log-likelihood" in err  # what it would have said
    assert "missing at random" in err
    assert "lacunary-" not in err  # no file of a moment
    code, out, _ = run("fit", coins, "x -> y", "--out", "-.bif")
    assert out.startswith("network")
    code, _, err = run("fit", coins, "x -> y", "--out", "-.png")
    assert code == 1
    assert "-.bif" in err
    code, _, err = run("fit", coins, "x -> y", "--out", "-", "--figure", "-")
    assert code == 1
    assert "only one file" in err
    assert "log-likelihood" in run("fit", coins, "x -> y")[1]  # the next command speaks as ever


def test_tables_pages_and_figures_go_to_standard_output(coins: Path) -> None:
    _, out, err = run("impute", coins, "--out", "-")
    assert [len(row) for row in csv.reader(io.StringIO(out))] == [2] * 7
    assert "written: standard output (6 rows, 1 hole filled)" in err
    assert run("page", "asia", "--out", "-")[1].startswith("<!doctype html>")
    asked = ("compare", coins, "x -> y", "x; y", "--methods", "bic")
    assert "<svg" in run(*asked, "--figure", "-")[1]


def test_a_figure_of_compare_by_its_old_name(coins: Path, tmp_path: Path) -> None:
    code, out, err = run("compare", coins, "x; y", "--methods", "bic", "--out", tmp_path / "a.svg")
    assert code == 0
    assert "a.svg" in out
    assert "--out is deprecated here" in err
    assert run("compare", coins, "x; y", "--methods", "bic", "--figure", tmp_path / "b.svg")[2] == ""
    assert (tmp_path / "a.svg").read_bytes()[:5] == (tmp_path / "b.svg").read_bytes()[:5]


def test_one_of_several_states_is_given() -> None:
    asked = ("query", "alarm", "HYPOVOLEMIA", "--given", "BP=LOW|NORMAL", "--json")
    found = json.loads(run(*asked)[1])
    alarm = lac.alarm()
    both = alarm.query("HYPOVOLEMIA", "BP").probabilities[:, [0, 1]].sum(axis=1)  # LOW and NORMAL come first
    told = [line["probability"] for line in found["distribution"]]
    assert told == pytest.approx(both / both.sum(), rel=1e-9)
    assert found["probability_of_given"] == pytest.approx(both.sum(), rel=1e-9)
    assert run("query", "asia", "lung", "--do", "smoke=yes|no")[0] == 1  # one cannot set one of two


def test_classes_report_what_they_have_when_they_are_interrupted(
    coins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: Any, progress: lac.Progress, what: str = "") -> None:
        if what.startswith("3 of"):
            raise KeyboardInterrupt

    monkeypatch.setattr(show.Waiting, "watch", interrupt)
    code, out, err = run("classes", coins, "--components", "1..4", "--starts", 2, "--json")
    assert code == 130
    assert [candidate["classes"] for candidate in json.loads(out)["candidates"]] == [1, 2]
    assert "2 of 4 numbers of classes were fitted, and are reported" in err
    code, out, err = run("classes", coins, "--components", "3..4", "--starts", 2)
    assert (code, out) == (130, "")
    assert "0 of 2 numbers" in err

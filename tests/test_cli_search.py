"""``lacunary search``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app

runner = CliRunner()


def run(*arguments: str) -> Any:
    return runner.invoke(app, ["search", *arguments], prog_name="lacunary")


@pytest.fixture(scope="module")
def asia(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "asia.csv"
    lac.asia().sample(500, rng=1).to_frame("pandas").to_csv(path, index=False)
    return str(path)


def test_json_says_what_the_verb_found(asia: str, tmp_path: Path) -> None:
    out, drawing = str(tmp_path / "found.json"), str(tmp_path / "found.svg")
    result = run(asia, "--method", "exact", "--ess", "3", "--json", "--out", out, "--drawing", drawing)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    expected = lac.search(lac.read(asia), method="exact", prior=lac.bdeu(3.0))
    assert said["score"] == pytest.approx(expected.score, abs=1e-8)
    assert [(arc["from"], arc["to"]) for arc in said["arcs"]] == list(expected.dag.arcs)
    assert [arc["strength"] for arc in said["arcs"]] == pytest.approx(
        [expected.strengths[arc] for arc in expected.dag.arcs], abs=1e-8
    )
    assert (said["rows"], said["variables"], said["interrupted"]) == (500, 8, False)
    assert lac.load(out).dag == expected.dag
    assert Path(drawing).read_text(encoding="utf-8").startswith("<svg")


def test_people_read_the_arcs_and_their_strengths(asia: str) -> None:
    result = run(asia, "--score", "bic")
    assert result.exit_code == 0
    assert "500 rows, 0 holes, none dropped" in result.stdout
    found = lac.search(lac.read(asia), score="bic")
    assert f"score {found.score:.4f} nats" in result.stdout
    for tail, head in found.dag.arcs:
        assert f"{tail} -> {head}" in result.stdout


def test_rules_at_the_prompt(asia: str) -> None:
    rules = [
        "--required",
        "smoke -> xray",
        "--forbidden",
        "bronc -> dysp; dysp -> bronc",
        "--max-parents",
        "1",
    ]
    result = run(asia, *rules, "--tier", "asia,smoke", "--tier", "lung", "--json")
    assert result.exit_code == 0, result.output
    arcs = {(arc["from"], arc["to"]) for arc in json.loads(result.stdout)["arcs"]}
    assert ("smoke", "xray") in arcs
    assert not {("bronc", "dysp"), ("dysp", "bronc"), ("lung", "smoke"), ("lung", "asia")} & arcs
    heads = [head for _, head in arcs]
    assert len(set(heads)) == len(heads)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--required", "smoke -> lung", "--forbidden", "smoke -> lung"], "both required and forbidden"),
        (["--required", "smoke -> lung -> smoke"], "cycle"),
        (["--required", "smoke asia -> lung", "--max-parents", "1"], "2 required parents"),
        (["--required", "smoke -> nowhere"], "no variable 'nowhere'"),
        (["--score", "bge"], "for discrete variables score is one of"),
        (["--out", "found.txt"], "suffix must be one of"),
        (["--drawing", "found.png"], "suffix must be one of"),
    ],
)
def test_what_is_wrong_is_said(asia: str, arguments: list[str], message: str) -> None:
    result = run(asia, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_prior_for_a_score_without_one(asia: str) -> None:
    assert run(asia, "--score", "bic", "--ess", "2").exit_code == 2


def test_going_on_from_a_checkpoint(asia: str, tmp_path: Path) -> None:
    table, path = lac.read(asia), tmp_path / "trail.json"
    keep = lac.Checkpoint(path, seconds=0.0)

    def watch(progress: lac.SearchProgress) -> bool:
        keep(progress)
        return progress.steps >= 4

    lac.search(table, method="tabu", watch=watch)
    result = run(asia, "--method", "tabu", "--resume", str(path), "--json")
    assert result.exit_code == 0, result.output
    whole = lac.search(table, method="tabu")
    assert json.loads(result.stdout)["graph"] == str(whole.dag)
    assert json.loads(result.stdout)["steps"] == len(whole.path)
    assert "is no search" in run(asia, "--resume", _model(tmp_path)).stderr


def _model(folder: Path) -> str:
    lac.save(lac.asia(), folder / "asia.json")
    return str(folder / "asia.json")


def test_an_interrupt_keeps_the_best_so_far(
    asia: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: object, progress: lac.SearchProgress) -> None:
        if progress.steps == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(lac.Checkpoint, "__call__", stop)
    out, trail = str(tmp_path / "found.json"), str(tmp_path / "trail.json")
    result = run(asia, "--method", "reinsert", "--checkpoint", trail, "--out", out)
    assert result.exit_code == 130
    assert "best so far" in result.stderr
    assert len(lac.load(out).dag.arcs) == 2


@pytest.fixture(scope="module")
def holed(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "holed.csv"
    rows = lac.asia().sample(150, rng=2).select(["smoke", "lung", "bronc", "dysp"])
    lac.make_holes(rows, 0.15, rng=0).to_frame("pandas").to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (["--until", "structure"], {"until": "structure"}),
        (["--until", "score", "--escapes", "0"], {"until": "score", "escapes": 0}),
        (["--escapes", "1"], {"escapes": 1}),
        (["--hidden", "H=2", "--starts", "2"], {"hidden": {"H": 2}, "starts": 2}),
    ],
)
def test_structural_em_ends_and_begins_as_told(holed: str, options: list[str], meant: dict[str, Any]) -> None:
    with mock.patch.object(lac, "search", wraps=lac.search) as search:
        result = run(holed, *options, "--json")
    assert result.exit_code == 0, result.output
    unsaid = dict.fromkeys(("until", "escapes", "starts", "hidden"))
    assert {name: search.call_args.kwargs[name] for name in unsaid} == unsaid | meant
    expected = lac.search(lac.read(holed), **meant)
    assert json.loads(result.stdout)["score"] == pytest.approx(expected.score, abs=1e-8)
    assert len(json.loads(result.stdout)["arcs"]) == len(expected.dag.arcs)


@pytest.mark.parametrize(
    "options", [["--until", "dawn"], ["--escapes", "-1"], ["--starts", "0"], ["--escapes", "two"]]
)
def test_what_structural_em_cannot_do_is_refused_by_option(holed: str, options: list[str]) -> None:
    result = run(holed, *options)
    assert result.exit_code == 2
    assert f"Invalid value for '{options[0]}'" in " ".join(result.output.split())


def test_arcs_come_with_their_probabilities(asia: str, tmp_path: Path) -> None:
    out, page = str(tmp_path / "arcs.json"), str(tmp_path / "arcs.html")
    options = ("--max-parents", "2", "--structure-prior", "beta-binomial", "--out", out, "--report", page)
    result = CliRunner().invoke(app, ["arcs", asia, *options, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    direct = lac.arc_probabilities(lac.read(asia), max_parents=2, structure_prior="beta-binomial")
    assert found["links"] == list(direct.ranked())
    assert found["method"] == "exact"
    assert lac.load(out, lac.ArcProbabilities).to_dict() == direct.to_dict()
    assert "averaged over all graphs" in Path(page).read_text()
    shown = CliRunner().invoke(app, ["arcs", asia, "--method", "sampling", "--draws", "4", "--error", "1"])
    assert shown.exit_code == 0, shown.output
    assert "4 chains of 4 draws" in shown.stdout

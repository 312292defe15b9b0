"""``lacunary mixture`` and ``lacunary assign``: what they print, write and refuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app
from tests.mixture.small import two_groups

runner = CliRunner()


def run(*arguments: str) -> Any:
    return runner.invoke(app, list(arguments), prog_name="lacunary")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "two.csv"
    np.savetxt(path, two_groups(60), delimiter=",", header="a,b,c,d", comments="")
    return str(path)


def test_json_says_what_the_verb_found(two: str, tmp_path: Path) -> None:
    out = str(tmp_path / "mixture.json")
    uniform = ("--structure-prior", "uniform")
    result = run("mixture", two, "--components", "1-2", "--noise", *uniform, "--json", "--out", out)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    expected = lac.fit_mixture(two, components=[1, 2], noise=True, structure_prior=None)
    assert said["estimate"] == expected.estimate.value
    assert said["weights"] == expected.mixture.weights.tolist()
    best = [max(t.estimate.value for t in expected.path if t.asked == many) for many in (1, 2)]
    assert [number["estimate"] for number in said["tried"]] == best
    assert [number["met"] for number in said["tried"]] == [expected.stability(many).met for many in (1, 2)]
    # Two numbers, each as probable as the other beforehand: the odds are the Bayes factor.
    one, other = (number["probability"] for number in said["tried"])
    assert np.log(other / one) == pytest.approx(said["tried"][1]["estimate"] - said["tried"][0]["estimate"])
    for part, component in zip(said["parts"], expected.mixture.components, strict=True):
        assert part["graph"] == str(component.dag)
        assert [(arc["from"], arc["to"]) for arc in part["arcs"]] == list(component.dag.arcs)
        assert all(arc["strength"] > 0 for arc in part["arcs"])
    assert set(said["noise"]) == set("abcd")
    again = lac.load(out)
    assert again.estimate == expected.estimate
    assert str(again) == str(expected)


def test_people_read_numbers_arcs_and_differences(two: str, tmp_path: Path) -> None:
    report = str(tmp_path / "page.html")
    result = run("mixture", two, "--components", "1,2", "--report", report)
    assert result.exit_code == 0, result.output
    found = lac.fit_mixture(two, components=[1, 2])
    assert "120 rows, 0 holes, none dropped; 4 variables" in result.stdout
    for trial in found.path:
        assert f"{trial.estimate.value:.2f}" in result.stdout
    assert "<- chosen" in result.stdout
    for c, component in enumerate(found.mixture.components):
        assert f"component {c + 1}: weight {found.mixture.weights[c]:.4f}" in result.stdout
        for tail, head in component.dag.arcs:
            assert f"{tail} -> {head}" in result.stdout
    assert "linked in some components only" in result.stdout
    assert f"written: {report}" in result.stdout
    assert result.stderr == ""
    assert Path(report).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_rows_are_weighed(two: str, tmp_path: Path) -> None:
    lines = Path(two).read_text().splitlines()
    weighed = tmp_path / "weighed.csv"
    weighed.write_text(
        "\n".join([lines[0] + ",n", *(f"{line},{1 + k % 2}" for k, line in enumerate(lines[1:]))])
    )
    how = ("--components", "1", "--structure", "empty", "--json")
    said = json.loads(run("mixture", str(weighed), "--weights", "n", *how).stdout)
    expected = lac.fit_mixture(lac.read(weighed, weights="n"), components=1, structure="empty")
    assert said["estimate"] == expected.estimate.value
    assert said["variables"] == 4


def test_rules_reach_the_verb(two: str) -> None:
    options = ["--required", "a -> d", "--forbidden", "b -> c; c -> b", "--max-parents", "1"]
    more = ["--noise-bounds", "-1000", "1000", "--until", "score", "--starts", "2", "--rng", "3"]
    result = run("mixture", two, "--components", "2", *options, *more, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["noise"]["a"] == [-1000.0, 1000.0]
    assert 2 <= said["tried"][0]["met"] <= said["tried"][0]["starts"]
    for part in said["parts"]:
        arcs = [(arc["from"], arc["to"]) for arc in part["arcs"]]
        assert ("a", "d") in arcs
        assert not {("b", "c"), ("c", "b")} & set(arcs)
        assert len({head for _, head in arcs}) == len(arcs)
    hidden = run("mixture", "house_votes", *("--hidden", "H=2", "--components", "1", "--structure", "empty"))
    assert hidden.exit_code == 0, hidden.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--components", "0"], 2, "numbers lie between 1 and"),
        (["--components", "3-1"], 2, "3-1 is reversed; write 1..3"),
        (["--components", "two"], 2, "is not auto"),
        (["--components", "500"], 1, "500 components for 120 rows"),
        (["--schedule", "((EM)^10 Ec S* M"], 1, "goes wrong at character 1"),
        (["--required", "a -> b", "--forbidden", "a -> b"], 1, "both required and forbidden"),
        (["--hidden", "H"], 2, "give the number of states"),
        (["--hidden", "H=two"], 2, "is not continuous, 3, 1..6 or 1,2,4"),
        (["--starts", "2", "--around", "2"], 2, "not both"),
        (["--structure", "a -> e"], 1, "e"),
        (["--choose", "laplace", "--noise"], 1, "give the bounds"),
        (["--out", "mixture.bif"], 1, "suffix must be one of .json"),
        (["--report", "page.pdf"], 1, "suffix must be one of .html"),
        (["--resume", "nowhere.json"], 1, "cannot read nowhere.json"),
        (["--structure", "forest"], 2, "forest"),
        (["--noise-bounds", "1", "1"], 1, "low < high"),
    ],
)
def test_what_is_wrong_is_said(two: str, arguments: list[str], code: int, message: str) -> None:
    result = run("mixture", two, *arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_every_argument_has_an_option(two: str, tmp_path: Path) -> None:
    """What is typed is what the verb is called with."""
    first = str(tmp_path / "first.json")
    graphs = ["a -> b; c; d", "b -> c; a; d"]
    given = ("--structure", graphs[0], "--structure", graphs[1])
    result = run(
        "mixture", two, *given, "--choose", "laplace", "--weight-prior", "2", "--out", first, "--json"
    )
    assert result.exit_code == 0, result.output
    expected = lac.fit_mixture(two, structure=graphs, choose="laplace", weights=2.0)
    assert json.loads(result.stdout)["estimate"] == expected.estimate.value
    going = ("--initial", first, "--structure", "empty", "--method", "ml", "--choose", "bic")
    again = json.loads(run("mixture", two, *going, "--json").stdout)
    more = lac.fit_mixture(two, initial=expected, structure="empty", method="ml", choose="bic")
    assert again["estimate"] == pytest.approx(more.estimate.value, abs=1e-6)  # files keep the mixture alone
    few = (
        "--components",
        "2",
        "--around",
        "1",
        "--begin-weights",
        "draws",
        "--ess",
        "100",
        "--search",
        "greedy",
    )
    rest = ("--tier", "a,b", "--tier", "c,d", "--noise", "--noise-share", "0.02")
    drawn = json.loads(run("mixture", two, *few, *rest, "--json").stdout)
    called = lac.fit_mixture(
        two, components=2, starts=lac.Around(1, 100.0), begin_weights="draws", ess=100.0, search="greedy",
        tiers=[["a", "b"], ["c", "d"]], noise=True, noise_share=0.02,
    )  # fmt: skip
    assert drawn["estimate"] == called.estimate.value
    hidden = ("--components", "1", "--hidden", "H=1-2", "--prior", "bdeu=2", "--structure", "empty")
    votes = json.loads(run("mixture", "house_votes", *hidden, "--json").stdout)
    tried = lac.fit_mixture(
        lac.house_votes(), components=1, hidden={"H": [1, 2]}, prior=lac.BDeu(2.0), structure="empty"
    )
    assert votes["estimate"] == tried.estimate.value


def test_going_on_from_a_checkpoint(two: str, tmp_path: Path) -> None:
    path, whole = str(tmp_path / "trail.json"), lac.fit_mixture(two, components=[1, 2])
    assert run("mixture", two, "--components", "1", "--checkpoint", path).exit_code == 0
    result = run("mixture", two, "--components", "1-2", "--resume", path, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["estimate"] == whole.estimate.value
    assert {kept.asked for kept in lac.load(path).trials} == {1, 2}
    assert (
        "structure was learn, and is tree now"
        in run("mixture", two, "--structure", "tree", "--resume", path).stderr
    )
    lac.save(lac.asia(), tmp_path / "asia.json")
    assert (
        "is no learning to go on from" in run("mixture", two, "--resume", str(tmp_path / "asia.json")).stderr
    )


@pytest.mark.parametrize("after", [0, 1], ids=["before the first", "after the first"])
def test_an_interrupt_keeps_what_there_is(
    two: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    def stop(self: lac.Checkpoint, progress: lac.MixtureProgress) -> None:
        self._seen = progress
        if len(progress.done) == after and len(progress.state.ticks) > 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lac.Checkpoint, "__call__", stop)
        path, out = tmp_path / "trail.json", tmp_path / "mixture.json"
        result = run("mixture", two, "--components", "1-2", "--checkpoint", str(path), "--out", str(out))
    assert result.exit_code == 130
    assert f"--resume {path} goes on" in result.stderr
    assert out.exists() == (after == 1)
    again = run("mixture", two, "--components", "1-2", "--resume", str(path), "--json")
    assert json.loads(again.stdout)["estimate"] == lac.fit_mixture(two, components=[1, 2]).estimate.value


def test_rows_are_assigned_and_drawn(two: str, tmp_path: Path) -> None:
    model, out = str(tmp_path / "mixture.json"), str(tmp_path / "assigned.csv")
    found = lac.fit_mixture(two, components=2, noise=True)
    lac.save(found.mixture, model)
    assert run("assign", model, two, "--out", out).exit_code == 0
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    shares = found.mixture.responsibilities(two)
    assert [[float(row[f"p({name})"]) for name in ("1", "2", "noise")] for row in rows] == shares.tolist()
    assert [row["component"] for row in rows] == [("1", "2", "noise")[c] for c in shares.argmax(axis=1)]
    assert [float(row["log_density"]) for row in rows] == found.mixture.log_probability(two).tolist()
    # Groups of equal size lie six standard deviations apart: everyone is where it came from.
    assert len({row["component"] for row in rows[:60]}) == 1
    drawn = json.loads(run("sample", model, "--rows", "3", "--rng", "1", "--json").stdout)
    assert drawn["table"] == found.mixture.sample(3, 1).to_frame("dict")
    assert run("sample", model, "--given", "a=1").exit_code == 2
    lac.save(lac.asia(), tmp_path / "asia.json")
    assert "is no mixture" in run("assign", str(tmp_path / "asia.json"), two).stderr


def test_a_mixture_answers_like_a_model(tmp_path: Path) -> None:
    votes = lac.house_votes().select(["party", "crime", "immigration"])
    mixture = lac.fit_mixture(votes, components=2, structure="empty").mixture
    model, rows = str(tmp_path / "mixture.json"), str(tmp_path / "votes.csv")
    lac.save(mixture, model)
    votes.to_frame("pandas").to_csv(rows, index=False)
    said = json.loads(run("query", model, "crime", "--given", "party=democrat", "--json").stdout)
    expected = mixture.query("crime", given={"party": "democrat"}).to_dict()
    assert {item["states"]["crime"]: item["probability"] for item in said["distribution"]} == expected
    assert said["probability_of_given"] == pytest.approx(mixture.query("party")["democrat"], rel=1e-12)
    per_row = json.loads(run("query", model, "crime", "--data", rows, "--json").stdout)
    assert (
        np.array(per_row["probabilities"]).tolist() == mixture.posterior(votes, ["crime"])["crime"].tolist()
    )
    filled = str(tmp_path / "filled.csv")
    assert run("impute", model, rows, "--out", filled).exit_code == 0
    assert lac.read(filled).holes.sum() == 0
    assert run("query", model, "--explain").exit_code == 2

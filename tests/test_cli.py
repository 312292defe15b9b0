"""Every command at the prompt, with good input and bad."""

from __future__ import annotations

import csv
import gzip
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app, listed, main
from lacunary.cli.app import prompted
from lacunary.cli.arguments import SHIPPED_TABLES
from lacunary.cli.delimited import Sheet
from lacunary.cli.listed import made
from lacunary.data import datasets
from lacunary.data.datasets import dataset_path
from lacunary.evidence.imputation import Sequence
from lacunary.infer.walker import Walker
from lacunary.learn.found import Climbs
from tests import naive
from tests.interrupting import stop_after

COMMANDS = (
    "arcs",
    "effect",
    "missing",
    "pool",
    "report",
    "demo",
    "describe",
    "convert",
    "fit",
    "classes",
    "search",
    "mixture",
    "assign",
    "query",
    "sample",
    "impute",
    "score",
    "compare",
    "dimension",
    "sensitivity",
    "loo",
    "reproduce",
    "workbench",
    "serve",
    "page",
    "warm-up",
)
PRINTED = 1e-12
"""Rounding alone: the numbers of Asia have two digits and are multiplied a few times."""


class Result:
    """What a command said and how it ended."""

    def __init__(self, *arguments: object) -> None:
        result = CliRunner().invoke(app, list(map(str, arguments)), prog_name="lacunary")
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        assert self.err == ""
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def blocs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fit") / "blocs.json"
    result = Result(
        "fit", "house_votes", "--hidden", "bloc=2", "--drop", "party", "--starts", 3, "--out", path
    )
    assert result.code == 0, result.err
    return path


# Help, and how commands end


def test_help_lists_the_commands_and_exit_codes() -> None:
    result = Result("--help")
    assert result.code == 0
    for word in (*COMMANDS, "Exit codes", "130"):
        assert word in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_what_help_lists_is_what_commands_say_of_themselves(command: str) -> None:
    """The list is written out, so that help loads none of them."""
    said = inspect.cleandoc(made(command).help or "").split("\n\n")[0]
    assert said.replace("\n", " ") == listed.COMMANDS[command].summary


def test_all_commands_are_listed() -> None:
    assert set(listed.COMMANDS) == set(COMMANDS)


def test_a_name_that_is_no_command_is_told() -> None:
    """Later releases of Typer say which was meant as well."""
    result = Result("qery")
    assert result.code == 2
    assert "No such command 'qery'" in result.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_shows_examples_and_json_keys(command: str) -> None:
    result = Result(command, "--help")
    assert result.code == 0
    assert re.search(rf"Examples:[\s\S]*lacunary {command}", result.out)
    assert "--json" in result.out or command in ("workbench", "serve", "page")  # these print no results


def test_version() -> None:
    assert Result("--version").out == f"lacunary {lac.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["query"],
        ["query", "asia"],
        ["query", "asia", "lung", "--given", "smoke"],
        ["query", "asia", "lung", "--given", "=yes"],
        ["query", "asia", "lung", "--given", "smoke=yes", "--given", "smoke=no"],
        ["query", "asia", "lung", "--data", "x.csv", "--given", "smoke=yes"],
        ["query", "asia", "lung", "--out", "x.csv"],
        ["sample", "asia", "--rows", "0"],
        ["fit", "house_votes"],
        ["fit", "house_votes", "--hidden", "a=2", "--hidden", "b=2"],
        ["fit", "house_votes", "--hidden", "a=few"],
        ["fit", "house_votes", "--hidden", "a=2", "--prior", "flat"],
        ["fit", "house_votes", "--hidden", "a=2", "--prior", "dirichlet=x"],
        ["fit", "house_votes", "--hidden", "a=2", "--method", "guess"],
        ["fit", "house_votes", "--hidden", "a=2", "--states", "party"],
        ["fit", "house_votes", "--starts", "tournament", "--resume", "x.json"],
        ["fit", "house_votes", "--hidden", "a=2", "--starts", "0"],
        ["fit", "house_votes", "--hidden", "a=2", "--starts", "many"],
        ["fit", "house_votes", "--hidden", "a=2", "--starts", "around=x"],
        ["fit", "house_votes", "--hidden", "a=2", "--select", "worst"],
        ["fit", "house_votes", "--hidden", "a=2", "--select-option", "c"],
        ["impute", "asia", "x.csv", "--copies", "2"],
        ["impute", "asia", "x.csv", "--json"],
        ["describe", "house_votes", "--hidden", "x"],
    ],
)
def test_usage_errors_end_with_2(arguments: list[str]) -> None:
    result = Result(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert "Traceback" not in result.err
    assert "Error" in result.err


def wrong(name: str, content: str) -> Callable[[], Path]:
    def make() -> Path:
        path = Path(name)
        path.write_text(content)
        return path

    return make


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "nowhere.bif", "x"], "cannot read nowhere.bif"),
        (["query", "asia", "lng"], "there is no variable 'lng'"),
        (["query", "asia", "lung", "--given", "smoke=maybe"], "smoke has no state 'maybe'"),
        (["query", "asia", "lung", "--given", "smok=yes"], "there is no variable 'smok'"),
        (["query", "asia", "dysp", "--given", "either=no", "--given", "lung=yes"], "probability zero"),
        (["query", "asia", "lung", "--given", "either=no", "--given", "lung=yes"], "probability zero"),
        (["query", "asia", "--explain", "--given", "either=no", "--given", "lung=yes"], "probability zero"),
        (["query", "A -> B", "B"], "a dag has no probabilities"),
        (["query", "asia", "lung", "lung"], "asked about twice"),
        (["query", wrong("x.bif", "{}"), "x"], "expected BIF, as its suffix says, but found native JSON"),
        (["query", wrong("x.bif", "network n {\n} variable a {"), "x"], "line 2.*cut short"),
        (["query", wrong("x.cfg", ""), "x"], "the suffix must be one of"),
        (["describe", "nowhere.csv"], "'nowhere.csv' does not exist"),
        (["describe", wrong("x.csv", "a,b\n1\n")], "line 2: 1 cell,"),
        (["describe", wrong("x.csv", "")], "x.csv is empty"),
        (["describe", "A -> B -> A"], "cycle"),
        (["describe", "house_votes", "--drop", "parties"], "speaks of a column 'parties'"),
        (["fit", "nowhere.csv", "--hidden", "h=2"], "'nowhere.csv' does not exist"),
        (
            ["fit", "house_votes", "bloc -> crime nonsense", "--hidden", "bloc=2"],
            "nonsense is not in the schema",
        ),
        (["fit", "house_votes", "--hidden", "party=2"], "'party' is a variable already"),
        (["fit", "house_votes", "asia"], "to read; the columns are"),
        (["fit", "house_votes", "asia", "--hidden", "lung=3"], "gives lung 2 states"),
        (["fit", "house_votes", "--hidden", "h=2", "--prior", "bdeu=-1"], "ess must be positive"),
        (
            ["fit", "house_votes", "--hidden", "h=2", "--prior", "dirichlet=0.5", "--basis", "probability"],
            "use --basis softmax",
        ),
        (["fit", "house_votes", "--hidden", "h=2", "--out", "no/fit.json"], "there is no folder"),
        (["fit", "house_votes", "--hidden", "h=2", "--out", "fit.txt"], "the suffix must be one of"),
        (["fit", "house_votes", "--resume", wrong("x.json", "{}")], "there is no field 'lacunary'"),
        (["sample", "asia", "--out", "no/rows.csv"], "there is no folder"),
        (["sample", "asia", "--given", "either=no", "--given", "lung=yes"], "probability zero"),
        (["impute", "asia", "house_votes", "--out", "x.csv"], "to read; the columns are"),
        (["convert", "asia", "asia.txt"], "the suffix must be one of"),
        (["convert", "A -> B", "x.bif"], "BIF holds networks, not a Dag"),
        (["demo", "--out", wrong("file", "")], "cannot write to"),
    ],
)
def test_wrong_data_models_and_files_end_with_1(arguments: list[Any], message: str) -> None:
    result = Result(*(part() if callable(part) else part for part in arguments))
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith("lacunary: ")
    assert "Traceback" not in result.err
    assert re.search(message, result.err), result.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        result = Result("convert", "asia", "asia.json")
    finally:
        tmp_path.chmod(0o700)
    assert result.code == 1
    assert "not allowed" in result.err


def test_a_fit_that_cannot_be_written_in_the_end_is_kept_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full when the work is done: the first writing fails, and the fit must survive."""
    failing = [OSError(28, "No space left on device")]

    def replace(*names: Any, real: Callable[..., None] = os.replace) -> None:
        if failing:
            raise failing.pop()
        real(*names)

    work = ("fit", "house_votes", "--hidden", "h=2", "--starts", 1)
    assert Result(*work).code == 0  # what this compiles is written, too
    monkeypatch.setattr(os, "replace", replace)
    result = Result(*work, "--out", "fit.json")
    assert result.code == 1
    assert "No space left on device" in result.err
    kept = re.search(r"kept in (.*\.json)", result.err)
    assert kept
    assert lac.load(kept.group(1)).converged
    assert os.listdir() == []


# Asking


def test_asia_answers_as_printed() -> None:
    """Lauritzen & Spiegelhalter 1988, table 1: p(lung cancer | smoking) = 0.1."""
    found = Result("query", "asia", "lung", "--given", "smoke=yes", "--json").json
    assert list(found) == ["targets", "given", "do", "probability_of_given", "distribution"]
    assert found["given"] == {"smoke": "yes"}
    assert found["probability_of_given"] == pytest.approx(0.5, rel=PRINTED)
    assert [answer["states"] for answer in found["distribution"]] == [{"lung": "yes"}, {"lung": "no"}]
    assert found["distribution"][0]["probability"] == pytest.approx(0.1, rel=PRINTED)


def test_query_for_people() -> None:
    result = Result("query", "asia", "lung", "-g", "smoke=yes")
    assert result.out.split() == ["p(lung)", "yes", "0.1000", "no", "0.9000"]


def test_joint_answers_equal_enumeration() -> None:
    found = Result("query", "asia", "lung", "bronc", "--given", "dysp=yes", "--json").json
    network = lac.asia()
    row = [-1] * 7 + [0]
    expected = naive.posterior(network, row, ["lung", "bronc"])
    np.testing.assert_allclose(
        [a["probability"] for a in found["distribution"]], expected.ravel(), rtol=1e-10
    )
    assert found["probability_of_given"] == pytest.approx(naive.evidence(network, row), rel=1e-10)


def test_explanation_equals_enumeration() -> None:
    found = Result("query", "asia", "--explain", "--given", "dysp=yes", "--json").json
    network = lac.asia()
    row = [-1] * 7 + [0]
    share = naive.best_probability(network, row) / naive.evidence(network, row)
    assert found["probability"] == pytest.approx(share, rel=1e-10)
    assert list(found["explanation"]) == list(network.dag.names)
    assert found["explanation"]["dysp"] == "yes"
    told = Result("query", "asia", "lung", "--explain", "--given", "dysp=yes")
    assert told.out.splitlines()[0].split() == ["lung", found["explanation"]["lung"]]
    assert "smoke" not in told.out


def test_states_that_are_numbers_can_be_given(blocs: Path) -> None:
    found = Result("query", blocs, "crime", "--given", "bloc=1", "--json").json
    network = lac.load(blocs).network
    assert found["given"] == {"bloc": 1}
    chances = [float(answer["probability"]) for answer in found["distribution"]]
    np.testing.assert_allclose(chances, network.table("crime")[1], rtol=PRINTED)


def test_query_of_a_table(blocs: Path) -> None:
    expected = lac.load(blocs).network.posterior(lac.house_votes(), ["bloc"])["bloc"]
    written = Result("query", blocs, "bloc", "--data", "house_votes", "--out", "p.tsv")
    assert written.code == 0
    assert written.out == "written: p.tsv (435 rows)\n"
    with open("p.tsv", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header == ["bloc=0", "bloc=1"]
    np.testing.assert_array_equal(np.array(rows, dtype=float), expected)
    found = Result("query", blocs, "bloc", "--data", "house_votes", "--json").json
    assert found["columns"] == header
    np.testing.assert_array_equal(found["probabilities"], expected)
    assert Result("query", blocs, "bloc", "--data", "house_votes").out.startswith("bloc=0,bloc=1\n")


def test_a_table_with_an_unknown_state_names_row_and_state() -> None:
    names = lac.asia().dag.names
    Path("x.csv").write_text(",".join(names) + "\n" + "yes," * 7 + "yes\n" + "yes," * 7 + "often\n")
    result = Result("query", "asia", "lung", "--data", "x.csv")
    assert result.code == 1
    assert "dysp" in result.err
    assert "row 2" in result.err
    assert "'often'" in result.err


# Sampling


def test_samples_are_reproducible_and_keep_what_is_given() -> None:
    assert (
        Result("sample", "asia", "-n", 50, "--rng", 3, "--given", "smoke=no", "--out", "a.csv.gz").code == 0
    )
    with gzip.open("a.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert {row["smoke"] for row in rows} == {"no"}
    again = Result("sample", "asia", "-n", 50, "--rng", 3, "--given", "smoke=no", "--json").json
    assert again["rows"] == 50
    assert again["table"]["dysp"] == [row["dysp"] for row in rows]
    assert Result("sample", "asia", "-n", 2, "--rng", 3).out.count("\n") == 3


def test_sample_into_parquet_and_folders() -> None:
    told = Result(
        "sample", "asia", "-n", 90, "--rng", 3, "--part-rows", 40, "--missing", 0.5, "--out", "r/", "--json"
    )
    assert told.json == {"rows": 90, "columns": list(lac.asia().dag.names), "out": "r/", "parts": 3}
    table = lac.read("r/part-000002.parquet")
    assert len(table) == 10
    assert 0.25 < lac.scan("r").whole("a test").holes.mean() < 0.75
    assert "exists already" in Result("sample", "asia", "-n", 90, "--out", "r/").err
    assert "written: one.parquet (20 rows)" in Result("sample", "asia", "-n", 20, "--out", "one.parquet").out
    assert len(lac.read("one.parquet")) == 20
    assert "a part is a file of a folder" in Result("sample", "asia", "--part-rows", 5).err


# Filling


def cells(path: str) -> list[list[str]]:
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_impute_changes_holes_alone(blocs: Path) -> None:
    found = Result("impute", blocs, "house_votes", "--out", "filled.csv", "--json").json
    assert found == {"rows": 435, "how": "mode", "copies": 1, "filled": 392, "out": "filled.csv"}
    before, after = cells(str(dataset_path("house_votes"))), cells("filled.csv")
    assert before[0] == after[0]
    changed = [
        (b, a) for x, y in zip(before, after, strict=True) for b, a in zip(x, y, strict=True) if a != b
    ]
    assert len(changed) == 392
    assert {b for b, _ in changed} == {"NA"}
    assert {a for _, a in changed} == {"n", "y"}
    network = lac.load(blocs).network
    hole = next(r for r, row in enumerate(before) if row[16] == "NA") - 1
    chance = network.posterior(lac.house_votes(), ["export_administration_act_south_africa"])
    best = next(iter(chance.values()))[hole].argmax()
    assert after[hole + 1][16] == "ny"[best]


ODD = '\ufeffnote;"a";b;"the, other"\r\n"x; ""y""";n;?;1\r\n\r\n  z ;?; y;2\r\n;" n";?;3'
"""Semicolons, quotes, blanks, an empty line, a byte order mark, columns no model knows, no end of line."""


def test_impute_needs_no_model() -> None:
    Path("few.csv").write_text("a,b\n" + "".join(f"{k}.5,{'xy'[k % 2]}\n" for k in range(30)) + ",x\n3.5,\n")
    found = Result("impute", "few.csv", "--out", "full.csv", "--json").json
    assert found == {"rows": 32, "how": "mean", "copies": 1, "filled": 2, "out": "full.csv"}
    lines = Path("full.csv").read_text().splitlines()
    assert lines[:31] == Path("few.csv").read_text().splitlines()[:31]
    assert (
        Result("impute", "few.csv", "--how", "draw", "--copies", 2, "--rng", 1, "--out", "two.csv").code == 0
    )
    assert len(Path("two.csv").read_text().splitlines()) == 1 + 64
    assert Result("impute", "asia", "few.csv", "x.csv").code != 0


def test_impute_keeps_every_other_character() -> None:
    dag = lac.dag("a -> b", states={"a": ["n", "y"], "b": ["n", "y"]})
    lac.save(lac.Network.from_tables(dag, {"a": [0.2, 0.8], "b": [[0.9, 0.1], [0.1, 0.9]]}), "m.json")
    Path("odd.csv").write_text(ODD, newline="", encoding="utf-8")
    result = Result("impute", "m.json", "odd.csv")
    assert result.code == 0
    # By hand: given a = n, b is n; given b = y, a is y (0.72 to 0.02).
    assert result.out.splitlines() == [
        'note;"a";b;"the, other"',
        '"x; ""y""";n;n;1',
        "  z ;y; y;2",
        ';" n";n;3',
    ]


def test_impute_by_draws_copies_and_hidden_columns(blocs: Path) -> None:
    arguments = (
        "impute",
        blocs,
        "house_votes",
        "--how",
        "draw",
        "--copies",
        3,
        "--rng",
        5,
        "--hidden-columns",
    )
    found = Result(*arguments, "--out", "three.csv", "--json").json
    assert found["filled"] == 3 * (392 + 435)
    after = cells("three.csv")
    assert after[0][-2:] == ["bloc", "copy"]
    assert [row[-1] for row in after[1:]] == [str(c) for c in (1, 2, 3) for _ in range(435)]
    assert {row[-2] for row in after[1:]} == {"0", "1"}
    blocks = [[row[:-1] for row in after[1 + 435 * c : 1 + 435 * (c + 1)]] for c in range(3)]
    assert blocks[0] != blocks[1]
    assert Result(*arguments).out.splitlines() == [",".join(row) for row in after]


def test_impute_probabilities(blocs: Path) -> None:
    assert Result("impute", blocs, "house_votes", "--how", "probability", "--out", "p.csv").code == 0
    before, after = cells(str(dataset_path("house_votes"))), cells("p.csv")
    assert [row[:17] for row in after] == before
    assert after[0][17:19] == ["handicapped_infants=n", "handicapped_infants=y"]
    assert not any(name.startswith("bloc") for name in after[0])
    # Asked about all columns, as `impute` asks: about one alone, rows are laid out, and round, otherwise.
    expected = lac.load(blocs).network.posterior(lac.house_votes())["crime"]
    place = after[0].index("crime=n")
    np.testing.assert_array_equal([list(map(float, r[place : place + 2])) for r in after[1:]], expected)


def test_impute_refuses_to_add_a_column_twice(blocs: Path) -> None:
    text = dataset_path("house_votes").read_text().replace("party", "bloc", 1)
    text = re.sub("republican|democrat", "0", text)
    Path("votes.csv").write_text(text)
    result = Result("impute", blocs, "votes.csv", "--hidden-columns", "--out", "x.csv")
    assert result.code == 1
    assert "has a column 'bloc' already" in result.err
    assert not Path("x.csv").exists()


def test_impute_of_a_frame_file(blocs: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(lac.house_votes().to_frame("pyarrow"), "votes.feather")
    assert Result("impute", blocs, "votes.feather", "--out", "x.csv").code == 0
    assert Result("impute", blocs, "house_votes", "--out", "y.csv").code == 0
    assert cells("x.csv") == [row[1:] for row in cells("y.csv")]  # the model does not know the party


def test_a_sheet_reads_cells_as_the_csv_module_does(tmp_path: Path) -> None:
    """What is kept and what is read must be the same rows."""
    text = 'a,"b ""q""",c\n1,"two\nlines",\n\n"",x"y,3\n'
    path = tmp_path / "sheet.csv"
    path.write_text(text, newline="")
    with open(path, newline="") as file:
        header, *rows = (row for row in csv.reader(file) if row)
    sheet = Sheet.read(path)
    assert sheet.names == header
    assert [[cell.strip('"').replace('""', '"') for cell in row] for row in sheet.rows] == rows
    assert sheet.text(sheet.rows) == text.replace("\n\n", "\n")


# Looking


def test_describe_a_table() -> None:
    found = Result("describe", "house_votes", "--json").json
    assert (found["rows"], len(found["variables"])) == (435, 17)
    assert found["holes"] * 435 * 17 == pytest.approx(392, rel=PRINTED)
    assert found["patterns"][0] == {"holes": [], "rows": 232}
    told = lac.read(dataset_path("house_votes")).describe()
    assert Result("describe", "house_votes").out == f"{told}\n"


def test_describe_points_to_states_that_look_like_holes() -> None:
    Path("x.csv").write_text("a,b\nyes,1\n-,2\nno,1\n")
    told = Result("describe", "x.csv").out
    assert "a: '-' may mean that a value is missing; --holes - makes it a hole\n" in told
    assert "may mean" not in Result("describe", "x.csv", "--holes", "-").out
    ordered = Result(
        "describe", "x.csv", "--states", "a=no,yes", "--holes", "-", "--kinds", "b=continuous", "--json"
    )
    assert ordered.json["variables"][0]["states"] == ["no", "yes"]
    assert ordered.json["variables"][1]["kind"] == "continuous"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("leave it out with drop=['id'],", "leave it out with --drop id,"),
        ("drop=['my id']", "--drop 'my id'"),
        ("kinds={'a': 'discrete'} makes", "--kinds a=discrete makes"),
        ("declare them with states={'a': […]},", "declare them with --states a=a,b,c,"),
        ("name it in holes=…", "name it in --holes"),
        ("holes=['n/a', '?', ''] makes", "--holes n/a --holes '?' --holes '' makes"),
        ('drop=["it\'s"]', "--drop 'it'\"'\"'s'"),
        ("decimal=',' reads", "--decimal , reads"),
        ("select='average' needs: use starts=Draws(30)", "--select average needs: use --starts 30"),
        ("p(x=yes) is fine", "p(x=yes) is fine"),
    ],
)
def test_advice_is_spelled_as_at_the_prompt(said: str, shown: str) -> None:
    assert prompted(said) == shown


def test_advice_can_be_followed() -> None:
    Path("x.csv").write_text("id,a\n" + "".join(f"C{i},{'yn'[i % 2]}\n" for i in range(60)))
    refused = Result("fit", "x.csv", "--hidden", "h=2", "--starts", 1)
    assert refused.code == 1
    advice = re.search(r"with (--drop \w+)", refused.err)
    assert advice is not None
    assert Result("fit", "x.csv", "--hidden", "h=2", "--starts", 1, *advice[1].split()).code == 0


def test_describe_with_other_holes() -> None:
    Path("x.csv").write_text("a,b\n-9,NA\n1,x\n2,NA\n")
    found = Result("describe", "x.csv", "--holes=-9", "--not-holes", "NA", "--json").json
    assert [v["states"] for v in found["variables"]] == [[1, 2], ["NA", "x"]]
    found = Result("describe", "x.csv", "--holes=-9", "--json").json
    assert [v["states"] for v in found["variables"]] == [[1, 2], ["x"]]


def test_describe_models(blocs: Path) -> None:
    found = Result("describe", "alarm", "--json").json
    assert (found["kind"], len(found["variables"]), found["arcs"], found["parameters"]) == (
        "network",
        37,
        46,
        509,
    )
    found = Result("describe", "A -> C <- H -> D <- B", "--hidden", "H=3", "--json").json
    # 2 roots of two states, one of three, two children with 6 configurations each: 1 + 1 + 2 + 6 + 6.
    assert (found["kind"], found["parameters"]) == ("dag", 16)
    assert [v["name"] for v in found["variables"] if v["hidden"]] == ["H"]
    told = Result("describe", blocs)
    assert told.out.startswith("fit: 17 variables, 16 arcs, 33 free parameters")
    assert "bloc" in told.out.splitlines()[-1]
    assert "(hidden)" in told.out


@pytest.mark.filterwarnings("default:.*does not keep")
def test_convert_round_trip(blocs: Path) -> None:
    for target in ("a.json", "a.bif", "a.xmlbif", "a.net.gz"):
        assert Result("convert", "asia", target).code == 0
        assert lac.load(target).theta.tobytes() == lac.asia().theta.tobytes()
    done = Result("convert", blocs, "blocs.bif", "--json")
    assert json.loads(done.out) == {"kind": "network", "source": str(blocs), "out": "blocs.bif"}
    assert "BIF does not keep what states of 'bloc' are, which become text; that 'bloc' is hidden" in done.err
    assert lac.load("blocs.bif").theta.tobytes() == lac.load(blocs).network.theta.tobytes()


def test_convert_renormalizes_on_request() -> None:
    Path("x.bif").write_text("variable a { type discrete [2] {y, n}; }\nprobability (a) { table 0.5, 0.4; }")
    result = Result("convert", "x.bif", "x.json")
    assert result.code == 1
    assert "misses one by 0.1" in result.err
    assert not Path("x.json").exists()
    assert Result("convert", "x.bif", "x.json", "--renormalize").code == 0
    np.testing.assert_allclose(lac.load("x.json").theta, [5 / 9, 4 / 9], rtol=PRINTED)


# Learning


def test_fit_without_holes_is_counting() -> None:
    """p(a), p(b | a) by maximum likelihood are the shares of rows."""
    Path("x.csv").write_text("a,b,c\n" + "n,n,1\n" * 3 + "n,y,1\n" + "y,y,2\n" * 4)
    assert Result("fit", "x.csv", "a -> b", "--method", "ml", "--out", "x.bif").code == 0
    network = lac.load("x.bif")
    assert network.dag.names == ("a", "b")
    np.testing.assert_allclose(network.table("a"), [0.5, 0.5], rtol=PRINTED)
    np.testing.assert_allclose(network.table("b"), [[0.75, 0.25], [0.0, 1.0]], rtol=PRINTED)


def test_fit_json_holds_the_numbers() -> None:
    Path("x.csv").write_text("a,n\ny,3\nn,1\n,2\n")
    found = Result("fit", "x.csv", "a", "--weights", "n", "--method", "ml", "--json")
    assert found.code == 1  # one name alone is a file, not a graph
    found = Result("fit", "x.csv", "a;", "--weights", "n", "--method", "ml", "--json").json
    expected = 3 * np.log(0.75) + np.log(0.25)
    assert list(found) == [
        *(
            "rows",
            "size",
            "holes",
            "variables",
            "parameters",
            "method",
            "basis",
            "objective",
            "log_likelihood",
            "entropy",
        ),
        *("iterations", "converged", "bic", "interrupted", "selection", "out", "starts"),
    ]
    assert found["log_likelihood"] == pytest.approx(expected, rel=1e-8)  # EM's stopping rule
    assert found["bic"] == pytest.approx(expected - 0.5 * np.log(6), rel=1e-8)
    assert (found["rows"], found["size"], found["holes"], found["parameters"]) == (3, 6.0, 1, 1)
    assert list(found["starts"][0]) == ["objective", "log_likelihood", "entropy", "iterations", "converged"]
    assert found["selection"] == {"name": "best", "details": {}}
    # At a peak the objective is flat: 1e-8 of it leaves its root of the parameters open.
    assert found["entropy"] == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25), rel=1e-4)


def test_fit_is_the_library_s_fit(blocs: Path) -> None:
    votes = lac.house_votes()
    kept = votes.select([name for name in votes.schema.names if name != "party"])
    expected = lac.fit(lac.naive_bayes(kept.schema, hidden="bloc", states=2), kept, starts=3)
    found = lac.load(blocs)
    assert found.network.theta.tobytes() == expected.network.theta.tobytes()
    assert len(found.starts) == 3


def test_fit_options() -> None:
    base = ("fit", "house_votes", "h -> crime immigration mx_missile", "--hidden", "h=2", "--json")
    plain = Result(*base, "--starts", 5).json
    fast = Result(*base, "--starts", 5, "--accelerate").json
    assert max(s["iterations"] for s in fast["starts"]) < max(s["iterations"] for s in plain["starts"])
    assert len(Result(*base, "--starts", "tournament=8").json["starts"]) == 8
    assert Result(*base, "--starts", 2, "--iterations", 2).json["converged"] is False
    other = Result(*base, "--starts", 5, "--prior", "dirichlet=1.01", "--basis", "probability").json
    assert other["basis"] == "probability"
    assert other["objective"] != plain["objective"]


def test_fit_selects_from_the_starts() -> None:
    base = ("fit", "house_votes", "h -> crime immigration mx_missile", "--hidden", "h=2", "--starts", 6)
    for select, options in (("average", {"weights": "posterior"}), ("entropy", {"c": 0.9999})):
        asked = [word for item in options.items() for word in ("--select-option", "{}={}".format(*item))]
        result = Result(*base, "--select", select, *asked, "--out", f"{select}.json", "--json")
        found = lac.load(f"{select}.json")
        expected = lac.fit(
            found.dag,
            lac.house_votes(),
            starts=6,
            select=select,  # type: ignore[arg-type]
            select_options=options,
        )
        assert found.network.theta.tobytes() == expected.network.theta.tobytes()
        assert result.json["selection"]["details"].items() >= options.items()
    quick = ("--select-option", "evaluations=100")
    told = Result(*base, "--select", "max-entropy", *quick, "--figure", "starts.png")
    assert "chosen by max-entropy; local entropy" in told.out
    assert "of 6 starts" in told.out
    assert Path("starts.png").read_bytes()[:4] == b"\x89PNG"
    refused = Result(*base, "--select", "entropy", "--select-option", "seconds=3")
    assert refused.code == 1
    assert "its options are c" in refused.err
    assert len(Result(*base[:-1], "around=4", "--json").json["starts"]) == 4


def test_fit_a_model_file_with_a_hidden_variable() -> None:
    assert Result("sample", "asia", "-n", 300, "--rng", 1, "--out", "rows.csv").code == 0
    found = Result(
        "fit", "rows.csv", "asia", "--hidden", "bronc", "--starts", 2, "--out", "f.json", "--json"
    ).json
    assert found["holes"] == 0
    assert lac.load("f.json").dag.schema.hidden == ("bronc",)
    assert lac.load("f.json").dag.parents == lac.asia().dag.parents


def test_declared_states_and_kinds() -> None:
    Path("x.csv").write_text("a,b\nlow,1.5\nhigh,2.5\n")
    result = Result(
        *("fit", "x.csv", "a -> b", "--states", "a=low,mid,high", "--kinds", "b=discrete", "--out", "x.json")
    )
    assert result.code == 0, result.err
    schema = lac.load("x.json").dag.schema
    assert schema["a"].states == ("low", "mid", "high")
    assert schema["b"].states == (1.5, 2.5)


def test_resume_goes_on_to_the_same_end(blocs: Path) -> None:
    whole = lac.load(blocs)
    start = ("fit", "house_votes", "--hidden", "bloc=2", "--drop", "party", "--starts", 3)
    assert Result(*start, "--iterations", 4, "--out", "part.json").code == 0
    assert not lac.load("part.json").converged
    result = Result("fit", "house_votes", "--resume", "part.json", "--out", "part.json")
    assert result.code == 0, result.err
    # The same steps from the same point; a batch of another size may add in another order.
    assert lac.load("part.json").objective == pytest.approx(whole.objective, rel=1e-9)


def test_checkpoint_is_written_and_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lac, "Checkpoint", partial(lac.Checkpoint, seconds=0.0))
    start = ("fit", "house_votes", "--hidden", "bloc=2", "--drop", "party", "--starts", 3)
    assert Result(*start, "--checkpoint", "climbs.json", "--iterations", 4).code == 0
    assert type(lac.load("climbs.json")) is Climbs
    assert Result("fit", "house_votes", "--resume", "climbs.json", "--out", "f.json").code == 0
    assert len(lac.load("f.json").starts) == 3


def test_ctrl_c_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    from lacunary.cli import show

    def interrupt(self: Any, progress: lac.Progress, what: str = "") -> None:
        if progress.iteration == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(show.Waiting, "watch", interrupt)
    start = ("fit", "house_votes", "--hidden", "bloc=3", "--starts", 2)
    result = Result(*start, "--out", "f.json", "--json")
    assert result.code == 130
    assert "interrupted" in result.err
    assert json.loads(result.out)["interrupted"] is True
    kept = lac.load("f.json")
    assert kept.interrupted
    assert kept.iterations == 3
    assert "--out FILE would have kept it" in Result(*start).err
    again = Result(*start, "--checkpoint", "so-far.json")
    assert "--resume so-far.json goes on" in again.err
    assert [s.iterations for s in lac.load("so-far.json").starts] == [3, 3]


def test_a_checkpoint_that_was_never_written_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lac, "fit_mixture", interrupt)
    result = Result("mixture", "house_votes", "--checkpoint", "none.json")
    assert result.code == 130
    assert "--resume" not in result.err
    assert not Path("none.json").exists()


# The demo


def closed_form_bic() -> float:
    """16 independent votes at n / N, where the likelihood is highest, from the file itself."""
    with open(dataset_path("house_votes"), newline="") as file:
        rows = list(csv.reader(file))[1:]
    total = 0.0
    for column in range(1, 17):
        seen = [row[column] for row in rows if row[column] != "NA"]
        counts = np.array([seen.count("n"), seen.count("y")])
        total += float(counts @ np.log(counts / counts.sum()))
    return total - 16 / 2 * float(np.log(435))


def test_demo() -> None:
    found = Result("demo", "--out", "d/e", "--starts", 4, "--json").json
    assert (found["rows"], found["variables"], found["holes"]) == (435, 16, 392)
    assert (found["complete_rows"], found["incomplete_rows"]) == (232, 203)
    assert [c["classes"] for c in found["candidates"]] == [1, 2, 3, 4, 5, 6]
    assert [c["parameters"] for c in found["candidates"]] == [17 * k - 1 for k in range(1, 7)]
    # EM stops 1e-10 of the objective short, where the likelihood is not at its own peak.
    assert found["candidates"][0]["log_evidence"]["bic"] == pytest.approx(closed_form_bic(), abs=1e-3)
    for method in ("bic", "sbic", "cheeseman-stutz", "variational", "laplace"):
        first = max(found["candidates"], key=lambda c: c["log_evidence"][method])["classes"]
        assert method in found["favourites"][str(first)]
    assert found["criterion"] in found["favourites"][str(found["best"])]
    assert sum(c["size"] for c in found["classes"]) == pytest.approx(435, rel=1e-9)
    assert Path(found["page"]) == Path("d/e/index.html")
    assert "<svg" in Path(found["page"]).read_text(encoding="utf-8")
    network = lac.load(found["network"])
    assert network.dag.schema["bloc"].states == tuple("ABCDEF"[: found["best"]])
    asked = Result("query", found["network"], "bloc", "--given", "physician_fee_freeze=y")
    assert asked.code == 0


def test_demo_for_people_and_its_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    from lacunary.cli import demo, show

    monkeypatch.setattr(demo, "MOST", 2)
    result = Result("demo", "--starts", 2)
    assert result.code == 0
    assert "would lose 203 of 435" in result.out
    assert "lacunary-demo/index.html" in result.out.replace("\\", "/")
    assert "\x1b" not in result.out

    def interrupt(self: Any, progress: lac.Progress, what: str = "") -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(show.Waiting, "watch", interrupt)
    result = Result("demo", "--out", "other")
    assert result.code == 130
    assert result.out == ""
    assert "interrupted; nothing was written" in result.err
    assert os.listdir("other") == []


GRAPHS = ("party -> crime", "party; crime")


def test_an_interrupted_score_shows_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(monkeypatch, Sequence, "_island", 1 + 3)  # the first is a pilot
    with lac.threads(1):
        result = Result("score", "house_votes", GRAPHS[0], "--method", "chib")
    assert result.code == 130
    assert "Monte Carlo; higher is better" in result.out
    assert "it was interrupted, and this is what had been found by then" in result.out


def test_a_score_that_has_nothing_says_what_is_sooner_had(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(monkeypatch, Sequence, "_island", 1 + 1)
    with lac.threads(1):
        result = Result("score", "house_votes", GRAPHS[0], "--method", "chib")
    assert result.code == 130
    assert result.out == ""
    assert "interrupted: 'chib' had found nothing yet" in result.err
    assert "sooner had: 'cheeseman-stutz'" in result.err


def test_an_interrupted_comparison_shows_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    from lacunary.cli import show

    stop_after(monkeypatch, show.Waiting, "say", 1 + 1)
    result = Result("compare", "house_votes", *GRAPHS, "--methods", "exact", "--json")
    assert result.code == 130
    assert [row["kind"] for row in json.loads(result.out)] == ["exact", "not done"]
    monkeypatch.undo()
    stop_after(monkeypatch, show.Waiting, "say", 1 + 1)
    result = Result("compare", "house_votes", *GRAPHS, "--methods", "exact")
    assert result.code == 130
    assert "exact of party; crime: not done: the comparison was interrupted" in result.out
    assert "exact: none, because there is no estimate of party; crime" in result.out


def test_an_interrupted_range_of_priors_shows_those_that_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from lacunary.cli import show

    stop_after(monkeypatch, show.Waiting, "say", 1 + 1)
    result = Result("sensitivity", "house_votes", GRAPHS[0], "--methods", "exact", "--alphas", "0.5,1")
    assert result.code == 130
    assert "it was interrupted, and other priors were not tried" in result.out


def test_interrupted_predictions_show_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(monkeypatch, Walker, "_trail", 3)
    with lac.threads(1):
        result = Result("loo", "house_votes", GRAPHS[0], "--draws", 20)
    assert result.code == 130
    assert "20 draws of 3 chains" in result.out


# The process


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lacunary", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_python_m_lacunary_and_codes_of_the_process() -> None:
    good = run("query", "asia", "lung", "--given", "smoke=yes", "--json")
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["targets"] == ["lung"]
    bad = run("query", "asia", "lng")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert len(bad.stderr.splitlines()) == 1


def test_the_console_script_is_main(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lacunary", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("lacunary ")


HEAVY = """
import sys, time
from lacunary.cli import main
heavy, sys.argv[1:] = set(sys.argv[1].split()), sys.argv[2:]
try:
    main()
except SystemExit:
    pass
print(time.process_time(), *sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], {"lacunary.cli.fit", "matplotlib", "numba", "numpy", "polars", "pydantic", "scipy"}),
        (
            ["query", "asia", "lung", "--given", "xray=yes"],
            {
                "lacunary.cli.fit",
                "lacunary.data.read",
                "matplotlib",
                "numba",
                "polars",
                "pydantic",
                "rich",
                "scipy",
            },
        ),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_help_and_questions_are_cheap(arguments: list[str], heavy: set[str]) -> None:
    """Under one second of CPU, which they can only be without what other commands need."""
    program = [sys.executable, "-c", HEAVY, " ".join(heavy), *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    seconds, *modules = done.stderr.split()
    assert modules == []
    assert float(seconds) < 1.0


@pytest.mark.long
def test_examples_in_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of every command, in the order shown; of shipped tables every fourth row."""
    fewer = {name: tmp_path / f"{name}.csv" for name in SHIPPED_TABLES}
    for name, path in fewer.items():
        head, *rows = dataset_path(name).read_text().splitlines(keepends=True)
        path.write_text("".join([head, *rows[::4]]))
    monkeypatch.setattr(datasets, "dataset_path", lambda name: fewer.get(name) or dataset_path(name))
    ran = set()
    for command in listed.COMMANDS:
        for line in re.findall(r"`lacunary (.*)`", made(command).epilog or ""):
            words = shlex.split(line)
            ran.add(words[0])
            if words[0] not in (
                "demo",
                "reproduce",
                "warm-up",
                "workbench",
                "serve",
            ):  # have tests of their own
                result = Result(*words)
                assert result.code == 0, (line, result.err)
    assert ran == set(COMMANDS)


def test_setting_is_not_seeing_at_the_prompt() -> None:
    """Set, lung cancer says nothing of smoking; Lauritzen & Spiegelhalter 1988: half of all smoke."""
    found = Result("query", "asia", "smoke", "--do", "lung=yes", "--json").json
    assert found["do"] == {"lung": "yes"}
    assert found["distribution"][0]["probability"] == pytest.approx(0.5, rel=PRINTED)
    both = Result("query", "asia", "lung", "--do", "lung=yes", "--given", "lung=yes")
    assert both.code == 1
    assert "set by do and given as well" in both.err
    drawn = Result("sample", "asia", "--rows", 4, "--do", "smoke=no", "--json").json
    assert set(drawn["table"]["smoke"]) == {"no"}
    ranged = Result("query", "asia", "bronc", "--do", "smoke=yes", "--over-class", "--json").json
    assert ranged["graphs"] == 3
    assert Result("query", "asia", "--marginals", "--do", "smoke=yes").code == 2
    assert Result("query", "asia", "bronc", "--over-class").code == 2
    told = Result("effect", "asia", "smoke", "dysp", "--state", "yes", "--json").json
    assert told["identified"]
    assert told["effect"]["estimate"] == pytest.approx(-0.2337, abs=5e-5)  # from yes, the first, to no

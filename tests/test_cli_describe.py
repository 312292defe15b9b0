"""Tables as people have them, at the prompt: what is said about them, and how commands end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lacunary as lac
from tests.test_cli import Result

TROUBLE = "id,when,v,none,g\n" + "".join(
    f"p{k},2024-01-{k % 28 + 1:02}T{k:02},{'n/a' if k == 7 else k / 8},,{'ab'[k % 2]}\n" for k in range(60)
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trouble.csv").write_text(TROUBLE)
    Path("comma.csv").write_text("a;b\nx;1,5\ny;2,5\nx;\ny;3,5\n")


def test_describe_shows_the_whole_table_and_every_problem() -> None:
    result = Result("describe", "trouble.csv")
    assert result.code == 1
    assert result.err.startswith("lacunary: 4 columns cannot be read")
    table, problems = result.out.split("\n\nproblems\n")
    assert "g         discrete" in table
    assert len(problems.splitlines()) == 4
    for advice in ("--drop id", "dates, such as", "--holes n/a makes it a hole", "--kinds none=continuous"):
        assert advice in problems
    assert "schema=" not in problems


def test_its_advice_can_be_followed() -> None:
    settings = ("--drop", "id", "--drop", "when", "--holes", "n/a", "--kinds", "none=continuous")
    found = Result("describe", "trouble.csv", *settings, "--json").json
    assert [v["kind"] for v in found["variables"]] == ["continuous", "continuous", "discrete"]
    assert found["notes"] == found["problems"] == []


def test_other_commands_name_all_problems_at_once() -> None:
    result = Result("fit", "trouble.csv", "v -> g")
    assert (result.code, result.out) == (1, "")
    assert [line.split()[1] for line in result.err.splitlines()[1:]] == ["id", "when", "v", "none"]


@pytest.mark.filterwarnings("default::UserWarning")
def test_decimal_commas_are_noted_and_read() -> None:
    assert "continuous; '1,5' is read as 1.5; '' is a hole" in Result("describe", "comma.csv").out
    Path("open.csv").write_text('a,b\nx,"1,234"\ny,"2,345"\n')
    noted = Result("fit", "open.csv", "a -> b", "--kinds", "b=continuous")
    assert noted.err.startswith(
        "lacunary: note: b: '1,234' may be 1234 or 1.234, and no cell tells; read as 1234; "
        "--decimal , reads the other, --decimal . is for this one\n"
    )
    found = Result("describe", "comma.csv", "--decimal", ",", "--json").json
    assert found["variables"][1]["range"] == [1.5, 3.5]
    assert Result("describe", "comma.csv", "--decimal", ";").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["compare", "comma.csv", "a -> b", "b", "--decimal", ","],
            1,
            "'b' was taken for the name of a file",
        ),
        (
            ["compare", "comma.csv", "--hidden", "h", "--components", "5..1"],
            2,
            "5..1 is reversed; write 1..5",
        ),
        (["query", "asia", "lng"], 1, "did you mean 'lung'?"),
        (["query", "asia", "lung", "--given", "smoke=yess"], 1, "did you mean 'yes'?"),
        (["fit", "house_votes", "party -> krime"], 1, "did you mean 'crime'?"),
    ],
)
def test_slips_are_understood(arguments: list[str], code: int, message: str) -> None:
    result = Result(*arguments)
    assert result.code == code
    assert message in " ".join(result.err.replace("│", " ").split())


def test_a_closed_pipe_is_no_error() -> None:
    """The reader is gone before anything is written; both ways of printing are tried."""
    command = [sys.executable, "-m", "lacunary", "describe", "A -> B"]
    both = [
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for words in (command, [*command, "--json"])
    ]
    for process in both:
        assert process.stdout is not None
        process.stdout.close()
    for process in both:
        assert process.stderr is not None
        with process.stderr as said:
            assert said.read() == b""
        assert process.wait() == 141


def test_decimal_commas_are_written_as_they_are_read(tmp_path: Path) -> None:
    table, model = tmp_path / "sizes.csv", tmp_path / "model.json"
    table.write_text("a;b\nx;1,5\ny;2,5\nx;\ny;0,5\n")
    graph = lac.dag("a; b", states={"a": ["x", "y"]}, kinds={"b": "continuous"})
    half = {"a": np.array([0.5, 0.5]), "b": np.array([1.25, 1.0])}
    lac.save(lac.Network.from_tables(graph, half), model)
    result = Result("impute", model, table, "--decimal", ",")
    assert result.code == 0, result.err
    assert result.out.splitlines()[3] == "x;1,25"


def test_doubtful_columns_are_said_once_with_the_option() -> None:
    rows = "".join(f"{k},{'xy'[k % 3 == 0]},{'uv'[k % 2]}\n" for k in range(30))
    Path("numbered.csv").write_text(f"id,a,b\n{rows}")
    verbs = "search; fit --hidden h=2; impute --out full.csv; mixture --components 1; arcs"
    weighing = (
        "score a->id; loo a->id --draws 9; compare a->id --methods bic; sensitivity a->id --methods bic"
    )
    for verb in [line.split() for line in f"{verbs}; {weighing}".split("; ")]:
        result = Result(verb[0], "numbered.csv", *verb[1:])
        assert result.code == 0, result.err
        said = result.out + result.err
        assert said.count("id numbers the rows") == 1, verb
        assert "--drop id leaves" in said
        if "a->id" in verb:
            continue
        assert "numbers the rows" not in Result(verb[0], "numbered.csv", *verb[1:], "--drop", "id").err


def test_what_is_around_a_variable_and_what_is_independent() -> None:
    found = Result("describe", "asia", "--about", "either", "--json").json
    assert {key: sorted(value) for key, value in found.items() if key != "name"} == {
        "parents": ["lung", "tub"],
        "children": ["dysp", "xray"],
        "markov_blanket": ["bronc", "dysp", "lung", "tub", "xray"],
        "ancestors": ["asia", "lung", "smoke", "tub"],
        "descendants": ["dysp", "xray"],
    }
    assert Result("describe", "a -> b -> c", "--independencies").out.split("\n")[0] == "a ⊥ c | b"
    assert "did you mean 'either'" in Result("describe", "asia", "--about", "eithr").err

"""``lacunary score``, ``compare`` and ``dimension``, with good input and bad."""

from __future__ import annotations

import json
from math import lgamma, log
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app

ROUNDING = 1e-9


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)), prog_name="lacunary")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def parsed(*arguments: object) -> Any:
    code, out, err = run(*arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.fixture
def coins(tmp_path: Path) -> Path:
    path = tmp_path / "coins.csv"
    path.write_text("x,y\n" + "a,u\n" * 3 + "b,u\n" * 2)
    return path


def test_score_of_coins_in_closed_form(coins: Path) -> None:
    found = parsed("score", coins, "x; y", "--method", "exact")
    # Beta(1, 1) for x: 3! 2! / 6!; y has the one state that was seen.
    assert found["value"] == pytest.approx(lgamma(4) + lgamma(3) - lgamma(7), abs=ROUNDING)
    assert found["kind"] == "exact"


def test_machines_are_told_what_is_not_to_be_trusted(tmp_path: Path) -> None:
    """A bound is; pseudo-counts of 1e-6 with a hole keep chains where they are, which chib knows."""
    path = tmp_path / "holes.csv"
    path.write_text("x,y\n" + "a,u\nb,\n,v\nb,v\n" * 2)
    bound = parsed("score", path, "x -> y", "--method", "variational")
    assert bound["trustworthy"] is True
    assert bound["note"] == ""
    stuck = parsed("score", path, "x -> y", "--method", "chib", "--prior", "dirichlet=0.000001")
    assert stuck["trustworthy"] is False
    assert "stick to each other" in stuck["note"]


def test_a_sandwich_shows_its_sides(tmp_path: Path) -> None:
    path = tmp_path / "holes.csv"
    path.write_text("x,y\n" + "a,u\nb,\n,v\nb,v\n" * 3)
    asked = ("score", path, "x -> y", "--method", "sandwich")
    found = parsed(*asked)
    assert found["gap"] == pytest.approx(found["upper"] - found["lower"])
    assert len(found["runs"]) == 2
    code, out, _ = run(*asked)
    assert code == 0
    assert all(f"by {name}" in out for name in found["runs"])
    assert f"a gap of {found['gap']:.2g} ± {found['gap_error']:.2g} nats" in out


def test_score_prints_the_terms_it_is_the_sum_of(coins: Path) -> None:
    record = parsed("score", coins, "x; y", "--method", "bic")
    assert sum(record["terms"].values()) == pytest.approx(record["value"], abs=ROUNDING)
    assert record["dimension"] == 1
    assert record["terms"]["penalty"] == pytest.approx(-log(5) / 2, abs=ROUNDING)
    code, out, _ = run("score", coins, "x; y", "--method", "bic")
    assert code == 0
    assert "penalty" in out
    assert "higher is better" in out


def test_compare_numbers_of_states_as_compare_does() -> None:
    rows = parsed(
        "compare", "house_votes", "--hidden", "bloc", "--components", "1..3", "--drop", "party",
        "--starts", 2,
        "--methods", "bic,mled",
    )  # fmt: skip
    assert [row["model"] for row in rows[:3]] == ["bloc=1", "bloc=2", "bloc=3"]
    table = lac.house_votes()
    table = table.select([name for name in table.schema.names if name != "party"])
    one = lac.naive_bayes(table.schema, "bloc", 1)
    assert rows[0]["log_evidence"] == pytest.approx(lac.score(one, table, "bic", starts=2).value, abs=1e-6)


def test_compare_drawn_graphs_and_write_the_figure(coins: Path, tmp_path: Path) -> None:
    figure = tmp_path / "evidence.svg"
    code, out, err = run("compare", coins, "x -> y", "x; y", "--methods", "exact", "--figure", figure)
    assert (code, err) == (0, "")
    assert "posterior probability" in out
    assert figure.read_text().lstrip().startswith("<?xml")


def test_dimension_of_the_w_structure() -> None:
    # GHM96 section 5: 9 of 11 for two hidden states.
    assert parsed("dimension", "A -> C <- H -> D <- B", "--states", 2, "--hidden", "H") == {
        "rank": 9,
        "parameters": 11,
        "hidden": ["H"],
    }
    code, out, _ = run("dimension", "H -> A B C D", "--hidden", "H=3")
    assert (code, out.strip()) == (0, "effective dimension 13, of 14 free parameters")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("score", "house_votes", "--hidden", "b=2", "--drop", "party", "--method", "waic"),
            1,
            "known ones are",
        ),
        (
            ("score", "house_votes", "--hidden", "b=2", "--drop", "party", "--method", "exact"),
            1,
            "completions",
        ),
        (("compare", "house_votes"), 2, "give two or more models"),
        (("compare", "house_votes", "--hidden", "b", "--components", "0..2"), 2, "between 1 and"),
        (("compare", "house_votes", "--hidden", "b", "--components", "few"), 2, "is not 3, 1..6"),
        (("compare", "house_votes", "party -> crime", "party;"), 1, "not comparable"),
        (("compare", "house_votes", "--hidden", "b", "--out", "x.pdf"), 1, "suffix must be one of"),
        (("dimension", "A -> B -> A"), 1, "cycle"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], code: int, message: str) -> None:
    ended, _, err = run(*arguments)
    assert ended == code
    assert message in err

"""Tables with numbers in them at the prompt: every command takes them, and says what it made of them."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lacunary as lac
from tests.test_cli import Result, cells

ARROWS = "species -> mass -> wing; species -> wing"
NETWORK = lac.Network.from_tables(
    lac.dag(ARROWS, kinds={"mass": "continuous", "wing": "continuous"}, states={"species": ["a", "b"]}),
    {
        "species": [0.25, 0.75],
        "mass": lac.Regression([3.0, 5.0], variance=[0.25, 0.25]),
        "wing": lac.Regression([100.0, 120.0], [[20.0], [18.0]], [9.0, 16.0]),
    },
)
ROUNDING = 1e-9
"""Relative: sums and products of a dozen numbers."""


@pytest.fixture(autouse=True)
def _in_a_folder_with_birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lac.save(NETWORK, "birds.json")
    table = lac.make_holes(NETWORK.sample(80, rng=0), 0.15, rng=1)
    columns = table.to_frame("dict")
    with open("birds.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "ring"])
        for k, cells in enumerate(zip(*columns.values(), strict=True)):
            known = [
                "NA" if c is None or c != c else (f"{c:.3f}" if isinstance(c, float) else c) for c in cells
            ]
            writer.writerow([*known, f"r{k % 7}"])


def test_describe_says_what_was_decided_as_at_the_prompt() -> None:
    Path("ages.csv").write_text("age,year\n" + "".join(f"{20 + k},{2000 + k % 4}\n" for k in range(30)))
    said = Result("describe", "ages.csv").out
    assert (
        "age: 30 distinct whole numbers, taken as continuous; --kinds age=discrete makes it discrete" in said
    )
    assert "year: whole numbers, taken as discrete with 4 states; --kinds year=continuous makes it" in said


def test_fit_writes_what_the_library_finds() -> None:
    assert Result("fit", "birds.csv", ARROWS, "--out", "found.json").code == 0
    found = lac.load("found.json")
    table = lac.read("birds.csv", drop=["ring"])
    schema = lac.Schema(tuple(v for v in table.schema))
    again = lac.fit(lac.dag(ARROWS, schema=schema), table)
    np.testing.assert_array_equal(found.network.theta, again.network.theta)
    said = Result("describe", "found.json").out
    assert "regressions, in the data's units" in said
    slope = found.network.regression("wing").coefficients[0, 0]
    assert f"+ {slope:.4g} mass" in said


def test_query_of_a_number_equals_bayes_rule() -> None:
    """Given a wing of 200: p(species) by the joint normals, and the mass of each species by regression."""
    told = Result("query", "birds.json", "mass", "--given", "wing=200", "--json").json
    parts = []
    for share, mass, start, slope, noise in ((0.25, 3, 100, 20, 9), (0.75, 5, 120, 18, 16)):
        variance = slope**2 * 0.25 + noise
        centre = start + slope * mass
        height = share * stats.norm.pdf(200, centre, math.sqrt(variance))
        pull = slope * 0.25 / variance
        parts.append((height, mass + pull * (200 - centre), math.sqrt(0.25 - pull * slope * 0.25)))
    total = sum(height for height, _, _ in parts)
    assert told["probability_of_given"] == pytest.approx(total, rel=ROUNDING)
    for found, (height, mean, sd) in zip(told["distribution"]["components"], parts, strict=True):
        assert found["weight"] == pytest.approx(height / total, rel=ROUNDING)
        assert (found["mean"], found["sd"]) == (pytest.approx(mean), pytest.approx(sd))
    assert told["distribution"]["mean"] == pytest.approx(sum(h / total * m for h, m, _ in parts))
    middle = told["distribution"]["quantiles"]["0.5"]
    below = sum(h / total * stats.norm.cdf(middle, m, s) for h, m, s in parts)
    assert below == pytest.approx(0.5, abs=1e-9)  # sixty halvings of an interval of a few units


def test_query_for_people() -> None:
    said = Result("query", "birds.json", "wing", "--given", "mass=4").out
    assert "p(wing)  mean" in said
    assert "50% below" in said
    assert "mean 180, sd 3" in said
    assert Result("query", "birds.json", "species", "--given", "wing=215", "--given", "mass=5").code == 0


def test_explanations_of_numbers_are_densities() -> None:
    found = Result("query", "birds.json", "--explain", "--given", "species=a", "--json").json
    assert found["explanation"] == {
        "species": "a",
        "mass": pytest.approx(3.0),
        "wing": pytest.approx(160.0),
    }
    expected = stats.norm.pdf(0, scale=0.5) * stats.norm.pdf(0, scale=3.0)
    assert found["probability"] == pytest.approx(expected, rel=ROUNDING)
    # So far out that the density is no number any more: the answer is one all the same.
    far = Result("query", "birds.json", "--explain", "--given", "mass=1e6")
    assert far.code == 0
    assert "log-density" in far.out


def test_query_of_a_table_and_samples() -> None:
    told = Result("query", "birds.json", "species", "mass", "--data", "birds.csv", "--json").json
    assert told["columns"] == ["species=a", "species=b", "mass mean", "mass sd"]
    expected: Any = NETWORK.posterior(lac.read("birds.csv", schema=NETWORK.dag.schema), ["mass"])["mass"]
    np.testing.assert_allclose([row[2] for row in told["probabilities"]], expected.mean)
    drawn = Result("sample", "birds.json", "-n", 3, "--given", "mass=4.5", "--rng", 1, "--json").json
    assert drawn["table"]["mass"] == [4.5] * 3


@pytest.mark.parametrize("how", ["mode", "mean", "draw"])
def test_impute_fills_numbers_and_leaves_the_rest(how: Any) -> None:
    told = Result(
        "impute", "birds.json", "birds.csv", "--how", how, "--rng", 1, "--out", "o.csv", "--json"
    ).json
    before, after = (cells(name) for name in ("birds.csv", "o.csv"))
    filled = 0
    for old, new in zip(before, after, strict=True):
        for a, b in zip(old, new, strict=True):
            filled += a == "NA"
            assert (b != "NA") if a == "NA" else (a == b)
    assert told["filled"] == filled > 0
    table = lac.read("birds.csv", schema=NETWORK.dag.schema)
    expected = lac.impute(NETWORK, table, how=how, rng=1)["wing"]
    np.testing.assert_allclose([float(row[2]) for row in after[1:]], expected, rtol=1e-9)


def test_impute_probabilities_are_new_columns() -> None:
    assert Result("impute", "birds.json", "birds.csv", "--how", "probability", "--out", "o.csv").code == 0
    names = cells("o.csv")[0]
    wanted = ["species=a", "species=b", "mass mean", "mass sd", "wing mean", "wing sd"]
    assert names == ["species", "mass", "wing", "ring", *wanted]


def test_models_are_weighed_and_searched() -> None:
    common = ("birds.csv", "--drop", "ring")
    rows = Result(
        "compare",
        *common,
        "--hidden",
        "kind",
        "--components",
        "1,2",
        "--starts",
        2,
        "--methods",
        "bic",
        "--json",
    ).json
    assert [row["model"] for row in rows] == ["kind=1", "kind=2"]
    assert rows[1]["log_evidence"] > rows[0]["log_evidence"]
    found = Result("search", *common, "--report", "o.html", "--out", "s.json", "--json").json
    assert {frozenset((arc["from"], arc["to"])) for arc in found["arcs"]} >= {frozenset(("wing", "mass"))}
    page = Path("o.html").read_text()
    assert "The measurements" in page
    assert page.count("<polygon") >= 2
    assert "\N{MULTIPLICATION SIGN} mass" in page or "\N{MULTIPLICATION SIGN} wing" in page
    assert lac.load("s.json").dag.schema["mass"].kind == "continuous"


def test_query_answers_about_several_variables() -> None:
    """Wing is a regression on mass: their covariance is slope · variance."""
    told = Result("query", "birds.json", "wing", "species", "mass", "--json").json["distribution"]
    assert told["continuous"] == ["wing", "mass"]
    assert [one["states"] for one in told["configurations"]] == [{"species": "a"}, {"species": "b"}]
    assert [one["probability"] for one in told["configurations"]] == pytest.approx([0.25, 0.75])
    for k, one in enumerate(told["configurations"]):
        mass, wing = (NETWORK.regression(name) for name in ("mass", "wing"))
        slope, variance = wing.coefficients[k, 0], mass.variance[k]
        mean = [wing.intercept[k] + slope * mass.intercept[k], mass.intercept[k]]
        covariance = [
            [slope**2 * variance + wing.variance[k], slope * variance],
            [slope * variance, variance],
        ]
        np.testing.assert_allclose(one["mean"], mean, rtol=ROUNDING)
        np.testing.assert_allclose(one["covariance"], covariance, rtol=ROUNDING)
    shown = Result("query", "birds.json", "mass", "wing", "--given", "species=a", "--do", "mass=4").out
    assert shown.startswith("p(mass, wing)\n  mass  mean 4, sd 0\n  wing  mean 180, sd 3\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("query", "birds.json", "mass", "--given", "wing=long"), "wing is continuous.*not 'long'"),
        (("query", "birds.json", "mass", "--given", "wing=inf"), "must be a finite number"),
        (("impute", "birds.csv", "birds.json"), "birds.csv is a table, but here a model is meant"),
        (("convert", "birds.json", "o.bif"), "continuous variable 'mass'"),
        (("convert", "birds.json", "o.xmlbif"), "continuous variable 'mass'"),
        (("fit", "birds.csv", "mass -> species"), "mass is continuous and cannot be a parent of species"),
        (("fit", "far.csv", "x -> y"), "x, row 2: infinite values"),
        (("fit", "flat.csv", "x -> y", "--method", "ml"), "y is constant.*--method map"),
        (("fit", "low.csv", "bounded.json"), "x, row 2: -4 lies outside the declared bounds 0 to inf"),
    ],
)
def test_what_cannot_be_is_said(arguments: tuple[str, ...], message: str) -> None:
    Path("far.csv").write_text("x,y\n0.5,1.5\ninf,2.5\n1.5,0.5\n")
    Path("flat.csv").write_text("x,y\n0.5,1.5\n0.75,1.5\n1.5,1.5\n")
    Path("low.csv").write_text("x\n0.5\n-4\n")
    variable = {"name": "x", "kind": "continuous", "bounds": [0, None]}
    schema = {"lacunary": "schema", "version": 1, "variables": [variable]}
    Path("bounded.json").write_text(
        json.dumps({"lacunary": "dag", "version": 1, "schema": schema, "parents": {"x": []}})
    )
    result = Result(*arguments)
    assert result.code == 1
    assert re.search(message, result.err), result.err


def test_classes_of_a_mixed_table() -> None:
    """Species differ by four standard deviations of mass: both are found without being looked at."""
    base = (
        "classes",
        "birds.csv",
        "--drop",
        "ring",
        "--aside",
        "species",
        "--components",
        "1..2",
        "--starts",
        3,
    )
    told = Result(*base, "--report", "page.html", "--out", "kinds.json")
    assert told.code == 0, told.err
    assert "mean ± standard deviation" in told.out
    assert "mass" in Path("page.html").read_text()
    found = Result(*base, "--json").json
    assert found["best"] == 2
    means = [found["measured"]["mass"][label]["mean"] for label in ("A", "B")]
    # The larger class is b, with mean mass 5; 60 rows and 20, of sd ½.
    assert means == pytest.approx([5.0, 3.0], abs=0.5)
    assert found["classes"][0]["aside"]["b"] > 0.9
    network = lac.load("kinds.json")
    assert network.regression("mass").intercept == pytest.approx(means, rel=ROUNDING)


def test_classes_and_compare_refuse_kindly() -> None:
    assert "what is kept aside must be discrete" in Result("classes", "birds.csv", "--aside", "mass").err
    assert "is not 3, 1..6" in Result("classes", "birds.csv", "--components", "many").err
    assert "--numbers is deprecated" in Result("classes", "birds.csv", "--numbers", "many").err
    assert "--components 1..6" in re.sub(
        r"[\s│]+", " ", Result("compare", "birds.csv", "--hidden", "k=2").err
    )


def test_impute_learns_from_the_table_itself() -> None:
    found = Result("impute", "average", "birds.csv", "--how", "mean", "--out", "filled.csv", "--json").json
    table = lac.read("birds.csv")
    assert found["filled"] == int(table.holes.sum())
    filled = lac.read("filled.csv", schema=table.schema)
    assert not filled.holes.any()
    expected = lac.impute(lac.average_graphs(table), table, how="mean")
    assert filled.reals == pytest.approx(expected.reals, rel=ROUNDING, nan_ok=True)
    assert filled.codes.tolist() == expected.codes.tolist()


HELD = ["u,u", "v,v", "u,u", "v,", "u,u", "v,v", "u,u", "v,v", "u,", "v,v"] * 3
"""Rows of two columns that agree, with holes in the second."""


@pytest.mark.parametrize(
    ("header", "options", "change"),
    [
        ("a,b", ("--names", "p,q"), None),
        ("a,b", ("--names", "b,a"), None),
        ("a^b", ("--delimiter", "^"), ("^", None)),
        ("'a','b'", ("--quote", "'"), (",", "'")),
    ],
)
def test_impute_fills_files_read_by_options(header: str, options: tuple[str, ...], change: Any) -> None:
    part, quote = change or (",", None)
    rows = [[f"{quote}{cell}{quote}" if quote else cell for cell in row.split(",")] for row in HELD]
    Path("odd.csv").write_text("\n".join([header, *(part.join(row) for row in rows), ""]))
    assert Result("impute", "odd.csv", *options, "--out", "o.csv").code == 0
    for row in cells("o.csv")[1:]:
        assert row in (["u", "u"], ["v", "v"])


def test_impute_keeps_columns_whose_numbers_are_not_plain() -> None:
    """Dates and sums of money stay as they are written; where one is filled in, all are written alike."""
    days = ["", *(f"{day:02d}.03.2024" for day in range(1, 20))]
    rows = [f"{'x' if k % 3 else 'y'};{day};€1,{k:03d};P{k}" for k, day in enumerate(days)]
    rows[4] = rows[4].replace("x;", ";")
    Path("visits.csv").write_text("\n".join(["kind;when;paid;name", *rows, ""]))
    told = Result("impute", "visits.csv", "--drop", "name", "--decimal", ".", "--out", "o.csv")
    assert told.code == 0
    assert "when" in told.err
    before, after = (
        [line.split(";") for line in Path(name).read_text().splitlines()] for name in ("visits.csv", "o.csv")
    )
    assert [row[2:] for row in after] == [row[2:] for row in before]
    assert [row[1] for row in after[2:]] == [f"2024-03-{day:02d}" for day in range(1, 20)]
    assert re.fullmatch(r"2024-\d\d-\d\d", after[1][1])
    assert [a[0] for a, b in zip(after, before, strict=True) if b[0]] == [b[0] for b in before if b[0]]
    assert after[5][0] in ("x", "y")

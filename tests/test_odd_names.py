"""Names and states of every kind go through every figure, page, file and command as they are."""

from __future__ import annotations

import csv
import html
import io
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app
from lacunary.data.wording import harmless, latex
from lacunary.report import figures
from lacunary.report.drawing import drawing
from lacunary.report.mixture_page import mixture_page
from lacunary.report.search_page import found_page

LONG = "n" * 10_000
ODD = {
    "price_in_$ x^{2}_{i}": ("$5_$10", "=1+1", "-cmd|' /C calc'!A0"),
    "<script>alert(1)</script> [bold]red[/]": ("<b> &amp; a\"b'c", "[/] :smile:", "--help"),
    "שם המשתנה 👩‍👩‍👧": ("كلمة \u202eabc", "🟥 a\u0301", "≥ 20"),
    r"\frac{$x$}{\undefined} 50% {x} %s {0}": (r"$\alpha$ \$", "100% {y} %(z)s", "10..19"),
    "\x1b[31mred\x07  age [0, 10)": ("\x1b]0;title\x07", "three\tfour  five", "\x08z"),
    LONG: ("s" * 1000, "t", "u"),
}
NUMBER = "e=mc^2 [$/kg]"
ROWS = 60


@pytest.fixture(scope="module")
def rows() -> lac.Table:
    """Columns that all follow the first one, with holes, and a continuous one."""
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=ROWS)
    codes = np.where(
        rng.random((ROWS, len(ODD))) < 0.75, first[:, None], rng.integers(3, size=(ROWS, len(ODD)))
    )
    codes[rng.random(codes.shape) < 0.05] = -1
    variables = (
        *(lac.Variable(name, states) for name, states in ODD.items()),
        lac.Variable(NUMBER, kind="continuous"),
    )
    reals = np.full((ROWS, len(variables)), np.nan)
    reals[:, -1] = first + rng.normal(size=ROWS)
    return lac.Table(
        lac.Schema(variables), np.column_stack([codes, np.full(ROWS, -1)]).astype(np.int8), reals
    )


@pytest.fixture(scope="module")
def states(rows: lac.Table) -> lac.Table:
    return rows.select(list(ODD))


@pytest.fixture(scope="module")
def dag(rows: lac.Table) -> lac.Dag:
    first, *others = rows.schema.names
    return lac.Dag.from_parents(rows.schema, {name: [first] for name in others})


@pytest.fixture(scope="module")
def classes(states: lac.Table) -> lac.Classes:
    return lac.classes(states, [1, 2], starts=2)


@pytest.fixture(scope="module")
def fit(dag: lac.Dag, rows: lac.Table) -> lac.Fit:
    return lac.fit(dag, rows)


def written(markup: str) -> str:
    """All that a reader sees of a drawing or a page, blanks joined as markup joins them."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "\n", markup)).split())


def shown(name: str, longest: int | None = None) -> str:
    """How a name is shown: signs for characters that command, and short where it is drawn."""
    short = harmless(name)
    short = short if longest is None or len(short) <= longest else short[: longest - 1] + "…"
    return " ".join(short.split())


COMMANDS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def without_commands(markup: str) -> bool:
    return "<script>alert" not in markup and not COMMANDS.search(markup)


def test_figures_show_names_and_states(classes: lac.Classes, rows: lac.Table) -> None:
    heat = figures.svg(figures.heat_map(classes), "h", "map")
    ET.fromstring(heat)
    for variable in classes.table.schema:
        assert shown(f"{variable.name}: {variable.states[0]}", 36) in written(heat)
    assert without_commands(heat)
    mixture = lac.fit_mixture(rows, components=2, structure="empty", starts=1)
    names = written(figures.svg(mixture_figures(mixture)[0], "m", "mixture"))
    assert shown(f"{NUMBER}") in names


def mixture_figures(found: Any) -> list[Figure]:
    from lacunary.report import figures_mixture

    return [figures_mixture.profiles(found.mixture), figures_mixture.numbers(found)]


def test_every_figure_can_be_drawn_in_every_form(
    classes: lac.Classes, states: lac.Table, fit: lac.Fit
) -> None:
    """Also by a user's own call; a warning of a missing letter or of a collapsed layout is an error here."""
    first, second, *_ = states.schema.names
    arcs = lac.arc_probabilities(states.select([first, second, LONG]), chains=2, draws=4, rng=0)
    alike = lac.Dag.from_parents(states.schema, {second: [first]})
    sensitivity = lac.sensitivity(
        {"a": alike, LONG: lac.Dag.from_parents(states.schema, {})}, states, methods=["exact", "bic"]
    )
    for figure in (
        figures.evidence(classes.comparison),
        figures.traces(classes.best.fit),
        figures.starts(classes.best.fit),
        classes.plot("evidence"),
        arcs.plot(),
        sensitivity.plot(),
    ):
        ET.fromstring(figures.svg(figure, "f", "\x1b<title>"))
        assert figures.picture(figure, "png").startswith(b"\x89PNG")
        ET.fromstring(figures.picture(figure, "svg"))
        figure.savefig(io.BytesIO(), format="pdf")


def test_pages_have_names_whole(classes: lac.Classes, states: lac.Table, rows: lac.Table) -> None:
    found = lac.search(rows, max_parents=1)
    mixture = lac.fit_mixture(rows, components=2, structure="empty", starts=1)
    for page in (classes.page(), found_page(found), mixture_page(mixture, rows)):
        text = written(page)
        assert without_commands(page)
        for name in (
            "price_in_$ x^{2}_{i}",
            "<script>alert(1)</script> [bold]red[/]",
            "\x1b[31mred\x07  age [0, 10)",
        ):
            assert shown(name) in text
    graph = drawing(found.dag, found.strengths, title=LONG)
    ET.fromstring(graph)
    for name in rows.schema.names:
        assert shown(name, 28) in written(graph)
        assert shown(name) in written(graph)  # whole, where it is pointed at


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".bif", ".xmlbif", ".net"])
def test_files_keep_names_or_refuse_them(suffix: str, name: str, tmp_path: Path) -> None:
    """What a format has no way to write is refused by name, and nothing is changed; JSON holds everything."""
    schema = lac.Schema((lac.Variable(name, ODD[name]), lac.Variable("b", ("0", "1"))))
    network = lac.random_network(lac.Dag.from_parents(schema, {"b": [name]}))
    try:
        lac.save(network, tmp_path / f"n{suffix}")
    except lac.FileError as problem:
        refused = str(problem)
    else:
        refused = ""
    if refused:
        assert ".json" not in suffix
        assert ".json" in refused
        assert any(repr(text)[:30] in refused for text in (name, *ODD[name]))
        return
    again = lac.load(tmp_path / f"n{suffix}", lac.Network)
    assert again.dag.names == network.dag.names
    assert again.dag.schema[name].states == network.dag.schema[name].states


# The prompt

RUNNER = CliRunner()


def run(*arguments: Any) -> Any:
    found = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code == 0, (arguments[0], found.output[-2000:])
    assert not COMMANDS.search(found.output)
    return found


@pytest.fixture(scope="module")
def files(states: lac.Table, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("odd")
    data, model = folder / "data.csv", folder / "model.json"
    with data.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.writer(file)
        columns = states.to_frame("dict")
        sheet.writerow(columns)
        sheet.writerows(
            zip(
                *(["" if cell is None else cell for cell in column] for column in columns.values()),
                strict=True,
            )
        )
    first, second, *_ = states.schema.names
    lac.save(lac.fit(lac.Dag.from_parents(states.schema, {second: [first]}), states), model)
    return data, model


def test_reading_gives_every_name_back(files: tuple[Path, Path]) -> None:
    read = lac.read(files[0])
    assert read.schema.names == tuple(ODD)
    assert {v.name: set(v.states) for v in read.schema} == {name: set(states) for name, states in ODD.items()}


def test_questions_and_tables_at_the_prompt(files: tuple[Path, Path], tmp_path: Path) -> None:
    data, model = files
    run("describe", data)
    for name in ODD:
        asked = run("query", model, name, "--given", "price_in_$ x^{2}_{i}=$5_$10")
        if len(name) < 40:
            assert shown(name) in " ".join(asked.stdout.split())
    drawn = run("sample", model, "--rows", 30, "--rng", 1, "--out", tmp_path / "drawn.csv")
    assert "looks like a formula to a spreadsheet" in " ".join(drawn.output.split())
    with (tmp_path / "drawn.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == list(ODD)
    run("impute", model, data, "--out", tmp_path / "full.csv")
    assert not lac.read(tmp_path / "full.csv").holes.any()
    run("convert", model, tmp_path / "again.json.gz")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "--hidden", "h=2", "--starts", 2, "--figure", "f.svg", "--out", "f.json"),
        ("classes", "--components", "1..2", "--starts", 2, "--report", "c.html"),
        ("search", "--max-parents", 1, "--report", "s.html", "--drawing", "s.svg"),
        ("arcs", "--max-parents", 1, "--chains", 2, "--draws", 4, "--rng", 1, "--report", "a.html"),
        ("mixture", "--components", 2, "--structure", "empty", "--starts", 1, "--report", "m.html"),
        ("report", "--classes", 2, "--starts", 2, "--hidden", "$k_{l}$ <b>", "--out", "r.tex"),
        ("loo", "--hidden", "$h_{1}$=2", "--draws", 4),
        ("sensitivity", "--hidden", "$h_{1}$", "--components", 1, "--alphas", 1, "--figure", "f.svg"),
        ("compare", "--hidden", "$h_{1}$", "--components", "1..2", "--starts", 2, "--figure", "f.svg"),
        ("missing",),
    ],
    ids=lambda given: given[0],
)
def test_every_verb_at_the_prompt(
    arguments: tuple[Any, ...], files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verb, *rest = arguments
    run(verb, files[0], *rest)
    for path in (*tmp_path.glob("*.html"), *tmp_path.glob("*.svg")):
        assert without_commands(path.read_text(encoding="utf-8"))


def test_a_page_a_mixture_and_an_effect_at_the_prompt(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, model = files
    first, second, *_ = ODD
    run("page", model, "--out", "p.html", "--title", "$x$ <script>alert(1)</script>\x1b[1m")
    assert without_commands(Path("p.html").read_text(encoding="utf-8"))
    run("effect", model, first, second, "--low", "$5_$10", "--high", "=1+1", "--state", "[/] :smile:")
    run("mixture", data, "--components", 2, "--structure", "empty", "--starts", 1, "--out", "m.json")
    run("assign", "m.json", data, "--out", "a.csv")
    run("dimension", model)


QUOTED = 'a,b=c "d" | e'


def test_names_with_signs_of_the_prompt_go_in_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in arrows: a name that holds = or a comma, in double quotes, each quote inside it twice."""
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w", encoding="utf-8", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow([QUOTED, "y=z", "copy"])
        sheet.writerows((k % 3, f"s,{k % 2}", k // 12) for k in range(24))
    name = '"' + QUOTED.replace('"', '""') + '"'
    told = run("describe", "t.csv", "--kinds", f"{name}=continuous", "--states", '"y=z"="s,1","s,0","t"')
    assert "continuous" in told.output
    assert "s,1, s,0, t" in " ".join(told.output.split())
    run(
        "fit", "t.csv", f'"y=z" -> {name}', "--kinds", f"{name}=discrete", "--out", "m.json", "--drop", "copy"
    )
    asked = run("query", "m.json", "y=z", "--given", f"{name}=1", "--json").output
    assert asked.count('"probability": 0.5') == 2
    pooled = run(
        "pool", "t.csv", "--share", '"y=z"=s,1', "--regress", f'{name}="y=z"', "--kinds", f"{name}=continuous"
    )
    assert QUOTED in pooled.output
    refused = RUNNER.invoke(app, ["pool", "t.csv", "--share", '"y=z'])
    assert refused.exit_code in (1, 2)


TEX = {r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~", r"\textless{}": "<"}
TEX |= {r"\textgreater{}": ">", r"\textbar{}": "|", "{[}": "[", "{]}": "]", "{-}": "-"}
TEX |= {rf"\{sign}": sign for sign in "&%$#_{}"}
COMMANDS_OF_TEX = re.compile("|".join(re.escape(command) for command in TEX))


def read_as_tex(text: str) -> str:
    """What LaTeX prints of a text that holds nothing but letters and these commands."""
    rest = COMMANDS_OF_TEX.sub("", text)
    assert not set(rest) & set("\\{}$&#^_~%"), rest
    return COMMANDS_OF_TEX.sub(lambda found: TEX[found[0]], text)


@pytest.mark.parametrize(
    "name", [*ODD, *(state for states in ODD.values() for state in states)], ids=lambda n: n[:9]
)
def test_no_name_commands_latex(name: str) -> None:
    assert read_as_tex(latex(name)) == harmless(name)
    schema = lac.Schema(tuple(lac.Variable(each, ("0", "1")) for each in (name, "y", "m_1")))
    graph = lac.Dag.from_parents(schema, {"m_1": [name], "y": ["m_1"]})
    formula = lac.identify(graph, "y", name).formula
    assert formula is not None
    assert rf"\textrm{{{latex(name)}}}" in formula.latex or name.isalnum()


@pytest.mark.parametrize(
    "name", ["t." + "(" * 400, "x" * 300 + ".csv", "d" * 300 + "/x.json", "[" + "y" * 5000]
)
def test_names_that_no_file_can_have_are_refused(
    name: str, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, model = files
    verbs = ("describe", "fit", "search", "classes", "mixture", "arcs", "impute")
    asked: list[tuple[Any, ...]] = [(verb, name) for verb in verbs]
    asked += [("score", "a -> b", name), ("query", name, "a"), ("convert", name, "x.json"), ("sample", name)]
    asked += [("impute", model, name), ("fit", data, "--out", name), ("search", data, "--checkpoint", name)]
    asked += [
        ("sample", model, "--rows", 3, "--out", f"{name}/"),
        ("impute", model, data, "--out", f"{name}/"),
    ]
    for arguments in asked:
        found = RUNNER.invoke(app, [str(argument) for argument in arguments])
        assert found.exit_code in (1, 2), (arguments[0], found.output[-500:])
    for call in (lac.read, lac.scan, lac.load, lambda path: lac.save(lac.load(model), path)):
        for path in (name, "null\0.csv"):
            with pytest.raises(lac.FileError):
                call(path)
    with pytest.raises(lac.FileError):
        lac.impute(lac.load(model), lac.read(data), out="null\0")


def test_what_the_prompt_says_of_classes_stands_on_the_page(tmp_path: Path) -> None:
    votes = lac.house_votes().select(["crime", "immigration", "mx_missile", "party"])
    found = lac.classes(votes, [1, 2], starts=2)
    assert found.number == 2
    [note] = [note for note in found.notes() if "The most that were tried, 2, is best" in note]
    assert note in html.unescape(found.page())
    assert note in str(found)


@pytest.mark.parametrize(
    "settings",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"},
        {"TERM": "dumb", "COLUMNS": "20"},
    ],
    ids=str,
)
def test_surroundings_change_no_number(settings: dict[str, str], files: tuple[Path, Path]) -> None:
    """No terminal, letters of seven bits, a decimal comma: the same answer, and no traceback."""
    here = RUNNER.invoke(app, ["query", str(files[1]), "price_in_$ x^{2}_{i}", "--json"]).stdout
    ran = subprocess.run(
        [sys.executable, "-m", "lacunary", "query", str(files[1]), "price_in_$ x^{2}_{i}", "--json"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        env={**os.environ, **settings},
    )
    assert ran.returncode == 0, ran.stderr
    assert re.findall(rb"0\.\d+", ran.stdout) == re.findall(rb"0\.\d+", here.encode())

"""What things show of themselves in a notebook: their own numbers, and names as text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import lacunary as lac

HOSTILE = "<img src=x onerror=alert(1)>"


class Parsed(HTMLParser):
    """The elements and the text of a piece of HTML; every element must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    votes = lac.house_votes().select(["crime", "immigration", "party"])
    graph = lac.naive_bayes(votes.schema, hidden="bloc", states=2)
    found = lac.fit(graph, votes, starts=2)
    return {
        "table": votes,
        "dag": graph,
        "network": found.network,
        "fit": found,
        "distribution": found.network.query("crime", "party"),
        "estimate": lac.score(found, votes, "bic"),
        "comparison": lac.compare([graph], votes, ["bic"]),
        "search": lac.search(votes),
        "mixture": lac.fit_mixture(votes, components=1),
        "classes": lac.classes(votes, [1, 2], starts=2),
    }


def test_everything_shows_itself(things: dict[str, Any]) -> None:
    for name, thing in things.items():
        assert Parsed(thing._repr_html_()).text.strip(), name
    assert "-" not in Parsed(things["estimate"]._repr_html_()).text.split("nats")[0].replace("bic", "")


def test_the_numbers_are_the_things_own(things: dict[str, Any]) -> None:
    shown = Parsed(things["distribution"]._repr_html_()).text
    for probability in things["distribution"].probabilities.ravel():
        assert f"{probability:.4f}" in shown
    assert f"{abs(things['estimate'].value):.4f}" in Parsed(things["estimate"]._repr_html_()).text
    page = Parsed(things["table"]._repr_html_())
    holes = things["table"].holes
    assert page.tags.count("rect") == 3 * len({tuple(row) for row in holes.tolist()})


def test_names_are_text() -> None:
    table = lac.read({HOSTILE: [HOSTILE, "b", None] * 4, "x": [1.5, 2.5, 3.25] * 4})
    network = lac.fit("k -> x", lac.read({"k": table[HOSTILE], "x": table["x"]})).network
    shown: list[Any] = [table, network, network.query("k"), network.dag]
    for thing in shown:
        assert "img" not in Parsed(thing._repr_html_()).tags


def test_a_drawing_shows_and_saves_itself(things: dict[str, Any], tmp_path: Path) -> None:
    drawn = things["search"].drawing()
    drawn.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == drawn == drawn._repr_svg_()
    assert drawn.startswith("<svg")
    assert things["dag"].drawing(title="A graph").count("<rect") == 4


def test_plots_by_one_call(things: dict[str, Any]) -> None:
    assert things["comparison"].plot().axes
    assert things["fit"].plot().axes
    assert things["fit"].plot("starts").axes
    with pytest.raises(lac.ParameterError, match="traces"):
        things["fit"].plot("nothing")
    lines = things["table"].plot_holes().axes[0]
    patterns = {tuple(row) for row in things["table"].holes.tolist()}
    assert len(lines.get_yticks()) == len(patterns)
    assert [label.get_text() for label in lines.get_xticklabels()] == ["crime", "immigration", "party"]

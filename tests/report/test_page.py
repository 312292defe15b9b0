"""The page and its figures: whole, self-contained, and showing the numbers of the study."""

from __future__ import annotations

import re
from dataclasses import asdict
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

import lacunary as lac
from lacunary.report import figures
from lacunary.report.classes_text import text
from lacunary.report.words import Words

WORDS = Words("Blocs <& more>", "member", "vote", "From the archive.")


@pytest.fixture(scope="module")
def votes() -> lac.Classes:
    return lac.classes(lac.house_votes(), hidden="bloc", components=[1, 2, 3], aside="party", starts=3)


@pytest.fixture(scope="module")
def html(votes: lac.Classes) -> str:
    return votes.page(**asdict(WORDS))


class Outline(HTMLParser):
    """Every element that is opened has to be closed; collects attributes and words."""

    VOID = frozenset({"meta", "br", "path", "use", "rect", "image"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given[k] or "" for k in ("href", "src", "xlink:href") if k in given]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    parser.close()
    return parser


def test_the_page_is_well_formed(html: str) -> None:
    found = outline(html)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids)), "identifiers of the figures must not collide"


def test_the_page_needs_nothing_from_elsewhere(html: str) -> None:
    found = outline(html)
    assert all(link.startswith("#") for link in found.links)
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert not re.search(r"<(script|link|iframe|img)\b|@import|url\((?!#)", html)


def test_the_page_shows_the_numbers(html: str, votes: lac.Classes) -> None:
    words = outline(html).words
    for number in ("435", "392", "232", "2856", "203"):
        assert re.search(rf"\b{number}\b", words)
    for candidate in votes.candidates:
        for value in candidate.log_evidence.values():
            assert f"{abs(value):,.1f}" in words
    assert "All five estimates speak for 3 blocs." in words


def test_what_users_write_is_escaped(html: str) -> None:
    assert "<title>Blocs &lt;&amp; more&gt;</title>" in html
    assert "<& more>" not in html


def test_light_dark_phone_and_print(html: str) -> None:
    for needed in ("prefers-color-scheme: dark", 'name="viewport"', "@media print", 'lang="en"'):
        assert needed in html
    assert lac.FigureStyle.ink not in html, "axes and texts must take the page's own colour"
    assert html.count("currentColor") > 50


def test_the_same_study_gives_the_same_page(html: str, votes: lac.Classes) -> None:
    assert votes.page(**asdict(WORDS)) == html


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_figures_label_their_axes(votes: lac.Classes) -> None:
    found = texts(figures.svg(figures.evidence(votes.comparison), "evidence", "Evidence"))
    assert {"log evidence (nats; higher is better)", "number of states of bloc"} <= set(found)
    assert {"BIC", "Cheeseman\N{EN DASH}Stutz", "variational", "Laplace"} <= set(found)
    found = texts(figures.svg(figures.traces(votes.best.fit), "traces", "Traces"))
    assert {"iteration", "nats below the best", "best start", "other starts"} <= set(found)


def test_the_heat_map_shows_every_vote_in_every_class(votes: lac.Classes) -> None:
    found = texts(figures.svg(figures.heat_map(votes), "profiles", "Profiles"))
    assert "mx_missile" in found
    assert "chance of “y” (%)" in found
    expected = f"{100 * votes.chance('mx_missile')[0, 1]:.0f}"
    assert expected in found


def test_a_lone_far_score_does_not_flatten_the_others(votes: lac.Classes) -> None:
    bic = [c.log_evidence["bic"] for c in votes.candidates]
    assert bic[2] - bic[0] > 5 * (bic[2] - bic[1]), "the first must be far off for this test to speak"
    axes = figures.evidence(votes.comparison).axes[0]
    low, _ = axes.get_ylim()
    assert bic[0] < low < bic[1]
    assert any("off the scale" in label.get_text() for label in axes.texts)


def test_figures_become_pictures(votes: lac.Classes, tmp_path: Path) -> None:
    (tmp_path / "profiles.png").write_bytes(figures.picture(figures.heat_map(votes), "png"))
    assert (tmp_path / "profiles.png").read_bytes().startswith(b"\x89PNG")


def test_a_single_start_has_no_figure_of_starts(html: str) -> None:
    """With several the page has four figures: the evidence, the classes, the climbs and the starts."""
    assert html.count("<svg") == 4
    alone = lac.classes(lac.house_votes(), hidden="bloc", components=[1], starts=1)
    assert alone.page(**asdict(WORDS)).count("<svg") == 3


def test_states_beyond_two_get_a_line_each() -> None:
    table = lac.read({"x": ["a", "b", "c", None] * 5, "y": [1, 2, None, 1] * 5})
    found = lac.classes(table, hidden="kind", components=[1, 2], starts=2)
    drawn = texts(figures.svg(figures.heat_map(found), "p", "Profiles"))
    assert {"x: a", "x: b", "x: c", "y: 2"} <= set(drawn)
    assert outline(found.page()).open == []


def test_text_for_a_pipe_is_plain(votes: lac.Classes) -> None:
    file = StringIO()
    Console(width=100, file=file).print(text(votes, WORDS))
    shown = file.getvalue()
    assert "\x1b" not in shown
    assert "would lose 203 of 435" in " ".join(shown.split())
    assert re.search(r"^\s*3\s+50\s", shown, re.MULTILINE)
    assert "higher is better" in shown

"""What is said of a mixture: numbers against plain formulas, and a page that stands alone."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import lacunary as lac
from lacunary.infer.mixture import Mixture, Noise
from lacunary.infer.network import Network
from lacunary.report.mixture import features, links, names_of, sentences, strengths, tried
from lacunary.report.mixture_page import mixture_page
from tests.mixture.small import continuous, two_groups


@pytest.fixture(scope="module")
def found() -> lac.MixtureFit:
    table = continuous(two_groups(60, holes=0.1))
    return lac.fit_mixture(table, components=[1, 2, 3], noise=True, starts=2, until="score")


def small() -> Mixture:
    """Two groups over a colour and a number; the first has an arc between them."""
    schema = lac.Schema((lac.Variable("colour", ("red", "blue")), lac.Variable("x", kind="continuous")))
    joined = lac.Dag.from_arcs(schema, [("colour", "x")])
    bare = lac.Dag.from_arcs(schema, [])
    one = Network.from_tables(joined, {"colour": [0.25, 0.75], "x": [[0.0, 1.0], [4.0, 4.0]]})
    two = Network.from_tables(bare, {"colour": [0.5, 0.5], "x": [10.0, 9.0]})
    noise = Noise(schema, np.array([0.0, -5.0]), np.array([1.0, 20.0]))
    return Mixture(np.array([0.6, 0.3, 0.1]), (one, two), noise)


def test_features_are_the_moments_of_the_components() -> None:
    by_name = {feature.name: feature for feature in features(small())}
    # Means 0 and 4 with chances 1/4 and 3/4; variances 1 and 4 within, 3 between.
    x = by_name["x"]
    np.testing.assert_allclose(x.values, [3.0, 10.0])
    np.testing.assert_allclose(x.sds, np.sqrt([0.25 * 1 + 0.75 * 4 + 3.0, 9.0]))
    # Weights 2/3 and 1/3 without the noise.
    assert x.overall == pytest.approx(16 / 3)
    assert x.spread**2 == pytest.approx((2 * 6.25 + 9.0) / 3 + (2 * (7 / 3) ** 2 + (14 / 3) ** 2) / 3)
    blue = by_name["colour: blue"]
    np.testing.assert_allclose(blue.values, [0.75, 0.5])
    assert blue.overall == pytest.approx(2 / 3)
    assert "colour: red" not in by_name
    assert features(small())[0].name == "x"
    assert (x.said(10.04), blue.said(0.75)) == ("10.0", "75%")


def test_links_leave_directions_out() -> None:
    assert [(link.pair, link.present) for link in links(small())] == [(("colour", "x"), (True, False))]
    assert names_of(small()) == ("1", "2", "noise")
    schema = lac.Schema(tuple(lac.Variable(name, kind="continuous") for name in "ab"))
    pair = [lac.random_network(lac.Dag.from_arcs(schema, [arc])) for arc in (("a", "b"), ("b", "a"))]
    turned = Mixture(np.array([0.5, 0.5]), tuple(pair))
    assert links(turned) == ()
    assert [link.present for link in links(turned, everywhere=True)] == [(True, True)]


def test_sentences_name_every_parameter_of_small_families() -> None:
    assert list(sentences(small().components[0])) == [
        "colour: red 0.250, blue 0.750",
        "x = 0, sd 1 if colour=red; 4, sd 2 if colour=blue",
    ]
    assert list(sentences(small().components[1]))[1] == "x = 10, sd 3"


def test_strengths_are_what_the_score_loses(found: lac.MixtureFit) -> None:
    origin = found.chosen.origin
    assert origin is not None
    mixer, names = origin.learner, found.mixture.schema.names
    completed = mixer.expect(origin.model)
    whole = mixer.log_evidence(completed, origin.structures)
    lost = strengths(found)
    assert sum(map(len, lost)) == sum(len(c.dag.arcs) for c in found.mixture.components) > 0
    for c, arcs in enumerate(lost):
        for (tail, head), strength in arcs.items():
            parents = [list(ps) for ps in origin.structures[c]]
            parents[names.index(head)].remove(names.index(tail))
            without = [*origin.structures]
            without[c] = tuple(map(tuple, parents))
            # A difference of two sums of about a thousand nats.
            assert strength == pytest.approx(whole - mixer.log_evidence(completed, without), abs=1e-8)
    trial = replace(found.chosen, origin=None)
    assert strengths(replace(found, path=(trial,))) == tuple({} for _ in found.mixture.components)


def test_probabilities_are_those_of_the_best_with_as_many_components(found: lac.MixtureFit) -> None:
    numbers = tried(found)
    assert [number.asked for number in numbers] == [1, 2, 3]
    assert all(1 <= number.met <= number.starts for number in numbers)
    assert numbers[1].starts >= sum(trial.asked == 2 for trial in found.path) >= 1
    told = [number for number in numbers if number.probability is not None]
    assert sum(number.probability or 0.0 for number in told) == pytest.approx(1.0)
    assert len({number.components for number in told}) == len(told)
    one, two = numbers[0], next(n for n in told if n.components == 2)
    assert np.log((two.probability or 0) / (one.probability or 1)) == pytest.approx(
        max(t.value for t in found.path if t.components == 2)
        - max(t.value for t in found.path if t.components == 1)
    )
    assert [number.estimate for number in numbers if number.chosen] == [found.estimate.value]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.words += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_says_what_was_found(found: lac.MixtureFit) -> None:
    page = mixture_page(found, continuous(two_groups(60, holes=0.1)), title="A <b> & title")
    parser = _Page()
    parser.feed(page)
    assert parser.open == []
    assert all(word.startswith("#") for word in parser.words)  # nothing is fetched
    assert "<script" not in page
    assert "A &lt;b&gt; &amp; title" in page
    drawings = re.findall(r"<svg[\s\S]*?</svg>", page)
    assert len(drawings) == 3 + len(found.mixture.components)  # numbers, profiles, course; a graph for each
    for drawing in drawings:
        ElementTree.fromstring(drawing.replace('xlink:href="', 'href="'))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for trial in tried(found):
        assert f"{trial.estimate:,.2f}".replace("-", "\N{MINUS SIGN}") in page


def test_a_page_from_a_file_has_no_strengths(found: lac.MixtureFit) -> None:
    loaded = replace(found, path=tuple(replace(trial, origin=None) for trial in found.path))
    page = mixture_page(loaded)
    assert "strength, nats" not in page
    assert "were dropped" not in page  # of rows nothing is known
    assert "were dropped" in mixture_page(found, continuous(two_groups(60, holes=0.1)))


def test_names_in_a_page_are_only_text() -> None:
    mean = np.random.default_rng(0).normal(size=(30, 2))
    table = lac.read({"<script>alert(1)</script>": mean[:, 0], "b & c": mean[:, 1]})
    page = mixture_page(lac.fit_mixture(table, components=1), table)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page

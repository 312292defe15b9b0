from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings

import lacunary as lac
from lacunary.model.dag import Dag
from lacunary.report.drawing import drawing
from lacunary.report.layers import layered
from lacunary.report.search_page import found_page, path_chart
from tests.strategies import dags

SVG = "{http://www.w3.org/2000/svg}"


@settings(max_examples=40)
@given(dag=dags(max_variables=9, max_hidden=2))
def test_parents_stand_above_and_nothing_overlaps(dag: Dag) -> None:
    widths = [20.0 + 7 * i for i in range(len(dag.names))]
    plan = layered(dag, widths, 10.0, 4.0)
    depth = {node: level for level, nodes in enumerate(plan.layers) for node in nodes}
    assert set(plan.routes) == {(p, i) for i, ps in enumerate(dag.parent_indices) for p in ps}
    for (tail, head), route in plan.routes.items():
        assert (route[0], route[-1]) == (tail, head)
        levels = [depth[node] for node in route]
        assert levels == list(range(depth[tail], depth[head] + 1))  # one layer at a time, downwards
    size = {node: widths[node] if node < len(widths) else 4.0 for node in depth}
    for layer in plan.layers:
        for left, right in pairwise(layer):
            room = plan.place[right] - plan.place[left] - (size[left] + size[right]) / 2
            assert room >= 10.0 - 1e-6  # the gap, but for rounding


def test_a_drawing_shows_every_variable_and_arc() -> None:
    dag = lac.alarm().dag
    strengths = {arc: float(i) for i, arc in enumerate(dag.arcs)}
    tree = ElementTree.fromstring(drawing(dag, strengths, title="Alarm"))
    assert sorted(t.text or "" for t in tree.iter(f"{SVG}text")) == sorted(dag.names)
    lines = [p for p in tree.iter(f"{SVG}path") if p.get("class") == "arc"]
    assert len(lines) == len(dag.arcs)
    titles = [t.text or "" for t in tree.iter(f"{SVG}title")]
    assert titles[0] == "Alarm"
    for (tail, head), value in strengths.items():
        assert f"{tail} → {head}: {value:.2f} nats" in titles
    widths = [float(p.get("stroke-width", "nan")) for p in lines]
    assert min(widths) >= 1.0
    assert max(widths) <= 4.0
    box = [float(x) for x in (tree.get("viewBox") or "").split()]
    for rectangle in tree.iter(f"{SVG}rect"):
        left, width = float(rectangle.get("x", "nan")), float(rectangle.get("width", "nan"))
        assert left >= 0
        assert left + width <= box[2]


def test_few_arcs_cross_on_a_known_graph() -> None:
    """A tree can be drawn without any crossing, and its layers must find that."""
    tree = lac.dag("A -> B C; B -> D E; C -> F G; D -> H; G -> I J", states=2)
    plan = layered(tree, [10.0] * 10, 5.0, 2.0)
    for upper, lower in pairwise(plan.layers):
        ends = [(plan.place[a], plan.place[b]) for (a, b) in plan.routes if a in upper and b in lower]
        crossing = [1 for one in ends for two in ends if one[0] < two[0] and one[1] > two[1]]
        assert not crossing


def test_names_of_any_kind() -> None:
    dag = lac.dag(
        '"<b>&" -> "a \'quote\' here"; "一二三" -> "<b>&"; "' + "x" * 60 + '"', states=2, hidden=["一二三"]
    )
    text = drawing(dag)
    tree = ElementTree.fromstring(text)
    shown = [t.text or "" for t in tree.iter(f"{SVG}text")]
    assert "<b>&" in shown
    assert any(name.endswith("…") for name in shown)
    assert text.count('class="node hidden"') == 1
    assert not re.search(r"https?://(?!www\.w3\.org)", text)


def test_a_page_of_a_search_stands_alone() -> None:
    found = lac.search(lac.asia().sample(300, rng=1), method="tabu")
    text = found_page(found, title="<Asia>")
    assert "&lt;Asia&gt;" in text
    assert "<Asia>" not in text
    assert not re.search(r"(?:src|href)=|https?://(?!www\.w3\.org)", text)
    for (tail, head), lost in found.strengths.items():
        mark = "↔" if frozenset((tail, head)) in lac.cpdag(found.dag).reversible else "→"
        assert f"<td>{tail}</td><td>{mark}</td><td>{head}</td>" in text
        assert f"{lost:,.2f}".replace("-", "\N{MINUS SIGN}") in text


def test_the_chart_of_a_path_marks_its_best() -> None:
    tree = ElementTree.fromstring(path_chart([-5.0, -1.0, -3.0]))
    [line] = tree.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in (line.get("points") or "").split()]
    assert points[1][1] < points[2][1] < points[0][1]  # higher is better, and higher on the page
    [dot] = tree.iter(f"{SVG}circle")
    assert (float(dot.get("cx", "nan")), float(dot.get("cy", "nan"))) == points[1]
    assert path_chart([-5.0]) == ""


def test_no_variables_at_all() -> None:
    assert ElementTree.fromstring(drawing(lac.Dag(lac.Schema(()), ()))).tag == f"{SVG}svg"


def test_the_chart_of_structural_em_is_on_the_scale_of_its_score() -> None:
    table = lac.make_holes(lac.asia().sample(200, rng=1), 0.2, rng=2)
    found = lac.search(table, max_parents=2)
    assert isinstance(found, lac.StructuralResult)
    value = found.score + found.log_structure_prior
    assert value == max(each.cheeseman_stutz + each.log_structure_prior for each in found.rounds)
    text = found_page(found)
    assert f">{f'{value:,.2f}'.replace('-', chr(0x2212))}</text>" in text
    assert f">round {len(found.rounds)}</text>" in text

"""A graph as a drawing: SVG that stands alone, made without any other program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log1p
from os import PathLike
from typing import Any
from unicodedata import combining, east_asian_width

from lacunary.data.wording import harmless
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag
from lacunary.model.equivalence import cpdag
from lacunary.registry import borrow
from lacunary.report.layers import Layered, layered
from lacunary.report.words import minus, shortened

__all__ = ["Drawing", "arc_rows", "drawing"]

HEIGHT, LAYER, GAP, MARGIN, BEND = 30.0, 78.0, 22.0, 14.0, 8.0
LETTER, PADDING = 8.2, 22.0
THIN, THICK = 1.0, 4.0
LONGEST = 28
SMALLEST = 0.6
"""How far a drawing shrinks to fit a page; beyond that letters could not be read."""

STYLE = """
.lac-graph text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: currentColor; }
.lac-graph .node { fill: #f1f4f7; stroke: #57606a; stroke-width: 1.2; }
.lac-graph .hidden { stroke-dasharray: 5 3; }
.lac-graph .arc { fill: none; stroke: #57606a; }
.lac-graph .tip { fill: #57606a; }
@media (prefers-color-scheme: dark) {
  .lac-graph .node { fill: #20252a; stroke: #a0a9b2; }
  .lac-graph .arc { stroke: #a0a9b2; }
  .lac-graph .tip { fill: #a0a9b2; }
}
"""


class Drawing(str):
    """A drawing: its SVG as text, which shows itself in a notebook and writes itself to a file."""

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, ``.svg``."""
        borrow("write whole")(path, str(self))


def drawing(dag: Dag, strengths: Mapping[Arc, float] | None = None, *, title: str = "Graph") -> Drawing:
    """Return a graph as SVG: variables in layers, parents above children; hidden ones have a dashed edge.

    ``strengths`` make strong arcs thicker, on a logarithmic scale; pointing at an arc shows its number.
    Continuous variables are boxes, discrete ones have round ends.
    """
    labels = [shortened(harmless(name), LONGEST) for name in dag.names]
    widths = [PADDING + LETTER * _columns(label) for label in labels]
    plan = layered(dag, widths, GAP, BEND)
    right = max((plan.place[i] + w / 2 for i, w in enumerate(widths)), default=0.0)
    right = max([right, *plan.place.values()]) if plan.place else right
    across, down = right + 2 * MARGIN, max(len(plan.layers), 1) * LAYER - (LAYER - HEIGHT) + 2 * MARGIN
    depth = {node: level for level, nodes in enumerate(plan.layers) for node in nodes}
    where = {node: (MARGIN + x, MARGIN + HEIGHT / 2 + LAYER * depth[node]) for node, x in plan.place.items()}
    drawn = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="lac-graph" role="img" '
            f'viewBox="0 0 {across:.0f} {down:.0f}" width="{across:.0f}" height="{down:.0f}" '
            f'style="max-width: 100%; min-width: {SMALLEST * across:.0f}px; height: auto" '
            f'aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            *_arcs(dag, plan, where, strengths or {}),
            *(_node(dag, i, labels[i], widths[i], where[i]) for i in range(len(labels))),
            "</svg>",
        ]
    )
    return Drawing(harmless(drawn))


def _node(dag: Dag, i: int, label: str, width: float, middle: tuple[float, float]) -> str:
    variable, (x, y) = dag.schema.variables[i], middle
    kind = "node hidden" if variable.hidden else "node"
    about = (
        f"{variable.name}: {variable.size} states" if variable.discrete else f"{variable.name}: continuous"
    )
    return (
        f"<g><title>{escape(about)}</title>"
        f'<rect class="{kind}" x="{x - width / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{HEIGHT:.0f}" rx="{HEIGHT / 2 if variable.discrete else 3:.0f}"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle">{escape(label)}</text></g>'
    )


def _arcs(
    dag: Dag, plan: Layered, where: Mapping[int, tuple[float, float]], strengths: Mapping[Arc, float]
) -> list[str]:
    out = []
    most = max((log1p(max(value, 0.0)) for value in strengths.values()), default=0.0)
    for (tail, head), route in plan.routes.items():
        arc = (dag.names[tail], dag.names[head])
        known = strengths.get(arc)
        share = log1p(max(known, 0.0)) / most if known is not None and most > 0 else 0.2
        about = f"{arc[0]} → {arc[1]}" + ("" if known is None else f": {known:.2f} nats")
        out.append(_arc([where[node] for node in route], THIN + (THICK - THIN) * share, about))
    return out


def _arc(points: Sequence[tuple[float, float]], width: float, about: str) -> str:
    """Return a smooth line through the points, with a tip at its end."""
    tip = 6.0 + 1.2 * width
    points = [
        (points[0][0], points[0][1] + HEIGHT / 2),
        *points[1:-1],
        (points[-1][0], points[-1][1] - HEIGHT / 2),
    ]
    end = (points[-1][0], points[-1][1] - tip)
    path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in zip(points[:-1], [*points[1:-1], end], strict=True):
        half = (y1 - y0) / 2
        path.append(f"C{x0:.1f},{y0 + half:.1f} {x1:.1f},{y1 - half:.1f} {x1:.1f},{y1:.1f}")
    x, y = points[-1]
    wing = tip * 0.42
    return (
        f"<g><title>{escape(about)}</title>"
        f'<path class="arc" stroke-width="{width:.2f}" d="{" ".join(path)}"/>'
        f'<path class="tip" d="M{x:.1f},{y:.1f} l{-wing:.1f},{-tip:.1f} h{2 * wing:.1f} z"/></g>'
    )


def _columns(text: str) -> int:
    """Return how wide a text is, in letters."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def arc_rows(dag: Dag, lost: Mapping[Arc, float]) -> list[dict[str, Any]]:
    """Return the arcs as rows of a table, the strongest first; without strengths in the graph's order."""
    reversible = cpdag(dag).reversible
    most = max((log1p(max(value, 0.0)) for value in lost.values()), default=0.0) or 1.0
    return [
        {
            "tail": tail,
            "head": head,
            "strength": minus(lost[tail, head], 2) if lost else "",
            "share": round(100 * log1p(max(lost[tail, head], 0.0)) / most) if lost else 0,
            "reversible": frozenset((tail, head)) in reversible,
        }
        for tail, head in sorted(dag.arcs, key=lambda arc: -lost.get(arc, 0.0))
    ]

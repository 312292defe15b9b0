"""How sure one can be of each arc, as a page that stands alone."""

from __future__ import annotations

from markupsafe import Markup

from lacunary.report.figures_arcs import MOST_DRAWN, figure
from lacunary.report.figures_style import svg
from lacunary.report.template import render
from lacunary.structure.arc_probabilities import ArcProbabilities

__all__ = ["page"]


def page(found: ArcProbabilities, title: str) -> str:
    """Return the page as HTML with its figure inside."""
    rows = [row | {"share": round(100 * row["link"])} for row in found.ranked() if row["link"] >= 0.005]
    about = "Probability of each arc, from rows to columns"
    chart = svg(figure(found), "arcs", about) if len(found.names) <= MOST_DRAWN else ""
    return render(
        "arcs",
        title=title,
        variables=len(found.names),
        note=found.note(),
        sampled=found.method != "exact",
        rows=rows,
        left=len(found.names) * (len(found.names) - 1) // 2 - len(rows),
        chart=Markup(chart),
    )

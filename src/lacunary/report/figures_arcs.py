"""How probable each arc is, drawn."""

from __future__ import annotations

from matplotlib import rc_context
from matplotlib.figure import Figure

from lacunary.report import figures_style as style
from lacunary.structure.arc_probabilities import ArcProbabilities

__all__ = ["MOST_DRAWN", "figure"]

MOST_DRAWN = 40
"""Variables up to which numbers are written into the figure's cells, and a page has a figure at all."""


def figure(found: ArcProbabilities) -> Figure:
    """Draw how probable the arc is from each variable (rows) to each (columns)."""
    longest = min(max(map(len, found.names), default=0), style.LONGEST)
    size = max(1.8, 0.8 + 0.1 * longest) + 0.42 * len(found.names)
    few = len(found.names) <= MOST_DRAWN
    with rc_context(style.STYLE):
        drawn, axes = style.canvas(size + 1.2, size)

        def said(row: int, column: int) -> str:
            return f"{100 * found.arcs[row, column]:.0f}" if few and row != column else ""

        scale = style.heat_map(axes, found.arcs, said, (0.0, 1.0), ("to", found.names, found.names))
        scale.set_label("probability of the arc")
        axes.set_ylabel("from")
        axes.tick_params(axis="x", rotation=90)
        return drawn

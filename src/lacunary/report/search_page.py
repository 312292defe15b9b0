"""What a search found, as a page that stands alone: the graph drawn, its arcs, the path of the search."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from lacunary.data.facts import open_cells
from lacunary.infer.empirical import said_prior
from lacunary.report.drawing import arc_rows, drawing
from lacunary.report.regressions import measures
from lacunary.report.template import render
from lacunary.report.words import minus, significant
from lacunary.structure.result import SearchResult
from lacunary.structure.structural_em import StructuralResult

__all__ = ["found_page", "path_chart"]

WIDTH, HEIGHT, LEFT, BELOW = 640.0, 220.0, 92.0, 30.0


def found_page(found: SearchResult, *, title: str = "What depends on what") -> str:
    """Return a search's result as HTML with its drawing inside."""
    observed = set(found.dag.names) - set(found.dag.schema.hidden)
    seen = [name in observed for name in found.table.schema.names]
    return render(
        "search",
        title=title,
        rows=len(found.table),
        holes=int(open_cells(found.table)[seen].sum()),
        variables=len(found.dag.names),
        score=minus(found.score, 2),
        prior="" if found.prior is None else said_prior(found.prior, found.dag.schema),
        structure_prior=found.structure_prior,
        log_structure_prior=minus(found.log_structure_prior, 2),
        steps=len(found.path),
        method=found.method,
        interrupted=found.interrupted,
        doubts=found.doubts,
        drawing=Markup(drawing(found.dag, found.strengths, title="The graph")),
        arcs=arc_rows(found.dag, found.strengths),
        chart=Markup(_chart(found)),
        rounds=_by_rounds(found),
        measures=[each | {"chart": Markup(each["chart"])} for each in measures(found.network)],
        significant=significant,
    )


def _by_rounds(found: SearchResult) -> bool:
    """Whether the search went by rounds of EM, whose steps weigh rows filled anew each time."""
    return isinstance(found, StructuralResult) and len(found.rounds) > 1


def _chart(found: SearchResult) -> str:
    if isinstance(found, StructuralResult) and _by_rounds(found):
        return path_chart([each.cheeseman_stutz + each.log_structure_prior for each in found.rounds], "round")
    return path_chart([step.score for step in found.path])


def path_chart(scores: Sequence[float], step: str = "step") -> str:
    """Return the score after each step as a line, as SVG; nothing if there were fewer than two steps."""
    if len(scores) < 2:
        return ""
    low, high = min(scores), max(scores)
    span = (high - low) or 1.0
    right, top = WIDTH - 12, 12.0

    def point(at: int, score: float) -> tuple[float, float]:
        across = LEFT + (right - LEFT) * at / (len(scores) - 1)
        return across, top + (HEIGHT - BELOW - top) * (high - score) / span

    line = " ".join("{:.1f},{:.1f}".format(*point(i, score)) for i, score in enumerate(scores))
    x, y = point(list(scores).index(high), high)
    labels = [
        (LEFT - 8, point(0, high)[1] + 4, "end", minus(high, 2)),
        (LEFT - 8, point(0, low)[1] + 4, "end", minus(low, 2)),
        (LEFT, HEIGHT - 8, "start", f"first {step}"),
        (right, HEIGHT - 8, "end", f"{step} {len(scores)}"),
    ]
    texts = "".join(
        f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}" font-size="12" fill="currentColor">'
        f"{text}</text>"
        for a, b, anchor, text in labels
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Score after each {step}" '
        f'viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}">'
        f"<title>Score after each {step}, in nats; the dot is the best</title>"
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.3"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#b34e00"/>{texts}</svg>'
    )

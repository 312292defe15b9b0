"""Hidden classes as a page that stands alone: one file, no resources from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from lacunary.data.schema import Label
from lacunary.data.wording import counted, near_best
from lacunary.report.template import render
from lacunary.report.words import EVIDENCE, Words, agreement, significant
from lacunary.study.levels import Levels
from lacunary.study.result import Classes

__all__ = ["page"]


WIDTH, LINE, LEFT, BELOW = 420.0, 16.0, 44.0, 18.0


def page(study: Classes, **words: str) -> str:
    """Return what was found about hidden classes as HTML with its figures inside; ``words`` as in `Words`."""
    from lacunary.report import figures  # plotting takes a second to import, and only pages need it

    def drawn(figure: Any, name: str, title: str) -> Markup:
        return Markup(figures.svg(figure, name, title))

    best = study.best
    return render(
        "classes",
        study=study,
        words=Words(**words),
        explained=EVIDENCE,
        agreement=agreement({counted(k, study.hidden): m for k, m in study.favourites.items()}),
        best=best,
        names=list(study.comparison.models),
        lost=len(study.table) - study.complete,
        reached=near_best([start.objective for start in best.fit.starts]),
        evidence=drawn(figures.evidence(study.comparison), "evidence", "Log evidence by several estimates"),
        heat_map=drawn(figures.heat_map(study), "profiles", f"What each {study.hidden} is like")
        if any(variable.discrete for variable in study.table.schema)
        else "",
        measured=[(each, _levels_chart(each, study.labels)) for each in study.measured],
        traces=drawn(figures.traces(best.fit), "traces", "How the starts climbed"),
        starts=drawn(figures.starts(best.fit), "starts", "Entropy of the starts against their score"),
    )


def _levels_chart(levels: Levels, labels: Sequence[Label]) -> Markup:
    """Return the classes' means and standard deviations drawn as SVG, a line for each class."""
    low = float((levels.means - 2 * levels.sds).min())
    span = float((levels.means + 2 * levels.sds).max()) - low or 1.0
    height = LINE * len(labels) + BELOW

    def across(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 8.0) * (value - low) / span

    marks = []
    for row, (label, mean, sd) in enumerate(zip(labels, levels.means, levels.sds, strict=True)):
        y = LINE * (row + 0.5)
        marks.append(
            f'<text x="{LEFT - 8:.0f}" y="{y + 4:.1f}" text-anchor="end" font-size="12" '
            f'fill="currentColor">{escape(str(label))}</text>'
            f'<line x1="{across(mean - sd):.1f}" x2="{across(mean + sd):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="#0072b2" stroke-width="5" stroke-opacity="0.45"/>'
            f'<circle cx="{across(mean):.1f}" cy="{y:.1f}" r="4" fill="#b34e00"/>'
        )
    ends = "".join(
        f'<text x="{x:.0f}" y="{height - 4:.0f}" text-anchor="{anchor}" font-size="11" fill="currentColor">'
        f"{significant(value, 4)}</text>"
        for x, anchor, value in ((LEFT, "start", low), (WIDTH - 8, "end", low + span))
    )
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(levels.name)} by class" '
        f'viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}" height="{height:.0f}">'
        f"<title>Mean, give or take a standard deviation</title>{''.join(marks)}{ends}</svg>"
    )

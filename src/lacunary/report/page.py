"""A study as a page that stands alone: one file, no resources from elsewhere."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from lacunary.data.wording import counted, plural
from lacunary.report.record import Study
from lacunary.report.shift import levels_chart
from lacunary.report.words import (
    EVIDENCE,
    Words,
    agreement,
    give_or_take,
    method,
    minus,
    percent,
    plain,
)

__all__ = ["page"]

NEAR = 0.1
"""Nats within which two starts count as having found the same peak."""


def page(study: Study, words: Words) -> str:
    """Return a study as HTML with its figures inside."""
    from lacunary.report import figures  # plotting takes a second to import, and only pages need it

    def drawn(figure: Any, name: str, title: str) -> Markup:
        return Markup(figures.svg(figure, name, title))

    best = study.best
    return _template().render(
        study=study,
        words=words,
        explained=EVIDENCE,
        agreement=agreement({counted(k, study.hidden): m for k, m in study.favourites.items()}),
        best=best,
        lost=len(study.table) - study.complete,
        reached=sum(start.objective > best.fit.objective - NEAR for start in best.fit.starts),
        evidence=drawn(figures.evidence(study.comparison), "evidence", "Log evidence by several estimates"),
        heat_map=drawn(figures.heat_map(study), "profiles", f"What each {study.hidden} is like")
        if any(variable.discrete for variable in study.table.schema)
        else "",
        measured=[(each, levels_chart(each, study.classes)) for each in study.measured],
        traces=drawn(figures.traces(best.fit), "traces", "How the starts climbed"),
        starts=drawn(figures.starts(best.fit), "starts", "Entropy of the starts against their score"),
    )


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("lacunary.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"minus": minus, "percent": percent, "plain": plain, "method": method}
    environment.filters["plural"] = plural
    environment.globals["give_or_take"] = give_or_take
    return environment.get_template("page.html.jinja")

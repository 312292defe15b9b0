"""A study as a page that stands alone: one file, no resources from elsewhere."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from lacunary.report.record import Study
from lacunary.report.text import BIC
from lacunary.report.words import Words, minus, percent, plain

__all__ = ["page"]


def page(study: Study, words: Words) -> str:
    """Return a study as HTML with its figures inside."""
    from lacunary.report import figures  # plotting takes a second to import, and only pages need it

    return _template().render(
        study=study,
        words=words,
        bic=BIC,
        best=study.best,
        lost=len(study.table) - study.complete,
        reached=sum(start.objective > study.best.fit.objective - 0.1 for start in study.best.fit.starts),
        scores=Markup(
            figures.svg(figures.scores(study), "scores", f"BIC against the number of {study.hidden}s")
        ),
        heat_map=Markup(
            figures.svg(figures.heat_map(study), "profiles", f"What each {study.hidden} is like")
        ),
        traces=Markup(figures.svg(figures.traces(study.best.fit), "traces", "How the starts climbed")),
    )


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("lacunary.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"minus": minus, "percent": percent, "plain": plain}
    return environment.get_template("page.html.jinja")

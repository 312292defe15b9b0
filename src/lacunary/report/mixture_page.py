"""A mixture as a page that stands alone: how many components, each one's graph, profile and parameters."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from lacunary.data.facts import open_cells
from lacunary.data.table import Table
from lacunary.data.wording import counted
from lacunary.mixture.found import MixtureFit
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag
from lacunary.report.drawing import arc_rows, drawing
from lacunary.report.mixture import features, links, met_once, names_of, sentences, strengths, tried
from lacunary.report.template import render

__all__ = ["mixture_page"]

DRAWN = 250
"""Graphs with more arcs are not drawn: nobody could read them."""

LISTED = 60
"""The most arcs or differences that are listed."""


def mixture_page(
    found: MixtureFit, table: Table | None = None, *, title: str = "Groups, and what depends on what in each"
) -> str:
    """Return what learning a mixture found as HTML with its drawings and figures inside.

    The table, if it is given, is only counted.
    """
    from lacunary.report import figures, figures_mixture  # plotting takes a second to import

    def drawn(figure: Any, name: str, about: str) -> Markup:
        return Markup(figures.svg(figure, name, about))

    mixture, told = found.mixture, features(found.mixture)
    differing = links(mixture)
    return render(
        "mixture",
        title=title,
        found=found,
        rows=None if table is None else len(table),
        holes=None if table is None else _holes(table),
        variables=sum(not v.hidden for v in mixture.schema),
        hidden=[v.name for v in mixture.schema if v.hidden],
        summary=_summary(found),
        tried=tried(found),
        doubt=met_once(tried(found)),
        numbers=drawn(figures_mixture.numbers(found), "numbers", "Log evidence by number of components")
        if len(tried(found)) > 1
        else "",
        profiles=drawn(figures_mixture.profiles(mixture), "profiles", "Means and chances by component"),
        cut=max(len(told) - figures_mixture.MOST, 0),
        components=_components(found),
        names=names_of(mixture)[: len(mixture.components)],
        links=differing[:LISTED],
        more_links=max(len(differing) - LISTED, 0),
        noise=_noise(found),
        course=drawn(figures_mixture.course(found.chosen.ticks), "course", "Objective and arcs by step")
        if len(found.chosen.ticks) > 1
        else "",
        steps=len(found.chosen.ticks),
    )


def _summary(found: MixtureFit) -> str:
    mixture = found.mixture
    arcs = sum(len(component.dag.arcs) for component in mixture.components)
    noise = " and a uniform one for what fits none of them" if mixture.noise is not None else ""
    return (
        f"{counted(len(mixture.components), 'component')}{noise}, with {counted(arcs, 'arc')} in all and "
        f"{counted(found.estimate.dimension or mixture.dimension, 'free parameter')}"
    )


def _components(found: MixtureFit) -> list[dict[str, Any]]:
    mixture, lost = found.mixture, strengths(found)
    return [
        {
            "name": name,
            "weight": float(mixture.weights[c]),
            "arcs": len(component.dag.arcs),
            "drawing": _drawing(component.dag, lost[c], f"The graph of component {name}"),
            "rows": arc_rows(component.dag, lost[c])[:LISTED],
            "more": max(len(component.dag.arcs) - LISTED, 0),
            "sentences": list(sentences(component)),
        }
        for c, (name, component) in enumerate(zip(names_of(mixture), mixture.components, strict=False))
    ]


def _drawing(dag: Dag, lost: dict[Arc, float], title: str) -> Markup:
    """Return a graph's drawing; nothing where it has too many arcs to be read."""
    return Markup(drawing(dag, lost, title=title) if len(dag.arcs) <= DRAWN else "")


def _noise(found: MixtureFit) -> dict[str, Any] | None:
    noise = found.mixture.noise
    if noise is None:
        return None
    bounds = zip(noise.schema, noise.low, noise.high, strict=True)
    return {
        "weight": float(found.mixture.weights[-1]),
        "bounds": [(v.name, f"{low:.6g}", f"{high:.6g}") for v, low, high in bounds if not v.discrete][
            :LISTED
        ],
    }


def _holes(table: Table) -> int:
    return int(open_cells(table)[[not v.hidden for v in table.schema]].sum())

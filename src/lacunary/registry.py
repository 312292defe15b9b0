"""What lower packages borrow from upper ones, such as the drawing of a result's ``plot()``.

Imports go downwards only; a method that needs an upper package asks for it here by name, and the package is
loaded when it is first used. This is the only way upwards.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

__all__ = ["LENT", "borrow", "page_of"]

LENT = {
    "arc probabilities as a figure": "report.figures_arcs.figure",
    "arc probabilities as a page": "report.arcs_page.page",
    "classes as text": "report.classes_text.printed",
    "classes as a page": "report.classes_page.page",
    "classes as a figure": "report.figures.classes",
    "comparison as a figure": "report.figures.evidence",
    "fit as a figure": "report.figures.fit",
    "graph as a drawing": "report.drawing.drawing",
    "holes as a figure": "report.figures.holes",
    "mixture as a page": "report.mixture_page.mixture_page",
    "network as a page": "workbench.page.page",
    "network as a widget": "workbench.widget.widget",
    "graph for bnlearn": "files.others.to_modelstring",
    "graph for networkx": "files.others.to_networkx",
    "network for pgmpy": "files.others.to_pgmpy",
    "network for pyagrum": "files.others.to_pyagrum",
    "number of threads": "infer.parallel.threads",
    "save": "files.store.save",
    "score of a mixture": "mixture.score.score_mixture",
    "shown in a notebook": "report.notebook.html",
    "search as a page": "report.search_page.found_page",
    "sensitivity as a figure": "report.figures.sensitivity",
    "write whole": "files.whole.write_whole",
}
"""What is lent, by name, and where it lives."""


def borrow(name: str) -> Callable[..., Any]:
    """Return a function of an upper package, which is loaded if it is not yet."""
    module, _, function = LENT[name].rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"lacunary.{module}"), function)
    return found


def page_of(kind: str, path: str | PathLike[str] | None, thing: Any, *more: Any, **words: Any) -> str:
    """Return a thing as a page of HTML that stands alone, and write it if a path is given."""
    html = str(borrow(f"{kind} as a page")(thing, *more, **words))
    if path is not None:
        borrow("write whole")(path, html)
    return html

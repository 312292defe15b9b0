"""The papers' results: their pages, which stand alone, go into the site beside a list of verdicts."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parents[2] / "results"
SAID = {"not": "not reproduced", "undecided": "not decided", "wrong": "wrong in print"}
SHOWN = ("*.html", "*.csv", "*.txt", "*.svg", "*.png")


def verdicts(key: str, folder: Path = FOLDER) -> Counter[str]:
    """Return how many claims of a paper have which verdict."""
    with (folder / key / "claims.csv").open(encoding="utf-8", newline="") as lines:
        return Counter(row["verdict"] for row in csv.DictReader(lines))


class Verdicts(SphinxDirective):
    """A table of the papers with the verdicts on their claims and links to their pages."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        kinds = ("reproduced", "near", "not", "wrong", "undecided", "noted", "open", "answered")
        head = "".join(f"<th>{SAID.get(kind, kind)}</th>" for kind in kinds)
        rows = "".join(
            f'<tr><td><a href="results/{key}/index.html">{key.upper()}</a></td>'
            + "".join(f"<td>{verdicts(key).get(kind, 0)}</td>" for kind in kinds)
            + "</tr>"
            for key in sorted(path.name for path in FOLDER.iterdir() if (path / "claims.csv").exists())
        )
        table = (
            f'<table class="table"><thead><tr><th>paper</th>{head}</tr></thead><tbody>{rows}</tbody></table>'
        )
        return [nodes.raw("", f'<div class="pst-scrollable-table-container">{table}</div>', format="html")]


def _copy(app: Any, problem: Exception | None) -> None:
    if problem is None and app.builder.format == "html" and FOLDER.exists():
        for path in (path for kind in SHOWN for path in FOLDER.rglob(kind)):
            target = Path(app.outdir) / "results" / path.relative_to(FOLDER)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("verdicts", Verdicts)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Writing an outcome: tables as CSV and text, figures as SVG and PNG, and one page with everything."""

from __future__ import annotations

import csv
import io
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lacunary import __version__, write_whole
from lacunary.papers.claims import Claim, Judged, judge
from lacunary.papers.outcome import Cell, Listing, Outcome, Size
from lacunary.papers.sample import minus

__all__ = ["Edition", "publish"]


def cell(value: Cell) -> str:
    """Return a cell: text as it is, numbers with four significant digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool | str | int):
        return minus(str(value)) if isinstance(value, int) else str(value)
    return minus(f"{value:.4g}" if abs(value) < 1e4 else f"{value:.1f}")


def error_text(judged: Judged) -> str:
    """Return the standard error of what was found."""
    found = judged.found
    return "" if found is None or found.error is None else f"± {found.error:.2g}"


def time_text(judged: Judged) -> str:
    """Return how long it took us."""
    found = judged.found
    if found is None or found.seconds is None:
        return ""
    seconds = found.seconds
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def told(judged: Judged) -> str:
    """Return a claim, its verdict and the evidence as a paragraph."""
    claim = judged.claim
    where = f" ({claim.where})" if claim.where else ""
    numbers = [
        f"printed {cell(claim.printed)}" if claim.printed != "" else "",
        f"ours {cell(judged.found.value)} {error_text(judged)}".strip() if judged.found else "",
        f"allowed ± {cell(judged.margin)}" if judged.margin is not None else "",
        f"then {claim.then}" if claim.then else "",
        f"now {time_text(judged)}" if time_text(judged) else "",
    ]
    head = f"{judged.verdict.upper()}: {claim.says}{where} [{claim.id}]"
    rest = ["; ".join(filter(None, numbers)), claim.why and f"Tolerance: {claim.why}.", judged.note]
    lines = [head, *("    " + line for line in rest if line)]
    return "".join(fill(line, 110, subsequent_indent="    ") + "\n" for line in lines)


def in_columns(listing: Listing) -> str:
    """Return a listing as text with its columns under one another."""
    grid = [list(listing.columns), *([cell(value) for value in row] for row in listing.rows)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(listing.columns))]
    texts = [any(isinstance(row[i], str) for row in listing.rows) for i in range(len(listing.columns))]
    aligned = [
        [
            shown.ljust(width) if text else shown.rjust(width)
            for shown, width, text in zip(row, widths, texts, strict=True)
        ]
        for row in grid
    ]
    lines = ["  ".join(row).rstrip() for row in aligned]
    return "\n".join([listing.title, "", *lines, *(["", listing.note] if listing.note else []), ""])


@dataclass(frozen=True)
class Edition:
    """What a page says about how it came to be."""

    key: str
    head: Mapping[str, Any]
    size: Size
    done: int
    units: int
    seconds: float

    @property
    def machine(self) -> str:
        """What it ran on, in words."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return (
            f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, lacunary {__version__}"
        )


def publish(folder: Path, edition: Edition, claims: Sequence[Claim], outcome: Outcome) -> list[Judged]:
    """Write everything into a folder and return the verdicts."""
    outcome = replace(outcome, listings=[each for each in outcome.listings if each.rows])
    judged = [judge(claim, outcome.found.get(claim.id)) for claim in claims]
    strangers = set(outcome.found) - {claim.id for claim in claims}
    assert not strangers, f"answers to claims that claims.toml does not have: {sorted(strangers)}"
    folder.mkdir(parents=True, exist_ok=True)
    for listing in outcome.listings:
        write_whole(folder / f"{listing.name}.csv", _csv(listing))
        write_whole(folder / f"{listing.name}.txt", in_columns(listing))
    write_whole(folder / "claims.csv", _csv(verdicts(judged)))
    write_whole(folder / "claims.txt", "\n".join(told(one) for one in judged))
    drawn = _draw(folder, outcome)
    write_whole(folder / "index.html", _page(edition, judged, outcome, drawn))
    return judged


def verdicts(judged: Sequence[Judged]) -> Listing:
    """Return the claims with their verdicts as a listing."""
    columns = ("claim", "where", "says", "verdict", "printed", "ours", "error", "margin", "why", "note")
    rows = []
    for j in judged:
        claim, ours = j.claim, (j.found.value, j.found.error) if j.found else (None, None)
        printed = (claim.id, claim.where, claim.says, j.verdict, claim.printed)
        rows.append((*printed, *ours, j.margin, claim.why, j.note))
    return Listing("claims", "Every claim and its verdict", columns, rows)


def _draw(folder: Path, outcome: Outcome) -> dict[str, Markup]:
    """Write the figures and return them for the page."""
    from lacunary import FigureStyle as Style  # plotting takes a second to import

    inside = {}
    for drawing in outcome.drawings:
        write_whole(folder / f"{drawing.name}.png", Style.picture(drawing.figure, "png"))
        write_whole(folder / f"{drawing.name}.svg", Style.picture(drawing.figure, "svg"))
        inside[drawing.name] = Markup(Style.svg(drawing.figure, drawing.name, drawing.title))
    return inside


def _csv(listing: Listing) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(listing.columns)
    writer.writerows(listing.rows)
    return text.getvalue()


def _page(edition: Edition, judged: Sequence[Judged], outcome: Outcome, drawn: Mapping[str, Markup]) -> str:
    environment = Environment(
        loader=PackageLoader("lacunary.papers", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell": cell, "error": error_text, "time": time_text}
    return environment.get_template("page.html.jinja").render(
        edition=edition,
        printed=[j for j in judged if not j.claim.ours],
        ours=[j for j in judged if j.claim.ours],
        count=Counter(j.verdict for j in judged if not j.claim.ours),
        outcome=outcome,
        drawn=drawn,
    )

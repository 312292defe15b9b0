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
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lacunary import __version__, write_whole
from lacunary.papers.claims import Claim, Judged, judge
from lacunary.papers.outcome import Listing, Outcome, Size
from lacunary.papers.show import cell, error_text, in_columns, time_text, told, value_text

__all__ = ["Edition", "publish"]


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
    rows = [
        (
            j.claim.id,
            j.claim.where,
            j.claim.says,
            j.verdict,
            j.claim.printed,
            j.found.value if j.found else None,
            j.found.error if j.found else None,
            j.margin,
            j.claim.why,
            j.note,
        )
        for j in judged
    ]
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
    environment.filters |= {"cell": cell, "value": value_text, "error": error_text, "time": time_text}
    return environment.get_template("page.html.jinja").render(
        edition=edition,
        printed=[j for j in judged if not j.claim.ours],
        ours=[j for j in judged if j.claim.ours],
        count=Counter(j.verdict for j in judged if not j.claim.ours),
        outcome=outcome,
        drawn=drawn,
    )

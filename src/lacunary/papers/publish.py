"""Writing an outcome: tables as CSV and text, figures as SVG and PNG, and one page with everything."""

from __future__ import annotations

import csv
import io
import os
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lacunary import __version__, write_whole
from lacunary.papers.claims import VERDICTS, Claim, Found, Judged, judge, said
from lacunary.papers.earlier import kept_answers, kept_pictures, kept_tables
from lacunary.papers.opening import in_short
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
    head = f"{said(judged.verdict).upper()}: {claim.says}{where} [{claim.id}]"
    why = claim.why and f"{'Tolerance' if judged.margin is not None else 'Test'}: {claim.why}."
    rest = ["; ".join(filter(None, numbers)), why, judged.note, judged.power, stands(judged)]
    lines = [head, *("    " + line for line in rest if line)]
    return "".join(fill(line, 110, subsequent_indent="    ") + "\n" for line in lines)


def stands(judged: Judged) -> str:
    """Return what stands behind an answer, and which library found it if it was an earlier one."""
    found = judged.found
    if found is None:
        return ""
    behind = f"Behind it: {found.behind}." if found.behind else ""
    return f"{behind} {f'Of an earlier run: {found.run}.' if found.run else ''}".strip()


SUMMARY = {
    "reproduced": "What holds",
    "near": "What nearly holds",
    "not": "What does not hold here",
    "wrong": "What is wrong in print, with a proof",
    "undecided": "What we could not decide",
    "open": "What this run did not ask",
}


def summary(judged: Sequence[Judged]) -> list[tuple[str, list[str]]]:
    """Return, for each kind of verdict, what was so judged: claims from one place together."""
    out = []
    for verdict, title in SUMMARY.items():
        places: dict[str, list[str]] = {}
        for one in judged:
            if one.verdict == verdict:
                places.setdefault(one.claim.where, []).append(one.claim.says)
        total = Counter(one.claim.where for one in judged if one.verdict not in ("noted", "answered"))
        lines = [
            f"{where or 'our own'}: "
            + ("; ".join(says) if len(says) <= TOLD else f"{len(says)} of {total[where]} claims")
            for where, says in places.items()
        ]
        if lines:
            out.append((title, lines))
    return out


TOLD = 4
"""Claims from one place that a summary spells out; more are counted."""


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
    strangers = set(outcome.found) - {claim.id for claim in claims}
    assert not strangers, f"answers to claims that claims.toml does not have: {sorted(strangers)}"
    folder.mkdir(parents=True, exist_ok=True)
    known = kept_answers(folder / "claims.csv", claims) | dict(outcome.found)
    answers = {name: _in_print(found) for name, found in known.items()}
    judged = [judge(claim, answers.get(claim.id)) for claim in claims]
    for listing in outcome.listings:
        write_whole(folder / f"{listing.name}.csv", _csv(listing))
        write_whole(folder / f"{listing.name}.txt", in_columns(listing))
    write_whole(folder / "claims.csv", _csv(verdicts(judged)))
    write_whole(folder / "claims.txt", "\n".join(told(one) for one in judged))
    drawn = _draw(folder, outcome)
    old = kept_pictures(folder, drawn), kept_tables(folder, {each.name for each in outcome.listings})
    opening = in_short(folder / "README.md") if edition.size == "full" else []
    write_whole(folder / "index.html", _page(edition, judged, outcome, drawn, old, opening))
    return judged


def _in_print(found: Found) -> Found:
    """Return an answer whose words have true minus signs before their numbers."""
    value, note = (
        NEGATIVE.sub("\N{MINUS SIGN}", text) if isinstance(text, str) else text
        for text in (found.value, found.note)
    )
    return replace(found, value=value, note=str(note))


NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")
"""A hyphen that is the sign of a number."""


def verdicts(judged: Sequence[Judged]) -> Listing:
    """Return the claims with their verdicts as a listing."""
    heads = (
        "claim",
        "where",
        "says",
        "verdict",
        "printed",
        "ours",
        "error",
        "low",
        "high",
        "margin",
        "chance",
    )
    columns = (*heads, "behind", "power", "run", "why", "note")
    rows: list[tuple[Cell, ...]] = []
    for j in judged:
        claim, found = j.claim, j.found
        rows.append((claim.id, claim.where, claim.says, j.verdict, claim.printed,
                     *((found.value, found.error, *(found.span or (None, None))) if found else (None,) * 4),
                     j.margin, found.chance if found else None, found.behind if found else None, j.power,
                     (found.run or __version__) if found else None, claim.why, j.note))  # fmt: skip
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


def _page(
    edition: Edition,
    judged: Sequence[Judged],
    outcome: Outcome,
    drawn: Mapping[str, Markup],
    old: tuple[Sequence[str], Mapping[str, str]],
    opening: Sequence[Markup],
) -> str:
    environment = Environment(
        loader=PackageLoader("lacunary.papers", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "cell": cell,
        "allowed": lambda margin: f"{margin:.2g}" if margin < 100 else f"{margin:.0f}",
        "error": error_text,
        "time": time_text,
        "said": said,
        "stands": stands,
    }
    return environment.get_template("page.html.jinja").render(
        edition=edition,
        printed=[j for j in judged if not (j.claim.ours or j.claim.fact)],
        ours=[j for j in judged if j.claim.ours],
        noted=[j for j in judged if j.claim.fact],
        count=[(v, n) for v in VERDICTS[:-1] if (n := sum(j.verdict == v for j in judged))],
        opening=opening,
        summary=summary(judged),
        earlier=sum(bool(j.found and j.found.run) for j in judged),
        pictures=old[0],
        tables=old[1],
        outcome=outcome,
        drawn=drawn,
    )

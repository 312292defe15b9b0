"""A study as text for a terminal, or for a pipe."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from lacunary.report.record import Profile, Study
from lacunary.report.words import EVIDENCE, Words, agreement, counted, method, minus, percent, plain

__all__ = ["text"]


def text(study: Study, words: Words) -> RenderableType:
    """Return what a terminal shows of a study."""
    return Group(
        Text(words.title, style="bold"),
        _holes(study, words),
        "",
        _heading(f"How many {study.hidden}s?"),
        _comparison(study),
        Text(EVIDENCE, style="dim"),
        Text(agreement({counted(k, study.hidden): m for k, m in study.favourites.items()})),
        "",
        _heading(f"The {study.best.classes} {study.hidden}s"),
        _profiles(study, words),
        _heading(f"Some {words.row}s, and the {study.hidden} they probably belong to"),
        _cases(study, words),
    )


def _holes(study: Study, words: Words) -> Text:
    rows, lost = len(study.table), len(study.table) - study.complete
    return Text(
        f"{rows} {words.row}s, {len(study.table.schema)} {words.cell}s each, {study.holes} of them missing. "
        f"Dropping incomplete {words.row}s would lose {lost} of {rows}, with {study.wasted} {words.cell}s "
        "that were observed. Here nothing is dropped."
    )


def _heading(words: str) -> Text:
    return Text(words, style="bold cyan")


def _grid(*columns: str) -> Grid:
    """Return an empty grid; a column whose name begins with < is set flush left."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        grid.add_column(name.lstrip("<"), justify="left" if name.startswith("<") else "right")
    return grid


def _comparison(study: Study) -> Grid:
    methods = study.comparison.methods
    heads = (method(m).replace("\N{EN DASH}", "\N{EN DASH}\n") for m in methods)
    grid = _grid(f"{study.hidden}s", "parameters", "log-\nlikelihood", *heads)
    for candidate in study.candidates:
        firsts = study.favourites.get(candidate.classes, ())
        grid.add_row(
            str(candidate.classes),
            str(candidate.parameters),
            minus(candidate.fit.log_likelihood),
            *(f"{minus(candidate.log_evidence[m])}{'*' if m in firsts else ' '}" for m in methods),
            style="bold" if candidate is study.best else None,
        )
    return grid


def _profiles(study: Study, words: Words) -> Grid:
    aside = list(study.profiles[0].aside)
    grid = _grid(
        f"<{study.hidden}",
        f"{words.row}s",
        *map(str, aside),
        f"<what sets it apart (in other {study.hidden}s)",
    )
    for profile in study.profiles:
        shares = [percent(profile.aside[state]) for state in aside]
        grid.add_row(str(profile.label), f"{profile.size:.0f}", *shares, _contrasts(profile))
    return grid


def _contrasts(profile: Profile) -> str:
    return "\n".join(
        f"{plain(c.variable)} {c.state}: {percent(c.here)} ({percent(c.elsewhere)})"
        for c in profile.contrasts
    )


def _cases(study: Study, words: Words) -> Grid:
    aside = [f"<{study.aside.schema.names[0]}"] if study.aside else []
    grid = _grid(words.row, *aside, "missing", *(f"p({label})" for label in study.classes), "<note")
    for case in study.cases:
        known = [str(case.aside)] if study.aside else []
        chances = (f"{p:.2f}" for p in case.probabilities)
        grid.add_row(str(case.row + 1), *known, str(case.holes), *chances, case.why)
    return grid

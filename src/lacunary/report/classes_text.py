"""Hidden classes as text for a terminal, or for a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as Grid
from rich.text import Text

from lacunary.data.wording import MISSING_AT_RANDOM, counted, plural
from lacunary.report.words import EVIDENCE, Words, agreement, give_or_take, method, minus, percent, with_unit
from lacunary.study.levels import Shift
from lacunary.study.profile import Contrast
from lacunary.study.result import Classes

__all__ = ["empty_grid", "printed", "text"]

WIDTH = 100
"""Characters of a line of what ``print`` shows."""
GAP = 2
"""Characters between the columns of a grid."""


def printed(study: Classes) -> str:
    """Return what ``print`` shows of hidden classes, in plain characters."""
    console = Console(file=StringIO(), width=WIDTH, color_system=None)
    with console.capture() as caught:
        console.print(text(study, Words(f"Hidden {plural(study.hidden)}")))
    return "\n".join(line.rstrip() for line in caught.get().splitlines())


def text(study: Classes, words: Words) -> RenderableType:
    """Return what a terminal shows of hidden classes."""
    return Group(
        Text(words.title, style="bold"),
        _holes(study, words),
        "",
        _heading(f"How many {plural(study.hidden)}?"),
        _comparison(study),
        Text(EVIDENCE, style="dim"),
        Text(agreement({counted(k, study.hidden): m for k, m in study.favourites.items()})),
        *map(Text, study.notes()),
        "",
        _heading(f"The {study.best.classes} {plural(study.hidden)}, by {method(study.criterion)}"),
        _profiles(study, words),
        *_measured(study),
        _heading(f"Some {words.row}s, and the {study.hidden} they probably belong to"),
        _cases(study, words),
    )


def _holes(study: Classes, words: Words) -> Text:
    rows, lost = len(study.table), len(study.table) - study.complete
    return Text(
        f"{rows} {words.row}s, {len(study.table.schema)} {words.cell}s each; {study.holes} of the "
        f"{rows * len(study.table.schema)} {words.cell}s are missing. "
        f"Dropping incomplete {words.row}s would lose {lost} of {rows}, with {study.wasted} {words.cell}s "
        "that were observed. Here nothing is dropped." + (f" {MISSING_AT_RANDOM}" if study.holes else "")
    )


def _heading(words: str) -> Text:
    return Text(words, style="bold cyan")


def empty_grid(*columns: str) -> Grid:
    """Return an empty grid; a column whose name begins with < is set flush left."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        grid.add_column(name.lstrip("<"), justify="left" if name.startswith("<") else "right")
    return grid


@dataclass(frozen=True)
class Folding:
    """A grid of which no number is cut: where columns do not fit, others follow with the first one again.

    Attributes
    ----------
    names
        What the columns are called, as `empty_grid` takes them.
    rows
        The cells of each row, and its style.
    """

    names: Sequence[str]
    rows: Sequence[tuple[Sequence[str], str | None]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield grids that are no wider than the console, or of two columns."""
        columns = [(name.lstrip("<"), *cells) for name, *cells in zip(self.names, *self._cells, strict=True)]
        first, *others = (max(map(cell_len, "\n".join(column).split("\n"))) + GAP for column in columns)
        group: list[int] = []
        for place, width in enumerate(others, start=1):
            if group and first + sum(others[k - 1] for k in group) + width > options.max_width:
                yield self._grid(group)
                group = []
            group.append(place)
        yield self._grid(group)

    @property
    def _cells(self) -> list[Sequence[str]]:
        return [cells for cells, _ in self.rows]

    def _grid(self, group: list[int]) -> Grid:
        grid = empty_grid(*(self.names[k] for k in (0, *group)))
        for cells, style in self.rows:
            grid.add_row(*(cells[k] for k in (0, *group)), style=style)
        return grid


def _comparison(study: Classes) -> Folding:
    methods = study.comparison.methods
    heads = (method(m).replace("\N{EN DASH}", "\N{EN DASH}\n") for m in methods)
    names = [plural(study.hidden), "parameters", "log-\nlikelihood", *heads]
    rows: list[tuple[list[str], str | None]] = []
    for name, candidate in zip(study.comparison.models, study.candidates, strict=True):
        firsts = study.favourites.get(candidate.classes, ())
        low = [m for m in methods if study.comparison.too_low(name, m)]
        cells = [str(candidate.classes), str(candidate.parameters), minus(candidate.fit.log_likelihood)]
        for m in methods:
            best = "*" if m in firsts else " "
            cells.append(f"{minus(candidate.log_evidence[m])}{'↓' * (m in low)}{best}")
        rows.append((cells, "bold" if candidate is study.best else None))
    return Folding(names, rows)


def _profiles(study: Classes, words: Words) -> Grid:
    aside = list(study.profiles[0].aside)
    grid = empty_grid(
        f"<{study.hidden}",
        f"{words.row}s",
        *map(str, aside),
        f"<what sets it apart (in other {plural(study.hidden)})",
    )
    for profile in study.profiles:
        shares = [percent(profile.aside[state]) for state in aside]
        contrasts = "\n".join(map(_contrast, profile.contrasts))
        grid.add_row(str(profile.label), f"{profile.size:.0f}", *shares, contrasts)
    return grid


def _contrast(c: Contrast | Shift) -> str:
    if isinstance(c, Shift):
        elsewhere = give_or_take(c.mean_elsewhere, c.sd_elsewhere)
        return f"{c.variable}: {give_or_take(c.mean, c.sd)} ({elsewhere})"
    return f"{c.variable} {c.state}: {percent(c.here)} ({percent(c.elsewhere)})"


def _measured(study: Classes) -> list[RenderableType]:
    """Return the continuous variables in each class, mean ± standard deviation."""
    if not study.measured:
        return []
    rows = []
    for each in study.measured:
        cells = [give_or_take(mean, sd) for mean, sd in zip(each.means, each.sds, strict=True)]
        rows.append(([with_unit(study.table.schema[each.name]), *cells], None))
    return [Folding(["<mean ± standard deviation", *map(str, study.labels)], rows)]


def _cases(study: Classes, words: Words) -> Grid:
    aside = [f"<{study.aside.schema.names[0]}"] if study.aside else []
    grid = empty_grid(words.row, *aside, "missing", *(f"p({label})" for label in study.labels), "<note")
    for case in study.cases:
        known = [str(case.aside)] if study.aside else []
        chances = (f"{p:.2f}" for p in case.probabilities)
        grid.add_row(str(case.row + 1), *known, str(case.holes), *chances, case.why)
    return grid

"""``python -m benchmarks``: measure, print the ratios, and write the table the README quotes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.status import Status
from rich.table import Table

from benchmarks import (
    em,
    evidence,
    first_minute,
    gaussian,
    gaussian_structure,
    growth,
    hidden_root,
    mixture,
    posteriors,
    queries,
    reading,
    selection,
    structure,
    threads,
    wide,
)
from benchmarks.measure import Effort, Line, machine

THEMES: dict[str, ModuleType] = {
    "em": em,
    "wide": wide,
    "hidden_root": hidden_root,
    "posteriors": posteriors,
    "queries": queries,
    "evidence": evidence,
    "selection": selection,
    "structure": structure,
    "growth": growth,
    "reading": reading,
    "first_minute": first_minute,
    "gaussian": gaussian,
    "gaussian_structure": gaussian_structure,
    "mixture": mixture,
    "threads": threads,
}
RESULTS = Path(__file__).with_name("results.md")
HEADINGS = ("case", "who", "time", "ratio", "log-likelihood", "remark")
WIDTH = 160
ROWS_HELP = "rows up to which slow rivals are measured; beyond, their times are scaled (default: %(default)s)"
NUMBERS = ("time", "ratio", "log-likelihood")
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chosen themes, by default all of them."""
    options = _options(arguments)
    effort = Effort.quick() if options.quick else Effort(rival_rows=options.rival_rows)
    console, facts, pages = Console(width=WIDTH), machine(), []
    console.print(*facts, sep="\n")
    for name in options.themes or THEMES:
        theme = THEMES[name]
        with console.status("") as status:
            rows = _rows(_shown(theme.lines(effort), status))
        console.print(_printed(theme.TITLE, rows))
        pages.append(_markdown(theme.TITLE, rows))
        if options.write:  # after every theme: what was measured is there even if the run is ended
            options.write.write_text(_page(facts, effort, pages), encoding="utf-8")
    if options.write:
        console.print(f"written to {options.write}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "themes", nargs="*", choices=[[], *THEMES], help="what to measure (default: everything)"
    )
    parser.add_argument("--quick", action="store_true", help="a first look, in a minute or two")
    parser.add_argument("--rival-rows", type=int, choices=em.ROWS, default=Effort.rival_rows, help=ROWS_HELP)
    parser.add_argument(
        "--write", type=Path, help=f"where the table goes (default for a full run: {RESULTS.name})"
    )
    options = parser.parse_args(arguments)
    for unknown in sorted(set(options.themes) - set(THEMES)):
        parser.error(f"there is no theme {unknown!r}; choose from {', '.join(THEMES)}")
    if options.write is None and not options.quick and not options.themes:
        options.write = RESULTS
    return options


def _shown(lines: Iterable[Line], status: Status) -> Iterator[Line]:
    """Pass the lines on, saying which was the last."""
    for line in lines:
        status.update(f"{line.case}: {line.who}")
        yield line


def _rows(lines: Iterable[Line]) -> list[tuple[str, ...]]:
    """Lines as text, each with its ratio to the first of its case; the case is named once."""
    first: dict[str, float] = {}
    named: set[str] = set()
    rows: list[tuple[str, ...]] = []
    for line in lines:
        time = ratio = ""
        if line.seconds is not None:
            reference = first.setdefault(line.case, line.seconds)
            time, ratio = _duration(line.seconds), f"{_short(line.seconds / reference)}x"
        found = "" if line.log_likelihood is None else f"{line.log_likelihood:,.4f}"
        rows.append(("" if line.case in named else line.case, line.who, time, ratio, found, line.note))
        named.add(line.case)
    return rows


def _duration(seconds: float) -> str:
    unit, size = next((item for item in UNITS if seconds >= item[1]), UNITS[-1])
    return f"{_short(seconds / size)} {unit}"


def _short(number: float) -> str:
    """Three significant digits at most, never in powers of ten."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _printed(title: str, rows: list[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in HEADINGS:
        table.add_column(heading, no_wrap=True, justify="right" if heading in NUMBERS else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _markdown(title: str, rows: list[tuple[str, ...]]) -> str:
    head = [f"| {' | '.join(HEADINGS)} |", "|---|---|--:|--:|--:|---|"]
    return "\n".join([f"## {title}", "", *head, *(f"| {' | '.join(row)} |" for row in rows), ""])


def _page(facts: list[str], effort: Effort, pages: list[str]) -> str:
    intro = [
        "# Benchmarks",
        "",
        f"Made by `make bench` on {date.today().isoformat()}. Times are wall time, medians of up to "
        f"{effort.repeats} measurements; ratios are to the first line of each case. Every tool starts from "
        "the same parameters; log-likelihoods are each tool's own. The limit of a hidden root multiplies "
        "cell by cell; children that are swept in groups need fewer multiplications, so that more than "
        "100 % is possible.",
        "",
        *(f"- {fact}" for fact in facts),
        "",
    ]
    return "\n".join([*intro, *pages])


if __name__ == "__main__":
    main()
